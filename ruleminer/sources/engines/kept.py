"""Tables of a server that were brought over whole and are asked here, in memory and, where that is short, on disk.

Their shape is the server's; their values are kept as its dialect says (`Dialect.kept_as`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import as_text, column_of, identifier
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.duckdb import CATALOG, DuckDB
from ruleminer.sources.engines.engine import Parameters
from ruleminer.sources.schema import Table, quote_identifier

_TYPES = {Kind.INTEGER: "BIGINT", Kind.BOOLEAN: "BOOLEAN"}

CATALOGS = ("memory", "system", "temp", CATALOG)
"""The databases that a connection knows, behind whose names DuckDB does not look for a schema."""


class Kept:
    """The tables, asked by DuckDB; those of a schema lie in one of that name."""

    def __init__(
        self, asked: DuckDB, dialect: Dialect, tables: Sequence[Table], unreadable: Sequence[tuple[str, str]]
    ) -> None:
        self.dialect = dialect
        self._asked, self._tables, self._unreadable = asked, list(tables), list(unreadable)

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has."""
        return self._asked.schemas()

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""
        self._asked.use_schema(name)

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, as the server told of them, and those that it may not read."""
        return self._tables, self._unreadable

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed."""
        return self._asked.rows(sql, params)

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches."""
        return self._asked.arrow(sql, params)

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """All of them: a stranger's SQL is the server's."""
        return set(names)

    def role_problem(self) -> str:
        """Nobody has a role here."""
        return ""

    def limit_memory(self, size: int | None) -> None:
        """Take no more than so many bytes of this machine's memory from now on."""
        self._asked.limit_memory(size)

    def close(self) -> None:
        """Give back every connection, and what is kept."""
        self._asked.close()


def attach_kept(connection: duckdb.DuckDBPyConnection, schema: str | None) -> None:
    """An empty place for tables that are kept."""
    connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
    if schema is not None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.{quote_identifier(schema)}")


def written_rows(table: Table, dialect: Dialect) -> str:
    """The query of all rows of a server's table, with its values as they are kept."""
    values = [_written(column_of("t", c.name), table.type_of(c.name), dialect) for c in table.columns]
    named = [exp.alias_(value, f"c{number}") for number, value in enumerate(values)] or [exp.alias_(exp.null(), "c")]
    source = exp.alias_(exp.Table(this=identifier(table.name)), "t", table=True)
    return exp.select(*named).from_(source).sql(dialect.name)


def keeping(table: Table, schema: str | None, incoming: str) -> str:
    """The statement that keeps the rows of a relation, `written_rows`, under the table's name."""
    name = ".".join(map(quote_identifier, ("main" if schema is None else schema, table.name)))
    columns = ", ".join(
        f"CAST(c{number} AS {_TYPES.get(column.kind, 'VARCHAR')}) AS {quote_identifier(column.name)}"
        for number, column in enumerate(table.columns)
    )
    return f"CREATE OR REPLACE TABLE {CATALOG}.{name} AS SELECT {columns or 'c'} FROM {incoming}"


def _written(value: exp.Expression, column: ColumnType, dialect: Dialect) -> exp.Expression:
    match column.kind:
        case Kind.INTEGER:
            return exp.cast(value, "bigint")
        case Kind.BOOLEAN:
            return value
        case Kind.DECIMAL:
            return as_text(value)
        case _:
            return dialect.lexical(value, column)
