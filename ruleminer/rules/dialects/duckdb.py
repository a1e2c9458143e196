"""DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.dialect import (
    BOUND,
    Dialect,
    JsonScalar,
    Lookups,
    Quote,
    iri_safe_call,
    zoned_timestamp_text,
)
from ruleminer.rules.expressions import as_text, call, verbatim, without_zeros

_IRI_SAFE = r"""CREATE OR REPLACE MACRO "mapping".iri_safe(value) AS
  ARRAY_TO_STRING(LIST_TRANSFORM(REGEXP_EXTRACT_ALL(value, '(?s).'), lambda piece:
    CASE WHEN REGEXP_FULL_MATCH(piece, '[A-Za-z0-9._~-]') OR UNICODE(piece) > 159 THEN piece
    ELSE URL_ENCODE(piece) END), '');"""


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    text = as_text(value)
    if column.is_float:  # rounded to 12 places; beyond 38 digits, and for NaN, the engine's own text has to do
        # Through the text: 532455.84 times 10^12, which a cast would round, is no longer that number, and a single
        # 17.45 is 17.450000762939.
        if column.sql_type.lower().startswith(("float", "real")):
            text = _shortest_single(value)
        number = exp.TryCast(this=text.copy(), to=exp.DataType.build("DECIMAL(38,12)"))
        text = call("COALESCE", as_text(number), text)
    dot: exp.Expr = call("CONTAINS", text, exp.Literal.string("."))
    if column.is_float:  # the zeros of 1.5e+30 count
        dot = exp.and_(dot, exp.not_(call("CONTAINS", text.copy(), exp.Literal.string("e"))))
    return exp.case().when(dot, without_zeros(text)).else_(text.copy())


def _shortest_single(value: exp.Expression) -> exp.Expression:
    """The fewest digits that tell a single from others, as in PostgreSQL: DuckDB shows 241449000 as 241448992."""
    number = value.sql("duckdb")
    shown = [f"FORMAT('{{:.{digits}e}}', {number})" for digits in (5, 6, 7, 8)]
    cases = " ".join(f"WHEN CAST({text} AS FLOAT) = {number} THEN {text}" for text in shown[:-1])
    return verbatim(f"REGEXP_REPLACE(CASE {cases} ELSE {shown[-1]} END, '[.]?0+e', 'e')")


def _cells(table: str, pairs: Sequence[tuple[str, str]]) -> str:
    families = ", ".join(family for family, _ in pairs)
    keys = ", ".join(key for _, key in pairs)
    return f"SELECT unnest([{families}]) AS family, unnest([{keys}]) AS v FROM {table} AS t"


def _rows_by_cell(scan: str, wanted: Lookups, reached: Lookups, needed: int) -> tuple[str, str]:
    """DuckDB cannot have as many `IN (SELECT …)` as a wide table has columns: its cells are looked up as rows."""

    def holding(relation: str, keys: Sequence[str]) -> str:
        rows = f"SELECT n, unnest([{', '.join(keys)}]) AS v FROM ruleminer_numbered"
        return f"SELECT n FROM ({rows}) SEMI JOIN {relation} USING (v)"

    conditions = [f"n IN ({holding(*lookup)})" for lookup in wanted]
    if reached:
        touching = " UNION ALL ".join(holding(*lookup) for lookup in reached)
        conditions.append(f"n IN (SELECT n FROM ({touching}) GROUP BY n HAVING count(*) >= {needed})")
    numbered = f"ruleminer_numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS n FROM ({scan}))"
    return numbered, f"SELECT * EXCLUDE (n) FROM ruleminer_numbered WHERE {' OR '.join(conditions)}"


def _is_number(text: str) -> str:
    return f"REGEXP_FULL_MATCH({text}, '[+-]?[0-9]+([.][0-9]+)?')"


def _json_scalar(text: str, step: str | int, quote: Quote) -> JsonScalar:
    path = quote(f'$."{step}"' if isinstance(step, str) else f"$[{step - 1}]")
    kind = f"CASE WHEN JSON_VALID({text}) THEN JSON_TYPE({text}, {path}) END"
    return JsonScalar(
        f"JSON_EXTRACT_STRING({text}, {path})",
        f"{kind} IN ('BIGINT', 'UBIGINT', 'DOUBLE')",
        f"{kind} IN ('VARCHAR', 'BOOLEAN')",
    )


def _percent_encoded(text: str, ascii_only: bool) -> str:
    if ascii_only:
        return f"URL_ENCODE({text})"
    kept = "REGEXP_FULL_MATCH(piece, '[A-Za-z0-9._~-]') OR UNICODE(piece) > 159"
    pieces = f"REGEXP_EXTRACT_ALL({text}, '(?s).')"
    encoded = f"lambda piece: CASE WHEN {kept} THEN piece ELSE URL_ENCODE(piece) END"
    return f"ARRAY_TO_STRING(LIST_TRANSFORM({pieces}, {encoded}), '')"


DUCKDB = Dialect(
    name="duckdb",
    scheme="duckdb",
    value_list=f"""MATERIALIZED (SELECT unnest(from_json({BOUND}, '["VARCHAR"]')) AS v)""",
    jdbc_driver="org.duckdb.DuckDBDriver",
    tables_schema="main",
    iri_safe_function=_IRI_SAFE,
    listed_types={"date": "date", "timestamp": "timestamp"},
    widens_singles=True,
    reads_columns=True,
    keeps_links=True,
    folds_all_names=True,
    since_1970=lambda text: f"CAST(MAKE_TIMESTAMP(TRY_CAST({text} AS BIGINT) * 1000000) AS VARCHAR)",
    number_text=_number_text,
    timestamp_text=zoned_timestamp_text,
    array_text=lambda value, column: as_text(call("TO_JSON", value)),
    is_number=_is_number,
    json_scalar=_json_scalar,
    percent_encoded=_percent_encoded,
    cells=_cells,
    rows_by_cell=_rows_by_cell,
    distinct_within=lambda value, low, high: f"coalesce(bit_count(bitstring_agg({value}, {low}, {high})), 0)",
    iri_safe=iri_safe_call,
)
