CREATE TABLE page (path VARCHAR);
INSERT INTO page VALUES (repeat('/a', 300)), ('/b/b/b'), ('x');
