"""Keys that are filled up with blanks to one length, as a CHAR is: one form of them everywhere, on every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg2
import pytest

from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.sql import rule_query
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import read_r2rml
from tests.mariadb import run_in_mariadb

ONTOLOGY = """
@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Unit a owl:Class . :soldIn a owl:ObjectProperty . :grade a owl:DatatypeProperty .
"""
# CS is a country as well: only without the blanks are both examples units.
EXAMPLES = "predicate,arg1,arg2\nUnit,CS,\nUnit,CTN,\nsoldIn,12,G\nsoldIn,14,CS\ngrade,12,B\ngrade,15,AA\n"
UNITS = [("CS ", "Case"), ("CTN", "Carton"), ("LB ", "Pound"), ("G  ", "Gram"), ("KG ", "Kilogram")]
COUNTRIES = [("CS", "Serbia"), ("DE", "Germany"), ("FR", "France")]
GOODS = [(11 + n, UNITS[(2 + n) % 5][0], ("AA", "B ")[n % 2]) for n in range(20)]


def statements(declare: bool) -> list[str]:
    """The statements that make the tables; DuckDB and SQLite keep the blanks, the others know what a CHAR is."""
    link = " REFERENCES unit(code)" if declare else ""

    def values(rows: Sequence[tuple[object, ...]]) -> str:
        return ", ".join(f"({', '.join(map(repr, row))})" for row in rows)

    return [
        "CREATE TABLE unit (code CHAR(3) PRIMARY KEY, label VARCHAR(20) NOT NULL)",
        "CREATE TABLE country (code VARCHAR(3) PRIMARY KEY, label VARCHAR(20) NOT NULL)",
        f"CREATE TABLE goods (id INTEGER PRIMARY KEY, unit CHAR(3){link}, grade CHAR(2))",
        f"INSERT INTO unit VALUES {values(UNITS)}",
        f"INSERT INTO country VALUES {values(COUNTRIES)}",
        f"INSERT INTO goods VALUES {values(GOODS)}",
    ]


def made(engine: str, folder: Path, request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """A database of this engine, and its schema."""
    if engine == "duckdb":
        with duckdb.connect(str(folder / "shop.duckdb")) as connection:
            for statement in statements(declare=False):
                connection.execute(statement)
        return str(folder / "shop.duckdb"), None
    if engine == "sqlite":
        with sqlite3.connect(folder / "shop.sqlite") as file:
            for statement in statements(declare=False):
                file.execute(statement)
        file.close()
        return str(folder / "shop.sqlite"), None
    if engine == "mariadb":
        url = request.getfixturevalue("empty_mariadb")
        run_in_mariadb(url, "; ".join(statements(declare=True)))
        return url, None
    url = request.getfixturevalue("empty_postgres")
    with psycopg2.connect(url) as server, server.cursor() as cursor:
        for statement in statements(declare=True):
            cursor.execute(statement)
    server.close()
    return url, None


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgresql", "mariadb"])
def test_links_lead_to_the_things_that_the_class_names(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    db, schema = made(engine, tmp_path, request)
    (tmp_path / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    (tmp_path / "facts.csv").write_text(EXAMPLES, "utf-8")
    run, ontology, examples = tmp_path / "run", tmp_path / "shop.ttl", (tmp_path / "facts.csv",)
    extract_datasets(ExtractRequest(out=run, db=db, schema=schema, ontology=ontology, examples=examples))
    rules = (propose_mappings(ProposeRequest(run=run)).folder / "mapping.rules").read_text()
    with open_database(db, schema=schema) as database:
        quads = {quad[:3] for quad in materialise(read_r2rml(tmp_path / "run/proposals/mapping.ttl"), database)}
    told = {
        term: {(subject, value) for subject, predicate, value in quads if term in (predicate, value)}
        for term in ("<http://shop#Unit>", "<http://shop#soldIn>", "<http://shop#grade>")
    }
    units = {subject for subject, _ in told["<http://shop#Unit>"]}
    assert {iri.rpartition("/")[2] for iri in units} == {"CS>", "CTN>", "LB>", "G>", "KG>"}, rules
    assert {value for _, value in told["<http://shop#soldIn>"]} <= units, rules
    assert len(told["<http://shop#soldIn>"]) == len(GOODS)
    assert {value for _, value in told["<http://shop#grade>"]} == {'"AA"', '"B"'}


def test_only_texts_of_one_length_are_filled_up(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        columns_sql = ", ".join(f"{name} VARCHAR" for name in "abcdef")
        connection.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {columns_sql})")
        connection.execute("INSERT INTO t VALUES (1, 'ab ', 'ab ', 'abc', ' ', 'ab ', 'ab ')")
        connection.execute("INSERT INTO t VALUES (2, 'abc', 'ab', 'def', ' ', '', '')")
        connection.execute("INSERT INTO t VALUES (3, NULL, 'abc', 'ghi', 'x', 'abc', '   ')")
    with open_database(tmp_path / "t.duckdb") as database:
        columns = learn_structure(database).schema.table("t").columns
    assert [column.name for column in columns if column.padded] == ["a", "e"]


@pytest.mark.parametrize("suffix", [".duckdb", ".sqlite"])
def test_other_spaces_than_blanks_are_part_of_a_text(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    with closing(duckdb.connect(str(path)) if suffix == ".duckdb" else sqlite3.connect(path)) as made_here:
        made_here.execute("CREATE TABLE t (k VARCHAR(3) PRIMARY KEY)")
        made_here.executemany("INSERT INTO t VALUES (?)", [("ab ",), ("ab\u00a0",), ("abc",)])
        made_here.commit()
    with open_database(path) as database:
        query = rule_query(parse_rule("C(x) <- t(k: x)"), database.dialect, learn_structure(database).schema.type_of)
        assert set(database.rows(query.sql, query.parameters)) == {("ab",), ("abc",), ("ab\u00a0",)}


CODES = ["DE", *(f"{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(0, 300, 5))]
PADDED = [code.ljust(5) for code in CODES]
UNEQUAL_ENDS = {
    "the key is not padded": ([*PADDED, "ENGLAND"], PADDED, CODES),
    "the link is not padded": (PADDED, CODES, CODES),
    "a link is empty": (PADDED, [*PADDED, ""], CODES),
    "blanks tell keys apart": ([*PADDED, "DE"], PADDED, PADDED),
}


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "discovered"])
@pytest.mark.parametrize(("keys", "links", "linked"), UNEQUAL_ENDS.values(), ids=UNEQUAL_ENDS)
def test_both_ends_of_a_link_are_read_alike(
    keys: list[str], links: list[str], linked: list[str], declared: bool, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as file:
        link = " REFERENCES country(code)" if declared else ""
        file.execute("CREATE TABLE country (code VARCHAR(7) PRIMARY KEY)")
        file.execute(f"CREATE TABLE river (id INTEGER PRIMARY KEY, country_code VARCHAR(7){link})")
        file.executemany("INSERT INTO country VALUES (?)", [(key,) for key in keys])
        file.executemany("INSERT INTO river (country_code) VALUES (?)", [(key,) for key in [*links, *links]])
        file.commit()
    rule = parse_rule("inCountry(x, y) <- river(id: x, country_code: y), country(code: y)")
    with open_database(tmp_path / "t.sqlite") as database:
        structure = learn_structure(database)
        query = rule_query(rule, database.dialect, structure.schema.type_of)
        facts = list(database.rows(query.sql, query.parameters))
    assert [link.end for link in structure.schema.links] == [Place("country", "code")]
    assert len(facts) == 2 * len(linked)
    assert {country for _, country in facts} == set(linked)
    common = structure.profile.tables["river"].columns["country_code"].common
    assert {form for form, _ in common} <= {*linked, ""}
