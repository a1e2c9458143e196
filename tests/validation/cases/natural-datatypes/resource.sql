CREATE TABLE "Measure" (
  "id" INTEGER PRIMARY KEY,
  "ratio" DOUBLE PRECISION,
  "single" REAL,
  "price" DECIMAL(13,6),
  "done" BOOLEAN,
  "day" DATE,
  "moment" TIMESTAMP,
  "note" VARCHAR(50)
);
INSERT INTO "Measure" VALUES (1, 30, 0.1, 12.300000, TRUE, '2014-05-04', '2014-05-04 10:00:00', 'a "quoted" \ text');
INSERT INTO "Measure" VALUES (2, 0.00125, 2.5, 5.000000, FALSE, '1999-12-31', '1999-12-31 23:59:59', '');
INSERT INTO "Measure" VALUES (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
