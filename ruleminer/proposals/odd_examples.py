"""An example that stands alone: the others have a rule for which much more speaks, and which does not derive it.

The user stands for the examples, so a rule that derives all of them would be chosen, whatever else speaks against it:
one slip in the table or the number would move a term, and those beside it. If people slip once in fifty examples, the
odds that this one is a slip are

    (1/50) · prior of the rule that derives all others / prior of the choice

where the prior is all that speaks for a rule but its examples: names, length, keys, what other terms say. How many
facts the two derive, and how far the examples reach into them, says nothing here: the example is what tells them apart.
Where the odds are even or better, the other rule is chosen, as surely as they have it, and the example is told. What
the user answered in a review is no slip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ruleminer.proposals.ranking import Measured, Ranker, Ranking

_SLIPS = 1 / 50
_LEAST = 3  # examples: of two that speak for different rules, neither is the odd one
_CAPPED = 50.0  # nats


@dataclass(frozen=True, slots=True)
class OddExample:
    """A positive by its place in the pool, the rule that all others speak for, and the odds that it is a slip."""

    positive: int
    rule: int
    odds: float

    @property
    def doubt(self) -> float:
        """The probability that it is a slip."""
        return self.odds / (1.0 + self.odds)


def odd_example(measured: Measured, ranking: Ranking) -> OddExample | None:
    """The example that the choice rests on while all others speak for another rule; None if there is none."""
    pool = measured.pool
    if measured.noise or len(ranking.chosen) != 1 or len(pool.positives) < _LEAST or ranking.ranker is Ranker.COVERAGE:
        return None
    [chosen] = ranking.chosen
    rivals = np.flatnonzero(pool.covers.sum(axis=1) == len(pool.positives) - 1)
    if not pool.covers[chosen].all() or not len(rivals) or not pool.given.all():
        return None
    best = int(rivals[ranking.log_prior[rivals].argmax()])
    odds = _SLIPS * math.exp(min(_CAPPED, float(ranking.log_prior[best] - ranking.log_prior[chosen])))
    return OddExample(int(pool.covers[best].argmin()), best, odds) if odds >= 1.0 else None
