"""The names that a rule brings with it, by what they stand for: the network weighs each group for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ruleminer.proposals.names import iri_words
from ruleminer.rules.values import Constant, Kind, Place, Rule
from ruleminer.structure.lexicon import Names, lexicon
from ruleminer.structure.meaning import Meaning
from ruleminer.structure.words import NameIndex, likeness

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_LONGEST_TEXT = 40  # a constant longer than this is content, not a name
OF_GROUP = 3  # names of a group that are looked at


class Group(IntEnum):
    """What a name stands for in a rule."""

    SUBJECT_TABLE = 0  # where the first argument is a key; if it is nowhere, where it stands
    SUBJECT_GOAL = 1  # the table that the first argument links to
    SUBJECT_COLUMN = 2
    OBJECT_TABLE = 3
    OBJECT_GOAL = 4
    OBJECT_COLUMN = 5
    OBJECT_BOTH = 6  # table and column together
    JOIN = 7  # columns and tables that only lead on
    CODE_COLUMN = 8
    CODE_VALUE = 9


TELLING = (Group.SUBJECT_TABLE, Group.SUBJECT_GOAL, Group.SUBJECT_COLUMN, Group.CODE_COLUMN, Group.CODE_VALUE)
TELLING_PROPERTY = (Group.OBJECT_COLUMN, Group.OBJECT_BOTH, Group.JOIN, Group.SUBJECT_TABLE, Group.CODE_VALUE)
"""The groups that mostly tell a class, and a property."""


def named_groups(
    rule: Rule,
    links: Mapping[Place, str],
    keys: frozenset[Place],
    together: Mapping[frozenset[Place], str] = MappingProxyType({}),
) -> dict[Group, list[str]]:
    """The names of a rule by group; `links` are the columns that lead to other tables, alone or `together`."""
    found: dict[Group, list[str]] = {group: [] for group in Group}
    x = rule.arguments[0]
    places = rule.places_of(x)
    compound = len(rule.variables_of(x)) > 1
    for place in places:
        goal = together.get(frozenset(places)) if compound else links.get(place)
        if goal is not None and place not in keys:
            found[Group.SUBJECT_GOAL].append(goal)
            found[Group.JOIN].append(place.table)
        else:
            found[Group.SUBJECT_TABLE].append(place.table)
        found[Group.SUBJECT_COLUMN].append(place.column)
    found[Group.CODE_VALUE] += [word for argument in rule.arguments for word in iri_words(rule, argument)]
    ends = set(rule.variables_of(x))
    if len(rule.arguments) == 2:
        y = rule.arguments[1]
        ends |= set(rule.variables_of(y))
        ends_at = rule.places_of(y)
        compound = len(rule.variables_of(y)) > 1
        for place in ends_at:
            goal = together.get(frozenset(ends_at)) if compound else links.get(place)
            if goal is not None and place not in keys:
                found[Group.OBJECT_GOAL].append(goal)
            found[Group.OBJECT_TABLE].append(place.table)
            found[Group.OBJECT_COLUMN].append(place.column)
            found[Group.OBJECT_BOTH].append(f"{place.table}_{place.column}")
    for atom in rule.body:
        for column, term in atom.columns:
            if isinstance(term, Constant):
                found[Group.CODE_COLUMN].append(column)
                if term.kind is Kind.TEXT and len(str(term.value)) <= _LONGEST_TEXT:
                    found[Group.CODE_VALUE].append(str(term.value))
            elif term not in ends:
                found[Group.JOIN].append(column)
        if not any(term in ends for term in atom.variables):
            found[Group.JOIN].append(atom.table)
    return {group: list(dict.fromkeys(names))[:OF_GROUP] for group, names in found.items()}


class NameTable:
    """All names of some rules, and where each group of each rule finds its own."""

    def __init__(self, groups: Sequence[Mapping[Group, Sequence[str]]]) -> None:
        self.names = sorted({name for one in groups for names in one.values() for name in names})
        self._index = NameIndex(self.names)
        self._by_title: dict[str, Floats] = {}
        self._by_titles: dict[tuple[str, ...], Floats] = {}
        number = {name: place for place, name in enumerate(self.names)}
        self._places = np.full((len(groups), len(Group), OF_GROUP), len(self.names), np.int64)
        for row, one in enumerate(groups):
            for group, names in one.items():
                self._places[row, group, : len(names)] = [number[name] for name in names]

    def by_group(self, scores: Floats, rules: Ints) -> Floats:
        """For some rules: the best score of each group's names, of one score per name: (rules, groups)."""
        padded = np.append(scores, np.float32(0.0))
        return np.asarray(padded[self._places[rules]].max(axis=-1))

    def alike(self, titles: Sequence[str]) -> Floats:
        """How alike each name is to the nearest of some titles, by letters."""
        if not titles:
            return np.zeros(len(self.names), np.float32)
        return np.asarray(np.stack([self._alike_one(title) for title in titles]).max(axis=0))

    def _alike_one(self, title: str) -> Floats:
        if title not in self._by_title:
            scores = np.zeros(len(self.names), np.float32)
            for place in self._index.near(title):
                scores[place] = likeness(title, self.names[place])
            self._by_title[title] = scores
        return self._by_title[title]

    def near(self, titles: Sequence[str], meaning: Meaning | None) -> Floats:
        """How near each name is to the nearest of some titles, by meaning; 0 where nobody knows."""
        if meaning is None or not titles or not self.names:
            return np.zeros(len(self.names), np.float32)
        return np.asarray(np.maximum((self._vectors(meaning) @ meaning.vectors(titles).T).max(axis=1), 0.0))

    def of_kind(self, titles: Sequence[str]) -> Floats:
        """How near each name is to the nearest of some titles, as words of one kind (`structure/lexicon.py`)."""
        key = tuple(titles)
        if key not in self._by_titles:
            self._by_titles[key] = lexicon().near(self._read, titles)
        return self._by_titles[key]

    @cached_property
    def _read(self) -> Names:
        return lexicon().read(self.names)

    def _vectors(self, meaning: Meaning) -> Floats:
        if not hasattr(self, "_known"):
            self._known = meaning.vectors(self.names)
        return self._known
