"""Vocabularies as they are published: what is declared in the manners of OWL, RDFS, schema.org, FOAF, Dublin Core."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph

from ruleminer.problem.ontology import (
    Cardinality,
    Ontology,
    OntologyClass,
    Property,
    PropertyKind,
    Restriction,
    local_name,
    ontology_of,
    read_ontology,
)

PREFIXES = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix schema: <https://schema.org/> . @prefix old: <http://schema.org/> . @prefix dcam: <http://purl.org/dc/dcam/> .
@prefix dct: <http://purl.org/dc/terms/> .
"""
E = "http://example.org/"


def declared(turtle: str) -> Ontology:
    return ontology_of(Graph(bind_namespaces="none").parse(data=PREFIXES + turtle, format="turtle"))


def kind(turtle: str, name: str = "p") -> PropertyKind:
    term = declared(turtle).find(name)
    assert isinstance(term, Property)
    return term.kind


@pytest.mark.parametrize(
    ("axioms", "expected"),
    [
        (":p a rdf:Property .", "either"),
        (":p a rdf:Property ; rdfs:range xsd:date .", "datatype"),
        (":p a rdf:Property ; rdfs:range rdfs:Literal .", "datatype"),
        (":p a rdf:Property ; rdfs:range rdfs:Resource .", "either"),
        (":p a rdf:Property ; rdfs:range foaf:Agent .", "object"),
        (":p a rdf:Property ; rdfs:range [ a owl:Class ; owl:unionOf ( :A :B ) ] .", "object"),
        (":p a rdf:Property ; rdfs:range [ owl:unionOf ( :A xsd:string ) ] .", "either"),
        (":p a rdf:Property ; rdfs:range :Percent . :Percent a rdfs:Datatype .", "datatype"),
        (":p a rdf:Property ; rdfs:subPropertyOf :q . :q a rdf:Property ; rdfs:range xsd:string .", "datatype"),
        (":p a rdf:Property ; dcam:rangeIncludes dct:Agent .", "either"),
        (":p a owl:DatatypeProperty .", "datatype"),
        (":p a owl:ObjectProperty ; rdfs:range owl:Thing .", "object"),
        (":p a owl:ObjectProperty , owl:DatatypeProperty .", "either"),
        (":p a owl:FunctionalProperty ; rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:int ] .", "datatype"),
        (":p a owl:FunctionalProperty ; rdfs:range [ a rdfs:Datatype ; owl:oneOf ( 1 2 ) ] .", "datatype"),
        (":p a owl:SymmetricProperty .", "object"),
        (":p a rdf:Property , owl:InverseFunctionalProperty , owl:DatatypeProperty .", "datatype"),
        (":p a rdf:Property ; owl:inverseOf :q .", "object"),
    ],
)
def test_what_a_property_leads_to_is_told_by_its_types_and_ranges(axioms: str, expected: str) -> None:
    assert kind(axioms) == expected


@pytest.mark.parametrize("namespace", ["schema", "old"])
def test_schema_org_is_read_under_both_schemes(namespace: str) -> None:
    ontology = declared(
        """
        s:DataType a rdfs:Class . s:Text a s:DataType , rdfs:Class . s:URL a rdfs:Class ; rdfs:subClassOf s:Text .
        s:Thing a rdfs:Class . s:Person a rdfs:Class ; rdfs:subClassOf s:Thing .
        s:name a rdf:Property ; s:domainIncludes s:Thing ; s:rangeIncludes s:Text , s:URL .
        s:knows a rdf:Property ; s:domainIncludes s:Person ; s:rangeIncludes s:Person .
        s:author a rdf:Property ; s:rangeIncludes s:Person , s:Text ; s:inverseOf s:wrote .
        s:wrote a rdf:Property ; s:inverseOf s:author ; s:domainIncludes s:Person , s:Thing .
        """.replace("s:", f"{namespace}:").replace(f"rdf{namespace}:", "rdfs:")
    )
    assert [term.name for term in ontology.classes] == ["Person", "Thing"]
    kinds = {term.name: str(term.kind) for term in ontology.properties}
    assert kinds == {"author": "either", "knows": "either", "name": "datatype", "wrote": "either"}
    wrote = ontology.find("wrote")
    assert [local_name(iri) for iri in ontology.domains(wrote.iri)] == ["Person", "Thing"]
    assert [local_name(iri) for iri in ontology.ranges(wrote.iri)] == []
    assert [local_name(iri) for iri in ontology.inverses(wrote.iri)] == ["author"]
    both = {ontology.find(f"{scheme}://schema.org/name") for scheme in ("http", "https")}
    assert len(both) == 1
    assert ontology.open_ended
    assert Ontology.from_json(ontology.to_json()).open_ended


