"""A mapping against facts of the user's own, without a scenario."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.command_line import Run

ONTOLOGY = """
@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Agent a owl:Class . :Customer a owl:Class ; rdfs:subClassOf :Agent . :Order a owl:Class .
:by a owl:ObjectProperty . :name a owl:DatatypeProperty . :price a owl:DatatypeProperty .
"""
MAPPING = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> .
<#C> rr:logicalTable [ rr:tableName "customer" ] ;
  rr:subjectMap [ rr:template "http://e.x/c/{id}" ; rr:class :Customer ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "name" ] ] .
<#O> rr:logicalTable [ rr:tableName "orders" ] ;
  rr:subjectMap [ rr:template "http://e.x/o/{id}" ; rr:class :Order ] ;
  rr:predicateObjectMap [ rr:predicate :by ; rr:objectMap [ rr:template "http://e.x/c/{customer}" ] ] ;
  rr:predicateObjectMap [ rr:predicate :price ; rr:objectMap [ rr:column "price" ] ] .
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.sqlite") as made:
        made.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(1, "Ann \\ Lee"), (2, "Bob"), (3, "Cy")])
        made.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customer, price DECIMAL(9,2))"
        )
        made.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(7, 1, 12.5), (8, 2, 3)])
    made.close()
    (tmp_path / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    (tmp_path / "mapping.ttl").write_text(MAPPING, "utf-8")
    return tmp_path


def check(run: Run, shop: Path, facts: str, *options: str) -> tuple[int, dict[str, tuple[int, int, int, int]]]:
    """The exit code, and for each predicate the positives, those derived, the negatives, and those derived."""
    (shop / "facts.csv").write_text(facts, "utf-8")
    words = ("validate", "--mapping", "mapping.ttl", "--examples", "facts.csv", "--ontology", "shop.ttl")
    result = run(*words, "--db", "shop.sqlite", "--json", *options)
    assert result.code in (0, 1), result.err
    told = json.loads(result.out)
    assert told["passes"] == (result.code == 0)
    return result.code, {
        one["predicate"]: (one["positives"], one["derived"], one["negatives"], one["derived_negatives"])
        for one in told["predicates"]
    }


def test_facts_by_key_by_iri_by_name_and_by_table(run: Run, shop: Path) -> None:
    facts = (
        "predicate,arg1,arg2\nCustomer,1,\nCustomer,http://e.x/c/2,\nCustomer,customer:3,\nby,7,Bob\nby,8,Bob\n"
        "name,1,Ann \\ Lee\nprice,7,12.50\nprice,orders:8,3.0\n"
    )
    code, found = check(run, shop, facts)
    assert code == 1  # order 7 is Ann's
    assert found == {"Customer": (3, 3, 0, 0), "by": (2, 1, 0, 0), "name": (1, 1, 0, 0), "price": (2, 2, 0, 0)}


def test_a_day_is_its_midnight_whichever_datatype_it_was_published_with(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.execute("CREATE TABLE stay (id INTEGER PRIMARY KEY, d TEXT, t TEXT)")
        made.execute("INSERT INTO stay VALUES (1, '2014-05-04T00:00:00', '2014-05-04')")
    made.close()
    axioms = ":begins a owl:DatatypeProperty . :ends a owl:DatatypeProperty . :told a owl:DatatypeProperty ."
    (shop / "shop.ttl").write_text(ONTOLOGY + axioms, "utf-8")
    xsd = "http://www.w3.org/2001/XMLSchema#"
    mapped = (
        ("begins", "d", f"; rr:datatype <{xsd}dateTime>"),
        ("ends", "t", f"; rr:datatype <{xsd}date>"),
        ("told", "d", ""),
    )
    pairs = "".join(
        f'; rr:predicateObjectMap [ rr:predicate :{name} ; rr:objectMap [ rr:column "{column}" {datatype} ] ] '
        for name, column, datatype in mapped
    )
    table = '<#S> rr:logicalTable [ rr:tableName "stay" ] ; rr:subjectMap [ rr:template "http://e.x/s/{id}" ] '
    (shop / "mapping.ttl").write_text(MAPPING + table + pairs + ".", "utf-8")
    facts = (
        "predicate,arg1,arg2\nbegins,1,2014-05-04\nends,1,2014-05-04 00:00:00\nbegins,1,2014-05-05\ntold,1,2014-05-04\n"
    )
    assert check(run, shop, facts)[1] == {"begins": (2, 1, 0, 0), "ends": (1, 1, 0, 0), "told": (1, 0, 0, 0)}


def test_negatives_that_are_derived_are_told(run: Run, shop: Path) -> None:
    facts = "predicate,arg1,arg2,label\nCustomer,1,,positive\nCustomer,9,,negative\nby,7,2,negative\nby,8,2,negative\n"
    assert check(run, shop, facts) == (1, {"Customer": (1, 1, 1, 0), "by": (0, 0, 2, 1)})
    good = "predicate,arg1,arg2,label\nCustomer,1,,positive\nby,7,2,negative\n"
    assert check(run, shop, good)[0] == 0


def test_what_follows_is_derived_too(run: Run, shop: Path) -> None:
    facts = "predicate,arg1,arg2\nAgent,1,\n"
    assert check(run, shop, facts) == (0, {"Agent": (1, 1, 0, 0)})
    assert check(run, shop, facts, "--reasoning", "none") == (1, {"Agent": (1, 0, 0, 0)})


def test_a_mapping_is_held_against_one_thing(run: Run, shop: Path) -> None:
    for words in ((), ("--scenario", "s", "--examples", "facts.csv")):
        result = run("validate", "--mapping", "mapping.ttl", *words)
        assert result.code == 2
        assert "--scenario FOLDER or --examples FILE" in result.err
    assert "needs --ontology" in run("validate", "--mapping", "mapping.ttl", "--examples", "facts.csv").err


def test_a_counter_example_by_a_name_that_several_rows_have_is_held_against_all(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(n, f"Di {n}") for n in range(4, 9)])
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(9, "Di"), (10, "Di")])
    made.close()
    _, found = check(run, shop, "predicate,arg1,arg2,label\nCustomer,Bob,,+\nCustomer,Di,,-\n")
    assert found["Customer"][2:] == (1, 1)
