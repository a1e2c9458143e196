"""How probable the examples are if a rule is the one that is meant.

A positive example drawn from a rule's extension of size N has probability (1 − ε)/N; one that the rule does not derive
is noise, ε/U, spread over the U facts that a database of this size could state: the size principle. The noise rate is
not known, so it is summed out over a grid up to one half (a rule that most examples contradict is not the one meant):

    L = Σ_ε π(ε) · ((1 − ε)/N)^c · (ε/U)^m          c positives derived, m missed

Where the user stands for the examples, ε is next to nothing: a rule that derives all of them comes before one that does
not, however small the other's extension. A negative example is derived by the meant rule only by mistake, with a rate
that is summed out in the same way, or next to nothing in the same case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Rates of noise and how far we expect each: clean examples mostly, a tenth wrong at times, a third now and then.
_RATES = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
_EXPECTED = np.array([0.25, 0.2, 0.14, 0.11, 0.09, 0.07, 0.06, 0.045, 0.025, 0.01])
# A miss outweighs ten examples drawn from a million facts: of few examples, each counts whatever sizes say; where there
# are hundreds, one that nothing sensible derives is still a mistake.
_CLEAN_RATES, _CLEAN_EXPECTED = np.array([1e-60]), np.array([1.0])
# Where examples may be wrong, a negative that the user gave hardly ever is.
_NEGATIVE_RATES = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.4])
_NEGATIVE_EXPECTED = np.array([0.6, 0.25, 0.1, 0.04, 0.009, 0.001])


EVIDENCE_FEATURES = ("examples", "number of examples", "share derived", "likelihood")
"""What the decision network hears of a term's examples, of each of its rules."""

_WORST, _NONE = -30.0, -6.0  # the likelihoods, in nats, of what derives no example, and of no rule at all in fives


def evidence_features(
    examples: int, derived: NDArray[np.floating[Any]], likelihood: NDArray[np.floating[Any]]
) -> Floats:
    """What examples say of each rule: the share that it derives, how probable it makes them (the best one: 0).

    No rule at all comes first: (1 + rules, features).
    """
    found = np.zeros((1 + len(derived), len(EVIDENCE_FEATURES)))
    found[:, 0], found[:, 1] = 1.0, np.log1p(examples) / 4.0
    found[1:, 2], found[1:, 3] = derived, np.maximum(likelihood, _WORST) / 5.0
    found[0, 3] = _NONE
    return found


def log_likelihood(covered: Floats, positives: int, sizes: Floats, universe: float, *, noise: bool = True) -> Floats:
    """Of each rule: the log probability of the positives, `covered` of which it derives."""
    rates, expected = (_RATES, _EXPECTED) if noise else (_CLEAN_RATES, _CLEAN_EXPECTED)
    missed = positives - covered
    right = np.log1p(-rates)[:, None] - np.log(np.maximum(sizes, 1.0))
    wrong = (np.log(rates) - np.log(max(universe, 1.0)))[:, None]
    return _log_sum(np.log(expected)[:, None] + covered * right + missed * wrong)


def log_miss(universe: float) -> float:
    """What a positive costs that is not derived, where positives are right."""
    return float(np.log(_CLEAN_RATES[0]) - np.log(max(universe, 1.0)))


def drawn(
    covered: Floats, positives: int, sizes: Floats, reaches: Floats | None, universe: float, *, noise: bool = True
) -> Floats:
    """The log probability of the positives, drawn from the whole of an extension or, as likely, from its beginning."""
    whole = log_likelihood(covered, positives, sizes, universe, noise=noise)
    if reaches is None:
        return whole
    first = log_likelihood(covered, positives, reaches, universe, noise=noise)
    return np.asarray(np.logaddexp(whole, first) - np.log(2))


def log_spared(hits: Floats, negatives: int, *, noise: bool = True) -> Floats:
    """Of each rule: the log probability that it derives just `hits` of so many negatives.

    Where the user stands for them, a hit costs what a positive does that is missed.
    """
    kept = negatives - hits
    if not noise:
        return np.asarray(hits * np.log(_CLEAN_RATES[0]))
    rates, expected = _NEGATIVE_RATES[:, None], np.log(_NEGATIVE_EXPECTED)[:, None]
    return _log_sum(expected + hits * np.log(rates) + kept * np.log1p(-rates))


def _log_sum(terms: Floats) -> Floats:
    """log Σ exp over the first axis, all finite: asked thousands of times for small arrays, where scipy's is slow."""
    most = terms.max(axis=0)
    return np.asarray(most + np.log(np.exp(terms - most).sum(axis=0)))


def universe_size(sizes: Floats, positives: int, rows: int) -> float:
    """How many facts a wrong example may be one of: as many as the database has rows or the loosest rule derives.

    Were it the loosest rule alone, an example could be called noise at nearly no cost where all rules derive much.
    """
    return float(max(np.max(sizes, initial=1.0), positives, rows, 2.0))
