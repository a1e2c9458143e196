CREATE TABLE worker (worker_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE pay (worker_id INTEGER NOT NULL REFERENCES worker, from_date DATE NOT NULL, amount INTEGER NOT NULL,
  PRIMARY KEY (worker_id, from_date));
CREATE TABLE post (worker_id INTEGER NOT NULL REFERENCES worker, title TEXT NOT NULL, from_date DATE NOT NULL,
  PRIMARY KEY (worker_id, title, from_date));
CREATE TABLE unit (unit_id TEXT PRIMARY KEY);
CREATE TABLE place (worker_id INTEGER NOT NULL REFERENCES worker, unit_id TEXT NOT NULL REFERENCES unit,
  from_date DATE NOT NULL, PRIMARY KEY (worker_id, unit_id));
INSERT INTO unit VALUES ('d1'), ('d2'), ('d3');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) INSERT INTO worker SELECT i, 'W ' || i FROM n;
INSERT INTO post SELECT worker_id, CASE worker_id % 3 WHEN 0 THEN 'Clerk' ELSE 'Engineer' END, date('1988-01-01', (worker_id * 7) || ' days') FROM worker;
INSERT INTO place SELECT worker_id, 'd' || (1 + worker_id % 3), date('1988-01-01', (worker_id * 7) || ' days') FROM worker;
INSERT INTO pay SELECT worker_id, date('1988-01-01', (worker_id * 7) || ' days'), 100 * worker_id FROM worker;
INSERT INTO pay SELECT worker_id, date('1990-01-01', (worker_id * 7) || ' days'), 110 * worker_id FROM worker;
