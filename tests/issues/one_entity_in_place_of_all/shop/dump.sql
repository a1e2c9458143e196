CREATE TABLE customer (id integer NOT NULL, name character varying(20));
COPY customer (id, name) FROM stdin;
1	Ada
2	Bob
\.
