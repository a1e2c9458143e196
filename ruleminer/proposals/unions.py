"""Unions of rules: a term whose facts lie in several tables, each rule of it paid for by the examples that it explains.

A union is grown from one of the best rules, by the rule that gains most, as long as the posterior rises. Each rule must
derive some examples that no other does. People give one or two examples of each part, so one will do where the rule is
*whole*: all rows of a table under its own key, or one whole column of them. Where examples may be wrong, it takes two;
where they are not, no rule joins others that derives a counter-example of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ruleminer.proposals.evidence import Floats, drawn, log_miss, log_spared, universe_size

if TYPE_CHECKING:
    from ruleminer.proposals.pool import Pool
    from ruleminer.proposals.ranking import Measured

Bools = NDArray[np.bool_]
UnionSize = Callable[[Sequence[int]], int | None]
Union = tuple[int, ...]
"""Rules by their place in the pool, in the order of their rank."""

# Nats for each rule of a union after the first, beside its own prior; and for each example that only it derives, the
# more its names fall behind those of the first: facts of another predicate, given by mistake, look like a part.
UNION_COST, STRANGER_COST = 2.0, 1.0
LONGEST = 64
_LEAST_GAIN = 2
_STARTS, _PARTNERS = 3, 12
_PROMISE = 3.0  # nats that an example more is worth, when partners are looked for
_HOPELESS = 20.0  # nats behind the best rule, from where no union is begun


def unions_of(
    measured: Measured,
    prior: Floats,
    scores: Floats,
    order: Sequence[int],
    union_size: UnionSize,
    free: Bools,
) -> dict[Union, float]:
    """The unions that were looked at, with their scores; a score does not depend on how a union was found."""
    if not measured.noise:  # nothing that derives a counter-example joins others, whatever else it derives
        free = free & ~measured.pool.hits[:, ~measured.pool.drawn].any(axis=1)
    search = _Search(measured, prior, np.argsort(order), union_size, free)
    for start in _starts(measured, prior, scores, order):
        if free[start] or start == order[0]:
            search.grow((start,), float(scores[start]))
            search.cover((start,))
    return search.scores


class _Search:
    """Grows unions of one pool, and keeps the scores of all that it looked at."""

    def __init__(
        self, measured: Measured, prior: Floats, place: NDArray[np.int64], union_size: UnionSize, free: Bools
    ) -> None:
        self.measured, self.prior, self.place, self.union_size, self.free = measured, prior, place, union_size, free
        self.covers = measured.pool.covers
        self.needed = np.array([_least_gain(measured, i) for i in range(len(prior))])
        self.scores: dict[Union, float] = {}

    def grow(self, union: Union, score: float) -> None:
        """Take in, one by one, the rule by which the posterior rises most."""
        while len(union) < LONGEST:
            better: tuple[float, Union] | None = None
            for partner in self.partners(union)[:_PARTNERS]:
                wider = self.joined(union, partner)
                value = self.score(wider)
                if value is not None and value > score and (better is None or value > better[0]):
                    better = value, wider
            if better is None:
                return
            score, union = better

    def cover(self, union: Union) -> None:
        """Take in the most likely of the whole rules for the examples that are left, until none is.

        A rule that happens to derive all that is left gains most at once, and would hide the parts that are meant.
        """
        whole = np.array([prior.whole for prior in self.measured.priors])
        while len(union) < LONGEST:
            left = ~self.covers[list(union)].any(axis=0)
            gains = self.covers[:, left].sum(axis=1)
            parts = np.flatnonzero(whole & self.free & (gains >= self.needed))
            if not len(parts):
                break
            union = self.joined(union, int(min(parts, key=lambda i: (-self.prior[i], self.place[i]))))
        if len(union) > 1:
            self.score(union)

    def partners(self, union: Union) -> list[int]:
        """The rules that derive enough of what the union does not, the most promising first."""
        left = ~self.covers[list(union)].any(axis=0)
        gains = self.covers[:, left].sum(axis=1)
        order = np.lexsort((self.place, -(self.prior + _PROMISE * gains)))
        return [int(i) for i in order if gains[i] >= self.needed[i] and self.free[i]]

    def joined(self, union: Union, partner: int) -> Union:
        return tuple(sorted((*union, partner), key=lambda i: int(self.place[i])))

    def score(self, union: Union) -> float | None:
        """The score of a union; None if some rule is not needed in it, or its size cannot be asked."""
        if union not in self.scores:
            rules = list(union)
            if not _each_needed(self.covers[rules], self.needed[rules]):
                return None
            value = _score(self.measured, self.prior, union, self.union_size)
            if value is None:
                return None
            self.scores[union] = value
        return self.scores[union]


def _starts(measured: Measured, prior: Floats, scores: Floats, order: Sequence[int]) -> list[int]:
    """The rules that unions are grown from: the best, and where each example counts, the best to begin with.

    There a rule that misses one is far behind, and yet a part of the best union may be.
    """
    first = [i for i in order[:_STARTS] if scores[i] >= scores[order[0]] - _HOPELESS]
    if measured.noise:
        return first
    promise = prior + _PROMISE * measured.pool.covers.sum(axis=1)
    promising = sorted(order, key=lambda i: -promise[i])[:_STARTS]
    return list(dict.fromkeys((*first, *promising)))


def _least_gain(measured: Measured, rule: int) -> int:
    """How many examples a rule must derive that no other of its union does."""
    return 1 if measured.priors[rule].whole and not measured.noise else _LEAST_GAIN


def _each_needed(covers: Bools, needed: NDArray[np.int64]) -> bool:
    """Whether each rule derives enough examples that the others do not."""
    once = covers.sum(axis=0) == 1
    return bool(((covers & once).sum(axis=1) >= needed).all())


def answered(pool: Pool, covers: Bools) -> Floats:
    """The log probability of the answers that a fact holds: we chose the facts, so no extension's size bears on it."""
    if pool.asked is None:
        return np.zeros(len(covers))
    asked = covers[:, pool.asked]
    return log_spared((~asked).sum(axis=1).astype(float), asked.shape[1])


