"""The terms of a rule's triples in SQL: the text that each has, and which rules can share their rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

from sqlglot import exp

from ruleminer.rules.columns import ColumnType, TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import as_text, concatenated
from ruleminer.rules.literals import text_sql
from ruleminer.rules.mapping import Iri, Literal, TripleRule
from ruleminer.rules.sql import BodySql
from ruleminer.rules.transformations import IN_IRIS, TOTAL, result_kind
from ruleminer.rules.values import Kind, Part, Position, Transformed, Variable, variable_in

XSD = "http://www.w3.org/2001/XMLSchema#"
_NATURAL = {
    Kind.INTEGER: f"{XSD}integer",
    Kind.DECIMAL: f"{XSD}decimal",
    Kind.BOOLEAN: f"{XSD}boolean",
    Kind.DATE: f"{XSD}date",
    Kind.TIMESTAMP: f"{XSD}dateTime",
}
_DAYS = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "dateTimeStamp", "time"))
_NUMBERS = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float", "int", "long", "short"))
_NEVER = {  # what no value of a kind can be written as; a text may hold anything
    Kind.INTEGER: _DAYS,
    Kind.DECIMAL: _DAYS | {f"{XSD}boolean"},
    Kind.BOOLEAN: _DAYS | _NUMBERS,
    Kind.DATE: _NUMBERS | {f"{XSD}boolean", f"{XSD}time", f"{XSD}dateTimeStamp"},
    Kind.TIMESTAMP: _NUMBERS | {f"{XSD}boolean", f"{XSD}time"},
}
_BY_ENGINES = "encoded"  # the transformation that every engine does by itself to what stands in an IRI
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIXED_LENGTH = re.compile(r"(bp|n)?char(acter)?\b(?! varying)", re.IGNORECASE)


class TripleSql:
    """The rows that a rule's triples come from, and the SQL for each term."""

    def __init__(self, rule: TripleRule, dialect: Dialect, types: TypeOf) -> None:
        self.rule, self.dialect, self.types = rule, dialect, types
        self.rows = BodySql(rule.rule, dialect, types, trusting=True)

    @cached_property
    def signature(self) -> object:
        """Equal for rules with the same subjects and the same rows: their triples can come from one query."""
        free = variables_of(self.rule.object) - variables_of(self.rule.subject)
        needed = [
            frozenset(positions)
            for variable, positions in self.rows.positions.items()
            if variable not in free or len(positions) > 1 or self.type_of(positions[0]).nullable
        ]
        tables = tuple(atom.table for atom in self.rule.rule.body)
        partial = frozenset(self.placed(part) for part in self.rule.rule.transformations if part.name not in TOTAL)
        empty = frozenset(self.rule.rule.empty)
        constants = frozenset(self.rows.constants), frozenset(self.rule.rule.excluded)
        return tables, constants, frozenset(needed), self.subject, partial, empty

    @cached_property
    def subject(self) -> object:
        """The subject with columns for its variables."""
        subject = self.rule.subject
        return tuple(map(self.placed, subject.parts)), subject.spelled

    def placed(self, part: Part) -> object:
        """A part with the column of its variable."""
        if isinstance(part, Transformed):
            return part.name, part.parameters, self.first(part.variable)
        return part if isinstance(part, str) else self.first(part)

    @cached_property
    def whole_table(self) -> str | None:
        """The table, if its rows and columns can be taken just as they are, NULLs left to the engine."""
        used = variables_of(self.rule.subject) | variables_of(self.rule.object)
        body = self.rule.rule.body
        positions = [position for found in self.rows.positions.values() for position in found]
        names = [body[0].table, *(position.column for position in positions)]
        terms = (self.rule.subject, self.rule.object)
        if any(not is_left_to_engines(part, term) for term in terms if term for part in term.parts):
            return None
        if (
            len(body) > 1
            or self.rows.constants
            or self.rule.rule.empty
            or self.rule.rule.exclusions
            or set(self.rows.positions) != used
            or len(positions) != len(used)
        ):
            return None
        if not all(map(_PLAIN_NAME.fullmatch, names)) or not all(map(self.is_text_already, positions)):
            return None
        if isinstance(self.rule.object, Literal) and len(self.rule.object.parts) != 1:
            return None
        # Integers with NULLs become floats in some engines.
        types = map(self.type_of, positions)
        floats = any(kind.kind is Kind.INTEGER and kind.nullable for kind in types)
        return None if floats else body[0].table

    def first(self, variable: Variable) -> Position:
        """Where a variable's value is taken from."""
        return self.rows.positions[variable][0]

    def type_of(self, position: Position) -> ColumnType:
        """The type of a column."""
        return self.types(position.table, position.column)

    def is_text_already(self, position: Position) -> bool:
        """Whether any engine's text of the column, where it is not NULL, is the right one."""
        kind = self.type_of(position)
        is_text = kind.kind is Kind.TEXT and kind.is_text and not _FIXED_LENGTH.match(kind.sql_type)
        return (is_text and not kind.padded) or kind.kind is Kind.INTEGER

    def text_of(self, part: Variable | Transformed, datatype: str | None, spelled: bool) -> exp.Expression:
        """The text that a variable's value has in the triple; in an IRI, before it is percent-encoded."""
        if isinstance(part, Transformed) and part.name != _BY_ENGINES:
            text = exp.paren(self.rows.transformed(part))
            return text if spelled else xsd_form(text, result_kind(part), datatype)
        variable = part.variable if isinstance(part, Transformed) else part
        if spelled:
            return as_text(self.rows.first_column(variable))
        kind = self.type_of(self.first(variable))
        form = xsd_form(self.rows.lexical(variable), kind.kind, datatype)
        zoned = kind.kind is Kind.TIMESTAMP and datatype != f"{XSD}date" and kind.has_zone and self.dialect.types_values
        return concatenated([form, exp.Literal.string("Z")]) if zoned else form

    def iri_text(self, iri: Iri, encoded: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
        """A whole IRI; `encoded` percent-encodes a text. A variable alone holds whole IRIs."""
        if len(iri.parts) == 1 and isinstance(iri.parts[0], Variable):
            return self.text_of(iri.parts[0], None, iri.spelled)

        def text(part: Part) -> exp.Expression:
            if isinstance(part, str):
                return text_sql(part, self.dialect)
            text = self.text_of(part, None, iri.spelled)
            if self.has_specials(part):
                return encoded(text)
            return text if isinstance(text, exp.Cast | exp.Paren) else as_text(text)

        return concatenated([text(part) for part in iri.parts])

    def has_specials(self, part: Variable | Transformed) -> bool:
        """Whether a value may have characters to encode: numbers, dates and truth values do not."""
        if isinstance(part, Transformed) and part.name != _BY_ENGINES:
            return part.name not in IN_IRIS and result_kind(part) in (Kind.TEXT, Kind.TIMESTAMP)
        variable = part.variable if isinstance(part, Transformed) else part
        return self.type_of(self.first(variable)).kind in (Kind.TEXT, Kind.TIMESTAMP)

    def literal_text(self, literal: Literal) -> exp.Expression:
        """The text of a literal."""
        if len(literal.parts) == 1 and not isinstance(literal.parts[0], str):
            return self.text_of(literal.parts[0], self._fitting(literal), spelled=False)
        return concatenated(
            [
                text_sql(part, self.dialect) if isinstance(part, str) else self.text_of(part, None, spelled=True)
                for part in literal.parts or ("",)
            ]
        )

    def datatype_of(self, literal: Literal) -> str | None:
        """The literal's datatype; if it has none of its own that fits, the natural one of its column."""
        fitting = self._fitting(literal)
        if fitting or len(literal.parts) != 1 or isinstance(literal.parts[0], str):
            return fitting
        if isinstance(literal.parts[0], Transformed):
            return _NATURAL.get(result_kind(literal.parts[0]))
        column = self.type_of(self.first(literal.parts[0]))
        return f"{XSD}double" if column.is_float else _NATURAL.get(column.kind)

    def _fitting(self, literal: Literal) -> str | None:
        """The datatype that is asked for, unless no value of the column can be of it."""
        (part,) = literal.parts if len(literal.parts) == 1 else (None,)
        if part is None or isinstance(part, str):
            return literal.datatype
        kind = result_kind(part) if isinstance(part, Transformed) else self.type_of(self.first(part)).kind
        return None if literal.datatype in _NEVER.get(kind, ()) else literal.datatype


def xsd_form(text: exp.Expression, kind: Kind, datatype: str | None) -> exp.Expression:
    """Our lexical form of a value as that of an XSD datatype (None: the one natural to its kind)."""
    if kind is Kind.TIMESTAMP:
        if datatype == f"{XSD}date":
            return exp.Anonymous(this="SUBSTR", expressions=[text, exp.Literal.number(1), exp.Literal.number(10)])
        return exp.Anonymous(this="REPLACE", expressions=[text, exp.Literal.string(" "), exp.Literal.string("T")])
    if kind is Kind.DATE and datatype == f"{XSD}dateTime":
        return concatenated([text, exp.Literal.string("T00:00:00")])
    return text


def variables_of(term: Iri | Literal | None) -> frozenset[Variable]:
    """The variables that a term is made of."""
    parts = term.parts if term else ()
    return frozenset(variable for part in parts if (variable := variable_in(part)) is not None)


def is_left_to_engines(part: Part, term: Iri | Literal) -> bool:
    """Whether a part needs no SQL of ours: engines percent-encode what they put into an IRI."""
    return not isinstance(part, Transformed) or (isinstance(term, Iri) and part.name == _BY_ENGINES)


def is_made_whole(iri: Iri) -> bool:
    """Whether an IRI must come whole from the query, since engines would encode a part once more or otherwise."""
    return any(
        isinstance(part, Transformed) and part.name in IN_IRIS and part.name != _BY_ENGINES for part in iri.parts
    )
