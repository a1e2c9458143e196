"""A trial of the mapping study: examples drawn, some of them wrong, and the proposal held against all true facts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest

from ruleminer.bench.catalogue import BENCHES
from ruleminer.bench.mapping_trials import COVERAGE, EVIDENCE, Contender, ExamplesByTerm, Trials, World
from ruleminer.bench.units import BenchOptions
from ruleminer.learn.scoring import Fact
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.prior import Prior, PriorOf
from ruleminer.proposals.ranking import Ranker
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.proposals.worlds import ontology_of_classes

RULES = {
    "person": "C(x) <- person(id: x)",
    "author": "C(x) <- person(id: x, is_author: true)",
    "paper": "C(x) <- paper(id: x)",
}
FACTS = {"person": range(40), "author": range(0, 40, 2), "paper": range(100, 130)}
CLASSES = {"Person": "person", "Author": "author", "Paper": "paper"}


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    path = tmp_path_factory.mktemp("study") / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, is_author BOOLEAN)")
        connection.execute("CREATE TABLE paper (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO person SELECT i, i % 2 = 0 FROM range(40) r(i)")
        connection.execute("INSERT INTO paper SELECT 100 + i FROM range(30) r(i)")

    def candidates(fact: int) -> CandidateSet:
        rules = [parse_rule(RULES[name]) for name, facts in FACTS.items() if fact in facts]
        return CandidateSet((str(fact),), tuple(map(Body, rules)))

    ontology = ontology_of_classes({"Person": None, "Author": "Person", "Paper": None})
    truth = {name: frozenset((str(f),) for f in FACTS[rows]) for name, rows in CLASSES.items()}
    known = {name: [candidates(f) for f in FACTS[rows]] for name, rows in CLASSES.items()}
    with open_database(f"duckdb:///{path}") as database:
        yield Trials(World(ontology, truth, known), Measure(ontology, Derivations(database, learn_structure(database))))


def test_with_enough_examples_every_predicate_is_exact(trials: Trials) -> None:
    found = trials.run(15, 0.0, 0, [EVIDENCE])["evidence"]
    assert [(one.predicate, one.exact, one.f1, one.why) for one in found] == [
        (name, True, 1.0, "") for name in ("Author", "Paper", "Person")
    ]


def test_a_part_of_the_examples_may_be_wrong(trials: Trials) -> None:
    drawn = trials._drawn("Paper", 10, 0.3, random.Random(0))
    wrong = [one for one in drawn if one.arguments not in trials.world.truth["Paper"]]
    assert (len(drawn), len(wrong)) == (10, 3)
    found = {one.predicate: one for one in trials.run(10, 0.3, 0, [EVIDENCE])["evidence"]}
    assert found["Paper"].exact


def test_without_examples_names_decide_and_coverage_has_nothing_to_count(trials: Trials) -> None:
    found = trials.run(0, 0.0, 0, [COVERAGE, EVIDENCE])
    assert all(one.exact for one in found["evidence"])
    assert {one.why for one in found["coverage"]} == {"no rule"}
    assert {one.f1 for one in found["coverage"]} == {0.0}


def test_coverage_takes_the_looser_rule_and_is_told_why_it_is_wrong(trials: Trials) -> None:
    found = {one.predicate: one for one in trials.run(5, 0.0, 0, [COVERAGE])["coverage"]}
    author = found["Author"]
    assert not author.exact
    assert author.recall == 1.0
    assert author.precision == pytest.approx(15 / 35)  # five examples are left out on both sides
    assert author.why == "derives all right examples, as the true rule does"


class Contrary:
    """A model that thinks of papers when it is asked about authors."""

    def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
        return [
            [-20.0 + 15.0 * (name == "Author" and "paper" in text) for text in texts]
            for (name, _), texts in zip(facts, rules, strict=True)
        ]


def test_a_contender_asks_its_own_model_where_names_are_silent(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    neural = Contender("neural", Ranker.NEURAL, Contrary())
    assert all(one.exact for one in trials.run(0, 0.0, 0, [neural])["neural"])  # the names fit: it is not heard
    monkeypatch.setattr(PriorOf, "prior", lambda self, rule: Prior(1.0, 0.0, 0.0, 0.0))
    silent = Trials(trials.world, Measure(trials.world.ontology, trials.measure.derivations))
    found = {one.predicate: one.rules for one in silent.run(0, 0.0, 0, [EVIDENCE, neural])["neural"]}
    assert found["Author"] == (parse_rule("Author(x) <- paper(id: x)"),)


def test_a_model_learns_from_the_examples_of_the_trial(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, int]] = []

    def learn(drawn: ExamplesByTerm) -> Contrary:
        seen.append({name: len(facts) for name, facts in drawn.items()})
        return Contrary()

    learner = Contender("neural", Ranker.NEURAL, learn=learn)
    trials.run(2, 0.0, 0, [learner])
    assert not seen  # the names fit, so nothing is to be asked
    monkeypatch.setattr(PriorOf, "prior", lambda self, rule: Prior(1.0, 0.0, 0.0, 0.0))
    silent = Trials(trials.world, Measure(trials.world.ontology, trials.measure.derivations))
    silent.run(2, 0.0, 0, [learner])
    assert seen == [{"Author": 2, "Paper": 2, "Person": 2}]


def test_the_same_seed_draws_the_same_examples(trials: Trials) -> None:
    assert trials.run(3, 0.3, 7, [EVIDENCE]) == trials.run(3, 0.3, 7, [EVIDENCE])


def test_without_ceilings_no_rule_is_run_but_those_proposed(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = Trials(trials.world, trials.measure, ceilings=False)
    monkeypatch.setattr(quick, "ceiling", None)  # to call it would fail
    found = {one.predicate: one.why for one in quick.run(5, 0.0, 0, [COVERAGE])["coverage"]}
    assert found["Author"] == "derives all right examples, as the true rule does"


def test_the_ceiling_is_the_best_single_rule(trials: Trials) -> None:
    assert {trials.ceiling(name) for name in CLASSES} == {1.0}


def test_npd_has_its_own_steps_one_model_and_none_that_learns_from_examples(tmp_path: Path) -> None:
    for name in ("npd", "cmt_renamed"):
        (tmp_path / "rodi" / name).mkdir(parents=True)
    units = BENCHES["mapping"].units(BenchOptions(data=tmp_path))
    trials = {unit.key: unit.settings for unit in units if unit.settings["kind"] == "trial"}
    finetuned = {unit.settings["scenario"] for unit in units if unit.settings["kind"] == "finetuned"}
    assert {*trials} >= {"npd", "cmt_renamed", "workshop-plain, opaque names"}
    assert len(trials["npd"]["steps"]) < len(trials["cmt_renamed"]["steps"])
    assert [model["loss"] for model in trials["npd"]["models"]] == ["libra"]
    assert [model["loss"] for model in trials["cmt_renamed"]["models"]] == ["libra", "nll", "uniform"]
    assert "cmt_renamed" in finetuned
    assert "npd" not in finetuned
