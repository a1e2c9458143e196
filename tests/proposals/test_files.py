"""The files of a mapping: what they derive, on every engine, and how they are written."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import InputError
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.files import jdbc_url, mapping_texts, write_texts
from ruleminer.rules.dialects import POSTGRES
from ruleminer.rules.mapping import Mapping, iri_safe
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.printer import quoted_text, rule_text
from ruleminer.scenarios import generate_scenario
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import open_database
from tests.proposals.exported import exported, facts_of_triples, our_triples, view_triples, without_datatypes
from tests.scenarios.generated import true_facts

HOSTILE = ['a"b', "a'b", "{x}", "a b", "100%s", "$(x)", "<script>", "né Ωμ", "back\\slash", "semi;--", "select", "a.b"]
ONTOLOGY = """
@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Thing a owl:Class . :says a owl:DatatypeProperty ; rdfs:domain :Thing .
"""


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
@pytest.mark.parametrize(
    ("domain", "kind", "names"),
    [
        ("hospital", "plain", "same"),
        ("hospital", "restructuring", "opaque"),
        ("shop", "cleaning", "synonym"),
        ("university", "denormalising", "abbreviated"),
    ],
)
def test_the_true_mapping_as_r2rml_and_as_views_derives_exactly_the_facts(
    domain: str, kind: str, names: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder, out = tmp_path / "scenario", tmp_path / "out"
    generate_scenario(folder, domain=domain, kind=kind, names=names, size=300, seed=5)
    url, schema = f"duckdb:///{folder}/database.duckdb", None
    if engine == "postgres":
        url, schema = request.getfixturevalue("empty_postgres"), "made"
        copy_database(folder / "database.duckdb", url, schema=schema)
    with open_database(url, schema=schema) as database:
        mapping, policy = exported(folder / "mapping.rules", folder / "ontology.ttl", database, out)
        triples = our_triples(out / "mapping.ttl", database)
    ontology = read_ontology(folder / "ontology.ttl")
    assert facts_of_triples(triples, ontology, policy.base) == true_facts(folder)
    views = (out / "mapping.sql").read_text("utf-8")
    rows = postgres_views(url, schema, views, mapping) if schema else duckdb_views(url, views, mapping)
    assert view_triples(mapping, ontology, rows) == without_datatypes(triples)


def duckdb_views(url: str, views: str, mapping: Mapping) -> dict[str, set[tuple[str, ...]]]:
    with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
        connection.execute(views)
        connection.execute(views)  # and again, over what is there
        return {name: set(connection.sql(f'FROM mapping."{name}"').fetchall()) for name in predicates(mapping)}


def postgres_views(url: str, schema: str, views: str, mapping: Mapping) -> dict[str, set[tuple[str, ...]]]:
    connection = psycopg2.connect(url, options=f"-csearch_path={schema}")
    rows = {}
    with connection, connection.cursor() as cursor:
        cursor.execute(views)
        cursor.execute(views)
        for name in predicates(mapping):
            cursor.execute(f'SELECT * FROM mapping."{name}"')
            rows[name] = set(cursor.fetchall())
    connection.close()
    return rows


def predicates(mapping: Mapping) -> set[str]:
    return {rule.rule.predicate for rule in mapping.rules}


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_hostile_names_constants_and_values_mean_what_they_say(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A table whose name, columns, constants, keys and values are all of them hostile."""
    ontology = tmp_path / "ontology.ttl"
    ontology.write_text(ONTOLOGY, "utf-8")
    rules, made, expected = [], [], set()
    for number, name in enumerate(HOSTILE):
        table, key, flag = f"t{number} {name}", f"k {name}", f"f {name}"
        rules.append(
            f"says(x, y) <- {quoted_text(table)}({quoted_text(key)}: x, {quoted_text(flag)}: y, c: {quoted_text(name)})"
        )
        made.append((table, key, flag, name))
        place = iri_safe(f"{table}.{key}")  # which is no key: it has NULLs
        expected.add((f"<http://example.org/data/{place}/{iri_safe(name)}>", name + "\n\t" + name))
    url = {
        "duckdb": f"duckdb:///{tmp_path}/d.duckdb",
        "sqlite": f"sqlite:///{tmp_path}/d.sqlite",
    }.get(engine) or request.getfixturevalue("empty_postgres")
    connection = connect(engine, url)
    cursor = connection.cursor()
    mark = "%s" if engine == "postgres" else "?"
    for table, key, flag, name in made:
        quoted = ['"' + part.replace('"', '""') + '"' for part in (table, key, flag)]
        cursor.execute(f"CREATE TABLE {quoted[0]} ({quoted[1]} VARCHAR(40), {quoted[2]} VARCHAR(40), c VARCHAR(40))")
        insert = f"INSERT INTO {quoted[0].replace('%', '%%' if engine == 'postgres' else '%')} VALUES"
        for row in ((name, name + "\n\t" + name, name), ("other", "x", "other"), (None, "x", name), ("y", None, name)):
            cursor.execute(f"{insert} ({mark}, {mark}, {mark})", row)
    connection.commit()
    connection.close()
    with open_database(url) as database:
        exported("\n".join(rules), ontology, database, tmp_path / "out")
        triples = our_triples(tmp_path / "out" / "mapping.ttl", database)
    assert {(s, _unescaped(o)) for s, _, o in triples} == expected
    script = (tmp_path / "out" / "mapping.sql").read_text("utf-8")
    connection = connect(engine, url)
    cursor = connection.cursor()
    if engine == "sqlite":
        cursor.executescript(script)
    else:
        cursor.execute(script)
    cursor.execute("SELECT * FROM " + ("mapping_says" if engine == "sqlite" else 'mapping."says"'))
    assert {(f"<{subject}>", value) for subject, value in cursor.fetchall()} == expected
    connection.close()


