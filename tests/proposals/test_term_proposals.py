"""From a run to a mapping: the true rules are found, the evidence adds up, all files are there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import pytest
import rdflib

from ruleminer.problem.rule_facts import derived_facts
from ruleminer.proposals.proposal import Proposal
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import Delivery, mapped_rules, propose_mappings
from ruleminer.rules.parser import parse_rule, parse_rules
from ruleminer.sources.database import Database, open_database
from tests.proposals.conftest import Extracted
from tests.scenarios.generated import true_facts

FILES = {
    "mapping.ttl", "mapping.obda", "mapping.properties", "mapping.yarrrml.yml", "mapping.sql", "mapping.rules",
    "proposals.json", "report.html", "times.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def delivery(workshop: Extracted, tmp_path_factory: pytest.TempPathFactory) -> Delivery:
    out = tmp_path_factory.mktemp("proposed") / "deep" / "folder"
    return propose_mappings(ProposeRequest(run=workshop.run, out=out, scenario=workshop.scenario))


@pytest.fixture(scope="module")
def database(workshop: Extracted) -> Iterator[Database]:
    with open_database(f"duckdb:///{workshop.database}") as opened:
        yield opened


def exact(proposal: Proposal, facts: dict[str, set[tuple[str, ...]]], database: Database) -> bool:
    derived = set().union(*(derived_facts(parse_rule(text), database) for text in proposal.texts))
    return derived == facts[proposal.predicate]


def test_the_true_mapping_is_found(delivery: Delivery, workshop: Extracted, database: Database) -> None:
    facts = true_facts(workshop.scenario)
    proposed = delivery.proposals.proposed
    assert {one.predicate for one in proposed} == set(facts)
    wrong = [one.texts for one in proposed if not exact(one, facts, database)]
    assert len(wrong) <= 1, wrong
    assert all(len(one.rules) == 1 for one in proposed)  # nothing here asks for a union


def test_the_mapping_answers_the_scenarios_queries_about_classes(delivery: Delivery) -> None:
    assert delivery.validation is not None
    classes = {one.predicate for one in delivery.proposals.proposed if one.kind == "class"}
    asked = [query for query in delivery.validation.queries if query.target in classes]
    assert {query.target for query in asked} == classes
    assert all(query.perfect for query in asked)


def test_all_files_are_there_and_can_be_read(delivery: Delivery, workshop: Extracted) -> None:
    assert {path.name for path in delivery.files} == FILES == {path.name for path in delivery.folder.iterdir()}
    graph = rdflib.Graph().parse(delivery.folder / "mapping.ttl")
    maps = set(graph.subjects(rdflib.RDF.type, rdflib.URIRef("http://www.w3.org/ns/r2rml#TriplesMap")))
    assert maps
    written = list(parse_rules((delivery.folder / "mapping.rules").read_text("utf-8")))
    assert set(written) == set(mapped_rules(delivery.proposals))
    told = json.loads((delivery.folder / "proposals.json").read_text("utf-8"), parse_constant=pytest.fail)
    assert [one["predicate"] for one in told["proposals"]] == [one.predicate for one in delivery.proposals.proposals]
    assert told["policy"]
    assert told["identity"]
    page = (delivery.folder / "report.html").read_text("utf-8")
    for one in delivery.proposals.proposed:
        assert one.predicate in page


def test_the_evidence_adds_up(delivery: Delivery, workshop: Extracted) -> None:
    facts = true_facts(workshop.scenario)
    for one in delivery.proposals.proposed:
        assert 0.0 <= one.posterior <= 1.0
        assert one.confidence is not None
        assert 0.0 <= one.confidence <= 1.0
        assert one.positives == 10 or one.positives == len(facts[one.predicate])
        assert one.derives is not None
        assert 0 < len(one.sample) <= 5
        assert one.sample == tuple(sorted(one.sample))
        assert [choice.ranker for choice in one.choices] == ["coverage", "evidence"]
        for rule in (*one.rules, *one.alternatives):
            assert rule.positives_derived + rule.positives_missed == one.positives
            assert rule.positives_derived > 0
            assert rule.derives is not None
            assert rule.derives >= rule.positives_derived
            assert rule.shared is not None
            assert 0 <= rule.shared <= min(rule.derives, one.derives)
            assert math.isfinite(rule.log_prior)
            assert math.isfinite(rule.log_likelihood)
            assert rule.verdict
            assert rule.sql.startswith("SELECT DISTINCT")
        assert [rule.verdict for rule in one.rules] == ["chosen"]
        posteriors = [rule.posterior for rule in one.alternatives]
        assert posteriors == sorted(posteriors, reverse=True)
        assert sum(posteriors) + sum(rule.posterior for rule in one.rules) <= 1.0 + 1e-9
        missed = set(one.missed)
        assert len(missed) == min(5, sum(rule.positives_missed for rule in one.rules))


def test_confidence_is_calibrated_on_hidden_examples(delivery: Delivery) -> None:
    calibration = delivery.proposals.calibration
    assert calibration is not None
    assert calibration.trials == sum(bin.trials for bin in calibration.bins) > 20
    assert calibration.error <= calibration.error_before + 0.02
    sure = [one.confidence for one in delivery.proposals.proposed if one.posterior > 0.99]
    assert sure
    assert min(sure) > 0.8  # type: ignore[type-var]


def test_what_is_missing_is_told(delivery: Delivery, workshop: Extracted) -> None:
    assert delivery.proposals.notes == (
        f"no model in {workshop.run}: the neural ranker is left out (`ruleminer train {workshop.run}`)",
    )
