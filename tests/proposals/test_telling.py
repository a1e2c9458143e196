"""Columns that tell others of their rows, in tables that repeat what they hold."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import FEATURES, Candidates, World, problem_of
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure


def test_a_part_of_a_key_that_tells_the_row_is_told_from_a_key_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "repeated.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE reviewer (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO reviewer SELECT i, 'R' || i FROM range(1, 9) t(i)")
        connection.execute("CREATE TABLE paper_id (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO paper_id SELECT i FROM range(1, 31) t(i)")
        connection.execute(
            "CREATE TABLE paper (id INTEGER REFERENCES paper_id(id), reviewer INTEGER REFERENCES reviewer(id), "
            "title VARCHAR, grade INTEGER, PRIMARY KEY (id, reviewer))"
        )
        connection.execute(
            "INSERT INTO paper SELECT p, r, 'Title ' || p, (p * r) % 7 FROM range(1, 31) t(p), range(1, 5) u(r)"
        )
    with open_database(f"duckdb:///{path}") as database:
        world = World(Derivations(database, learn_structure(database)), None)
        told = world.telling
        assert told.tells(Place("paper", "id"), "title")
        assert not told.tells(Place("paper", "id"), "grade")
        assert told.share(Place("paper", "id")) > told.share(Place("paper", "reviewer")) == 0.0
        paper = OntologyClass("http://x.example/Paper", "Paper")
        ontology = Ontology((paper,), (), {})
        problem, (bodies,) = problem_of([Candidates(paper, world.offered(paper))], world, ontology)
        part = problem.features[0, 1:, FEATURES.index("part tells row")]
        compound = [number for number, body in enumerate(bodies) if body.of("_").definitions]
        assert [part[number] > 0.0 for number in range(len(bodies))] == [n in compound for n in range(len(bodies))]
