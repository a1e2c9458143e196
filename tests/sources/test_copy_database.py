"""Copying a DuckDB file: the same tables, keys and values in SQLite, PostgreSQL and DuckDB, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import RuleminerError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.sql import rule_query
from ruleminer.rules.values import Atom, Rule, Variable
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import open_database
from tests.mariadb import run_in_mariadb

AWKWARD = [
    "plain",
    "",
    "tab\there",
    "line\nbreak",
    "return\r",
    "back\\slash",
    "\\N",
    "O'Brien",
    'say "hi"',
    "%s ; --",
    "née",
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "harbour"
    folder.mkdir()
    with duckdb.connect(str(folder / "database.duckdb")) as connection:
        connection.execute(
            'CREATE TABLE "Port" (code VARCHAR, no INTEGER, name VARCHAR UNIQUE, PRIMARY KEY (code, no))'
        )
        connection.execute(
            'CREATE TABLE "Ship; --" (id INTEGER PRIMARY KEY, note VARCHAR, built DATE, seen TIMESTAMP, '
            "length DECIMAL(9,3), speed DOUBLE, big BIGINT, afloat BOOLEAN NOT NULL, code VARCHAR, no INTEGER, "
            'FOREIGN KEY (code, no) REFERENCES "Port" (code, no))'
        )
        connection.execute("""INSERT INTO "Port" VALUES ('A', 1, 'Bergen'), ('A', 2, NULL)""")
        connection.executemany(
            'INSERT INTO "Ship; --" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
            [
                (number, note, "2014-05-04", "2014-05-04 10:00:00", "-12.300", 0.25, 2**40, number % 2 == 0, "A", 1)
                for number, note in enumerate(AWKWARD)
            ],
        )
        connection.execute('INSERT INTO "Ship; --" VALUES (99, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL, NULL)')
        connection.execute('CREATE VIEW "Old" AS SELECT * FROM "Ship; --"')
    return folder / "database.duckdb"


@pytest.fixture(params=["sqlite", "postgres", "duckdb", "mysql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("empty_postgres"))
    if request.param == "mysql":
        url = str(request.getfixturevalue("empty_mariadb"))
        run_in_mariadb(url, "DROP DATABASE IF EXISTS harbour; DROP DATABASE IF EXISTS own")
        return url
    return f"{request.param}:///{tmp_path}/copy.{request.param}"


def texts(url: str, table: str, column: str, schema: str | None) -> set[tuple[str, ...]]:
    """A column's values by the table's key, as lexical forms."""
    with open_database(url, schema=schema) as database:
        found = database.schema.table(table)
        types: Callable[[str, str], ColumnType] = lambda _, name: ColumnType(  # noqa: E731
            found.column(name).kind, found.column(name).sql_type
        )
        rule = Rule(
            "p",
            (Variable("x"), Variable("y")),
            (Atom(table, ((found.primary_key[0], Variable("x")), (column, Variable("y")))),),
        )
        query = rule_query(rule, database.dialect, types)
        return set(database.rows(query.sql, query.parameters))


def test_tables_keys_and_values_come_over(source: Path, target: str) -> None:
    loaded = copy_database(source, target)
    schema = None if target.startswith("sqlite") else "harbour"
    assert {(table.schema, table.name, table.rows) for table in loaded.tables} == {
        (schema, "Port", 2),
        (schema, "Ship; --", len(AWKWARD) + 1),
    }
    assert [skipped.what for skipped in loaded.skipped] == ["VIEW Old"]
    with open_database(f"duckdb:///{source}") as original, open_database(target, schema=schema) as copied:
        for table in copied.schema.tables:
            known = original.schema.table(table.name)
            assert (table.primary_key, table.unique, table.foreign_keys, table.rows) == (
                known.primary_key,
                known.unique,
                known.foreign_keys,
                known.rows,
            )
            assert [(c.name, c.kind) for c in table.columns] == [(c.name, c.kind) for c in known.columns]
            assert [c.nullable for c in table.columns] == [c.nullable for c in known.columns]
    for column in ("note", "built", "seen", "length", "speed", "big", "afloat", "code"):
        assert texts(target, "Ship; --", column, schema) == texts(f"duckdb:///{source}", "Ship; --", column, None)
    assert ("1", "") in texts(target, "Ship; --", "note", schema)


def test_what_is_there_is_kept_unless_it_may_be_replaced(source: Path, target: str) -> None:
    copy_database(source, target, schema="own")
    with pytest.raises(RuleminerError, match="already"):
        copy_database(source, target, schema="own")
    copy_database(source, target, schema="own", replace=True)


def test_a_copy_that_fails_leaves_nothing_behind(source: Path, target: str, tmp_path: Path) -> None:
    with duckdb.connect(str(source)) as connection:  # rows that break a key which is only data in DuckDB
        connection.execute("CREATE TABLE zebra (id INTEGER)")
        connection.execute("INSERT INTO zebra VALUES (1), (1)")
        connection.execute(
            "CREATE TABLE _ruleminer_keys (table_name VARCHAR, constraint_type VARCHAR, columns VARCHAR[], "
            "referenced_table VARCHAR, referenced_columns VARCHAR[])"
        )
        connection.execute("INSERT INTO _ruleminer_keys VALUES ('zebra', 'PRIMARY KEY', ['id'], NULL, [])")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(RuleminerError) as caught:
        copy_database(source, target)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    if target.startswith("postgres"):
        with pytest.raises(RuleminerError, match="harbour"):
            open_database(target, schema="harbour")


def test_a_source_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RuleminerError, match="no such file"):
        copy_database(tmp_path / "database.duckdb", f"sqlite:///{tmp_path}/copy.sqlite")
    (tmp_path / "empty.duckdb").write_bytes(b"")
    with pytest.raises(RuleminerError) as caught:
        copy_database(tmp_path / "empty.duckdb", f"sqlite:///{tmp_path}/copy.sqlite")
    assert "\n" not in str(caught.value)
