"""No two things share an IRI, and no thing has two: on ordinary databases, all of whose tables are numbered from 1."""

from __future__ import annotations

from pathlib import Path

import pytest

import ruleminer
from ruleminer.bench.real import part_of
from ruleminer.bench.real_problem import problems_in
from ruleminer.bench.real_truth import Truth
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.identity import entity_arguments
from ruleminer.sources.data_folder import data_folder
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

DATA = data_folder()
REAL = DATA / "real" if DATA else Path("missing")
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not REAL.is_dir(), reason="needs RULEMINER_DATA/real"),
]


@pytest.mark.parametrize(("name", "least"), [("chinook", 6_000), ("sakila", 30_000)])
def test_there_are_as_many_iris_as_keys_in_spaces(name: str, least: int, tmp_path: Path) -> None:
    [problem] = problems_in(REAL / name)
    url = problem.database()
    ontology = part_of(read_ontology(problem.ontology()), problem.sql)
    with open_database(url) as database:
        structure = learn_structure(database)
        truth = Truth(problem, database, structure)
        examples = [
            (term, *truth.written(row, "table:key"))
            for term in problem.sql
            for row in truth.draw(term, 2, "people", "table:key", 0)
        ]
        ruleminer.extract(url, ontology, examples, tmp_path)
        delivery = ruleminer.propose(tmp_path, ontology=ontology, ranker="evidence")  # terms with examples only
        derivations = Derivations(database, structure)
        things = set()
        for proposal in delivery.proposals.proposed:
            for rule in proposal.proposed_rules:
                facts = derivations.derived(rule)
                for variable in entity_arguments(ontology, rule, structure):
                    spaces = {space.key for place in rule.places_of(variable) if (space := structure.space(place))}
                    assert len(spaces) == 1, "a thing is of one kind"
                    place = rule.arguments.index(variable)
                    things |= {(next(iter(spaces)), fact[place]) for fact in facts}
    iris = set()
    for subject, predicate, value in ruleminer.materialise(delivery.mapping, url):
        iris.add(subject)
        if predicate != TYPE and value.startswith("<"):
            iris.add(value)
    assert len(iris) == len(things) > least
