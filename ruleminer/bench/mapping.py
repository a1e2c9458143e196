"""The mapping study: how right is the proposed mapping, by how many examples, how many of them wrong, and what names.

Not in the paper. The measure is the mapping itself, run on the database against all true facts (examples left out).
Four kinds of unit, in this order:

    corpus      other scenarios to learn from (pretraining.py)
    model       a model trained on them with one loss
    trial       one scenario with all draws of its examples, numbers of examples and rankers
    finetuned   the same with models that learn from the very examples: from scratch, and after other scenarios
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ruleminer.bench.mapping_tables import NAMES, NPD, pictures_of, tables_of
from ruleminer.bench.mapping_trials import COVERAGE, EVIDENCE, JOINT, Contender, Outcome, Trials, World
from ruleminer.bench.pretraining import finetuned_scorer, is_trained, make_corpus, train_on_corpus
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Tick, Unit, chosen_losses, training_options
from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.scoring import RuleScorer
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import Scenario, all_facts, open_scenario, scenario_database
from ruleminer.proposals.candidate_sets import candidate_sets
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.ranking import Ranker
from ruleminer.run import Run
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure

RODI = ("cmt_naive_ci", "cmt_renamed", "cmt_structured_ci", "cmt_mixed", "cmt_denormalized")
KINDS = ("plain", "renaming", "cleaning", "restructuring", "denormalising")
CLEAN = ((0, 0.0), (1, 0.0), (2, 0.0), (5, 0.0), (10, 0.0), (20, 0.0), (100, 0.0))
WRONG = ((10, 0.1), (10, 0.3), (100, 0.1), (100, 0.3))
LOSSES = ("libra", "nll", "uniform")
# NPD has 437 predicates, which takes long: fewer steps, one model, as many candidates of a fact as when extracting.
NPD_STEPS, NPD_RULES = ((1, 0.0), (2, 0.0), (10, 0.0), (100, 0.0), (10, 0.3)), 1000
FEW = ((1, 0.0), (2, 0.0), (5, 0.0))  # where a model that learns from the examples may be heard
FINETUNING: dict[str, dict[str, dict[str, Any]]] = {  # how it is trained, from scratch and after other scenarios
    "smoke": {
        "scratch": {"size": "tiny", "updates": 5, "passes": 1, "vocabulary": 700},
        "after": {"updates": 5, "passes": 1},
    },
    "cpu": {
        "scratch": {"updates": 200, "passes": 1},
        "after": {"updates": 60, "passes": 1, "learning_rate": 1e-3, "warmup": 10},
    },
}
PRETRAINING: dict[str, dict[str, Any]] = {
    "smoke": {
        "corpus": {"scenarios": 2, "rows": 150},
        "training": {"size": "tiny", "updates": 20, "passes": 1, "vocabulary": 700},
        "seconds": 3.0,
    },
    "cpu": {
        "corpus": {"scenarios": 100, "rows": 300},
        "training": {"updates": 1500, "passes": 1, "vocabulary": 2048},
        "seconds": 240.0,
    },
    "paper": {
        "corpus": {"scenarios": 500, "rows": 300},
        "training": {"updates": 8000, "passes": 1, "vocabulary": 2048},
        "seconds": 1300.0,
    },
}
_DOMAINS = {"workshop": str(files("ruleminer") / "demo.toml")}
_MOST_FACTS = 150  # known facts of a predicate, from which examples are drawn


def _units(options: BenchOptions) -> list[Unit]:
    draws = options.seeds or {"smoke": 1, "cpu": 1, "paper": 10}[options.scale]
    steps = [*CLEAN, *WRONG] if options.scale != "smoke" else [(0, 0.0), (1, 0.0), (5, 0.0), (10, 0.3)]
    pretraining = PRETRAINING[options.scale]
    corpus = {"kind": "corpus", **pretraining["corpus"]}
    units = [Unit("other scenarios to learn from", corpus, 3.0 * corpus["scenarios"])]
    models = [
        {"kind": "model", "loss": loss, "corpus": pretraining["corpus"], "training": pretraining["training"]}
        for loss in chosen_losses(options, LOSSES)
    ]
    for model in models:
        _train_options(model, options)  # a loss that cannot be trained is refused before anything is done
    units += [Unit(f"model, {model['loss']}", model, pretraining["seconds"]) for model in models]
    late: list[Unit] = []
    for scenario, names in _scenarios(options):
        settings = {"scenario": scenario, "names": names, "draws": draws, "db": options.db is not None}
        key = scenario if names is None else f"{scenario}, {names} names"
        seconds = 12.0 if names else 900.0 if scenario == NPD else 25.0
        trial = {"kind": "trial", **settings, "steps": steps, "models": models}
        if scenario == NPD:
            chosen = [step for step in steps if step in NPD_STEPS]
            trial |= {"steps": chosen, "models": models[:1], "most_rules": NPD_RULES}
        units.append(Unit(key, trial, draws * seconds))
        if scenario != NPD:
            few = FEW if options.scale != "smoke" else FEW[:1]
            finetuned = {"kind": "finetuned", **settings, "steps": few, "model": models[0]}
            finetuned["training"] = FINETUNING.get(options.scale, FINETUNING["cpu"])
            late.append(Unit(f"{key}, finetuned", finetuned, draws * 95.0))
    return [*units, *late]


def _scenarios(options: BenchOptions) -> Iterable[tuple[str, str | None]]:
    if options.scale == "smoke":
        yield "workshop-restructuring", "same"
        return
    domains = ("workshop",) if options.scale == "cpu" else ("workshop", "university", "hospital")
    data = options.data or data_folder()
    if data is not None:
        yield from ((name, None) for name in (*RODI, NPD) if (data / "rodi" / name).is_dir())
    if options.db is None:
        yield from ((f"{domain}-{kind}", names) for domain in domains for kind in KINDS for names in NAMES)


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    match unit.settings["kind"]:
        case "corpus":
            return _corpus(unit.settings, options, tick)
        case "model":
            return _model(unit.settings, options)
        case _:
            return _trial(unit, options, tick)


def _corpus(settings: Mapping[str, Any], options: BenchOptions, tick: Tick) -> dict[str, Any]:
    return make_corpus(_corpus_folder(settings, options), settings["scenarios"], settings["rows"], tick)


def _corpus_folder(settings: Mapping[str, Any], options: BenchOptions) -> Path:
    return _folder(options) / f"corpus-{settings['scenarios']}-{settings['rows']}"


def _model(settings: Mapping[str, Any], options: BenchOptions) -> dict[str, Any]:
    """Train a model on the corpus, which is made again if its files are gone."""
    corpus = _corpus_folder(settings["corpus"], options)
    if not Run(corpus).has_dataset:
        _corpus(settings["corpus"], options, lambda fraction: None)
    trained = train_on_corpus(corpus, _model_folder(settings, options), _train_options(settings, options))
    return {"parameters": trained.parameters, "updates": trained.updates, "p_pos": trained.p_pos}


def _train_options(settings: Mapping[str, Any], options: BenchOptions) -> TrainOptions:
    threads = torch.get_num_threads()
    return TrainOptions(
        loss=settings["loss"], negatives="none", device=options.device, threads=threads,
        **training_options(settings["training"]),
    )  # fmt: skip


def _model_folder(settings: Mapping[str, Any], options: BenchOptions) -> Path:
    text = json.dumps(settings, sort_keys=True)
    return _folder(options) / "models" / f"{settings['loss']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _contenders(settings: Mapping[str, Any], options: BenchOptions) -> list[Contender]:
    if settings["kind"] == "finetuned":
        return _learners(settings, options)
    contenders = [COVERAGE, EVIDENCE, JOINT]
    for model in settings["models"]:
        scorer = RuleScorer.of_run(_trained(model, options), options.device)
        contenders.append(Contender(f"neural, {model['loss']}", Ranker.NEURAL, scorer))
    return contenders


def _learners(settings: Mapping[str, Any], options: BenchOptions) -> list[Contender]:
    """Rankers whose models learn from a trial's examples, with the loss of the model that some of them start from."""
    model = settings["model"]
    training = {name: {**model, "training": own} for name, own in settings["training"].items()}
    scratch = _train_options(training["scratch"], options)
    after = replace(_train_options(training["after"], options), start=str(_trained(model, options)))
    return [
        Contender(f"neural, {model['loss']}, {name}", Ranker.NEURAL, learn=partial(finetuned_scorer, options=own))
        for name, own in (("this scenario", scratch), ("others, then this", after))
    ]


