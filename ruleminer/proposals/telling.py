"""Which columns tell what else stands in their rows, where no one column names a row.

A table that holds several things at once repeats them: each row of a paper and one of its reviewers has the paper's
title, which the paper's number alone tells. Who has a key of two columns of their own (a line of an order) does not.
"""

from __future__ import annotations

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.structure_rules import Shapes
from ruleminer.rules.body import Body
from ruleminer.rules.values import Place

_EXACT = 1.0001  # values of a column for each of another, up to which that one tells it


class Telling:
    """What columns tell; known of those that the structure offers as names of things."""

    def __init__(self, shapes: Shapes, derivations: Derivations) -> None:
        schema, profile = derivations.structure.schema, derivations.structure.profile
        asked: list[tuple[Place, str, Body]] = []
        for body in shapes.values:
            rule = body.of("_")
            atom = rule.body[0]
            plain = len(rule.body) == 1 and not rule.definitions and len(atom.columns) == 2
            if plain and not schema.table(atom.table).keys:
                (start,), (end,) = (rule.places_of(argument) for argument in rule.arguments)
                asked.append((start, end.column, body))
        sizes = derivations.sizes([body.of("_") for _, _, body in asked], [body for _, _, body in asked])
        self._told: dict[Place, set[str]] = {}
        self._others: dict[Place, int] = {}
        for (start, column, _), size in zip(asked, sizes, strict=True):
            known = profile.column(*start)
            if known is None or not size:
                continue
            rows = profile.tables[start.table].rows
            if start not in self._others:
                self._others[start], self._told[start] = 0, set()
            self._others[start] += 1
            if size <= _EXACT * known.distinct < rows:
                self._told[start].add(column)

    def share(self, place: Place) -> float:
        """How many of the other columns of its table a column tells, of those that are filled."""
        return len(self._told.get(place, ())) / max(1, self._others.get(place, 0))

    def tells(self, place: Place, column: str) -> bool:
        """Whether a column tells another one of its table."""
        return column in self._told.get(place, ())
