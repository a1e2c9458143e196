"""PostgreSQL's SQL, through psycopg2."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.dialect import (
    BOUND,
    Dialect,
    JsonScalar,
    Quote,
    iri_safe_call,
    zoned_timestamp_text,
)
from ruleminer.rules.dialects.written import WRITTEN
from ruleminer.rules.expressions import as_text, call

_IRI_SAFE = r"""CREATE OR REPLACE FUNCTION "mapping".iri_safe(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT COALESCE(STRING_AGG(
    CASE WHEN piece ~ '^[A-Za-z0-9._~-]$' OR ASCII(piece) > 159 THEN piece
    ELSE REGEXP_REPLACE(UPPER(ENCODE(CONVERT_TO(piece, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END,
    '' ORDER BY place), '')
  FROM REGEXP_SPLIT_TO_TABLE(value, '') WITH ORDINALITY AS pieces(piece, place) WHERE piece <> ''
$$;"""


_SINGLE = ("real", "float4")


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    if column.is_float:  # rounded to 12 places, where engines still agree
        written = as_text(value) if column.sql_type.lower() in _SINGLE else value  # else cut to six digits
        value = call("ROUND", exp.cast(written, "numeric"), exp.Literal.number(12))
    return as_text(call("TRIM_SCALE", value))


def _cells(table: str, pairs: Sequence[tuple[str, str]]) -> str:
    rows = ", ".join(f"({family}, {key})" for family, key in pairs)
    return f"SELECT c.family, c.v FROM {table} AS t CROSS JOIN LATERAL (VALUES {rows}) AS c(family, v)"


def _since_1970(text: str) -> str:
    return f"TO_CHAR(TO_TIMESTAMP(CAST({text} AS BIGINT)) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"


def _is_number(text: str) -> str:
    return f"{text} ~ '^[+-]?[0-9]+([.][0-9]+)?$'"


def _json_scalar(text: str, step: str | int, quote: Quote) -> JsonScalar:
    """A text that is no JSON is an error here, before version 16: columns of JSON only (`checks_json`)."""
    place = quote(step) if isinstance(step, str) else str(step - 1)
    kind = f"JSONB_TYPEOF(CAST({text} AS JSONB) -> {place})"
    return JsonScalar(f"(CAST({text} AS JSONB) ->> {place})", f"{kind} = 'number'", f"{kind} IN ('string', 'boolean')")


def _percent_encoded(text: str, ascii_only: bool) -> str:
    kept = "piece ~ '^[A-Za-z0-9._~-]$'" + ("" if ascii_only else " OR ASCII(piece) > 159")
    encoded = "REGEXP_REPLACE(UPPER(ENCODE(CONVERT_TO(piece, 'UTF8'), 'hex')), '(..)', '%\\1', 'g')"
    return (
        f"(SELECT COALESCE(STRING_AGG(CASE WHEN {kept} THEN piece ELSE {encoded} END, '' ORDER BY place), '') "
        f"FROM REGEXP_SPLIT_TO_TABLE({text}, '') WITH ORDINALITY AS pieces(piece, place) WHERE piece <> '')"
    )


# With long values and partitions; of a view and of a foreign table it is 0.
_TABLE_BYTES = (
    f"WITH RECURSIVE part AS (SELECT CAST(CAST(CAST({BOUND} AS text) AS regclass) AS oid) AS id "
    "UNION ALL SELECT i.inhrelid FROM part JOIN pg_catalog.pg_inherits i ON i.inhparent = part.id) "
    "SELECT CAST(sum(pg_catalog.pg_table_size(id)) AS bigint) FROM part"
)

POSTGRES = Dialect(
    name="postgres",
    scheme="postgresql",
    placeholder="%s",
    by_character=' COLLATE "C"',
    value_list=f"MATERIALIZED (SELECT json_array_elements_text(CAST({BOUND} AS JSON)) AS v)",
    formulation="postgresql",
    jdbc_driver="org.postgresql.Driver",
    jdbc_schema="currentSchema",
    iri_safe_function=_IRI_SAFE,
    listed_types={"date": "date"},
    folds_quoted_names=False,
    reads_once=True,
    table_bytes=_TABLE_BYTES,
    kept_as=WRITTEN,
    keeps_links=True,
    escapes_percent=True,
    since_1970=_since_1970,
    number_text=_number_text,
    timestamp_text=zoned_timestamp_text,
    checks_json=False,
    array_text=lambda value, column: as_text(call("ARRAY_TO_JSON", value)),
    is_number=_is_number,
    json_scalar=_json_scalar,
    percent_encoded=_percent_encoded,
    cells=_cells,
    iri_safe=iri_safe_call,
)
