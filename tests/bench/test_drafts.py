"""Where drafts lose terms: each term has one fate, and it is the one that its hypotheses tell."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

from ruleminer.bench.drafts import Fate, _fates, fates_of
from ruleminer.pretraining.problems import problems
from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.derivations import Derivations
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure


def test_every_term_of_a_generated_problem_has_the_fate_that_its_answer_tells() -> None:
    problem = problems(6, None)[0]
    fates = [fate for _, fate in fates_of(problem)]
    assert len(fates) == len(problem.there)
    there = problem.samples[:, 0] > 0
    assert {n for n, fate in enumerate(fates) if fate in (Fate.STRANGER, Fate.ABSENT)} == {*np.flatnonzero(~there)}
    lost = {n for n, fate in enumerate(fates) if fate is Fate.CUT}
    assert lost == {*np.flatnonzero(there & ~problem.right.any(axis=1))}
    unsure = [fate for _, fate in fates_of(problem, min_confidence=1.1)]  # nothing is as sure as that
    assert not {*unsure} & {Fate.RIGHT, Fate.OTHER, Fate.STRANGER}


def test_terms_of_a_live_database_are_told_by_what_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE product (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO product SELECT i, 'thing ' || i FROM range(1, 41) t(i)")
    names = ("Product", "OddProduct")
    ontology = Ontology(tuple(OntologyClass(f"http://x.example/{name}", name) for name in names), (), {})
    truth = {
        "Product": frozenset((str(n),) for n in range(1, 41)),
        "OddProduct": frozenset((str(n),) for n in range(1, 41, 2)),
        "Unheard": frozenset({("1",)}),
    }
    with open_database(f"duckdb:///{path}") as database:
        derivations = Derivations(database, learn_structure(database))
        found = dict(_fates(truth, ontology, derivations, lambda rule: frozenset(derivations.derived(rule))))
    assert found["Product"] in (Fate.RIGHT, Fate.UNSURE)
    assert found["OddProduct"] is Fate.UNOFFERED
    assert found["Unheard"] is Fate.UNASKED
