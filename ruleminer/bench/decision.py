"""What the decision network is worth, part by part: without messages or meaning, loss by loss, with less to learn.

Every network learns from the same generated databases and is judged on the same others, which it never saw; no data of
real life is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import torch

from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, chosen_losses
from ruleminer.errors import InputError
from ruleminer.learn.decision_problem import Problem
from ruleminer.learn.decision_training import LOSSES, DecisionOptions, judge, train_network
from ruleminer.pretraining.corpus import VERSION, make_corpus, make_held_out, read_corpus
from ruleminer.pretraining.pretrain import LEARNT, measured
from ruleminer.pretraining.variation import varied, without_meaning
from ruleminer.structure.meaning import PACKAGE, meaning


@dataclass(frozen=True, slots=True)
class _Scale:
    databases: int
    held_out: int
    passes: int
    curve: tuple[int, ...]  # fewer databases to learn from


_SCALES = {
    "smoke": _Scale(3, 2, 1, ()),
    "cpu": _Scale(160, 24, 6, (20, 40, 80)),
    "paper": _Scale(250, 24, 10, (15, 30, 60, 125)),
}
_WHOLE, _NO_MESSAGES, _NO_MEANING = "the network", "without messages", "without meaning"


def _units(options: BenchOptions) -> list[Unit]:
    scale = _SCALES[options.scale]
    losses = chosen_losses(options, tuple(LOSSES))
    if unknown := [name for name in losses if name not in LOSSES]:
        raise InputError(f"the decision network learns with {', '.join(LOSSES)}, not with {', '.join(unknown)}")
    passes = options.epochs or scale.passes
    common = {"databases": scale.databases, "held_out": scale.held_out, "passes": passes, "problems": VERSION}
    wanted: dict[str, dict[str, Any]] = {
        f"{_WHOLE}, {losses[0]}": {"loss": losses[0]},
        _NO_MESSAGES: {"loss": losses[0], "messages": False},
        _NO_MEANING: {"loss": losses[0], "meaning": False},
        **{f"{_WHOLE}, {loss}": {"loss": loss} for loss in losses[1:]},
        **{f"{count} databases to learn from": {"loss": losses[0], "databases": count} for count in scale.curve},
    }
    return [
        Unit(f"{name}{f', seed {seed}' if seed else ''}", {**common, **own, "seed": seed}, 5.0 * scale.databases)
        for seed in range(options.seeds or 1)
        for name, own in wanted.items()
    ]


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    known = meaning()
    if known is None:
        raise InputError(f"the bench decision needs the package {PACKAGE}, so that names are learnt by meaning, too")
    settings = unit.settings
    home = options.out / "decision-problems"
    seeds = make_corpus(home / "problems", settings["databases"], known)
    tick(0.4)
    others = make_held_out(home / "held-out", settings["held_out"], known)
    tick(0.5)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        problems = [problem.shortened(LEARNT) for problem in read_corpus(home / "problems", seeds)]
        knows = settings.get("meaning", True)
        taught = DecisionOptions(
            loss=settings["loss"],
            passes=settings["passes"],
            messages=settings.get("messages", True),
            seed=settings["seed"],
        )
        network = train_network(
            problems,
            varied if knows else _varied_without_meaning,
            taught,
            lambda done, loss: tick(0.5 + 0.45 * done / taught.passes),
        )
        held_out = list(read_corpus(home / "held-out", others))
        scores: Mapping[str, Mapping[str, float]] = (
            measured(network, held_out)
            if knows
            else {"no example": asdict(judge(network, held_out, lambda problem, generator: without_meaning(problem)))}
        )
    finally:
        torch.set_num_threads(before)
    return {"problems": len(problems), "scores": scores}


def _varied_without_meaning(problem: Problem, generator: Random) -> Problem:
    return without_meaning(varied(problem, generator))


_SHOWN = (
    ("right", "all terms"),
    ("right_of_mapped", "right rule, of terms in the data"),
    ("none_found", "none, of terms that are not"),
    ("precision", "right, of what is mapped"),
    ("recall", "mapped and right, of terms in the data"),
    ("log_loss", "log loss"),
)


def _tables(records: Sequence[Record]) -> list[Table]:
    columns = tuple(title for _, title in _SHOWN)
    drawn = [(record.key, record.result["scores"]["no example"]) for record in records]
    first = next((record for record in records if record.key.startswith(_WHOLE)), None)
    tables = [Table("No example: networks that learnt otherwise", columns, _rows(drawn), 3)]
    if first is not None:
        given = list(first.result["scores"].items())
        tables.append(Table(f"By what is given: {first.key}", columns, _rows(given), 3))
    return tables


def _rows(scores: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[tuple[str, tuple[Cell, ...]], ...]:
    return tuple((name, tuple(Cell(own[field]) for field, _ in _SHOWN)) for name, own in scores)


BENCH = Bench(
    BenchInfo(
        "decision",
        "not in the paper: the decision network without its parts, loss by loss, and with less to learn from",
        "2 h",
        "none: generated databases",
        tuple(LOSSES),
    ),
    _units,
    _run,
    _tables,
    lambda records, folder: [],
    (
        "Judged are generated databases that nobody learnt from, half of them of domains that were written as a whole.",
        "Mapped is a rule that the network gives at least the default of --min-confidence.",
        "With examples these are hypotheses of the structure alone, fewer than extraction finds.",
    ),
)
