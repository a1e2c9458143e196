"""The demo: a generated scenario taken through every stage, in a minute and a half, each step said as it happens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.rule_facts import derived_facts
from ruleminer.problem.rule_files import read_rule_file
from ruleminer.problem.scenario import Scenario, open_scenario, scenario_database
from ruleminer.progress import Progress, Say, silent, unsaid
from ruleminer.proposals.live_structure import live_structure
from ruleminer.proposals.proposal import Proposals
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import Delivery, propose_mappings
from ruleminer.rules.values import Rule
from ruleminer.scenarios.generate import ScenarioSummary, generate_scenario
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.schema import Schema

SCENARIO, RUN = "scenario", "run"
MARK = ".ruleminer-demo"  # says that the folder is ours to clear
DOMAIN = Path(__file__).with_name("demo.toml")
KIND, ROWS, POSITIVES = "restructuring", 500, 40
UPDATES = 300  # of training; half a minute on two quiet cores


@dataclass(frozen=True, slots=True)
class Found:
    """The rules that were proposed for a predicate, and how well they do on the whole database."""

    predicate: str
    rules: tuple[str, ...]
    confidence: float | None
    facts: int
    derived: int
    right: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo came to."""

    scenario: ScenarioSummary
    training: TrainResult
    delivery: Delivery
    found: tuple[Found, ...]


def run_demo(
    out: Path,
    *,
    seed: int = 0,
    force: bool = False,
    step: Say = unsaid,
    say: Say = unsaid,
    bars: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(silent),
) -> DemoResult:
    """Generate, extract, train, propose, validate and report; everything is left in the folder `out`.

    `step` hears what comes next, `say` what training says on its way, and each stage has `bars` of its own.
    """
    _make_room(out, force)
    step(f"1. A database that nobody explained to us: generating a scenario in {out / SCENARIO}")
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    made = generate_scenario(out / SCENARIO, domain=str(DOMAIN), kind=KIND, size=ROWS, seed=seed)
    step("2. For each known fact, all the rules that derive it, found by SQL")
    request = ExtractRequest(out=out / RUN, scenario=out / SCENARIO, positives=POSITIVES, seed=seed)
    with bars() as progress:
        extract_datasets(request, progress)
    step("3. A small transformer learns which of them is meant, from the facts together")
    with bars() as progress:
        training = train_run(out / RUN, TrainOptions(seed=seed, updates=UPDATES), progress=progress, say=say)
    step("4. Proposals: rules ranked by their evidence in the database, exported as R2RML, checked by query pairs")
    with bars() as progress:
        delivery = propose_mappings(ProposeRequest(out / RUN, scenario=out / SCENARIO, seed=seed), progress)
    step("5. The proposals against the truth, which they never saw")
    scenario = open_scenario(out / SCENARIO)
    with open_database(scenario_database(scenario, out)) as database:
        schema = live_structure(out / RUN, database, []).schema
        found = _compare(delivery.proposals, scenario, database, schema)
    return DemoResult(made, training, delivery, found)


def _make_room(out: Path, force: bool) -> None:
    """Remove an earlier demo, and nothing else."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder with ‹out›")
    if not out.exists() or not any(out.iterdir()):
        return
    earlier = (out / MARK).is_file()
    if not earlier and not force:
        raise InputError(f"{out} is not empty and holds no demo; choose another folder with ‹out›")
    for name in (SCENARIO, RUN):
        if earlier:
            shutil.rmtree(out / name, ignore_errors=True)
        elif (out / name).exists():
            raise InputError(f"{out / name} is in the way; choose another folder with ‹out›")


def _compare(proposals: Proposals, scenario: Scenario, database: Database, schema: Schema) -> tuple[Found, ...]:
    assert scenario.mapping_path is not None
    truth = [rule for _, rule in read_rule_file(scenario.mapping_path)]
    compared = []
    for one in proposals.proposed:
        facts = _derived((rule for rule in truth if rule.predicate == one.predicate), database, schema)
        derived = _derived(one.proposed_rules, database, schema)
        compared.append(
            Found(one.predicate, one.texts, one.confidence, len(facts), len(derived), len(facts & derived)),
        )
    return tuple(compared)


def _derived(rules: Iterable[Rule], database: Database, schema: Schema) -> set[tuple[str, ...]]:
    return set().union(*(derived_facts(rule, database, schema) for rule in rules))
