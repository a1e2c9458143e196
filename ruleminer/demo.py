"""The demo: a generated scenario taken through every stage, in about a minute, each step said as it happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError, RuleminerError
from ruleminer.extract.pipeline import Progress
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.learn.metrics import evaluate_run
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.predictions import PredictedRule, predict_rules
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.database import Database, open_database
from ruleminer.problem.generator.generate import ScenarioSummary, generate_scenario
from ruleminer.problem.rule_facts import derived_facts
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.rules.parser import parse_rule, parse_rules
from ruleminer.rules.values import Rule

SCENARIO, RUN = "scenario", "run"
MARK = ".ruleminer-demo"  # says that the folder is ours to clear
DOMAIN = Path(__file__).with_name("demo.toml")
KIND, ROWS, POSITIVES = "restructuring", 500, 40


@dataclass(frozen=True, slots=True)
class Learned:
    """The rule that was learned for a predicate, and how well it does on the whole database."""

    predicate: str
    rule: str
    probability: float
    facts: int
    derived: int
    right: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo came to."""

    scenario: ScenarioSummary
    training: TrainResult
    metrics: dict[str, float]
    learned: tuple[Learned, ...]


def run_demo(
    out: Path,
    *,
    seed: int = 0,
    force: bool = False,
    say: Callable[[str], None] = lambda line: None,
    bars: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(lambda stage, what, done, total: None),
    quiet: bool = False,
) -> DemoResult:
    """Generate, extract, train, compare with the truth; everything is left in the folder `out`."""
    _make_room(out, force)
    say(f"1. A database that nobody explained to us: generating a scenario in {out / SCENARIO}")
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    made = generate_scenario(out / SCENARIO, domain=str(DOMAIN), kind=KIND, size=ROWS, seed=seed)
    say("2. For each known fact, all the rules that derive it, found by SQL")
    request = ExtractRequest(out=out / RUN, scenario=out / SCENARIO, positives=POSITIVES, seed=seed)
    with bars() as progress:
        extract_datasets(request, progress)
    say("3. A small transformer learns which of them is meant, from the facts together")
    training = train_run(out / RUN, TrainOptions(seed=seed, time_limit=1.0), quiet=quiet)
    say("4. What it learned, against the truth that it never saw")
    metrics = evaluate_run(out / RUN, "test")
    scenario = open_scenario(out / SCENARIO)
    assert scenario.mapping_path is not None
    truth = list(parse_rules(scenario.mapping_path.read_text("utf-8"), str(scenario.mapping_path)))
    with open_database(scenario_database(scenario, out)) as database:
        learned = _compare(out / RUN, truth, database)
    return DemoResult(made, training, metrics, learned)


def _make_room(out: Path, force: bool) -> None:
    """Remove an earlier demo, and nothing else."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder with --out")
    if not out.exists() or not any(out.iterdir()):
        return
    earlier = (out / MARK).is_file()
    if not earlier and not force:
        raise InputError(f"{out} is not empty and holds no demo; choose another folder with --out")
    for name in (SCENARIO, RUN):
        if earlier:
            shutil.rmtree(out / name, ignore_errors=True)
        elif (out / name).exists():
            raise InputError(f"{out / name} is in the way; choose another folder with --out")


def _compare(run: Path, truth: list[Rule], database: Database) -> tuple[Learned, ...]:
    best: dict[str, PredictedRule] = {}
    for predicted in predict_rules(run):
        best.setdefault(predicted.predicate, predicted)
    learned = []
    for predicate, predicted in best.items():
        true_rules = [rule for rule in truth if rule.predicate == predicate]
        facts = set().union(*(derived_facts(rule, database) for rule in true_rules))
        try:
            derived = derived_facts(parse_rule(predicted.text), database)
        except RuleminerError:  # a text that is no rule, or one about a table that is not there
            derived = set()
        learned.append(
            Learned(
                predicate,
                predicted.text,
                predicted.probability,
                len(facts),
                len(derived),
                len(facts & derived),
            )
        )
    return tuple(learned)
