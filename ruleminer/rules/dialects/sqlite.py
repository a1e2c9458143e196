"""SQLite's SQL: few types, no schemas, no functions of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.dialect import BOUND, Dialect, JsonScalar, Quote
from ruleminer.rules.expressions import as_text, call, concatenated, not_null, without_zeros
from ruleminer.rules.lexical import timestamp_form
from ruleminer.rules.values import Scalar

_TERMS = 400  # SELECTs in one compound; SQLite takes 500
# It has no functions to define, but can count through a text.
_IRI_SAFE = """WITH RECURSIVE pieces(at, piece, done) AS (
  SELECT 0, '', '' UNION ALL
  SELECT at + 1, SUBSTR({text}, at + 1, 1), done || CASE
    WHEN piece GLOB '[A-Za-z0-9._~-]' OR UNICODE(piece) > {beyond} THEN piece
    WHEN piece <> '' THEN '%' || SUBSTR(HEX(piece), 1, 2) || RTRIM('%' || SUBSTR(HEX(piece), 3, 2), '%')
      || RTRIM('%' || SUBSTR(HEX(piece), 5, 2), '%') || RTRIM('%' || SUBSTR(HEX(piece), 7, 2), '%')
    ELSE '' END
  FROM pieces WHERE at <= LENGTH({text})
) SELECT done FROM pieces ORDER BY at DESC LIMIT 1"""


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    # %.12f of a whole number ends in zeros only, so both cases are the same two trims.
    return _unless_null(value, without_zeros(call("PRINTF", exp.Literal.string("%.12f"), value)))


def _truth_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """Truth is kept as 0 and 1."""
    truth = exp.case().when(exp.paren(value), exp.Literal.string("true")).else_(exp.Literal.string("false"))
    return _unless_null(value, truth)


def _timestamp_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """Timestamps are kept as text, with or without the T."""
    return call("REPLACE", as_text(value), exp.Literal.string("T"), exp.Literal.string(" "))


def _unless_null(value: exp.Expression, form: exp.Expression) -> exp.Expression:
    return exp.case().when(not_null(value), form)


def _bindable(value: Scalar) -> Scalar | float:
    """There are no truth values, dates or decimals."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return timestamp_form(value)
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def _cells(table: str, pairs: Sequence[tuple[str, str]]) -> str:
    selects = [f"SELECT {family} AS family, {key} AS v FROM {table} AS t" for family, key in pairs]
    groups = [selects[i : i + _TERMS] for i in range(0, len(selects), _TERMS)]
    return " UNION ALL ".join(f"SELECT * FROM ({' UNION ALL '.join(group)})" for group in groups)


def _iri_safe(text: exp.Expression) -> exp.Expression:
    encoded = exp.maybe_parse(_IRI_SAFE.format(text=text.sql("sqlite"), beyond=159), into=exp.Select, dialect="sqlite")
    return encoded.subquery()


def _rephrased(query: exp.Expr) -> exp.Expr:
    """There is no CONCAT, which takes NULL for an empty text."""
    return query.transform(_concat_by_pipes)


def _concat_by_pipes(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Concat):
        return node
    parts: list[exp.Expression] = [
        part if isinstance(part, exp.Literal) else call("COALESCE", part, exp.Literal.string(""))
        for part in node.expressions
    ]
    return exp.paren(concatenated(parts))


def _is_number(text: str) -> str:
    """There are no patterns but GLOB."""
    return (
        f"({text} GLOB '[0-9]*' OR {text} GLOB '[+-][0-9]*') AND {text} GLOB '*[0-9]' "
        f"AND NOT SUBSTR({text}, 2) GLOB '*[^0-9.]*' AND NOT {text} GLOB '*.*.*'"
    )


def _json_scalar(text: str, step: str | int, quote: Quote) -> JsonScalar:
    path = quote(f'$."{step}"' if isinstance(step, str) else f"$[{step - 1}]")
    kind = f"CASE WHEN JSON_VALID({text}) THEN JSON_TYPE({text}, {path}) END"
    value = f"CASE JSON_TYPE({text}, {path}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' "
    return JsonScalar(
        f"{value}ELSE CAST(JSON_EXTRACT({text}, {path}) AS TEXT) END",
        f"{kind} IN ('integer', 'real')",
        f"{kind} IN ('text', 'true', 'false')",
    )


def _percent_encoded(text: str, ascii_only: bool) -> str:
    return f"({_IRI_SAFE.format(text=text, beyond=0x10FFFF if ascii_only else 159)})"


SQLITE = Dialect(
    name="sqlite",
    scheme="sqlite",
    folds_all_names=True,
    reads_tables_in_lists=True,
    truths=("1", "0"),
    value_list=f"(SELECT value AS v FROM json_each({BOUND}))",
    jdbc_driver="org.sqlite.JDBC",
    has_schemas=False,
    replaces_views=False,
    types_values=False,
    since_1970=lambda text: f"DATETIME(CAST({text} AS INTEGER), 'unixepoch')",
    number_text=_number_text,
    character=lambda number: call("CHAR", exp.Literal.number(number)),
    truth_text=_truth_text,
    timestamp_text=_timestamp_text,
    bindable=_bindable,
    position="INSTR",
    folds_all_letters=False,
    is_number=_is_number,
    json_scalar=_json_scalar,
    percent_encoded=_percent_encoded,
    cells=_cells,
    iri_safe=_iri_safe,
    rephrased=_rephrased,
)
