CREATE TABLE "we""ird. {table}; --" ("a ""key"" {x}" VARCHAR(40), "select" VARCHAR(40), "Größe" VARCHAR(20));
INSERT INTO "we""ird. {table}; --" VALUES ('Ærø/1 50%', 'it''s; DROP TABLE x', 'big');
