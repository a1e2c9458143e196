"""0 and -1 where a link leads to nothing: no key is such a number, and nothing is published of it."""

from __future__ import annotations

from dataclasses import replace

from ruleminer.rules.values import Kind, Place
from ruleminer.sources.schema import Schema
from ruleminer.structure.profile import ColumnProfile, Profile

NOTHING = (0, -1)
_COUNTS = 0.9  # share of a stretch of numbers that a count fills
_FEW = 0.5  # share of the keys below which a count ends


def may_be_nothing(own: ColumnProfile) -> bool:
    """Whether the least number of a column may say that there is nothing, if it is below all keys."""
    return own.span is not None and own.distinct > 2 and own.span[0] in NOTHING


def nothing_of(own: ColumnProfile, key: ColumnProfile) -> int | None:
    """The number below all keys that stands in a column where there is nothing; None if there is none."""
    if own.span is None or key.span is None or not may_be_nothing(own):
        return None
    return own.span[0] if own.span[0] < key.span[0] <= own.span[1] else None


def counts(own: ColumnProfile, key: ColumnProfile) -> bool:
    """Whether a column goes on from its least number without a hole and ends among the first of many keys.

    Then it rather counts something, and of some rows there is none.
    """
    if own.span is None:
        return False
    (least, most), many = own.span, _FEW * key.distinct
    return own.distinct >= _COUNTS * (most - least + 1) and own.distinct - 1 < many


def without_nothing(own: ColumnProfile, key: ColumnProfile) -> ColumnProfile:
    """The profile of a column without the rows that lead to nothing."""
    nothing = nothing_of(own, key)
    if nothing is None or key.low is None:
        return own
    least = min((int(text) for text in own.all_values if int(text) != nothing), default=int(key.low))
    rows = round(own.frequency(str(nothing)))
    return replace(own, low=str(least), distinct=own.distinct - 1, filled=max(own.distinct - 1, own.filled - rows))


def links_to_nothing(schema: Schema, profile: Profile) -> dict[Place, int]:
    """The links that may lead to nothing, and what they say then."""
    found: dict[Place, int] = {}
    for start, end in schema.links:
        own, key = profile.column(*start), profile.column(*end)
        if own is None or key is None or schema.type_of(*start).kind not in (Kind.INTEGER, Kind.DECIMAL):
            continue
        if (nothing := nothing_of(own, key)) is not None:
            found[start] = nothing
    return found
