"""Rule → SQL: the query that returns what a rule derives, with identifiers quoted and constants bound.

    Author(x) <- Person(ID: x, is_Author: true)
    SELECT DISTINCT t1."ID" AS "x" FROM "Person" AS t1 WHERE t1."is_Author" = ? AND t1."ID" IS NOT NULL

A column that a rule names is not NULL: a rule speaks of values, and NULL is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from ruleminer.rules.lexical import timestamp_form
from ruleminer.rules.values import Concat, Constant, Kind, Rule, Scalar, Variable

DIALECTS = ("duckdb", "postgres", "sqlite")

# Stands for a bound value until the statement is printed; no database admits it in a name.
_BOUND = "\0"

_CONTROL = re.compile(r"([\x00-\x1f\x7f\x85\u2028\u2029])")
_FLOATS = ("float", "double", "real")
_TEXTS = ("char", "text", "clob", "string")


@dataclass(frozen=True, slots=True)
class Query:
    """A statement and the values of its placeholders, in order: `?`, or `%s` on PostgreSQL."""

    sql: str
    parameters: tuple[Scalar | float, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What SQL for a column depends on: its kind, its type in the words of its database, and whether it has NULLs."""

    kind: Kind
    sql_type: str
    nullable: bool = True

    @property
    def is_float(self) -> bool:
        return self.sql_type.lower().startswith(_FLOATS)

    @property
    def is_text(self) -> bool:
        return any(word in self.sql_type.lower() for word in _TEXTS)

    @property
    def has_zone(self) -> bool:
        return "with time zone" in self.sql_type.lower() or "timestamptz" in self.sql_type.lower()


TypeOf = Callable[[str, str], ColumnType]


def rule_query(rule: Rule, dialect: str, types: TypeOf | None = None) -> Query:
    """The distinct tuples the rule derives, one column per argument, named like its variable.

    With `types`, arguments come as their lexical forms (text, alike on every engine) and columns that only a cast
    makes comparable (uuid, json, …) are cast; without, they come as the database has them.
    """
    return _Builder(rule, dialect, types).query()


def rule_sql(rule: Rule, dialect: str) -> str:
    """The same statement for people: constants in their places, over several lines."""
    return _Builder(rule, dialect, None, inline=True).statement().sql(dialect, pretty=True)


def lexical_sql(value: exp.Expression, column: ColumnType, dialect: str) -> exp.Expression:
    """The expression for the lexical form of a column (docs/architecture.md, "Values and their kinds")."""
    if column.kind is Kind.DECIMAL:
        return _number_sql(value, column, dialect)
    if column.kind is Kind.BOOLEAN and dialect == "sqlite":  # SQLite keeps truth as 0 and 1
        truth = exp.case().when(exp.paren(value), exp.Literal.string("true")).else_(exp.Literal.string("false"))
        return _unless_null(value, truth)
    if column.kind is Kind.TIMESTAMP:
        if dialect == "sqlite":  # and timestamps as text, with or without the T
            return _call("REPLACE", as_text(value), exp.Literal.string("T"), exp.Literal.string(" "))
        if column.has_zone:
            value = exp.AtTimeZone(this=value, zone=exp.Literal.string("UTC"))
    return as_text(value)


def _number_sql(value: exp.Expression, column: ColumnType, dialect: str) -> exp.Expression:
    """Decimals and floats without trailing zeros; floats are rounded to 12 places, where engines still agree."""
    if dialect == "postgres":
        if column.is_float:
            value = _call("ROUND", exp.cast(value, "numeric"), exp.Literal.number(12))
        return as_text(_call("TRIM_SCALE", value))
    if dialect == "sqlite":
        # %.12f of a whole number ends in zeros only, so both cases are the same two trims.
        return _unless_null(value, _without_zeros(_call("PRINTF", exp.Literal.string("%.12f"), value)))
    text = as_text(value)
    if column.is_float:  # beyond 38 digits, and for NaN, the engine's own text has to do
        text = _call("COALESCE", as_text(exp.TryCast(this=value, to=exp.DataType.build("DECIMAL(38,12)"))), text)
    dot = _call("CONTAINS", text, exp.Literal.string("."))
    return exp.case().when(dot, _without_zeros(text)).else_(text.copy())


def _unless_null(value: exp.Expression, form: exp.Expression) -> exp.Expression:
    return exp.case().when(exp.Is(this=value.copy(), expression=exp.Null()).not_(), form)


def _without_zeros(text: exp.Expression) -> exp.Expression:
    trimmed = _call("RTRIM", text.copy(), exp.Literal.string("0"))
    return _call("RTRIM", trimmed, exp.Literal.string("."))


def _call(function: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=list(arguments))


def as_text(value: exp.Expression) -> exp.Expression:
    """The engine's own cast to text."""
    return exp.cast(value.copy(), "text")


