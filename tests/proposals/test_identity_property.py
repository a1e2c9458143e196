"""No two entities share an IRI, and none has two: over generated schemas, with the triples that a mapping makes."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest
import rdflib

from ruleminer.problem.ontology import ontology_of
from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.proposals.identity import identity_policy, mapping_of
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import Structure, learn_structure
from tests.proposals.exported import our_triples

ROWS = 6
ONTOLOGY = """
@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Thing a owl:Class . :A a owl:Class ; rdfs:subClassOf :Thing . :B a owl:Class ; rdfs:subClassOf :Thing .
:C a owl:Class ; rdfs:subClassOf :A .
"""


def random_schema(dice: random.Random, path: Path) -> list[Place]:
    """A database of tables that are all numbered from 1, with names that differ little; its keys and links."""
    names = [*dice.sample(["item", "item_2", "item-2", "it em", "item.id", "Bär", "a/b", "part%"], 5)]
    places: list[Place] = []
    with duckdb.connect(path) as work:
        for number, name in enumerate(names):
            text_key = dice.random() < 0.3
            own = "VARCHAR" if text_key else "INTEGER"
            columns = [f'"id" {own} PRIMARY KEY', '"flag" INTEGER']
            links = [other for other in names[:number] if dice.random() < 0.5]
            kinds = {o: work.execute(f'SELECT typeof(id) FROM "{o}" LIMIT 1').fetchone()[0] for o in links}  # type: ignore[index]
            columns += [f'"to {other}" {kinds[other]} REFERENCES "{other}" ("id")' for other in links]
            work.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
            for row in range(1, ROWS + 1):
                values = [str(row) if text_key else row, row % 2, *(dice.randrange(1, ROWS + 1) for _ in links)]
                work.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(values))})', values)
            places += [Place(name, "id"), *(Place(name, f"to {other}") for other in links)]
    return places


def entities(structure: Structure, used: list[Place], path: Path) -> set[tuple[Place, str]]:
    """The (space, key) that the columns hold."""
    found = set()
    with duckdb.connect(path, read_only=True) as work:
        for place in used:
            space = structure.space(place)
            assert space is not None
            asked = f'SELECT DISTINCT CAST("{place.column}" AS VARCHAR) FROM "{place.table}"'
            found |= {(space.key, key) for (key,) in work.execute(asked).fetchall()}
    return found


@pytest.mark.parametrize("seed", range(12))
def test_entities_and_iris_are_one_to_one(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    path = tmp_path / "w.duckdb"
    places = random_schema(dice, path)
    used = [place for place in places for _ in range(2) if dice.random() < 0.6]
    text = "\n".join(f'{dice.choice("ABC")}(x) <- "{place.table}"("{place.column}": x)' for place in used)
    ontology = ontology_of(rdflib.Graph().parse(data=ONTOLOGY, format="turtle"))
    rules = list(parse_rules(text))
    with open_database(f"duckdb:///{path}") as database:
        structure = learn_structure(database)
        policy = identity_policy(ontology, rules, {}, None, structure)
        mapping = mapping_of(rules, ontology, policy)
        files = mapping_texts(mapping, database.dialect, database.schema.type_of, None, database.schema_name)
        write_texts(files, tmp_path / "out")
        subjects = {subject for subject, _, _ in our_triples(tmp_path / "out" / "mapping.ttl", database)}
    assert used
    assert len(subjects) == len(entities(structure, used, path))
