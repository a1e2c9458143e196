"""Entities as texts, in what the user is asked and in what they say: `Artist:1` is the thing of that key among artists.

1 … 25 is a key in every table, so a bare key says little: asked whether `MusicGroup(1)` holds, nobody can tell which
row is meant. A question writes an entity with the table of its space's key, as examples may (`extraction/entities.py`),
and only a rule that takes the argument from that space derives it. A bare key is read as one of whatever space.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ruleminer.rules.body import Body
from ruleminer.rules.values import Place
from ruleminer.structure.structure import Structure

Fact = tuple[str, ...]


class EntityTexts:
    """Writes and reads the entities of one database."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._known: dict[Body, tuple[tuple[Place, ...], ...]] = {}

    @cached_property
    def _by_table(self) -> Mapping[str, Place]:
        """The key of the space in which a table's own key lies, by the table's name."""
        found = {}
        for table in self._structure.schema.tables:
            space = self._structure.space(Place(table.name, table.own_key)) if table.own_key else None
            if space is not None and ":" not in table.name:
                found[table.name] = space.key
        return found

    def spaces(self, body: Body) -> tuple[tuple[Place, ...], ...]:
        """For each argument of a rule, the keys of the spaces that it is taken from; none for a value."""
        if body not in self._known:
            rule = body.rule
            self._known[body] = tuple(
                ()
                if rule.definition_of(argument) is not None
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
