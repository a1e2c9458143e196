"""The mapping study: how right is the proposed mapping, by how many examples, how many of them wrong, and what names.

Not in the paper. A unit is one scenario with all draws of its examples, numbers of examples and rankers. The measure is
the mapping itself, run on the database against all true facts (examples left out).
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ruleminer.bench.frame import Bench, BenchInfo, BenchOptions, Record, Tick, Unit
from ruleminer.bench.mapping_trials import Outcome, Trials, World
from ruleminer.bench.pictures import save
from ruleminer.bench.tables import Cell, Table
from ruleminer.errors import InputError
from ruleminer.extract.dataset import read_dataset
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.problem.data_folder import cache_folder, data_folder
from ruleminer.problem.database import Database, open_database
from ruleminer.problem.generator.generate import generate_scenario
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import Scenario, all_facts, open_scenario, scenario_database
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.judge import Judge
from ruleminer.propose.pool import candidate_sets
from ruleminer.propose.ranking import Ranker

RODI = (
    "cmt_naive",
    "cmt_naive_ci",
    "cmt_renamed",
    "cmt_structured",
    "cmt_structured_ci",
    "cmt_mixed",
    "cmt_denormalized",
)
KINDS = ("plain", "renaming", "cleaning", "restructuring", "denormalising")
NAMES = ("same", "abbreviated", "opaque")
CLEAN = ((0, 0.0), (1, 0.0), (2, 0.0), (5, 0.0), (10, 0.0), (20, 0.0), (100, 0.0))
WRONG = ((10, 0.1), (10, 0.3), (100, 0.1), (100, 0.3))
RANKERS = (Ranker.COVERAGE, Ranker.EVIDENCE)
_DOMAINS = {"workshop": str(files("ruleminer") / "demo.toml")}
_MOST_FACTS = 150  # known facts of a predicate, from which examples are drawn
_STYLES = {Ranker.COVERAGE: ("#757575", "s", "--"), Ranker.EVIDENCE: ("#c62828", "o", "-")}


def _units(options: BenchOptions) -> list[Unit]:
    draws = options.seeds or {"smoke": 1, "cpu": 5, "paper": 10}[options.scale]
    steps = [*CLEAN, *WRONG] if options.scale != "smoke" else [(0, 0.0), (1, 0.0), (5, 0.0), (10, 0.3)]
    return [
        Unit(
            scenario if names is None else f"{scenario}, {names} names",
            {"scenario": scenario, "names": names, "draws": draws, "steps": steps, "db": options.db is not None},
            draws * (25.0 if names is None else 12.0),
        )
        for scenario, names in _scenarios(options)
    ]


def _scenarios(options: BenchOptions) -> Iterable[tuple[str, str | None]]:
    if options.scale == "smoke":
        yield "workshop-restructuring", "same"
        return
    domains = ("workshop",) if options.scale == "cpu" else ("workshop", "university", "hospital")
    data = options.data or data_folder()
    if data is not None:
        yield from ((name, None) for name in RODI if (data / "rodi" / name).is_dir())
    if options.db is None:
        yield from ((f"{domain}-{kind}", names) for domain in domains for kind in KINDS for names in NAMES)


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    name, names = unit.settings["scenario"], unit.settings["names"]
    scenario = _scenario(name, names, options)
    ontology = read_ontology(scenario.ontology_path)
    url = options.db or scenario_database(scenario, cache_folder())
    with open_database(url, schema=name if options.db else None) as database:
        world = _world(scenario, ontology, database, _folder(options) / "datasets" / f"{name}-{names}")
        trials = Trials(world, Judge(ontology, Extensions(database), live=False))
        work = [(draw, *step) for draw in range(unit.settings["draws"]) for step in unit.settings["steps"]]
        results: list[dict[str, Any]] = []
        for number, (draw, examples, wrong) in enumerate(work):
            tick(number / len(work))
            outcomes = trials.run(examples, wrong, draw, RANKERS)
            results += [{"draw": draw, **_summary(examples, wrong, *found)} for found in outcomes.items()]
        ceilings = [trials.ceiling(predicate) for predicate in world.truth]
    best = sum(value == 1.0 for value in ceilings)
    return {"results": results, "predicates": len(ceilings), "one_rule_is_enough_for": best}


def _folder(options: BenchOptions) -> Path:
    return options.out / "mapping"


def _scenario(name: str, names: str | None, options: BenchOptions) -> Scenario:
    if names is None:
        data = options.data or data_folder()
        if data is None:
            raise InputError("the mapping study on RODI scenarios needs RULEMINER_DATA")
        return open_scenario(data / "rodi" / name)
    folder = _folder(options) / "scenarios" / f"{name}-{names}"
    if not folder.is_dir():
        domain, _, kind = name.partition("-")
        generate_scenario(folder, domain=_DOMAINS.get(domain, domain), kind=kind, names=names, size=1500, seed=1)
    return open_scenario(folder)


def _world(scenario: Scenario, ontology: Ontology, database: Database, run: Path) -> World:
    """All true facts, and the candidates of some, extracted once and kept."""
    request = ExtractRequest(
        out=run, scenario=scenario.folder, positives=_MOST_FACTS, negatives="none", force=True, max_candidates=0
    )
    if not (run / "dataset").is_dir():
        shutil.rmtree(run, ignore_errors=True)
        extract_datasets(request)
    known = {predicate: found.positives for predicate, found in candidate_sets(read_dataset(run)).items()}
    truth: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for fact in all_facts(scenario, ontology, database).facts.to_pylist():
        truth[fact["predicate"]].add(tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None))
    both = sorted(predicate for predicate in truth if known.get(predicate))
    return World(ontology, {p: frozenset(truth[p]) for p in both}, {p: known[p] for p in both})


def _summary(examples: int, wrong: float, ranker: Ranker, found: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "examples": examples,
        "wrong": wrong,
        "ranker": str(ranker),
        "precision": float(np.mean([one.precision for one in found])),
        "recall": float(np.mean([one.recall for one in found])),
        "f1": float(np.mean([one.f1 for one in found])),
        "exact": sum(one.exact for one in found),
        "misses": [[one.predicate, round(one.f1, 3), list(one.rules), one.why] for one in found if not one.exact],
    }


def _tables(records: Sequence[Record]) -> list[Table]:
    tables = [_scenario_table(records, "f1", 3), _scenario_table(records, "exact", 1)]
    tables.append(_names_table(records))
    return [table for table in tables if table.rows] + [_why_table(records)]


def _values(records: Iterable[Record], step: tuple[int, float], ranker: Ranker, what: str) -> list[float]:
    return [
        float(result[what])
        for record in records
        for result in record.result["results"]
        if (result["examples"], result["wrong"], result["ranker"]) == (*step, str(ranker))
    ]


def _cell(values: Sequence[float]) -> Cell:
    return Cell(float(np.mean(values)), float(np.std(values))) if values else Cell(None)


def _steps(records: Sequence[Record]) -> list[tuple[int, float]]:
    return list(dict.fromkeys((r["examples"], r["wrong"]) for record in records for r in record.result["results"]))


def _step_name(step: tuple[int, float]) -> str:
    return f"{step[0]}" + (f", {step[1]:.0%} wrong" if step[1] else "")


def _scenario_table(records: Sequence[Record], what: str, digits: int) -> Table:
    steps = _steps(records)
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        names = record.settings["names"]
        groups[record.settings["scenario"] + (f", {names} names" if names else "")].append(record)
    rows = [
        (
            f"{name} ({own[0].result['predicates']}): {ranker}",
            tuple(_cell(_values(own, step, ranker, what)) for step in steps),
        )
        for name, own in groups.items()
        for ranker in RANKERS
    ]
    title = {"f1": "Mean F1 over predicates", "exact": "Predicates exactly right"}[what]
    heading = "scenario (predicates): ranker, by number of examples per predicate"
    return Table(f"{title}; {heading}", tuple(map(_step_name, steps)), tuple(rows), digits)


def _names_table(records: Sequence[Record]) -> Table:
    steps = _steps(records)
    rows = []
    for names in NAMES:
        own = [record for record in records if record.settings["names"] == names]
        if own:
            rows += [
                (f"{names} names: {ranker}", tuple(_cell(_values(own, s, ranker, "f1")) for s in steps))
                for ranker in RANKERS
            ]
    return Table("Mean F1 by how far the source's names are", tuple(map(_step_name, steps)), tuple(rows), 3)


def _why_table(records: Sequence[Record]) -> Table:
    """Why the evidence ranker's proposals are not exact."""
    rows = []
    for step in _steps(records):
        reasons: Counter[str] = Counter()
        for record in records:
            for result in record.result["results"]:
                if (result["examples"], result["wrong"], result["ranker"]) == (*step, str(Ranker.EVIDENCE)):
                    reasons.update(why for *_, why in result["misses"])
        rows.append((_step_name(step), tuple(Cell(float(reasons[why]) or None) for why in _WHY)))
    return Table("Proposals of the evidence ranker that are not exact, and why (all draws)", _WHY, tuple(rows), 0)


