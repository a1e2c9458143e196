"""Confidence that can be believed: what is calibrated stays, what is overconfident is corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ruleminer.proposals.calibration import Trial, calibrated, confidence, trials
from ruleminer.proposals.pool import EXTRACTED, REFINED
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Ranker
from tests.proposals.worlds import made, measured

WEIGHTS = PriorWeights()


def outcomes(posterior: float, right: float, count: int) -> list[Trial]:
    """So many trials with this posterior, a share of them right."""
    good = round(right * count)
    return [Trial(f"P{i % 7}", posterior, float(i < good)) for i in range(count)]


def test_posteriors_that_are_right_as_often_as_they_say_stay() -> None:
    found = calibrated([t for p in (0.1, 0.3, 0.5, 0.7, 0.9) for t in outcomes(p, p, 100)])
    assert found is not None
    assert found.slope == pytest.approx(1.0, abs=0.05)
    assert found.shift == pytest.approx(0.0, abs=0.05)
    assert found.error < 0.02
    for posterior in (0.05, 0.5, 0.95):
        assert confidence(found, posterior) == pytest.approx(posterior, abs=0.02)


def test_overconfident_posteriors_are_corrected() -> None:
    found = calibrated([*outcomes(0.99, 0.7, 200), *outcomes(0.9, 0.55, 200)])
    assert found is not None
    assert found.error < found.error_before / 3
    assert confidence(found, 0.99) == pytest.approx(0.7, abs=0.06)
    assert confidence(found, 0.9) == pytest.approx(0.55, abs=0.06)


def test_timid_posteriors_are_corrected_too() -> None:
    found = calibrated([*outcomes(0.6, 0.95, 100), *outcomes(0.3, 0.6, 100)])
    assert found is not None
    assert confidence(found, 0.6) > 0.85  # type: ignore[operator]


def test_a_higher_posterior_never_means_less_confidence() -> None:
    found = calibrated([*outcomes(0.99, 0.1, 50), *outcomes(0.2, 0.9, 50)])
    told = [confidence(found, p) for p in np.linspace(0, 1, 50)]
    assert told == sorted(told)  # type: ignore[type-var]
    assert all(0.0 <= c <= 1.0 for c in told if c is not None)


def test_a_curve_that_misleads_about_other_predicates_is_not_used() -> None:
    """Of two predicates one is always right and one never, at the same posterior: each says nothing of the other."""
    found = calibrated([Trial("right", 0.5, 1.0)] * 7 + [Trial("wrong", 0.5, 0.0)] * 7)
    assert found is not None
    assert (found.slope, found.shift, found.error) == (1.0, 0.0, found.error_before)
    assert confidence(found, 0.3) == pytest.approx(0.3)


def test_the_bins_hold_every_trial_once() -> None:
    found = calibrated([Trial(f"P{i % 7}", p, float(i % 2)) for i, p in enumerate(np.linspace(0, 1, 97))])
    assert found is not None
    assert sum(bin.trials for bin in found.bins) == found.trials == 97
    for bin in found.bins:
        assert bin.low <= bin.confidence <= bin.high
        assert 0.0 <= bin.outcome <= 1.0


def test_too_few_trials_tell_nothing() -> None:
    assert calibrated(outcomes(0.9, 1.0, 9)) is None
    assert calibrated([]) is None
    assert confidence(None, 0.9) is None


def test_few_trials_move_the_posterior_little() -> None:
    few, many = calibrated(outcomes(0.9, 0.5, 10)), calibrated(outcomes(0.9, 0.5, 1000))
    assert few is not None
    assert many is not None
    assert abs(confidence(few, 0.9) - 0.9) < abs(confidence(many, 0.9) - 0.9)  # type: ignore[operator]


CLEAN = [made("C(x) <- true(id: x)", range(100), names=0.9), made("C(x) <- all(id: x)", range(1000))]


def test_the_right_rule_does_well_on_hidden_examples() -> None:
    found = trials([measured(CLEAN, range(0, 100, 5))], Ranker.EVIDENCE, WEIGHTS)
    assert len(found) == 2 * 4  # 1, 2, 5 and 10 of 20 seen, twice each
    assert all(trial.outcome == 1.0 for trial in found)


def test_a_hidden_negative_that_someone_gave_and_the_choice_derives_counts_as_failure() -> None:
    one = measured(CLEAN, range(0, 100, 5), [1] * 40, drawn=[False] * 40)
    assert all(trial.outcome == 0.0 for trial in trials([one], Ranker.EVIDENCE, WEIGHTS))
    # One that we drew ourselves may hold for all we know.
    drawn = measured(CLEAN, range(0, 100, 5), [1] * 40, drawn=[True] * 40)
    assert all(trial.outcome == 1.0 for trial in trials([drawn], Ranker.EVIDENCE, WEIGHTS))


def test_the_same_seed_gives_the_same_trials() -> None:
    one = measured(CLEAN, [*range(0, 100, 5), *range(700, 720, 2)])
    assert trials([one], Ranker.EVIDENCE, WEIGHTS, seed=3) == trials([one], Ranker.EVIDENCE, WEIGHTS, seed=3)


@pytest.mark.filterwarnings("error")
def test_examples_that_no_rule_derives_do_not_spoil_the_trials() -> None:
    one = measured(CLEAN, [1, 2, *range(5000, 5020)])
    found = trials([one], Ranker.EVIDENCE, WEIGHTS, repeats=20)
    assert 0 < len(found) < 20 * 4  # trials that saw none of the two that are derived are left out
    assert all(np.isfinite(trial.posterior) and 0.0 <= trial.posterior <= 1.0 for trial in found)


@pytest.mark.parametrize("ranker", [Ranker.EVIDENCE, Ranker.COVERAGE])
def test_a_trial_measures_the_posterior_that_is_told(ranker: Ranker) -> None:
    twins = [made(f"C(x) <- twin{i}(id: x)", range(100)) for i in range(4)]
    one = measured([*twins, CLEAN[1]], [*range(0, 100, 5), 700, 701])
    found = trials([one], ranker, WEIGHTS)
    assert all(0.0 <= trial.posterior <= 1.0 for trial in found)
    if ranker is Ranker.COVERAGE:
        seen_all = measured([*twins, CLEAN[1]], range(0, 100, 5))
        assert {trial.posterior for trial in trials([seen_all], ranker, WEIGHTS)} == {1.0}


def test_a_single_example_leaves_nothing_to_try() -> None:
    assert trials([measured(CLEAN, [1])], Ranker.EVIDENCE, WEIGHTS) == []


def test_hidden_examples_do_not_tell_rules_apart() -> None:
    alike = [made("C(x) <- right(id: x)", range(100)), made("C(x) <- less(id: x)", range(2, 102))]
    found = trials([measured(alike, [0, 1, *range(2, 40)])], Ranker.EVIDENCE, WEIGHTS, repeats=20)
    sure = [trial for trial in found if trial.posterior > 0.999]
    assert len(sure) > len(found) / 3  # those that saw neither 0 nor 1 took the two rules for one
    assert any(trial.outcome < 1.0 for trial in sure)  # and the shorter one was wrong


def test_reliability_is_told_by_curves_that_did_not_see_the_predicate() -> None:
    # One predicate behaves unlike all others: a curve that knew it would look better than it is.
    usual = outcomes(0.9, 0.9, 70)
    odd = [Trial("odd", 0.9, 0.0)] * 30
    found = calibrated([*usual, *odd])
    assert found is not None
    assert found.error > 0.2


def test_a_refined_rule_is_no_part_of_a_trial_for_it_has_seen_what_is_hidden() -> None:
    one = measured(CLEAN, range(0, 100, 5))
    refined = replace(one, pool=replace(one.pool, origin=(REFINED, EXTRACTED)))
    assert all(trial.outcome == 1.0 for trial in trials([refined], Ranker.EVIDENCE, WEIGHTS))
    assert trials([refined], Ranker.EVIDENCE, WEIGHTS) == trials([one.only([1])], Ranker.EVIDENCE, WEIGHTS)


def test_choices_by_one_example_say_nothing_of_choices_by_more() -> None:
    few = [replace(trial, seen=2) for trial in outcomes(0.9, 0.6, 100)]
    assert calibrated(few) is None
    assert calibrated([*few, *outcomes(0.9, 0.6, 10)]) is not None
