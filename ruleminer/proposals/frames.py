"""Rules taken apart, so that many can be asked for at once: those that read the same tables joined the same way.

    hasAuthor(x, y) <- Paper(ID: x, author: y, kind: 2), Author(ID: y), Person(ID: x)

reads one table, Paper, which is its frame; the columns `ID` and `author` are its arguments, `kind` has a constant, and
the other two atoms only ask whether a value stands somewhere: they are filters. All rules of one frame are counted in
one pass over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ruleminer.errors import DatabaseError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.values import Constant, Kind, Place, Rule, Variable
from ruleminer.sources.schema import Schema
from ruleminer.structure.spaces import Partition
from ruleminer.structure.structure import Structure


class Spot(NamedTuple):
    """A column of one of the tables of a frame, which are counted from 1."""

    atom: int
    column: str


class Filter(NamedTuple):
    """What stands in a spot of the frame must stand in another column, too."""

    spot: Spot
    place: Place


@dataclass(frozen=True, slots=True)
class Frame:
    """Tables side by side, and which of their columns are equal; each table is tied to one before it."""

    tables: tuple[str, ...]
    joins: tuple[tuple[Spot, Spot], ...]

    def place(self, spot: Spot) -> Place:
        """The column of the database."""
        return Place(self.tables[spot.atom - 1], spot.column)


@dataclass(frozen=True, slots=True)
class Spelling:
    """An argument that is put together from fixed text and columns."""

    parts: tuple[str | Spot, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A rule over its frame."""

    frame: Frame
    arguments: tuple[Spot | Spelling, ...]
    filled: tuple[Spot, ...]  # which hold a value, as no join and no constant says
    filters: tuple[Filter, ...]
    constants: tuple[tuple[Spot, Constant], ...]

    @property
    def plain(self) -> bool:
        """Whether it asks nothing but that its columns are filled."""
        return not self.filters and not self.constants


def reading_of(rule: Rule, schema: Schema) -> Reading | None:
    """The rule over its frame; None if it has a shape, columns or transformations that must be asked for alone."""
    if rule.transformations or rule.empty or rule.exclusions:
        return None
    places: dict[Variable, list[Spot]] = {}
    for number, atom in enumerate(rule.body, start=1):
        for column, term in atom.columns:
            if isinstance(term, Variable):
                places.setdefault(term, []).append(Spot(number, column))
    filters: dict[int, Spot] = {}
    for number, atom in enumerate(rule.body, start=1):
        if len(atom.columns) == 1 and isinstance(term := atom.columns[0][1], Variable) and places[term][0][0] < number:
            filters[number] = places[term][0]
    core = [number for number in range(1, len(rule.body) + 1) if number not in filters]
    new = {number: place for place, number in enumerate(core, start=1)}

    def moved(spot: Spot) -> Spot:
        return Spot(new[spot.atom], spot.column)

    joins: list[tuple[Spot, Spot]] = []
    filled: list[Spot] = []
    for spots in places.values():
        first, *others = (moved(spot) for spot in spots if spot.atom in new)
        joins += [(first, other) for other in others]
        if not others:
            filled.append(first)
    frame = Frame(tuple(rule.body[number - 1].table for number in core), tuple(joins))
    reading = Reading(
        frame,
        tuple(
            _argument(rule, argument, {v: moved(spots[0]) for v, spots in places.items()})
            for argument in rule.arguments
        ),
        tuple(filled),
        tuple(
            Filter(moved(spot), Place(rule.body[number - 1].table, rule.body[number - 1].columns[0][0]))
            for number, spot in filters.items()
        ),
        tuple(
            (Spot(new[number], column), term)
            for number in core
            for column, term in rule.body[number - 1].columns
            if isinstance(term, Constant)
        ),
    )
    return reading if _can_be_shared(reading, schema) else None


def _argument(rule: Rule, argument: Variable, spots: Mapping[Variable, Spot]) -> Spot | Spelling:
    concat = rule.definition_of(argument)
    if concat is None:
        return spots[argument]
    return Spelling(tuple(spots[part] if isinstance(part, Variable) else str(part) for part in concat.parts))


