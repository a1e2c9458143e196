"""How far into a rule's extension its examples reach.

The size principle takes examples for a random draw from all that a rule derives. People take the first rows, and in
an ordinary database every table is numbered 1, 2, 3 …: a draw from the whole would then speak for the smallest table
that has such rows. So the examples may as well be a draw from the beginning: as much of the extension as lies up to
the greatest key that they name. Where keys are scattered, or examples too, the beginning is the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ruleminer.rules.values import Kind, Part, Rule, Variable, variable_in
from ruleminer.structure.profile import ColumnProfile
from ruleminer.structure.structure import Structure

_DENSE = 0.5  # share of the numbers between the least and the greatest key that must be keys


def reach_of(rule: Rule, facts: Sequence[tuple[str, ...]], size: float, structure: Structure) -> float:
    """How many facts the rule derives up to the greatest keys that these facts of it name."""
    if not facts:
        return size
    share = 1.0
    for place, argument in enumerate(rule.arguments):
        profile = _numbered(rule, argument, structure)
        numbers = [_number(rule, argument, fact[place]) for fact in facts]
        known = [number for number in numbers if number is not None]
        if profile is None or len(known) < len(numbers):
            continue
        assert profile.span is not None
        low, high = profile.span
        share = min(share, max(1, max(known) - low + 1) / max(1, high - low + 1))
    return min(size, max(share * size, float(len(set(facts)))))


def reaches_of(
    rules: Sequence[Rule],
    facts: Sequence[tuple[str, ...]],
    covers: NDArray[np.bool_],
    sizes: NDArray[np.float64],
    structure: Structure,
) -> NDArray[np.float64]:
    """The reach of each rule into its extension, by the facts that it derives."""
    derived = ([fact for fact, yes in zip(facts, row, strict=True) if yes] for row in covers)
    return np.array(
        [reach_of(rule, some, float(size), structure) for rule, some, size in zip(rules, derived, sizes, strict=True)]
    )


def _numbered(rule: Rule, argument: Variable, structure: Structure) -> ColumnProfile | None:
    """The profile of the column that an argument's number comes from, if its numbers lie close together."""
    if len(rule.variables_of(argument)) != 1:
        return None
    place = rule.places_of(argument)[0]
    if place.table not in structure.schema:
        return None
    kinds = [column.kind for column in structure.schema.table(place.table).columns if column.name == place.column]
    profile = structure.profile.column(*place)
    if kinds != [Kind.INTEGER] or structure.space(place) is None or profile is None or profile.span is None:
        return None
    low, high = profile.span
    return profile if profile.distinct >= _DENSE * (high - low + 1) else None


def _number(rule: Rule, argument: Variable, text: str) -> int | None:
    """The number in an argument: the whole of it, or what its concatenation leaves for the variable."""
    concat = rule.definition_of(argument)
    if concat is not None:
        before, after = (
            "".join(part for part in parts if isinstance(part, str))
            for parts in _around(concat.parts, rule.variables_of(argument)[0])
        )
        text = text.removeprefix(before).removesuffix(after) if after else text.removeprefix(before)
    return int(text) if text.removeprefix("-").isdecimal() else None


def _around(parts: Sequence[Part], variable: Variable) -> tuple[Sequence[Part], Sequence[Part]]:
    middle = next(place for place, part in enumerate(parts) if variable_in(part) == variable)
    return parts[:middle], parts[middle + 1 :]