def _trained(model: Mapping[str, Any], options: BenchOptions) -> Path:
    """The folder of a model, trained again if it is gone."""
    folder = _model_folder(model, options)
    if not is_trained(folder):
        _model(model, options)
    return folder


def _trial(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    name, names = unit.settings["scenario"], unit.settings["names"]
    scenario = _scenario(name, names, options)
    ontology = read_ontology(scenario.ontology_path)
    url = options.db or scenario_database(scenario, cache_folder())
    with open_database(url, schema=name if options.db else None) as database:
        most = unit.settings.get("most_rules", 0)
        run = _folder(options) / "datasets" / (f"{name}-{names}" + (f"-{most}" if most else ""))
        world = _world(scenario, ontology, database, run, most)
        contenders = _contenders(unit.settings, options)
        ceilings = unit.settings["kind"] == "trial" and name != NPD
        derivations = Derivations(database, learn_structure(database))
        trials = Trials(world, Measure(ontology, derivations, live=False), ceilings)
        work = [(draw, *step) for draw in range(unit.settings["draws"]) for step in unit.settings["steps"]]
        results: list[dict[str, Any]] = []
        for number, (draw, examples, wrong) in enumerate(work):
            tick(number / len(work))
            outcomes = trials.run(examples, wrong, draw, contenders)
            results += [{"draw": draw, **_summary(examples, wrong, *outcome)} for outcome in outcomes.items()]
        measures = {"results": results, "predicates": len(world.truth)}
        if trials.ceilings:
            measures["one_rule_is_enough_for"] = sum(trials.ceiling(predicate) == 1.0 for predicate in world.truth)
    return measures


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


def _world(scenario: Scenario, ontology: Ontology, database: Database, run: Path, most_rules: int) -> World:
    """All true facts, and the candidates of some (all candidates, or so many), extracted once and kept."""
    request = ExtractRequest(
        out=run,
        scenario=scenario.folder,
        positives=_MOST_FACTS,
        negatives="none",
        force=True,
        max_candidates=most_rules,
    )
    if not Run(run).has_dataset:
        shutil.rmtree(run, ignore_errors=True)
        extract_datasets(request)
    known = {predicate: facts.positives for predicate, facts in candidate_sets(read_dataset(run)).items()}
    truth: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for fact in all_facts(scenario, ontology, database).facts.to_pylist():
        truth[fact["predicate"]].add(tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None))
    both = sorted(predicate for predicate in truth if known.get(predicate))
    return World(ontology, {p: frozenset(truth[p]) for p in both}, {p: known[p] for p in both})


