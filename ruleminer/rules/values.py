"""The rule language as values: what a mapping rule is made of.

    hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), Author(ID: y)

All values are immutable and compare by content. `printer.py` and `parser.py` make them text and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum


class Kind(StrEnum):
    """The type of a constant, and of a column as far as rules are concerned."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TEXT = "text"


Scalar = int | Decimal | bool | date | datetime | str

_PYTHON_TYPES: tuple[tuple[type, Kind], ...] = (  # bool before int, datetime before date: they are subclasses
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (Decimal, Kind.DECIMAL),
    (datetime, Kind.TIMESTAMP),
    (date, Kind.DATE),
    (str, Kind.TEXT),
)


def kind_of(value: Scalar) -> Kind:
    """The kind of a Python value."""
    for python_type, kind in _PYTHON_TYPES:
        if isinstance(value, python_type):
            return kind
    raise TypeError(f"not a constant of the rule language: {value!r}")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; `x` and `y` by convention stand in the head."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A typed constant. The kind takes part in equality, for in Python `True == 1 == Decimal(1)`."""

    kind: Kind
    value: Scalar

    @classmethod
    def of(cls, value: Scalar) -> Constant:
        """The constant of a Python value."""
        return cls(kind_of(value), value)


@dataclass(frozen=True, slots=True)
class Concat:
    """A string put together from fixed text and the text of variables."""

    parts: tuple[str | Variable, ...]


Term = Variable | Constant


@dataclass(frozen=True, slots=True)
class Atom:
    """A source table with some of its columns; each column holds a term."""

    table: str
    columns: tuple[tuple[str, Term], ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the atom, in order, repeats included."""
        return tuple(term for _, term in self.columns if isinstance(term, Variable))


@dataclass(frozen=True, slots=True)
class Rule:
    """`predicate(arguments) <- body, variable = concatenation, ...`.

    Each head argument is a variable that the body or one of the definitions binds.
    """

    predicate: str
    arguments: tuple[Variable, ...]
    body: tuple[Atom, ...]
    definitions: tuple[tuple[Variable, Concat], ...] = ()

    def definition_of(self, variable: Variable) -> Concat | None:
        """The concatenation that defines a variable, if one does."""
        return next((concat for defined, concat in self.definitions if defined == variable), None)
