"""Unions: a part is believed by one example if it is whole and examples are not wrong; each rule pays for itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ruleminer.proposals.ranking import PAID, Ranker, rank
from ruleminer.rules.printer import rule_text
from tests.proposals.worlds import Made, made, measured, sizes_of_unions

CUSTOMERS = made("Organization(x) <- customers(id: x)", range(100), whole=True)
SUPPLIERS = made("Organization(x) <- suppliers(id: x)", range(200, 230), whole=True)
SHIPPERS = made("Organization(x) <- shippers(id: x)", range(300, 303), whole=True)


def best(
    rules: Sequence[Made],
    positives: Sequence[object],
    *,
    noise: bool = False,
    negatives: Sequence[object] = (),
    drawn: Sequence[bool] | None = None,
) -> set[str]:
    one = measured(rules, positives, negatives, noise=noise, drawn=drawn)
    ranking = rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one))
    return {rule_text(one.pool.rules[i]).partition(" <- ")[2] for i in ranking.chosen}


def test_one_example_of_each_whole_table_makes_the_union() -> None:
    rules = [CUSTOMERS, SUPPLIERS, SHIPPERS]
    assert best(rules, [1, 201, 301]) == {"customers(id: x)", "suppliers(id: x)", "shippers(id: x)"}
    assert len(best(rules, [1, 201, 301], noise=True)) == 1, "one may be wrong there, and so none is a part"


def test_one_example_does_not_show_a_part_of_a_table() -> None:
    rules = [CUSTOMERS, SUPPLIERS, SHIPPERS._replace(whole=False)]
    assert best(rules, [1, 201, 301]) == {"customers(id: x)", "suppliers(id: x)"}
    assert len(best(rules, [1, 201, 301, 302])) == 3, "two do"


def test_a_union_has_as_many_parts_as_it_needs() -> None:
    rules = [made(f"C(x) <- t{n}(id: x)", range(100 * n, 100 * n + 50), whole=True) for n in range(20)]
    assert len(best(rules, [100 * n for n in range(20)])) == 20


@pytest.mark.parametrize("examples", range(2, 9))
def test_a_rule_that_derives_all_examples_comes_before_a_small_one_that_does_not(examples: int) -> None:
    everything = made("C(x) <- all(id: x)", range(100_000))
    tiny = made("C(x) <- tiny(id: x)", range(examples - 1), names=1.0, length=2.0)
    assert best([everything, tiny], range(examples)) == {"all(id: x)"}


def test_where_examples_may_be_wrong_a_rule_may_miss_some() -> None:
    right = made("C(x) <- right(id: x)", range(20))
    everything = made("C(x) <- all(id: x)", range(1000))
    examples = [*range(9), 500]
    assert best([right, everything], examples) == {"all(id: x)"}
    assert best([right, everything], examples, noise=True) == {"right(id: x)"}


def test_a_condition_is_paid_for_by_examples() -> None:
    table = made("C(x) <- t(id: x)", range(1_000), length=5.0)
    some = made('C(x) <- t(id: x, kind: "a")', range(100), length=6.0, conditions=1)
    assert best([table, some], range(PAID - 1)) == {"t(id: x)"}
    assert best([table, some], range(PAID)) == {'t(id: x, kind: "a")'}
    called_for = some._replace(conditions=0)
    assert best([table, called_for], range(PAID - 1)) == {'t(id: x, kind: "a")'}, "by its name, too"


def test_the_score_of_a_union_does_not_depend_on_the_order_of_the_pool() -> None:
    rules = [CUSTOMERS, SUPPLIERS, SHIPPERS]
    posteriors = []
    for order in (rules, rules[::-1]):
        one = measured(order, [1, 2, 201, 301], noise=False)
        posteriors.append(rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(order, one)).chosen_posterior)
    assert np.allclose(*posteriors)


def test_a_rule_that_happens_to_derive_the_rest_does_not_hide_the_parts_that_are_meant() -> None:
    parts = [made(f"address(x) <- {t}(address: x)", [n, *range(n * 100, n * 100 + 50)], names=1.0, whole=True)
             for n, t in enumerate(("store", "staff", "customer"), start=1)]  # fmt: skip
    chance = made("address(x) <- film(language: x)", [2, 3, *range(1000, 1100)], names=0.0)
    assert best([*parts, chance], [1, 2, 3]) == {"store(address: x)", "staff(address: x)", "customer(address: x)"}


def test_a_large_part_is_not_narrowed_for_the_sake_of_the_other_parts() -> None:
    small = [made(f"name(x) <- t{n}(n: x)", range(n * 10_000, n * 10_000 + 20), whole=True) for n in range(1, 5)]
    tracks = made("name(x) <- track(n: x)", range(3_500), whole=True)
    sold = made("name(x) <- track(n: x), line(t: x)", range(1_900), length=8.0)
    examples = [1, 100, *(n * 10_000 + m for n in range(1, 5) for m in (0, 1))]
    assert "track(n: x)" in best([*small, tracks, sold], examples)


@pytest.mark.parametrize("examples", range(1, 4))
def test_a_counter_example_keeps_out_every_part_that_derives_it(examples: int) -> None:
    rules = [CUSTOMERS, SUPPLIERS]
    positives = [1, 2, 3, 4, *range(201, 201 + examples)]
    assert len(best(rules, positives)) == 2
    assert best(rules, positives, negatives=[229]) == {"customers(id: x)"}
    assert len(best(rules, positives, negatives=[229], drawn=[True])) == 2, "not one that was made by sampling"


def test_a_counter_example_speaks_for_the_rule_that_spares_it() -> None:
    table = made("C(x) <- t(id: x)", range(1_000), length=5.0, names=1.0)
    some = made('C(x) <- t(id: x, kind: "a")', range(900), length=9.0)
    assert best([table, some], range(3)) == {"t(id: x)"}
    assert best([table, some], range(3), negatives=[950]) == {'t(id: x, kind: "a")'}
