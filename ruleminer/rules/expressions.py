"""The few SQL expressions that everything is put together from, alike in all dialects."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def identifier(name: str) -> exp.Identifier:
    """A quoted identifier."""
    return exp.to_identifier(name, quoted=True)


def column_of(alias: str, name: str) -> exp.Expression:
    """A column of a table that goes by an alias."""
    return exp.Column(this=identifier(name), table=exp.to_identifier(alias))


def as_text(value: exp.Expression) -> exp.Expression:
    """The engine's own cast to text."""
    return exp.cast(value.copy(), "text")


def concatenated(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The parts joined by `||`."""
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return whole


def call(function: str, *arguments: exp.Expression) -> exp.Expression:
    """A function of the engine, by its own name."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def verbatim(sql: str) -> exp.Expression:
    """SQL that is taken as it is, in the engine's own words."""
    return exp.Var(this=sql)


def not_null(value: exp.Expression) -> exp.Expression:
    """Whether there is a value."""
    return exp.Is(this=value.copy(), expression=exp.Null()).not_()


def unpadded(text: exp.Expression) -> exp.Expression:
    """A text without the blanks that fill it up, and only these: RTRIM alone takes other spaces, too, on DuckDB."""
    return exp.Trim(this=text.copy(), expression=exp.Literal.string(" "), position="TRAILING")


def without_zeros(text: exp.Expression) -> exp.Expression:
    """The text of a number with a dot, without the zeros behind its last decimal that counts."""
    trimmed = call("RTRIM", text.copy(), exp.Literal.string("0"))
    return call("RTRIM", trimmed, exp.Literal.string("."))