_WHY = (
    "no rule",
    "no single rule of the templates is right",
    "derives all right examples, as the true rule does",
    "misses right examples",
)


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    clean = [step for step in _steps(records) if step[1] == 0.0]
    wrong = [step for step in _steps(records) if step[1] > 0.0]
    return [_examples_picture(records, clean, folder)] + ([_wrong_picture(records, wrong, folder)] if wrong else [])


def _examples_picture(records: Sequence[Record], steps: Sequence[tuple[int, float]], folder: Path) -> Path:
    groups = {
        "RODI's CMT": [r for r in records if r.settings["names"] is None],
        **{f"generated, {names} names": [r for r in records if r.settings["names"] == names] for names in NAMES},
    }
    shown = {name: own for name, own in groups.items() if own}
    figure, axes = plt.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.4), sharey=True, squeeze=False)
    for axis, (name, own) in zip(axes[0], shown.items(), strict=True):
        for ranker in RANKERS:
            colour, marker, line = _STYLES[ranker]
            means = [float(np.mean(_values(own, step, ranker, "f1"))) for step in steps]
            axis.plot(range(len(steps)), means, line, marker=marker, color=colour, label=str(ranker))
        axis.set_xticks(range(len(steps)), [str(examples) for examples, _ in steps])
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("examples per predicate")
    axes[0][0].set_ylabel("F1 of the mapping")
    axes[0][0].set_ylim(0, 1.02)
    axes[0][-1].legend(frameon=False)
    return save(figure, folder, "examples")


