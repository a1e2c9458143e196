"""What the benches on rule learning share: their units, how each is run and measured, and where its files lie.

Three kinds of unit, in this order:

    data    makes a dataset, measures the counting ranker on it and the best that any ranker could do
    rate    a short training with one learning rate; each loss keeps the rate that does best on the validation facts
    run     a training with that rate, measured on the test facts

The folder of a bench's results also holds `datasets/SET/dataset` and `runs/HASH/model` of every unit that trains. A
training that was interrupted goes on from its last checkpoint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from ruleminer.bench.counting import counting_result, predicate_groups, shape_groups
from ruleminer.bench.units import (
    RESULTS,
    BenchOptions,
    Record,
    Tick,
    Unit,
    chosen_losses,
    read_records,
    run_folder,
    training_options,
    unit_hash,
)
from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.learn import model_files
from ruleminer.learn.batches import pass_batches
from ruleminer.learn.curve import read_curve
from ruleminer.learn.examples import SPLITS, Example, SplitExamples, examples_of
from ruleminer.learn.metrics import ceilings, hit_rates, rule_masses
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import Training, choose_device, deterministic, set_threads
from ruleminer.learn.transformer import Transformer
from ruleminer.learn.trie import build_trie, pack
from ruleminer.learn.workers import workers
from ruleminer.run import Run

LOSSES = ("libra", "nll", "rc", "merit(0.5)", "uniform")
_KNOWN, _UNKNOWN = 1, 2  # bits of forbidden rules: a training negative says so; only a held-out one does
_PLACES = 10_000  # of tries in a batch
_TRAINING_SHARE = 0.9  # of a unit's time; the rest is measuring


@dataclass(frozen=True)
class RuleSet:
    """A dataset of a bench; `make` leaves FOLDER/NAME/dataset, given FOLDER."""

    name: str
    title: str
    make: Callable[[Path, BenchOptions], None]
    training: Mapping[str, Any]  # what differs from the defaults of TrainOptions, the same for every loss
    seeds: int = 1
    seconds: float = 1.0  # projected, per run
    data_seconds: float = 1.0  # projected, for the dataset


@dataclass(frozen=True)
class Plan:
    """What a bench does at one scale."""

    sets: tuple[RuleSet, ...]
    losses: tuple[str, ...] = LOSSES
    rates: tuple[float, ...] = (3e-3, 1.5e-3, 6e-3)  # to choose from; of equally good ones the first
    tuning: Mapping[str, Any] = field(default_factory=dict)  # what differs from the set's training while choosing
    tuned_on: int = 0  # the set on which rates are chosen
    tuning_share: float = 0.5  # projected time of a short training, in runs


def plan_units(plan: Plan, options: BenchOptions) -> list[Unit]:
    """All units of a plan: one seed of the whole table is done before the next begins."""
    losses = chosen_losses(options, plan.losses)
    units = []
    for one in plan.sets:
        for seed in range(options.seeds or one.seeds):
            settings = {"kind": "data", "set": one.name, "seed": seed, "training": _training(one, options)}
            units.append(Unit(f"{one.name} counting seed {seed}", settings, one.data_seconds))
    tuned = plan.sets[plan.tuned_on]
    short = _training(tuned, options) | dict(plan.tuning)
    choice = {"set": tuned.name, "training": short, "rates": list(plan.rates)}
    for loss in losses:
        for rate in plan.rates:
            settings = {"kind": "rate", "set": tuned.name, "loss": loss, "rate": rate, "seed": 0, "training": short}
            units.append(Unit(f"{tuned.name} {loss} rate {rate:g}", settings, plan.tuning_share * tuned.seconds))
    for seed in range(max(options.seeds or one.seeds for one in plan.sets)):
        for one in plan.sets:
            for loss in losses if seed < (options.seeds or one.seeds) else ():
                settings = {"kind": "run", "set": one.name, "loss": loss, "seed": seed}
                settings |= {"training": _training(one, options), "choice": choice}
                units.append(Unit(f"{one.name} {loss} seed {seed}", settings, one.seconds))
    return units


def _training(one: RuleSet, options: BenchOptions) -> dict[str, Any]:
    passes = {"updates": 1, "passes": options.epochs} if options.epochs else {}
    return {**one.training, **passes}


def run_unit(bench: str, plan: Plan, unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    """Run one unit of a plan."""
    folder, settings = run_folder(bench, options), unit.settings
    one = next(each for each in plan.sets if each.name == settings["set"])
    home = folder / "datasets" / one.name
    if not Run(home).has_dataset:
        one.make(folder / "datasets", options)
    if settings["kind"] == "data":
        return measure_data(home, settings)
    run = Run(folder / "runs" / unit_hash(bench, unit))
    run.borrow_dataset(Run(home))
    rate = settings["rate"] if settings["kind"] == "rate" else chosen_rate(settings, read_records(folder / RESULTS))
    chosen = {"loss": settings["loss"], "seed": settings["seed"], "learning_rate": rate, "device": options.device}
    chosen["threads"] = torch.get_num_threads()  # the cores, or OMP_NUM_THREADS
    training = training_options(settings["training"])
    return measure_training(run, TrainOptions(**training, **chosen), tick, tested=settings["kind"] == "run")


def chosen_rate(settings: Mapping[str, Any], records: Sequence[Record]) -> float:
    """The rate with which this loss did best on the validation facts."""
    choice = settings["choice"]
    gain_of = {
        record.settings["rate"]: record.result["gain"]
        for record in records
        if record.settings["kind"] == "rate"
        and record.settings["loss"] == settings["loss"]
        and record.settings["set"] == choice["set"]
        and record.settings["training"] == choice["training"]
    }
    missing = [rate for rate in choice["rates"] if rate not in gain_of]
    if missing:
        raise InputError(f"no result for {settings['loss']} at learning rate {missing[0]:g}: run the whole bench again")
    best: float = max(choice["rates"], key=lambda rate: gain_of[rate])
    return best


def measure_data(home: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The size of a dataset, what a counting ranker reaches on its test facts, and what any ranker could."""
    options = TrainOptions(**training_options(settings["training"]), seed=settings["seed"])
    dataset = read_dataset(home)
    examples = examples_of(dataset, options.seed, options.longest_input, options.vocabulary)
    facts, forbidden = _test_facts(examples, home), examples.forbidden(*SPLITS)
    known = examples.forbidden("train")
    began = time.perf_counter()
    by_predicate = counting_result(examples, predicate_groups(dataset))
    took = time.perf_counter() - began
    by_shape = counting_result(examples, shape_groups(dataset))
    return {
        "positives": sum(map(len, examples.positives.values())),
        "negatives": sum(map(len, examples.negatives.values())),
        "without_candidates": examples.without_candidates,
        "predicates": len({e.predicate for part in examples.positives.values() for e in part}),
        "rules": len(examples.rules),
        "test_facts": len(facts),
        "only_forbidden": sum(forbidden.issuperset(example.candidates) for example in facts),
        "only_known_forbidden": sum(known.issuperset(example.candidates) for example in facts),
        **ceilings(examples, facts, forbidden, options.longest_rule),
        "counting": asdict(by_predicate),
        "counting_by_shape": asdict(by_shape),
        "took": {"count": round(took, 3)},
    }