def test_an_ontology_that_says_what_ends_are_is_not_open_ended() -> None:
    told = ":P a rdf:Property ; rdfs:domain :C . :C a owl:Class . :Q a rdf:Property ; schema:domainIncludes :C ."
    assert not declared(told).open_ended


LIBRARY = """
:Agent a owl:Class . :Person a owl:Class ; rdfs:subClassOf :Agent . :Writer a owl:Class ; rdfs:subClassOf :Person ,
    [ a owl:Restriction ; owl:onProperty :made ; owl:allValuesFrom :Book ] ,
    [ a owl:Restriction ; owl:onProperty :name ; owl:maxCardinality "2"^^xsd:nonNegativeInteger ] ,
    [ a owl:Restriction ; owl:onProperty :made ; owl:someValuesFrom :Book ] .
:Work a owl:Class ; owl:disjointWith :Agent . :Book a owl:Class ; rdfs:subClassOf :Work .
:Poet owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :Writer
    [ a owl:Restriction ; owl:onProperty :made ; owl:hasValue :poems ] ) ] ; a owl:Class .
:Lamp a owl:Class . :Desk a owl:Class . :Shelf a owl:Class . :Rack a owl:Class ; owl:equivalentClass :Shelf .
[] a owl:AllDisjointClasses ; owl:members ( :Lamp :Desk :Shelf ) .
:made a owl:ObjectProperty ; rdfs:range :Work ; rdfs:domain [ owl:unionOf ( :Person :Agent ) ] ; owl:inverseOf :by .
:by a owl:ObjectProperty , owl:FunctionalProperty .
:firstMade a owl:ObjectProperty ; rdfs:subPropertyOf :made .
:near a owl:SymmetricProperty , owl:TransitiveProperty .
:beside a owl:ObjectProperty ; owl:equivalentProperty :near .
:name a owl:DatatypeProperty ; rdfs:range xsd:string .
:isbn a owl:DatatypeProperty , owl:FunctionalProperty . :isbn13 a owl:DatatypeProperty ; rdfs:subPropertyOf :isbn .
:mail a owl:ObjectProperty , owl:InverseFunctionalProperty .
:loves a owl:ObjectProperty ; owl:propertyDisjointWith :hates . :hates a owl:ObjectProperty .
"""


@pytest.fixture(scope="module")
def library() -> Ontology:
    return declared(LIBRARY)


def test_restrictions_of_a_class_are_local_ranges_and_numbers(library: Ontology) -> None:
    writer = library.find("Writer")
    assert isinstance(writer, OntologyClass)
    assert writer.restrictions == (
        Restriction(E + "made", (E + "Book",), at_least=1),
        Restriction(E + "made", (E + "Book",), only=True),
        Restriction(E + "name", at_most=2),
    )
    assert library.ranges(E + "made") == (E + "Work",)
    assert library.ranges(E + "made", of=E + "Person") == (E + "Work",)
    assert library.ranges(E + "made", of=E + "Writer") == library.ranges(E + "made", of=E + "Poet") == (E + "Book",)


