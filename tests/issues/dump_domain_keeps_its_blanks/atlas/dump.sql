CREATE DOMAIN code AS character(5) NOT NULL;
CREATE TABLE country (id integer NOT NULL, code code, name character varying(20), search text GENERATED ALWAYS AS (lower((name)::text)) STORED);
COPY country (id, code, name) FROM stdin;
1	NO   	Norway
2	DK   	Denmark
\.
ALTER TABLE ONLY country ADD CONSTRAINT country_pkey PRIMARY KEY (id);
