"""What follows from a triple, and what must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Graph

from ruleminer.errors import InputError
from ruleminer.validation.reasoning import Reasoner, read_reasoner, reasoner_of
from ruleminer.validation.store import loaded_store
from ruleminer.validation.terms import RDF_TYPE

ONTOLOGY = """
@prefix : <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Author rdfs:subClassOf :Person , [ a owl:Restriction ; owl:onProperty :writes ; owl:minCardinality 1 ] .
:Person rdfs:subClassOf :Agent , owl:Thing ; owl:equivalentClass :Human .
:Human owl:equivalentClass :Person .
:Loop rdfs:subClassOf :Loop2 . :Loop2 rdfs:subClassOf :Loop .
:Chair owl:equivalentClass [ owl:intersectionOf ( :Person :Officer ) ] .
:writes owl:inverseOf :writtenBy ; rdfs:domain :Author ; rdfs:range [ owl:unionOf ( :Paper :Review ) ] .
:writesFirst rdfs:subPropertyOf :writes .
:createdBy owl:equivalentProperty :writtenBy .
:mentions rdfs:domain [ owl:unionOf ( :Paper :Review ) ] ; rdfs:range [ owl:intersectionOf ( :Topic :Named ) ] .
:title rdfs:domain :Paper ; rdfs:range <http://www.w3.org/2001/XMLSchema#string> ; owl:inverseOf :titleOf .
"""


def e(name: str) -> str:
    return f"<http://e/{name}>"


def reasoner(structural: bool) -> Reasoner:
    return reasoner_of(Graph().parse(data=ONTOLOGY, format="turtle"), structural)


def types(of: Reasoner, *triple: str) -> set[str]:
    return {f"{s[10:-1]} {o[10:-1]}" for s, p, o in of.consequences(*triple) if p == RDF_TYPE}


def facts(of: Reasoner, *triple: str) -> set[tuple[str, str, str]]:
    return {found for found in of.consequences(*triple) if found[1] != RDF_TYPE}


@pytest.mark.parametrize("structural", [False, True])
def test_a_member_belongs_to_every_class_above(structural: bool) -> None:
    found = types(reasoner(structural), e("x"), RDF_TYPE, e("Author"))
    assert found == {"x Person", "x Human", "x Agent"}
    assert types(reasoner(structural), e("x"), RDF_TYPE, e("Human")) == {"x Person", "x Agent"}
    assert types(reasoner(structural), e("x"), RDF_TYPE, e("Loop")) == {"x Loop2"}
    assert types(reasoner(structural), e("x"), RDF_TYPE, e("Agent")) == set()


def test_rdfs_turns_inverses_and_knows_nothing_of_sub_properties_or_domains() -> None:
    rdfs = reasoner(structural=False)
    assert facts(rdfs, e("x"), e("writes"), e("y")) == {(e("y"), e("writtenBy"), e("x"))}
    assert facts(rdfs, e("y"), e("writtenBy"), e("x")) == {(e("x"), e("writes"), e("y"))}
    assert facts(rdfs, e("x"), e("writesFirst"), e("y")) == set()
    assert types(rdfs, e("x"), e("writes"), e("y")) == set()


def test_structural_closes_properties_inverses_and_domains_together() -> None:
    structural = reasoner(structural=True)
    assert facts(structural, e("x"), e("writesFirst"), e("y")) == {
        (e("x"), e("writes"), e("y")),
        (e("y"), e("writtenBy"), e("x")),
        (e("y"), e("createdBy"), e("x")),
    }
    assert types(structural, e("y"), e("createdBy"), e("x")) == {"x Author", "x Person", "x Human", "x Agent"}


def test_a_union_as_domain_or_range_makes_nobody_a_member() -> None:
    assert types(reasoner(structural=True), e("x"), e("mentions"), e("t")) == {"t Topic", "t Named"}


def test_an_intersection_says_it_of_each_member() -> None:
    found = types(reasoner(structural=True), e("x"), RDF_TYPE, e("Chair"))
    assert found == {"x Person", "x Human", "x Agent", "x Officer"}
    assert types(reasoner(structural=False), e("x"), RDF_TYPE, e("Chair")) == set()


def test_a_literal_has_no_class_and_is_no_subject() -> None:
    structural = reasoner(structural=True)
    assert list(structural.consequences(e("p"), e("title"), '"A title"')) == [(e("p"), RDF_TYPE, e("Paper"))]


def test_reasoning_is_a_fixpoint() -> None:
    structural = reasoner(structural=True)
    known = {(e("x"), e("writesFirst"), e("y"))}
    known |= set(structural.consequences(e("x"), e("writesFirst"), e("y")))
    assert {found for triple in known for found in structural.consequences(*triple)} <= known


def test_none_infers_nothing_and_other_words_are_refused(tmp_path: Path) -> None:
    ontology = tmp_path / "ontology.ttl"
    ontology.write_text(ONTOLOGY)
    assert not list(read_reasoner(ontology, "none").consequences(e("x"), RDF_TYPE, e("Author")))
    assert list(read_reasoner(ontology, "rdfs").consequences(e("x"), RDF_TYPE, e("Author")))
    with pytest.raises(InputError, match="no reasoning 'owl': choose none, rdfs, structural"):
        read_reasoner(ontology, "owl")


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_store_counts_what_is_asserted_and_what_is_inferred(on_disk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_disk:
        monkeypatch.setattr("ruleminer.validation.store._IN_MEMORY", 0)
    quads = [(e(str(n % 3)), RDF_TYPE, e("Author"), graph) for n in range(9) for graph in ("", e("g"))]
    with loaded_store([*quads, (e("0"), RDF_TYPE, e("Person"), "")], reasoner(structural=False)) as loaded:
        assert (loaded.triples, loaded.inferred) == (4, 8)
        ((count,),) = loaded.store.query("SELECT (COUNT(*) AS ?n) { ?x a <http://e/Agent> }")
        assert count.value == "3"


def test_a_blank_node_stays_one_node_through_chunks_and_conclusions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ruleminer.validation.store._CHUNK", 1)
    quads = [("_:b1", RDF_TYPE, e("Author"), ""), ("_:b1", e("title"), '"A"', "")]
    with loaded_store(quads, reasoner(structural=False)) as loaded:
        query = "SELECT ?x { ?x a <http://e/Author>, <http://e/Agent> ; <http://e/title> ?title }"
        assert len(list(loaded.store.query(query))) == 1
