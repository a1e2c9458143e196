"""The paper's figures of dynamics: kept ratios, exact step counts, starts that are exactly where they should be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ruleminer.bench import dynamics
from ruleminer.bench.units import BenchOptions


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    options = BenchOptions(scale="smoke")
    return {unit.key: dynamics.BENCH.run(unit, options, lambda _: None) for unit in dynamics.BENCH.units(options)}


def test_libra_takes_fourteen_steps_from_each_of_the_three_points(results: dict[str, Any]) -> None:
    assert results["field AB softmax libra-plain 0.5"]["steps"] == [14, 14, 14]


def test_libra_keeps_the_ratio_of_allowed_outputs_all_the_way(results: dict[str, Any]) -> None:
    for start, path in zip(dynamics.STARTS["AB"], results["field AB softmax libra-plain 0.5"]["paths"], strict=True):
        assert all(a / b == pytest.approx(start[0] / start[1], rel=1e-6) for a, b, _ in path)


def test_winner_takes_all_under_nll_and_not_under_libra(results: dict[str, Any]) -> None:
    for loss, kept in (("nll", False), ("libra-plain", True)):
        first, last = results[f"curves {loss}"]["path"][0], results[f"curves {loss}"]["path"][-1]
        ratio = (max(last) / sum(last)) / (max(first) / sum(first))
        assert sum(last) > 0.95
        assert (ratio == pytest.approx(1, rel=1e-6)) is kept


def test_libra_never_misses_from_an_adversarial_start(results: dict[str, Any]) -> None:
    assert all(results[f"adversarial m={m} libra-plain"]["missed"] == 0 for m in (3, 10, 100))
    assert results["adversarial m=3 nll"]["missed"] == 0
    assert results["adversarial m=100 nll"]["missed"] > 0.5


def test_libra_is_linear_in_a_single_logit(results: dict[str, Any]) -> None:
    terms = results["terms"]
    assert terms["slope"] == pytest.approx([-1, -1])
    sums = [a + d for a, d in zip(terms["allowed"], terms["disallowed"], strict=True)]
    assert terms["libra"] == pytest.approx(sums)


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_networks_start_exactly_in_the_given_point(model: str) -> None:
    points = torch.tensor(dynamics.STARTS["AB"], dtype=torch.float64)
    network, x = dynamics._network_at(points, {"model": model, "seed": 0})
    torch.testing.assert_close(network(x)[:, 0].softmax(-1), points)
