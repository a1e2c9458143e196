"""Confidence that can be believed: the posterior, calibrated on examples that ranking did not see.

For each predicate some examples are hidden, the rest are ranked, and the choice is tried on the hidden ones. A trial's
outcome is the share of hidden positives that the choice derives, and 0 if it derives a hidden negative. A two-parameter
curve (Platt's) then maps posteriors to outcomes. The same pools are used, so a trial costs no query. How reliable the
curve is, is told by curves that did not see the predicate they are tried on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from ruleminer.proposals.evidence import Floats
from ruleminer.proposals.pool import REFINED
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.proposal import Calibration, ReliabilityBin
from ruleminer.proposals.ranking import Measured, Ranker, rank, shared_posterior

_BOUNDS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
_SEEN = (1, 2, 5, 10, 20)
_FOLDS = 5
_ENOUGH, _LEAST = 5, 10  # as many trials must have seen so many examples: what holds of one example holds of no more
_TRUST = 4.0  # trials that the posterior as it is stands for


@dataclass(frozen=True, slots=True)
class Trial:
    """A posterior and how the choice fared on hidden examples, from 0 to 1."""

    predicate: str
    posterior: float
    outcome: float
    seen: int = _ENOUGH  # examples that were ranked by


def trials(
    pools: Iterable[Measured], ranker: Ranker, weights: PriorWeights, *, seed: int = 0, repeats: int = 2
) -> list[Trial]:
    """Rank with a part of the examples, try the choice on the rest."""
    generator = np.random.default_rng(seed)
    tried = []
    for measured in pools:
        extracted = [i for i, origin in enumerate(measured.pool.origin) if origin != REFINED]
        measured = measured.only(extracted)  # a refined rule has seen all examples
        pool = measured.pool
        positives, negatives = len(pool.positives), len(pool.negatives)
        for seen in (n for n in _SEEN if n <= positives // 2 or (n == 1 and positives > 1)):
            for _ in range(repeats):
                order = generator.permutation(positives)
                shown, hidden = order[:seen], order[seen:]
                kept = generator.random(negatives) < seen / positives
                if not pool.covers[:, shown].any():  # with these alone, nothing would be proposed
                    continue
                some = replace(
                    measured,
                    pool=replace(
                        pool,
                        positives=tuple(pool.positives[i] for i in shown),
                        covers=pool.covers[:, shown],
                        negatives=tuple(n for n, keep in zip(pool.negatives, kept, strict=True) if keep),
                        drawn=pool.drawn[kept],
                        hits=pool.hits[:, kept],
                    ),
                )
                ranking = rank(some, ranker, weights)
                best = ranking.chosen[0]
                posterior = shared_posterior(some, ranking)  # what is hidden tells no rules apart
                caught = bool(pool.hits[best][~kept & ~pool.drawn].any())
                outcome = 0.0 if caught else float(pool.covers[best][hidden].mean())
                tried.append(Trial(pool.predicate, posterior, outcome, seen))
    return tried


def calibrated(tried: Sequence[Trial]) -> Calibration | None:
    """The curve that fits the trials; None if too few of them saw more than an example or two.

    A choice by one example is right much less often than a choice by five: a curve fitted to the one would tell all
    users with few examples the same low number, whatever their examples say.
    """
    if sum(trial.seen >= _ENOUGH for trial in tried) < _LEAST:
        return None
    raw = np.array([trial.posterior for trial in tried])
    outcome = np.array([trial.outcome for trial in tried])
    x = _logit(raw)
    slope, shift = _curve(x, outcome)
    predicates = {name: i % _FOLDS for i, name in enumerate(sorted({trial.predicate for trial in tried}))}
    fold = np.array([predicates[trial.predicate] for trial in tried])
    fitted = np.empty(len(tried))
    for one in range(_FOLDS):
        own = fold == one
        if own.any():
            a, b = _curve(x[~own], outcome[~own])
            fitted[own] = expit(a * x[own] + b)
    before, after = _error(raw, outcome), _error(fitted, outcome)
    if after > before:  # what was learnt from some predicates misleads about others: the posterior as it is
        slope, shift, fitted, after = 1.0, 0.0, raw, before
    return Calibration(round(slope, 4), round(shift, 4), len(tried), before, after, tuple(_bins(fitted, outcome)))


def _curve(x: Floats, outcome: Floats) -> tuple[float, float]:
    """Slope and shift that fit the outcomes best, held back towards the posterior as it is."""

    def loss(parameters: Floats) -> float:
        p = np.clip(expit(parameters[0] * x + parameters[1]), 1e-9, 1 - 1e-9)
        fit = -(outcome * np.log(p) + (1 - outcome) * np.log(1 - p)).sum()
        return float(fit + _TRUST * ((parameters[0] - 1.0) ** 2 + parameters[1] ** 2))

    slope, shift = minimize(loss, np.array([1.0, 0.0]), method="L-BFGS-B", bounds=[(0.05, 5.0), (-5.0, 5.0)]).x
    return float(slope), float(shift)


def confidence(calibration: Calibration | None, posterior: float) -> float | None:
    """The calibrated confidence of a posterior."""
    if calibration is None:
        return None
    return float(expit(calibration.slope * _logit(np.array([posterior]))[0] + calibration.shift))


def _logit(posterior: Floats) -> Floats:
    return np.asarray(logit(np.clip(posterior, 1e-4, 1 - 1e-4)))


def _bins(confidence: Floats, outcome: Floats) -> Iterable[ReliabilityBin]:
    for low, high in pairwise(_BOUNDS):
        inside = (confidence >= low) & ((confidence < high) | (high == 1.0))
        if inside.any():
            mean, hit = float(confidence[inside].mean()), float(outcome[inside].mean())
            yield ReliabilityBin(low, high, int(inside.sum()), mean, hit)


def _error(confidence: Floats, outcome: Floats) -> float:
    """The expected calibration error: how far confidence and outcome are apart, bin by bin."""
    total = sum(bin.trials * abs(bin.confidence - bin.outcome) for bin in _bins(confidence, outcome))
    return float(total / len(confidence))
