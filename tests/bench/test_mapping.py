"""The mapping study on a small world whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer.bench.mapping_trials import COVERAGE, EVIDENCE, Trials, World
from ruleminer.problem.database import open_database
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.propose.extensions import Extensions, body_of
from ruleminer.propose.judge import Judge
from ruleminer.propose.pool import CandidateSet
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule

RULES = [
    parse_rule(text)
    for text in (
        "Author(x) <- person(id: x, is_author: true)",
        "Author(x) <- person(id: x)",
        "Author(x) <- paper(writer: x)",
        "Paper(x) <- paper(id: x)",
    )
]


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[Trials]:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, is_author BOOLEAN)")
        connection.execute("CREATE TABLE paper (id INTEGER PRIMARY KEY, writer INTEGER REFERENCES person (id))")
        connection.execute("INSERT INTO person SELECT i, i % 3 = 0 FROM range(60) r(i)")
        connection.execute("INSERT INTO paper SELECT 100 + i, 3 * i % 30 FROM range(40) r(i)")
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        extensions = Extensions(database)
        truth = {
            "Author": frozenset((str(i),) for i in range(0, 60, 3)),
            "Paper": frozenset((str(100 + i),) for i in range(40)),
        }
        known = {name: [candidates(fact, extensions) for fact in sorted(facts)] for name, facts in truth.items()}
        yield Trials(World(ontology(), truth, known), Judge(ontology(), extensions))


def ontology() -> Ontology:
    owl = "http://www.w3.org/2002/07/owl#"
    return ontology_of(Graph().parse(data=f"@prefix : <http://x/#> . :Author a <{owl}Class> . :Paper a <{owl}Class> ."))


def candidates(fact: tuple[str, ...], extensions: Extensions) -> CandidateSet:
    fitting: dict[str, Rule] = {body_of(rule): rule for rule in RULES if fact in extensions.derived(rule)}
    return CandidateSet(fact, fitting)


def test_the_best_rule_of_the_templates_is_the_ceiling(trials: Trials) -> None:
    assert trials.ceiling("Author") == 1.0
    assert trials.ceiling("Paper") == 1.0


def test_with_examples_the_evidence_finds_the_flag_and_counting_does_not(trials: Trials) -> None:
    found = trials.run(10, 0.0, seed=0, contenders=[COVERAGE, EVIDENCE])
    evidence = {one.predicate: one for one in found["evidence"]}
    coverage = {one.predicate: one for one in found["coverage"]}
    assert evidence["Author"].exact
    assert evidence["Author"].f1 == 1.0
    assert evidence["Paper"].exact
    assert not coverage["Author"].exact  # the shorter rule derives all examples, too
    assert coverage["Author"].recall == 1.0
    assert coverage["Author"].precision < 0.5
    assert coverage["Author"].why == "derives all right examples, as the true rule does"


def test_wrong_examples_are_facts_of_others_and_a_draw_can_be_repeated(trials: Trials) -> None:
    once = trials.run(10, 0.3, seed=4, contenders=[EVIDENCE])
    again = trials.run(10, 0.3, seed=4, contenders=[EVIDENCE])
    assert once == again
    papers = next(one for one in once["evidence"] if one.predicate == "Paper")
    assert papers.exact
    assert papers.recall == 1.0


def test_without_examples_names_have_to_do(trials: Trials) -> None:
    found = trials.run(0, 0.0, seed=0, contenders=[COVERAGE, EVIDENCE])
    assert {one.predicate: one.exact for one in found["evidence"]} == {"Author": True, "Paper": True}
    assert not any(one.rules for one in found["coverage"])
