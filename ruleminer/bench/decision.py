"""What the decision network is worth, part by part: without messages or meaning, loss by loss, with less to learn.

Every network learns from the same generated databases and is judged on the same others, which it never saw; no data of
real life is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import torch
from torch import Tensor

from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, chosen_losses
from ruleminer.errors import InputError
from ruleminer.learn.decision_network import Tensors
from ruleminer.learn.decision_problem import Problem
from ruleminer.learn.decision_training import LOSSES, DecisionOptions, Vary, judge, train_network
from ruleminer.pretraining.corpus import VERSION, make_corpus, make_held_out, read_corpus
from ruleminer.pretraining.pretrain import LEARNT, measured
from ruleminer.pretraining.variation import bare, varied, without_meaning
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.structure.meaning import PACKAGE, meaning


@dataclass(frozen=True, slots=True)
class _Scale:
    databases: int
    held_out: int
    passes: int
    curve: tuple[int, ...]  # fewer databases to learn from


_SCALES = {
    "smoke": _Scale(3, 2, 1, ()),
    "cpu": _Scale(60, 12, 4, (15, 30)),
    "paper": _Scale(260, 36, 6, (30, 60, 120)),
}
_WHOLE, _NO_MESSAGES, _NO_MEANING = "the network", "without messages", "without meaning"
_NO_VALUES, _BY_HAND = "without values", "weights set by hand"
_VALUES = [n for n, name in enumerate(FEATURES) if name.startswith(("looks", "datatype"))]


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
        _NO_VALUES: {"loss": losses[0], "values": False},
        _BY_HAND: {"loss": losses[0], "by_hand": True},
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
        problems = list(read_corpus(home / "problems", seeds, LEARNT))
        held_out = list(read_corpus(home / "held-out", others))
        if settings.get("by_hand"):
            return {"problems": 0, "scores": {"no example": asdict(judge(by_hand, held_out, bare))}}
        knows = settings.get("meaning", True)
        given: Vary = bare if knows else lambda problem, generator: without_meaning(problem)
        met: Vary = varied if knows else _varied_without_meaning
        if not settings.get("values", True):
            given, met = _without_values, _varied_without_values
        taught = DecisionOptions(
            loss=settings["loss"],
            passes=settings["passes"],
            messages=settings.get("messages", True),
            seed=settings["seed"],
        )
        network = train_network(problems, met, taught, lambda done, loss: tick(0.5 + 0.45 * done / taught.passes))
        scores: Mapping[str, Mapping[str, float]] = (
            measured(network, held_out) if given is bare else {"no example": asdict(judge(network, held_out, given))}
        )
    finally:
        torch.set_num_threads(before)
    return {"problems": len(problems), "scores": scores}


def _varied_without_meaning(problem: Problem, generator: Random) -> Problem:
    return without_meaning(varied(problem, generator))


def _without_values(problem: Problem, generator: Random) -> Problem:
    features = problem.features.copy()
    features[..., _VALUES] = 0.0
    return replace(problem, features=features)


def _varied_without_values(problem: Problem, generator: Random) -> Problem:
    return _without_values(varied(problem, generator), generator)


def by_hand(problem: Tensors) -> list[Tensor]:
    """Logits by weights that somebody set: how well names fit, at both ends, keys before links, and short rules.

    They are those that choose which hypotheses the network sees. *None* where no name fits half.
    """
    column = {name: number for number, name in enumerate(FEATURES)}

    def told(name: str) -> Tensor:
        return problem.features[..., column[name]]

    names = torch.maximum(told("letters: best"), 0.8 * told("meaning: best"))
    ends = told("letters: domain table") + told("letters: range table")
    logits = 7.0 * names + 2.0 * ends + 3.0 * told("subject key") - 10.0 * told("length")
    logits = logits + told("datatype fits") + told("looks as named")
    best = logits[:, 1:].max(-1).values
    logits[:, 0] = torch.where(names[:, 1:].max(-1).values < 0.5, best + 1.0, best - 1.0)
    return [logits.masked_fill(~problem.there, -1e4)]


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
        "20 min",
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
