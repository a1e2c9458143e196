"""DuckDB's SQL for the values of a PostgreSQL server that are kept here as it wrote them (sources/engines/kept.py).

Whole numbers and truth values are kept as such, all else as text: decimals as the server's own cast writes them, which
is what IRIs are made of, times and arrays in their lexical forms. So no date is too early, and no number too long.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.duckdb import DUCKDB
from ruleminer.rules.expressions import as_text, verbatim
from ruleminer.rules.values import Kind

_SINGLE = ("real", "float4")
_BEYOND = "('NaN', 'Infinity', '-Infinity')"


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """What the server makes of a number: without zeros at its end, and a float rounded to 12 places."""
    written = as_text(value).sql("duckdb")
    if not column.is_float:
        return verbatim(f"CASE WHEN CONTAINS({written}, '.') THEN {_trimmed(written)} ELSE {written} END")
    text = written
    if column.sql_type.lower() not in _SINGLE:  # of a double it takes 15 digits
        text = f"FORMAT('{{:.15g}}', CAST({written} AS DOUBLE))"
    fixed = f"CAST(TRY_CAST({text} AS DECIMAL(38, 12)) AS TEXT)"
    digits = f"REPLACE(REGEXP_REPLACE({text}, 'e.*$|-', '', 'g'), '.', '')"
    places = f"CAST(REGEXP_EXTRACT({text}, 'e[+]?(.*)$', 1) AS INTEGER) + 1"
    large = f"CASE WHEN STARTS_WITH({text}, '-') THEN '-' ELSE '' END || RPAD({digits}, {places}, '0')"
    return verbatim(
        f"CASE WHEN {written} IN {_BEYOND} THEN {written} WHEN {fixed} IS NULL THEN {large} ELSE {_trimmed(fixed)} END"
    )


def _trimmed(text: str) -> str:
    return f"RTRIM(RTRIM({text}, '0'), '.')"


def _as_it_is(value: exp.Expression, column: ColumnType) -> exp.Expression:
    return as_text(value)


def _ordered(value: str, column: ColumnType) -> str:
    match column.kind:
        case Kind.DECIMAL if column.is_float:
            return f"CAST({value} AS DOUBLE)"
        case Kind.DECIMAL:  # numbers of more than 38 digits go by their first 17
            return f"STRUCT_PACK(a := CAST({value} AS DOUBLE), b := TRY_CAST({value} AS DECIMAL(38, 12)))"
        case Kind.DATE | Kind.TIMESTAMP:
            year = f"TRY_CAST(SPLIT_PART({value}, '-', 1) AS INTEGER)"
            before = f"ENDS_WITH({value}, ' BC')"
            era = f"CASE WHEN {value} = 'infinity' THEN 1 WHEN {value} = '-infinity' THEN -1 ELSE 0 END"
            signed = f"CASE WHEN {before} THEN -{year} ELSE coalesce({year}, 0) END"
            return f"STRUCT_PACK(a := {era}, b := {signed}, c := {value})"
        case _:
            return value


def _number(value: str, column: ColumnType) -> str:
    if column.kind is not Kind.DECIMAL:
        return value
    return f"TRY_CAST({value} AS {'DOUBLE' if column.is_float else 'DECIMAL(38, 12)'})"


def _extreme(end: str, value: str, column: ColumnType) -> str:
    if column.kind is Kind.INTEGER:
        return f"{end}({value})"
    found = f"arg_{end}({value}, {_ordered(value, column)})"
    if column.kind is Kind.TIMESTAMP and column.has_zone:  # as the server, which is in UTC, casts it
        return f"REGEXP_REPLACE({found}, '([0-9])( BC)?$', '\\1+00\\2')"
    return found


WRITTEN = replace(
    DUCKDB,
    kept_as=None,
    keeps_texts=True,
    listed_types={},
    number_text=_number_text,
    timestamp_text=_as_it_is,
    array_text=_as_it_is,
    extreme=_extreme,
    ordered=_ordered,
    number=_number,
)
