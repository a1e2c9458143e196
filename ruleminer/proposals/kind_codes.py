"""Codes that tell kinds: whether a code tells the examples of a class from others' by no accident."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Place, Rule
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.structure import Structure

_RATHER = 1 / 2  # chance of the examples of a class beside those that a code tells, above which it tells nothing
_MOST_ORDERED = 1_000_000  # rows whose order is looked at


def codes_of(rule: Rule) -> set[Place]:
    """The columns that a rule compares with constants."""
    return {position.place for position, _ in rule.constants}


@dataclass(frozen=True)
class Chooser:
    """What narrows a rule where nobody says that its class is disjoint from others, some of which have these codes."""

    before: Rule
    codes: Set[Place]
    examples: int
    denied: int
    structure: Structure

    def chance(self, rule: Rule) -> float:
        """How likely the one value of a code that a rule asks for in addition would do so at random; inf if it is none.

        Where the others are chosen by the code, they have its other values by no accident: then the examples of the
        class must not, either.
        """
        more = codes_of(rule) - codes_of(self.before)
        if len(more) != 1 or rule.exclusions or (self.codes and not more <= self.codes):
            return math.inf
        (code,) = more
        profile = self.structure.profile.column(*code)
        if profile is None or not profile.filled:
            return math.inf
        shares = np.array([rows for _, rows in profile.common]) / profile.filled
        if self.codes:
            (own,) = (profile.frequency(lexical_form(one.value)) for at, one in rule.constants if at.place == code)
            if (own / profile.filled) ** self.examples > _RATHER:
                return math.inf
        looked_at = 1 if self.codes else max(1, len(self.structure.kinds(code.table)))
        return looked_at * float((shares**self.examples * (1.0 - shares) ** self.denied).sum())


def avoids_by_chance(rule: Rule, examples: int, denied: int, structure: Structure) -> float:
    """How likely so many examples avoid the values that a rule leaves out, and all that are denied have them.

    Of those that are denied each value takes one, from which it is known; any code of the table would do.
    """
    left_out = 0.0
    for position, constant in rule.excluded:
        profile = structure.profile.column(*position.place)
        left_out += (
            profile.frequency(lexical_form(constant.value)) / profile.filled if profile and profile.filled else 0.0
        )
    left_out = min(1.0, left_out)
    codes = max((len(structure.kinds(position.place.table)) for position, _ in rule.excluded), default=0)
    by_chance = (1.0 - left_out) ** examples * left_out ** max(0, denied - len(rule.exclusions))
    return max(1, codes) * by_chance


def is_in_order(code: Place, before: Rule, derivations: Derivations) -> bool:
    """Whether a code changes much less from row to row, in the order of their keys, than it would at random."""
    database, profile = derivations.database, derivations.structure.profile.column(*code)
    keys = [place.column for place in before.places_of(before.arguments[0]) if place.table == code.table]
    if profile is None or not profile.filled or profile.filled > _MOST_ORDERED or not keys:
        return True
    shares = np.array([rows for _, rows in profile.common]) / profile.filled
    own = quote_identifier(code.column)
    told = derivations.one_row(
        "columns",
        f"SELECT sum(CASE WHEN v <> w THEN 1 ELSE 0 END) FROM (SELECT {own} AS v, "
        f"lag({own}) OVER (ORDER BY {quote_identifier(keys[0])}) AS w "
        f"FROM {database.quoted(code.table)} WHERE {own} IS NOT NULL) AS d",
    )
    if told is None:
        return True
    return float(told[0] or 0) < profile.filled * (1.0 - float((shares**2).sum())) / 2


def is_within(rule: Rule, other: Rule) -> bool:
    """Whether a rule takes the rows of another, or some of them: the same tables, with the same columns and more."""
    return len(rule.body) == len(other.body) and all(
        atom.table == wider.table and {name for name, _ in atom.columns} >= {name for name, _ in wider.columns}
        for atom, wider in zip(rule.body, other.body, strict=True)
    )


def conditions_beyond(rule: Rule, before: Rule) -> list[str]:
    """The columns that a rule asks more of than another."""
    return [
        f"{column} of {atom.table}"
        for atom, known in zip(rule.body, before.body, strict=True)
        for column, _ in atom.columns
        if column not in {name for name, _ in known.columns}
    ]
