CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO item VALUES (1, 'Pen'), (2, 'Ink'), (3, 'Nib');
INSERT INTO customer VALUES (11, 'Ada'), (12, 'Grace'), (13, 'Edsger');