def _drawn_part_by_part(measured: Measured, rules: Union, universe: float) -> float:
    """The log probability of the positives if people drew some of each part, as they do, and not from all together.

    Else a part of many facts and few examples would be narrowed for the sake of all other examples.
    """
    covers = measured.pool.covers[list(rules)][:, measured.pool.given]
    derived = covers.any(axis=0)
    told = float((~derived).sum()) * log_miss(universe)
    ways = []
    for sizes in (measured.sizes, measured.reaches):
        if sizes is not None:
            least = np.where(covers, sizes[list(rules)][:, None], np.inf).min(axis=0)[derived]
            ways.append(told - float(np.log(len(rules) * np.maximum(least, 1.0)).sum()))
    return float(logsumexp(ways) - np.log(len(ways)))


def _score(measured: Measured, prior: Floats, rules: Union, union_size: UnionSize) -> float | None:
    size = union_size(rules)
    if size is None:
        return None
    pool, covers = measured.pool, measured.pool.covers
    together = np.asarray(covers[list(rules)].any(axis=0))
    positives = int(pool.given.sum())
    universe = universe_size(measured.sizes, positives, measured.rows)
    covered = np.array([together[pool.given].sum()], np.float64)
    reach = None if measured.reaches is None else np.array([min(float(size), measured.reaches[list(rules)].sum())])
    value = drawn(covered, positives, np.array([float(size)]), reach, universe, noise=measured.noise)
    if not measured.noise:
        value = np.logaddexp(value, _drawn_part_by_part(measured, rules, universe)) - np.log(2)
    value += answered(pool, together[None, :])
    given = ~pool.drawn
    hits = np.array([pool.hits[list(rules)][:, given].any(axis=0).sum()], float)
    value += log_spared(hits, int(given.sum()), noise=measured.noise)
    score = float(value[0]) + float(prior[rules[0]])
    whole = float(logsumexp(prior))  # a prior is known up to a constant: a further rule must not gain by it
    derived = covers[rules[0]].copy()
    for rule in rules[1:]:
        gap = max(0.0, measured.priors[rules[0]].names - measured.priors[rule].names)
        score += float(prior[rule]) - whole
        score -= UNION_COST + STRANGER_COST * gap * float((covers[rule] & ~derived).sum())
        derived |= covers[rule]
    return score
