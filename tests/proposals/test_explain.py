"""A decision told to a reviewer: each rule says what speaks for it, and what it lost by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pytest

from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.decide import decide
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.explain import explain
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import pool_of
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.proposal import Calibration, Proposal
from ruleminer.proposals.ranking import Ranker
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from tests.proposals.worlds import ontology_of_classes

ONTOLOGY = ontology_of_classes({"Author": None})
RULES = {
    "Author(x) <- person(id: x, is_author: true)": set(range(0, 40, 2)),
    "Author(x) <- person(id: x)": set(range(40)),
    "Author(x) <- person(id: x, is_author: true), person(id: x)": set(range(0, 40, 2)),
    'Author(x) <- person(id: x, grp: "g0")': set(range(0, 40, 4)),
    "Author(x) <- old_author(id: x)": set(range(200, 230)),
}


@pytest.fixture(scope="module")
def derivations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Derivations]:
    path = tmp_path_factory.mktemp("told") / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, is_author BOOLEAN, grp VARCHAR)")
        connection.execute("CREATE TABLE old_author (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO person SELECT i, i % 2 = 0, 'g' || (i % 4) FROM range(40) r(i)")
        connection.execute("INSERT INTO old_author SELECT 200 + i FROM range(30) r(i)")
    with open_database(f"duckdb:///{path}") as database:
        yield Derivations(database)


def told(
    derivations: Derivations,
    positives: Sequence[int],
    negatives: Sequence[int] = (),
    calibration: Calibration | None = None,
) -> Proposal:
    def candidates(fact: int) -> CandidateSet:
        rules = [parse_rule(text) for text, facts in RULES.items() if fact in facts]
        return CandidateSet((str(fact),), tuple(map(Body, rules)))

    pool = pool_of("Author", list(map(candidates, positives)), list(map(candidates, negatives)))
    measured = Measure(ONTOLOGY, derivations, noise=True).measured(pool)
    assert measured is not None
    coverage, evidence = (
        decide({"Author": measured}, ranker, PriorWeights(), ONTOLOGY, derivations.union_size)["Author"]
        for ranker in (Ranker.COVERAGE, Ranker.EVIDENCE)
    )
    return explain(
        evidence, ONTOLOGY.find("Author"), derivations, by_ranker=[coverage, evidence], calibration=calibration
    )


def test_the_reasons_of_the_losers_are_told(derivations: Derivations) -> None:
    proposal = told(derivations, [0, 2, 4, 6, 8, 10, 14, 201], [1, 3])
    assert proposal.texts == ("Author(x) <- person(id: x, is_author: true)",)
    verdicts = {rule.text: rule.verdict for rule in proposal.alternatives}
    assert "hits 2 negatives more" in verdicts["Author(x) <- person(id: x)"]
    assert "derives 40 facts where 20 explain the examples" in verdicts["Author(x) <- person(id: x)"]
    same = verdicts["Author(x) <- person(id: x, is_author: true), person(id: x)"]
    assert same == "derives the same facts, and is longer"
    assert "misses 4 positives that the proposal derives" in verdicts['Author(x) <- person(id: x, grp: "g0")']
    assert "derives 1 positive that the proposal misses" in verdicts["Author(x) <- old_author(id: x)"]
    assert proposal.missed == (("201",),)
    assert proposal.hit == ()
    assert proposal.confidence is None


def test_what_is_shared_and_what_a_rule_explains_alone_is_counted(derivations: Derivations) -> None:
    proposal = told(derivations, [0, 2, 4, 6, 8, 10, 14, 201])
    by_text = {rule.text: rule for rule in (*proposal.rules, *proposal.alternatives)}
    everybody = by_text["Author(x) <- person(id: x)"]
    assert (everybody.derives, everybody.shared, everybody.alone) == (40, 20, 0)
    old = by_text["Author(x) <- old_author(id: x)"]
    assert (old.derives, old.shared, old.alone) == (30, 0, 1)
    chosen = proposal.rules[0]
    assert (chosen.derives, chosen.shared, chosen.alone) == (20, 20, 7)


def test_a_union_is_told_as_one(derivations: Derivations) -> None:
    proposal = told(derivations, [*range(0, 24, 2), *range(200, 212)])
    assert set(proposal.texts) == {
        "Author(x) <- person(id: x, is_author: true)",
        "Author(x) <- old_author(id: x)",
    }
    assert {rule.verdict for rule in proposal.rules} == {"chosen, one of a union of 2"}
    assert proposal.derives == 50
    assert proposal.missed == ()
    evidence = next(choice for choice in proposal.choices if choice.ranker == "evidence")
    assert (evidence.derives, evidence.positives_derived) == (50, 24)
    coverage = next(choice for choice in proposal.choices if choice.ranker == "coverage")
    assert len(coverage.rules) == 1


def test_negatives_that_the_proposal_derives_are_shown(derivations: Derivations) -> None:
    proposal = told(derivations, [0, 2, 4, 6, 8, 10, 14, 16], [12])
    assert proposal.hit == (("12",),)
    assert proposal.rules[0].negatives_hit == 1


def test_confidence_is_no_more_than_what_is_known_to_be_right(derivations: Derivations) -> None:
    sure = Calibration(1.0, 5.0, 100, 0.0, 0.0, ())
    clean = told(derivations, [0, 2, 4, 6, 8, 10, 14, 16], [1], sure)
    assert clean.confidence is not None
    assert clean.confidence > 0.95
    assert told(derivations, [0, 2, 4, 6, 8, 10, 14, 16], [12], sure).confidence == pytest.approx(9 / 10)
    assert told(derivations, [0, 2, 4, 6, 8, 10, 14, 201], [1], sure).confidence == pytest.approx(8 / 9)
