"""One example that stands alone against the others is told, and the choice that rests on it is doubted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.proposals.slips import Slip, slip_of, without_slips
from tests.proposals.worlds import made, measured

ALBUMS, ARTISTS = range(1, 348), range(1, 276)


def odd_of(examples: list[object], names: tuple[float, float] = (0.0, 1.0), *, noise: bool = False) -> Slip | None:
    rules = [
        made("MusicGroup(x) <- album(id: x)", ALBUMS, names=names[0]),
        made("MusicGroup(x) <- artist(id: x)", ARTISTS, names=names[1]),
    ]
    one = measured(rules, examples, noise=noise)
    return slip_of(one, rank(one, Ranker.EVIDENCE, PriorWeights()))


def test_an_example_that_only_the_less_likely_rule_derives_is_odd() -> None:
    odd = odd_of([1, 2, 300, 4])
    assert odd is not None
    assert (odd.positive, odd.rule) == (2, 1)
    assert odd.doubt > 0.5


def test_what_all_derive_is_not() -> None:
    assert odd_of([1, 2, 3, 4]) is None


def test_how_far_examples_reach_into_a_table_makes_none_of_them_a_slip() -> None:
    rules = [
        made("Book(x) <- book(id: x)", range(1, 201), names=1.0),
        made("Book(x) <- journal(id: x)", range(1, 41), names=0.0),
    ]
    one = measured(rules, [1, 2, 3, 150], noise=False)
    one = replace(one, reaches=np.array([150.0, 3.0]))
    assert slip_of(one, rank(one, Ranker.EVIDENCE, PriorWeights())) is None


def test_what_the_user_answered_is_no_slip() -> None:
    rules = [
        made("MusicGroup(x) <- album(id: x)", ALBUMS, names=0.0),
        made("MusicGroup(x) <- artist(id: x)", ARTISTS, names=1.0),
    ]
    one = measured(rules, [1, 2, 4, 300], noise=False)
    one = replace(one, pool=replace(one.pool, asked=np.array([False, False, False, True])))
    assert slip_of(one, rank(one, Ranker.EVIDENCE, PriorWeights())) is None


def test_many_examples_of_a_kind_are_no_accident_in_a_large_table() -> None:
    rules = [
        made('Survey(x) <- survey(id: x, type: "c")', range(1, 120), names=0.0),
        made("Survey(x) <- place(id: x)", range(2, 10_000), names=1.0),
    ]
    one = measured(rules, range(1, 91), noise=False, rows=20_000)
    assert slip_of(one, rank(one, Ranker.EVIDENCE, PriorWeights())) is None


def test_two_such_examples_are_no_slip() -> None:
    assert odd_of([1, 2, 300, 301]) is None


def test_of_two_examples_neither_is_odd() -> None:
    assert odd_of([1, 300]) is None


def test_where_the_others_do_not_speak_for_another_rule_the_example_tells_what_is_meant() -> None:
    assert odd_of([1, 2, 300, 4], names=(0.5, 0.5)) is None


def test_where_examples_may_be_wrong_the_ranking_has_weighed_it() -> None:
    assert odd_of([1, 2, 300, 4], noise=True) is None


@pytest.mark.parametrize("gap", [0.8, 0.9, 1.0])
def test_the_more_speaks_against_it_the_surer_it_is_a_slip(gap: float) -> None:
    less, more = odd_of([1, 2, 300, 4], names=(0.0, gap)), odd_of([1, 2, 300, 4], names=(0.0, 1.0))
    assert less is not None
    assert more is not None
    assert less.odds <= more.odds


def test_the_oddest_is_left_aside_first_and_what_it_made_others_believe_with_it() -> None:
    groups = [
        made("MusicGroup(x) <- album(id: x)", ALBUMS, names=0.0),
        made("MusicGroup(x) <- artist(id: x)", ARTISTS, names=1.0),
    ]
    labels = [
        made("Label(x) <- album(id: x)", ALBUMS, names=0.0),
        made("Label(x) <- artist(id: x)", ARTISTS, names=0.0),
    ]
    pools = {
        "MusicGroup": measured(groups, [1, 2, 300, 4], noise=False),
        "Label": measured(labels, [1, 2, 301, 4], noise=False),
    }

    def together(known: Mapping[str, Measured]) -> dict[str, Measured]:
        """A label is believed to be an artist as long as some group is an album."""
        misled = len(known["MusicGroup"].pool.positives) == 4
        gains = np.array([0.0, 6.0 if misled else 0.0])
        return {**known, "Label": replace(known["Label"], coherence=gains)}

    found = without_slips(pools, Ranker.EVIDENCE, PriorWeights(), together)
    assert {name: one.positive for name, one in found.slips.items()} == {"MusicGroup": 2}
    assert len(found.measured["MusicGroup"].pool.positives) == 3
    assert len(found.measured["Label"].pool.positives) == 4