def _can_be_shared(reading: Reading, schema: Schema) -> bool:
    """Whether equal means the same throughout, and every table is tied to one before it."""
    frame = reading.frame
    try:
        pairs = [(frame.place(one), frame.place(other)) for one, other in frame.joins]
        pairs += [(frame.place(spot), place) for spot, place in reading.filters]
        for one, other in pairs:
            if not alike(schema.type_of(*one), schema.type_of(*other)):
                return False
        for spot, constant in reading.constants:
            found = schema.type_of(*frame.place(spot))
            if not compares_as_text(found) or found.kind is not constant.kind:
                return False
        for spot in reading.filled:
            schema.type_of(*frame.place(spot))
    except DatabaseError:
        return False
    tied = {max(one.atom, other.atom) for one, other in frame.joins if one.atom != other.atom}
    return tied >= set(range(2, len(frame.tables) + 1))


def alike(one: ColumnType, other: ColumnType) -> bool:
    """Whether each value of one column equals at most one value of the other."""
    return one.kind is other.kind and not one.is_float and not other.is_float and not _folds(one) and not _folds(other)


def compares_as_text(found: ColumnType) -> bool:
    """Whether values are equal just if their texts are."""
    return found.kind in (Kind.INTEGER, Kind.BOOLEAN, Kind.TEXT, Kind.DATE) and not _folds(found)


def _folds(found: ColumnType) -> bool:
    return "citext" in found.sql_type.lower()


def is_exact(found: ColumnType, types_values: bool) -> bool:
    """Whether values of a column differ just if their lexical forms do; an untyped engine's numbers may not."""
    if found.kind is Kind.TEXT:
        return not _folds(found)
    return types_values and not found.is_float


class Determination:
    """Which rules derive a fact for each row of their frame: there is nothing to be made distinct in them."""

    def __init__(self, structure: Structure, types_values: bool) -> None:
        self._structure, self._types_values = structure, types_values
        self._keys: dict[str, tuple[frozenset[str], ...]] = {}

    def holds(self, reading: Reading) -> bool:
        """Whether the arguments of a fact tell which row of each table it comes from."""
        frame = reading.frame
        same: Partition[Spot] = Partition()
        for one, other in frame.joins:
            same.join(one, other)
        known = {same.of(spot) for argument in reading.arguments if (spot := self._told(argument, frame))}
        known |= {same.of(spot) for spot, _ in reading.constants}
        spots: dict[int, set[str]] = {}
        for spot in (
            *reading.filled,
            *(spot for spot, _ in reading.constants),
            *(s for pair in frame.joins for s in pair),
        ):
            spots.setdefault(spot.atom, set()).add(spot.column)
        left = set(range(1, len(frame.tables) + 1))
        while left:
            told = {
                atom
                for atom in left
                if self._has_key(frame.tables[atom - 1], {c for c in spots[atom] if same.of(Spot(atom, c)) in known})
            }
            if not told:
                return False
            left -= told
            known |= {same.of(Spot(atom, column)) for atom in told for column in spots[atom]}
        return True

    def is_key(self, place: Place) -> bool:
        """Whether a column holds each of its values once."""
        return self._has_key(place.table, (place.column,))

    def _told(self, argument: Spot | Spelling, frame: Frame) -> Spot | None:
        """The column whose value an argument tells; of a spelling with several nobody knows where one ends."""
        if isinstance(argument, Spelling):
            parts = [part for part in argument.parts if isinstance(part, Spot)]
            if len(parts) != 1:
                return None
            (argument,) = parts
        return (
            argument if is_exact(self._structure.schema.type_of(*frame.place(argument)), self._types_values) else None
        )

    def _has_key(self, table: str, columns: Iterable[str]) -> bool:
        if table not in self._keys:
            self._keys[table] = tuple(self._keys_of(table))
        given = set(columns)
        return any(key <= given for key in self._keys[table])

    def _keys_of(self, name: str) -> Iterable[frozenset[str]]:
        """Single columns as counted, and compound keys, which are declared or were counted, too."""
        table = self._structure.schema.table(name)
        for column in table.columns:
            one = self._structure.profile.column(name, column.name)
            if (
                one is not None
                and one.filled == one.distinct
                and is_exact(table.type_of(column.name), self._types_values)
            ):
                yield frozenset((column.name,))
        for key in (table.primary_key, *table.unique):
            if len(key) > 1 and all(is_exact(table.type_of(column), self._types_values) for column in key):
                yield frozenset(key)
