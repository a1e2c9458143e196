"""The bench of questions: an oracle answers, and what is counted is what came out exact."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ruleminer.bench.questions import _CHOOSERS, BENCH, SLIPS, Curve, Review, World, curves_of, world_of
from ruleminer.bench.runner import run_bench
from ruleminer.bench.units import BenchOptions
from ruleminer.problem.decisions import NAMED, Said
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.review.questions import Question
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.review.test_questions import ONTOLOGY, PEOPLE

TRUTH = {
    "Person": frozenset((str(i),) for i in range(1, 61)),
    "title": frozenset((str(i), f"Paper {i}") for i in range(1, 31)),
    "Paper": frozenset((str(i),) for i in range(1, 31)),
}


@pytest.mark.parametrize("way", _CHOOSERS)
def test_the_oracle_answers_by_the_truth_and_all_that_is_reachable_is_reached(way: str, tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(PEOPLE)
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    ontology = read_ontology(tmp_path / "o.ttl")
    with open_database(str(tmp_path / "people.duckdb")) as database:
        structure = learn_structure(database)
        world, joint = world_of(ontology, Derivations(database, structure), TRUTH)
        assert world.truth["Paper"] == {(f"paper:{i}",) for i in range(1, 31)}
        assert world.reachable == TRUTH.keys()
        assert not world.bare
        measure = Measure(ontology, world.derivations, structure=structure)
        review = Review(world, measure, joint, random.Random(0), 0.0)
        for _ in range(30):
            question = _CHOOSERS[way](review)
            if question is None or review.exact() == TRUTH.keys():
                break
            before = len(review.lines)
            review.answer(question)
            for line in review.lines[before:]:
                assert (line.said is Said.HOLDS) == (line.fact in world.truth[line.term])
            review.decide()
        if way == "information":
            assert review.exact() == TRUTH.keys()
            assert len(review.lines) < 15


def test_a_key_alone_is_what_is_known_of_a_term_without_a_right_rule(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(PEOPLE)
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    with open_database(str(tmp_path / "people.duckdb")) as database:
        derivations = Derivations(database, learn_structure(database))
        world, _ = world_of(read_ontology(tmp_path / "o.ttl"), derivations, {"Paper": frozenset({("1",), ("7",)})})
        assert world.bare == {"Paper"}
        assert not world.reachable
        assert world.holds("Paper", ("paper:7",))
        assert not world.holds("Paper", ("paper:8",))


def test_a_slip_is_another_answer() -> None:
    derivations = Derivations.__new__(Derivations)
    world = World(None, derivations, TRUTH)  # type: ignore[arg-type]
    review = Review.__new__(Review)
    review.world, review.dice, review.slips, review.lines = world, random.Random(0), 1.0, []
    review.answer(Question("Paper", (("1",),), 0.0, (), ()))
    review.answer(Question("Paper", (("99",), ("1",), ("98",)), 0.0, (), ()))
    assert review.lines[0].said is Said.FAILS
    assert ("1",) not in {line.fact for line in review.lines[1:] if line.said is Said.HOLDS}


def test_how_many_answers_it_took() -> None:
    def curve(*exact: int) -> Curve:
        return Curve("", "", 0.0, predicates=4, reachable=3, exact=exact, within=exact)

    assert curve(1, 2, 3, 3).until_all == 2
    assert curve(3, 2, 3, 3).until_all == 2, "and they stay so"
    assert curve(3, 3).until_all == 0
    assert curve(1, 2).until_all is None
    assert [curve(1, 2, 3).after(share) for share in (0.0, 0.25, 0.5, 1.5)] == [1, 2, 3, 3]


def test_the_bench_runs_and_draws(tmp_path: Path) -> None:
    result = run_bench("questions", BenchOptions(scale="smoke", out=tmp_path))
    curves = curves_of(result.records)
    assert {(one.way, one.slips) for one in curves} == {*((way, 0.0) for way in _CHOOSERS), ("information", SLIPS[1])}
    assert all(one.exact[0] <= one.predicates for one in curves)
    assert (tmp_path / "questions-smoke" / "questions.png").stat().st_size > 1000 or list(
        tmp_path.rglob("questions.png")
    )
    assert BENCH.tables(result.records)[0].rows


def test_asked_to_name_a_fact_the_oracle_names_a_true_one_or_by_a_slip_another() -> None:
    truth = {**TRUTH, "title": frozenset({("1", ""), ("2", "Paper 2")})}
    world = World(None, Derivations.__new__(Derivations), truth)  # type: ignore[arg-type]
    review = Review.__new__(Review)
    review.world, review.dice, review.slips, review.lines = world, random.Random(0), 0.0, []
    review.answer(Question("Paper", (), 0.0, (), ()))
    review.answer(Question("title", (), 0.0, (), ()))
    world.truth["title"] = frozenset({("1", "")})  # type: ignore[index]
    review.answer(Question("title", (), 0.0, (), ()))
    review.slips = 1.0
    review.answer(Question("Paper", (), 0.0, (), ()))
    right, filled, none, wrong = review.lines
    assert none.said is Said.NONE_KNOWN
    assert (right.said, right.about) == (Said.HOLDS, NAMED)
    assert right.fact in TRUTH["Paper"]
    assert filled.fact == ("2", "Paper 2")
    assert wrong.fact not in TRUTH["Paper"]
