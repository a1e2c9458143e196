"""Refinement: a code that the examples share becomes a condition, where the evidence asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer.problem.database import open_database
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.propose import refine
from ruleminer.propose.extensions import Extensions, body_of
from ruleminer.propose.judge import Judge
from ruleminer.propose.pool import REFINED, CandidateSet, pool_of
from ruleminer.propose.ranking import Ranker, rank
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Constant, Kind

ALL = 'Appraisal(x) <- bore(id: a), x = "http://x/bore/" ++ a'
APPRAISAL = 'Appraisal(x) <- bore(id: a, purpose: "appraisal"), x = "http://x/bore/" ++ a'


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[Judge]:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE bore (id INTEGER PRIMARY KEY, purpose VARCHAR, depth INTEGER, dry BOOLEAN)")
        connection.execute(
            "INSERT INTO bore SELECT i, ['appraisal', 'wildcat', 'production'][1 + i % 3], 7 * i, i % 2 = 0 "
            "FROM range(300) r(i)"
        )
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        yield Judge(ontology(), Extensions(database))


def ontology() -> Ontology:
    turtle = "@prefix : <http://x/#> . :Appraisal a <http://www.w3.org/2002/07/owl#Class> ."
    return ontology_of(Graph().parse(data=turtle, format="turtle"))


def examples(*numbers: int) -> list[CandidateSet]:
    rule = parse_rule(ALL)
    return [CandidateSet((f"http://x/bore/{number}",), {body_of(rule): rule}) for number in numbers]


def best(judge: Judge, *numbers: int) -> tuple[str, str]:
    judged = judge.judged(pool_of("Appraisal", examples(*numbers)))
    assert judged is not None
    chosen = rank(judged, Ranker.EVIDENCE).chosen[0]
    return rule_text(judged.pool.rules[chosen]), judged.pool.origin[chosen]


def test_examples_that_share_a_code_make_a_finer_rule(judge: Judge) -> None:
    assert best(judge, *range(0, 60, 3)) == (APPRAISAL, REFINED)


def test_one_wrong_example_does_not_spoil_it(judge: Judge) -> None:
    assert best(judge, *range(0, 60, 3), 7)[0] == APPRAISAL


def test_examples_of_all_kinds_leave_the_rule_as_it_is(judge: Judge) -> None:
    assert best(judge, *range(20))[0] == ALL


def test_too_few_examples_cannot_pay_for_a_condition(judge: Judge) -> None:
    assert best(judge, 0, 3, 6)[0] == ALL


def test_what_is_no_whole_number_is_no_code_of_a_column_of_them() -> None:
    assert refine._constant("-2", Kind.INTEGER) == Constant(Kind.INTEGER, -2)
    assert refine._constant("1.5", Kind.INTEGER) is None


def test_an_example_that_is_gone_from_the_database_is_not_derived_any_more(judge: Judge) -> None:
    # The dataset was made when bore 9999 was still there.
    judged = judge.judged(pool_of("Appraisal", examples(0, 3, 6, 9, 9999)))
    assert judged is not None
    place = [rule_text(rule) for rule in judged.pool.rules].index(ALL)
    assert judged.pool.covers[place].tolist() == [True, True, True, True, False]
