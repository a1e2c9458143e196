"""Facts from query pairs: what SPARQL asks for, which columns are its arguments, and the same on every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import duckdb
import psycopg2
import pytest

from ruleminer.problem.facts import facts_of
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.pair_facts import PairReport, facts_from_pairs, run_pair_sql
from ruleminer.problem.pair_target import NoFacts, PairTarget, pair_target
from ruleminer.problem.pairs import QueryPair
from ruleminer.sources.database import Database, open_database

ONTOLOGY = """
@prefix : <http://example.org/library#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class . :Writer a owl:Class ; rdfs:subClassOf :Person . :Reader a owl:Class ; rdfs:subClassOf :Person .
:Work a owl:Class . :Book a owl:Class ; rdfs:subClassOf :Work . :Branch a owl:Class .
:wrote a owl:ObjectProperty ; rdfs:domain :Writer ; rdfs:range :Book ; owl:inverseOf :writtenBy .
:writtenBy a owl:ObjectProperty .
:borrowed a owl:ObjectProperty ; rdfs:domain :Reader ; rdfs:range :Book .
:mentor a owl:ObjectProperty ; rdfs:domain :Writer ; rdfs:range :Writer .
:title a owl:DatatypeProperty . :born a owl:DatatypeProperty ; rdfs:domain :Person .
:price a owl:DatatypeProperty . :email a owl:DatatypeProperty ; rdfs:domain :Person . :open a owl:DatatypeProperty .
"""

TABLES = """
CREATE TABLE "Person" ("ID" integer PRIMARY KEY, "name" varchar(20), "born" date, is_writer boolean, mentor integer);
CREATE TABLE opus (id integer PRIMARY KEY, "Title" varchar(40), author integer REFERENCES "Person"("ID"),
    price numeric(8,3), kind integer);
CREATE TABLE loan (opus integer REFERENCES opus(id), reader integer REFERENCES "Person"("ID"),
    PRIMARY KEY (opus, reader));
CREATE TABLE mail (person integer REFERENCES "Person"("ID"), address varchar(30), PRIMARY KEY (person, address));
CREATE TABLE branch_day (branch integer, day integer, open boolean, PRIMARY KEY (branch, day));
CREATE TABLE nokey (a integer, b integer);
"""
ROWS = """
INSERT INTO "Person" VALUES
    (1, 'Ana', '1950-01-02', true, NULL), (2, 'Bo', '1960-01-02', false, 1), (3, 'Cy', NULL, true, 1);
