CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
CREATE VIEW names AS SELECT name FROM customer;
ALTER TABLE customer RENAME name TO label;
