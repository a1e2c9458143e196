"""The rule language as values: what a mapping rule is made of.

    hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), Author(ID: y)

All values are immutable and compare by content. `printer.py` and `parser.py` make them text and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple


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


class Place(NamedTuple):
    """A table and one of its columns."""

    table: str
    column: str


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
class Transformed:
    """A variable's value made into another by a transformation: `year(a)` (`transformations.py` has them all)."""

    name: str
    variable: Variable
    parameters: tuple[int | str | Decimal, ...] = ()


Part = str | Variable | Transformed


def variable_in(part: Part) -> Variable | None:
    """The variable that a part of a concatenation is made of; fixed text has none."""
    return part.variable if isinstance(part, Transformed) else part if isinstance(part, Variable) else None


@dataclass(frozen=True, slots=True)
class Concat:
    """A string put together from fixed text and the text of variables, as it is or transformed."""

    parts: tuple[Part, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in it, in order, repeats included."""
        return tuple(variable for part in self.parts if (variable := variable_in(part)) is not None)

    @property
    def transformations(self) -> tuple[Transformed, ...]:
        """The parts that are transformed."""
        return tuple(part for part in self.parts if isinstance(part, Transformed))

    @property
    def is_path(self) -> bool:
        """Whether it reads like a key or an IRI, put together by `/` or `#`, and not like a text."""
        return any(isinstance(part, str) and ("/" in part or "#" in part) for part in self.parts)

    @property
    def only(self) -> Transformed | None:
        """The one transformed part, if there is nothing else: then the result has its kind, and is not just a text."""
        part = self.parts[0] if len(self.parts) == 1 else None
        return part if isinstance(part, Transformed) else None


@dataclass(frozen=True, slots=True)
class Empty:
    """No value: what stands in a column that is NULL."""


Term = Variable | Constant | Empty


@dataclass(frozen=True, slots=True)
class Atom:
    """A source table with some of its columns; each column holds a term."""

    table: str
    columns: tuple[tuple[str, Term], ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of the atom, in order, repeats included."""
        return tuple(term for _, term in self.columns if isinstance(term, Variable))

    def columns_of(self, *variables: Variable) -> tuple[str, ...]:
        """The columns that hold one of these variables."""
        return tuple(column for column, term in self.columns if term in variables)


class Position(NamedTuple):
    """Where a term stands in a rule: a column of one atom. Atoms count from 1; a table may stand in several."""

    atom: int
    table: str
    column: str

    @property
    def place(self) -> Place:
        """The column, whichever atom it stands in."""
        return Place(self.table, self.column)


@dataclass(frozen=True, slots=True)
class Rule:
    """`predicate(arguments) <- body, variable = concatenation, variable <> constant, ...`.

    Each head argument is a variable that the body or one of the definitions binds. `exclusions` are values that a
    variable of the body does not have.
    """

    predicate: str
    arguments: tuple[Variable, ...]
    body: tuple[Atom, ...]
    definitions: tuple[tuple[Variable, Concat], ...] = ()
    exclusions: tuple[tuple[Variable, Constant], ...] = ()

    @property
    def argument_names(self) -> tuple[str, ...]:
        """What the columns of its facts are called: by their variables, one that stands there again by its place."""
        names = [variable.name for variable in self.arguments]
        return tuple(f"{name}_{place}" if name in names[:place] else name for place, name in enumerate(names))

    def definition_of(self, variable: Variable) -> Concat | None:
        """The concatenation that defines a variable, if one does."""
        return next((concat for defined, concat in self.definitions if defined == variable), None)

    @property
    def positions(self) -> dict[Variable, tuple[Position, ...]]:
        """Where each variable of the body stands, in the order in which they appear."""
        found: dict[Variable, tuple[Position, ...]] = {}
        for number, atom in enumerate(self.body, start=1):
            for column, term in atom.columns:
                if isinstance(term, Variable):
                    found[term] = (*found.get(term, ()), Position(number, atom.table, column))
        return found

    @property
    def constants(self) -> tuple[tuple[Position, Constant], ...]:
        """The constants of the body, each with where it stands."""
        return tuple(
            (Position(number, atom.table, column), term)
            for number, atom in enumerate(self.body, start=1)
            for column, term in atom.columns
            if isinstance(term, Constant)
        )

    @property
    def empty(self) -> tuple[Position, ...]:
        """The columns that must hold no value."""
        return tuple(
            Position(number, atom.table, column)
            for number, atom in enumerate(self.body, start=1)
            for column, term in atom.columns
            if isinstance(term, Empty)
        )

    @property
    def excluded(self) -> tuple[tuple[Position, Constant], ...]:
        """The values that a column must not hold, each with where its variable first stands."""
        positions = self.positions
        return tuple((positions[variable][0], constant) for variable, constant in self.exclusions)

    @property
    def joins(self) -> tuple[tuple[Position, ...], ...]:
        """The columns that share a variable, two or more."""
        return tuple(positions for positions in self.positions.values() if len(positions) > 1)

    @property
    def transformations(self) -> tuple[Transformed, ...]:
        """All transformations of the rule."""
        return tuple(part for _, concat in self.definitions for part in concat.transformations)

    def variables_of(self, argument: Variable) -> tuple[Variable, ...]:
        """The variables of the body that an argument is made of: itself, or those of its concatenation."""
        concat = self.definition_of(argument)
        return (argument,) if concat is None else concat.variables

    def places_of(self, argument: Variable) -> tuple[Place, ...]:
        """The columns that an argument comes from, in the order of the body."""
        wanted = self.variables_of(argument)
        return tuple(Place(atom.table, column) for atom in self.body for column in atom.columns_of(*wanted))

    def key_places(self, argument: Variable) -> tuple[Place, ...]:
        """The columns whose value tells an argument's entities apart: of a concatenation, those of its first variable.

        A text without any variable has no column; it belongs to the first table.
        """
        first = self.variables_of(argument)[:1]
        return self.places_of(first[0]) if first else (Place(self.body[0].table, ""),)
