CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
INSERT INTO customer VALUES (101, 'Ann Lee'), (102, 'Bob Ray'), (103, 'Cy Fox');
