CREATE TABLE orders (o_orderkey INTEGER, o_total INTEGER);
CREATE TABLE line (l_orderkey INTEGER, l_partkey INTEGER, l_linenumber INTEGER, l_quantity INTEGER, l_price INTEGER, l_shipped DATE,
  l_received DATE, l_flag TEXT, l_comment TEXT);
CREATE TABLE part (p_partkey INTEGER, p_name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO orders SELECT 32 * (i / 8) + i % 8 + 1, i * 7919 % 5003 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 97) INSERT INTO part SELECT i, 'part ' || i FROM n;
WITH RECURSIVE k(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM k WHERE j < 6)
INSERT INTO line SELECT o_orderkey, 1 + (o_total * j) % 97, j, 1 + (o_total + 7 * j) % 50, 900 + o_total * j % 3001,
  date('2020-01-01', ((o_total * j) % 1777) || ' days'), date('2020-01-09', ((o_total * 3 * j) % 1777) || ' days'), substr('NNRA', 1 + (o_total + j) % 4, 1), 'final words ' || ((o_total * 13 + j * 101) % 1499)
FROM orders, k WHERE j <= 1 + o_total % 6;
