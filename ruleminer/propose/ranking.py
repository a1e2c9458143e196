"""Which rule is meant: posterior = prior × likelihood, for single rules and for unions of rules.

Three rankers share the pool, the output and, but for `coverage`, the likelihood:

    coverage   positives derived less negatives hit; ties go to the shorter rule
    evidence   prior: description length, names, keys                        likelihood: the size principle with noise
    neural     prior: the same, and where names say little, a trained model  likelihood: the same
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ruleminer.propose.evidence import Floats, log_likelihood, log_spared, universe_size
from ruleminer.propose.pool import Pool
from ruleminer.propose.prior import Prior, PriorWeights

Ints = NDArray[np.int64]
UnionSize = Callable[[Sequence[int]], int | None]

# Nats for each rule of a union after the first, beside its own prior; and for each example that only it derives, the
# more its names fall behind those of the first: facts of another predicate, given by mistake, look like a part.
UNION_COST, STRANGER_COST = 2.0, 1.0
_LONGEST_UNION, _LEAST_GAIN = 4, 2
_STARTS, _PARTNERS = 3, 12
_HOPELESS = 20.0  # nats behind the best rule, from where no union is begun
LIFT = 1.0  # weight of what a model says, before there is an example and where no name fits at all
SILENT, MANY = 0.5, 10  # likeness of the best name, and number of examples, below which a model is heard
_LEAST_LIFT = -20.0  # nats behind the rule that the model likes best; below this it only says "no"


class Ranker(StrEnum):
    """What orders the rules of a predicate."""

    COVERAGE = "coverage"
    EVIDENCE = "evidence"
    NEURAL = "neural"


@dataclass(frozen=True)
class Judged:
    """A pool with all that ranking asks of it; arrays have a place per rule."""

    pool: Pool
    sizes: Floats  # facts each rule derives in the live database
    priors: tuple[Prior, ...]
    model: Floats | None  # log p of each rule by the trained model, if there is one
    rows: int  # of the whole database
    lift: Floats | None = None  # what of it is due to the predicate: log p less log p for others; all finite

    def only(self, keep: Sequence[int]) -> Judged:
        """The same with these rules only."""
        return replace(
            self,
            pool=self.pool.only(keep),
            sizes=self.sizes[list(keep)],
            priors=tuple(self.priors[i] for i in keep),
            model=None if self.model is None else self.model[list(keep)],
            lift=None if self.lift is None else self.lift[list(keep)],
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
    judged: Judged,
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
    covers = judged.pool.covers
    if ranker is Ranker.COVERAGE:
        return _by_coverage(judged, covers)
    prior = log_prior(judged, ranker, weights, covers.shape[1])
    likelihood = _likelihood(judged, covers)
    likelihood[~covers.any(axis=1)] -= 0.0 if covers.shape[1] == 0 else math.inf
    scores = prior + likelihood
    order = np.array(sorted(range(len(scores)), key=lambda i: (-scores[i], _ties(judged, i))), np.int64)
    chosen: tuple[int, ...] = (int(order[0]),)
    score = float(scores[order[0]])
    hypotheses = [float(one) for one in scores]
    if union_size is not None:
        free = np.ones(len(scores), bool) if claimed is None else ~claimed
        unions = _unions(judged, covers, prior, scores, order, union_size, free)
        hypotheses += unions.values()
        best = max(unions, key=lambda rules: unions[rules], default=None)
        if best is not None and unions[best] > score:
            chosen, score = best, unions[best]
    total = float(logsumexp(hypotheses))
    posterior = np.exp(scores - total)
    return Ranking(ranker, order, posterior, prior, likelihood, chosen, math.exp(score - total))


def log_prior(judged: Judged, ranker: Ranker, weights: PriorWeights, examples: int) -> Floats:
    """Each rule's log prior, up to a constant.

    A model is heard where no name of the pool fits well, and the less the more examples there are.
    """
    total = np.array([prior.total(weights, examples) for prior in judged.priors])
    if ranker is not Ranker.NEURAL or judged.lift is None:
        return total
    lift = np.maximum(judged.lift - judged.lift.max(), _LEAST_LIFT)
    return np.asarray(total + voice(judged, examples) * lift)


def voice(judged: Judged, examples: int) -> float:
    """What a model's word weighs: nothing where a name fits by half, or where there are many examples."""
    if examples >= MANY:
        return 0.0
    return LIFT * max(0.0, 1.0 - max(prior.names for prior in judged.priors) / SILENT) / (1.0 + examples)


