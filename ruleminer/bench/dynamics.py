"""Figures 2 to 6 of the paper: how gradient steps on nll and on libra move probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ruleminer.bench.batched import BatchedMlp, Sgd, objective, start, train_step
from ruleminer.bench.dynamics_plots import draw
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, paper_numbers
from ruleminer.learn.losses import libra_plain, nll, of_logits

A, B, C = 0, 1, 2
SAMPLES = {"AB": ((A, B),), "AB+AC": ((A, B), (A, C))}
STARTS = {
    "AB": ((0.25, 0.05, 0.70), (0.13, 0.17, 0.70), (0.05, 0.25, 0.70)),
    "AB+AC": ((0.003, 0.99, 0.007), (0.05, 0.05, 0.90), (0.01, 0.44, 0.55)),
}
ENDS: dict[str, Callable[[Tensor], Tensor]] = {
    "AB": lambda p: p[:, C] < 1e-4,
    "AB+AC": lambda p: p[:, A] > 0.9999,
}
HIDDEN = (100,) * 10  # the deep network of Figure 3
FIELD_STEP = 1 / 16
TRIALS = {3: 1000, 10: 1000, 100: 1000}


def _units(options: BenchOptions) -> list[Unit]:
    smoke = options.scale == "smoke"
    grid = 1 / 6 if smoke else FIELD_STEP
    limit = 50 if smoke else 40_000
    seed = 0
    units = [
        Unit(f"curves {loss}", {"kind": "curves", "loss": loss, "rate": 0.1, "steps": 100, "seed": seed}, 0.2)
        for loss in ("nll", "libra-plain")
    ]
    fields = [("AB", "softmax", "nll", 0.5), ("AB", "softmax", "libra-plain", 0.5)]
    fields += [("AB", "mlp", "nll", 0.05), ("AB", "mlp", "libra-plain", 0.05)]
    fields += [("AB+AC", "softmax", "nll", 1.0), ("AB+AC", "softmax", "nll", 10.0)]
    fields += [("AB+AC", "softmax", "libra-plain", 1.0)]
    fields += [("AB+AC", "mlp", "nll", 0.05), ("AB+AC", "mlp", "libra-plain", 0.05)]
    for samples, model, loss, rate in fields:
        settings = {"kind": "field", "samples": samples, "model": model, "loss": loss, "rate": rate}
        slow = (40.0 if model == "mlp" else 6.0) if loss == "nll" and not smoke else 1.0
        settings |= {"grid": grid, "limit": limit, "seed": seed}
        units.append(Unit(f"field {samples} {model} {loss} {rate:g}", settings, slow))
    for outputs, trials in TRIALS.items():
        for loss, times in (("nll", 1.0), ("libra-plain", "k")):
            settings = {"kind": "adversarial", "loss": loss, "times": times, "outputs": outputs, "rate": 0.1}
            settings |= {"pre": 20, "steps": 200, "seed": seed, "trials": 20 if smoke else options.seeds or trials}
            units.append(Unit(f"adversarial m={outputs} {loss}", settings, 0.2 if smoke else 2.0 + outputs / 20))
    return [*units, Unit("terms", {"kind": "terms"}, 0.1)]


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    match unit.settings["kind"]:
        case "curves":
            return _curves(unit.settings)
        case "field":
            return _field(unit.settings, tick)
        case "adversarial":
            return _adversarial(unit.settings)
        case _:
            return _terms()


def _curves(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Figure 2: one dense layer of 100 outputs on 10 inputs (1,100 parameters), one sample {A, B, C}."""
    model = start((10, 100), [settings["seed"]], dtype=torch.float64)
    if (count := sum(parameter.numel() for parameter in model.parameters())) != 1_100:
        raise AssertionError(f"the network of Figure 2 has 1,100 parameters, not {count}")
    generator = torch.Generator().manual_seed(settings["seed"] + 1)
    x = torch.randn(1, 1, 10, generator=generator, dtype=torch.float64)
    allowed = _allowed(((A, B, C),), 100)
    loss, sgd, path = objective(settings["loss"]), Sgd(settings["rate"]), []
    for _ in range(settings["steps"] + 1):
        path.append(_probabilities(model, x)[0, :3].tolist())
        train_step(model, x, allowed, loss, sgd)
    return {"path": path}


