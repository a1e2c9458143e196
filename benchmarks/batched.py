"""Many trainings as one batched program against one ordinary PyTorch training at a time: same networks, both timed.

    python benchmarks/batched.py [--starts 100] [--epochs 100] [--threads 2] [--out batched.json]

Two programs of the bench room: the starts of synthetic-small (tiny networks, one shared input) and the ten folds of
real-world (on random data of BirdSong's shape). The baseline trains `nn.Sequential` with `optim.SGD`, from the same
start, on the same batches; the greatest difference of any probability at the end is reported with the times.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ruleminer.bench.batched import BatchedMlp, Sgd, epoch_batches, objective, start, train_step
from ruleminer.bench.dynamics import embeddings
from ruleminer.bench.synthetic_small import label_sets
from ruleminer.learn.losses import loss_named, of_logits

Batches = list[tuple[Tensor, Tensor]]  # for each step x (M, B, in) and allowed (M, B, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100, help="networks of the synthetic-small program")
    parser.add_argument("--epochs", type=int, default=100, help="epochs of the synthetic-small program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the result here as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    results = {"threads": options.threads, "torch": torch.__version__, "programs": []}
    for name, program in (
        ("synthetic-small starts, libra", lambda: small_program(options.starts, options.epochs)),
        ("real-world folds, linear, libra", lambda: folds_program((38, 13), steps=180)),
        ("real-world folds, mlp, libra", lambda: folds_program((38, 128, 128, 13), steps=60)),
    ):
        results["programs"].append(compare(name, *program()))
    text = json.dumps(results, indent=2)
    sys.stdout.write(text + "\n")
    if options.out:
        temporary = options.out.with_name(options.out.name + ".tmp")
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(options.out)


def small_program(starts: int, epochs: int) -> tuple[BatchedMlp, Batches, float]:
    seeds = list(range(starts))
    samples, x = label_sets(), embeddings(seeds)
    order = torch.Generator().manual_seed(0)
    batches: Batches = []
    for _ in range(epochs):
        parts = torch.split(torch.rand(starts, len(samples), generator=order).argsort(-1), 5, dim=1)
        batches += [(x, samples[part]) for part in parts]
    return start((10, 10, 100), seeds), batches, 0.1


def folds_program(sizes: tuple[int, ...], steps: int, folds: int = 10) -> tuple[BatchedMlp, Batches, float]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(folds, 4_498, sizes[0], generator=generator)
    allowed = torch.rand(folds, 4_498, sizes[-1], generator=generator) < 0.1
    allowed[..., 0] = True
    orders = [torch.Generator().manual_seed(fold) for fold in range(folds)]
    rows = torch.arange(folds)[:, None]
    batches: Batches = []
    while len(batches) < steps:
        batches += [(x[rows, index], allowed[rows, index]) for index in epoch_batches(4_498, 256, orders)]
    model = start(sizes, range(folds), hidden_bias=False, normalise=len(sizes) > 2)
    return model, batches[:steps], 0.1


def compare(name: str, model: BatchedMlp, batches: Batches, rate: float) -> dict[str, Any]:
    alone = [network_of(model, i) for i in range(len(model.weights[0]))]
    loss, sgd = objective("libra", "k"), Sgd(rate, weight_decay=1e-3)

    def together() -> None:
        for x, allowed in batches:
            train_step(model, x, allowed, loss, sgd)

    def one_at_a_time() -> None:
        for i, network in enumerate(alone):
            train_alone(network, [(x[i], allowed[i]) for x, allowed in batches], rate)

    batched, single = timed(together), timed(one_at_a_time)
    x = batches[-1][0]
    with torch.no_grad():
        ours = model(x).softmax(-1)
        theirs = torch.stack([network.eval()(x[i]).softmax(-1) for i, network in enumerate(alone)])
    return {
        "program": name,
        "models": len(alone),
        "steps": len(batches),
        "batched_seconds": round(batched, 3),
        "one_at_a_time_seconds": round(single, 3),
        "ratio": round(single / batched, 1),
        "greatest_difference_of_a_probability": float((ours - theirs).abs().max()),
        "equal_predictions": float((ours.argmax(-1) == theirs.argmax(-1)).double().mean()),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def network_of(model: BatchedMlp, i: int) -> nn.Sequential:
    """Model i of a batched program as an ordinary PyTorch network."""
    layers: list[nn.Module] = []
    last = len(model.weights) - 1
    for layer, (weight, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        linear = nn.Linear(weight.shape[2], weight.shape[1], bias=bias is not None)
        with torch.no_grad():
            linear.weight.copy_(weight[i])
            if bias is not None:
                linear.bias.copy_(bias[i, :, 0])
        layers.append(linear)
        if layer < last:
            layers += [nn.BatchNorm1d(weight.shape[1], affine=False)] if model.means else []
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def train_alone(network: nn.Sequential, batches: Batches, rate: float) -> None:
    loss = loss_named("libra")
    optimiser = torch.optim.SGD(network.parameters(), rate, weight_decay=1e-3)
    network.train()
    for x, allowed in batches:
        optimiser.zero_grad()
        logits = network(x).expand(len(allowed), -1)
        (loss(of_logits(logits, allowed)) * allowed.sum(-1)).mean().backward()
        optimiser.step()


def timed(work: Callable[[], None]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
