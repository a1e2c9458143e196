CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
