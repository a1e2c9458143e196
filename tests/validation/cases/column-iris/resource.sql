CREATE TABLE link (url VARCHAR(60), name VARCHAR(60));
INSERT INTO link VALUES ('http://elsewhere.example/a', 'x');
INSERT INTO link VALUES ('path/b', 'y');
INSERT INTO link VALUES ('not an iri', 'z');
