"""Which columns tell what else stands in their rows, where no one column names a row.

A table that holds several things at once repeats them: each row of a paper and one of its reviewers has the paper's
title, which the paper's number alone tells. Who has a key of two columns of their own (a line of an order) does not.

What one column of a key tells, in many rows that repeat it and might say otherwise, is not said of the key as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.structure_rules import Shapes
from ruleminer.rules.body import Body
from ruleminer.rules.values import Place, Rule
from ruleminer.structure.profile import ColumnProfile

_EXACT = 1.0001  # values of a column for each of another, up to which that one tells it
_BY_CHANCE = 20.0  # rows that would say something else of a thing met before, if it did not tell them


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
        self._profile = profile
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

    def tells_surely(self, place: Place, column: str) -> bool:
        """Whether it does so beyond chance: rows that repeat it would not agree so often."""
        told, own = self._profile.column(place.table, column), self._profile.column(*place)
        if told is None or own is None or not self.tells(place, column):
            return False
        again = max(0, min(told.filled, own.filled) - own.distinct)
        return again * _differing(told) >= _BY_CHANCE

    def owns(self, place: Place) -> bool:
        """Whether there is something that it tells beyond chance."""
        return any(self.tells_surely(place, column) for column in self._told.get(place, ()))

    def kept(self, shapes: Shapes) -> Shapes:
        """The shapes but for those that say of several columns together what one of them tells."""
        objects, values = (
            tuple(body for body in bodies if not self._is_told(body.of("_")))
            for bodies in (shapes.objects, shapes.values)
        )
        return replace(shapes, objects=objects, values=values)

    def _is_told(self, rule: Rule) -> bool:
        subject, value = (rule.variables_of(argument) for argument in (rule.arguments[0], rule.arguments[-1]))
        if len(rule.arguments) == 1 or len(subject) == 1 or len(value) > 1:
            return False
        (said,) = rule.places_of(rule.arguments[1])
        return any(self.tells_surely(place, said.column) for one in subject for place in rule.places_of(one))


def _differing(column: ColumnProfile) -> float:
    """How probable it is that two of its values differ; where frequent ones are not known, all are as frequent."""
    if column.common:
        return 1.0 - sum((rows / column.filled) ** 2 for _, rows in column.common)
    return 1.0 - 1.0 / max(1, column.distinct)