def _likelihood(judged: Judged, covers: NDArray[np.bool_]) -> Floats:
    pool, positives = judged.pool, covers.shape[1]
    universe = universe_size(judged.sizes, positives, judged.rows)
    likelihood = log_likelihood(covers.sum(axis=1).astype(float), positives, judged.sizes, universe)
    given = ~pool.drawn  # one that extraction drew may well hold: where examples are few, they say nothing
    return likelihood + log_spared(pool.hits[:, given].sum(axis=1).astype(float), int(given.sum()))


def _unions(
    judged: Judged,
    covers: NDArray[np.bool_],
    prior: Floats,
    scores: Floats,
    order: Ints,
    union_size: UnionSize,
    free: NDArray[np.bool_],
) -> dict[tuple[int, ...], float]:
    """Unions grown from the best rules, one rule at a time, as long as the posterior rises; with their scores.

    The rules of a union stand in the order of their rank: its score does not depend on how it was found.
    """
    found: dict[tuple[int, ...], float] = {}
    place = np.argsort(order)
    for start in (i for i in order[:_STARTS] if free[i] or i == order[0]):
        if scores[start] < scores[order[0]] - _HOPELESS:
            break
        union: tuple[int, ...] = (int(start),)
        score = float(scores[start])
        while len(union) < _LONGEST_UNION:
            left = ~covers[list(union)].any(axis=0)
            gains = covers[:, left].sum(axis=1)
            promise = prior + 3.0 * gains
            partners = [int(i) for i in np.lexsort((place, -promise)) if gains[i] >= _LEAST_GAIN and free[i]]
            better: tuple[float, tuple[int, ...]] | None = None
            for partner in partners[:_PARTNERS]:
                rules = tuple(sorted((*union, partner), key=lambda i: int(place[i])))
                if not _each_needed(covers, rules):
                    continue
                value = found.get(rules) or _union_score(judged, covers, prior, rules, union_size)
                if value is not None:
                    found[rules] = value
                    if value > score and (better is None or value > better[0]):
                        better = value, rules
            if better is None:
                break
            score, union = better
    return found


def _each_needed(covers: NDArray[np.bool_], rules: tuple[int, ...]) -> bool:
    """Whether each rule derives several examples that the others do not."""
    once = covers[list(rules)].sum(axis=0) == 1
    return bool(((covers[list(rules)] & once).sum(axis=1) >= _LEAST_GAIN).all())


def _union_score(
    judged: Judged, covers: NDArray[np.bool_], prior: Floats, rules: tuple[int, ...], union_size: UnionSize
) -> float | None:
    size = union_size(rules)
    if size is None:
        return None
    pool, positives = judged.pool, covers.shape[1]
    universe = universe_size(judged.sizes, positives, judged.rows)
    covered = np.array([covers[list(rules)].any(axis=0).sum()], float)
    value = log_likelihood(covered, positives, np.array([float(size)]), universe)
    given = ~pool.drawn
    value += log_spared(np.array([pool.hits[list(rules)][:, given].any(axis=0).sum()], float), int(given.sum()))
    score = float(value[0]) + float(prior[rules[0]])
    whole = float(logsumexp(prior))  # a prior is known up to a constant: a further rule must not gain by it
    derived = covers[rules[0]].copy()
    for rule in rules[1:]:
        gap = max(0.0, judged.priors[rules[0]].names - judged.priors[rule].names)
        score += float(prior[rule]) - whole
        score -= UNION_COST + STRANGER_COST * gap * float((covers[rule] & ~derived).sum())
        derived |= covers[rule]
    return score


def _by_coverage(judged: Judged, covers: NDArray[np.bool_]) -> Ranking:
    net = covers.sum(axis=1).astype(float) - judged.pool.hits.sum(axis=1)
    order = np.array(sorted(range(len(net)), key=lambda i: (-net[i], _ties(judged, i))), np.int64)
    share = covers.mean(axis=1) if covers.shape[1] else np.zeros(len(net))
    nothing = np.zeros(len(net))
    best = int(order[0])
    return Ranking(Ranker.COVERAGE, order, share, nothing, net, (best,), float(share[best]))


def _ties(judged: Judged, i: int) -> tuple[int, str]:
    body = judged.pool.bodies[i]
    return len(body), body
