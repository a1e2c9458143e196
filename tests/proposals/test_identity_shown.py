"""Where examples show the IRIs of a kind of thing, all rules give it these: a thing has one IRI."""

from __future__ import annotations

from pathlib import Path

import duckdb

import ruleminer

ONTOLOGY = """@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Album a owl:Class . :title a owl:DatatypeProperty ; rdfs:domain :Album ."""


def test_a_thing_has_the_iri_that_an_example_shows(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE album (id INTEGER PRIMARY KEY, title VARCHAR)")
        connection.execute("INSERT INTO album SELECT i, 'Title ' || i FROM range(1, 40) r(i)")
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    url = f"duckdb:///{tmp_path / 'w.duckdb'}"
    shown = [("Album", f"http://mine/album/{n}") for n in (1, 2, 3)]
    examples = [*shown, *(("title", f"album:{n}", f"Title {n}") for n in (1, 2, 3))]
    ruleminer.extract(url, tmp_path / "o.ttl", examples, tmp_path / "run")
    delivery = ruleminer.propose(tmp_path / "run")
    subjects = {subject for subject, _, _ in ruleminer.materialise(delivery.mapping, url)}
    assert subjects == {f"<http://mine/album/{n}>" for n in range(1, 40)}
