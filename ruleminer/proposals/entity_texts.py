"""Entities as texts, in what the user is asked and in what they say: `Artist:1` is the thing of that key among artists.

1 … 25 is a key in every table, so a bare key says little: asked whether `MusicGroup(1)` holds, nobody can tell which
row is meant. A question writes an entity with the table of its space's key, as examples may (`extraction/entities.py`),
and only a rule that takes the argument from that space derives it. A bare key is read as one of whatever space. The
columns of a key of several stand in one place, `no/leg`, as its values do, `flight:3/23`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Concat, Place, Rule, Variable
from ruleminer.structure.structure import Structure

Fact = tuple[str, ...]
_SLASH = "/"
_X = Variable("x")


class EntityTexts:
    """Writes and reads the entities of one database."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._known: dict[Body, tuple[tuple[Place, ...], ...]] = {}

    @cached_property
    def _by_table(self) -> Mapping[str, Place]:
        """The key of the space in which a table's own key lies, by the table's name."""
        found = {table: place for (table, columns), place in self._compound.items()
                 if columns == self._structure.schema.table(table).primary_key}  # fmt: skip
        for table in self._structure.schema.tables:
            space = self._structure.space(Place(table.name, table.own_key)) if table.own_key else None
            if space is not None and ":" not in table.name:
                found[table.name] = space.key
        return found

    @cached_property
    def _compound(self) -> Mapping[tuple[str, tuple[str, ...]], Place]:
        """By table and columns of it that hold keys of several columns: whose keys these are."""
        tables = self._structure.schema.tables
        keys = {table.name: table.primary_key for table in tables if table.own_key is None}
        leads: dict[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {}
        for table in tables:
            for link in table.foreign_keys:
                key = keys.get(link.table, ())
                if len(key) > 1 and sorted(link.referenced) == sorted(key) and link.table != table.name:
                    own = tuple(link.columns[link.referenced.index(column)] for column in key)
                    leads.setdefault((table.name, own), (link.table, key))
        found = {}
        for start in {**{(name, key): None for name, key in keys.items() if len(key) > 1}, **leads}:
            end, seen = start, {start}
            while end in leads and leads[end] not in seen:
                end = leads[end]
                seen.add(end)
            if ":" not in end[0]:
                found[start] = Place(end[0], _SLASH.join(end[1]))
        return found

    def _of_several(self, rule: Rule, concat: Concat) -> tuple[Place, ...]:
        """Whose keys an argument is that is put together as keys of several columns are; none if it is not."""
        parts = concat.parts
        if len(parts) < 3 or any(part != _SLASH for part in parts[1::2]):
            return ()
        found: dict[Place, None] = {}
        for atom in rule.body:
            terms = dict(atom.columns)
            for (table, columns), place in self._compound.items():
                if table == atom.table and tuple(map(terms.get, columns)) == parts[::2]:
                    found[place] = None
        return tuple(found)

    def itself(self, space: Place) -> Rule:
        """The rule for all things of a space, by its key."""
        columns = self._structure.schema.table(space.table).primary_key
        if _SLASH.join(columns) != space.column or len(columns) == 1:
            return Rule("_", (_X,), (Atom(space.table, ((space.column, _X),)),))
        parts = [Variable(f"a{number}") for number in range(len(columns))]
        joined = [part for one in parts for part in (_SLASH, one)][1:]
        return Rule(
            "_", (_X,), (Atom(space.table, tuple(zip(columns, parts, strict=True))),), ((_X, Concat(tuple(joined))),)
        )

    def spaces(self, body: Body) -> tuple[tuple[Place, ...], ...]:
        """For each argument of a rule, the keys of the spaces that it is taken from; none for a value."""
        if body not in self._known:
            rule = body.rule
            self._known[body] = tuple(
                self._of_several(rule, concat)
                if (concat := rule.definition_of(argument)) is not None
                else tuple(
                    dict.fromkeys(
                        space.key for place in rule.places_of(argument) if (space := self._structure.space(place))
                    )
                )
                for argument in rule.arguments
            )
        return self._known[body]

    def written(self, body: Body, fact: Fact) -> Fact:
        """A fact that a rule derives, its entities with the tables of their keys."""
        named = self._by_table
        return tuple(
            f"{keys[0].table}:{text}" if keys and named.get(keys[0].table) == keys[0] else text
            for text, keys in zip(fact, self.spaces(body), strict=True)
        )

    def of_row(self, table: str, key: str) -> str:
        """The thing of a table's row with this key."""
        space = self._by_table.get(table)
        return key if space is None else f"{space.table}:{key}"

    def read(self, body: Body, fact: Fact) -> Fact | None:
        """The fact with the keys that the rule's columns would hold; None if it is of things that they do not name."""
        spaces = self.spaces(body)
        if len(fact) != len(spaces):
            return None
        found = []
        for text, keys in zip(fact, spaces, strict=True):
            told = self.told(text) if keys else None
            if told is not None and told[0] not in keys:
                return None
            found.append(text if told is None else told[1])
        return tuple(found)

    def told(self, text: str) -> tuple[Place, str] | None:
        """`Artist:1` as a space, by its key, and a key in it; None if the text does not say."""
        table, colon, key = text.partition(":")
        space = self._by_table.get(table) if colon and key else None
        return None if space is None else (space, key)
