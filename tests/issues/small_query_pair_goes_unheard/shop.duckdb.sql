CREATE TABLE item AS SELECT i AS id FROM range(40) AS r(i);
CREATE TABLE relic AS SELECT 100 + i AS id FROM range(2) AS r(i);
