CREATE TABLE page (id INTEGER PRIMARY KEY, home VARCHAR);
INSERT INTO page VALUES (1, 'http://e.x/a'), (2, 'http://e.x/b'), (3, NULL);
