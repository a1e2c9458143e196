"""RODI's score of our mappings: extracted from examples, proposed, validated; beside the best published tools.

Ours had examples (up to a hundred facts for each predicate that the pairs ask for), theirs had none: the table says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ruleminer.bench.frame import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, paper_numbers
from ruleminer.bench.pictures import save
from ruleminer.bench.tables import Cell, Table
from ruleminer.errors import InputError
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.problem.data_folder import data_folder
from ruleminer.propose.deliver import propose_mappings
from ruleminer.propose.propose import ProposeRequest
from ruleminer.propose.validation.validate import validate_mapping

SCENARIOS = (
    "cmt_naive",
    "cmt_naive_ci",
    "cmt_renamed",
    "cmt_structured",
    "cmt_structured_ci",
    "cmt_mixed",
    "cmt_denormalized",
    "conference_naive",
    "conference_naive_ci",
    "conference_renamed",
    "conference_structured",
    "conference_structured_ci",
    "conference_mixed",
    "conference_nofks",
    "npd",
)
MODES = ("none", "rdfs")
PEERS = ("BootOX", "MA4ROM")
_POSITIVES = {"smoke": 10, "cpu": 100, "paper": 100}


def _units(options: BenchOptions) -> list[Unit]:
    data = options.data or data_folder()
    if data is None:
        raise InputError("the bench rodi needs the RODI scenarios: set RULEMINER_DATA to their folder")
    there = [name for name in SCENARIOS if (data / "rodi" / name).is_dir()]
    chosen = [name for name in there if name == "cmt_renamed"] if options.scale == "smoke" else there
    return [
        Unit(
            f"{name}{', with guesses' if guess else ''}",
            {"scenario": name, "positives": _positives(name, options), "guess": guess, "modes": list(MODES)},
            900.0 if name == "npd" else 30.0,
        )
        for name in chosen
        for guess in ((False,) if name == "npd" else (False, True))
    ]


def _positives(name: str, options: BenchOptions) -> int:
    """As many as there are in the paper's datasets."""
    return 90 if name == "npd" else _POSITIVES[options.scale]


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    data = options.data or data_folder()
    assert data is not None
    name, positives = unit.settings["scenario"], unit.settings["positives"]
    scenario = data / "rodi" / name
    run = options.out / "rodi-runs" / f"{name}-{positives}"
    if not (run / "dataset").is_dir():
        extract_datasets(ExtractRequest(out=run, scenario=scenario, positives=positives))
    tick(0.4)
    guess = unit.settings["guess"]
    delivery = propose_mappings(ProposeRequest(run, out=run / ("guessed" if guess else "proposals"), guess=guess))
    result: dict[str, Any] = {"proposed": len(delivery.proposals.proposed), "seconds": delivery.proposals.seconds}
    for number, mode in enumerate(unit.settings["modes"]):
        tick(0.7 + 0.15 * number)
        scored = validate_mapping(delivery.folder / "mapping.ttl", scenario, reasoning=mode)
        result[mode] = {
            "precision": scored.precision,
            "recall": scored.recall,
            "f1": scored.f1,
            "strict_f1": scored.strict_f1,
            "triples": scored.triples,
            "queries": len(scored.queries),
            "exact": sum(query.perfect for query in scored.queries),
            "missed": [query.pair for query in scored.queries if not query.perfect][:60],
        }
    return result


def _tables(records: Sequence[Record]) -> list[Table]:
    published = paper_numbers("rodi")
    columns = (
        *(f"ours, {mode}{guess}" for guess in ("", ", guesses too") for mode in MODES),
        "queries exact (rdfs, guesses too)",
        *(f"{peer} (published, no examples)" for peer in PEERS),
    )
    rows = []
    for name in SCENARIOS:
        own = {r.settings["guess"]: r.result for r in records if r.settings["scenario"] == name}
        if own:
            cells = [Cell(own[g][mode]["f1"] if g in own else None) for g in (False, True) for mode in MODES]
            best = own.get(True, own.get(False))
            cells.append(Cell(f"{best['rdfs']['exact']} of {best['rdfs']['queries']}" if best else None))
            rows.append((name, (*cells, *(Cell(published[peer].get(name)) for peer in PEERS))))
    return [
        Table("RODI's score (F1, All) by reasoning; ours had examples, the others had none", columns, tuple(rows), 3)
    ]


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    published = paper_numbers("rodi")
    ours = {
        record.settings["scenario"]: record.result["rdfs"]["f1"]
        for record in records
        if record.settings["guess"] or record.settings["scenario"] == "npd"
    }
    names = [name for name in SCENARIOS if name in ours and any(name in published[peer] for peer in PEERS)]
    if not names:
        return []
    figure, axis = plt.subplots(figsize=(max(7.0, 1.1 * len(names) + 2), 3.6))
    width = 0.27
    places = np.arange(len(names))
    heights = [ours[name] for name in names]
    axis.bar(places - width, heights, width, color="#c62828", label="ruleminer, with examples (rdfs)")
    for number, (peer, colour) in enumerate(zip(PEERS, ("#90a4ae", "#37474f"), strict=True)):
        heights = [float(str(published[peer].get(name, 0.0)).partition("–")[0]) for name in names]
        axis.bar(places + number * width, heights, width, color=colour, label=f"{peer}, published, without")
    axis.set_xticks(places, [name.replace("_", "\n") for name in names])
    axis.set_ylabel("RODI F1")
    axis.set_ylim(0, 1.02)
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside upper center")
    return [save(figure, folder, "rodi")]


BENCH = Bench(
    BenchInfo(
        "rodi",
        "not in the paper: RODI's score of our mappings, beside BootOX and MA4ROM as published",
        "30 min, half of it NPD",
        "RULEMINER_DATA/rodi",
        (),
    ),
    _units,
    _run,
    _tables,
    _pictures,
    (
        "Ours had up to 100 example facts (NPD: 90) for each predicate that the query pairs ask for; the published "
        "tools had none. No model was trained: the evidence ranker.",
        "With guesses: terms without examples are mapped by their names alone (--guess).",
    ),
)
