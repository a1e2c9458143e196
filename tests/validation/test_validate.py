"""`ruleminer validate` end to end: RODI's own figures, and scenarios whose mapping one knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ruleminer import terminal
from ruleminer.cli import app
from ruleminer.errors import InputError
from ruleminer.problem.scenario import load_scenario, open_scenario
from ruleminer.validation.validate import validate_mapping

PREFIXES = "@prefix rr: <http://www.w3.org/ns/r2rml#> .\n@prefix : <http://shop#> .\n"
CUSTOMERS = """:Customers rr:logicalTable [ rr:tableName "customer" ] ;
  rr:subjectMap [ rr:template "http://shop/{id}" ; rr:class :Customer ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "name" ] ] .
"""
DUMP = """CREATE TABLE customer (id integer NOT NULL, name character varying(20));
COPY customer (id, name) FROM stdin;
1\tAda
2\tBob
\\.
"""
ONTOLOGY = """@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Customer a owl:Class ; rdfs:subClassOf :Person . :Person a owl:Class . :name a owl:DatatypeProperty .
"""
PAIRS = {
    "Q1": "name=Customers\nsql=SELECT COUNT(*) FROM customer\ncategories=class, 1-1\n"
    "sparql=SELECT (COUNT(?x) AS ?n) { ?x a <http://shop#Customer> }\n",
    "Q2": "name=Names\nsql=SELECT name FROM customer\ncategories=attrib\n"
    "sparql=SELECT ?n { ?x a <http://shop#Customer> ; <http://shop#name> ?n }\n",
    "Q3": "name=Persons\nsql=SELECT COUNT(*) FROM customer\ncategories=class\n"
    "sparql=SELECT (COUNT(?x) AS ?n) { ?x a <http://shop#Person> }\n",
    "Q4": "name=Left out\nsql=SELECT nonsense\nsparql=nonsense\ndisabled=true\n",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RULEMINER_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    (folder / "queries").mkdir(parents=True)
    (folder / "dump.sql").write_text(DUMP)
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    for stem, text in PAIRS.items():
        (folder / "queries" / f"{stem}.qpair").write_text(text)
    return folder


def mapping_file(folder: Path, text: str = CUSTOMERS) -> Path:
    path = folder / "mapping.ttl"
    path.write_text(PREFIXES + text)
    return path


def test_a_right_mapping_scores_one_with_the_reasoning_it_needs(shop: Path) -> None:
    result = validate_mapping(mapping_file(shop), shop)
    assert (result.precision, result.recall, result.f1, result.strict_f1, result.reasoning) == (1, 1, 1, 1, "rdfs")
    assert (result.triples, result.inferred) == (4, 2)
    assert [query.target for query in result.queries] == ["Customer", "name", "Person"]
    assert result.notes == ("1 disabled pairs were left out, as the scenario asks",)
    bare = validate_mapping(mapping_file(shop), shop, reasoning="none")
    assert [query.f1 for query in bare.queries] == [1, 1, 0]
    assert (bare.queries[2].missing, bare.queries[2].extra) == ((("2",),), (("0",),))
    assert (bare.categories["class"].f1, bare.categories["attrib"].f1) == (0.5, 1)


def test_the_database_may_be_another_one(shop: Path, empty_postgres: str) -> None:
    load_scenario(open_scenario(shop), empty_postgres)
    assert validate_mapping(mapping_file(shop), shop, db=empty_postgres, reasoning="structural").f1 == 1


def test_a_query_that_fails_is_told_and_the_others_are_scored(shop: Path) -> None:
    (shop / "queries" / "Q5.qpair").write_text("sql=SELECT nonsense FROM customer\nsparql=SELECT ?x { ?x a ?y }\n")
    (shop / "queries" / "Q6.qpair").write_text("sql=SELECT name FROM customer\nsparql=SELECT ?x {\n")
    (shop / "queries" / "Q7.qpair").write_text("sql=SELECT id, name FROM customer\nsparql=SELECT ?x { ?x a ?y }\n")
    (shop / "queries" / "Q8.qpair").write_text("sql=SELECT id FROM customer\nsparql=ASK { ?x a ?y }\n")
    failed = {query.pair: query.error for query in validate_mapping(mapping_file(shop), shop).queries if query.error}
    assert re.match("its SQL failed: .*nonsense", failed["Q5"])
    assert failed["Q6"].startswith("its SPARQL failed: ")
    assert failed["Q7"] == "its SQL has 2 columns, its SPARQL only 1 variables"
    assert failed["Q8"] == "its SPARQL is no SELECT"
    assert not any("\n" in error for error in failed.values())


def test_one_entity_in_place_of_all_is_not_exact_though_rodi_lets_it_pass(shop: Path) -> None:
    (shop / "queries" / "Q5.qpair").write_text(
        "sql=SELECT id FROM customer\nentityIdCols=0\nsparql=SELECT ?x { ?x a <http://shop#Customer> }\n"
    )
    merged = mapping_file(shop, CUSTOMERS.replace("http://shop/{id}", "http://shop/all"))
    found = {query.pair: query for query in validate_mapping(merged, shop).queries}["Q5"]
    assert (found.precision, found.recall, found.strict_recall) == (1, 1, 0.5)
    assert not found.perfect
    assert found.missing


def test_maps_that_the_database_refuses_are_noted(shop: Path) -> None:
    broken = ':Gone rr:logicalTable [ rr:tableName "gone" ] ; rr:subjectMap [ rr:template "http://x/{id}" ] .'
    result = validate_mapping(mapping_file(shop, CUSTOMERS + broken), shop)
    assert result.f1 == 1
    assert "the database has no table gone" in result.notes[0]
    with pytest.raises(InputError, match="the database has no table gone"):
        validate_mapping(mapping_file(shop, broken), shop)


def test_a_bad_reasoning_or_mapping_is_one_line(shop: Path) -> None:
    with pytest.raises(InputError, match="no reasoning 'owl'"):
        validate_mapping(mapping_file(shop), shop, reasoning="owl")
    with pytest.raises(InputError, match=r"nowhere.ttl: no such file"):
        validate_mapping(shop / "nowhere.ttl", shop)


def test_the_command_prints_json_for_programs_and_tables_for_people(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["validate", "--scenario", str(shop), "--mapping", str(mapping_file(shop)), "--quiet"]
    printed = json.loads(CliRunner().invoke(app, [*command, "--json"], catch_exceptions=False).stdout)
    assert (printed["precision"], printed["recall"], printed["f1"], printed["reasoning"]) == (1, 1, 1, "rdfs")
    assert [query["pair"] for query in printed["queries"]] == ["Q1", "Q2", "Q3"]
    with terminal.results.capture() as captured:
        CliRunner().invoke(app, [*command, "--reasoning", "none"], catch_exceptions=False)
    shown = captured.get()
    assert "reasoning: none" in shown
    assert "Persons" in shown
    assert "Names" not in shown  # it is perfect


RODI_LINE = re.compile(r"'(.*)': score = \S+; precision = (\S+), recall = (\S+)\]")


@pytest.mark.data
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_incmap_scores_as_in_rodis_own_report(engine: str, real_data: Path, request: pytest.FixtureRequest) -> None:
    scenario = real_data / "rodi" / "cmt_renamed"
    if engine == "duckdb":
        url = request.getfixturevalue("rodi_duckdb")("cmt_renamed")
    else:
        url = request.getfixturevalue("empty_postgres")
        load_scenario(open_scenario(scenario), url)
    peer = real_data / "peers" / "incmap" / "cmt_renamed"
    result = validate_mapping(peer / "mappings.ttl", scenario, db=url, reasoning="none")
    ours = {query.name: (query.precision, query.recall) for query in result.queries}
    ours |= {f"{name} (AVG)": (found.precision, found.recall) for name, found in result.categories.items()}
    ours["All (AVG)"] = (result.precision, result.recall)
    report = (peer / "rodi-report.txt").read_text("utf-8")
    rodis = {name: (float(p), float(r)) for name, p, r in RODI_LINE.findall(report)}
    assert ours.keys() == rodis.keys()
    assert len(result.queries) == 29
    for name, figures in rodis.items():
        assert ours[name] == pytest.approx(figures, abs=1e-6), name
    assert round(result.f1, 4) == 0.4483
