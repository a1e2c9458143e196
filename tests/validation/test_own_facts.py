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
    for options in ((), ("--scenario", "s", "--examples", "facts.csv")):
        result = run("validate", "--mapping", "mapping.ttl", *options)
        assert result.code == 2
        assert "--scenario FOLDER or --examples FILE" in result.err
    for given in ((), ("mapping.ttl", "--mapping", "mapping.ttl")):
        assert "name the mapping: a file or a run" in run("validate", *given, "--examples", "facts.csv").err
    assert "needs --ontology" in run("validate", "mapping.ttl", "--examples", "facts.csv").err
    assert "needs --ontology" in run("validate", "--mapping", "mapping.ttl", "--examples", "facts.csv").err


def test_a_counter_example_by_a_name_that_several_rows_have_is_held_against_all(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(n, f"Di {n}") for n in range(4, 9)])
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(9, "Di"), (10, "Di")])
    made.close()
    _, found = check(run, shop, "predicate,arg1,arg2,label\nCustomer,Bob,,+\nCustomer,Di,,-\n")
    assert found["Customer"][2:] == (1, 1)


WRONG_TABLE = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> .
<#O> rr:logicalTable [ rr:tableName "orders" ] ;
  rr:subjectMap [ rr:template "http://e.x/c/{id}" ; rr:class :Customer ] ;
  rr:predicateObjectMap [ rr:predicate :by ; rr:objectMap [ rr:template "http://e.x/o/{id}" ] ] .
"""


def test_things_of_another_table_are_others_though_their_keys_and_iris_are_alike(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, 1, 1), (2, 3, 1)])
    made.close()
    facts = "predicate,arg1,arg2,label\nCustomer,customer:1,,+\nCustomer,Bob,,+\nCustomer,orders:2,,-\nby,7,Bob,-\n"
    assert check(run, shop, facts) == (0, {"Customer": (2, 2, 1, 0), "by": (0, 0, 1, 0)})
    (shop / "mapping.ttl").write_text(WRONG_TABLE, "utf-8")
    assert check(run, shop, facts)[1]["Customer"] == (2, 0, 1, 1)
    told = json.loads(run(*words(shop, "predicate,arg1\nCustomer,1\n"), "--json").out)
    assert told["predicates"][0]["things"] == ["orders.id"]  # a bare key tells no table: this is what was looked at


@pytest.mark.parametrize("facts", ["Customer,1,\nOrder,7,\nby,7,1\n", "Customer,Bob,\nOrder,orders:7,\n"])
def test_iris_that_do_not_meet_or_that_two_kinds_share_are_told(facts: str, run: Run, shop: Path) -> None:
    asked = words(shop, f"predicate,arg1,arg2\n{facts}")
    assert json.loads(run(*asked, "--json").out)["notes"] == []
    clash = MAPPING.replace("http://e.x/o/{id}", "http://e.x/c/{id}").replace(
        "http://e.x/c/{customer}", "http://e.x/d/{customer}"
    )
    (shop / "mapping.ttl").write_text(clash, "utf-8")
    told = run(*asked, "--json")
    assert told.code == 0  # each fact is derived, by its key
    assert json.loads(told.out)["notes"] == [
        "things of customer.id have several IRIs, which nothing joins: http://e.x/c/{} and http://e.x/d/{}",
        "http://e.x/c/{} names things of customer.id and orders.id, which would be taken for the same",
    ]


def test_a_column_that_nothing_is_known_to_lead_from_may_hold_keys_of_anything(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "plain.sqlite") as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER)")
        connection.execute("INSERT INTO customer VALUES (1), (2)")
        connection.execute("INSERT INTO orders VALUES (7, 2)")
    connection.close()
    (shop / "plain.ttl").write_text(
        """@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> .
        <#C> rr:logicalTable [ rr:tableName "customer" ] ;
          rr:subjectMap [ rr:template "http://e.x/c/{id}" ; rr:class :Customer ] .
        <#O> rr:logicalTable [ rr:tableName "orders" ] ; rr:subjectMap [ rr:template "http://e.x/o/{id}" ] ;
          rr:predicateObjectMap [ rr:predicate :by ; rr:objectMap [ rr:template "http://e.x/c/{customer}" ] ] ."""
    )
    asked = words(shop, "predicate,arg1,arg2\nCustomer,customer:1,\n")
    asked = tuple({"mapping.ttl": "plain.ttl", "shop.sqlite": "plain.sqlite"}.get(word, word) for word in asked)
    assert json.loads(run(*asked, "--json").out)["notes"] == []


def words(shop: Path, facts: str) -> tuple[str, ...]:
    (shop / "facts.csv").write_text(facts, "utf-8")
    return (*("validate", "--mapping", "mapping.ttl", "--examples", "facts.csv"), "--ontology", "shop.ttl", "--db",
            "shop.sqlite")  # fmt: skip


QUERIES = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> .
<#C> rr:logicalTable [ rr:sqlQuery '''SELECT k AS "key" FROM (SELECT o.customer AS k FROM orders o
                                      UNION SELECT id FROM customer) u''' ] ;
  rr:subjectMap [ rr:template "http://e.x/c/{\\"key\\"}" ; rr:class :Customer ] .
<#O> rr:logicalTable [ rr:sqlQuery '''SELECT CAST(o.id AS TEXT) AS a, c.id AS b
                                      FROM orders o JOIN customer c ON c.id = o.customer''' ] ;
  rr:subjectMap [ rr:template "http://e.x/o/{a}" ; rr:class :Order ] ;
  rr:predicateObjectMap [ rr:predicate :by ; rr:objectMap [ rr:template "http://e.x/c/{b}" ] ] .
"""


