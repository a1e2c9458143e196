"""A mapping that is there is a starting point: its rules are pinned, and what is no rule is told."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.problem.decisions import read_decisions
from ruleminer.problem.ontology import read_ontology
from ruleminer.review.start import read_start
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.printer import rule_text
from ruleminer.run import Run
from ruleminer.sources.database import open_database
from tests.command_line import Run as Cli
from tests.proposals.conftest import Extracted
from tests.review.test_questions import ONTOLOGY, PEOPLE

R2RML = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://e/#> . @prefix m: <http://m/> .
m:people a rr:TriplesMap ; rr:logicalTable [ rr:tableName "PERSON" ] ;
  rr:subjectMap [ rr:template "http://e/person/{id}" ; rr:class :Person ] .
m:authors a rr:TriplesMap ;
  rr:logicalTable [ rr:sqlQuery "SELECT p.id AS who FROM person p WHERE p.writes = TRUE AND p.name IS NOT NULL" ] ;
  rr:subjectMap [ rr:template "http://e/person/{who}" ; rr:class :Author ] .
m:papers a rr:TriplesMap ; rr:logicalTable [ rr:tableName "paper" ] ;
  rr:subjectMap [ rr:template "http://e/paper/{id}" ; rr:class :Paper ] ;
  rr:predicateObjectMap [ rr:predicate :title ; rr:objectMap [ rr:column "title" ] ] .
m:written a rr:TriplesMap ;
  rr:logicalTable [ rr:sqlQuery "SELECT a.paper, p.id FROM author_of a JOIN person p ON a.person = p.id" ] ;
  rr:subjectMap [ rr:template "http://e/paper/{paper}" ] ;
  rr:predicateObjectMap [ rr:predicate :hasAuthor ; rr:objectMap [ rr:template "http://e/person/{id}" ] ] .
m:joined a rr:TriplesMap ; rr:logicalTable [ rr:tableName "author_of" ] ;
  rr:subjectMap [ rr:template "http://e/paper/{paper}" ] ;
  rr:predicateObjectMap [ rr:predicate :hasAuthor ;
    rr:objectMap [ rr:parentTriplesMap m:people ; rr:joinCondition [ rr:child "person" ; rr:parent "id" ] ] ] .
m:counted a rr:TriplesMap ;
  rr:logicalTable [ rr:sqlQuery "SELECT person, count(*) AS n FROM author_of GROUP BY person" ] ;
  rr:subjectMap [ rr:template "http://e/person/{person}" ; rr:class :Person ] .
m:late a rr:TriplesMap ; rr:logicalTable [ rr:sqlQuery "SELECT id FROM person WHERE id > 5" ] ;
  rr:subjectMap [ rr:template "http://e/person/{id}" ; rr:class :Person ] .
m:elves a rr:TriplesMap ; rr:logicalTable [ rr:tableName "person" ] ;
  rr:subjectMap [ rr:template "http://e/person/{id}" ; rr:class :Elf ] .
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(PEOPLE)
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    return tmp_path


def test_plain_triples_maps_are_read_as_rules_and_the_rest_is_told(world: Path) -> None:
    (world / "m.ttl").write_text(R2RML)
    ontology = read_ontology(world / "o.ttl")
    with open_database(str(world / "people.duckdb")) as database:
        started = read_start(world / "m.ttl", ontology, database.schema, database.dialect.name)
    assert {rule_text(rule) for rule in started.rules} == {
        "Person(x) <- person(id: x)",
        "Author(x) <- person(id: x, writes: true, name: v1)",
        "Paper(x) <- paper(id: x)",
        "title(x, y) <- paper(id: x, title: y)",
        "hasAuthor(x, y) <- author_of(paper: x, person: y), person(id: y)",
        "hasAuthor(x, y) <- author_of(paper: x, person: y)",
    }
    notes = "\n".join(started.notes)
    assert "GROUP clause" in notes
    assert "a condition that no rule says: id > 5" in notes
    assert "no class or property" in notes
    assert len(started.notes) == 3


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("[ rr:parentTriplesMap m:papers ]", "are the same column"),
        (
            '[ rr:parentTriplesMap m:papers ; rr:joinCondition [ rr:child "id" ; rr:parent "id" ] ]',
            "makes subject and object one",
        ),
        ('[ rr:template "Mr {title}" ; rr:termType rr:Literal ]', "has text beside its column"),
    ],
)
def test_an_object_that_no_rule_says_is_told(world: Path, target: str, told: str) -> None:
    (world / "m.ttl").write_text(
        """@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://e/#> . @prefix m: <http://m/> .
        m:papers a rr:TriplesMap ; rr:logicalTable [ rr:tableName "paper" ] ;
          rr:subjectMap [ rr:template "http://e/paper/{id}" ] ;
          rr:predicateObjectMap [ rr:predicate :hasAuthor ; rr:objectMap """
        + f"{target} ] ."
    )
    with open_database(str(world / "people.duckdb")) as database:
        started = read_start(world / "m.ttl", read_ontology(world / "o.ttl"), database.schema, database.dialect.name)
    assert not started.rules
    assert told in "".join(started.notes)


def test_what_we_export_can_be_the_start_of_another_run(own_library: Extracted, cli: Cli) -> None:
    assert cli("propose-mappings", own_library.run, "-q").code == 0
    folder = own_library.run / "proposals"
    wanted = {rule_text(rule) for rule in parse_rules((folder / "mapping.rules").read_text())}
    for name in ("mapping.rules", "mapping.ttl"):
        (own_library.run.parent / name).write_bytes((folder / name).read_bytes())
        told = cli("propose-mappings", own_library.run, "--start", own_library.run.parent / name, "-q")
        assert told.code == 0, told.err
        pinned = {
            rule_text(rule) for line in read_decisions(Run(own_library.run).decisions).lines for rule in line.rules
        }
        if name == "mapping.rules":
            assert pinned == wanted
        assert {rule_text(rule) for rule in parse_rules((folder / "mapping.rules").read_text())} == wanted
    again = read_decisions(Run(own_library.run).decisions).lines
    cli("propose-mappings", own_library.run, "--start", own_library.run.parent / "mapping.rules", "-q")
    assert read_decisions(Run(own_library.run).decisions).lines == again


def test_a_broken_start_is_one_line(own_library: Extracted, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.rules").write_text("Author(x <- person")
    told = cli("review", own_library.run, "--start", tmp_path / "broken.rules", "--ask", "1")
    assert (told.code, told.err.count("\n")) == (2, 1)
    told = cli("propose-mappings", own_library.run, "--start", tmp_path / "none.rules")
    assert told.code == 2
    assert "cannot be read" in told.err