def _summary(examples: int, wrong: float, ranker: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "examples": examples,
        "wrong": wrong,
        "ranker": ranker,
        "precision": float(np.mean([one.precision for one in outcomes])),
        "recall": float(np.mean([one.recall for one in outcomes])),
        "f1": float(np.mean([one.f1 for one in outcomes])),
        "exact": sum(one.exact for one in outcomes),
        "not_exact": dict(Counter(one.why for one in outcomes if not one.exact)),
    }


BENCH = Bench(
    BenchInfo(
        "mapping",
        "not in the paper: how right the proposed mapping is, by examples, wrong examples and names",
        "2.5 h on one core: 10 min for the corpus, 6 for each model, 2.5 for each draw and scenario, 25 for NPD",
        "RULEMINER_DATA/rodi/cmt_* and rodi/npd if there; generated scenarios",
        LOSSES,
    ),
    _units,
    _run,
    tables_of,
    pictures_of,
    (
        "The paper has no such table; there is no paper's number beside ours.",
        "The models of the neural rankers learnt from other scenarios (100 at scale cpu; random domains of five kinds, "
        "names in four manners), none of which is here, from candidate sets alone: the true mappings were not shown. "
        "They are heard where no name fits, and the less the more examples there are (ranking.py).",
        "Two more learn from the examples of the trial, with the first loss: 'this scenario' from nothing else, "
        "'others, then this' after the other scenarios. As in every training, some facts of a predicate are held out. "
        "propose-mappings does not hear such a model where there are examples, because of these numbers.",
        f"On NPD a fact has at most {NPD_RULES:,} candidates, as when it is extracted for training; only the model of "
        "the first loss is asked, and whether one rule is enough is not asked, so it is not in the last table. Its "
        "entities are IRIs, whose form no name tells: without an example nothing is right.",
        "Synonyms of generated scenarios come from one word list, so some of those here occur in what was learnt from; "
        "the names of RODI's CMT do not come from it.",
        "Wrong examples are true facts of other predicates. F1 leaves the examples out; exact counts them.",
        "0 examples: the best of what names, structure and models suggest. propose-mappings shows fewer of them as "
        "guesses: those whose names fit, or of which a model is sure.",
    ),
)
