"""SQL of MySQL (8.0) and MariaDB (10.6), read in a session with ANSI_QUOTES and a binary collation.

Columns compare as their collation says: mostly without regard to case and to blanks at the end. A cast to CHAR has the
collation of the session instead, so texts are compared as casts.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from sqlglot import exp

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects.dialect import BOUND, Dialect, concat_of_what_is_there
from ruleminer.rules.expressions import as_text, call, not_null

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "._~-")
_BINARY = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")


def _number_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    if column.is_float:  # rounded to 12 places, where engines still agree
        # Single precision has the digits that it is shown with, and no more.
        shown = as_text(value) if column.sql_type.lower().startswith("float") else value
        value = exp.cast(shown.copy(), "DECIMAL(65, 12)")
    return _without_zeros(as_text(value))


def _truth_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """Truth is kept as 0 and 1."""
    truth = exp.case().when(exp.paren(value), exp.Literal.string("true")).else_(exp.Literal.string("false"))
    return as_text(exp.case().when(not_null(value), truth))


def _timestamp_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    """As many decimals of a second as count."""
    return _without_zeros(as_text(value)) if "(" in column.sql_type else as_text(value)


def _since_1970(text: str) -> str:
    return f"CAST(DATE_ADD('1970-01-01 00:00:00', INTERVAL CAST({text} AS SIGNED) SECOND) AS CHAR)"


def _other_text(value: exp.Expression, column: ColumnType) -> exp.Expression:
    sql_type = column.sql_type.lower()
    if sql_type.startswith("bit") or "zerofill" in sql_type:
        return as_text(exp.Add(this=value.copy(), expression=exp.Literal.number(0)))
    if sql_type.startswith(_BINARY):
        return as_text(call("LOWER", call("HEX", value)))
    return as_text(value)


def _without_zeros(text: exp.Expression) -> exp.Expression:
    trimmed = text.copy()
    for character in "0.":
        trimmed = exp.Trim(this=trimmed, expression=exp.Literal.string(character), position="TRAILING")
    dot = exp.GT(this=call("LOCATE", exp.Literal.string("."), text), expression=exp.Literal.number(0))
    return as_text(exp.case().when(dot, trimmed).else_(text.copy()))


def _character(number: int) -> exp.Expression:
    """CHAR would make bytes."""
    return exp.Var(this=f"_utf8mb4 0x{chr(number).encode().hex()}")


def _cells(table: str, pairs: Sequence[tuple[str, str]]) -> str:
    return " UNION ALL ".join(f"SELECT {family} AS family, {key} AS v FROM {table} AS t" for family, key in pairs)


def _iri_safe(text: exp.Expression) -> exp.Expression:
    """There is no function for it, and a user may not be allowed to define one: each character is replaced in turn."""
    encoded = text.copy()
    for number in (ord("%"), *(n for n in range(1, 160) if n != ord("%"))):
        character = chr(number)
        if character in _UNRESERVED:
            continue
        written = "".join(f"%{byte:02X}" for byte in character.encode())
        given: exp.Expression = exp.Literal.string(character)
        if not 32 <= number <= 126:
            given = _character(number)
        encoded = call("REPLACE", encoded, given, exp.Literal.string(written))
    return encoded


MYSQL = Dialect(
    name="mysql",
    scheme="mysql",
    placeholder="%s",
    truths=("1", "0"),
    text_type="CHAR",
    whole_type="SIGNED",
    length="CHAR_LENGTH",
    position="INSTR",
    lacks=frozenset(("year", "timestamp", "boolean", "trim")),  # LTRIM of characters, || as a concatenation
    materialized="",
    value_list=(f"(SELECT CAST(j.v AS CHAR) AS v FROM JSON_TABLE({BOUND}, '$[*]' COLUMNS (v LONGTEXT PATH '$')) AS j)"),
    formulation="mysql",
    jdbc_driver="com.mysql.cj.jdbc.Driver",
    jdbc_schema="",
    compares_exactly=False,
    escapes_percent=True,
    trim=lambda side, text, character: f"TRIM({side} {character} FROM {text})",  # of one character
    # A mapping that is read again is printed anew, and REGEXP then as REGEXP_LIKE, which MariaDB lacks.
    is_digits=lambda text: f"({text} <> '' AND LENGTH(REGEXP_REPLACE({text}, '[0-9]+', '')) = 0)",
    joined=lambda parts: f"CONCAT({', '.join(parts)})",
    since_1970=_since_1970,
    number_text=_number_text,
    character=_character,
    truth_text=_truth_text,
    timestamp_text=_timestamp_text,
    other_text=_other_text,
    cells=_cells,
    iri_safe=_iri_safe,
    rephrased=concat_of_what_is_there,
)
