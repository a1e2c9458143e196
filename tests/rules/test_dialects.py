"""Dialects: each difference between engines has one place, and each engine says the same in its own words."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

import ruleminer
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import BOUND, DIALECTS, DUCKDB, MYSQL, POSTGRES, SPARK, SQLITE, Dialect
from ruleminer.rules.expressions import column_of
from ruleminer.rules.literals import text_sql
from ruleminer.rules.mapping import iri_safe
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.mysql import MySQL

from .strategies import texts

PACKAGE = Path(ruleminer.__file__).parent
HOMES = ("rules/dialects", "sources/engines", "sources/pgdump")
NAMES = {dialect.name for dialect in DIALECTS} | {dialect.scheme for dialect in DIALECTS}

MYSQL_CASTS = {
    "numeric(13,6)": "DECIMAL(13,6)",
    "double precision": "DOUBLE",
    "real": "DOUBLE",
    "boolean": "SIGNED",
    "timestamp": "DATETIME",
    "text": "CHAR",
    "integer": "SIGNED",
}
Ask = Callable[..., list[tuple[Any, ...]]]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
# Spark is asked the same in tests/sources/test_spark.py, where its Java process runs.
every_engine = pytest.mark.parametrize(
    "dialect", [dialect for dialect in DIALECTS if dialect is not SPARK], ids=lambda dialect: dialect.name
)
ODD_TEXTS = ["", "50%", "%s", "?", "O'Brien", "a\nb\tc", "née", "\\n"]
LEXICAL_FORMS = [
    (ColumnType(Kind.DECIMAL, "numeric(13,6)"), Decimal("12.300000"), "12.3"),
    (ColumnType(Kind.DECIMAL, "numeric(13,6)"), Decimal("-500.000000"), "-500"),
    (ColumnType(Kind.DECIMAL, "double precision"), Decimal("0.1"), "0.1"),
    (ColumnType(Kind.DECIMAL, "real"), Decimal("17.45"), "17.45"),
    (ColumnType(Kind.DECIMAL, "real"), Decimal("1234567.5"), "1234567.5"),
    (ColumnType(Kind.BOOLEAN, "boolean"), True, "true"),
    (ColumnType(Kind.BOOLEAN, "boolean"), False, "false"),
    (ColumnType(Kind.DATE, "date"), date(2014, 5, 4), "2014-05-04"),
    (ColumnType(Kind.TIMESTAMP, "timestamp"), datetime(2014, 5, 4, 10), "2014-05-04 10:00:00"),
    (ColumnType(Kind.TEXT, "text"), "0.10", "0.10"),
    (ColumnType(Kind.INTEGER, "integer"), None, None),
    (ColumnType(Kind.DECIMAL, "numeric(13,6)"), None, None),
    (ColumnType(Kind.BOOLEAN, "boolean"), None, None),
    (ColumnType(Kind.TIMESTAMP, "timestamp"), None, None),
]


@pytest.fixture(scope="module")
def ask(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Runs SQL on a dialect's engine."""
    server = psycopg2.connect(postgres_url)
    server.autocommit = True
    server.cursor().execute("SET TimeZone = 'UTC'; SET search_path = pg_temp")
    files = {DUCKDB: duckdb.connect(), SQLITE: sqlite3.connect(":memory:")}
    files[DUCKDB].execute("SET TimeZone = 'UTC'")

    def asked(dialect: Dialect, sql: str, *values: object) -> list[tuple[Any, ...]]:
        if dialect is MYSQL:
            engine = MySQL(make_url(request.getfixturevalue("mariadb_url")), timeout=60)
            found = list(engine.rows(dialect.bound(sql), values))
            engine.close()
            return found
        cursor = files[dialect] if dialect in files else server.cursor()
        answered = cursor.execute(dialect.bound(sql), values)
        return list((answered or cursor).fetchall()) if not sql.startswith("CREATE") else []

    yield asked
    server.close()
    for connection in files.values():
        connection.close()


@every_dialect
@given(sql=st.lists(texts.filter(lambda text: "\0" not in text)))
def test_nothing_but_the_mark_becomes_a_placeholder(dialect: Dialect, sql: list[str]) -> None:
    written = dialect.bound(BOUND.join(sql))
    pieces = [piece.replace("%", "%%") if dialect.escapes_percent else piece for piece in sql]
    assert written == dialect.placeholder.join(pieces)


@every_engine
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_texts_mean_themselves_bound_or_written(dialect: Dialect, text: str, ask: Ask) -> None:
    written = text_sql(text, dialect).sql(dialect.name)
    assert written.isprintable(), "a format that ends a line may hold it"
    assert ask(dialect, f"SELECT {dialect.text_of(BOUND)}, {written}", text) == [(text, text)]


