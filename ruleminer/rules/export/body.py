"""The rows that a rule's triples come from, in SQL: tables, conditions with inlined constants, the text of terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from sqlglot import exp

from ruleminer.rules.mapping import Iri, Literal, TripleRule
from ruleminer.rules.sql import (
    ColumnType,
    TypeOf,
    as_text,
    concatenated,
    constant_sql,
    identifier,
    lexical_sql,
    text_sql,
)
from ruleminer.rules.values import Constant, Kind, Variable

XSD = "http://www.w3.org/2001/XMLSchema#"
_NATURAL = {
    Kind.INTEGER: f"{XSD}integer",
    Kind.DECIMAL: f"{XSD}decimal",
    Kind.BOOLEAN: f"{XSD}boolean",
    Kind.DATE: f"{XSD}date",
    Kind.TIMESTAMP: f"{XSD}dateTime",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIXED_LENGTH = re.compile(r"(bp|n)?char(acter)?\b(?! varying)", re.IGNORECASE)

Place = tuple[int, str]
"""A column of an atom: the atom's number in the body, from 1, and the column's name."""


class Body:
    """The rows that a rule's triples come from: tables, conditions, and the SQL for each term."""

    def __init__(self, rule: TripleRule, dialect: str, types: TypeOf) -> None:
        self.rule, self.dialect, self.types = rule, dialect, types
        self.atoms = rule.rule.body
        self.places: dict[Variable, list[Place]] = {}
        self.constants: list[tuple[Place, Constant]] = []
        for number, atom in enumerate(self.atoms, start=1):
            for column, term in atom.columns:
                if isinstance(term, Variable):
                    self.places.setdefault(term, []).append((number, column))
                else:
                    self.constants.append(((number, column), term))

    @cached_property
    def signature(self) -> object:
        """Equal for rules with the same subjects and the same rows: their triples can come from one query."""
        free = variables_of(self.rule.object) - variables_of(self.rule.subject)
        needed = [
            frozenset(places)
            for variable, places in self.places.items()
            if variable not in free or len(places) > 1 or self.type_of(places[0]).nullable
        ]
        tables = tuple(atom.table for atom in self.atoms)
        return tables, frozenset(self.constants), frozenset(needed), self.subject

    @cached_property
    def subject(self) -> object:
        """The subject with columns for its variables."""
        subject = self.rule.subject
        parts = tuple(part if isinstance(part, str) else self.places[part][0] for part in subject.parts)
        return parts, subject.spelled

    @cached_property
    def whole_table(self) -> str | None:
        """The table, if its rows and columns can be taken just as they are, NULLs left to the engine."""
        used = variables_of(self.rule.subject) | variables_of(self.rule.object)
        places = [place for places in self.places.values() for place in places]
        names = [self.atoms[0].table, *(column for _, column in places)]
        if len(self.atoms) > 1 or self.constants or set(self.places) != used or len(places) != len(used):
            return None
        if not all(map(_PLAIN_NAME.fullmatch, names)) or not all(map(self.is_text_already, places)):
            return None
        if isinstance(self.rule.object, Literal) and len(self.rule.object.parts) != 1:
            return None
        # Integers with NULLs become floats in some engines.
        floats = any(self.type_of(place).kind is Kind.INTEGER and self.type_of(place).nullable for place in places)
        return None if floats else self.atoms[0].table

    def from_tables(self, schema: str | None = None) -> exp.Select:
        """The body's tables, joined; without columns yet."""
        place = {} if schema is None else {"db": identifier(schema)}
        tables = [
            exp.alias_(exp.Table(this=identifier(atom.table), **place), f"t{number}", table=True)
            for number, atom in enumerate(self.atoms, start=1)
        ]
        statement = exp.select().from_(tables[0])
        for number, table in enumerate(tables[1:], start=2):
            on = [
                exp.EQ(this=self.column(a), expression=self.column(b))
                for a, b in self.equalities()
                if b[0] == number > a[0]
            ]
            statement = statement.join(table, on=exp.and_(*on)) if on else statement.join(table, join_type="cross")
        return statement

    def equalities(self) -> Iterator[tuple[Place, Place]]:
        """The columns that share a variable, in pairs; that of the later atom second."""
        for places in self.places.values():
            for place in places[1:]:
                yield places[0], place

    def conditions(self) -> Iterator[exp.Expression]:
        """The rule's constants, and no NULL in any column that it names."""
        for place, constant in self.constants:
            yield exp.EQ(this=self.column(place), expression=constant_sql(constant, self.dialect))
        for places in self.places.values():
            if self.type_of(places[0]).nullable:
                yield exp.Is(this=self.column(places[0]), expression=exp.Null()).not_()
        for first, second in self.equalities():
            if first[0] == second[0]:  # the others are in the joins
                yield exp.EQ(this=self.column(first), expression=self.column(second))

    def type_of(self, place: Place) -> ColumnType:
        number, column = place
        return self.types(self.atoms[number - 1].table, column)

    def column(self, place: Place) -> exp.Expression:
        """The column, cast where only a cast makes it comparable."""
        number, name = place
        column: exp.Expression = exp.Column(this=identifier(name), table=exp.to_identifier(f"t{number}"))
        kind = self.type_of(place)
        return as_text(column) if kind.kind is Kind.TEXT and not kind.is_text else column

    def is_text_already(self, place: Place) -> bool:
        """Whether any engine's text of the column, where it is not NULL, is the right one."""
        kind = self.type_of(place)
        is_text = kind.kind is Kind.TEXT and kind.is_text and not _FIXED_LENGTH.match(kind.sql_type)
        return is_text or kind.kind is Kind.INTEGER

    def text_of(self, variable: Variable, datatype: str | None, spelled: bool) -> exp.Expression:
        """The text that a variable's value has in the triple."""
        place = self.places[variable][0]
        column = self.column(place)
        return as_text(column) if spelled else xsd_text(column, self.type_of(place), datatype, self.dialect)

    def literal_text(self, literal: Literal) -> exp.Expression:
        """The text of a literal."""
        if len(literal.parts) == 1 and isinstance(literal.parts[0], Variable):
            return self.text_of(literal.parts[0], literal.datatype, spelled=False)
        return concatenated(
            [
                text_sql(part, self.dialect) if isinstance(part, str) else self.text_of(part, None, spelled=True)
                for part in literal.parts or ("",)
            ]
        )

    def datatype_of(self, literal: Literal) -> str | None:
        """The literal's datatype; if it has none of its own, the natural one of its column."""
        if literal.datatype or len(literal.parts) != 1 or isinstance(literal.parts[0], str):
            return literal.datatype
        column = self.type_of(self.places[literal.parts[0]][0])
        return f"{XSD}double" if column.is_float else _NATURAL.get(column.kind)


def xsd_text(column: exp.Expression, kind: ColumnType, datatype: str | None, dialect: str) -> exp.Expression:
    """A column's text in the lexical form of an XSD datatype (None: the one natural to the column)."""
    text = lexical_sql(column, kind, dialect)
    if kind.kind is Kind.TIMESTAMP:
        if datatype == f"{XSD}date":
            return exp.Anonymous(this="SUBSTR", expressions=[text, exp.Literal.number(1), exp.Literal.number(10)])
        text = exp.Anonymous(this="REPLACE", expressions=[text, exp.Literal.string(" "), exp.Literal.string("T")])
        return concatenated([text, exp.Literal.string("Z")]) if kind.has_zone and dialect != "sqlite" else text
    if kind.kind is Kind.DATE and datatype == f"{XSD}dateTime":
        return concatenated([text, exp.Literal.string("T00:00:00")])
    return text


def variables_of(term: Iri | Literal | None) -> frozenset[Variable]:
    """The variables that a term is made of."""
    return frozenset(part for part in term.parts if isinstance(part, Variable)) if term else frozenset()
