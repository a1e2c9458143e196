"""Which columns of the source hold codes: few values, that tell kinds of rows apart.

Proposals have a stricter measure (`propose/codes.py`): they try codes where nobody has asked for one.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa
from sqlglot import exp

from ruleminer.errors import ConnectionLostError
from ruleminer.extract.catalog import Catalog, SourceColumn
from ruleminer.extract.cells import TRIES, Source
from ruleminer.rules.sql import as_text, identifier
from ruleminer.rules.values import Kind

MOST_VALUES = 32
_KINDS = (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)


def code_columns(work: duckdb.DuckDBPyConnection, source: Source, catalog: Catalog) -> frozenset[int]:
    """The ids of columns with 2 to 32 values, of which some value stands twice; neither keys nor links.

    The rows brought over refute most columns; for the others one statement per table counts. What was found is kept in
    the work file.
    """
    if not work.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'code_column'").fetchone():
        seen = "SELECT col FROM cell GROUP BY col HAVING count(DISTINCT val) <= ?"
        suspects = {column for (column,) in work.execute(seen, [MOST_VALUES]).fetchall()}
        codes = [
            code
            for table, columns in catalog.by_table.items()
            for code in _counted(source, table, [c for c in columns if c.id in suspects and _eligible(c)])
        ]
        work.register("codes_now", pa.table({"col": pa.array(codes, pa.int32())}))
        work.execute("CREATE TABLE code_column AS SELECT * FROM codes_now")
        work.unregister("codes_now")
    return frozenset(column for (column,) in work.execute("SELECT col FROM code_column").fetchall())


def _eligible(column: SourceColumn) -> bool:
    return column.type.kind in _KINDS and not (column.is_key or column.is_link)


def _counted(source: Source, table: str, columns: list[SourceColumn]) -> list[int]:
    """The ids of a table's columns that hold codes, by all of its rows."""
    if not columns:
        return []
    counts: list[exp.Expr] = []
    for column in columns:
        text = as_text(exp.Column(this=identifier(column.name)))
        counts.append(exp.alias_(exp.Count(this=exp.Distinct(expressions=[text])), f"values_{column.id}"))
        counts.append(exp.alias_(exp.Count(this=exp.Column(this=identifier(column.name))), f"filled_{column.id}"))
    sql = exp.select(*counts).from_(exp.Table(this=identifier(table))).sql(source.dialect)
    (row,) = _answer(source, sql).to_pylist()
    return [c.id for c in columns if 2 <= row[f"values_{c.id}"] <= min(MOST_VALUES, row[f"filled_{c.id}"] - 1)]


def _answer(source: Source, sql: str) -> pa.Table:
    """A query's rows; a lost connection is tried again, for a source may have waited long since the last one."""
    for _ in range(TRIES - 1):
        try:
            return source.arrow(sql).read_all()
        except ConnectionLostError:
            continue
    return source.arrow(sql).read_all()
