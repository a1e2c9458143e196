"""Problems to learn from: facts in memory are those of SQL, what is called right is right, and no two sets meet."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ruleminer.learn.decision_files import NOTE, WEIGHTS, load_network
from ruleminer.learn.decision_problem import Problem
from ruleminer.learn.decision_training import DecisionOptions
from ruleminer.pretraining.corpus import MADE_WITH, make_corpus, read_corpus
from ruleminer.pretraining.extensions import Extensions
from ruleminer.pretraining.pretrain import PretrainRequest, pretrain
from ruleminer.pretraining.problems import problems
from ruleminer.pretraining.variation import varied, with_examples, without_strangers
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.proposals.structure_rules import shapes_of
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure


@pytest.fixture(scope="module")
def some() -> list[Problem]:
    return problems(6, None)


def test_facts_in_memory_are_those_of_the_database(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="random", kind="mixed", names="mixed", size=200, seed=3)
    with open_database(f"duckdb:///{tmp_path / 's' / 'database.duckdb'}") as database:
        derivations = Derivations(database, learn_structure(database))
        shapes = shapes_of(derivations.structure)
        asked = Extensions(database)
        chosen = Random(0).sample([*shapes.classes, *shapes.objects, *shapes.values], 80)
        for body in chosen:
            assert asked.facts(body) == derivations.derived(body.of("_")), body
        assert derivations.sizes([body.of("_") for body in chosen]) == [len(asked.facts(body)) for body in chosen]


def test_the_same_seed_gives_the_same_problems(some: list[Problem]) -> None:
    again = problems(6, None)
    for one, other in zip(some, again, strict=True):
        for field in fields(Problem):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def test_what_is_right_is_there_and_derives_every_true_fact(some: list[Problem]) -> None:
    for problem in some:
        assert not (problem.right & ~problem.there).any()
        assert (problem.judged == problem.right.any(axis=1)).all()
        assert problem.features.shape[-1] == len(FEATURES)
        assert np.isfinite(problem.features).all()
        for term in np.flatnonzero(problem.right[:, 1:].any(axis=1)):
            true, others = problem.samples[term]
            derived = problem.derives[term][problem.right[term]]
            assert derived[:, :true].all()
            assert not derived[:, true : true + others].any()


def test_examples_leave_rules_that_derive_one_and_speak_most_for_the_right_one(some: list[Problem]) -> None:
    told = with_examples(some[0], Random(1), 5, 1.0, 0.0)
    given = np.flatnonzero(told.features[:, 0, FEATURES.index("examples")])
    assert len(given)
    share, likelihood = (told.features[..., FEATURES.index(name)] for name in ("share derived", "likelihood"))
    for term in given.tolist():
        assert (share[term, 1:][told.there[term, 1:]] > 0).all()
        if told.judged[term]:
            assert (share[term][told.right[term]] == 1.0).all()
            assert likelihood[term][told.right[term]].max() > -6.0
    assert varied(some[0], Random(5)).features.shape == some[0].features.shape


def test_an_ontology_without_strangers_has_all_that_the_data_have_and_the_same_relations(some: list[Problem]) -> None:
    problem = max(some, key=lambda one: int((one.right[:, 0] & one.judged).sum()))
    own = without_strangers(problem, Random(0), 1.0)
    kept = np.flatnonzero(~(problem.right[:, 0] & problem.judged))
    assert 0 < len(kept) < len(problem.there)
    assert np.array_equal(own.features, problem.features[kept])
    assert not (own.right[:, 0] & own.judged).any()
    before = {(r, s, how) for r, s, how in problem.edges.tolist() if {r, s} <= set(kept.tolist())}
    assert {(int(kept[r]), int(kept[s]), how) for r, s, how in own.edges.tolist()} == before


def test_a_network_is_made_from_generated_databases_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some: list[Problem]
) -> None:
    made: list[int] = []

    def few(seed: int, meaning: object, domain: object = None) -> list[Problem]:
        made.append(seed)
        return some[:1]

    monkeypatch.setattr("ruleminer.pretraining.corpus.problems", few)
    request = PretrainRequest(tmp_path, databases=2, held_out=1, options=DecisionOptions(passes=1, width=4))
    make_corpus(tmp_path / "problems", 1, None)
    result = pretrain(request)
    assert made == [0, 1, 1_000_000]  # what was there was kept; what is held out has other seeds
    assert len(list(read_corpus(tmp_path / "problems", range(2)))) == 2
    assert result.scores["no example"]["terms"] == some[0].judged.sum()
    assert (tmp_path / WEIGHTS).stat().st_size < 5_000_000
    assert (tmp_path / NOTE).is_file()
    assert load_network(tmp_path, FEATURES).note["problems"] == 2
    fewer = pretrain(replace(request, databases=1, force=True))
    assert fewer.problems == 1  # of what is there, what was asked for
    assert made == [0, 1, 1_000_000]


def test_problems_that_were_made_otherwise_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, some: list[Problem]
) -> None:
    made: list[int] = []

    def few(seed: int, meaning: object, domain: object = None) -> list[Problem]:
        made.append(seed)
        return some[:1]

    monkeypatch.setattr("ruleminer.pretraining.corpus.problems", few)
    make_corpus(tmp_path, 2, None)
    make_corpus(tmp_path, 2, None)
    assert made == [0, 1]
    monkeypatch.setattr("ruleminer.pretraining.corpus.FEATURES", (*FEATURES, "another"))
    make_corpus(tmp_path, 1, None)
    assert made == [0, 1, 0]
    assert len(list(read_corpus(tmp_path, range(2)))) == 1
    (tmp_path / MADE_WITH).unlink()  # as an earlier version left it
    make_corpus(tmp_path, 1, None)
    assert made == [0, 1, 0, 0]
