"""An example that stands alone: without it, the others speak for a rule that does not derive it, and speak for it more.

The user stands for the examples, so a rule that derives all of them would be chosen, whatever else speaks against it:
one slip in the table or the number would move a term, and those beside it. So it is asked what the others say alone. If
people slip once in fifty examples, the odds that this one is a slip are

    (1/50) · posterior of the other rule / posterior of the choice          both of the examples without it

Where they are even or better, the other rule is chosen, as surely as the odds have it, and the example is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ruleminer.proposals.pool import Pool
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, Ranking, rank

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
    def trust(self) -> float:
        """The probability that it is none."""
        return 1.0 / (1.0 + self.odds)


def odd_example(measured: Measured, ranking: Ranking, weights: PriorWeights) -> OddExample | None:
    """The example that the choice rests on while all others speak for another rule; None if there is none."""
    pool = measured.pool
    if measured.noise or len(ranking.chosen) != 1 or len(pool.positives) < _LEAST or ranking.ranker is Ranker.COVERAGE:
        return None
    [chosen] = ranking.chosen
    if not pool.covers[chosen].all():
        return None
    missing_one = np.flatnonzero(pool.covers.sum(axis=1) == len(pool.positives) - 1)
    places = pool.covers[missing_one].argmin(axis=1)
    found: OddExample | None = None
    for positive in np.unique(places).tolist():
        rivals = missing_one[places == positive]
        others = rank(replace(measured, pool=_without(pool, positive)), ranking.ranker, weights)
        scores = others.log_prior + others.log_likelihood
        best = int(rivals[scores[rivals].argmax()])
        odds = _SLIPS * math.exp(min(_CAPPED, float(scores[best] - scores[chosen])))
        if odds >= 1.0 and (found is None or odds > found.odds):
            found = OddExample(positive, best, odds)
    return found


def _without(pool: Pool, positive: int) -> Pool:
    """The pool without one of its positives."""
    kept = [place for place in range(len(pool.positives)) if place != positive]
    spaces = tuple(one for place, one in enumerate(pool.spaces) if place != positive)
    return replace(
        pool,
        positives=tuple(pool.positives[place] for place in kept),
        covers=pool.covers[:, kept],
        spaces=spaces,
        asked=None if pool.asked is None else pool.asked[kept],
    )
