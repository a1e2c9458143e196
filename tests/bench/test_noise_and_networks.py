"""Label sets and networks are those of the paper."""

from __future__ import annotations

import pytest
import torch

from ruleminer.bench.batched import start
from ruleminer.bench.networks import CNN_PARAMETERS, RESNET18_PARAMETERS, cnn9, parameter_count, resnet18
from ruleminer.bench.noise import CASES, by_matrix, by_pool, noise_matrix
from ruleminer.bench.synthetic_large import HIDDEN, PARAMETERS, clusters
from ruleminer.errors import InputError


def test_parameter_counts_are_the_papers() -> None:
    assert parameter_count(cnn9()) == CNN_PARAMETERS == 4_434_570
    assert parameter_count(resnet18()) == RESNET18_PARAMETERS == 11_220_132
    assert start((100, *HIDDEN, 100), [0], hidden_bias=False, normalise=True).parameter_count() == PARAMETERS == 333_108


@pytest.mark.parametrize(("size", "width"), [(32, 1.0), (16, 0.25)])
def test_networks_take_images_of_both_sizes(size: int, width: float) -> None:
    images = torch.zeros(2, 3, size, size)
    assert cnn9(10, width, size)(images).shape == (2, 10)
    assert resnet18(100, width)(images).shape == (2, 100)


def test_noise_matrices_are_the_printed_ones() -> None:
    expected = {1: 0.5, 2: 0.6, 3: 1.8, 4: 4.0, 5: 7.1}
    for case, distractors in expected.items():
        matrix = noise_matrix(case)
        assert (matrix.diagonal() == 1).all()
        torch.testing.assert_close(matrix.sum(1), torch.full((10,), 1 + distractors))
    assert noise_matrix(1)[9].tolist() == [0.5, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    row = [0.6, 0.9, 0.9, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.7]  # the fourth printed row of case 5
    torch.testing.assert_close(noise_matrix(5)[3], torch.tensor(row))
    row = [0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2, 1, 0.2]  # the ninth printed row of case 4
    torch.testing.assert_close(noise_matrix(4)[8], torch.tensor(row))


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(InputError, match="unknown noise case 6; known are 1, 2, 3, 4, 5"):
        noise_matrix(6)


@pytest.mark.parametrize("case", CASES)
def test_label_sets_by_matrix_hold_the_true_label_and_the_right_number_of_others(case: int) -> None:
    truth = torch.arange(10).repeat(2_000)
    allowed = by_matrix(truth, noise_matrix(case), torch.Generator().manual_seed(0))
    assert allowed[torch.arange(len(truth)), truth].all()
    share = torch.stack([allowed[truth == label].double().mean(0) for label in range(10)])
    assert (share - noise_matrix(case)).abs().max() < 0.05


def test_label_sets_by_pool_have_the_papers_two_fractions() -> None:
    truth = torch.arange(100).repeat(50)
    allowed = by_pool(truth, 100, pool=0.2, occurrence=0.1, generator=torch.Generator().manual_seed(0))
    assert allowed[torch.arange(len(truth)), truth].all()
    for label in (0, 57, 99):
        counts = allowed[truth == label].sum(0)
        counts[label] = 0
        assert (counts > 0).sum() == 19  # 0.2 · 100 − 1 distractors, as in the paper's example
        assert set(counts[counts > 0].tolist()) == {5}  # each in 0.1 of the 50 samples


def test_a_pool_outside_its_range_is_refused() -> None:
    with pytest.raises(InputError, match="pool fraction must lie in"):
        by_pool(torch.zeros(3, dtype=torch.long), 10, 1.5, 0.5, torch.Generator())


def test_clusters_lie_around_corners_of_the_cube() -> None:
    x, truth = clusters(20_000, 0)
    centre = x[truth == 3].mean(0)
    assert ((centre - centre.round()).abs() < 0.4).all()
    assert set(centre.round().tolist()) == {0.0, 1.0}
    assert x[truth == 3].std(0).mean() == pytest.approx(1, abs=0.05)