def identifier(name: str) -> exp.Identifier:
    """A quoted identifier."""
    return exp.to_identifier(name, quoted=True)


def constant_sql(constant: Constant, dialect: str) -> exp.Expression:
    """A constant written into the statement, on one line whatever it holds."""
    value = bound_value(constant.value, dialect)
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, int | float | Decimal):
        number = format(value, "f") if isinstance(value, Decimal) else repr(value)
        literal = exp.Literal.number(number.removeprefix("-"))
        return exp.paren(exp.Neg(this=literal)) if number.startswith("-") else literal
    if isinstance(value, str):
        return text_sql(value, dialect)
    return exp.cast(exp.Literal.string(str(value)), "timestamp" if isinstance(value, datetime) else "date")


def text_sql(text: str, dialect: str) -> exp.Expression:
    """A text written into the statement; line breaks and the like by their numbers, for formats that end a line."""
    function = "CHAR" if dialect == "sqlite" else "CHR"
    pieces = [
        _call(function, exp.Literal.number(ord(piece))) if _CONTROL.fullmatch(piece) else exp.Literal.string(piece)
        for piece in _CONTROL.split(text)
        if piece
    ]
    if len(pieces) < 2:
        return pieces[0] if pieces else exp.Literal.string("")
    return exp.paren(concatenated(pieces))


def concatenated(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The parts joined by `||`."""
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.DPipe(this=whole, expression=part)
    return whole


def bound_value(value: Scalar, dialect: str) -> Scalar | float:
    """A constant as the engine's driver takes it: SQLite has no truth values, dates or decimals of its own."""
    if dialect != "sqlite":
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return timestamp_form(value)
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


class _Builder:
    """Builds one statement, collecting the bound values in the order in which they are printed."""

    def __init__(self, rule: Rule, dialect: str, types: TypeOf | None, inline: bool = False) -> None:
        if dialect not in DIALECTS:
            raise ValueError(f"unknown dialect {dialect}")
        self.rule, self.dialect, self.types, self.inline = rule, dialect, types, inline
        self.parameters: list[Scalar | float] = []
        self.places: dict[Variable, list[tuple[exp.Expression, ColumnType | None]]] = {}
        for number, atom in enumerate(rule.body, start=1):
            for column, term in atom.columns:
                if isinstance(term, Variable):
                    self.places.setdefault(term, []).append(self.column(number, atom.table, column))

    def query(self) -> Query:
        sql = self.statement().sql(self.dialect)
        if self.dialect == "postgres":
            sql = sql.replace("%", "%%").replace(_BOUND, "%s")
        return Query(sql.replace(_BOUND, "?"), tuple(self.parameters))

    def statement(self) -> exp.Select:
        selected = (exp.alias_(self.argument(v), identifier(v.name)) for v in self.rule.arguments)
        statement = exp.select(*selected).distinct()
        tables = [
            exp.alias_(exp.Table(this=identifier(atom.table)), f"t{number}", table=True)
            for number, atom in enumerate(self.rule.body, start=1)
        ]
        statement = statement.from_(tables[0])
        for table in tables[1:]:
            statement = statement.join(table, join_type="cross")
        return statement.where(*self.conditions())

    def column(self, number: int, table: str, column: str) -> tuple[exp.Expression, ColumnType | None]:
        place: exp.Expression = exp.Column(this=identifier(column), table=exp.to_identifier(f"t{number}"))
        column_type = self.types(table, column) if self.types else None
        if column_type and column_type.kind is Kind.TEXT and not column_type.is_text:
            place = as_text(place)
        return place, column_type

    def argument(self, argument: Variable) -> exp.Expression:
        concat = self.rule.definition_of(argument)
        if concat is not None:
            return self.concatenation(concat)
        place, column_type = self.places[argument][0]
        return lexical_sql(place, column_type, self.dialect) if column_type else place.copy()

    def concatenation(self, concat: Concat) -> exp.Expression:
        parts = [
            exp.cast(self.bind(part), "text") if isinstance(part, str) else as_text(self.places[part][0][0])
            for part in concat.parts or ("",)
        ]
        return concatenated(parts)

    def conditions(self) -> Iterable[exp.Expression]:
        for number, atom in enumerate(self.rule.body, start=1):
            for column, term in atom.columns:
                if isinstance(term, Constant):
                    place, _ = self.column(number, atom.table, column)
                    yield exp.EQ(this=place, expression=self.bind(term.value))
        for (first, _), *others in self.places.values():
            yield exp.Is(this=first.copy(), expression=exp.Null()).not_()
            for other, _ in others:
                yield exp.EQ(this=first.copy(), expression=other)

    def bind(self, value: Scalar) -> exp.Expression:
        if self.inline:
            return constant_sql(Constant.of(value), self.dialect)
        self.parameters.append(bound_value(value, self.dialect))
        return exp.Var(this=_BOUND)
