"""Parts that no example shows are offered where columns are called alike and where the ontology knows the ends."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.offers import offers
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import Structure, learn_structure

PERSON, ORDER = "http://w/Person", "http://w/Order"
ONTOLOGY = Ontology(
    (OntologyClass(PERSON, "Person"), OntologyClass(ORDER, "Order")),
    (
        Property("http://w/phone", "phone", PropertyKind.DATATYPE, domains=(PERSON,)),
        Property("http://w/jobTitle", "jobTitle", PropertyKind.DATATYPE, domains=(PERSON,)),
    ),
)


@pytest.fixture
def structure(tmp_path: Path) -> Structure:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, phone VARCHAR, name VARCHAR)")
        connection.execute("CREATE TABLE employee (nr INTEGER PRIMARY KEY, phone VARCHAR, title VARCHAR)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, phone INTEGER)")
        connection.execute("CREATE TABLE nobody (id INTEGER PRIMARY KEY, phone VARCHAR)")
        for table in ("customer", "employee"):
            connection.execute(f"INSERT INTO {table} SELECT i, 'p' || i, 'n' || i FROM range(20) r(i)")
        connection.execute("INSERT INTO orders SELECT i, i FROM range(20) r(i)")
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        return learn_structure(database)


def offered(structure: Structure, **decided: str) -> dict[str, list[str]]:
    rules = {name: [parse_rule(text)] for name, text in decided.items()}
    return {name: list(map(rule_text, some)) for name, some in offers(rules, ONTOLOGY, structure).items()}


def test_a_column_of_the_same_name_and_kind_is_offered(structure: Structure) -> None:
    found = offered(structure, phone="phone(x, y) <- customer(id: x, phone: y)")
    assert found == {"phone": ["phone(x, y) <- employee(nr: x, phone: y)"]}, "not orders' number, nor an empty table"


def test_a_table_that_a_property_of_the_class_has_its_subjects_in_is_offered(structure: Structure) -> None:
    found = offered(
        structure, Person="Person(x) <- customer(id: x)", jobTitle="jobTitle(x, y) <- employee(nr: x, title: y)"
    )
    assert found == {"Person": ["Person(x) <- employee(nr: x)"]}
    found = offered(
        structure,
        Person="Person(x) <- customer(id: x)",
        Order="Order(x) <- employee(nr: x)",
        jobTitle="jobTitle(x, y) <- employee(nr: x, title: y)",
    )
    assert found == {}, "which is another class's"


def test_nothing_is_offered_for_a_rule_with_a_condition(structure: Structure) -> None:
    assert offered(structure, phone='phone(x, y) <- customer(id: x, phone: y, name: "n1")') == {}