def connect(engine: str, url: str):  # type: ignore[no-untyped-def]
    if engine == "postgres":
        return psycopg2.connect(url)
    database = make_url(url).database
    return sqlite3.connect(database) if engine == "sqlite" else duckdb.connect(database)


def _unescaped(literal: str) -> str:
    return literal[1:-1].encode("raw_unicode_escape").decode("unicode_escape") if "\\" in literal else literal[1:-1]


def test_rules_come_back_from_their_file(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "scenario", domain="shop", size=200, seed=1)
    with open_database(f"duckdb:///{tmp_path}/scenario/database.duckdb") as database:
        exported(tmp_path / "scenario/mapping.rules", tmp_path / "scenario/ontology.ttl", database, tmp_path / "out")
    text = (tmp_path / "out/mapping.rules").read_text("utf-8")
    true = (tmp_path / "scenario/mapping.rules").read_text("utf-8")
    assert list(map(rule_text, parse_rules(text))) == list(map(rule_text, parse_rules(true)))


def test_the_same_mapping_is_always_the_same_files(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "scenario", domain="shop", size=200, seed=1)
    texts = []
    for out in (tmp_path / "one", tmp_path / "two"):
        with open_database(f"duckdb:///{tmp_path}/scenario/database.duckdb") as database:
            exported(tmp_path / "scenario/mapping.rules", tmp_path / "scenario/ontology.ttl", database, out)
        texts.append({file.name: file.read_text("utf-8") for file in sorted(out.iterdir())})
    assert texts[0] == texts[1]
    assert set(texts[0]) == {"mapping.ttl", "mapping.obda", "mapping.yarrrml.yml", "mapping.sql", "mapping.rules"}


def test_the_password_reaches_no_file() -> None:
    url = "postgresql://reader:s3cret@db.e.x:5433/conf"
    texts = mapping_texts(Mapping(()), POSTGRES, lambda *_: pytest.fail("no column"), url, "my schema")
    assert not any("s3cret" in text for text in texts.values())
    properties = texts["mapping.properties"]
    assert "jdbc.url=jdbc:postgresql://db.e.x:5433/conf?currentSchema=my+schema\n" in properties
    assert "jdbc.driver=org.postgresql.Driver\njdbc.user=reader\n" in properties


def test_jdbc_has_a_host_even_where_we_use_a_socket() -> None:
    assert jdbc_url(make_url("postgresql://u@/db?host=/run/pg"), None) == "jdbc:postgresql://localhost/db"
    assert jdbc_url(make_url("duckdb:///a/b.duckdb"), None) == "jdbc:duckdb:a/b.duckdb"


def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_texts({"mapping.ttl": ""}, tmp_path / "file")
    (tmp_path / "out" / "mapping.ttl").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be written"):
        write_texts({"mapping.ttl": ""}, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mapping.ttl"]


def test_numbers_and_timestamps_have_their_xsd_forms_on_every_engine(tmp_path: Path, empty_postgres: str) -> None:
    ontology = tmp_path / "ontology.ttl"
    ontology.write_text(ONTOLOGY, "utf-8")
    rules = "\n".join(f"says(x, y) <- t(k: x, {column}: y)" for column in ("d", "f", "ts", "tz", "b", "day", "u"))
    statements = [
        "CREATE TABLE t (k INTEGER PRIMARY KEY, d DECIMAL(9,3), f DOUBLE PRECISION, ts TIMESTAMP, "
        "tz TIMESTAMP WITH TIME ZONE, b BOOLEAN, day DATE, u UUID)",
        "INSERT INTO t VALUES (1, 12.300, 0.5, '2014-05-04 10:00:00', '2014-05-04 12:00:00+02', TRUE, '2014-05-04', "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')",
        "INSERT INTO t (k) VALUES (2)",
    ]
    xsd = "http://www.w3.org/2001/XMLSchema#"
    for engine, url in (("duckdb", f"duckdb:///{tmp_path}/d.duckdb"), ("postgres", empty_postgres)):
        connection = connect(engine, url)
        for statement in statements:
            connection.cursor().execute(statement)
        connection.commit()
        connection.close()
        with open_database(url) as database:
            exported(rules, ontology, database, tmp_path / "out")
            triples = our_triples(tmp_path / "out" / "mapping.ttl", database)
        assert {o for _, _, o in triples} == {
            f'"{Decimal("12.3")}"^^<{xsd}decimal>',
            f'"0.5"^^<{xsd}double>',
            f'"2014-05-04T10:00:00"^^<{xsd}dateTime>',
            f'"2014-05-04T10:00:00Z"^^<{xsd}dateTime>',
            f'"true"^^<{xsd}boolean>',
            f'"2014-05-04"^^<{xsd}date>',
            '"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"',
        }, engine
