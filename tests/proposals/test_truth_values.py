"""Drafts of properties that are true or false, where columns say so in words."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.truth_values import told_as_truth
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

ONTOLOGY = """
@prefix : <http://shop#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Customer a owl:Class .
:active a owl:DatatypeProperty ; rdfs:domain :Customer ; rdfs:range xsd:boolean .
:name a owl:DatatypeProperty ; rdfs:domain :Customer ; rdfs:range xsd:string .
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    with duckdb.connect(str(folder / "shop.duckdb")) as made:
        made.execute(
            "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, active VARCHAR, paid INTEGER, known BOOLEAN)"
        )
        made.execute(
            "INSERT INTO customer SELECT i, 'n' || i, CASE WHEN i % 3 = 0 THEN 'Y' ELSE 'N' END, i % 2, i % 2 = 0 "
            "FROM range(30) t(i)"
        )
    return folder


@pytest.mark.parametrize(
    ("column", "made"),
    [("active", "y = boolean(y1)"), ("paid", "y = boolean(y1)"), ("known", None), ("name", None)],
)
def test_words_for_true_and_false_are_made_truth_values(shop: Path, column: str, made: str | None) -> None:
    ontology = read_ontology(shop / "shop.ttl")
    plain = parse_rule(f"active(x, y) <- customer(id: x, {column}: y)")
    with open_database(f"duckdb:///{shop / 'shop.duckdb'}") as database:
        structure = learn_structure(database)
        (told,) = told_as_truth((Body(plain),), ontology.find("active"), ontology, structure)
        (text,) = told_as_truth((Body(plain),), ontology.find("name"), ontology, structure)
    assert text == Body(plain)
    wanted = plain if made is None else parse_rule(f"active(x, y) <- customer(id: x, {column}: y1), {made}")
    assert told == Body(wanted)


def test_a_key_that_is_made_of_the_column_keeps_its_words(shop: Path) -> None:
    plain = parse_rule('active(x, y) <- customer(id: a, active: y), x = a ++ "/" ++ y')
    with open_database(f"duckdb:///{shop / 'shop.duckdb'}") as database:
        structure = learn_structure(database)
        ontology = read_ontology(shop / "shop.ttl")
        (told,) = told_as_truth((Body(plain),), ontology.find("active"), ontology, structure)
    made = 'active(x, y) <- customer(id: a, active: y1), x = a ++ "/" ++ y1, y = boolean(y1)'
    assert told == Body(parse_rule(made))


def test_a_draft_publishes_truth_values_where_the_column_says_yes_and_no(shop: Path, tmp_path: Path) -> None:
    asked = DraftRequest(f"duckdb:///{shop / 'shop.duckdb'}", shop / "shop.ttl", tmp_path / "run")
    by_name = {one.predicate: one for one in draft_mapping(asked).proposals.proposals}
    assert by_name["active"].texts == ("active(x, y) <- customer(id: x, active: y1), y = boolean(y1)",)
    assert by_name["name"].texts == ("name(x, y) <- customer(id: x, name: y)",)


def test_a_vocabulary_without_a_word_for_anything_here_drafts_nothing(shop: Path, tmp_path: Path) -> None:
    vocabulary = tmp_path / "other.ttl"
    vocabulary.write_text(
        "@prefix : <https://schema.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
        ":Xylophone a rdfs:Class . :zither a rdf:Property ; :domainIncludes :Xylophone ; :rangeIncludes :Text .\n",
        "utf-8",
    )
    asked = DraftRequest(f"duckdb:///{shop / 'shop.duckdb'}", vocabulary, tmp_path / "run")
    assert all(not one.texts or one.posterior < 0.4 for one in draft_mapping(asked).proposals.proposals)
