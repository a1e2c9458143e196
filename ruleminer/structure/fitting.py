"""In which keys a column's values can lie, as far as the profile tells: all keys are compared with a column at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ruleminer.rules.lexical import family
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Column, Schema, Table
from ruleminer.structure.nothing import may_be_nothing
from ruleminer.structure.profile import ColumnProfile, Profile

INCLUDED = 0.98  # share of a column's values that must lie in the key: real data are dirty
_WHOLE = re.compile(r"-?\d+")


class Keys:
    """The columns of a schema that are a key on their own and could be read, in the schema's order."""

    def __init__(self, schema: Schema, profile: Profile) -> None:
        keys = [(table, table.column(name)) for table in schema.tables for name in table.keys]
        told = [(table, key, profile.column(table.name, key.name)) for table, key in keys]
        self.known: list[tuple[Table, Column, ColumnProfile]] = [
            (table, key, there) for table, key, there in told if there is not None
        ]
        families = [family(key.kind) for _, key, _ in self.known]
        self._are = {one: np.array([other is one for other in families], bool) for one in set(families)}
        there = [profiled for _, _, profiled in self.known]
        self._distinct = np.array([one.distinct for one in there], np.int64)
        self._length = np.array([one.length for one in there], np.float64)
        self._whole = np.array([_is_whole(one) for one in there], bool)
        spans = [span(one) if _is_whole(one) else (0, 0) for one in there]
        self._low, self._high = (_whole_numbers([ends[end] for ends in spans]) for end in (0, 1))

    def fitting(self, column: Column, own: ColumnProfile) -> list[tuple[Table, Column, ColumnProfile]]:
        """The keys in which the values of a column can lie."""
        fits = self._are.get(family(column.kind))
        if fits is None:
            return []
        if column.kind is Kind.TEXT:
            fits = fits & (self._distinct >= own.distinct * INCLUDED)
            fits &= (self._length >= 0.3 * own.length) & (self._length <= 3.0 * own.length + 2.0)
        elif _is_whole(own):
            low, high = span(own)
            nothing = may_be_nothing(own) & (self._low > low) & (self._low <= high)
            fits = fits & (self._distinct >= (own.distinct - nothing) * INCLUDED)
            fits &= self._whole & (self._high >= high) & ((self._low <= low) | nothing)
        else:
            return []  # SQLite keeps anything in a column of whole numbers
        return [self.known[place] for place in np.flatnonzero(fits)]


def span(one: ColumnProfile) -> tuple[int, int]:
    """The least and the greatest of a column's whole numbers."""
    return int(one.low or 0), int(one.high or 0)


def _is_whole(one: ColumnProfile) -> bool:
    return all(_WHOLE.fullmatch(text or "") for text in (one.low, one.high))


def _whole_numbers(values: Sequence[int]) -> np.ndarray:
    """Numbers as an array, without any loss."""
    small = all(-(2**63) <= value < 2**63 for value in values)
    return np.array(values, np.int64 if small else object)