def _wrong_picture(records: Sequence[Record], steps: Sequence[tuple[int, float]], folder: Path) -> Path:
    figure, axis = plt.subplots(figsize=(6.0, 3.4))
    width = 0.38
    for number, ranker in enumerate(RANKERS):
        means = [float(np.mean(_values(records, step, ranker, "f1"))) for step in steps]
        places = [place + (number - 0.5) * width for place in range(len(steps))]
        axis.bar(places, means, width, color=_STYLES[ranker][0], label=str(ranker))
    axis.set_xticks(range(len(steps)), [_step_name(step) for step in steps])
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("F1 of the mapping")
    axis.set_xlabel("examples per predicate")
    figure.legend(frameon=False, loc="outside upper center", ncols=len(RANKERS))
    return save(figure, folder, "wrong-examples")


BENCH = Bench(
    BenchInfo(
        "mapping",
        "not in the paper: how right the proposed mapping is, by examples, wrong examples and names",
        "40 min (measured while other work ran)",
        "RULEMINER_DATA/rodi/cmt_* if there; generated scenarios",
        (),
    ),
    _units,
    _run,
    _tables,
    _pictures,
    (
        "The paper has no such table; there is no paper's number beside ours.",
        "Wrong examples are true facts of other predicates. F1 leaves the examples out; exact counts them.",
        "0 examples: what names and structure alone suggest (the rules shown as guesses by propose-mappings).",
    ),
)
