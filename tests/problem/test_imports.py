"""What an ontology imports is read from files beside it, and never from elsewhere."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.problem.ontology import read_ontology
from tests.command_line import Run

OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise AssertionError("an import was looked for in the network")

    monkeypatch.setattr(socket.socket, "connect", refused)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWL + text, "utf-8")
    return path


def main(folder: Path, *imports: str) -> Path:
    told = "".join(f"; owl:imports <{iri}> " for iri in imports)
    return write(
        folder,
        "main.ttl",
        f"@prefix : <http://m.org/> . <http://m.org/> a owl:Ontology {told}. "
        ":Writer a owl:Class ; rdfs:subClassOf <http://p.org/Person>, [ a owl:Restriction ] .",
    )


PEOPLE = "<http://p.org/people> a owl:Ontology . <http://p.org/Person> a owl:Class ; rdfs:label 'person' ."


def test_a_file_that_declares_the_ontology_is_found_by_its_content(tmp_path: Path) -> None:
    path = main(tmp_path, "http://p.org/people")
    alone = read_ontology(path)
    write(tmp_path, "whatever.ttl", PEOPLE)
    ontology = read_ontology(path)
    assert alone.missing_imports == ("http://p.org/people",)
    assert ontology.missing_imports == ()
    assert ontology.find("Person").labels == ("person",)
    assert ontology.sha256 != alone.sha256


def test_a_file_is_found_by_how_the_iri_ends(tmp_path: Path) -> None:
    path = main(tmp_path, "http://p.org/people#")
    write(tmp_path, "people.ttl", "<http://p.org/Person> a owl:Class ; rdfs:label 'person' .")
    assert read_ontology(path).find("Person").labels == ("person",)


def test_a_catalog_tells_where_an_import_lies(tmp_path: Path) -> None:
    path = main(tmp_path, "http://p.org/people")
    write(tmp_path, "vendor/p 1.ttl", PEOPLE)
    (tmp_path / "catalog-v001.xml").write_text(
        '<?xml version="1.0"?><catalog prefer="public" xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<uri name="http://other.org/" uri="http://other.org/"/>'
        '<uri id="x" name="http://p.org/people" uri="vendor/p%201.ttl"/></catalog>'
    )
    assert read_ontology(path).find("Person").labels == ("person",)
    (tmp_path / "vendor" / "p 1.ttl").unlink()
    with pytest.raises(InputError, match=r"catalog-v001\.xml: http://p\.org/people is said to be in vendor/p%201"):
        read_ontology(path)


def test_imports_of_imports_are_read_once_and_circles_end(tmp_path: Path) -> None:
    path = main(tmp_path, "http://a.org/a")
    write(
        tmp_path,
        "a.ttl",
        "<http://a.org/a> a owl:Ontology ; owl:imports <http://b.org/b> . <http://a.org/A> a owl:Class .",
    )
    write(
        tmp_path,
        "b.ttl",
        "<http://b.org/b> a owl:Ontology ; owl:imports <http://a.org/a> , <http://m.org/> , <http://c.org/c> . "
        "<http://b.org/B> a owl:Class .",
    )
    ontology = read_ontology(path)
    assert [term.name for term in ontology.classes] == ["A", "B", "Person", "Writer"]
    assert ontology.missing_imports == ("http://c.org/c",)


def test_imported_terms_take_no_name_from_the_own_ones(tmp_path: Path) -> None:
    path = main(tmp_path, "http://p.org/people")
    write(tmp_path, "people.ttl", f"@prefix p: <http://p.org/> . {PEOPLE} p:Writer a owl:Class ; rdfs:label 'other' .")
    ontology = read_ontology(path)
    assert ontology.find("Writer").iri == "http://m.org/Writer"
    assert ontology.find("p:Writer").labels == ("other",)


def test_an_ontology_in_two_files_has_the_names_of_one_in_one(tmp_path: Path) -> None:
    head = "<http://m.org/> a owl:Ontology ; owl:imports <http://f.org/f> . <http://g.org/Person> a owl:Class . "
    body = "@prefix f: <http://f.org/> . f:Person a owl:Class ; rdfs:label 'person' . "
    whole = read_ontology(write(tmp_path / "whole", "main.ttl", head + body))
    write(tmp_path / "split", "f.ttl", "<http://f.org/f> a owl:Ontology . " + body)
    split = read_ontology(write(tmp_path / "split", "main.ttl", head))
    assert split.missing_imports == ()
    assert {term.name: term.iri for term in split.classes} == {term.name: term.iri for term in whole.classes}
    assert split.find("Person").iri == "http://f.org/Person"


def test_a_file_is_imported_by_its_place_only_from_the_folder_and_below(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write(folder, "parts/people.ttl", PEOPLE)
    write(tmp_path, "secret.ttl", PEOPLE)
    assert read_ontology(main(folder, "parts/people.ttl")).missing_imports == ()
    for outside in ("../secret.ttl", (tmp_path / "secret.ttl").as_uri(), f"{folder.as_uri()}/parts/%2E./../secret.ttl"):
        ontology = read_ontology(main(folder, outside))
        assert len(ontology.missing_imports) == 1
        assert ontology.find("Person").labels == ()


def test_inspect_tells_of_an_import_that_is_missing(tmp_path: Path, run: Run) -> None:
    shown = run("inspect", "--ontology", main(tmp_path, "http://p.org/people"))
    assert shown.code == 0
    assert "it imports http://p.org/people, of which no file lies beside it" in " ".join(shown.err.split())


def test_a_name_that_is_not_there_may_be_in_an_import_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no class or property Poet; it imports http://p\.org/people, of which no"):
        read_ontology(main(tmp_path, "http://p.org/people")).find("Poet")
    stub = write(tmp_path, "stub.ttl", "<http://s.org/> a owl:Ontology ; owl:imports <http://q.org/q> .")
    with pytest.raises(InputError, match=r"declares no class and no property, and imports http://q\.org/q"):
        read_ontology(stub)
