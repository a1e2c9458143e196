"""0 and -1 where a link leads to nothing: no key is such a number, and nothing is published of it."""

from __future__ import annotations

from dataclasses import replace

from ruleminer.rules.values import Place
from ruleminer.sources.schema import Schema
from ruleminer.structure.profile import ColumnProfile, Profile

NOTHING = (0, -1)


def may_be_nothing(own: ColumnProfile) -> bool:
    """Whether the least number of a column may say that there is nothing, if it is below all keys."""
    return own.span is not None and own.distinct > 2 and own.span[0] in NOTHING


def nothing_of(own: ColumnProfile, key: ColumnProfile) -> int | None:
    """The number below all keys that stands in a column where there is nothing; None if there is none."""
    if own.span is None or key.span is None or not may_be_nothing(own):
        return None
    return own.span[0] if own.span[0] < key.span[0] <= own.span[1] else None


def without_nothing(own: ColumnProfile, key: ColumnProfile) -> ColumnProfile:
    """The profile of a column without the rows that lead to nothing."""
    nothing = nothing_of(own, key)
    if nothing is None or key.low is None:
        return own
    least = min((int(text) for text in own.all_values if int(text) != nothing), default=int(key.low))
    rows = round(own.frequency(str(nothing)))
    return replace(own, low=str(least), distinct=own.distinct - 1, filled=max(own.distinct - 1, own.filled - rows))


def nothing_at(place: Place, schema: Schema, profile: Profile) -> str | None:
    """The value of a link that leads to nothing, as its lexical form."""
    end = next((link.end for link in schema.table(place.table).links if link.start == place), None)
    own, key = profile.column(*place), profile.column(*end) if end is not None else None
    nothing = nothing_of(own, key) if own is not None and key is not None else None
    return None if nothing is None else str(nothing)