def test_columns_of_queries_are_followed_to_their_tables(run: Run, shop: Path) -> None:
    (shop / "mapping.ttl").write_text(QUERIES, "utf-8")
    facts = (
        "predicate,arg1,arg2,label\nCustomer,customer:3,,+\nCustomer,orders:7,,-\nOrder,orders:7,,+\n"
        "Order,customer:1,,-\nby,orders:7,customer:1,+\nby,8,Bob,+\nby,8,customer:1,-\n"
    )
    assert check(run, shop, facts) == (0, {"Customer": (1, 1, 1, 0), "Order": (1, 1, 1, 0), "by": (2, 2, 1, 0)})


def test_a_thing_whose_table_cannot_be_told_is_compared_by_its_key_and_that_is_told(run: Run, shop: Path) -> None:
    query = "SELECT 1 AS a UNION SELECT 2"
    (shop / "mapping.ttl").write_text(
        "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> . "
        f'<#C> rr:logicalTable [ rr:sqlQuery "{query}" ] ; '
        'rr:subjectMap [ rr:template "http://e.x/c/{a}" ; rr:class :Customer ] .',
        "utf-8",
    )
    result = run(*words(shop, "predicate,arg1,arg2\nCustomer,customer:1,\n"))
    assert result.code == 0
    assert "its query does not tell which table its things are of" in result.out


