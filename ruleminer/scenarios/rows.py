"""Fills a DuckDB file with the tables of a layout, by statements that compute every row inside DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb

from ruleminer.scenarios.instance import instance_statements
from ruleminer.scenarios.layout import Layout, Table
from ruleminer.scenarios.names import Naming
from ruleminer.scenarios.population import Population
from ruleminer.scenarios.value_kinds import list_variables
from ruleminer.sources.engines.duckdb import KEYS_TABLE
from ruleminer.sources.schema import quote_identifier

MEMORY_LIMIT = "2GB"
BLOCK_SIZE = 16_384  # the smallest: most tables of most scenarios are small
SMALL_UP_TO = 1_000_000

KeyRow = tuple[str, str, list[str], str | None, list[str]]


def is_small(population: Population) -> bool:
    """Whether the instance may be stored for a while, and DuckDB may enforce keys.

    An index costs several times what its table does, so keys of larger databases are kept as data (KEYS_TABLE).
    """
    return population.expected_rows() <= SMALL_UP_TO


def connect(path: Path, spill: Path, population: Population) -> duckdb.DuckDBPyConnection:
    """A connection to a new file that knows the instance."""
    connection = duckdb.connect(
        str(path),
        config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(spill), "default_block_size": BLOCK_SIZE},
    )
    for name, words in list_variables():
        connection.execute(f"SET VARIABLE {name} = ?", [words])
    for statement in instance_statements(population, is_small(population)):
        connection.execute(statement)
    return connection


def fill_tables(
    connection: duckdb.DuckDBPyConnection, layout: Layout, naming: Naming, enforce: bool, done: Callable[[str], None]
) -> dict[str, int]:
    """Create and fill all tables; the number of rows of each."""
    connection.execute("BEGIN")
    counts: dict[str, int] = {}
    keys: list[KeyRow] = []
    for table in layout.tables.values():
        name = naming.tables[table.id]
        connection.execute(_create_statement(table, naming, enforce))
        selected = ", ".join(column.sql for column in table.columns)
        insert = f"INSERT INTO {quote_identifier(name)} SELECT {selected} FROM {table.source} WHERE {table.where}"
        (counts[name],) = connection.execute(insert).fetchone() or (0,)
        keys += _keys_as_data(layout, table, naming, enforce)
        done(name)
    if keys:
        _store_keys(connection, keys)
    connection.execute("COMMIT")
    return counts


def _create_statement(table: Table, naming: Naming, enforce: bool) -> str:
    lines = [
        f"{quote_identifier(naming.columns[table.id, c.id])} {c.sql_type}{' NOT NULL' if c.required else ''}"
        for c in table.columns
    ]
    if enforce:
        if table.key:
            lines.append(f"PRIMARY KEY ({_quoted(table, table.key, naming)})")
        lines += [f"UNIQUE ({_quoted(table, columns, naming)})" for columns in table.unique]
    return f"CREATE TABLE {quote_identifier(naming.tables[table.id])} ({', '.join(lines)})"


def _quoted(table: Table, columns: Iterable[str], naming: Naming) -> str:
    return ", ".join(quote_identifier(naming.columns[table.id, column]) for column in columns)


def _keys_as_data(layout: Layout, table: Table, naming: Naming, enforce: bool) -> list[KeyRow]:
    """Foreign keys, and the other keys unless DuckDB enforces them, as rows of KEYS_TABLE."""
    name = naming.tables[table.id]

    def columns(owner: str, ids: Iterable[str]) -> list[str]:
        return [naming.columns[owner, column] for column in ids]

    rows: list[KeyRow] = []
    if not enforce:
        if table.key:
            rows.append((name, "PRIMARY KEY", columns(table.id, table.key), None, []))
        rows += [(name, "UNIQUE", columns(table.id, unique), None, []) for unique in table.unique]
    for reference in table.references:
        target = layout.tables[reference.table]
        own, referenced = columns(table.id, reference.columns), columns(target.id, target.key)
        rows.append((name, "FOREIGN KEY", own, naming.tables[target.id], referenced))
    return rows


def _store_keys(connection: duckdb.DuckDBPyConnection, keys: list[KeyRow]) -> None:
    connection.execute(
        f"CREATE TABLE {KEYS_TABLE} (table_name VARCHAR, constraint_type VARCHAR, columns VARCHAR[], "
        "referenced_table VARCHAR, referenced_columns VARCHAR[])"
    )
    connection.executemany(f"INSERT INTO {KEYS_TABLE} VALUES (?, ?, ?, ?, ?)", keys)