INSERT INTO opus VALUES (10, 'A b', 1, 12.500, 1), (11, NULL, 3, 7.000, 1), (12, 'It''s 50%', 1, NULL, 2);
INSERT INTO loan VALUES (10, 2), (12, 2), (10, 3);
INSERT INTO mail VALUES (1, 'a@x'), (1, 'ana@x'), (2, 'b@x');
INSERT INTO branch_day VALUES (7, 1, true), (7, 2, false), (8, 1, true);
INSERT INTO nokey VALUES (1, 2);
"""
PREFIX = "prefix : <http://example.org/library#> "


def pair(sql: str, sparql: str, stem: str = "Q", disabled: bool = False) -> QueryPair:
    return QueryPair(stem, stem, sql, PREFIX + sparql, disabled=disabled)


PERSONS = pair('SELECT COUNT(*) FROM "Person"', "SELECT (COUNT(?p) AS ?n) {?p a :Person}", "persons")
WRITERS = pair(
    'SELECT COUNT(*) FROM "Person" WHERE "Person".is_writer = true',
    "SELECT (COUNT(?p) AS ?n) {?p a :Writer}",
    "writers",
)
BOOKS = pair("SELECT count(*) FROM Opus WHERE kind = 1", "SELECT (COUNT(?b) AS ?n) {?b a :Book}", "books")


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    path = tmp_path_factory.mktemp("ontology") / "library.ttl"
    path.write_text(ONTOLOGY)
    return read_ontology(path)


@pytest.fixture(scope="module", params=["duckdb", "postgres", "sqlite"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("library")
    schema = None
    if request.param == "duckdb":
        url = f"duckdb:///{folder / 'library.duckdb'}"
        with duckdb.connect(str(folder / "library.duckdb")) as connection:
            connection.execute(TABLES + ROWS)
    elif request.param == "sqlite":
        url = f"sqlite:///{folder / 'library.sqlite'}"
        with closing(sqlite3.connect(folder / "library.sqlite")) as connection:
            connection.executescript(TABLES + ROWS)
    else:
        url, schema = request.getfixturevalue("postgres_url"), "pair_library"
        with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {schema}; SET search_path = {schema}; {TABLES} {ROWS}")
    with open_database(url, schema=schema) as database:
        yield database


Facts = Callable[..., tuple[set[tuple[str, ...]], tuple[PairReport, ...]]]


@pytest.fixture
def facts(library: Database, ontology: Ontology) -> Facts:
    """The facts of some pairs as tuples (predicate, argument, ...), and the report."""

    def run(*pairs: QueryPair) -> tuple[set[tuple[str, ...]], tuple[PairReport, ...]]:
        table, report = facts_from_pairs(library, pairs, ontology)
        return {(fact.predicate, *fact.arguments) for fact in facts_of(table)}, report

    return run


def test_the_members_of_a_class_are_the_keys_of_its_rows(facts: Facts) -> None:
    found, report = facts(BOOKS, WRITERS)
    assert found == {("Book", "10"), ("Book", "11"), ("Writer", "1"), ("Writer", "3")}
    assert [(row.pair, row.predicate, row.facts, row.reason) for row in report] == [
        ("books", "Book", 2, ""),
        ("writers", "Writer", 2, ""),
    ]


def test_a_counted_column_names_the_members(facts: Facts) -> None:
    branches = pair("SELECT COUNT(DISTINCT branch) FROM branch_day", "SELECT (COUNT(?b) AS ?n) {?b a :Branch}")
    assert facts(branches)[0] == {("Branch", "7"), ("Branch", "8")}


def test_an_attribute_is_a_key_and_a_value_without_nulls(facts: Facts) -> None:
    titles = pair('SELECT opus."Title" FROM opus', "SELECT ?t {?b a :Book; :title ?t}")
    assert facts(titles)[0] == {("title", "10", "A b"), ("title", "12", "It's 50%")}


def test_an_attribute_in_a_table_of_its_own_belongs_to_the_rest_of_the_key(facts: Facts) -> None:
    mails = pair("SELECT mail.address FROM mail", "SELECT ?m {?p a :Person; :email ?m}")
    assert facts(mails)[0] == {("email", "1", "a@x"), ("email", "1", "ana@x"), ("email", "2", "b@x")}


def test_an_attribute_of_a_table_with_two_keys_belongs_to_the_one_its_class_pair_names(facts: Facts) -> None:
    days = pair("SELECT DISTINCT open FROM branch_day", "SELECT ?o {?b a :Branch; :open ?o}", "open")
    assert facts(days)[1][0].reason == "branch_day does not tell whose open it is"
    branches = pair("SELECT COUNT(DISTINCT branch) FROM branch_day", "SELECT (COUNT(?b) AS ?n) {?b a :Branch}")
    found, _ = facts(branches, days)
    assert {fact for fact in found if fact[0] == "open"} == {
        ("open", "7", "true"),
        ("open", "7", "false"),
        ("open", "8", "true"),
    }


WROTE = {("wrote", "1", "10"), ("wrote", "3", "11"), ("wrote", "1", "12")}


def test_a_link_goes_from_the_subject_to_the_object_whatever_the_order_of_tables(facts: Facts) -> None:
    sparql = "SELECT (COUNT(*) AS ?n) {?b a :Book . ?w a :Writer; :wrote ?b}"
    for sql in (
        'SELECT COUNT(*) FROM opus JOIN "Person" ON opus.author = "Person"."ID"',
        'SELECT COUNT(*) FROM "Person" JOIN opus ON opus.author = "Person"."ID"',
        'SELECT COUNT(*) FROM "Person" p, opus o WHERE p."ID" = o.author',
    ):
        assert facts(WRITERS, BOOKS, pair(sql, sparql))[0] >= WROTE


def test_a_link_is_told_by_names_where_no_pair_tells_it(facts: Facts) -> None:
    link = pair(
        'SELECT COUNT(*) FROM opus JOIN loan ON loan.opus = opus.id JOIN "Person" ON loan.reader = "Person"."ID"',
        "SELECT (COUNT(*) AS ?n) {?r :borrowed ?b}",
    )
    found, report = facts(link)
    assert found == {("borrowed", "2", "10"), ("borrowed", "2", "12"), ("borrowed", "3", "10")}
    assert report[0].note == "subject: called like Reader; object: the entity left over"


def test_a_link_inside_one_table_is_told_by_a_column_called_like_the_property(facts: Facts) -> None:
    link = pair(
        'SELECT COUNT(*) FROM "Person" a JOIN "Person" b ON a.mentor = b."ID"',
        "SELECT (COUNT(*) AS ?n) {?a :mentor ?b}",
    )
    found, report = facts(link)
    assert found == {("mentor", "2", "1"), ("mentor", "3", "1")}
    assert "mentor is called like the property" in report[0].note


def test_a_link_that_nothing_tells_gives_nothing_and_says_so(facts: Facts) -> None:
    link = pair(
        'SELECT COUNT(*) FROM "Person" a JOIN "Person" b ON a.mentor = b."ID"',
        "SELECT (COUNT(*) AS ?n) {?a :writtenBy ?b}",
    )
    found, report = facts(link)
    assert not found
    assert report[0].reason == "neither classes nor names tell which end of the property is which"


def test_selected_arguments_are_taken_by_name_or_by_the_order_of_the_sparql(facts: Facts) -> None:
    for sql, sparql in (
        ("SELECT id AS y, author AS x FROM opus", "SELECT (COUNT(*) AS ?n) {?x :wrote ?y}"),
        ("SELECT COUNT(*) FROM (SELECT author AS x, id AS y FROM opus) AS t", "SELECT (COUNT(*) AS ?n) {?x :wrote ?y}"),
        ("SELECT author, id FROM opus ORDER BY price DESC", "SELECT ?w ?b {?w :wrote ?b}"),
        ("SELECT id, author FROM opus", "SELECT ?b ?w {?w :wrote ?b}"),
    ):
        assert facts(pair(sql, sparql))[0] == WROTE


def test_arguments_are_typed_and_a_cast_to_text_does_not_hide_the_type(library: Database, ontology: Ontology) -> None:
    prices = pair(
        "SELECT CONCAT('http://x/', CAST(id AS CHARACTER VARYING)) AS x, CAST(price AS VARCHAR) AS y FROM opus "
        "UNION ALL SELECT CAST(id AS CHARACTER VARYING) AS x, 'unknown' AS y FROM opus WHERE price IS NULL",
        "SELECT ?x ?y {?x :price ?y}",
    )
    born = pair('SELECT born FROM "Person"', "SELECT ?b {?p a :Person; :born ?b}")
    table, _ = facts_from_pairs(library, [prices, born], ontology)
    assert [(*fact.arguments, *fact.kinds) for fact in facts_of(table)] == [
        ("1", "1950-01-02", "integer", "date"),
        ("2", "1960-01-02", "integer", "date"),
        ("12", "unknown", "integer", None),
        ("http://x/10", "12.5", "text", "decimal"),
        ("http://x/11", "7", "text", "decimal"),
    ]


def test_facts_of_pairs_with_the_same_predicate_are_united(facts: Facts) -> None:
    first = pair('SELECT "Title" FROM opus WHERE kind = 1', "SELECT ?t {?b a :Book; :title ?t}", "one")
    second = pair('SELECT "Title" FROM opus', "SELECT ?t {?b :title ?t}", "two")
    found, report = facts(first, second)
    assert found == {("title", "10", "A b"), ("title", "12", "It's 50%")}
    assert [row.facts for row in report] == [1, 2]


def test_disabled_pairs_give_nothing_and_are_reported(facts: Facts) -> None:
    found, report = facts(pair(PERSONS.sql, "SELECT ?p {?p a :Person}", "off", disabled=True))
    assert not found
    assert report == (PairReport("off", None, 0, "disabled"),)


@pytest.mark.parametrize(
    ("sql", "sparql", "reason"),
    [
        ("SELECT COUNT(*) FROM nokey", "SELECT ?b {?b a :Book}", "nokey has no key of one column"),
        ("SELECT COUNT(*) FROM missing", "SELECT ?b {?b a :Book}", "the database has no table missing"),
        ("SELECT COUNT(* FROM opus", "SELECT ?b {?b a :Book}", "its SQL does not parse"),
        ("DELETE FROM opus", "SELECT ?b {?b a :Book}", "its SQL is not one SELECT"),
        ("SELECT 1; SELECT 2", "SELECT ?b {?b a :Book}", "its SQL is not one SELECT"),
        ("SELECT MAX(id) FROM opus", "SELECT ?b {?b a :Book}", "aggregates otherwise than by one COUNT"),
        ("SELECT kind, COUNT(*) FROM opus GROUP BY kind", "SELECT ?b {?b a :Book}", "its SQL has GROUP"),
        ("SELECT * FROM opus", "SELECT ?b {?b a :Book}", "its SQL selects *"),
        ("SELECT id, kind FROM opus", "SELECT ?b {?b a :Book}", "returns 2 columns where a fact has 1"),
        ("SELECT id, author FROM opus", "SELECT (COUNT(*) AS ?n) {?b :wrote ?c}", "neither their names nor the SPARQL"),
        (
            'SELECT COUNT(*) FROM opus LEFT JOIN "Person" ON author = "ID"',
            "SELECT (COUNT(*) AS ?n) {?a :wrote ?b}",
            "LEFT JOIN",
        ),
        (
            'SELECT COUNT(*) FROM opus LEFT JOIN (SELECT "ID" FROM "Person") p ON author = p."ID"',
            "SELECT (COUNT(*) AS ?n) {?a :wrote ?b}",
            "LEFT JOIN",
        ),
        ("WITH o AS (SELECT id FROM opus) SELECT id FROM o", "SELECT ?b {?b a :Book}", "its SQL has WITH"),
        ("SELECT id FROM opus LIMIT 1", "SELECT ?b {?b a :Book}", "its SQL has LIMIT"),
        ("SELECT id FROM opus UNION SELECT id FROM opus LIMIT 1", "SELECT ?b {?b a :Book}", "its SQL has LIMIT"),
        ("SELECT DISTINCT ON (kind) id FROM opus", "SELECT ?b {?b a :Book}", "its SQL has DISTINCT ON"),
        ("SELECT id FROM opus EXCEPT SELECT opus FROM loan", "SELECT ?b {?b a :Book}", "its SQL has EXCEPT"),
    ],
)
def test_sql_that_does_not_tell_its_facts_is_reported_with_the_reason(
    facts: Facts, sql: str, sparql: str, reason: str
) -> None:
    found, report = facts(pair(sql, sparql))
    assert not found
    assert reason in report[0].reason
    assert "\n" not in report[0].reason


@pytest.mark.parametrize(
    ("sparql", "reason"),
    [
        ("SELECT ?b {?b a :Boook}", "the ontology has no class Boook"),
        ("SELECT ?b {?b a :book}", "the ontology has no class book (there is Book)"),
        ("SELECT ?b ?t {?b :Title ?t}", "the ontology has no property Title (there is title)"),
        ("SELECT ?b {?b :title ?t; :price ?p}", "its SPARQL asks for 2 properties at once"),
        ("SELECT ?b {?b a :Book, :Work}", "its SPARQL asks for 2 classes and no property"),
        ("SELECT ?b {?b a :Book FILTER(?b != :x)}", "its SPARQL has a FILTER"),
        ("SELECT ?b {?b a :Book OPTIONAL {?b :title ?t}}", "its SPARQL has an OPTIONAL"),
        ("SELECT ?b {{?b a :Book} UNION {?b a :Work}}", "its SPARQL has a UNION"),
        ("SELECT ?b {?b a :Book} LIMIT 3", "its SPARQL has a LIMIT"),
        ("SELECT ?b {?b :title 'x'}", "its SPARQL does not ask for both ends of the property"),
        ("SELECT ?b {?b ?p ?t}", "its SPARQL has a variable or a path in the place of a property"),
        ("SELECT (SUM(?p) AS ?n) {?b :price ?p}", "its SPARQL aggregates otherwise than by one COUNT"),
        ("SELECT ?b (COUNT(*) AS ?n) {?b :price ?p} GROUP BY ?b", "its SPARQL aggregates otherwise"),
        ("ASK {?b a :Book}", "its SPARQL is not a SELECT"),
        ("SELECT ?b {?b a }", "its SPARQL does not parse: "),
        ("SELECT ?b {?b a foo:Book}", "its SPARQL does not parse: Unknown namespace prefix : foo"),
    ],
)
def test_sparql_that_asks_for_more_than_one_predicate_gives_no_facts(
    ontology: Ontology, sparql: str, reason: str
) -> None:
    target = pair_target(pair("SELECT 1", sparql), ontology)
    assert isinstance(target, NoFacts)
    assert reason in target.reason


def test_sparql_tells_the_predicate_its_ends_and_their_classes(ontology: Ontology) -> None:
    target = pair_target(
        pair("SELECT 1", "SELECT DISTINCT ?w ?b {?b a :Work . ?w a :Person; :wrote ?b} ORDER BY ?b"), ontology
    )
    assert isinstance(target, PairTarget)
    assert (target.term.name, target.arity, target.variables, target.selected) == ("wrote", 2, ("w", "b"), ("w", "b"))
    assert [iri.rpartition("#")[2] for (iri,) in target.ends()] == ["Person", "Work"]


def test_a_pairs_own_sql_runs_on_every_engine(library: Database) -> None:
    """PostgreSQL's folding of names, its CONCAT and its comparison of a date with a text are kept."""
    query = """SELECT CONCAT('<', Opus.TITLE, '>', NULL) AS x, COUNT(*) FROM (
        SELECT "Title" AS title, author FROM opus) Opus JOIN "Person" ON author = "ID"
        WHERE '1950-01-02T00:00:00' <> born OR born IS NULL GROUP BY Opus.Title;"""
    assert list(run_pair_sql(library, pair(query, ""))) == [("<>", 1)]
    assert list(run_pair_sql(library, BOOKS)) == [(2,)]
