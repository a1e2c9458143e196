"""Constants and texts written into a statement, rather than bound to it."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

from sqlglot import exp

from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import concatenated
from ruleminer.rules.values import Constant

_CONTROL = re.compile(r"([\x00-\x1f\x7f\x85\u2028\u2029])")


def constant_sql(constant: Constant, dialect: Dialect) -> exp.Expression:
    """A constant written into the statement, on one line whatever it holds."""
    value = dialect.bindable(constant.value)
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float | Decimal):
        number = format(value, "f") if isinstance(value, Decimal) else repr(value)
        literal = exp.Literal.number(number.removeprefix("-"))
        return exp.paren(exp.Neg(this=literal)) if number.startswith("-") else literal
    if isinstance(value, str):
        return text_sql(value, dialect)
    return exp.cast(exp.Literal.string(str(value)), "timestamp" if isinstance(value, datetime) else "date")


def text_sql(text: str, dialect: Dialect) -> exp.Expression:
    """A text written into the statement; line breaks and the like by their numbers, for formats that end a line."""
    pieces = [
        dialect.character(ord(piece)) if _CONTROL.fullmatch(piece) else exp.Literal.string(piece)
        for piece in _CONTROL.split(text)
        if piece
    ]
    if len(pieces) < 2:
        return pieces[0] if pieces else exp.Literal.string("")
    return exp.paren(concatenated(pieces))
