"""Table 6 of the paper: five real-world partial-label data sets, ten-fold cross-validation, a linear model and an MLP.

The ten folds of a data set, model and loss are one batched program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import torch
from matplotlib import pyplot as plt
from torch import Tensor

from ruleminer.bench.batched import Sgd, epoch_batches, objective, predictions, start, train_step
from ruleminer.bench.pictures import colour, save
from ruleminer.bench.pll_data import FILES, PartialLabels, benchmark_folder, find_partial_labels, read_partial_labels
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import (
    Bench,
    BenchInfo,
    BenchOptions,
    Record,
    Tick,
    Unit,
    chosen_losses,
    paper_numbers,
)

LOSSES = ("nll", "libra", "sag", "lws", "rc", "uniform", "merit(0.5)")
HIDDEN = {"linear": (), "mlp": (128, 128)}
# The published code's factors; they decide how far 300 epochs at the fixed rate of 0.1 get.
TIMES: dict[str, str | float] = {"libra": "k", "rc": 2.0}
RATES = (0.01, 0.03, 0.1, 0.3, 1.0)  # to choose from with --tune
TRAINING = {"rate": 0.1, "weight_decay": 1e-3, "halve_every": 50, "batch": 256}


@dataclass(frozen=True)
class Folds:
    """A data set cut for cross-validation, standardised by each fold's training part; (F, n, …) tensors.

    Training parts are cut to the same length (one sample less in some folds); held-out parts are padded, and `real`
    says where.
    """

    train_x: Tensor
    train_allowed: Tensor
    held_x: Tensor
    held_allowed: Tensor
    held_truth: Tensor
    real: Tensor  # (F, n) bool


def _units(options: BenchOptions) -> list[Unit]:
    folder = benchmark_folder(options.data, "pll")
    smoke = options.scale == "smoke"
    epochs, folds = options.epochs or (2 if smoke else 300), 3 if smoke else 10
    units = []
    for name, path in find_partial_labels(folder).items():
        if path is None:
            continue
        samples = len(_data(path, name).truth)
        for model, hidden in HIDDEN.items():
            for loss in chosen_losses(options, LOSSES):
                settings = {"dataset": name, "file": path.name, "samples": samples, "model": model, "hidden": hidden}
                settings |= {"loss": loss, "times": TIMES.get(loss, 1.0), "epochs": epochs, "folds": folds, **TRAINING}
                steps = epochs * -(-samples * (folds - 1) // (folds * TRAINING["batch"]))
                pace = 0.0025 if model == "linear" else 0.007
                for seed in range(options.seeds or 1):
                    key = f"{name} {model} {loss}" + (f" seed {seed}" if seed else "")
                    units.append(Unit(key, settings | {"seed": seed}, steps * pace * folds / 10))
                    if options.tune:
                        tuned = settings | {"seed": seed, "rates": RATES, "validated_on": "the first fold"}
                        units.append(Unit(f"{key} tuned", tuned, 1.5 * steps * pace * folds / 10))
    return units


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    settings = unit.settings
    data = _data(benchmark_folder(options.data, "pll") / settings["file"], settings["dataset"])
    generator = torch.Generator().manual_seed(settings["seed"])
    parts = fold_parts(len(data.truth), settings["folds"], generator)
    if "rates" in settings:
        return _tuned(data, parts, settings, options.device, tick)
    folds = cut(data, parts)
    accuracy = train_folds(folds, settings, [settings["rate"]] * len(parts), options.device, tick)
    return {"accuracy": _rounded(accuracy)}


def fold_parts(samples: int, folds: int, generator: torch.Generator) -> list[Tensor]:
    order = torch.randperm(samples, generator=generator)
    return [order[fold::folds] for fold in range(folds)]


def cut(data: PartialLabels, parts: Sequence[Tensor]) -> Folds:
    """One fold per part, held out."""
    helds = list(parts)
    trains = [torch.cat([part for i, part in enumerate(parts) if i != fold]) for fold in range(len(parts))]
    length, widest = min(map(len, trains)), max(map(len, helds))
    real = torch.stack([torch.arange(widest) < len(held) for held in helds])
    padded = torch.stack([torch.cat([held, held[:1].expand(widest - len(held))]) for held in helds])
    kept = torch.stack([train[:length] for train in trains])
    x = data.features[kept]  # (F, n, d)
    mean, deviation = x.mean(1, keepdim=True), x.std(1, keepdim=True, correction=0)
    deviation = deviation.where(deviation > 0, 1.0)  # a constant feature stays 0
    return Folds(
        ((x - mean) / deviation).float(),
        data.allowed[kept],
        ((data.features[padded] - mean) / deviation).float(),
        data.allowed[padded],
        data.truth[padded],
        real,
    )


def train_folds(folds: Folds, settings: Mapping[str, Any], rates: Sequence[float], device: str, tick: Tick) -> Tensor:
    """Train one model per rate and fold (rates in the folds' order, or that repeated); accuracy of each, in %."""
    model, held_x = _trained(folds, settings, rates, device, tick)
    copies = len(rates) // len(folds.real)
    right = (predictions(model, held_x) == folds.held_truth.to(device).repeat(copies, 1)) & folds.real.to(
        device
    ).repeat(copies, 1)
    return 100 * right.sum(-1).double().cpu() / folds.real.sum(-1).repeat(copies)


def _trained(
    folds: Folds, settings: Mapping[str, Any], rates: Sequence[float], device: str, tick: Tick
) -> tuple[Any, Tensor]:
    count, samples, features = folds.train_x.shape
    copies = len(rates) // count
    sizes = (features, *settings["hidden"], folds.train_allowed.shape[2])
    seeds = [1_000 * settings["seed"] + fold for fold in range(count)] * copies
    model = start(sizes, seeds, hidden_bias=False, normalise=bool(settings["hidden"]), device=device)
    x, allowed = folds.train_x.to(device), folds.train_allowed.to(device)
    loss = objective(settings["loss"], settings["times"])
    same = len(set(rates)) == 1
    rate: float | Tensor = rates[0] if same else torch.tensor(rates, device=device).view(-1, 1, 1)
    sgd = Sgd(rate, weight_decay=settings["weight_decay"])
    orders = [torch.Generator().manual_seed(7_000_003 + seed) for seed in seeds[:count]]
    rows = torch.arange(count, device=device)[:, None]
    for epoch in range(settings["epochs"]):
        factor = 0.5 ** (epoch / settings["halve_every"])
        for batch in epoch_batches(samples, settings["batch"], orders):
            index = batch.to(device)
            part_x, part_allowed = x[rows, index], allowed[rows, index]
            if copies > 1:
                part_x, part_allowed = part_x.repeat(copies, 1, 1), part_allowed.repeat(copies, 1, 1)
            train_step(model, part_x, part_allowed, loss, sgd, factor)
        tick((epoch + 1) / settings["epochs"])
    return model, folds.held_x.to(device).repeat(copies, 1, 1)


def _tuned(
    data: PartialLabels, parts: Sequence[Tensor], settings: Mapping[str, Any], device: str, tick: Tick
) -> dict[str, Any]:
    """Choose the rate on a validation split, by how often the prediction is an allowed label, then train all folds.

    The first part is the validation split, the others train. True labels are not looked at.
    """
    folds, rates = cut(data, parts), settings["rates"]
    split = Folds(*(getattr(folds, field.name)[:1] for field in fields(Folds)))
    model, held_x = _trained(split, settings, rates, device, lambda fraction: tick(fraction / 3))
    predicted = predictions(model, held_x).cpu()  # (rates, n)
    allowed = split.held_allowed.expand(len(rates), -1, -1).gather(2, predicted.unsqueeze(2))[..., 0]
    best = int((allowed & split.real).sum(-1).argmax())  # the first of equally good rates
    accuracy = train_folds(folds, settings, [rates[best]] * len(parts), device, lambda f: tick((1 + 2 * f) / 3))
    return {"accuracy": _rounded(accuracy), "chosen_rate": rates[best]}


@cache
def _data(path: Path, name: str) -> PartialLabels:
    return read_partial_labels(path, name)


def _rounded(values: Tensor) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def _tables(records: Sequence[Record]) -> list[Table]:
    paper = paper_numbers("real_world")["accuracy"]
    tables = [_table([r for r in records if "rates" not in r.settings], paper, "Accuracy, %", compare=True)]
    tuned = [record for record in records if "rates" in record.settings]
    if tuned:
        tables.append(
            _table(tuned, paper, "Accuracy with each loss's learning rate chosen on a validation split, %", False)
        )
        tables.append(_rates_table(tuned))
    return tables


def _table(records: Sequence[Record], paper: Mapping[str, Any], title: str, compare: bool) -> Table:
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        key = (record.settings["model"], record.settings["loss"], record.settings["dataset"])
        found.setdefault(key, []).extend(record.result["accuracy"])
    rows = []
    near = either = compared = 0
    for model, loss in dict.fromkeys((model, loss) for model, loss, _ in found):
        cells = []
        for dataset in FILES:
            told, told_std = paper.get(model, {}).get(loss, {}).get(dataset, (None, None)) if compare else (None, None)
            values = found.get((model, loss, dataset))
            if values is None:
                cells.append(Cell("no data", paper=told, paper_std=told_std))
                continue
            numbers = torch.tensor(values, dtype=torch.float64)
            cell = Cell(numbers.mean().item(), numbers.std().item(), told, told_std)
            if cell.deviations is not None and cell.difference is not None:
                compared, near = compared + 1, near + (cell.deviations <= 2)
                either += abs(cell.difference) <= 2 * max(cell.std or 0.0, told_std or 0.0)
            cells.append(cell)
        rows.append((f"{loss}, {model}", tuple(cells)))
    told = (
        f"{near} of {compared} cells within two of the paper's standard deviations, {either} within two of ours or its"
    )
    notes = (told,) if compared else ()
    return Table(title, tuple(FILES), tuple(rows), notes=notes)


def _rates_table(records: Sequence[Record]) -> Table:
    """The rates that were chosen."""
    rows: dict[str, dict[str, float]] = {}
    for record in records:
        settings = record.settings
        rows.setdefault(f"{settings['loss']}, {settings['model']}", {})[settings["dataset"]] = record.result[
            "chosen_rate"
        ]
    cells = tuple((name, tuple(Cell(found.get(dataset)) for dataset in FILES)) for name, found in rows.items())
    return Table("The learning rates chosen", tuple(FILES), cells, 2)


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    records = [record for record in records if "rates" not in record.settings]
    datasets = [name for name in FILES if any(record.settings["dataset"] == name for record in records)]
    if not records:
        return []
    paper = paper_numbers("real_world")["accuracy"]
    figure, axes = plt.subplots(2, len(datasets), figsize=(3.6 * len(datasets), 6), squeeze=False, sharey="col")
    for row, model in zip(axes, HIDDEN, strict=True):
        for axis, dataset in zip(row, datasets, strict=True):
            shown = [r for r in records if (r.settings["model"], r.settings["dataset"]) == (model, dataset)]
            for i, record in enumerate(shown):
                loss, values = record.settings["loss"], torch.tensor(record.result["accuracy"], dtype=torch.float64)
                axis.errorbar(i, values.mean(), values.std(), fmt="o", color=colour(loss), capsize=3)
                told = paper.get(model, {}).get(loss, {}).get(dataset)
                if told:
                    axis.errorbar(
                        i + 0.25,
                        *told,
                        fmt="_",
                        color="black",
                        alpha=0.6,
                        markersize=8,
                        label="paper" if i == 0 else None,
                    )
            axis.set_xticks(range(len(shown)), [r.settings["loss"] for r in shown], rotation=40, ha="right", fontsize=8)
            axis.set_title(f"{dataset}, {model}")
    axes[0][0].set_ylabel("accuracy, %")
    axes[1][0].set_ylabel("accuracy, %")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper right", fontsize=8)
    return [save(figure, folder, "table-6-real-world")]


BENCH = Bench(
    info=BenchInfo(
        name="real-world",
        reproduces="Table 6: Lost, MSRCv2, BirdSong, Soccer Player, Yahoo! News; linear and 3-layer MLP, 10 folds",
        cost="15 min for Lost, MSRCv2 and BirdSong; with --tune 40 min",
        data="RULEMINER_DATA/pll/*.mat (data, partial_target, target); absent sets are shown as 'no data'",
        losses=LOSSES,
    ),
    units=_units,
    run=_run,
    tables=_tables,
    pictures=_pictures,
    notes=(
        "As in the paper: SGD at rate 0.1, weight decay 1e-3, batches of 256, 300 epochs, 10 folds. Not in its text, "
        "but in the authors' published code and needed to come near its table: features standardised, the rate halved "
        "every 50 epochs, libra times k, rc without its ½. Without halving, nll reaches 71 on Lost (linear), not 62.",
        "rc then has the gradient of nll and gives its numbers; in the published code its weights lag by an epoch.",
        "The paper names no width for its MLP; ours has two hidden layers of 128 units, batch-normalised. Of 64, 128 "
        "and 256 units 128 come nearest (Lost, nll and libra: 50.3 and 57.9, 53.5 and 60.1, 56.9 and 67.2; paper 53.1 "
        "and 59.7).",
        "sag stays behind the paper's, whatever the weight of its penalty on logits (0 to 0.1). With libra's vanishing "
        "weight 1 − s on it, which the paper gives to libra only, a linear sag reaches 61.0 on BirdSong and 39.4 on "
        "MSRCv2 (58.0 on Lost): the paper's runs may have had it.",
        "lws has small gradients: at the fixed rate it is far from its end after 300 epochs, so its numbers are those "
        "of its step length. Times 2 it reaches 46.1 and 51.8 on Lost (linear, MLP), 31.9 and 42.9 on MSRCv2; see "
        "--tune for each loss at its own rate.",
        "--tune chooses the rate on the first fold's held-out part, by allowed labels, not by true ones; that part is "
        "also a tenth of what is then tested on.",
        "The paper's rc, MLP has libra's very numbers on BirdSong and Yahoo (72.4 ± 1.0, 60.4): perhaps a slip.",
    ),
)
