"""Which rule is meant: the posterior against plain loops, the size principle, noise, and unions only where they pay."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from ruleminer.proposals import evidence
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import (
    LIFT,
    MANY,
    SILENT,
    Measured,
    Ranker,
    Ranking,
    log_prior,
    rank,
    shared_posterior,
)
from ruleminer.proposals.unions import STRANGER_COST, UNION_COST
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from tests.proposals.test_evidence import slow_likelihood, slow_spared
from tests.proposals.worlds import Made, made, measured, sizes_of_unions

WEIGHTS = PriorWeights()


def chosen(ranking: Ranking, one: Measured) -> set[str]:
    return {rule_text(one.pool.rules[i]).partition(" <- ")[2] for i in ranking.chosen}


def best(rules: Sequence[Made], positives: Sequence[object], negatives: Sequence[object] = ()) -> set[str]:
    """What is proposed, unions included."""
    one = measured(rules, positives, negatives)
    return chosen(rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one)), one)


def slow_posterior(one: Measured) -> list[float]:
    """prior × likelihood of each rule, normalised, with plain loops and fifty digits."""
    pool = one.pool
    universe = max([2.0, *one.sizes.tolist(), float(len(pool.positives)), float(one.rows)])
    with mp.workdps(50):
        weights = []
        for i, prior in enumerate(one.priors):
            derived = sum(1 for n in range(len(pool.positives)) if pool.covers[i, n])
            share = 1 / (1 + len(pool.positives) / WEIGHTS.fade)
            log = -WEIGHTS.length * prior.length + WEIGHTS.keys * prior.keys + share * WEIGHTS.names * prior.names
            log += slow_likelihood(derived, len(pool.positives), int(one.sizes[i]), universe)
            for wanted, expected in ((False, evidence._NEGATIVE_EXPECTED),):
                mine = [n for n in range(len(pool.negatives)) if bool(pool.drawn[n]) is wanted]
                log += slow_spared(sum(1 for n in mine if pool.hits[i, n]), len(mine), expected)
            weights.append(mp.exp(mpf(log)))
        return [float(weight / sum(weights)) for weight in weights]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Made], list[int], list[int], list[bool]]:
    rules = [
        made(
            f"C(x) <- t{i}(id: x)",
            draw(st.sets(st.integers(0, 30), min_size=1)),
            length=draw(st.floats(1.0, 12.0)),
            names=draw(st.floats(0.0, 1.0)),
        )
        for i in range(draw(st.integers(1, 6)))
    ]
    some = st.lists(st.integers(0, 30), unique=True, max_size=12)
    positives = draw(some.filter(lambda facts: any(str(f) in rule.facts for f in facts for rule in rules)))
    negatives = draw(some)
    return rules, positives, negatives, [draw(st.booleans()) for _ in negatives]


@settings(deadline=None)
@given(problems())
def test_the_posterior_is_prior_times_likelihood(problem: tuple[list[Made], list[int], list[int], list[bool]]) -> None:
    rules, positives, negatives, drawn = problem
    one = measured(rules, positives, negatives, drawn=drawn)
    ranking = rank(one, Ranker.EVIDENCE, WEIGHTS)
    assert ranking.posterior.tolist() == pytest.approx(slow_posterior(one), rel=1e-6, abs=1e-12)
    assert ranking.posterior.sum() == pytest.approx(1.0)
    assert (np.diff(ranking.posterior[ranking.order]) <= 1e-12).all()
    assert ranking.chosen == (int(ranking.order[0]),)


@settings(deadline=None, max_examples=60)
@given(problems(), st.randoms(use_true_random=False), st.sampled_from([Ranker.EVIDENCE, Ranker.COVERAGE]))
def test_the_order_of_rules_and_examples_does_not_matter(
    problem: tuple[list[Made], list[int], list[int], list[bool]], dice: random.Random, ranker: Ranker
) -> None:
    rules, positives, negatives, drawn = problem

    def outcome(rules: list[Made], positives: list[int], negatives: list[tuple[int, bool]]) -> tuple[object, ...]:
        one = measured(rules, positives, [n for n, _ in negatives], drawn=[d for _, d in negatives])
        ranking = rank(one, ranker, union_size=sizes_of_unions(rules, one))
        texts = [rule_text(one.pool.rules[i]) for i in ranking.order]
        return texts, chosen(ranking, one), pytest.approx(ranking.chosen_posterior, rel=1e-6)

    pairs = list(zip(negatives, drawn, strict=True))
    before = outcome(rules, positives, pairs)
    shuffled = [dice.sample(list(items), len(items)) for items in (rules, positives, pairs)]
    assert outcome(*shuffled)[:2] == before[:2]  # type: ignore[arg-type]


def test_of_two_rules_that_derive_all_examples_the_smaller_wins_in_the_end() -> None:
    # The larger one is better named; a few examples of the smaller one are a coincidence, many are not.
    small, large = made("C(x) <- small(id: x)", range(50), names=0.2), made("C(x) <- large(id: x)", range(400), names=1)
    posteriors = []
    for examples in (1, 2, 3, 5, 8, 12):
        one = measured([small, large], range(examples))
        ranking = rank(one, Ranker.EVIDENCE)
        posteriors.append(float(ranking.posterior[one.pool.rules.index(parse_rule(small.text))]))
    assert posteriors == sorted(posteriors)
    assert posteriors[0] < 0.5 < 0.99 < posteriors[-1]


def test_one_example_outside_the_smaller_extension_is_noise_and_several_are_not() -> None:
    small, large = made("C(x) <- small(id: x)", range(50)), made("C(x) <- large(id: x)", range(400))
    assert best([small, large], [*range(12), 300]) == {"small(id: x)"}
    assert best([small, large], [*range(8), *range(300, 306)]) == {"large(id: x)"}


@pytest.mark.parametrize(("right", "wrong"), [(18, 2), (9, 1), (14, 6), (7, 3)])
def test_wrong_examples_do_not_topple_the_true_rule(right: int, wrong: int) -> None:
    true = made("C(x) <- true(id: x)", range(100), names=0.6)
    everything = made("C(x) <- everything(id: x)", range(1000), length=4.0)
    part = made('C(x) <- true(id: x, kind: "a")', range(60), length=8.0)
    others = [made(f"C(x) <- other{i}(id: x)", range(100 * i, 100 * i + 100)) for i in range(3, 9)]
    # Wrong examples are facts of other predicates, each of another one.
    astray = [300 + 100 * i + i for i in range(wrong)]
    assert best([true, everything, part, *others], [*range(0, 100, 100 // right), *astray]) == {"true(id: x)"}


def test_negatives_turn_the_choice() -> None:
    loose, tight = (
        made("C(x) <- all(id: x)", range(100), length=3.0),
        made("C(x) <- some(id: x)", range(60), length=9.0),
    )
    assert best([loose, tight], [1, 2, 3]) == {"all(id: x)"}
    assert best([loose, tight], [1, 2, 3], [70, 71, 72]) == {"some(id: x)"}


def test_a_union_is_proposed_where_two_tables_each_hold_a_part() -> None:
    first = made("name(x) <- person(name: x)", range(100), names=0.9)
    second = made("name(x) <- conference(name: x)", range(200, 260), names=0.9)
    stranger = made("name(x) <- paper(title: x)", range(500, 700), names=0.1)
    rules = [first, second, stranger]
    assert best(rules, [1, 2, 3, 4, 5, 201, 202, 203, 204]) == {"person(name: x)", "conference(name: x)"}
    one = measured(rules, [1, 2, 3, 4, 5, 201, 202, 203, 204])
    ranking = rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one))
    assert ranking.chosen_posterior > 0.9
    assert ranking.posterior.max() < 0.1  # the single rules are hypotheses, too


@pytest.mark.parametrize("names", [0.9, 0.3])
def test_a_union_competes_by_its_own_prior_and_likelihood(names: float) -> None:
    first = made("n(x) <- a(i: x)", range(100), names=0.9)
    second = made("n(x) <- b(i: x)", range(200, 260), names=names)
    examples = [1, 2, 3, 4, 201, 202, 203, 204]
    one = measured([first, second], examples)
    ranking = rank(one, Ranker.EVIDENCE, WEIGHTS, union_size=sizes_of_unions([first, second], one))
    assert len(ranking.chosen) == 2
    prior = ranking.log_prior
    expected = prior[0] + prior[1] - np.logaddexp(*prior)  # the second is chosen among all rules of the pool
    expected -= UNION_COST + STRANGER_COST * (0.9 - names) * 4  # and explains four examples that the first does not
    expected += slow_likelihood(8, 8, 160, 1000.0)
    single = prior[0] + slow_likelihood(4, 8, 100, 1000.0)
    odds = math.log(ranking.chosen_posterior / ranking.posterior[0])
    assert odds == pytest.approx(expected - single)


def test_the_scale_of_priors_does_not_matter_to_unions() -> None:
    def posterior(length: float) -> float:
        rules = [
            made(f"n(x) <- {t}(i: x)", facts, length=length) for t, facts in (("a", range(9)), ("b", range(20, 50)))
        ]
        one = measured(rules, [1, 2, 3, 21, 22])
        return rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one)).chosen_posterior

    assert posterior(1.0) == pytest.approx(posterior(40.0))


def test_a_left_over_example_is_never_a_union() -> None:
    first = made("name(x) <- person(name: x)", range(100), names=0.9)
    second = made("name(x) <- conference(name: x)", range(200, 203), names=1.0, length=2.0)
    for examples in range(1, 40):
        assert best([first, second], [*range(examples), 201]) in ({"person(name: x)"}, {"conference(name: x)"})


def test_a_union_is_not_joined_by_a_rule_that_adds_nothing() -> None:
    # Short and well named, its prior is above one in the scale that priors happen to have: no reason to take it in.
    whole = made("Paper(x) <- Paper(ID: x)", range(100), length=2.0, names=1.0)
    part = made("Paper(x) <- reviews(Paper: x)", range(60), length=2.0, names=1.0)
    assert best([whole, part], [1, 2, 3, 4, 80, 81, 82]) == {"Paper(ID: x)"}
    assert best([part, whole], [1, 2, 3, 4, 80, 81, 82]) == {"Paper(ID: x)"}


def test_each_rule_of_a_union_derives_examples_that_no_other_does() -> None:
    first, second = made("n(x) <- a(i: x)", range(100)), made("n(x) <- b(i: x)", range(200, 300))
    both = made("n(x) <- c(i: x)", [*range(3), *range(200, 203)], length=3.0)
    rules = [first, second, both]
    one = measured(rules, [*range(8), *range(200, 208)])
    ranking = rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one))
    covers = one.pool.covers[list(ranking.chosen)]
    assert ((covers & (covers.sum(axis=0) == 1)).sum(axis=1) >= 2).all()


def test_a_claimed_rule_joins_no_union() -> None:
    first = made("Document(x) <- paper(id: x)", range(100), names=0.9)
    second = made("Document(x) <- person(id: x)", range(200, 260), names=0.9)
    rules, examples = [first, second], [*range(8), *range(200, 204)]
    one = measured(rules, examples)
    sizes = sizes_of_unions(rules, one)
    assert len(rank(one, Ranker.EVIDENCE, union_size=sizes).chosen) == 2
    claimed = np.array([rule.body[0].table == "person" for rule in one.pool.rules])
    kept = rank(one, Ranker.EVIDENCE, union_size=sizes, claimed=claimed)
    assert chosen(kept, one) == {"paper(id: x)"}


def test_a_union_whose_size_cannot_be_asked_does_not_compete() -> None:
    rules = [made("n(x) <- a(i: x)", range(100)), made("n(x) <- b(i: x)", range(200, 300))]
    one = measured(rules, [*range(8), *range(200, 208)])
    ranking = rank(one, Ranker.EVIDENCE, union_size=lambda union: None)
    assert len(ranking.chosen) == 1
    assert ranking.posterior.sum() == pytest.approx(1.0)


def test_coverage_counts_and_the_shorter_rule_wins_ties() -> None:
    long, short = made("C(x) <- table_of_all(id: x)", range(10)), made("C(x) <- t(id: x)", range(500))
    one = measured([long, short], [1, 2, 3])
    assert chosen(rank(one, Ranker.COVERAGE), one) == {"t(id: x)"}
    hit = measured([long, short], [1, 2, 3], [100])
    assert chosen(rank(hit, Ranker.COVERAGE), hit) == {"table_of_all(id: x)"}
    assert rank(hit, Ranker.COVERAGE).chosen_posterior == 1.0


def test_the_model_decides_where_counts_and_names_do_not() -> None:
    rules = [made(f"C(x) <- {table}(id: x)", range(10), names=0.1) for table in "ab"]
    for lift, winner in (([5.0, 0.0], "a(id: x)"), ([-1.0, 1.0], "b(id: x)")):
        one = measured(rules, [1, 2], lift=lift)
        ranking = rank(one, Ranker.NEURAL)
        assert chosen(ranking, one) == {winner}
        assert np.isfinite(ranking.log_prior).all()
        assert rank(one, Ranker.EVIDENCE).log_prior.tolist() == [rank(one, Ranker.EVIDENCE).log_prior[0]] * 2


def test_a_model_is_heard_less_the_more_names_and_examples_say() -> None:
    def gap(names: float, examples: int) -> float:
        rules = [made(f"C(x) <- {table}(id: x)", range(10), names=names) for table in "ab"]
        one = measured(rules, [1], lift=[0.0, 3.0])
        plain, heard = (log_prior(one, ranker, PriorWeights(), examples) for ranker in (Ranker.EVIDENCE, Ranker.NEURAL))
        return float((heard - plain)[1] - (heard - plain)[0])

    assert gap(0.0, 0) == pytest.approx(3 * LIFT)
    assert gap(SILENT / 2, 0) == pytest.approx(1.5 * LIFT)
    assert gap(0.0, 2) == pytest.approx(LIFT)
    assert gap(SILENT, 0) == gap(1.0, 0) == gap(0.0, MANY) == 0.0


def test_without_a_model_neural_falls_back_on_names() -> None:
    rules = [made("C(x) <- a(id: x)", range(10), names=0.1), made("C(x) <- b(id: x)", range(10), names=0.9)]
    one = measured(rules, [1])
    assert chosen(rank(one, Ranker.NEURAL), one) == {"b(id: x)"}


def test_without_examples_the_prior_is_the_posterior() -> None:
    rules = [made("C(x) <- a(id: x)", range(10), names=0.1), made("C(x) <- b(id: x)", range(9999), names=0.9)]
    one = measured(rules, [1])
    nothing = replace(one, pool=replace(one.pool, positives=(), covers=np.zeros((2, 0), bool)))
    ranking = rank(nothing, Ranker.EVIDENCE)
    odds = math.log(ranking.posterior[1] / ranking.posterior[0])
    assert odds == pytest.approx(ranking.log_prior[1] - ranking.log_prior[0])
    assert ranking.log_likelihood == pytest.approx(0.0)


def test_a_negative_that_extraction_drew_says_nothing_for_it_may_hold() -> None:
    rules = [made("C(x) <- true(id: x)", range(100)), made("C(x) <- other(id: x)", range(0, 100, 2))]
    positives, negatives = range(0, 20, 2), [30, 32, 34]
    drawn, none = measured(rules, positives, negatives, drawn=[True] * 3), measured(rules, positives)
    assert np.allclose(rank(drawn, Ranker.EVIDENCE).posterior, rank(none, Ranker.EVIDENCE).posterior)
    given = measured(rules, positives, negatives, drawn=[False] * 3)
    assert not np.allclose(rank(given, Ranker.EVIDENCE).log_likelihood, rank(none, Ranker.EVIDENCE).log_likelihood)


def test_rules_that_nothing_tells_apart_share_their_posterior() -> None:
    twins = [made(f"C(x) <- twin{i}(id: x)", range(100)) for i in range(4)]
    one = measured(twins, [1, 2, 3])
    ranking = rank(one, Ranker.EVIDENCE)
    assert ranking.chosen_posterior == pytest.approx(0.25)
    assert shared_posterior(one, ranking) == pytest.approx(1.0)
    assert shared_posterior(one, ranking) <= 1.0
