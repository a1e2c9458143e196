"""Which rule is meant: posterior = prior × likelihood, for single rules and for unions of rules.

The rankers share the pool, the output and, but for `coverage`, the likelihood:

    coverage   positives derived less negatives hit; ties go to the shorter rule
    evidence   prior: description length, names, keys                        likelihood: the size principle with noise
    neural     prior: the same, and where names say little, a trained model  likelihood: the same
    joint      evidence for terms with examples; the decision network, over all terms together, for the others
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ruleminer.proposals.evidence import Floats, drawn, log_spared, universe_size
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.prior import Prior, PriorWeights
from ruleminer.proposals.unions import UnionSize, answered, unions_of

Ints = NDArray[np.int64]

PAID = 3  # examples that a rule must derive to pay for a condition that no name calls for …
UNPAID = 8.0  # … or else it costs so many nats
LIFT = 1.0  # weight of what a model says, before there is an example and where no name fits at all
SILENT, MANY = 0.5, 10  # likeness of the best name, and number of examples, below which a model is heard
_LEAST_LIFT = -20.0  # nats behind the rule that the model likes best; below this it only says "no"


class Ranker(StrEnum):
    """What orders the rules of a predicate."""

    COVERAGE = "coverage"
    EVIDENCE = "evidence"
    NEURAL = "neural"
    JOINT = "joint"


@dataclass(frozen=True)
class Measured:
    """A pool with all that ranking asks of it; arrays have a place per rule."""

    pool: Pool
    sizes: Floats  # facts each rule derives in the live database
    priors: tuple[Prior, ...]
    model: Floats | None  # log p of each rule by the trained model, if there is one
    rows: int  # of the whole database
    lift: Floats | None = None  # what of it is due to the predicate: log p less log p for others; all finite
    reaches: Floats | None = None  # facts each rule derives up to the greatest keys of its examples: see `reach.py`
    coherence: Floats | None = None  # what other terms say of each rule, in nats: see `coherence.py`
    noise: bool = (
        False  # whether positives may be wrong; if not, a rule that derives all comes before one that does not
    )

    contested: bool = False  # whether a class gets all rows of another, though its examples speak for fewer

    def only(self, keep: Sequence[int]) -> Measured:
        """The same with these rules only."""
        return replace(
            self,
            pool=self.pool.only(keep),
            sizes=self.sizes[list(keep)],
            priors=tuple(self.priors[i] for i in keep),
            model=None if self.model is None else self.model[list(keep)],
            lift=None if self.lift is None else self.lift[list(keep)],
            reaches=None if self.reaches is None else self.reaches[list(keep)],
            coherence=None if self.coherence is None else self.coherence[list(keep)],
        )


@dataclass(frozen=True)
class Ranking:
    """The rules of a pool in order, best first, and what led to it; arrays have a place per rule of the pool."""

    ranker: Ranker
    order: Ints
    posterior: Floats  # share among all hypotheses
    log_prior: Floats
    log_likelihood: Floats
    chosen: tuple[int, ...]  # the proposal: one rule, or the rules of a union
    chosen_posterior: float


def rank(
    measured: Measured,
    ranker: Ranker,
    weights: PriorWeights | None = None,
    *,
    union_size: UnionSize | None = None,
    claimed: NDArray[np.bool_] | None = None,
) -> Ranking:
    """Rank the rules by the positives; unions compete if their size can be asked.

    Where there are positives, at least one rule must derive one of them. A rule that is `claimed` by another predicate
    joins no union.
    """
    weights = weights or PriorWeights()
    covers = measured.pool.covers
    if ranker is Ranker.COVERAGE:
        return _by_coverage(measured, covers)
    given_covers = covers[:, measured.pool.given]
    prior = log_prior(measured, ranker, weights, given_covers.shape[1])
    likelihood = likelihood_of(measured)
    likelihood[~given_covers.any(axis=1)] -= 0.0 if given_covers.shape[1] == 0 else math.inf
    scores = prior + likelihood
    order = np.array(sorted(range(len(scores)), key=lambda i: (-scores[i], _ties(measured, i))), np.int64)
    chosen: tuple[int, ...] = (int(order[0]),)
    score = float(scores[order[0]])
    hypotheses = [float(one) for one in scores]
    if union_size is not None:
        free = np.ones(len(scores), bool) if claimed is None else ~claimed
        unions = unions_of(measured, prior, scores, order.tolist(), union_size, free)
        hypotheses += unions.values()
        best = max(unions, key=lambda rules: unions[rules], default=None)
        if best is not None and unions[best] > score:
            chosen, score = best, unions[best]
    total = float(logsumexp(hypotheses))
    posterior = np.exp(scores - total)
    return Ranking(ranker, order, posterior, prior, likelihood, chosen, math.exp(score - total))


def log_prior(measured: Measured, ranker: Ranker, weights: PriorWeights, examples: int) -> Floats:
    """Each rule's log prior, up to a constant.

    A model is heard where no name of the pool fits well, and the less the more examples there are.
    """
    total = np.array([prior.total(weights, examples) for prior in measured.priors])
    if measured.coherence is not None:
        total = total + measured.coherence
    if measured.pool.given.any():
        conditions = np.array([prior.conditions for prior in measured.priors], float)
        total = total - UNPAID * conditions * (measured.pool.covers.sum(axis=1) < PAID)
    if ranker is not Ranker.NEURAL or measured.lift is None:
        return total
    lift = np.maximum(measured.lift - measured.lift.max(), _LEAST_LIFT)
    return np.asarray(total + voice(measured, examples) * lift)


def voice(measured: Measured, examples: int) -> float:
    """What a model's word weighs: nothing where a name fits by half, or where there are many examples."""
    if examples >= MANY:
        return 0.0
    return LIFT * max(0.0, 1.0 - max(prior.names for prior in measured.priors) / SILENT) / (1.0 + examples)


