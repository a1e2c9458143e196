"""An example that stands alone: the others have a rule for which much more speaks, and which does not derive it.

The user stands for the examples, so a rule that derives all of them would be chosen, whatever else speaks against it:
one slip in the table or the number would move a term, and those beside it. If people slip once in fifty examples, the
odds that this one is a slip are

    (1/50) · prior of the rule that derives all others / prior of the choice

where the prior is all that speaks for a rule but its examples: names, length, keys, what other terms say. How the other
examples lie among the facts of the two may only speak against a slip: ninety of a kind among ten thousand rows are no
accident, but that a smaller table has the others, too, says nothing, for the example is what tells the two apart.
Where the odds are even or better, the other rule is chosen, as surely as they have it, and the example is told. What
the user answered in a review is no slip.

A slip makes other terms believe wrongly, and honest examples of theirs look odd. So the oddest is left aside first, and
what terms tell each other is worked out anew before the next is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, Ranking, likelihood_of, rank

_SLIPS = 1 / 50
_LEAST = 3  # examples: of two that speak for different rules, neither is the odd one
_CAPPED = 50.0  # nats
_MOST = 5  # slips that are left aside; who slips more often says so (`noise`)

Together = Callable[[Mapping[str, Measured]], dict[str, Measured]]
"""The pools with what the terms tell each other."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A positive by its place in the pool, the rule that all others speak for, and the odds that it is a slip."""

    positive: int
    rule: int
    odds: float

    @property
    def doubt(self) -> float:
        """The probability that it is a slip."""
        return self.odds / (1.0 + self.odds)


def slip_of(measured: Measured, ranking: Ranking) -> Slip | None:
    """The example that the choice rests on while all others speak for another rule; None if there is none."""
    pool = measured.pool
    if measured.noise or len(ranking.chosen) != 1 or len(pool.positives) < _LEAST or ranking.ranker is Ranker.COVERAGE:
        return None
    [chosen] = ranking.chosen
    rivals = np.flatnonzero(pool.covers.sum(axis=1) == len(pool.positives) - 1)
    if not pool.covers[chosen].all() or not len(rivals) or not pool.given.all():
        return None
    best = int(rivals[ranking.log_prior[rivals].argmax()])
    gain, positive = float(ranking.log_prior[best] - ranking.log_prior[chosen]), int(pool.covers[best].argmin())
    if _SLIPS * math.exp(min(_CAPPED, gain)) < 1.0:
        return None
    others = likelihood_of(replace(_without(measured, positive), reaches=measured.reaches))
    odds = _SLIPS * math.exp(min(_CAPPED, gain + min(0.0, float(others[best] - others[chosen]))))
    return Slip(positive, best, odds) if odds >= 1.0 else None


@dataclass(frozen=True, slots=True)
class WithoutSlips:
    """The pools without slips, with what terms tell each other, and the slips by term."""

    measured: Mapping[str, Measured]
    slips: Mapping[str, Slip]


def without_slips(
    exemplified: Mapping[str, Measured], ranker: Ranker, weights: PriorWeights, together: Together
) -> WithoutSlips:
    """Leave slips aside, the oddest first."""
    kept, slips = dict(exemplified), dict[str, Slip]()
    told = together(kept)
    while len(slips) < _MOST:
        found = {
            name: own
            for name, one in told.items()
            if name not in slips and (own := slip_of(one, rank(one, ranker, weights))) is not None
        }
        if not found:
            break
        oddest = max(found, key=lambda name: (found[name].odds, name))
        slips[oddest] = found[oddest]
        kept[oddest] = _without(kept[oddest], found[oddest].positive)
        told = together(kept)
    return WithoutSlips(told, slips)


def _without(measured: Measured, positive: int) -> Measured:
    """The pool without one of its positives; how far these reach is another matter then."""
    pool = measured.pool
    kept = [place for place in range(len(pool.positives)) if place != positive]
    pool = replace(
        pool,
        positives=tuple(pool.positives[place] for place in kept),
        covers=pool.covers[:, kept],
        spaces=tuple(one for place, one in enumerate(pool.spaces) if place != positive),
        asked=None if pool.asked is None else pool.asked[kept],
    )
    return replace(measured, pool=pool, reaches=None)
