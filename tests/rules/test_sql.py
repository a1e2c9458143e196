"""Rule → SQL: the same facts on DuckDB, PostgreSQL and SQLite, whatever the names and constants are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg2
import pytest
from hypothesis import HealthCheck, given, settings

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import BOUND, DUCKDB, POSTGRES, SQLITE, Dialect
from ruleminer.rules.expressions import identifier
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import Query, rule_query
from ruleminer.rules.values import Atom, Concat, Constant, Kind, Rule, Scalar, Variable

from .strategies import constants, names, texts

TYPES = {
    Kind.INTEGER: "INTEGER",
    Kind.DECIMAL: "DECIMAL(18,4)",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.TEXT: "VARCHAR(100)",
}
FIXTURES = Path(__file__).parent.parent / "fixtures" / "rules"


class Engines:
    """The three engines, each with a connection that may write."""

    def __init__(self, postgres_url: str) -> None:
        self.duckdb = duckdb.connect()
        self.sqlite = sqlite3.connect(":memory:")
        self.postgres = psycopg2.connect(postgres_url)
        self.postgres.autocommit = True
        self.postgres.cursor().execute("SET search_path = pg_temp")

    def each(self) -> Iterator[tuple[Dialect, object]]:
        yield from ((DUCKDB, self.duckdb), (SQLITE, self.sqlite), (POSTGRES, self.postgres.cursor()))

    def create(self, table: str, columns: dict[str, Kind], rows: list[list[Scalar | None]]) -> None:
        for dialect, engine in self.each():
            name = identifier(table).sql(dialect.name)
            defined = ", ".join(f"{identifier(c).sql(dialect.name)} {TYPES[kind]}" for c, kind in columns.items())
            engine.execute(f"DROP TABLE IF EXISTS {name}")
            engine.execute(f"CREATE {'' if dialect is DUCKDB else 'TEMP'} TABLE {name} ({defined})")
            insert = dialect.bound(f"INSERT INTO {name} VALUES ({', '.join([BOUND] * len(columns))})")
            for row in rows:
                engine.execute(insert, [None if v is None else dialect.bindable(v) for v in row])

    def run(self, dialect: Dialect, query: Query) -> set[tuple[object, ...]]:
        engine = next(engine for known, engine in self.each() if known is dialect)
        result = engine.execute(dialect.bound(query.sql), query.parameters)
        return set((engine if dialect is POSTGRES else result).fetchall())


@pytest.fixture(scope="module")
def engines(postgres_url: str) -> Engines:
    return Engines(postgres_url)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=names, key=names, flag=names, constant=constants, prefix=texts)
def test_any_name_and_constant_is_safe_and_means_the_same(
    engines: Engines, table: str, key: str, flag: str, constant: Constant, prefix: str
) -> None:
    if key.lower() == flag.lower() or len(table.encode()) > 50 or max(len(key.encode()), len(flag.encode())) > 50:
        return  # one column, or cut by PostgreSQL at 63 bytes
    if table.lower().startswith("sqlite_"):
        return  # SQLite keeps these for itself
    kinds = {key: Kind.INTEGER, flag: constant.kind}
    engines.create(table, kinds, [[1, constant.value], [2, None], [None, constant.value]])
    x, a = Variable("x"), Variable("a")
    by_flag = Rule("H", (x,), (Atom(table, ((key, x), (flag, constant))),))
    by_iri = Rule(
        "H", (x,), (Atom(table, ((key, a), (flag, constant))),), ((x, Concat((prefix, a) if prefix else (a,))),)
    )
    value_of = Rule("H", (a, x), (Atom(table, ((key, a), (flag, x))),))
    for dialect, _ in engines.each():

        def types(_: str, column: str) -> ColumnType:
            return ColumnType(kinds[column], TYPES[kinds[column]])

        assert engines.run(dialect, rule_query(by_flag, dialect, types)) == {("1",)}
        assert engines.run(dialect, rule_query(by_iri, dialect)) == {(prefix + "1",)}
        if constant.kind is not Kind.DECIMAL:
            assert engines.run(dialect, rule_query(value_of, dialect, types)) == {("1", lexical_form(constant.value))}


@pytest.mark.parametrize("number", ["0", "1.5", "-0.25", "100", "12.3", "1000000"])
def test_decimals_lose_their_trailing_zeros_on_every_engine(engines: Engines, number: str) -> None:
    from decimal import Decimal

    engines.create("prices", {"p": Kind.DECIMAL}, [[Decimal(number)]])
    rule = parse_rule("H(x) <- prices(p: x)")
    for dialect, _ in engines.each():
        query = rule_query(rule, dialect, lambda *_: ColumnType(Kind.DECIMAL, "DECIMAL(18,4)"))
        assert engines.run(dialect, query) == {(number,)}, dialect.name


def test_null_satisfies_no_column_that_a_rule_names(engines: Engines) -> None:
    engines.create("pairs", {"a": Kind.INTEGER, "b": Kind.INTEGER}, [[1, None], [2, 3], [None, 4]])
    for dialect, _ in engines.each():
        assert engines.run(dialect, rule_query(parse_rule("H(x) <- pairs(a: x, b: y)"), dialect)) == {(2,)}


def test_no_promise_of_not_null_is_relied_on_when_we_ask() -> None:
    rule = parse_rule("H(x) <- t(a: x)")
    kept = rule_query(rule, SQLITE, lambda *_: ColumnType(Kind.TEXT, "TEXT", nullable=False))
    assert kept.sql == 'SELECT DISTINCT CAST(t1."a" AS TEXT) AS "x" FROM "t" AS t1 WHERE NOT t1."a" IS NULL'


def fixture_cases() -> list[tuple[str, str]]:
    lines = (FIXTURES / "sql.txt").read_text("utf-8").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    return list(zip(lines[::2], lines[1::2], strict=True))


@pytest.mark.parametrize(("rule", "sql"), fixture_cases())
def test_rules_and_their_sql(rule: str, sql: str) -> None:
    parsed = parse_rule(rule)
    assert rule_text(parsed) == rule
    assert DUCKDB.bound(rule_query(parsed, DUCKDB).sql) == sql
