"""Rule → SQL: the query that returns what a rule derives, with identifiers quoted and constants bound.

    Author(x) <- Person(ID: x, is_Author: true)
    SELECT DISTINCT t1."ID" AS "x" FROM "Person" AS t1 WHERE t1."is_Author" = ? AND t1."ID" IS NOT NULL

A column that a rule names is not NULL: a rule speaks of values, and NULL is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.rules.columns import ColumnType, TypeOf
from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.expressions import as_text, column_of, concatenated, identifier, not_null
from ruleminer.rules.literals import constant_sql
from ruleminer.rules.transformation_sql import transformed_sql
from ruleminer.rules.transformations import TOTAL
from ruleminer.rules.values import Constant, Part, Position, Rule, Scalar, Transformed, Variable


@dataclass(frozen=True, slots=True)
class Query:
    """A statement and the values of its placeholders (`BOUND`), in order."""

    sql: str
    parameters: tuple[Scalar | float, ...] = ()


def rule_query(rule: Rule, dialect: Dialect, types: TypeOf | None = None) -> Query:
    """The distinct tuples the rule derives, one column per argument, named like its variable.

    With `types`, arguments come as their lexical forms (text, alike on every engine) and columns that only a cast
    makes comparable (uuid, json, …) are cast; without, they come as the database has them.
    """
    parameters: list[Scalar | float] = []

    def bound(value: Scalar) -> exp.Expression:
        parameters.append(dialect.bindable(value))
        return exp.Var(this=BOUND)

    sql = _derived(BodySql(rule, dialect, types, bound)).sql(dialect.name)
    return Query(sql, tuple(parameters))


def rule_sql(rule: Rule, dialect: Dialect) -> str:
    """The same statement for people: constants in their places, over several lines."""
    return _derived(BodySql(rule, dialect)).sql(dialect.name, pretty=True)


class BodySql:
    """The rows that a rule speaks of: its tables, joined, and what must hold of their columns.

    Constants are written into the statement, unless `constant` makes something else of them; it is asked in the order
    in which they are printed. With `trusting`, a column that promises no NULL is not asked for any: exports read better
    so, but what we ask ourselves does not rely on it (a key of SQLite may hold NULL).
    """

    def __init__(
        self,
        rule: Rule,
        dialect: Dialect,
        types: TypeOf | None = None,
        constant: Callable[[Scalar], exp.Expression] | None = None,
        trusting: bool = False,
    ) -> None:
        self.rule, self.dialect, self.types, self.trusting = rule, dialect, types, trusting
        self.positions, self.constants = rule.positions, rule.constants
        self.constant = constant or (lambda value: constant_sql(Constant.of(value), dialect))

    def type_of(self, position: Position) -> ColumnType | None:
        """The type of a column, if types are known."""
        return self.types(position.table, position.column) if self.types else None

    def column(self, position: Position) -> exp.Expression:
        """The column, cast where only a cast makes it comparable."""
        column = column_of(f"t{position.atom}", position.column)
        kind = self.type_of(position)
        return self.dialect.comparable(column, kind) if kind else column

    def first_column(self, variable: Variable) -> exp.Expression:
        """The column that a variable's value is taken from."""
        return self.column(self.positions[variable][0])

    def lexical(self, variable: Variable) -> exp.Expression:
        """The lexical form of a variable's value; where types are unknown, the engine's own text."""
        position = self.positions[variable][0]
        column, kind = column_of(f"t{position.atom}", position.column), self.type_of(position)
        return self.dialect.lexical(column, kind) if kind else as_text(column)

    def transformed(self, part: Transformed) -> exp.Expression:
        """What a transformation makes of a variable's value."""
        kind = self.type_of(self.positions[part.variable][0])
        return transformed_sql(part, self.lexical(part.variable), kind, self.dialect)

    def select(self, *selected: exp.Expr, schema: str | None = None, join_on: bool = True) -> exp.Select:
        """Some columns of the rows. Columns of two tables are compared where they are joined, or among the conditions.

        The tables are looked for in `schema`, if one is given.
        """
        place = {} if schema is None else {"db": identifier(schema)}
        tables = [
            exp.alias_(exp.Table(this=identifier(atom.table), **place), f"t{number}", table=True)
            for number, atom in enumerate(self.rule.body, start=1)
        ]
        statement = exp.select(*selected).from_(tables[0])
        for number, table in enumerate(tables[1:], start=2):
            on = [self._equal(a, b) for a, b in self._pairs() if b.atom == number > a.atom] if join_on else []
            statement = statement.join(table, on=exp.and_(*on)) if on else statement.join(table, join_type="cross")
        return statement.where(*self._conditions(join_on))

    def _conditions(self, join_on: bool) -> Iterator[exp.Expression]:
        """The rule's constants, what it excludes, no NULL in what it names, and the equalities that no join has."""
        for position, constant in self.constants:
            yield exp.EQ(this=self.column(position), expression=self.constant(constant.value))
        for position, constant in self.rule.excluded:
            yield exp.NEQ(this=self.column(position), expression=self.constant(constant.value))
        for position in self.rule.empty:
            yield exp.Is(this=column_of(f"t{position.atom}", position.column), expression=exp.Null())
        for first, *others in self.positions.values():
            kind = self.type_of(first) if self.trusting else None
            if kind is None or kind.nullable:
                is_padded = kind is not None and kind.padded  # what is NULL is so with its blanks, too
                yield not_null(column_of(f"t{first.atom}", first.column) if is_padded else self.column(first))
            yield from (self._equal(first, other) for other in others if not (join_on and other.atom > first.atom))
        for part in self.rule.transformations:
            if part.name not in TOTAL:
                yield not_null(exp.paren(self.transformed(part)))

    def _pairs(self) -> Iterator[tuple[Position, Position]]:
        for first, *others in self.rule.joins:
            yield from ((first, other) for other in others)

    def _equal(self, one: Position, other: Position) -> exp.Expression:
        return exp.EQ(this=self.column(one), expression=self.column(other))


def argument_sql(body: BodySql, variable: Variable) -> exp.Expression:
    """An argument of the rule: a column, as its lexical form where types are known, or a concatenation."""
    concat = body.rule.definition_of(variable)
    if concat is None:
        return body.lexical(variable) if body.types else body.first_column(variable)
    return concatenated([_text_of(body, part) for part in concat.parts or ("",)])


def _text_of(body: BodySql, part: Part) -> exp.Expression:
    if isinstance(part, str):
        return exp.cast(body.constant(part), "text")
    return exp.paren(body.transformed(part)) if isinstance(part, Transformed) else as_text(body.first_column(part))


def _derived(body: BodySql) -> exp.Select:
    """The distinct arguments of the facts that a rule derives."""
    pairs = zip(body.rule.arguments, body.rule.argument_names, strict=True)
    selected = [exp.alias_(argument_sql(body, variable), identifier(name)) for variable, name in pairs]
    return body.select(*selected, join_on=False).distinct()
