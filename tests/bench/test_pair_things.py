"""Entities that pairs spell as IRIs, told as rows of tables."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ruleminer.bench.pair_things import things_of_pairs
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.pairs import read_pairs
from ruleminer.proposals.derivations import Derivations
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

_ONTOLOGY = """
@prefix : <http://e.org/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Field a owl:Class . :Production a owl:Class . :Year a owl:Class .
:ofField a owl:ObjectProperty . :volume a owl:DatatypeProperty .
"""
_FIELD = "CONCAT('http://e.org/field/', CAST(T.field AS CHARACTER VARYING))"
_PRODUCTION = _FIELD.removesuffix(")") + ", '/production/', CAST(T.year AS CHARACTER VARYING))"
_YEAR = "CONCAT('http://e.org/', CAST(T.year AS CHARACTER VARYING), '/', CAST(T.volume AS CHARACTER VARYING))"


def _pair(name: str, select: str, sparql: str) -> str:
    return f"name={name}\nsql=SELECT {select} FROM production T\nsparql=PREFIX : <http://e.org/o#> SELECT {sparql}\n"


def test_an_iri_of_columns_is_the_thing_that_they_are_the_key_of(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE field (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute(
            "CREATE TABLE production (year INTEGER, field INTEGER REFERENCES field (id), volume INTEGER, "
            "PRIMARY KEY (year, field))"
        )
        connection.execute("INSERT INTO field VALUES (1, 'A'), (2, 'B')")
        connection.execute("INSERT INTO production VALUES (2001, 1, 5), (2002, 2, 7)")
    (tmp_path / "o.ttl").write_text(_ONTOLOGY)
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "1.qpair").write_text(_pair("1", f"{_FIELD} AS x", "?x { ?x a :Field }"))
    (queries / "2.qpair").write_text(_pair("2", f"{_PRODUCTION} AS x", "?x { ?x a :Production }"))
    (queries / "3.qpair").write_text(_pair("3", f"{_PRODUCTION} AS x, {_FIELD} AS y", "?x ?y { ?x :ofField ?y }"))
    (queries / "4.qpair").write_text(_pair("4", f"{_PRODUCTION} AS x, T.volume AS y", "?x ?y { ?x :volume ?y }"))
    (queries / "5.qpair").write_text(_pair("5", f"{_YEAR} AS x", "?x { ?x a :Year }"))
    with open_database(f"duckdb:///{tmp_path / 'd.duckdb'}") as database:
        derivations = Derivations(database, learn_structure(database))
        found = things_of_pairs(read_pairs(queries), read_ontology(tmp_path / "o.ttl"), derivations)
    assert found == {
        "Field": {("field:1",), ("field:2",)},
        "Production": {("production:2001/1",), ("production:2002/2",)},
        "ofField": {("production:2001/1", "field:1"), ("production:2002/2", "field:2")},
        "volume": {("production:2001/1", "5"), ("production:2002/2", "7")},
    }, "and of what no key names nothing is told"
