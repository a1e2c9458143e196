"""Spaces: the columns that name the same kind of thing, which links around a key hold together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ruleminer.rules.values import Place
from ruleminer.sources.schema import Schema

Member = TypeVar("Member", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Space:
    """One kind of thing: the key that all its columns lead to in the end, and those columns, the key first."""

    key: Place
    places: tuple[Place, ...]

    @property
    def name(self) -> str:
        """The table of its key, by which people know it."""
        return self.key[0]


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


def spaces_of(schema: Schema) -> tuple[Space, ...]:
    """The spaces of a schema: the closure of its links around its keys, in order of their names.

    A table that has one column for a key and links it nowhere is the root of its space. Links may go round in a
    circle; then the key of the table that most columns lead to is the root. A column that leads to several kinds of
    things is of none: its 1 may be an album or a playlist. A key that does is of both, for its row is.
    """
    partition: Partition[Place] = Partition()
    members: dict[Place, None] = {}
    ends: dict[Place, int] = {}
    leads: set[Place] = set()
    for table in schema.tables:
        members |= {Place(table.name, column): None for column in table.keys}
        for start, end in table.links:
            members[end] = None
            ends[end] = ends.get(end, 0) + 1
            if start != end:
                leads.add(start)
            if start.column in table.keys:
                partition.join(end, start)
    leading: dict[Place, list[Place]] = {}
    for start, end in schema.links:
        leading.setdefault(start, []).append(end)
    undecided = leading
    while decided := {place for place, goals in undecided.items() if len(set(map(partition.of, goals))) == 1}:
        for start in sorted(decided):  # which may make two goals of another column one kind: hence again
            members[start] = None
            partition.join(leading[start][0], start)
        undecided = {place: goals for place, goals in undecided.items() if place not in decided}
    spaces = []
    for group in partition.groups(members):
        key = min(group, key=lambda place: (place in leads, -ends.get(place, 0), place))
        spaces.append(Space(key, (key, *sorted(place for place in group if place != key))))
    return tuple(sorted(spaces, key=lambda space: space.key))


def compound_root(columns: Sequence[Place], schema: Schema) -> list[Place]:
    """Where the columns of a compound key lead in the end, one by one."""
    seen = {tuple(columns)}
    current = list(columns)
    while len({place.table for place in current}) == 1 and current[0].table in schema:
        names = [place.column for place in current]
        for link in schema.table(current[0].table).foreign_keys:
            if len(link.columns) > 1 and sorted(link.columns) == sorted(names):
                ends = dict(zip(link.columns, link.referenced, strict=True))
                current = [Place(link.table, ends[name]) for name in names]
                break
        else:
            break
        if tuple(current) in seen:
            break
        seen.add(tuple(current))
    return current