def test_a_class_defined_as_an_intersection_is_below_its_members(library: Ontology) -> None:
    poet = library.find("Poet")
    assert poet.parents == (E + "Writer",)
    assert library.is_within(E + "Poet", E + "Agent")
    assert not library.is_within(E + "Agent", E + "Poet")


def test_ends_come_from_the_inverse_and_from_above_where_a_property_says_nothing(library: Ontology) -> None:
    assert library.domains(E + "made") == (E + "Agent", E + "Person")
    assert library.domains(E + "by") == (E + "Work",)
    assert library.ranges(E + "by") == (E + "Agent", E + "Person")
    assert library.ranges(E + "firstMade") == (E + "Work",)
    assert library.domains(E + "name") == (E + "Writer",), "only that class speaks of it"
    assert library.domains(E + "mail") == ()


def test_how_many_values_there_are(library: Ontology) -> None:
    assert library.cardinality(E + "name") == Cardinality()
    assert library.cardinality(E + "name", of=E + "Poet") == Cardinality(at_most=2)
    assert library.cardinality(E + "made", of=E + "Writer") == Cardinality(at_least=1)
    assert library.cardinality(E + "isbn13", of=E + "Book") == Cardinality(at_most=1)
    functional = {local_name(p.iri) for p in library.properties if library.is_functional(p.iri)}
    assert functional == {"by", "isbn", "isbn13"}
    turned = {local_name(p.iri) for p in library.properties if library.is_inverse_functional(p.iri)}
    assert turned == {"made", "firstMade", "mail"}


def test_a_number_for_one_class_of_values_bounds_nothing_else() -> None:
    ontology = declared(
        """
        :p a owl:ObjectProperty ; rdfs:range :B . :q a owl:ObjectProperty . :B a owl:Class . :C a owl:Class .
        :A a owl:Class ; rdfs:subClassOf
          [ a owl:Restriction ; owl:onProperty :p ; owl:qualifiedCardinality 1 ; owl:onClass :B ] ,
          [ a owl:Restriction ; owl:onProperty :q ; owl:maxQualifiedCardinality 1 ; owl:onClass :C ] ,
          [ a owl:Restriction ; owl:onProperty :q ; owl:minQualifiedCardinality 2 ; owl:onClass :B ] .
        """
    )
    assert ontology.cardinality(E + "p", of=E + "A") == Cardinality(1, 1)
    assert ontology.cardinality(E + "q", of=E + "A") == Cardinality(2, None)


def test_symmetric_inverse_and_equivalent_properties_know_each_other(library: Ontology) -> None:
    assert library.inverses(E + "made") == (E + "by",)
    assert library.is_symmetric(E + "near")
    assert library.is_symmetric(E + "beside")
    assert not library.is_symmetric(E + "made")
    assert library.equivalents(E + "near") == (E + "beside",)
    near = library.find("near")
    assert isinstance(near, Property)
    assert near.transitive


def test_disjoint_classes_are_disjoint_with_all_below_them(library: Ontology) -> None:
    pairs = {("Book", "Writer"), ("Agent", "Work"), ("Lamp", "Desk"), ("Lamp", "Rack"), ("loves", "hates")}
    for one, other in product([term.name for term in library.terms], repeat=2):
        if {(one, other), (other, one)} & pairs:
            assert library.are_disjoint(E + one, E + other), (one, other)
    assert not library.are_disjoint(E + "Person", E + "Writer")
    assert not library.are_disjoint(E + "Shelf", E + "Rack")


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("<=#"), st.integers(0, 6)), max_size=14))
def test_disjointness_and_hierarchy_follow_from_the_axioms(axioms: list[tuple[int, str, int]]) -> None:
    """Against the obvious way: close `below` step by step, then look at every pair above."""
    words = {"<": "rdfs:subClassOf", "=": "owl:equivalentClass", "#": "owl:disjointWith"}
    ontology = declared(
        "".join(f":C{n} a owl:Class . " for n in range(7)) + "".join(f":C{a} {words[w]} :C{b} . " for a, w, b in axioms)
    )
    below = {(n, n) for n in range(7)} | {(a, b) for a, w, b in axioms if w != "#"}
    below |= {(b, a) for a, w, b in axioms if w == "="}
    while True:
        more = {(a, d) for a, b in below for c, d in below if b == c} - below
        if not more:
            break
        below |= more
    apart = {(a, b) for a, w, b in axioms if w == "#"} | {(b, a) for a, w, b in axioms if w == "#"}
    for a, b in product(range(7), repeat=2):
        assert ontology.is_within(f"{E}C{a}", f"{E}C{b}") == ((a, b) in below)
        expected = any((x, y) in apart for x in range(7) for y in range(7) if (a, x) in below and (b, y) in below)
        assert ontology.are_disjoint(f"{E}C{a}", f"{E}C{b}") == expected


