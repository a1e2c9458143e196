"""The rows that matter: those that hold an argument of some fact, brought over by one scan per table.

`cell(row, col, val, raw)` has one entry for each value that is not NULL in such a row. `val` numbers the values
(`value(val, family, key)`: equal values have equal numbers); `raw` is the engine's own text where that is not the
key (decimals with a fixed scale), for concatenations. The source answers one statement per table; what it is asked
for, the facts' arguments, goes with the statement as a bound parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import duckdb
import pyarrow as pa
from sqlglot import exp

from ruleminer.errors import ConnectionLostError
from ruleminer.extract.catalog import Catalog, SourceColumn
from ruleminer.extract.inner_joins import InnerJoins, inner_joins
from ruleminer.extract.scan import Wanted, has_raw, rows_query
from ruleminer.rules.sql import Query
from ruleminer.rules.templates import Restriction, Template
from ruleminer.rules.values import Kind, Variable

Progress = Callable[[str, int, int], None]

TRIES = 3


class Source(Protocol):
    """What extraction needs of a database: its dialect, and the rows of a query as Arrow batches."""

    @property
    def dialect(self) -> str: ...
    def arrow(self, sql: str, params: Sequence[object] | None = None) -> pa.RecordBatchReader: ...


def create_tables(work: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    """The empty relations that fetching fills, and the catalogue that statements look names up in."""
    work.execute("CREATE TABLE IF NOT EXISTS cell_text (row BIGINT, col INTEGER, key VARCHAR, raw VARCHAR)")
    work.execute("CREATE TABLE IF NOT EXISTS fetched (pass TINYINT, table_name VARCHAR, rows BIGINT)")
    work.execute("CREATE TABLE IF NOT EXISTS reach (pass TINYINT, family VARCHAR, keys VARCHAR)")
    columns = pa.table(
        {
            "col": pa.array([column.id for column in catalog.columns], pa.int32()),
            "tbl": pa.array([column.table_id for column in catalog.columns], pa.int32()),
            "table_name": pa.array([column.table for column in catalog.columns], pa.string()),
            "column_name": pa.array([column.name for column in catalog.columns], pa.string()),
            "family": pa.array([str(column.family) for column in catalog.columns], pa.string()),
            "is_key": pa.array([column.is_key for column in catalog.columns], pa.bool_()),
            "is_link": pa.array([column.is_link for column in catalog.columns], pa.bool_()),
        }
    )
    work.register("columns_now", columns)
    work.execute("CREATE OR REPLACE TABLE source_column AS SELECT * FROM columns_now")
    work.unregister("columns_now")
    work.execute("CREATE OR REPLACE MACRO catalog_table(c) AS (SELECT tbl FROM source_column WHERE col = c)")
    work.execute("CREATE OR REPLACE MACRO catalog_name(c) AS (SELECT column_name FROM source_column WHERE col = c)")


def fetch_cells(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    catalog: Catalog,
    templates: Iterable[Template],
    progress: Progress = lambda table, done, total: None,
) -> None:
    """Fill `cell` and `value`. A table that is there already, from a run that was cut short, is not asked again."""
    templates = list(templates)
    wanted = wanted_values(work, templates)
    inner = inner_joins(templates)
    later_passes = work.execute("SELECT count(DISTINCT pass) FROM reach").fetchone()
    if later_passes == (0,):
        _fetch_pass(work, source, catalog, Wanted(wanted), 1, progress)
    for number in range(2, 2 + inner.hops):
        reached = _reached_values(work, inner, number)
        _fetch_pass(work, source, catalog, Wanted(wanted, reached, inner.needed), number, progress)
    work.execute(
        """
        CREATE OR REPLACE TABLE value AS
        SELECT row_number() OVER () AS val, family, key
        FROM (SELECT DISTINCT family, key FROM cell_text JOIN source_column USING (col));
        CREATE OR REPLACE TABLE cell AS
        SELECT row, col, val, raw FROM cell_text JOIN source_column USING (col) JOIN value USING (family, key);
        CREATE OR REPLACE TABLE argument AS
        SELECT DISTINCT fact, pos, val FROM reading JOIN value USING (family, key) WHERE fits;
        """
    )


# What the text of a value of each family looks like, so that a piece of an IRI is looked for only where it can be.
_LOOKS = {
    Kind.TEXT: "true",
    Kind.DECIMAL: r"regexp_full_match(text, '-?\d+(\.\d+)?')",
    Kind.DATE: r"regexp_full_match(text, '\d{4}-\d\d-\d\d')",
    Kind.TIMESTAMP: r"regexp_full_match(text, '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?')",
    Kind.BOOLEAN: "text IN ('true', 'false')",
}


def wanted_values(work: duckdb.DuckDBPyConnection, templates: Iterable[Template]) -> dict[Kind, str]:
    """Per family, the keys that make a row matter, as a JSON array: arguments, and the segments of IRIs."""
    queries = ["SELECT family, key FROM reading"]
    pieces = ["SELECT text FROM segment"] if any(a.spreads for t in templates for a in t.body) else []
    pieces += [query for template in templates for query in _first_parts(template)]
    for piece in pieces:
        queries += [f"SELECT '{name}', text FROM ({piece}) WHERE {looks}" for name, looks in _LOOKS.items()]
    keys = work.execute(
        f"SELECT family, CAST(to_json(list(DISTINCT key)) AS VARCHAR) FROM ({' UNION ALL '.join(queries)}) GROUP BY 1"
    ).fetchall()
    return {Kind(name): array for name, array in keys}


def _first_parts(template: Template) -> Iterable[str]:
    """For `x = "http://…/" ++ a ++ "/" ++ b`: every text that the first variable can have in some argument."""
    for variable, definition in template.definitions:
        parts = list(getattr(definition, "parts", ()))
        if not any(isinstance(part, Variable) for part in parts):
            continue
        prefix = parts.pop(0) if isinstance(parts[0], str) else ""
        follower = parts[1] if len(parts) > 1 and isinstance(parts[1], str) else ""
        literal = exp.Literal.string(follower).sql("duckdb")
        position = template.arguments.index(variable) + 1
        rest = f"""SELECT substr(text, {len(prefix) + 1}) AS rest FROM argument_text
                   WHERE pos = {position} AND starts_with(text, {exp.Literal.string(prefix).sql("duckdb")})"""
        yield f"""SELECT substr(rest, 1, stop) AS text
                  FROM (SELECT rest, unnest(range(1, length(rest) + 1)) AS stop FROM ({rest}))
                  WHERE {"true" if len(parts) > 1 else "stop = length(rest)"}
                    AND substr(rest, stop + 1, {len(follower)}) = {literal}"""


def _reached_values(work: duckdb.DuckDBPyConnection, inner: InnerJoins, number: int) -> dict[Kind, str]:
    """The values through which the rows so far can be joined to others. The next pass asks for more, and afresh."""
    if not work.execute("SELECT 1 FROM reach WHERE pass = ?", [number]).fetchone():
        # Which columns hold codes is not known before the rows are.
        conditions = {None: "true", Restriction.KEY: "is_key", Restriction.LINK: "is_link", Restriction.CODE: "true"}
        where = " OR ".join(conditions[restriction] for restriction in inner.restrictions)
        work.begin()
        work.execute(
            f"""INSERT INTO reach
                SELECT ?, family, CAST(to_json(list(DISTINCT key)) AS VARCHAR)
                FROM cell_text JOIN source_column USING (col) WHERE {where} GROUP BY family
                UNION ALL SELECT ?, NULL, NULL""",
            [number, number],
        )
        work.execute("DELETE FROM cell_text")
        work.commit()
    rows = work.execute("SELECT family, keys FROM reach WHERE pass = ? AND family IS NOT NULL", [number]).fetchall()
    return {Kind(name): keys for name, keys in rows}


def _fetch_pass(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    catalog: Catalog,
    wanted: Wanted,
    number: int,
    progress: Progress,
) -> None:
    done = {name for (name,) in work.execute("SELECT table_name FROM fetched WHERE pass = ?", [number]).fetchall()}
    for index, (table, columns) in enumerate(catalog.by_table.items()):
        if table not in done:
            query = rows_query(table, columns, source.dialect, wanted)
            if query is not None:
                _store(work, source, query, columns, table, number)
        progress(table, index + 1, len(catalog.by_table))


def _store(
    work: duckdb.DuckDBPyConnection,
    source: Source,
    query: Query,
    columns: Sequence[SourceColumn],
    table: str,
    number: int,
) -> None:
    """Stream one table's rows into `cell_text`, in one transaction; a lost connection is tried again."""
    keys = ", ".join(f"k{column.id}" for column in columns)
    raws = ", ".join(f"r{column.id}" if has_raw(column) else "NULL" for column in columns)
    ids = ", ".join(str(column.id) for column in columns)
    for attempt in range(1, TRIES + 1):
        lost: list[ConnectionLostError] = []
        work.begin()
        try:
            work.register("incoming", _watched(source.arrow(query.sql, query.parameters), lost))
            work.execute(
                f"""
                INSERT INTO cell_text
                SELECT row, col, key, raw FROM (
                    SELECT row, unnest([{ids}]) AS col, unnest([{keys}]) AS key, unnest([{raws}]) AS raw
                    FROM (SELECT row_number() OVER () + (SELECT coalesce(max(row), 0) FROM cell_text) AS row, *
                          FROM incoming))
                WHERE key IS NOT NULL
                """
            )
            work.execute(
                "INSERT INTO fetched SELECT ?, ?, count(DISTINCT row) FROM cell_text WHERE col IN "
                f"(SELECT unnest([{ids}]))",
                [number, table],
            )
            work.commit()
            return
        except (ConnectionLostError, duckdb.Error) as error:
            work.rollback()
            cause = lost[0] if lost else error
            if attempt == TRIES or not isinstance(cause, ConnectionLostError):
                raise cause from None
        except BaseException:
            work.rollback()
            raise
        finally:
            work.unregister("incoming")


def _watched(reader: pa.RecordBatchReader, lost: list[ConnectionLostError]) -> pa.RecordBatchReader:
    """The same batches; a lost connection is noted, since DuckDB would report it as an error of its own."""

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except ConnectionLostError as error:
            lost.append(error)
            raise

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def count_fetched(work: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many rows of each table came over."""
    return dict(work.execute("SELECT table_name, max_by(rows, pass) FROM fetched GROUP BY 1 ORDER BY 1").fetchall())
