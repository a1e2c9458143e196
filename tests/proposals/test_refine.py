"""Refinement: a code that the examples share becomes a condition, where the evidence asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import REFINED, pool_of
from ruleminer.proposals.ranking import Ranker, rank
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

ALL = 'Appraisal(x) <- bore(id: a), x = "http://x/bore/" ++ a'
APPRAISAL = 'Appraisal(x) <- bore(id: a, purpose: "appraisal"), x = "http://x/bore/" ++ a'


@pytest.fixture
def measure(tmp_path: Path) -> Iterator[Measure]:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE bore (id INTEGER PRIMARY KEY, purpose VARCHAR, depth INTEGER, dry BOOLEAN)")
        connection.execute(
            "INSERT INTO bore SELECT i, ['appraisal', 'wildcat', 'production'][1 + i % 3], 7 * i, i % 2 = 0 "
            "FROM range(300) r(i)"
        )
        connection.execute("CREATE TABLE newbore AS SELECT id + 1000 AS id, purpose FROM bore WHERE id < 100")
        connection.execute("CREATE TABLE allbore AS SELECT id FROM bore UNION SELECT id FROM newbore")
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        yield Measure(ontology(), Derivations(database, learn_structure(database)), noise=True)


def ontology() -> Ontology:
    turtle = "@prefix : <http://x/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Appraisal a owl:Class ."
    turtle += "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :Bore a owl:Class . :Dug a owl:Class ."
    turtle += ":WildcatBore a owl:Class ; rdfs:subClassOf :Bore ."
    return ontology_of(Graph().parse(data=turtle, format="turtle"))


def examples(*numbers: int) -> list[CandidateSet]:
    rule = parse_rule(ALL)
    return [CandidateSet((f"http://x/bore/{number}",), (Body(rule),)) for number in numbers]


def best(measure: Measure, *numbers: int, term: str = "Appraisal") -> tuple[str, str]:
    measured = measure.measured(pool_of(term, examples(*numbers)))
    assert measured is not None
    chosen = rank(measured, Ranker.EVIDENCE).chosen[0]
    return rule_text(measured.pool.rules[chosen]), measured.pool.origin[chosen]


def test_examples_that_share_a_code_make_a_finer_rule(measure: Measure) -> None:
    assert best(measure, *range(0, 60, 3)) == (APPRAISAL, REFINED)


def test_one_wrong_example_does_not_spoil_it(measure: Measure) -> None:
    assert best(measure, *range(0, 60, 3), 7)[0] == APPRAISAL


def test_examples_of_all_kinds_leave_the_rule_as_it_is(measure: Measure) -> None:
    assert best(measure, *range(20))[0] == ALL


def test_too_few_examples_cannot_pay_for_a_condition(measure: Measure) -> None:
    assert best(measure, 0, 3, 6, term="Dug")[0] == ALL.replace("Appraisal", "Dug")


def test_but_for_one_that_is_called_like_the_term(measure: Measure) -> None:
    assert best(measure, 0, 3, 6)[0] == APPRAISAL


def test_or_like_what_the_term_says_more_than_its_parent(measure: Measure) -> None:
    wanted = APPRAISAL.replace("appraisal", "wildcat").replace("Appraisal", "WildcatBore")
    assert best(measure, 1, 4, 7, term="WildcatBore")[0] == wanted


def test_an_example_that_is_gone_from_the_database_is_not_derived_any_more(measure: Measure) -> None:
    # The dataset was made when bore 9999 was still there.
    measured = measure.measured(pool_of("Appraisal", examples(0, 3, 6, 9, 9999)))
    assert measured is not None
    place = [rule_text(rule) for rule in measured.pool.rules].index(ALL)
    assert measured.pool.covers[place].tolist() == [True, True, True, True, False]


def test_what_the_best_rule_leaves_is_refined_in_its_own_table(measure: Measure) -> None:
    """Bores from 1,000 on stand in another table, with codes of its own."""
    atoms = ("bore(id: a)", "bore(id: a, depth: b)", "newbore(id: a)")
    old, deep, new = (Body(parse_rule(ALL.replace("bore(id: a)", atom))) for atom in atoms)
    facts = [CandidateSet((f"http://x/bore/{n}",), (old, deep)) for n in range(0, 180, 3)]
    facts += [CandidateSet((f"http://x/bore/{n}",), (new,)) for n in range(1000, 1015, 3)]
    measured = measure.measured(pool_of("Dug", facts))
    assert measured is not None
    pairs = zip(measured.pool.rules, measured.pool.origin, strict=True)
    refined = {rule_text(rule) for rule, origin in pairs if origin == REFINED}
    assert any('newbore(id: a, purpose: "appraisal")' in text for text in refined)
    assert any(' bore(id: a, purpose: "appraisal")' in text for text in refined)


def test_a_code_called_like_the_term_is_found_in_tables_that_hold_some_of_the_examples(measure: Measure) -> None:
    """The table with all of them has no such code; the two that hold a part each have."""
    everywhere = Body(parse_rule(ALL.replace("bore(id: a)", "allbore(id: a)")))
    old, new = (Body(parse_rule(ALL.replace("bore(id: a)", f"{table}(id: a)"))) for table in ("bore", "newbore"))
    facts = [CandidateSet((f"http://x/bore/{n}",), (everywhere, old)) for n in range(1, 60, 3)]
    facts += [CandidateSet((f"http://x/bore/{n}",), (everywhere, new)) for n in range(1001, 1060, 3)]
    measured = measure.measured(pool_of("WildcatBore", facts))
    assert measured is not None
    assert {rule.body[0].table for rule in measured.pool.rules if rule.constants} == {"bore", "newbore"}
