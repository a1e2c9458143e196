CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR);
INSERT INTO customer VALUES (101, 'Ann Lee'), (102, 'Bob Ray'), (103, 'Cy Fox');
COPY (SELECT * FROM (VALUES ('Customer', '101', NULL), ('Customer', '102', NULL), ('name', '101', 'Ann Lee'), ('name', '102', 'Bob Ray')) AS fact (predicate, arg1, arg2))
TO 'facts.parquet' (FORMAT parquet);