def test_a_key_of_several_columns_is_one_key_in_whichever_order_the_iris_have_it(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.execute("CREATE TABLE line (orders INT, pos INT, what TEXT, PRIMARY KEY (orders, pos))")
        made.executemany("INSERT INTO line VALUES (?, ?, ?)", [(7, 1, "a"), (7, 2, "b"), (8, 3, "c")])
    made.close()
    (shop / "shop.ttl").write_text(ONTOLOGY + ":Line a owl:Class . :what a owl:DatatypeProperty .", "utf-8")
    lines = (
        '<#L> rr:logicalTable [ rr:tableName "line" ] ; rr:subjectMap [ '
        'rr:template "http://e.x/l/{pos}/{orders}" ; rr:class :Line ] ; '
        'rr:predicateObjectMap [ rr:predicate :what ; rr:objectMap [ rr:column "what" ] ] .'
    )
    (shop / "mapping.ttl").write_text(MAPPING + lines, "utf-8")
    facts = (
        "predicate,arg1,arg2,label\nLine,line:7/2,,+\nLine,8/3,,+\nLine,line:8/2,,-\nLine,line:2/7,,-\n"
        "what,line:7/1,a,+\nwhat,7/2,b,+\nwhat,line:8/3,b,-\n"
    )
    assert check(run, shop, facts) == (0, {"Line": (2, 2, 2, 0), "what": (2, 2, 1, 0)})


def test_an_iri_of_several_columns_is_cut_in_all_ways_and_by_all_that_may_have_made_it(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.execute("CREATE TABLE line (a TEXT, b TEXT, customer INT, PRIMARY KEY (a, b))")
        made.executemany("INSERT INTO line VALUES (?, ?, ?)", [("1", "2-3", 1), ("4-5", "6", 2)])
    made.close()
    (shop / "shop.ttl").write_text(ONTOLOGY + ":Line a owl:Class .", "utf-8")
    lines = (
        '<#L> rr:logicalTable [ rr:tableName "line" ] ; rr:subjectMap [ '
        'rr:template "http://e.x/l/{a}-{b}" ; rr:class :Line ] ; rr:predicateObjectMap [ rr:predicate :by ; '
        'rr:objectMap [ rr:template "http://e.x/{a}" ] ; rr:objectMap [ rr:template "http://e.x/{customer}" ] ] .'
    )
    (shop / "mapping.ttl").write_text(MAPPING + lines, "utf-8")
    facts = (
        "predicate,arg1,arg2,label\nLine,line:1/2-3,,+\nLine,line:4-5/6,,+\nLine,1/2-3,,+\nLine,line:4/6,,-\n"
        "by,line:4-5/6,customer:2,+\nby,line:4-5/6,customer:3,-\n"
    )
    assert check(run, shop, facts) == (0, {"Line": (3, 3, 1, 0), "by": (1, 1, 1, 0)})


def test_things_are_tied_by_the_links_of_the_run_or_of_the_file(run: Run, shop: Path) -> None:
    with sqlite3.connect(shop / "shop.sqlite") as made:
        made.execute("CREATE TABLE zz (k INTEGER PRIMARY KEY)")
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(number, f"n{number}") for number in range(4, 60)])
        made.executemany("INSERT INTO zz VALUES (?)", [(number * 3,) for number in range(1, 15)])
    made.close()
    (shop / "mapping.ttl").write_text(
        "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://shop#> . "
        '<#C> rr:logicalTable [ rr:tableName "zz" ] ; '
        'rr:subjectMap [ rr:template "http://e.x/c/{k}" ; rr:class :Customer ] .',
        "utf-8",
    )
    (shop / "links.txt").write_text("zz.k -> customer.id\n", "utf-8")
    facts = "predicate,arg1\nCustomer,customer:3\nCustomer,customer:6\n"
    assert check(run, shop, facts)[0] == 1
    assert check(run, shop, facts, "--links", "links.txt")[0] == 0
    given = ("--examples", "facts.csv", "--ontology", "shop.ttl", "--db", "shop.sqlite")
    made_run = run("extract", "--out", "run", *given, "--links", "links.txt")
    assert made_run.code == 0, made_run.err
    (shop / "run" / "proposals").mkdir()
    (shop / "run" / "proposals" / "mapping.ttl").write_bytes((shop / "mapping.ttl").read_bytes())
    assert [run("validate", name, *given).code for name in ("run", "run/proposals/mapping.ttl")] == [0, 0]
    assert run("validate", "run", *given[:4]).code == 0, "a run knows its database"
    assert "--links goes with --examples" in run("validate", "run", "--scenario", "s", "--links", "links.txt").err


def test_a_fact_of_a_table_that_is_not_there_is_missed_and_told(run: Run, shop: Path) -> None:
    result = run(*words(shop, "predicate,arg1\nCustomer,customer:1\nCustomer,nosuch:2\n"), "--json")
    assert result.code == 1
    assert json.loads(result.out)["notes"] == ["nosuch:2: the database has no table nosuch; there are customer, orders"]