def _test_facts(examples: SplitExamples, home: Path | Run) -> list[Example]:
    facts = examples.positives["test"]
    if not facts:
        raise InputError(f"the dataset in {home} has too few facts to hold any out for testing")
    return facts


def measure_training(run: Run, options: TrainOptions, tick: Tick, *, tested: bool) -> dict[str, Any]:
    """Train (or go on training) in RUN; its course, and if it is to be tested the metrics on the test facts."""
    device = choose_device(options.device)
    set_threads(options.threads)

    def progress(stage: str, what: str, done: int, total: int) -> None:
        tick(_TRAINING_SHARE * done / total)

    with deterministic(device), workers(device) as team:
        begun = run.unfinished is not None
        try:
            training = Training(run, options, team, begun, progress)
        except InputError:
            if not begun:
                raise
            training = Training(run, options, team, False, progress)  # it was begun on other data
        trained = training.run()
    result: dict[str, Any] = {
        "learning_rate": options.learning_rate,
        "gain": trained.p_pos - trained.p_neg,
        "updates": trained.updates,
        "reason": trained.reason,
        "parameters": trained.parameters,
        "curve": [[point.update, point.p_pos, point.p_neg] for point in read_curve(trained.folder)],
        "took": {"train": round(trained.seconds, 1)},
    }
    if tested:
        began = time.perf_counter()
        result |= _tested(run, training.examples, options)
        result["took"]["test"] = round(time.perf_counter() - began, 1)
    (trained.folder / "checkpoint.safetensors").unlink(missing_ok=True)
    return result


def _tested(run: Run, examples: SplitExamples, options: TrainOptions) -> dict[str, float]:
    """The paper's metrics of a run's best model on the test facts, and what its P_neg is made of."""
    model = model_files.load_model(run, choose_device(options.device)).model
    facts, forbidden = _test_facts(examples, run), examples.forbidden(*SPLITS)
    result = rule_masses(model, examples, facts, forbidden, options.longest_rule)
    result |= hit_rates(model, examples, facts, forbidden, options.longest_rule)
    return result | forbidden_but_deriving(model, examples, facts, options.longest_rule)


@torch.no_grad()
def forbidden_but_deriving(
    model: Transformer, examples: SplitExamples, facts: Sequence[Example], longest: int
) -> dict[str, float]:
    """The part of P_neg that is a rule which derives the very fact, but also some negative.

    `p_neg_derives`: all of it. `p_neg_untold`: what only a held-out negative forbids, which training cannot know.
    """
    known, forbidden = examples.forbidden("train"), examples.forbidden(*SPLITS)
    tries, inputs = [], []
    for example in facts:
        own = [rule for rule in example.candidates if rule in forbidden and len(examples.rules[rule]) <= longest]
        if own:
            tries.append(build_trie({examples.rules[r]: _KNOWN if r in known else _UNKNOWN for r in own}))
            inputs.append(example.tokens)
    device = model.embedding.weight.device
    masses = {_KNOWN: [0.0], _UNKNOWN: [0.0]}
    for batch in pass_batches([len(trie) for trie in tries], _PLACES, 0, 0) if tries else ():
        scores = model(pack([inputs[i] for i in batch], [tries[i] for i in batch], 64).to(device))
        for bit, masses_of_bit in masses.items():
            masses_of_bit.append(float(scores.log_mass(bit).exp().sum()))
    told, untold = (math.fsum(masses[bit]) / len(facts) for bit in (_KNOWN, _UNKNOWN))
    return {"p_neg_derives": told + untold, "p_neg_untold": untold}
