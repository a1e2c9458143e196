"""Many small networks trained at once, as one batched tensor program.

A weight is (M, out, in): one matrix per model. A step multiplies all of them with `torch.baddbmm`, sums the
models' losses and differentiates that one number: models share no parameter, so each gets its own gradient,
as if it were trained alone. Each model draws its start from its own seed, so it does not matter with which
others it is trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from ruleminer.learn.losses import Outputs, loss_named, of_logits

Objective = Callable[[Outputs], Tensor]
EPSILON, RUNNING = 1e-5, 0.1  # of batch normalisation, as everywhere


def objective(name: str, times: str | float = 1.0) -> Objective:
    """A loss by its name, times a number or (`"k"`) times each sample's number of allowed outputs.

    The factor changes nothing but the step length. The paper's formulae have none, its authors' published code has:
    k for libra, 1/k for uniform, 2 for rc (formula: ½).
    """
    loss = loss_named(name)
    if times == "k":
        return lambda outputs: loss(outputs) * outputs.allowed.sum(-1)
    if times == "1/k":
        return lambda outputs: loss(outputs) / outputs.allowed.sum(-1)
    factor = float(times)
    return lambda outputs: loss(outputs) * factor


@dataclass
class BatchedMlp:
    """M multilayer perceptrons with ReLU between their layers, batch-normalised before it where `means` are given.

    Inside, a batch is (M, features, B), samples last: to normalise over a batch is then `layer_norm`, one kernel.
    """

    weights: list[Tensor]  # (M, out, in)
    biases: list[Tensor | None]  # (M, out, 1)
    means: list[Tensor] = field(default_factory=list)  # (M, out, 1), running, of the hidden layers
    variances: list[Tensor] = field(default_factory=list)

    def __call__(self, x: Tensor, training: bool = False) -> Tensor:
        """(M, B, in) to logits (M, B, out)."""
        x = x.transpose(1, 2)
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.bmm(weight, x) if bias is None else torch.baddbmm(bias, weight, x)
            if layer < last:
                x = (self._normalised(layer, x, training) if self.means else x).relu()
        return x.transpose(1, 2)

    def _normalised(self, layer: int, x: Tensor, training: bool) -> Tensor:
        mean, variance = self.means[layer], self.variances[layer]
        if not training:
            return (x - mean) * torch.rsqrt(variance + EPSILON)
        batch = x.shape[-1]
        x, new_mean, scale = torch.native_layer_norm(x, (batch,), None, None, EPSILON)
        with torch.no_grad():
            new_variance = (scale**-2 - EPSILON) * (batch / max(1, batch - 1))
            mean.lerp_(new_mean, RUNNING)
            variance.lerp_(new_variance, RUNNING)
        return x

    def parameters(self) -> list[Tensor]:
        return [*self.weights, *(bias for bias in self.biases if bias is not None)]

    def parameter_count(self) -> int:
        """Of one model."""
        return sum(parameter[0].numel() for parameter in self.parameters())


def start(
    sizes: Sequence[int],
    seeds: Sequence[int],
    hidden_bias: bool = True,
    normalise: bool = False,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> BatchedMlp:
    """One network per seed: Glorot-uniform weights, biases of zero."""
    shapes = list(pairwise(sizes))
    drawn: list[list[Tensor]] = [[] for _ in shapes]
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        for layer, (inputs, outputs) in enumerate(shapes):
            bound = math.sqrt(6.0 / (inputs + outputs))
            drawn[layer].append((torch.rand(outputs, inputs, generator=generator, dtype=dtype) * 2 - 1) * bound)
    weights = [torch.stack(layer).to(device).requires_grad_() for layer in drawn]
    columns = [torch.zeros(len(seeds), outputs, 1, dtype=dtype, device=device) for _, outputs in shapes]
    biases = [column.clone().requires_grad_() for column in columns]
    hidden = columns[:-1] if normalise else []
    return BatchedMlp(
        weights,
        [bias if hidden_bias or bias is biases[-1] else None for bias in biases],
        [column.clone() for column in hidden],
        [torch.ones_like(column) for column in hidden],
    )


@dataclass
class Sgd:
    """Stochastic gradient descent; the learning rate is one number, or (M, 1, 1) for one per model."""

    learning_rate: float | Tensor
    momentum: float = 0.0
    weight_decay: float = 0.0
    _velocity: list[Tensor] = field(default_factory=list)

    @torch.no_grad()
    def step(self, parameters: Sequence[Tensor], gradients: Sequence[Tensor], factor: float = 1.0) -> None:
        """One step, with the learning rate times `factor`."""
        rate = self.learning_rate * factor
        if self.momentum and not self._velocity:
            self._velocity = [torch.zeros_like(parameter) for parameter in parameters]
        for i, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
            direction = gradient.add(parameter, alpha=self.weight_decay) if self.weight_decay else gradient
            if self.momentum:
                direction = self._velocity[i].mul_(self.momentum).add_(direction)
            if isinstance(rate, Tensor):
                parameter.sub_(direction * rate)
            else:
                parameter.sub_(direction, alpha=rate)


def train_step(
    model: BatchedMlp,
    x: Tensor,
    allowed: Tensor,
    loss: Objective,
    sgd: Sgd,
    factor: float = 1.0,
    outputs_of: Callable[[Tensor, Tensor], Outputs] = of_logits,
) -> None:
    """One step of all models: x (M, B, in), allowed (M, B, out); each model's loss is its own mean over B.

    An input of B = 1 may stand for several samples that share it.
    """
    logits = model(x, training=True).expand(-1, allowed.shape[1], -1)
    total = loss(outputs_of(logits, allowed)).mean(-1).sum()
    parameters = model.parameters()
    sgd.step(parameters, torch.autograd.grad(total, parameters), factor)


def epoch_batches(samples: int, size: int, generators: Sequence[torch.Generator]) -> list[Tensor]:
    """The batches of an epoch, as (M, b) indices: for each model its own order, cut into pieces of at most `size`.

    The pieces are as even as can be, so that no model sees a tiny batch; what does not divide waits for the next
    epoch (fewer samples than there are pieces).
    """
    pieces = math.ceil(samples / size)
    even = samples // pieces
    orders = torch.stack([torch.randperm(samples, generator=generator) for generator in generators])
    return [orders[:, i * even : (i + 1) * even] for i in range(pieces)]


@torch.no_grad()
def predictions(model: BatchedMlp, x: Tensor) -> Tensor:
    """(M, B) most probable outputs."""
    return model(x).argmax(-1)
