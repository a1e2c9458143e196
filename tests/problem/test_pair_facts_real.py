"""RODI's own pairs: the facts they give agree with the known truth, and every engine answers them alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.pair_facts import facts_from_pairs, run_pair_sql
from ruleminer.problem.scenario import Scenario, all_facts, open_scenario, scenario_database, scenario_examples
from ruleminer.rules.lexical import lexical_form
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.dump import load_dump

pytestmark = pytest.mark.data

CMT = ["denormalized", "mixed", "naive", "naive_ci", "renamed", "structured", "structured_ci"]
CONFERENCE = ["mixed", "naive", "naive_ci", "nofks", "renamed", "structured", "structured_ci"]
SCENARIOS = [f"cmt_{kind}" for kind in CMT] + [f"conference_{kind}" for kind in CONFERENCE]

# Predicates that facts.csv has and no pair gives; whatever a pair gives agrees with facts.csv, without exception.
ONLY_IN_CSV = {
    "cmt_denormalized": {"hasBeenAssigned"},  # Q43 asks for a title and a name over three properties
    "cmt_naive_ci": {"hasProgramCommitteeMember"},  # Q46 asks for hasCommitteeMember, which the ontology lacks
}
# Why an enabled pair gives no facts.
REASONS = {
    "cmt_denormalized": {
        "Q09": "its SQL returns no rows",
        "Q43": "its SPARQL asks for 3 properties at once",
    },
    "cmt_naive_ci": {"Q46": "the ontology has no property hasCommitteeMember"},
    "conference_naive": {"Q30": "the ontology has no property has_an_isbn (there is has_an_ISBN)"},
    "conference_naive_ci": {"Q30": "the ontology has no property has_an_isbn (there is has_an_ISBN)"},
    "conference_structured_ci": {"Q30": "the ontology has no property has_an_isbn (there is has_an_ISBN)"},
    "npd": {
        "atomic-coreIntervalBottom": "its SQL returns no rows",
        "atomic-coreIntervalTop": "its SQL returns no rows",
    },
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def by_predicate(facts: pa.Table) -> dict[str, set[tuple[str, str | None]]]:
    found: defaultdict[str, set[tuple[str, str | None]]] = defaultdict(set)
    for row in facts.select(["predicate", "arg1", "arg2"]).to_pylist():
        found[row["predicate"]].add((row["arg1"], row["arg2"]))
    return dict(found)


def answers(database: Database, scenario: Scenario) -> dict[str, Counter[tuple[str | None, ...]]]:
    return {
        pair.stem: Counter(tuple(map(as_text, row)) for row in run_pair_sql(database, pair))
        for pair in scenario.pairs
        if not pair.disabled
    }


def as_text(value: object) -> str | None:
    if value is None:
        return None
    return lexical_form(Decimal(repr(value)) if isinstance(value, float) else value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [f"cmt_{kind}" for kind in CMT])
def test_facts_from_pairs_agree_with_the_known_facts(real_data: Path, cache: Path, name: str) -> None:
    scenario = open_scenario(real_data / "rodi" / name)
    ontology = read_ontology(scenario.ontology_path)
    with open_database(scenario_database(scenario, cache)) as database:
        given, report = facts_from_pairs(database, scenario.pairs, ontology)
        truth = by_predicate(all_facts(scenario, ontology, database).facts)
        examples = scenario_examples(scenario, ontology, database)
    found = by_predicate(given)
    missing = ONLY_IN_CSV.get(name, set())
    assert found == {predicate: facts for predicate, facts in truth.items() if predicate not in missing}
    assert by_predicate(examples.facts) == truth
    assert len(examples.notes) == len(missing)
    reasons = {row.pair: row.reason for row in report if row.reason and row.reason != "disabled"}
    assert reasons == REASONS.get(name, {})


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_enabled_pair_answers_alike_on_duckdb_and_postgresql(
    real_data: Path, cache: Path, postgres_url: str, name: str
) -> None:
    scenario = open_scenario(real_data / "rodi" / name)
    load_dump(scenario.folder / "dump.sql", postgres_url, replace=True)
    with (
        open_database(scenario_database(scenario, cache)) as duck,
        open_database(postgres_url, schema=name) as server,
    ):
        found = answers(duck, scenario)
        assert found == answers(server, scenario)
    assert len(found) == len([pair for pair in scenario.pairs if not pair.disabled])


@pytest.mark.parametrize("name", ["cmt_denormalized", "conference_renamed"])
def test_facts_and_report_are_alike_on_duckdb_and_postgresql(
    real_data: Path, cache: Path, postgres_url: str, name: str
) -> None:
    scenario = open_scenario(real_data / "rodi" / name)
    ontology = read_ontology(scenario.ontology_path)
    load_dump(scenario.folder / "dump.sql", postgres_url, replace=True)
    with (
        open_database(scenario_database(scenario, cache)) as duck,
        open_database(postgres_url, schema=name) as server,
    ):
        facts, report = facts_from_pairs(duck, scenario.pairs, ontology)
        again, again_report = facts_from_pairs(server, scenario.pairs, ontology)
    assert facts.equals(again)
    assert report == again_report


@pytest.mark.parametrize("name", [f"conference_{kind}" for kind in CONFERENCE])
def test_conference_pairs_give_facts_but_for_a_property_the_ontology_lacks(
    real_data: Path, cache: Path, name: str
) -> None:
    scenario = open_scenario(real_data / "rodi" / name)
    with open_database(scenario_database(scenario, cache)) as database:
        facts, report = facts_from_pairs(database, scenario.pairs, read_ontology(scenario.ontology_path))
    assert {row.pair: row.reason for row in report if row.reason} == REASONS.get(name, {})
    found = by_predicate(facts)
    papers, reviews = ({key for key, _ in found["Paper"]}, {value for _, value in found["has_a_review"]})
    assert {paper for paper, _ in found["has_a_review"]} <= papers
    assert not reviews & papers, "the ends are not swapped"
    assert {person for person, _ in found["contributes"]} <= {key for key, _ in found["Person"]}


@pytest.mark.slow
def test_npd_gives_facts_for_all_pairs_but_the_two_empty_ones(real_data: Path, cache: Path) -> None:
    scenario = open_scenario(real_data / "rodi" / "npd")
    ontology = read_ontology(scenario.ontology_path)
    with open_database(scenario_database(scenario, cache)) as database:
        facts, report = facts_from_pairs(database, scenario.pairs, ontology)
    assert len(report) == 439
    assert {row.pair: row.reason for row in report if row.reason} == REASONS["npd"]
    assert facts.num_rows == sum(row.facts for row in report) == 2_083_512
    kinds = Counter(facts["kind2"].to_pylist())
    assert all(kinds[kind] > 100_000 for kind in ("date", "decimal", "integer", "text")), "casts hide no type"


@pytest.mark.slow
def test_npd_pairs_answer_alike_on_duckdb_and_postgresql(real_data: Path, cache: Path, postgres_url: str) -> None:
    scenario = open_scenario(real_data / "rodi" / "npd")
    load_dump(scenario.folder / "dump.sql.gz", postgres_url, replace=True)
    with (
        open_database(scenario_database(scenario, cache)) as duck,
        open_database(postgres_url, schema="npd") as server,
    ):
        for pair in scenario.pairs:
            assert Counter(run_pair_sql(duck, pair)) == Counter(run_pair_sql(server, pair)), pair.stem
