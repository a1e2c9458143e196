"""Networks trained together are the networks trained alone."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ruleminer.bench.batched import Sgd, epoch_batches, objective, predictions, start, train_step
from ruleminer.bench.synthetic_small import label_sets, near_outputs
from ruleminer.learn.losses import LOSSES, loss_named, of_logits

SIZES = (4, 8, 5)


def problem(models: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(models, 6, SIZES[0], generator=generator, dtype=torch.float64)
    allowed = torch.rand(models, 6, SIZES[-1], generator=generator) < 0.4
    allowed[..., 0] = True
    return x, allowed


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("normalise", [False, True])
def test_a_model_does_not_notice_with_whom_it_is_trained(loss: str, normalise: bool) -> None:
    x, allowed = problem(3)
    seeds = [5, 6, 7]
    together = start(SIZES, seeds, normalise=normalise, dtype=torch.float64)
    sgd = Sgd(0.1, momentum=0.9, weight_decay=1e-3)
    for _ in range(5):
        train_step(together, x, allowed, objective(loss), sgd)
    for i, seed in enumerate(seeds):
        alone = start(SIZES, [seed], normalise=normalise, dtype=torch.float64)
        own = Sgd(0.1, momentum=0.9, weight_decay=1e-3)
        for _ in range(5):
            train_step(alone, x[i : i + 1], allowed[i : i + 1], objective(loss), own)
        torch.testing.assert_close(together(x)[i], alone(x[i : i + 1])[0], rtol=1e-9, atol=1e-9)


def test_a_step_is_that_of_torch_itself() -> None:
    x, allowed = problem(1)
    ours = start(SIZES, [11], normalise=True, hidden_bias=False, dtype=torch.float64)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(4, 8, bias=False, dtype=torch.float64),
        torch.nn.BatchNorm1d(8, affine=False, dtype=torch.float64),
        torch.nn.ReLU(),
        torch.nn.Linear(8, 5, dtype=torch.float64),
    )
    bias = ours.biases[-1]
    assert bias is not None
    with torch.no_grad():
        theirs[0].weight.copy_(ours.weights[0][0])
        theirs[3].weight.copy_(ours.weights[1][0])
        theirs[3].bias.copy_(bias[0, :, 0])
    optimiser = torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9, weight_decay=1e-3)
    sgd, loss = Sgd(0.1, 0.9, 1e-3), loss_named("libra")
    for _ in range(4):
        train_step(ours, x, allowed, objective("libra"), sgd)
        optimiser.zero_grad()
        loss(of_logits(theirs(x[0]), allowed[0])).mean().backward()
        optimiser.step()
    torch.testing.assert_close(ours(x)[0], theirs.eval()(x[0]))


def test_each_model_can_have_its_own_learning_rate() -> None:
    x, allowed = problem(2)
    model = start(SIZES, [1, 1], dtype=torch.float64)
    before = model.weights[0].detach().clone()
    train_step(model, x, allowed, objective("nll"), Sgd(torch.tensor([0.0, 0.5]).view(2, 1, 1)))
    moved = (model.weights[0].detach() - before).abs().amax((1, 2))
    assert moved[0] == 0
    assert moved[1] > 0


def test_a_factor_of_a_loss_counts_the_allowed_outputs() -> None:
    x, allowed = problem(1)
    outputs = of_logits(start(SIZES, [1], dtype=torch.float64)(x), allowed)
    k = allowed.sum(-1)
    torch.testing.assert_close(objective("libra", "k")(outputs), loss_named("libra")(outputs) * k)
    torch.testing.assert_close(objective("uniform", "1/k")(outputs), loss_named("uniform")(outputs) / k)
    torch.testing.assert_close(objective("rc", 2.0)(outputs), loss_named("rc")(outputs) * 2)


def test_an_epoch_shows_each_model_every_sample_once_in_its_own_order() -> None:
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    batches = epoch_batches(1008, 256, generators)
    assert [batch.shape for batch in batches] == [(2, 252)] * 4
    seen = torch.cat(batches, 1)
    assert all(sorted(row) == list(range(1008)) for row in seen.tolist())
    assert seen[0].tolist() != seen[1].tolist()


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if not loss.needs_all_outputs])
def test_the_shortcut_for_shared_inputs_changes_neither_value_nor_gradient(loss: str) -> None:
    row = (torch.randn(3, 1, 100, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 4).requires_grad_()
    allowed = label_sets()[[0, 4, 9]].expand(3, -1, -1)
    results = []
    for outputs_of in (of_logits, near_outputs):
        value = loss_named(loss)(outputs_of(row.expand(-1, 3, -1), allowed))
        results.append((value, torch.autograd.grad(value.sum(), row)[0]))
    torch.testing.assert_close(results[0], results[1])


def test_predictions_are_the_most_probable_outputs() -> None:
    model = start((2, 2), [0], dtype=torch.float64)
    with torch.no_grad():
        model.weights[0].copy_(torch.eye(2))
    assert predictions(model, torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=torch.float64)).tolist() == [[0, 1]]
