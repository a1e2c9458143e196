"""The likelihood is what its formula says, to many digits, and obeys the size principle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from ruleminer.proposals import evidence
from ruleminer.proposals.evidence import log_likelihood, log_spared, universe_size


def slow_likelihood(covered: int, positives: int, size: int, universe: float) -> float:
    """Σ_ε π(ε) · Π over the positives, one at a time, with fifty digits."""
    with mp.workdps(50):
        total = mpf(0)
        for rate, expected in zip(evidence._RATES, evidence._EXPECTED, strict=True):
            product = mpf(float(expected))
            for number in range(positives):
                product *= (1 - mpf(float(rate))) / size if number < covered else mpf(float(rate)) / mpf(universe)
            total += product
        return float(mp.log(total))


def slow_spared(hits: int, negatives: int, expected: np.ndarray) -> float:
    with mp.workdps(50):
        total = mpf(0)
        for rate, share in zip(evidence._NEGATIVE_RATES, expected, strict=True):
            product = mpf(float(share))
            for number in range(negatives):
                product *= mpf(float(rate)) if number < hits else 1 - mpf(float(rate))
            total += product
        return float(mp.log(total))


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 10**7), st.integers(2, 10**8))
def test_the_likelihood_is_its_formula(covered: int, missed: int, size: int, universe: int) -> None:
    positives = covered + missed
    (ours,) = log_likelihood(np.array([float(covered)]), positives, np.array([float(size)]), float(universe))
    assert ours == pytest.approx(slow_likelihood(covered, positives, size, universe), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_price_of_negatives_is_its_formula(hits: int, kept: int) -> None:
    (ours,) = log_spared(np.array([float(hits)]), hits + kept)
    wanted = slow_spared(hits, hits + kept, evidence._NEGATIVE_EXPECTED)
    assert ours == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_the_expected_rates_are_probabilities() -> None:
    for shares in (evidence._EXPECTED, evidence._NEGATIVE_EXPECTED):
        assert shares.sum() == pytest.approx(1.0)
        assert (shares > 0).all()
    for rates in (evidence._RATES, evidence._NEGATIVE_RATES):
        assert ((rates > 0) & (rates <= 0.5)).all()


def test_nothing_seen_is_no_evidence() -> None:
    assert log_likelihood(np.zeros(3), 0, np.array([1.0, 10.0, 1e6]), 1e6) == pytest.approx(0.0)
    assert log_spared(np.zeros(3), 0) == pytest.approx(0.0)


def test_many_rules_at_once_are_each_alone() -> None:
    covered, sizes = np.array([3.0, 0.0, 5.0, 2.0]), np.array([4.0, 9.0, 1000.0, 2.0])
    together = log_likelihood(covered, 5, sizes, 5000.0)
    alone = [log_likelihood(covered[i : i + 1], 5, sizes[i : i + 1], 5000.0)[0] for i in range(4)]
    assert together == pytest.approx(alone)


def test_the_smaller_extension_gains_with_every_example() -> None:
    gaps = []
    for examples in range(1, 12):
        covered = np.full(2, float(examples))
        small, large = log_likelihood(covered, examples, np.array([50.0, 100.0]), 10_000.0)
        gaps.append(small - large)
    assert gaps == pytest.approx([examples * np.log(2) for examples in range(1, 12)])


def test_each_missed_example_costs_and_each_negative_hit_costs() -> None:
    missed = log_likelihood(np.arange(10, -1, -1.0), 10, np.full(11, 100.0), 10_000.0)
    assert (np.diff(missed) < 0).all()
    hits = log_spared(np.arange(0.0, 11), 10)
    assert (np.diff(hits) < 0).all()


def test_the_universe_is_never_smaller_than_what_a_rule_derives() -> None:
    assert universe_size(np.array([3.0, 70.0]), 5, 20) == 70.0
    assert universe_size(np.array([3.0]), 5, 20) == 20.0
    assert universe_size(np.array([]), 0, 0) == 2.0
