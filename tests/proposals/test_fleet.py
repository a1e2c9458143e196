"""A shipping company whose tables are all numbered from 1: kinds by bare keys, and examples of a wrong table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer import api
from ruleminer.problem.ontology import ontology_of
from ruleminer.rules.printer import rule_text

ONTOLOGY = """
@prefix : <http://sea#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Vessel a owl:Class . :Tanker a owl:Class ; rdfs:subClassOf :Vessel ; owl:disjointWith :Carrier .
:Carrier a owl:Class ; rdfs:subClassOf :Vessel . :Harbour a owl:Class ; owl:disjointWith :Vessel .
:Voyage a owl:Class . :Cancelled a owl:Class ; rdfs:subClassOf :Voyage .
:Worker a owl:Class ; owl:disjointWith :Patron . :Patron a owl:Class . :Mate a owl:Class ; rdfs:subClassOf :Worker .
:sailedBy a owl:ObjectProperty ; rdfs:domain :Voyage ; rdfs:range :Vessel .
:startsAt a owl:ObjectProperty ; rdfs:domain :Voyage ; rdfs:range :Harbour ; owl:inverseOf :startOf .
:startOf a owl:ObjectProperty .
:bookedBy a owl:ObjectProperty ; rdfs:domain :Voyage ; rdfs:range :Patron .
"""


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("sea") / "sea.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE vt (id INTEGER PRIMARY KEY, txt VARCHAR);
            INSERT INTO vt VALUES (1, 'boxes'), (2, 'oil'), (3, 'cars'), (4, 'bulk');
            CREATE TABLE hull (id INTEGER PRIMARY KEY, nm VARCHAR, vt INTEGER REFERENCES vt(id));
            INSERT INTO hull SELECT i, 'H' || i, 1 + (i // 2) % 4 FROM range(1, 25) r(i);
            CREATE TABLE spot (id INTEGER PRIMARY KEY, label VARCHAR);
            INSERT INTO spot SELECT i, 'Spot ' || i FROM range(1, 31) r(i);
            CREATE TABLE client (id INTEGER PRIMARY KEY, company VARCHAR);
            INSERT INTO client SELECT i, 'Firm ' || i FROM range(1, 61) r(i);
            CREATE TABLE staff (nr INTEGER PRIMARY KEY, nm VARCHAR, fn VARCHAR);
            INSERT INTO staff SELECT i, 'P' || i, IF(i % 5 = 0, 'M', 'E') FROM range(1, 91) r(i);
            CREATE TABLE trip (id INTEGER PRIMARY KEY, hull INTEGER REFERENCES hull(id), a INTEGER REFERENCES spot(id),
                               b INTEGER REFERENCES spot(id), cli INTEGER REFERENCES client(id), st INTEGER);
            INSERT INTO trip SELECT i, 1 + (i * 7) % 24, 1 + (i * 11) % 30, 1 + (i * 13 + 5) % 30, 1 + (i * 17) % 60,
                IF(i % 6 = 0, 9, i % 3) FROM range(1, 201) r(i);
            """
        )
    return f"duckdb:///{path}"


def proposed(sea: str, folder: Path, facts: Sequence[str]) -> tuple[dict[str, list[str]], str]:
    """The bodies of the rules of each term with examples, and the notes."""
    folder.mkdir(exist_ok=True)
    (folder / "facts.csv").write_text("predicate,arg1,arg2\n" + "".join(f"{fact}\n" for fact in facts))
    api.extract(sea, ontology_of(Graph().parse(data=ONTOLOGY, format="turtle")), folder / "facts.csv", folder / "run")
    told = api.propose(folder / "run").proposals
    bodies = {
        one.predicate: [rule_text(rule).partition(" <- ")[2] for rule in one.proposed_rules]
        for one in told.proposals
        if one.positives
    }
    return bodies, "\n".join(told.notes)


def test_kinds_by_bare_keys_are_found_though_all_tables_have_these(sea: str, tmp_path: Path) -> None:
    facts = ["Vessel,1,", "Vessel,4,", "Tanker,2,", "Tanker,3,", "Carrier,8,", "Carrier,9,", "Voyage,1,", "Voyage,2,"]
    facts += ["Cancelled,6,", "Cancelled,12,", "Worker,1,", "Worker,2,", "Patron,1,", "Patron,2,", "Mate,staff:5,"]
    facts += ["sailedBy,1,8", "sailedBy,2,15", "startsAt,1,12", "startsAt,2,23", "bookedBy,1,18", "bookedBy,2,35"]
    rules, notes = proposed(sea, tmp_path, facts)
    assert rules["Tanker"] == ["hull(id: x, vt: 2)"]
    assert rules["Carrier"] == ["hull(id: x, vt: 1)"]
    assert rules["Cancelled"] == ["trip(id: x, st: 9)"]
    assert "Cancelled: st of trip tells its examples from those of Voyage" in notes
    assert (rules["Worker"], rules["Patron"]) == (["staff(nr: x)"], ["client(id: x)"]), "no worker is a patron"


