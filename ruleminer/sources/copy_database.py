"""Copying a DuckDB file into another database: types, keys and rows, streamed, whole or not at all.

It goes the way a dump goes (pgdump/): DuckDB prints the rows as COPY would, so the targets are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from sqlglot import exp

from ruleminer.errors import InputError
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database, dialect_of, open_database, parse_url
from ruleminer.sources.dump import LoadedDump, LoadedTable, Skipped
from ruleminer.sources.engines.engine import without_password
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import DumpColumn, DumpForeignKey, DumpTable
from ruleminer.sources.pgdump.rows import Rows
from ruleminer.sources.pgdump.targets import target_of
from ruleminer.sources.schema import Column, Table, kind_of_type, quote_identifier

_NO_VIEWS = "only tables are copied"
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def copy_database(source: Path, url: str, *, schema: str | None = None, replace: bool = False) -> LoadedDump:
    """Copy the tables of a DuckDB file into the database at `url`; views are left out.

    They go to `schema`, or to one named like the folder that the file lies in; SQLite has no schemas. A schema that
    has tables already is only overwritten with `replace`. When anything fails, the target stays as it was.
    """
    if not source.is_file():
        raise InputError(f"{source}: no such file")
    counts: dict[str, int] = {}
    with open_database(f"duckdb:///{source}", count_rows=False) as database:
        name = schema or source.resolve().parent.name
        declared = _declarations(source, database, name)
        views = tuple(Skipped(f"VIEW {t.name}", 1, _NO_VIEWS) for t in database.schema.tables if t.is_view)
        with target_of(parse_url(url, may_be_new=True), declared, replace) as target:
            for table in declared.tables.values():
                columns = tuple(column.name for column in table.columns)
                lines = _lines(database, database.schema.table(table.name))
                counts[table.name] = target.fill(Rows(table, columns, lines, partial(_place, source, table.name)))
            target.finish()
    named = dialect_of(parse_url(url)).has_schemas
    loaded = tuple(LoadedTable(name if named else None, table, rows) for table, rows in counts.items())
    return LoadedDump(without_password(parse_url(url)), loaded, (), views)


def _declarations(source: Path, database: Database, schema: str) -> Declarations:
    declared = Declarations(source)
    for table in database.schema.tables:
        if not table.is_view:
            declared.tables[schema, table.name] = DumpTable(
                schema,
                table.name,
                tuple(DumpColumn(c.name, _postgres_type(c.sql_type), c.nullable) for c in table.columns),
                table.primary_key,
                list(table.unique),
                [DumpForeignKey(k.columns, (schema, k.table), k.referenced, True) for k in table.foreign_keys],
            )
    if not declared.tables:
        raise InputError(f"{source} has no tables to copy")
    return declared


def _postgres_type(sql_type: str) -> str:
    """A type of DuckDB in PostgreSQL's words; what rules read as text is text there."""
    if kind_of_type(sql_type) is Kind.TEXT:
        return "TEXT"
    return exp.DataType.build(sql_type, dialect="duckdb").sql("postgres")


def _lines(database: Database, table: Table) -> Iterator[bytes]:
    """The rows as lines of COPY's text format, put together inside DuckDB."""
    fields = " || chr(9) || ".join(_field(column) for column in table.columns)
    for batch in database.arrow(f"SELECT {fields} || chr(10) AS line FROM {database.quoted(table.name)}"):
        for line in batch.column(0).to_pylist():
            yield line.encode()


def _field(column: Column) -> str:
    text = f"CAST({quote_identifier(column.name)} AS VARCHAR)"
    if column.kind is Kind.TEXT:
        for character, escape in _ESCAPES:
            text = f"replace({text}, {_literal(character)}, {_literal(escape)})"
    return f"coalesce({text}, '\\N')"


def _literal(text: str) -> str:
    """A text as SQL; DuckDB's plain strings know no escapes, so control characters go by number."""
    return f"chr({ord(text)})" if text in "\t\n\r" else f"'{text}'"


def _place(source: Path, table: str, number: int) -> str:
    return f"{source}, table {table}, row {number + 1}"
