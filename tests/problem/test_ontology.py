"""Ontologies: what is read from files, what predicates are called, and what broken files say."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind, arity, local_name, read_ontology

TURTLE = """
@prefix : <http://example.org/library#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<http://example.org/library> a owl:Ontology .

:Agent a owl:Class .
:Writer a owl:Class ; rdfs:subClassOf :Agent , [ a owl:Restriction ; owl:onProperty :wrote ] ;
    rdfs:label "writer"@en , "Schriftsteller"@de ; rdfs:comment "Who writes." .
:Poet a owl:Class ; rdfs:subClassOf :Writer ; owl:equivalentClass :Versifier .
:Versifier a owl:Class .
:Book a rdfs:Class .
:Leaflet rdfs:subClassOf :Undeclared .

:wrote a owl:ObjectProperty ; rdfs:domain [ a owl:Class ; owl:unionOf ( :Writer :Versifier ) ] ;
    rdfs:range :Book ; owl:inverseOf :written-by .
:written-by a owl:ObjectProperty .
:title a owl:DatatypeProperty ; rdfs:range xsd:string .
:subtitle a owl:DatatypeProperty ; rdfs:subPropertyOf :title .
:shelf a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> ; rdfs:range :Book .
:pages a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Property> ; rdfs:range xsd:integer .
"""
NAMESPACE = "http://example.org/library#"


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    path = tmp_path / "library.ttl"
    path.write_text(TURTLE, encoding="utf-8")
    return path


def test_turtle_gives_classes_and_properties_with_their_kinds(turtle: Path) -> None:
    ontology = read_ontology(turtle)
    assert [term.name for term in ontology.classes] == (
        ["Agent", "Book", "Leaflet", "Poet", "Undeclared", "Versifier", "Writer"]
    )
    kinds = {term.name: term.kind.value for term in ontology.properties}
    assert kinds == {
        "wrote": "object",
        "written-by": "object",
        "shelf": "object",
        "title": "datatype",
        "subtitle": "datatype",
        "pages": "datatype",
    }
    assert len(ontology.sha256) == 64


def test_labels_comments_and_structure_are_read(turtle: Path) -> None:
    ontology = read_ontology(turtle)
    writer, wrote = ontology.find("Writer"), ontology.find("wrote")
    assert isinstance(writer, OntologyClass)
    assert isinstance(wrote, Property)
    assert writer.labels == ("Schriftsteller", "writer")
    assert writer.comments == ("Who writes.",)
    assert writer.parents == (NAMESPACE + "Agent",), "the restriction has no name and is left out"
    assert wrote.domains == (NAMESPACE + "Versifier", NAMESPACE + "Writer"), "a union is listed by its members"
    assert wrote.ranges == (NAMESPACE + "Book",)
    assert wrote.inverses == (NAMESPACE + "written-by",)
    assert ontology.find("written-by").inverses == (NAMESPACE + "wrote",), "an inverse holds both ways"


def test_an_ontology_is_plain_data_for_json(turtle: Path) -> None:
    plain = json.loads(json.dumps(asdict(read_ontology(turtle))))
    assert set(plain) == {"classes", "properties", "prefixes", "sha256", "missing_imports", "datatypes", "open_ended"}


def test_ancestors_come_nearest_first_and_cross_equivalences(turtle: Path) -> None:
    ontology = read_ontology(turtle)
    above = [local_name(iri) for iri in ontology.ancestors(NAMESPACE + "Versifier")]
    assert above == ["Poet", "Writer", "Agent"]
    below = [local_name(iri) for iri in ontology.descendants(NAMESPACE + "Agent")]
    assert below == ["Writer", "Poet", "Versifier"]


@pytest.mark.parametrize("syntax", ["xml", "nt"])
def test_other_syntaxes_give_the_same_ontology(turtle: Path, tmp_path: Path, syntax: str) -> None:
    from rdflib import Graph

    other = tmp_path / ("library.owl" if syntax == "xml" else "library.nt")
    Graph().parse(turtle).serialize(other, format=syntax, encoding="utf-8")
    expected, found = read_ontology(turtle), read_ontology(other)
    assert (found.classes, found.properties) == (expected.classes, expected.properties)


def test_an_owl_file_may_hold_turtle(tmp_path: Path) -> None:
    path = tmp_path / "library.owl"
    path.write_text(TURTLE, encoding="utf-8")
    assert read_ontology(path).find("Book").name == "Book"


def test_names_are_found_by_iri_prefixed_name_and_local_name(turtle: Path) -> None:
    ontology = read_ontology(turtle)
    found = {ontology.find(name) for name in (NAMESPACE + "written-by", ":written-by", "written-by")}
    assert len(found) == 1


def test_a_term_that_is_only_mentioned_takes_no_name_away(tmp_path: Path) -> None:
    path = tmp_path / "mentions.ttl"
    path.write_text(
        "@prefix a: <http://a.org/> . @prefix b: <http://b.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . b:Port a owl:Class .\n"
        'a:Port a owl:Class ; rdfs:label "port" . a:Quay rdfs:subClassOf b:Quay . a:Pier rdfs:subClassOf a:Quay .'
    )
    ontology = read_ontology(path)
    assert [term.name for term in ontology.terms] == ["Pier", "Port", "Quay", "b:Port", "b:Quay"]
    assert ontology.find("Port").iri == ontology.find("<http://a.org/Port>").iri == "http://a.org/Port"
    assert ontology.find("b:Port").iri == "http://b.org/Port"


@pytest.mark.data
def test_the_own_terms_of_schema_org_are_not_ambiguous(real_data: Path) -> None:
    path = real_data / "real" / "schema.org" / "schemaorg.ttl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    assert read_ontology(path).find("Product").iri == "https://schema.org/Product"


def test_a_local_name_shared_by_two_terms_is_called_by_its_prefix(tmp_path: Path) -> None:
    path = tmp_path / "two.ttl"
    path.write_text(
        "@prefix a: <http://a.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "a:Port a owl:Class . <http://b.org/Port> a owl:Class . a:Ship a owl:Class .\n"
    )
    ontology = read_ontology(path)
    assert [term.name for term in ontology.classes] == ["Ship", "a:Port", "http://b.org/Port"]
    assert ontology.find("a:Port").iri == "http://a.org/Port"
    with pytest.raises(InputError, match="Port is ambiguous in the ontology: use a:Port or http:"):
        ontology.find("Port")


def test_a_shared_local_name_means_the_term_of_the_empty_prefix(tmp_path: Path) -> None:
    path = tmp_path / "own.ttl"
    path.write_text(
        "@prefix : <http://a.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Port a owl:Class . <http://b.org/Port> a owl:Class .\n"
    )
    ontology = read_ontology(path)
    assert ontology.find("Port").iri == "http://a.org/Port"
    assert ontology.find("http://b.org/Port").name == "http://b.org/Port"


def test_an_unknown_name_comes_with_the_nearest(turtle: Path) -> None:
    with pytest.raises(InputError, match="no class or property writen-by; nearest: written-by"):
        read_ontology(turtle).find("writen-by")


def test_rdfs_label_and_comment_are_predicates_without_a_declaration(turtle: Path) -> None:
    ontology = read_ontology(turtle)
    for name in ("label", "rdfs:label", "http://www.w3.org/2000/01/rdf-schema#label"):
        term = ontology.find(name)
        assert isinstance(term, Property)
        assert (term.name, term.kind, arity(term)) == ("label", PropertyKind.DATATYPE, 2)
    assert "label" not in {term.name for term in ontology.properties}


def test_a_declared_label_goes_before_that_of_rdfs(tmp_path: Path) -> None:
    path = tmp_path / "own.ttl"
    path.write_text(
        "@prefix : <http://a.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :label a owl:DatatypeProperty ."
    )
    ontology = read_ontology(path)
    assert ontology.find("label").iri == "http://a.org/label"
    assert ontology.find("rdfs:label").name == "rdfs:label"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@prefix : <http://a.org/> .\n:A a\n", "line 2: not valid Turtle: objectList expected"),
        ("@prefix : <http://a.org/> .\nowl:A a :B .\n", 'line 2: not valid Turtle: Prefix "owl:" not bound'),
        ("<?xml version='1.0'?>\n<rdf:RDF>\n<a></rdf:RDF>", "line 2: not valid RDF/XML: "),
        ('<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>', "is OWL/XML"),
        ("@prefix : <http://a.org/> .\n:a :b :c .\n", "declares no class and no property"),
        ("", "declares no class and no property"),
    ],
)
def test_a_broken_file_is_one_line_with_file_and_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "broken.ttl"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_ontology(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_n_triples_and_bad_bytes_name_their_line(tmp_path: Path) -> None:
    triples = tmp_path / "broken.nt"
    triples.write_text("<http://a> <http://b> <http://c> .\n<http://a> <http://b> .\n")
    with pytest.raises(InputError, match=r"broken\.nt, line 2: "):
        read_ontology(triples)
    latin = tmp_path / "latin.ttl"
    latin.write_bytes(b"@prefix : <http://a.org/> .\n:a :b '\xe9' .\n")
    with pytest.raises(InputError, match=r"latin\.ttl, line 2: not UTF-8"):
        read_ontology(latin)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_ontology(tmp_path / "nothing.ttl")


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_text_at_all_makes_reading_fail_otherwise_than_by_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ttl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_ontology(path)
    assert "\n" not in str(caught.value)


@pytest.mark.data
@pytest.mark.parametrize(
    ("scenario", "classes", "properties"), [("cmt_naive", 30, 60), ("conference_naive", 59, 68), ("npd", 342, 384)]
)
def test_real_ontologies_are_read_whole(real_data: Path, scenario: str, classes: int, properties: int) -> None:
    ontology = read_ontology(real_data / "rodi" / scenario / "ontology.ttl")
    assert (len(ontology.classes), len(ontology.properties)) == (classes, properties)


def test_a_name_in_another_case_is_told_as_such() -> None:
    ontology = Ontology((OntologyClass("http://o#MusicGroup", "MusicGroup"),), ())
    with pytest.raises(InputError, match="no class or property MUSICGROUP, but MusicGroup: case counts in names"):
        ontology.find("MUSICGROUP")