def test_examples_of_a_wrong_table_make_no_union_and_are_told(sea: str, tmp_path: Path) -> None:
    facts = ["Vessel,http://sea/hull/3,", "Vessel,hull:1,", "Vessel,hull:2,", "Vessel,spot:1,", "Harbour,spot:2,"]
    facts += ["Harbour,spot:3,", "sailedBy,trip:1,hull:8", "sailedBy,trip:2,hull:15", "sailedBy,trip:3,spot:4"]
    facts += ["startsAt,trip:1,spot:12", "startsAt,trip:2,spot:23", "startsAt,trip:3,spot:15"]
    facts += ["startOf,spot:12,trip:1", "startOf,spot:23,trip:2"]
    rules, notes = proposed(sea, tmp_path, facts)
    assert rules["Vessel"] == ['hull(id: a), x = "http://sea/hull/" ++ a']
    assert rules["sailedBy"] == ["trip(id: x, hull: y)"]
    assert rules["startsAt"] == ["trip(id: x, a: y)"], "as its inverse says"
    assert "3 of your 4 examples, not Vessel(spot:1) (facts.csv, line 5)" in notes
    assert "2 of your 3 examples, not sailedBy(trip:3, spot:4) (facts.csv, line 10)" in notes
    assert "2 of your 3 examples, not startsAt(trip:3, spot:15) (facts.csv, line 13)" in notes


def test_examples_that_are_turned_round_are_told(sea: str, tmp_path: Path) -> None:
    classes = ["Voyage,trip:1,", "Voyage,trip:2,", "Vessel,hull:3,", "Vessel,hull:4,"]
    turned = ["sailedBy,hull:8,trip:1", "sailedBy,hull:15,trip:2", "sailedBy,hull:22,trip:3"]
    _, notes = proposed(sea, tmp_path / "turned", [*classes, *turned])
    assert "sailedBy leads from Vessel to Voyage, by its examples; the ontology says the other way round" in notes
    right = [f"sailedBy,{two},{one}" for _, one, two in (fact.split(",") for fact in turned)]
    _, notes = proposed(sea, tmp_path / "right", [*classes, *right])
    assert "the other way round" not in notes


def test_what_several_examples_ask_for_is_a_part_whatever_is_declared(sea: str, tmp_path: Path) -> None:
    facts = ["Harbour,spot:21,", "Harbour,spot:22,", "sailedBy,trip:1,hull:8", "sailedBy,trip:2,hull:15"]
    facts += ["sailedBy,trip:3,hull:22", "sailedBy,trip:4,spot:28", "sailedBy,trip:5,spot:11"]
    facts += ["startsAt,trip:1,spot:12", "startsAt,trip:2,spot:23", "startsAt,trip:4,spot:15"]
    facts += ["startsAt,trip:3,spot:15", "startsAt,trip:5,spot:11", "startOf,spot:26,trip:5"]
    rules, _ = proposed(sea, tmp_path, facts)
    assert rules["sailedBy"] == ["trip(id: x, hull: y)", "trip(id: x, b: y)"]
    assert rules["startsAt"] == ["trip(id: x, a: y)", "trip(id: x, b: y)"], "one example of the inverse tells little"


def test_a_table_that_a_code_divides_is_no_disjoint_class(sea: str, tmp_path: Path) -> None:
    facts = ["Worker,client:1,", "Worker,client:2,", "Worker,client:3,", "Worker,staff:1,"]
    facts += [f"Patron,staff:{n}," for n in (5, 10, 15, 20, 25)]
    rules, _ = proposed(sea, tmp_path, facts)
    assert rules["Patron"] == ['staff(nr: x, fn: "M")']
    assert rules["Worker"] == ["client(id: x)", "staff(nr: x)"]


def test_disjoint_classes_of_the_same_bare_keys_do_not_flee_to_one_table_together(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "three.duckdb") as connection:
        for table, rows in {"hull": 25, "client": 61, "trip": 200}.items():
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, nm VARCHAR)")
            connection.execute(f"INSERT INTO {table} SELECT i, '{table} ' || i FROM range(1, {rows}) r(i)")
    facts = [f"{name},{n}," for name in ("Worker", "Patron") for n in (1, 2, 3, 4)]
    rules, _ = proposed(f"duckdb:///{tmp_path / 'three.duckdb'}", tmp_path, facts)
    assert rules["Worker"] != rules["Patron"]
