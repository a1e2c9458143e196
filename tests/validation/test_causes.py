"""Why pairs are lost: one scenario in which each cause was planted, and told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ruleminer.validation.causes import Cause, PairCause
from ruleminer.validation.validate import ValidationResult, validate_mapping
from tests.command_line import Run

DUMP = """CREATE TABLE customer (id integer NOT NULL, name character varying(20), vip boolean);
COPY customer (id, name, vip) FROM stdin;
1\tAda\tt
2\tBob\tf
3\tCy\tf
\\.
CREATE TABLE supplier (id integer NOT NULL, name character varying(20));
COPY supplier (id, name) FROM stdin;
7\tWholesale
8\tRetail
\\.
"""
ONTOLOGY = """@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Partner a owl:Class . :Customer a owl:Class . :Vip a owl:Class ; rdfs:subClassOf :Good . :Good a owl:Class .
:Supplier a owl:Class . :name a owl:DatatypeProperty . :label a owl:DatatypeProperty .
"""
PARTNERS = "SELECT id FROM customer UNION SELECT id FROM supplier"
TWICE = "SELECT COUNT(*) FROM (SELECT id FROM customer UNION ALL SELECT id FROM customer WHERE vip) AS both_parts"


def count(term: str) -> str:
    return f"SELECT (COUNT(?x) AS ?n) {{ ?x a <http://shop#{term}> }}"


PAIRS = {
    "exact": ("SELECT COUNT(*) FROM supplier", count("Supplier")),
    "missing": (f"SELECT COUNT(*) FROM ({PARTNERS}) AS p", count("Partner")),
    "too_much": ("SELECT COUNT(id) FROM customer WHERE vip", count("Good")),
    "nothing": ("SELECT name FROM supplier", "SELECT ?n { ?x <http://shop#label> ?n }"),
    "otherwise": ("SELECT id, name FROM customer", "SELECT ?x ?n { ?x <http://shop#name> ?n }"),
    "repeated": (TWICE, count("Customer")),
    "failed": ("SELECT nonsense FROM customer", count("Customer")),
}
PREFIXES = "@prefix rr: <http://www.w3.org/ns/r2rml#> .\n@prefix : <http://shop#> .\n"
CUSTOMERS = """:Customers rr:logicalTable [ rr:tableName "customer" ] ;
  rr:subjectMap [ rr:template "http://shop/c/{id}" ; rr:class :Partner, :Customer, :Vip ] .
"""
UPPER = """:Shouted rr:logicalTable [ rr:sqlQuery "SELECT id, UPPER(name) AS shout FROM customer" ] ;
  rr:subjectMap [ rr:template "http://shop/c/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "shout" ] ] .
"""
SUPPLIERS = """:Suppliers rr:logicalTable [ rr:tableName "supplier" ] ;
  rr:subjectMap [ rr:template "http://shop/s/{id}" ; rr:class :Supplier ] .
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEMINER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    (folder / "queries").mkdir(parents=True)
    (folder / "dump.sql").write_text(DUMP)
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "mapping.ttl").write_text(PREFIXES + CUSTOMERS + UPPER + SUPPLIERS)
    for stem, (sql, sparql) in PAIRS.items():
        ids = "entityIdCols=0\n" if stem == "otherwise" else ""
        (folder / "queries" / f"{stem}.qpair").write_text(f"sql={sql}\nsparql={sparql}\n{ids}")
    return folder


def causes(result: ValidationResult) -> dict[str, PairCause]:
    return {one.pair: one for one in result.causes}


def test_each_lost_pair_has_its_cause(shop: Path) -> None:
    found = causes(validate_mapping(shop / "mapping.ttl", shop))
    assert {pair: one.cause for pair, one in found.items()} == {
        "missing": Cause.MISSING,
        "too_much": Cause.TOO_MUCH,
        "nothing": Cause.NOTHING,
        "otherwise": Cause.WRITTEN_OTHERWISE,
        "repeated": Cause.REPEATED,
        "failed": Cause.FAILED,
    }
    assert (found["missing"].missing, found["missing"].too_much) == (2, 0)
    assert found["missing"].parts == ("SELECT 2 of 2 (supplier): 2 of 2 missing",)
    assert (found["too_much"].missing, found["too_much"].too_much) == (0, 2)
    assert found["too_much"].maps == ("<http://shop#Customers>: 2 too much",)  # though only a sub-class is said
    assert found["otherwise"].maps == ("<http://shop#Shouted>: 3 too much",)


def test_what_no_mapping_can_answer_is_out_of_reach(shop: Path) -> None:
    result = validate_mapping(shop / "mapping.ttl", shop)
    assert [one.pair for one in result.causes if not one.reachable] == ["repeated"]
    assert result.reachable_f1 == pytest.approx(6 / 7)
    assert result.reference_f1 is None


def test_a_reference_tells_what_it_does_not_answer_either(shop: Path) -> None:
    (shop / "reference.ttl").write_text(PREFIXES + CUSTOMERS.replace(", :Vip", ""))
    result = validate_mapping(shop / "mapping.ttl", shop, reference=shop / "reference.ttl")
    own = {query.pair: query for query in result.queries}
    assert own["exact"].perfect  # ours answers it, though the reference does not
    assert result.reference_f1 == 0
    assert result.reachable_f1 is not None
    assert result.f1 <= result.reachable_f1 < 6 / 7


def test_an_exact_mapping_has_no_causes(shop: Path) -> None:
    for stem in PAIRS:
        if stem != "exact":
            (shop / "queries" / f"{stem}.qpair").unlink()
    result = validate_mapping(shop / "mapping.ttl", shop)
    assert (result.causes, result.reachable_f1) == ((), 1)


def test_causes_are_shown_and_printed_as_json(shop: Path, run: Run) -> None:
    shown = run("validate", "--scenario", shop, "--mapping", shop / "mapping.ttl", "-q")
    assert shown.code == 0, shown.err
    for word in ("Why queries are lost", "By cause", "repeated by the SQL", "within reach: F 0.8571"):
        assert word in shown.out
    told = json.loads(run("validate", "--scenario", shop, "--mapping", shop / "mapping.ttl", "--json").out)
    assert {one["cause"] for one in told["causes"]} >= {"part missing", "too much"}