def test_an_ontology_survives_its_json(library: Ontology) -> None:
    assert Ontology.from_json(json.loads(json.dumps(library.to_json()))) == library


@pytest.mark.parametrize(
    ("axioms", "expected"),
    [
        (":p a owl:DatatypeProperty ; rdfs:range xsd:date .", "date"),
        (":p a owl:DatatypeProperty ; rdfs:range xsd:date , xsd:dateTime .", None),
        (":p a owl:DatatypeProperty ; rdfs:range rdfs:Literal .", None),
        (":p a owl:DatatypeProperty ; rdfs:subPropertyOf :q . :q a owl:DatatypeProperty ; rdfs:range xsd:int .", "int"),
        (
            ":p a owl:DatatypeProperty ; rdfs:range :Percent . "
            ":Percent a rdfs:Datatype ; owl:equivalentClass [ a rdfs:Datatype ; owl:onDatatype xsd:decimal ] .",
            "decimal",
        ),
        (":p a rdf:Property ; schema:rangeIncludes schema:Date . schema:Date a schema:DataType .", "date"),
        (
            ":p a rdf:Property ; schema:rangeIncludes schema:Css . "
            "schema:Css rdfs:subClassOf schema:Text . schema:Text a schema:DataType .",
            "string",
        ),
        (
            ":p a rdf:Property ; schema:rangeIncludes schema:Number , schema:Text . "
            "schema:Number a schema:DataType . schema:Text a schema:DataType .",
            None,
        ),
        (":p a rdf:Property ; schema:rangeIncludes schema:Number . schema:Number a schema:DataType .", None),
        (":p a rdf:Property ; schema:rangeIncludes schema:Text , :Thing . schema:Text a schema:DataType .", "string"),
    ],
)
def test_the_datatype_of_a_property_is_the_one_of_its_range(axioms: str, expected: str | None) -> None:
    wanted = f"http://www.w3.org/2001/XMLSchema#{expected}" if expected else None
    assert declared(axioms).datatype(E + "p") == wanted


def test_a_list_that_goes_round_in_a_circle_ends() -> None:
    ontology = declared(":p a owl:ObjectProperty ; rdfs:range [ owl:unionOf _:l ] . _:l rdf:first :A ; rdf:rest _:l .")
    assert ontology.ranges(E + "p") == (E + "A",)


@pytest.mark.data
def test_schema_org_is_read_whole_and_what_its_properties_lead_to(real_data: Path) -> None:
    path = real_data / "real" / "schema.org" / "schemaorg.ttl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    ontology = read_ontology(path)
    kinds = {name: ontology.find(name).kind.value for name in ("name", "email", "author", "byArtist", "birthDate")}  # type: ignore[union-attr]
    assert kinds == {
        "name": "datatype",
        "email": "datatype",
        "author": "either",
        "byArtist": "either",
        "birthDate": "datatype",
    }
    assert ontology.is_within("https://schema.org/MusicAlbum", "https://schema.org/Thing")
    assert ontology.inverses("https://schema.org/alumni") == ("https://schema.org/alumniOf",)
