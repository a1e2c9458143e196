"""Key spaces: which columns of a database hold keys of the same entities, by foreign keys and by the rules' joins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ruleminer.problem.schema import Schema
from ruleminer.rules.values import Rule, Variable

Place = tuple[str, str]
"""A table and one of its columns."""

Member = TypeVar("Member", bound=Hashable)


class Partition(Generic[Member]):
    """Disjoint sets; a set is called by the member that came first into it."""

    def __init__(self) -> None:
        self._parent: dict[Member, Member] = {}

    def of(self, member: Member) -> Member:
        """The name of the member's set; a new member has a set of its own."""
        root = self._parent.setdefault(member, member)
        while root != self._parent[root]:
            root = self._parent[root]
        self._parent[member] = root
        return root

    def join(self, one: Member, other: Member) -> None:
        """Make the sets of two members one, under the name of the first's."""
        one, other = self.of(one), self.of(other)
        self._parent[other] = one

    def groups(self, members: Iterable[Member]) -> list[list[Member]]:
        """The members by their sets, in their order."""
        found: dict[Member, list[Member]] = {}
        for member in members:
            found.setdefault(self.of(member), []).append(member)
        return list(found.values())


@dataclass(frozen=True)
class KeySpaces:
    """Columns of the same keys. `entity_keys` are those that foreign keys show to be the keys of a table's entities."""

    partition: Partition[Place]
    entity_keys: frozenset[Place]

    def of(self, place: Place) -> Place:
        """The column that stands for all with the same keys: where foreign keys lead in the end, if they do."""
        return self.partition.of(place)

    def is_entity_key(self, place: Place) -> bool:
        """Whether the schema tells that the column's keys are those of one table, and which."""
        return self.of(place) in self.entity_keys


def key_spaces(rules: Sequence[Rule], schema: Schema | None) -> KeySpaces:
    """The key spaces of a schema, and of the columns that the rules join."""
    partition: Partition[Place] = Partition()
    keys: set[Place] = set()
    has_foreign_keys = False
    for table in schema.tables if schema else ():
        keys |= {(table.name, columns[0]) for columns in (table.primary_key, *table.unique) if len(columns) == 1}
        for link in table.foreign_keys:
            has_foreign_keys = True
            if len(link.columns) == 1:
                partition.join((link.table, link.referenced[0]), (table.name, link.columns[0]))
    for rule in rules:
        for variable in {v for atom in rule.body for v in atom.variables}:
            # Keys first, so that the set keeps the name of the table that they belong to.
            first, *others = sorted(places_of(rule, variable), key=lambda place: partition.of(place) not in keys)
            for other in others:
                partition.join(first, other)
    # Without foreign keys, that two tables are not related tells nothing.
    entity_keys = {partition.of(key) for key in keys} if has_foreign_keys else set()
    return KeySpaces(partition, frozenset(entity_keys))


def places_of(rule: Rule, variable: Variable) -> tuple[Place, ...]:
    """The columns that hold a variable, or the first variable of its concatenation."""
    places = tuple((atom.table, column) for atom in rule.body for column, term in atom.columns if term == variable)
    if places:
        return places
    concat = rule.definition_of(variable)
    first = next((part for part in concat.parts if isinstance(part, Variable)), None) if concat else None
    return places_of(rule, first) if first else ((rule.body[0].table, ""),)
