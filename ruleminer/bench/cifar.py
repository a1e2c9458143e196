"""Figures 9 and 10 of the paper: CIFAR-10 under five noise matrices, CIFAR-100 under pools of distractors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ruleminer.bench.batched import objective
from ruleminer.bench.cifar_data import Images, find_archive, normalised, read_cifar
from ruleminer.bench.grids import noise_picture, noise_table
from ruleminer.bench.networks import cnn9, resnet18
from ruleminer.bench.noise import CASES, by_matrix, by_pool, noise_matrix
from ruleminer.bench.pll_data import benchmark_folder
from ruleminer.bench.tables import Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, chosen_losses
from ruleminer.learn.losses import of_logits

LOSSES = ("libra", "nll", "rc", "lws", "uniform", "sag")
TIMES: dict[str, str | float] = {"libra": "k", "rc": 2.0}
PAPER_ORDER = {
    10: (
        ("libra", "lws"),
        ("nll", "lws"),
        ("uniform", "lws"),
        ("libra", "uniform"),
        ("nll", "uniform"),
        ("libra", "sag"),
    ),
    100: tuple(("libra", other) for other in LOSSES[1:]),
}
TRAINING: dict[int, dict[str, Any]] = {
    10: {"network": "cnn9", "rate": 0.05, "momentum": 0.9, "weight_decay": 1e-3, "batch": 256, "halvings": 2},
    100: {"network": "resnet18", "rate": 0.1, "momentum": 0.9, "weight_decay": 5e-4, "batch": 128, "halvings": 4},
}
_SMOKE = {"images": 300, "tests": 100, "size": 16, "width": 0.0625, "epochs": 1, "seeds": 1}
_CPU = {"images": None, "tests": None, "size": 16, "width": 0.25, "seeds": 1}  # None: all that the archive has
_PAPER = {"images": None, "tests": None, "size": 32, "width": 1.0}
SCALES: dict[int, dict[str, dict[str, Any]]] = {
    10: {
        "smoke": _SMOKE | {"noises": (1,)},
        "cpu": _CPU | {"epochs": 5, "noises": (1, 3, 5)},
        "paper": _PAPER | {"epochs": 100, "noises": tuple(CASES), "seeds": 1},
    },
    100: {
        "smoke": _SMOKE | {"noises": ((0.1, 0.5),)},
        "cpu": _CPU | {"epochs": 8, "noises": ((0.1, 0.5), (0.1, 0.9))},
        "paper": _PAPER | {"epochs": 200, "noises": tuple(product((0.1, 0.3, 0.5, 0.7, 0.9), repeat=2)), "seeds": 3},
    },
}  # fmt: skip
_PACE = {10: 0.04, 100: 0.03}  # seconds per image and epoch at width 1 and 32 × 32 pixels


def _units(options: BenchOptions, classes: int) -> list[Unit]:
    scale = SCALES[classes][options.scale]
    archive = find_archive(benchmark_folder(options.data, "cifar"), classes)
    train, tests = _archive(archive, classes)
    count = min(scale["images"] or len(train.labels), len(train.labels))
    test_count = min(scale["tests"] or len(tests.labels), len(tests.labels))
    epochs = options.epochs or scale["epochs"]
    common = {"archive": archive.name, "images": count, "tests": test_count, "full": count == 50_000}
    common |= {"size": scale["size"], "width": scale["width"], "epochs": epochs, **TRAINING[classes]}
    # Narrow networks on small images spend their time on more than arithmetic.
    work = max(0.02, (scale["width"] * scale["size"] / 32) ** 2 * 1.5)
    seconds = _PACE[classes] * min(1.0, work) * epochs * (count + test_count / 3)
    units = []
    for noise in scale["noises"]:
        for loss in chosen_losses(options, LOSSES):
            for seed in range(options.seeds or scale["seeds"]):
                settings = common | {"loss": loss, "times": TIMES.get(loss, 1.0), "seed": seed}
                settings |= {"case": noise} if classes == 10 else {"pool": noise[0], "occurrence": noise[1]}
                told = f"case {noise}" if classes == 10 else f"pool {noise[0]:g} occurrence {noise[1]:g}"
                units.append(Unit(f"{told} {loss} seed {seed}", settings, seconds))
    return units


def _run(unit: Unit, options: BenchOptions, tick: Tick, classes: int) -> dict[str, Any]:
    settings, device = unit.settings, options.device
    archive = find_archive(benchmark_folder(options.data, "cifar"), classes)
    train, tests = _archive(archive, classes)
    x, truth = normalised(train, settings["size"])[: settings["images"]].to(device), train.labels[: settings["images"]]
    noise = torch.Generator().manual_seed(10_000 + settings["seed"])
    if classes == 10:
        allowed = by_matrix(truth, noise_matrix(settings["case"]), noise)
    else:
        allowed = by_pool(truth, classes, settings["pool"], settings["occurrence"], noise)
    with torch.random.fork_rng():  # the start and the dropout have their own luck, whoever ran before
        torch.manual_seed(settings["seed"])
        width, size = settings["width"], settings["size"]
        network = cnn9(classes, width, size) if settings["network"] == "cnn9" else resnet18(classes, width)
        network.to(device)
        _train(network, x, allowed.to(device), settings, tick)
    test_x, test_truth = normalised(tests, settings["size"])[: settings["tests"]].to(device), tests.labels
    right = _predictions(network, test_x).cpu() == test_truth[: settings["tests"]]
    return {"accuracy": [round(100 * right.double().mean().item(), 4)]}


def _train(network: nn.Module, x: Tensor, allowed: Tensor, settings: Any, tick: Tick) -> None:
    loss = objective(settings["loss"], settings["times"])
    momentum, decay = settings["momentum"], settings["weight_decay"]
    optimiser = torch.optim.SGD(network.parameters(), settings["rate"], momentum=momentum, weight_decay=decay)
    order = torch.Generator().manual_seed(20_000 + settings["seed"])
    epochs = settings["epochs"]
    network.train()
    for epoch in range(epochs):
        for group in optimiser.param_groups:
            group["lr"] = settings["rate"] * 0.5 ** (settings["halvings"] * epoch / epochs)
        batches = torch.split(torch.randperm(len(x), generator=order).to(x.device), settings["batch"])
        for i, batch in enumerate(batches):
            if len(batch) < 2:  # batch normalisation needs two
                continue
            optimiser.zero_grad()
            torch.autograd.backward(loss(of_logits(network(x[batch]), allowed[batch])).mean())
            optimiser.step()
            tick((epoch + (i + 1) / len(batches)) / epochs)


@torch.no_grad()
def _predictions(network: nn.Module, x: Tensor) -> Tensor:
    network.eval()
    return torch.cat([network(part).argmax(-1) for part in torch.split(x, 500)])


@cache
def _archive(path: Path, classes: int) -> tuple[Images, Images]:
    return read_cifar(path, classes)


def _kept(records: Sequence[Record]) -> str:
    """Which part of the data and of the network was used, for the table's title."""
    settings = records[0].settings
    data = "all images" if settings["full"] else f"a subset of {settings['images']:,} + {settings['tests']:,} images"
    network = settings["network"] + ("" if settings["width"] == 1 else f" at width ×{settings['width']:g}")
    return f"{data}, {settings['size']} × {settings['size']} pixels, {network}, {settings['epochs']} epochs"