def model_is_heard(measured: Measured, ranker: Ranker) -> bool:
    """Whether a model has a say in the ranking."""
    return ranker is Ranker.NEURAL and measured.lift is not None and voice(measured, len(measured.pool.positives)) > 0.0


def shared_posterior(measured: Measured, ranking: Ranking) -> float:
    """The posterior of the choice; if it is one rule, together with those that nothing tells from it.

    What coverage has in place of a posterior is the share of positives derived, and does not add up.
    """
    if ranking.ranker is Ranker.COVERAGE or len(ranking.chosen) > 1:
        return ranking.chosen_posterior
    return min(1.0, float(ranking.posterior[_alike(measured, ranking.chosen[0])].sum()))


def _alike(measured: Measured, best: int) -> Floats:
    """The rules that nothing we know tells from the best one: they derive as much, and the same examples."""
    pool = measured.pool
    same = (measured.sizes == measured.sizes[best]) & (pool.covers == pool.covers[best]).all(axis=1)
    return np.asarray(same & (pool.hits == pool.hits[best]).all(axis=1))


def likelihood_of(measured: Measured) -> Floats:
    """Each rule's log-likelihood of the examples."""
    pool = measured.pool
    covers = pool.covers[:, pool.given]
    positives = covers.shape[1]
    universe = universe_size(measured.sizes, positives, measured.rows)
    covered = covers.sum(axis=1).astype(float)
    likelihood = drawn(covered, positives, measured.sizes, measured.reaches, universe, noise=measured.noise)
    given = ~pool.drawn  # one that extraction drew may well hold: where examples are few, they say nothing
    likelihood = likelihood + answered(pool, pool.covers)
    return likelihood + log_spared(
        pool.hits[:, given].sum(axis=1).astype(float), int(given.sum()), noise=measured.noise
    )


def _by_coverage(measured: Measured, covers: NDArray[np.bool_]) -> Ranking:
    net = covers.sum(axis=1).astype(float) - measured.pool.hits.sum(axis=1)
    order = np.array(sorted(range(len(net)), key=lambda i: (-net[i], _ties(measured, i))), np.int64)
    share = covers.mean(axis=1) if covers.shape[1] else np.zeros(len(net))
    nothing = np.zeros(len(net))
    best = int(order[0])
    return Ranking(Ranker.COVERAGE, order, share, nothing, net, (best,), float(share[best]))


def _ties(measured: Measured, i: int) -> tuple[int, str]:
    return measured.pool.bodies[i].order
