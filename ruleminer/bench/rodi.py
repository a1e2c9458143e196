"""RODI's score of our mappings: drafted from no example, or proposed from some; beside the best published tools.

With no example we are given what the published tools are given: the database and the ontology.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ruleminer.bench.pictures import save
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit, paper_numbers
from ruleminer.errors import InputError
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.run import Run
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.validation.validate import validate_mapping

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
EXAMPLES = {"smoke": (0,), "cpu": (0, 1, 5, 100), "paper": (0, 1, 5, 100)}
_NPD = (0, 90)  # as many as there are in the paper's datasets


def _units(options: BenchOptions) -> list[Unit]:
    data = options.data or data_folder()
    if data is None:
        raise InputError("the bench rodi needs the RODI scenarios: set RULEMINER_DATA to their folder")
    there = [name for name in SCENARIOS if (data / "rodi" / name).is_dir()]
    chosen = [name for name in there if name == "cmt_renamed"] if options.scale == "smoke" else there
    return [
        Unit(
            f"{name}, {_told(examples)}",
            {"scenario": name, "positives": examples, "modes": list(MODES)},
            900.0 if name == "npd" else 30.0,
        )
        for name in chosen
        for examples in (_NPD if name == "npd" else EXAMPLES[options.scale])
    ]


def _told(examples: int) -> str:
    return f"{examples} example{'' if examples == 1 else 's'}" if examples else "no example"


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    data = options.data or data_folder()
    assert data is not None
    name, positives = unit.settings["scenario"], unit.settings["positives"]
    scenario = data / "rodi" / name
    run = Run(options.out / "rodi-runs" / f"{name}-{positives}")
    if positives:
        if not run.has_dataset:
            extract_datasets(ExtractRequest(out=run, scenario=scenario, positives=positives))
        tick(0.4)
        delivery = propose_mappings(ProposeRequest(run))
    else:
        opened = open_scenario(scenario)
        url = scenario_database(opened, cache_folder())
        delivery = draft_mapping(DraftRequest(db=url, ontology=opened.ontology_path, out=run, force=True))
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
    counts = sorted({record.settings["positives"] for record in records if record.settings["scenario"] != "npd"})
    columns = (
        *(f"{_told(count)}, {mode}" for count in counts for mode in MODES),
        "queries exact (no example, rdfs)",
        *(f"{peer} (published, no example)" for peer in PEERS),
    )
    rows = []
    for name in SCENARIOS:
        own = {r.settings["positives"]: r.result for r in records if r.settings["scenario"] == name}
        if own:
            # NPD has its most examples in the place of the others' most.
            shown = [own.get(count, own.get(90) if count == counts[-1] else None) for count in counts]
            cells = [Cell(one[mode]["f1"] if one else None) for one in shown for mode in MODES]
            none = own.get(0)
            cells.append(Cell(f"{none['rdfs']['exact']} of {none['rdfs']['queries']}" if none else None))
            rows.append((name, (*cells, *(Cell(published[peer].get(name)) for peer in PEERS))))
    return [
        Table("RODI's score (F1, All) by examples and reasoning; the others had no example", columns, tuple(rows), 3)
    ]


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    published = paper_numbers("rodi")
    ours = {
        record.settings["scenario"]: record.result["rdfs"]["f1"]
        for record in records
        if not record.settings["positives"]
    }
    names = [name for name in SCENARIOS if name in ours and any(name in published[peer] for peer in PEERS)]
    if not names:
        return []
    figure, axis = plt.subplots(figsize=(max(7.0, 1.1 * len(names) + 2), 3.6))
    width = 0.27
    places = np.arange(len(names))
    heights = [ours[name] for name in names]
    axis.bar(places - width, heights, width, color="#c62828", label="ruleminer, no example (rdfs)")
    for number, (peer, colour) in enumerate(zip(PEERS, ("#90a4ae", "#37474f"), strict=True)):
        heights = [float(str(published[peer].get(name, 0.0)).partition("–")[0]) for name in names]
        axis.bar(places + number * width, heights, width, color=colour, label=f"{peer}, published")
    axis.set_xticks(places, [name.replace("_", "\n") for name in names])
    axis.set_ylabel("RODI F1")
    axis.set_ylim(0, 1.02)
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside upper center")
    return [save(figure, folder, "rodi")]


BENCH = Bench(
    BenchInfo(
        "rodi",
        "not in the paper: RODI's score of our mappings, beside BootOX and MA4ROM as published",
        "60 min, half of it NPD",
        "RULEMINER_DATA/rodi",
        (),
    ),
    _units,
    _run,
    _tables,
    _pictures,
    (
        "With no example we are given what the published tools are given: the database and the ontology (`draft`). "
        "With examples: up to so many facts for each predicate that the query pairs ask for (NPD: 90).",
        "Terms without examples are decided by the network that we ship, which learnt from generated databases only, "
        "and are in the mapping where it is at least as sure as the default of --min-confidence.",
    ),
)
