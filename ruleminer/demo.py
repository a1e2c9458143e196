"""The demo: a generated scenario taken through every stage, in about a minute, each step said as it happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError, SyntaxProblem
from ruleminer.extract.pipeline import Progress
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.extract.summary import DatasetSummary, summarise
from ruleminer.learn.metrics import evaluate_run
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.predictions import PredictedRule, predict_rules
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.database import Database, open_database
from ruleminer.problem.generator.generate import ScenarioSummary, generate_scenario
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.problem.schema import Schema
from ruleminer.rules.parser import parse_rule, parse_rules
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import ColumnType, rule_query
from ruleminer.rules.values import Rule

SCENARIO, RUN = "scenario", "run"
DOMAIN = Path(__file__).with_name("demo.toml")
KIND, ROWS, POSITIVES = "restructuring", 500, 40


@dataclass(frozen=True, slots=True)
class Learned:
    """A predicate's true rules beside the rule that was learned, and how well that does on the whole database."""

    predicate: str
    truth: tuple[str, ...]
    rule: str
    probability: float
    facts: int
    derived: int
    right: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo came to."""

    scenario: ScenarioSummary
    schema: Schema
    dataset: DatasetSummary
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
    if out.exists() and any(out.iterdir()):
        if not force and not (out / SCENARIO / "scenario.json").is_file():
            raise InputError(f"{out} is not empty and holds no demo; choose another folder with --out")
        for name in (SCENARIO, RUN):
            shutil.rmtree(out / name, ignore_errors=True)
    say(f"1. A database that nobody explained to us: generating a scenario in {out / SCENARIO}")
    made = generate_scenario(out / SCENARIO, domain=str(DOMAIN), kind=KIND, size=ROWS, seed=seed)
    say("2. For each known fact, all the rules that derive it, found by SQL")
    request = ExtractRequest(out=out / RUN, scenario=out / SCENARIO, positives=POSITIVES, seed=seed)
    with bars() as progress:
        extract_datasets(request, progress)
    dataset = summarise(out / RUN)
    say("3. A small transformer learns which of them is meant, from the facts together")
    training = train_run(out / RUN, TrainOptions(seed=seed, time_limit=1.0), quiet=quiet)
    say("4. What it learned, against the truth that it never saw")
    metrics = evaluate_run(out / RUN, "test")
    scenario = open_scenario(out / SCENARIO)
    assert scenario.mapping_path is not None
    truth = list(parse_rules(scenario.mapping_path.read_text("utf-8"), str(scenario.mapping_path)))
    with open_database(scenario_database(scenario, out)) as database:
        learned = _compare(out / RUN, truth, database)
        return DemoResult(made, database.schema, dataset, training, metrics, learned)


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
        except SyntaxProblem:
            derived = set()
        learned.append(
            Learned(
                predicate,
                tuple(rule_text(rule) for rule in true_rules),
                predicted.text,
                predicted.probability,
                len(facts),
                len(derived),
                len(facts & derived),
            )
        )
    return tuple(learned)


def derived_facts(rule: Rule, database: Database) -> set[tuple[str, ...]]:
    """The arguments of all facts that a rule derives, as lexical forms."""

    def type_of(table: str, column: str) -> ColumnType:
        found = database.schema.table(table).column(column)
        return ColumnType(found.kind, found.sql_type)

    query = rule_query(rule, database.dialect, type_of)
    return set(database.rows(query.sql, query.parameters))
