"""Spark's SQL (4.1 and later), in a session that is ANSI, quotes names by double quotes and lives in UTC.

| what | how it differs |
|---|---|
| trimming of characters | `RTRIM(x, y)` takes what to trim first; `TRIM(TRAILING y FROM x)` is plain |
| a double as text | `1.0E10`, `Infinity`; through a decimal, like the others |
| a list of values | `explode(from_json(…))`; a short one is written out, which takes no join |
| a relation of a WITH | is put in wherever it is named, so what many parts ask is grouped by GROUPING SETS |
| frequent values | `approx_top_k`, exact where it has room for all of them, in the statement that counts |
| several columns as rows | `LATERAL VIEW stack(…)` |
| CONCAT | is NULL where a part is |
| CHR | knows 256 characters |
| a single, or a large double | is shown by Java before 19 with more digits than tell it from others |
| bound timestamps | are read in the time zone of the client: they are bound as texts |
| what is no JSON | cannot be told from what is: no fields and items |
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.dialect import BOUND, Dialect, concat_of_what_is_there
from ruleminer.rules.expressions import as_text, call, verbatim
from ruleminer.rules.lexical import timestamp_form
from ruleminer.rules.values import Scalar

_NESTED = ("json", "struct", "map")
_DIGITS = "'0123456789'"


def _trim(side: str, text: str, characters: str) -> str:
    return f"TRIM({side} {characters} FROM {text})"


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    text = as_text(value).sql("spark")
    if column.is_float:  # rounded to 12 places; beyond 38 digits, and for NaN, a text as DuckDB has it
        number = value.sql("spark")
        if column.sql_type.lower().startswith(("float", "real")):
            text = _shortest(number, "FLOAT", (5, 6, 7, 8))
        else:
            text = f"CASE WHEN ABS({number}) >= 1e15 THEN {_shortest(number, 'DOUBLE', (14, 15, 16))} ELSE {text} END"
        beyond = f"REPLACE(REGEXP_REPLACE(LOWER(REPLACE({text}, '.0E', 'E')), 'e(?=[0-9])', 'e+'), 'infinity', 'inf')"
        text = f"COALESCE(CAST(TRY_CAST({text} AS DECIMAL(38, 12)) AS STRING), {beyond})"
    trimmed = _trim("TRAILING", _trim("TRAILING", text, "'0'"), "'.'")
    return verbatim(f"CASE WHEN CONTAINS({text}, '.') AND NOT CONTAINS({text}, 'e') THEN {trimmed} ELSE {text} END")


def _shortest(value: str, sql_type: str, digits: Sequence[int]) -> str:
    """The fewest digits that tell a number from others of its type; Java before 19 shows more."""
    shown = [f"FORMAT_STRING('%.{count}e', {value})" for count in digits]
    cases = " ".join(f"WHEN CAST({text} AS {sql_type}) = {value} THEN {text}" for text in shown[:-1])
    least = f"CASE WHEN {value} IS NOT NULL THEN CASE {cases} ELSE {shown[-1]} END END"  # it formats NULL as null
    return f"REGEXP_REPLACE({least}, '[.]?0+(?=e)', '')"


def _array_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    return call("TO_JSON", value)


def _other_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    sql_type = column.sql_type.lower()
    if sql_type.startswith(_NESTED):
        return call("TO_JSON", value)
    return call("LOWER", call("HEX", value)) if sql_type.startswith("binary") else as_text(value)


def _bindable(value: Scalar) -> Scalar | float:
    return timestamp_form(value) if isinstance(value, datetime) else value


def _cells(table: str, pairs: Sequence[tuple[str, str]]) -> str:
    stacked = ", ".join(f"{family}, {key}" for family, key in pairs)
    return f"SELECT c.family, c.v FROM {table} AS t LATERAL VIEW stack({len(pairs)}, {stacked}) c AS family, v"


def _is_number(text: str) -> str:
    return f"{text} RLIKE '^[+-]?[0-9]+([.][0-9]+)?\\\\z'"  # $ would let a line break stand behind


def _percent_encoded(text: str, ascii_only: bool) -> str:
    kept = "piece RLIKE '[A-Za-z0-9._~-]'" + ("" if ascii_only else " OR piece RLIKE '[^\\\\x00-\\\\x9f]'")
    encoded = "REGEXP_REPLACE(HEX(ENCODE(piece, 'UTF-8')), '(..)', '%$1')"
    pieces = f"REGEXP_EXTRACT_ALL({text}, '(?s).', 0)"
    return f"ARRAY_JOIN(TRANSFORM({pieces}, piece -> CASE WHEN {kept} THEN piece ELSE {encoded} END), '')"


def _counted_values(value: str, most: int, form: str) -> str:
    """A sketch of the most frequent values, which is exact as long as it has room for all."""
    sketch = f"approx_top_k({value}, {most}, {most}) FILTER (WHERE {value} IS NOT NULL)"
    return f"transform({sketch}, e -> struct({form} AS form, e.count AS n))"


def _iri_safe(text: exp.Expression) -> exp.Expression:
    return verbatim(_percent_encoded(text.sql("spark"), False))


SPARK = Dialect(
    name="spark",
    scheme="spark",
    text_type="STRING",
    whole_type="BIGINT",
    position="INSTR",
    materialized="",
    value_list=f"(SELECT explode(from_json({BOUND}, 'ARRAY<STRING>')) AS v)",
    formulation="spark",
    jdbc_driver="",
    widens_singles=True,
    folds_all_names=True,
    parts_are_dear=True,
    trim=_trim,
    is_digits=lambda text: f"({text} <> '' AND {_trim('LEADING', text, _DIGITS)} = '')",
    since_1970=lambda text: f"CAST(TIMESTAMP_SECONDS(TRY_CAST({text} AS BIGINT)) AS STRING)",
    number_text=_number_text,
    timestamp_text=lambda value, column: as_text(value),
    array_text=_array_text,
    other_text=_other_text,
    bindable=_bindable,
    is_number=_is_number,
    percent_encoded=_percent_encoded,
    cells=_cells,
    counted_values=_counted_values,
    iri_safe=_iri_safe,
    rephrased=concat_of_what_is_there,
)