def _tables(records: Sequence[Record], classes: int) -> list[Table]:
    title = f"CIFAR-{classes} test accuracy, %"
    return [noise_table(records, f"{title} ({_kept(records)})", PAPER_ORDER[classes])] if records else []


def _bench(classes: int, info: BenchInfo, figure: str) -> Bench:
    picture = f"{figure.lower().replace(' ', '-')}-cifar{classes}"
    return Bench(
        info=info,
        units=lambda options: _units(options, classes),
        run=lambda unit, options, tick: _run(unit, options, tick, classes),
        tables=lambda records: _tables(records, classes),
        pictures=lambda records, folder: noise_picture(records, folder, picture),
        notes=(
            f"The paper gives {figure} as a picture only: no numbers to put beside ours, only the order of losses.",
            "Below scale `paper` network, images and training are smaller; the table's title says by how much.",
            "Training as in the authors' published code: no augmentation; libra times k, rc times 2.",
        ),
    )


CIFAR10 = _bench(
    10,
    BenchInfo(
        name="cifar10",
        reproduces="Figure 9: CIFAR-10, five noise matrices, the 9-layer CNN (4,434,570 parameters)",
        cost="smoke seconds; cpu 28 min on one core (16 × 16 pixels, quarter width, 5 epochs, 3 cases); paper: a GPU",
        data="RULEMINER_DATA/cifar/cifar-10-python*.tar.gz (whole or a subset)",
        losses=LOSSES,
    ),
    "Figure 9",
)
CIFAR100 = _bench(
    100,
    BenchInfo(
        name="cifar100",
        reproduces="Figure 10: CIFAR-100, distractor pool × co-occurrence, ResNet-18 (11,220,132 parameters)",
        cost="smoke seconds; cpu 30 min on one core (16 × 16 pixels, quarter width, 8 epochs, 2 places); paper: a GPU",
        data="RULEMINER_DATA/cifar/cifar-100-python*.tar.gz (whole or a subset)",
        losses=LOSSES,
    ),
    "Figure 10",
)