@every_engine
@pytest.mark.parametrize(("column", "value", "form"), LEXICAL_FORMS, ids=str)
def test_a_value_has_one_lexical_form(dialect: Dialect, column: ColumnType, value: Any, form: str, ask: Ask) -> None:
    kept = dialect.types_values  # SQLite would cast a date to a number
    named = MYSQL_CASTS.get(column.sql_type, column.sql_type) if dialect is MYSQL else column.sql_type
    typed = f"CAST({BOUND} AS {named})" if kept else BOUND
    lexical = dialect.lexical(column_of("t", "v"), column).sql(dialect.name)
    bound = None if value is None else dialect.bindable(value)
    assert ask(dialect, f"SELECT {lexical} FROM (SELECT {typed} AS v) AS t", bound) == [(form,)]


@every_engine
def test_a_list_of_values_is_a_relation(dialect: Dialect, ask: Ask) -> None:
    wanted = ["a", "50%", "é", "", '"']
    sql = f"WITH wanted AS {dialect.value_list} SELECT v FROM wanted"
    assert [v for (v,) in ask(dialect, sql, json.dumps(wanted))] == wanted


@every_engine
def test_the_cells_of_a_table_are_pairs(dialect: Dialect, ask: Ask) -> None:
    pairs = [("'number'", dialect.text_of("t.a")), ("'text'", "t.b")]
    cells = dialect.cells("(SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y')", pairs)
    assert set(ask(dialect, cells)) == {("number", "1"), ("number", "2"), ("text", "x"), ("text", "y")}


def test_rows_looked_up_cell_by_cell_are_those_that_one_condition_per_column_finds(ask: Ask) -> None:
    """Only DuckDB refuses very many conditions."""
    assert [dialect.name for dialect in DIALECTS if dialect.rows_by_cell] == ["duckdb"]
    assert DUCKDB.rows_by_cell is not None
    scan = "SELECT i AS k0, i % 3 AS k1, i % 5 AS k2 FROM range(30) r(i)"
    relations = "wanted AS (SELECT unnest([7, 11]) AS v), reached AS (SELECT unnest([2, 4]) AS v)"
    further, query = DUCKDB.rows_by_cell(scan, [("wanted", ["k0"])], [("reached", ["k1", "k2"])], 2)
    expected = [row for i in range(30) if (row := (i, i % 3, i % 5)) and (i in (7, 11) or _both(row))]
    assert sorted(ask(DUCKDB, f"WITH {relations}, {further} {query}")) == expected


def _both(row: tuple[int, int, int]) -> bool:
    return row[1] in (2, 4) and row[2] in (2, 4)


@pytest.mark.parametrize("dialect", [DUCKDB, SQLITE, MYSQL], ids=lambda dialect: dialect.name)
def test_iris_are_encoded_alike(dialect: Dialect, ask: Ask) -> None:
    text = "a/b ä%"
    if dialect.iri_safe_function:
        ask(dialect, "CREATE SCHEMA IF NOT EXISTS mapping")
        ask(dialect, dialect.iri_safe_function)
    sql = dialect.iri_safe(text_sql(text, dialect)).sql(dialect.name)
    assert ask(dialect, f"SELECT {sql}") == [(iri_safe(text),)]


def test_two_are_servers_and_only_sqlite_has_no_schemas() -> None:
    assert [dialect for dialect in DIALECTS if dialect.jdbc_schema is not None] == [POSTGRES, MYSQL]
    assert [dialect for dialect in DIALECTS if not dialect.has_schemas] == [SQLITE]


def dialect_branches(source: str) -> list[int]:
    """The lines that decide by an engine: comparisons of a dialect, and tables keyed by names of engines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_dialect(side) for side in sides):
                found.append(node.lineno)
        elif isinstance(node, ast.Match) and _is_dialect(node.subject):
            found.append(node.lineno)
        elif isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(NAMES.intersection(filter(lambda key: isinstance(key, str), keys))) > 1:
                found.append(node.lineno)
    return found


def _is_dialect(node: ast.expr) -> bool:
    named = ast.unparse(node).split("(")[0].removesuffix(".name")
    return named.rpartition(".")[2].lower() in {"dialect", "drivername", "duckdb", "postgres", "sqlite"}


@pytest.mark.parametrize(
    "branch",
    [
        'if dialect == "sqlite": pass',
        "if database.dialect is SQLITE: pass",
        'x = 1 if self.dialect.name != "postgres" else 2',
        "if dialect in (DUCKDB, SQLITE): pass",
        'if url.drivername == "sqlite": pass',
        'match dialect.name:\n    case "duckdb": pass',
        'marks = {"duckdb": "?", "postgres": "%s"}',
    ],
)
def test_a_dialect_branch_is_seen(branch: str) -> None:
    assert dialect_branches(branch)


def test_no_module_but_the_engines_own_decides_by_dialect() -> None:
    # sources/database.py is where a URL's scheme becomes an engine.
    here = [path for path in PACKAGE.rglob("*.py") if not path.relative_to(PACKAGE).as_posix().startswith(HOMES)]
    here.remove(PACKAGE / "sources/database.py")
    assert len(here) > 100
    assert {str(path): lines for path in here if (lines := dialect_branches(path.read_text("utf-8")))} == {}