def _field(settings: Mapping[str, Any], tick: Tick) -> dict[str, Any]:
    """One step from every point of a grid on the simplex, and whole trajectories from the caption's points."""
    samples = SAMPLES[settings["samples"]]
    allowed = _allowed(samples, 3)
    loss = objective(settings["loss"], float(len(samples)))  # the paper's update sums over the samples
    grid = _grid(settings["grid"])
    model, x = _network_at(grid, settings)
    train_step(model, x, allowed.expand(len(grid), -1, -1), loss, Sgd(settings["rate"]))
    moves = _probabilities(model, x) - grid
    starts = torch.tensor(STARTS[settings["samples"]], dtype=torch.float64)
    starts = starts / starts.sum(-1, keepdim=True)
    paths, steps = _trajectories(starts, allowed, loss, settings, tick)
    return {"grid": _rounded(grid), "moves": _rounded(moves), "paths": paths, "steps": steps}


def _trajectories(
    starts: Tensor, allowed: Tensor, loss: Any, settings: Mapping[str, Any], tick: Tick
) -> tuple[list[list[list[float]]], list[int | None]]:
    """The way of each start until its end is reached, and the number of steps (None: not within the limit)."""
    model, x = _network_at(starts, settings)
    labels = allowed.expand(len(starts), -1, -1)
    sgd, reached = Sgd(settings["rate"]), ENDS[settings["samples"]]
    steps: list[int | None] = [None] * len(starts)
    paths: list[list[list[float]]] = [[] for _ in starts]
    for step in range(settings["limit"] + 1):
        p = _probabilities(model, x)
        for i, done in enumerate(reached(p).tolist()):
            if steps[i] is None:
                if step < 50 or step % max(1, step // 50) == 0 or done:
                    paths[i].append(_rounded(p[i]))
                steps[i] = step if done else None
        if None not in steps:
            break
        train_step(model, x, labels, loss, sgd)
        if step % 500 == 0:
            tick(step / settings["limit"])
    return paths, steps


def _network_at(points: Tensor, settings: Mapping[str, Any]) -> tuple[BatchedMlp, Tensor]:
    """Networks, one per point, whose output is exactly that point of the simplex: the last bias makes it so."""
    x = torch.ones(len(points), 1, 1, dtype=torch.float64)
    if settings["model"] == "softmax":
        weight = points.log().unsqueeze(2).clone().requires_grad_()  # the logits are the parameters
        return BatchedMlp([weight], [None]), x
    model = start((1, *HIDDEN, 3), [settings["seed"]] * len(points), dtype=torch.float64)
    with torch.no_grad():
        last = model.biases[-1]
        assert last is not None
        last += (points.log().unsqueeze(1) - model(x)).transpose(1, 2)
    return model, x


def _adversarial(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Example 5: some steps towards {B, C}, then {A, B} and {A, C}; how many trials do not end in A?

    The network is that of the authors' published code: a fixed embedding of 10 numbers within ±0.05, 10 hidden units.
    """
    trials, outputs = settings["trials"], settings["outputs"]
    seeds = [settings["seed"] + i for i in range(trials)]
    model = start((10, 10, outputs), seeds)
    x = embeddings(seeds)
    loss, sgd = objective(settings["loss"], settings["times"]), Sgd(settings["rate"])
    both = _allowed(SAMPLES["AB+AC"], outputs).expand(trials, -1, -1)
    path = []
    for step in range(settings["pre"] + settings["steps"] + 1):
        p = _probabilities(model, x)
        path.append(_rounded(p[0, :3]))
        towards = _allowed(((B, C),), outputs).expand(trials, -1, -1) if step < settings["pre"] else both
        if step < settings["pre"] + settings["steps"]:
            train_step(model, x, towards, loss, sgd)
    missed = (p.argmax(-1) != A).double().mean().item()
    return {"missed": missed, "mean_p_A": p[:, A].double().mean().item(), "path": path}


def embeddings(seeds: Sequence[int]) -> Tensor:
    """(M, 1, 10) fixed inputs, uniform within ±0.05, one per seed."""
    drawn = [torch.rand(1, 10, generator=torch.Generator().manual_seed(seed + 1_000_003)) for seed in seeds]
    return torch.stack(drawn) * 0.1 - 0.05


def _terms() -> dict[str, Any]:
    """Figure 6: libra of one allowed logit against all others (kept at 0), and its two terms."""
    z = torch.linspace(-8, 8, 161, dtype=torch.float64, requires_grad=True)
    outputs = of_logits(torch.stack([z, torch.zeros_like(z)], -1), torch.tensor([True, False]))
    libra = libra_plain(outputs)
    slope = torch.autograd.grad(libra.sum(), z, retain_graph=True)[0]
    values = {"libra": libra, "allowed": nll(outputs), "disallowed": outputs.log_rest}
    shown = {name: value.detach().tolist() for name, value in values.items()}
    return {"logit": z.tolist(), **shown, "slope": [slope.min().item(), slope.max().item()]}


def _probabilities(model: BatchedMlp, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model(x)[:, 0].softmax(-1)


def _allowed(samples: Sequence[Sequence[int]], outputs: int) -> Tensor:
    allowed = torch.zeros(1, len(samples), outputs, dtype=torch.bool)
    for i, labels in enumerate(samples):
        allowed[0, i, list(labels)] = True
    return allowed


def _grid(step: float) -> Tensor:
    """Inner points of the simplex on a triangular grid."""
    n = round(1 / step)
    points = [(i, j, n - i - j) for i in range(1, n) for j in range(1, n - i)]
    return torch.tensor(points, dtype=torch.float64) / n


def _rounded(values: Tensor) -> list[Any]:
    rounded: list[Any] = torch.round(values.double(), decimals=9).tolist()
    return rounded


def _tables(records: Sequence[Record]) -> list[Table]:
    paper = paper_numbers("dynamics")
    rows = []
    for record in records:
        if record.settings["kind"] == "field":
            told = paper["steps"].get(record.key, [None] * 3)
            counts = [step if step is not None else "not reached" for step in record.result["steps"]]
            cells = tuple(Cell(ours, paper=theirs) for ours, theirs in zip(counts, told, strict=True))
            rows.append((record.key.removeprefix("field "), cells))
    steps = Table("Steps to the end of the three trajectories", ("1st", "2nd", "3rd"), tuple(rows), digits=0)
    rows = []
    for record in records:
        if record.settings["kind"] == "adversarial":
            told = paper["missed"].get(record.key)
            cell = Cell(100 * record.result["missed"], paper=told)
            rows.append((f"{record.key.removeprefix('adversarial ')}, {record.settings['trials']} trials", (cell,)))
    missed = Table("Adversarial starts: trials that do not end in A, %", ("missed",), tuple(rows))
    return [table for table in (steps, missed) if table.rows]


BENCH = Bench(
    info=BenchInfo(
        name="dynamics",
        reproduces="Figures 2–6: winner takes all against kept ratios, fields, adversarial starts, libra's terms",
        cost="2 min",
        data="none",
        losses=("nll", "libra-plain"),
    ),
    units=_units,
    run=_run,
    tables=_tables,
    pictures=draw,
    notes=(
        "Libra is here the unweighted loss of Definition 4.9 (`libra-plain`), as in the paper's Section 4.",
        "Figure 3's learning rate is not in the paper. Libra's 14 steps from all three points pin it to 0.479–0.516 "
        "per logit; we take 0.5. By the symmetry of A and B the first and third counts of softmax regression must be "
        "equal; the paper's nll counts differ (8374, 9906), so its starts were reached only nearly.",
        "The paper counts its misses in 30 trials (m = 10) and 10 trials (m = 100); ours are 1,000 each.",
        "Networks start exactly in the named points: the last bias is set so. The deep one has 10 layers of 100 units.",
    ),
)
