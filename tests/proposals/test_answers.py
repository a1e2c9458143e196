"""What the user said, as the network hears it."""

from __future__ import annotations

import math

import numpy as np

from ruleminer.proposals.answers import RULED_OUT, SLIPS, Answers
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule

A, B, C = (Body(parse_rule(f"T(x) <- t(id: x, code: {code!r})".replace("'", '"'))) for code in "abc")
YES, NO = math.log(1 - SLIPS), math.log(SLIPS)


def test_an_answer_weighs_what_a_slip_is_worth() -> None:
    """Of two facts the first holds; A derives both, B the first, C neither."""
    answers = Answers(np.array([True, False]), {A: np.array([True, True]), B: np.array([True, False])})
    found = answers.log_likelihood([A, B, C])
    assert np.allclose(found, [NO + YES, YES + NO, YES + YES, NO + YES]), "none is like a rule that derives nothing"


def test_a_fact_that_another_part_derives_says_little_of_this_one() -> None:
    answers = Answers(np.array([True]), {A: np.array([True])})
    alone, beside = answers.log_likelihood([A, B]), answers.log_likelihood([A, B], np.array([0.9]))
    assert alone[1] - alone[2] > 3.0
    assert 0.0 < beside[1] - beside[2] < 0.1


def test_rejected_rules_are_ruled_out_and_kept_ones_rule_out_the_others() -> None:
    assert Answers(rejected=frozenset([A])).log_likelihood([A, B]).tolist() == [0.0, RULED_OUT, 0.0]
    assert Answers(kept=(A,)).log_likelihood([A, B]).tolist() == [RULED_OUT, 0.0, RULED_OUT]
    assert Answers(kept=()).log_likelihood([A, B]).tolist() == [0.0, RULED_OUT, RULED_OUT], "there is no rule"


def test_a_rule_that_derives_what_does_not_hold_is_refused_unless_more_of_it_does() -> None:
    def refused(*holds: bool) -> bool:
        return Answers(np.array(holds), {A: np.ones(len(holds), bool)}).is_refused(A)

    assert refused(False)
    assert refused(False, True)
    assert not refused(False, True, True)
    assert not refused(True)
    assert not Answers(np.array([False]), {A: np.array([True])}).is_refused(B)
