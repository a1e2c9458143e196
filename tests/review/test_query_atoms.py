"""A query is read as a rule only where the rule says all of it; whatever else chooses rows is refused by name."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ruleminer.review.query_atoms import UnreadableQueryError, query_atoms, table_atom
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule, Variable
from ruleminer.sources.database import open_database
from ruleminer.sources.schema import Schema

X = Variable("x")
_TABLES = """
CREATE TABLE t (id INTEGER PRIMARY KEY, deleted DATE, ok BOOLEAN, u INTEGER);
CREATE TABLE u (id INTEGER PRIMARY KEY, name VARCHAR);
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Schema]:
    path = tmp_path_factory.mktemp("query") / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(_TABLES)
    with open_database(str(path)) as database:
        yield database.schema


def rule(sql: str, schema: Schema) -> str:
    return rule_text(Rule("A", (X,), query_atoms(sql, schema, "duckdb").atoms({"id": X}))).partition(" <- ")[2]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT id FROM t WHERE deleted IS NOT NULL", "t(id: x, deleted: v1)"),
        ("SELECT id FROM t WHERE NOT (deleted IS NULL) AND ok", "t(id: x, ok: true, deleted: v1)"),
        ("SELECT id FROM t WHERE id IS NOT NULL", "t(id: x)"),
        ("SELECT DISTINCT id FROM main.t ORDER BY id", "t(id: x)"),
        ("SELECT t.id FROM t JOIN u ON t.u = u.id WHERE t.u IS NOT NULL", "t(id: x, u: v1), u(id: v1)"),
        ("SELECT t.* FROM t", "t(id: x)"),
    ],
)
def test_what_a_rule_says_is_read(schema: Schema, sql: str, told: str) -> None:
    assert rule(sql, schema) == told


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT id FROM t WHERE ok IS NOT TRUE", "a condition that no rule says"),
        ("SELECT id FROM t WHERE NOT ok IS FALSE", "a condition that no rule says"),
        ("SELECT id FROM t WHERE (ok OR u = 1) IS NOT NULL", "a condition that no rule says"),
        ("SELECT t.id FROM t NATURAL JOIN u", "NATURAL join"),
        ("SELECT DISTINCT ON (u) id FROM t", "DISTINCT ON"),
        ("SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY u) = 1", "QUALIFY"),
        ("SELECT id FROM t TABLESAMPLE 10%", "SAMPLE"),
        ("SELECT id FROM t USING SAMPLE 3", "SAMPLE"),
        ("SELECT id FROM elsewhere.t", "reads the schema elsewhere"),
        ("SELECT id FROM t LIMIT 1", "LIMIT"),
        ("SELECT id FROM t AS s(deleted, id, ok, u)", "other names"),
        ("SELECT zz.* FROM t", "a table that it does not read: zz"),
        ("SELECT t.id FROM t, t", "two tables t"),
        (f"SELECT id FROM t WHERE {'(' * 3000}ok{')' * 3000}", "nested more than"),
    ],
)
def test_what_no_rule_says_is_refused_by_name(schema: Schema, sql: str, told: str) -> None:
    with pytest.raises(UnreadableQueryError, match=told):
        rule(sql, schema)


def test_a_table_of_another_schema_is_refused(schema: Schema) -> None:
    assert table_atom("t", schema, "MAIN").tables == {"t": "t"}
    with pytest.raises(UnreadableQueryError, match="reads the schema elsewhere"):
        table_atom("t", schema, "elsewhere")
