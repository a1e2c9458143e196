"""Identity: one person is one node however a rule reaches it, no two things share one, and the policy says so."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg2
import pytest
import rdflib
from sqlalchemy.engine import make_url

from ruleminer.errors import InputError
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.proposals.identity import (
    IdentityPolicy,
    check_overrides,
    identity_policy,
    mapping_of,
    parse_iri_override,
)
from ruleminer.proposals.iri_columns import iri_columns
from ruleminer.rules.mapping import Iri, Literal, TripleRule
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Rule
from ruleminer.sources.database import open_database
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table
from ruleminer.structure.profile import empty_profile
from ruleminer.structure.structure import Structure, learn_structure

XSD = "http://www.w3.org/2001/XMLSchema#"
ONTOLOGY = """
@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix schema: <http://schema.org/> .
:Person a owl:Class . :Author a owl:Class ; rdfs:subClassOf :Person . :Human a owl:Class ; owl:equivalentClass :Person .
:Reviewer a owl:Class ; rdfs:subClassOf :Person, :Expert . :Expert a owl:Class .
:Document a owl:Class . :Paper a owl:Class ; rdfs:subClassOf :Document .
:Review a owl:Class ; rdfs:subClassOf :Document . :Conference a owl:Class .
:hasAuthor a owl:ObjectProperty ; rdfs:domain :Paper ; rdfs:range :Author .
:writes a owl:ObjectProperty ; owl:inverseOf :hasAuthor .
:hasFirstAuthor a owl:ObjectProperty ; rdfs:subPropertyOf :hasAuthor .
:knows a owl:ObjectProperty .
:name a owl:DatatypeProperty ; rdfs:domain [ owl:unionOf ( :Conference :Person ) ] ; rdfs:range xsd:string .
:born a owl:DatatypeProperty ; rdfs:domain :Human ; rdfs:range xsd:date .
:note a owl:DatatypeProperty ; rdfs:range rdfs:Literal .
:about a rdf:Property ; schema:rangeIncludes :Person, schema:Text .
"""
BASE = "http://example.org/data/"
UNSAID = f"IRIs start with {BASE}, for nobody said otherwise: choose a base of your own"


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return ontology_of(rdflib.Graph().parse(data=ONTOLOGY, format="turtle"))


def table(name: str, *columns: str, links: tuple[tuple[str, str], ...] = (), key: int = 1) -> Table:
    """A table whose first columns are its key; links lead to the column `id` of other tables."""
    return Table(
        name,
        tuple(Column.of_type(column, "INTEGER", column not in columns[:key]) for column in columns),
        columns[:key],
        foreign_keys=tuple(ForeignKey((column,), target, ("id",)) for column, target in links),
    )


def structure_of(*tables: Table) -> Structure:
    schema = Schema(None, tables)
    return Structure(schema, empty_profile(schema))


CONFERENCES = structure_of(
    table("persons", "id", "name", "born", "note"),
    table("authors", "id", links=(("id", "persons"),)),
    table("reviewers", "id", "no", links=(("id", "persons"),)),
    table("papers", "id", "author", "first", links=(("author", "authors"), ("first", "persons"))),
    table("reviews", "id", "paper", "reviewer", links=(("paper", "papers"), ("reviewer", "reviewers"))),
    table("conferences", "id", "name"),
    table("friends", "no", "who", "word", links=(("who", "persons"),)),
)


def rules_of(text: str) -> list[Rule]:
    return list(parse_rules(text))


def triples(
    ontology: Ontology, text: str, structure: Structure = CONFERENCES, **overrides: str
) -> tuple[list[TripleRule], IdentityPolicy]:
    rules = rules_of(text)
    policy = identity_policy(ontology, rules, overrides, None, structure)
    return list(mapping_of(rules, ontology, policy).rules), policy


def prefix(term: object) -> str:
    assert isinstance(term, Iri)
    return str(term.parts[0])


def test_a_person_is_one_node_as_author_as_person_and_as_object(ontology: Ontology) -> None:
    found, policy = triples(
        ontology,
        """Person(x) <- persons(id: x)   Author(x) <- authors(id: x)   Human(x) <- papers(first: x)
           Reviewer(x) <- reviewers(id: x)   Expert(x) <- reviews(reviewer: x)
           hasAuthor(x, y) <- papers(id: x, author: y)   writes(x, y) <- papers(id: y, author: x)
           hasFirstAuthor(x, y) <- papers(id: x, first: y)""",
    )
    people = [rule.subject for rule in found[:5]] + [found[5].object, found[6].subject, found[7].object]
    assert {prefix(person) for person in people} == {f"{BASE}persons/"}
    documents = [found[5].subject, found[6].object, found[7].subject]
    assert {prefix(document) for document in documents} == {f"{BASE}papers/"}
    assert policy.lines() == [
        UNSAID,
        f"{BASE}papers/{{}}  papers.id",
        f"{BASE}persons/{{}}  Person, Author, Human, Reviewer, Expert: persons.id",
    ]


def test_keys_that_no_link_holds_together_stay_apart_whatever_their_classes(ontology: Ontology) -> None:
    text = "Paper(x) <- papers(id: x)   Review(x) <- reviews(id: x)   Document(x) <- papers(id: x)"
    for more in ("", "   Document(x) <- reviews(id: x)"):
        found, _ = triples(ontology, text + more)
        assert [prefix(rule.subject) for rule in found[:3]] == [f"{BASE}papers/", f"{BASE}reviews/", f"{BASE}papers/"]
    related = structure_of(
        table("documents", "id"),
        table("papers", "id", links=(("id", "documents"),)),
        table("reviews", "id", links=(("id", "documents"),)),
    )
    found, _ = triples(ontology, text, related)
    assert {prefix(rule.subject) for rule in found} == {f"{BASE}documents/"}


def test_entities_that_stay_apart_may_have_templates_of_their_own(ontology: Ontology) -> None:
    own = {"Paper": "http://e.x/p/{}", "Review": "http://e.x/r/{}"}
    check_overrides(ontology, own)  # only the rules will tell whether they share their entities
    found, _ = triples(ontology, "Paper(x) <- papers(id: x)   Review(x) <- reviews(id: x)", **own)
    assert [prefix(rule.subject) for rule in found] == ["http://e.x/p/", "http://e.x/r/"]
    with pytest.raises(InputError, match="two templates for the same entities: Paper and Review"):
        triples(ontology, "Paper(x) <- papers(id: x)   Review(x) <- reviews(paper: x)", **own)


def test_the_ends_of_a_property_are_decided_by_the_column(ontology: Ontology) -> None:
    found, _ = triples(
        ontology,
        """Person(x) <- persons(id: x)   Conference(x) <- conferences(id: x)
           name(x, y) <- persons(id: x, name: y)   name(x, y) <- conferences(id: x, name: y)
           knows(x, y) <- friends(no: x, who: y)""",
    )
    assert [prefix(rule.subject) for rule in found[2:]] == [
        f"{BASE}persons/",
        f"{BASE}conferences/",
        f"{BASE}friends/",
    ]
    assert prefix(found[4].object) == f"{BASE}persons/"


def test_a_column_that_is_neither_key_nor_link_is_named_with_its_table(ontology: Ontology) -> None:
    found, _ = triples(ontology, "Human(x) <- friends(word: x)   Person(x) <- gone(id: x)")
    assert [prefix(rule.subject) for rule in found] == [f"{BASE}friends.word/", f"{BASE}gone.id/"]


def test_names_that_differ_in_case_alone_are_numbered(ontology: Ontology) -> None:
    found, _ = triples(
        ontology,
        "Person(x) <- people(id: x)   Paper(x) <- People(id: x)",
        structure_of(table("people", "id"), table("People", "id")),
    )
    assert [prefix(rule.subject) for rule in found] == [f"{BASE}people-2/", f"{BASE}People/"]


def test_a_compound_key_has_a_segment_for_each_column_in_one_order(ontology: Ontology) -> None:
    compound = table("papers", "year", "no", key=2)
    link = ForeignKey(("of_no", "of_year"), "papers", ("no", "year"))
    reviews = replace(table("reviews", "id", "of_year", "of_no"), foreign_keys=(link,))
    structure = structure_of(compound, reviews)
    text = """Paper(x) <- papers(year: a, no: b), x = a ++ "-" ++ b
              Paper(x) <- papers(year: a, no: b), x = b ++ "/" ++ a
              Document(x) <- reviews(of_year: a, of_no: b), x = a ++ "/" ++ b"""
    found, policy = triples(ontology, text, structure)
    holders = [[rule.rule.places_of(p)[0].column for p in rule.subject.parts[1::2]] for rule in found]
    assert holders == [["no", "year"], ["no", "year"], ["of_no", "of_year"]]
    assert {(rule.subject.parts[0], rule.subject.parts[2]) for rule in found} == {(f"{BASE}papers/", "/")}
    assert policy.lines() == [UNSAID, f"{BASE}papers/{{}}/{{}}  Paper, Document: papers.no, papers.year"]
    found, _ = triples(ontology, text, structure, papers="http://e.x/{}/paper/{}")
    assert {(rule.subject.parts[0], rule.subject.parts[2]) for rule in found} == {("http://e.x/", "/paper/")}
    with pytest.raises(InputError, match=r"once for each of papers\.no, papers\.year"):
        triples(ontology, text, structure, Paper="http://e.x/{}")


def test_things_with_a_compound_key_have_the_iris_that_examples_show_however_a_rule_reaches_them(
    ontology: Ontology,
) -> None:
    papers = table("papers", "year", "no", key=2)
    link = ForeignKey(("of_no", "of_year"), "papers", ("no", "year"))
    structure = structure_of(papers, replace(table("reviews", "id", "of_year", "of_no"), foreign_keys=(link,)))
    text = """Paper(x) <- papers(year: a, no: b), x = "http://a.b/paper/" ++ a ++ "/" ++ b
              Document(x) <- papers(year: a, no: b), x = a ++ "/" ++ b
              knows(x, y) <- reviews(id: x, of_year: a, of_no: b), y = b ++ "/" ++ a"""
    rules = rules_of(text)
    policy = identity_policy(ontology, rules, {}, None, structure)
    spelt, keyed, linked = mapping_of(rules, ontology, policy).rules
    assert [prefix(term) for term in (spelt.subject, keyed.subject, linked.object)] == ["http://a.b/paper/"] * 3
    for rule, term in ((keyed, keyed.subject), (linked, linked.object)):
        assert isinstance(term, Iri)
        columns = [rule.rule.places_of(part)[0].column for part in term.parts[1::2]]  # type: ignore[arg-type]
        assert [column.removeprefix("of_") for column in columns] == ["year", "no"], "in the order of the template"
    # What was named so goes on to be, whatever is spelt then.
    settled = {tuple(space["key"]): space["template"] for space in policy.to_json()["spaces"]}
    again = identity_policy(ontology, rules[1:], {}, None, structure, settled=settled)
    assert mapping_of(rules[1:], ontology, again).rules[0].subject == keyed.subject


def test_an_iri_that_holds_a_key_twice_is_no_template_of_it(ontology: Ontology) -> None:
    structure = structure_of(table("papers", "no"), table("parts", "a", "b", key=2))
    rules = rules_of(
        """Paper(x) <- papers(no: a), x = "http://a.b/" ++ a ++ "/" ++ a
           Document(x) <- papers(no: x)
           Paper(x) <- parts(a: a, b: b), x = "http://a.b/" ++ a ++ "/" ++ b ++ "/" ++ a
           Document(x) <- parts(a: a, b: b), x = a ++ "/" ++ b"""
    )
    policy = identity_policy(ontology, rules, {}, None, structure)
    _, paper, _, part = mapping_of(rules, ontology, policy).rules
    assert prefix(paper.subject) != "http://a.b/" != prefix(part.subject)


def test_a_rule_that_spells_an_iri_keeps_it(ontology: Ontology) -> None:
    found, policy = triples(
        ontology,
        """Author(x) <- authors(id: a), x = "http://a.b/author/" ++ a
           Paper(x) <- papers(id: a), x = "paper-" ++ a
           Review(x) <- reviews(id: a), x = "http://a.b/a <b>/" ++ a""",
    )
    assert prefix(found[0].subject) == "http://a.b/author/"
    assert prefix(found[1].subject) == f"{BASE}papers/"
    assert prefix(found[2].subject) == "http://a.b/a%20%3Cb%3E/"
    assert all(rule.subject.spelled for rule in found)
    assert policy.lines()[1:] == [f"{BASE}papers/{{}}  Paper: papers.id", "rules that put an IRI together keep it"]


def test_where_the_ontology_leaves_open_what_a_property_leads_to_the_data_tell(ontology: Ontology) -> None:
    found, policy = triples(
        ontology,
        """about(x, y) <- friends(no: x, who: y)   about(x, y) <- friends(no: x, word: y)
           about(x, y) <- friends(no: x, who: a), y = "http://a.b/" ++ a
           about(x, y) <- friends(no: x, word: a), y = "Dear " ++ a""",
    )
    assert prefix(found[0].object) == prefix(found[2].object) == "http://a.b/", "as one rule shows it"
    assert isinstance(found[1].object, Literal)
    assert isinstance(found[3].object, Literal)
    assert [space.template for space in policy.spaces] == ["http://a.b/{}", f"{BASE}friends/{{}}"]


def test_a_unique_name_beside_the_key_is_a_value_unless_something_refers_to_it(ontology: Ontology) -> None:
    lands = replace(table("lands", "id", "word"), unique=(("word",),))
    told = "about(x, y) <- visits(id: x, land: a), lands(id: a, word: y)   about(x, y) <- visits(id: x, land: y)"
    found, _ = triples(ontology, told, structure_of(lands, table("visits", "id", "land", links=(("land", "lands"),))))
    assert isinstance(found[0].object, Literal)
    assert prefix(found[1].object) == f"{BASE}lands/"
    stamps = replace(table("stamps", "id", "land"), foreign_keys=(ForeignKey(("land",), "lands", ("word",)),))
    found, _ = triples(ontology, "about(x, y) <- stamps(id: x, land: y)", structure_of(lands, stamps))
    assert prefix(found[0].object) == f"{BASE}lands.word/"
    # Who writes a thing as its IRI and what it has as a text means the text.
    found, _ = triples(
        ontology, 'about(x, y) <- stamps(id: a, land: y), x = "http://a.b/" ++ a', structure_of(lands, _texts(stamps))
    )
    assert isinstance(found[0].object, Literal)


def _texts(given: Table) -> Table:
    return replace(given, columns=tuple(Column.of_type(one.name, "text", True) for one in given.columns))


def test_values_have_the_datatype_of_the_range(ontology: Ontology) -> None:
    found, _ = triples(
        ontology,
        """born(x, y) <- persons(id: x, born: y)   name(x, y) <- persons(id: x, name: y)
           note(x, y) <- persons(id: x, note: y)   label(x, y) <- persons(id: x, name: y)""",
    )
    kinds = [rule.object.datatype for rule in found if isinstance(rule.object, Literal)]
    assert kinds == [f"{XSD}date", f"{XSD}string", None, f"{XSD}string"]


@pytest.mark.parametrize("wish", ["Person", "persons", "persons.id", "authors", "papers.author", "reviews.reviewer"])
def test_the_user_can_name_the_entities_by_class_table_or_column(ontology: Ontology, wish: str) -> None:
    name, template = parse_iri_override(f" {wish} = http://e.x/person/{{}}.html ")
    rules = rules_of("Person(x) <- persons(id: x)   Paper(x) <- papers(id: x)")
    policy = identity_policy(ontology, rules, {name: template}, None, CONFERENCES)
    found = mapping_of(rules, ontology, policy).rules
    assert found[0].subject.parts == ("http://e.x/person/", rules[0].arguments[0], ".html")
    assert prefix(found[1].subject) == f"{BASE}papers/"
    assert f"http://e.x/person/{{}}.html  Person: persons.id (as asked for {wish})" in policy.lines()
    whole = identity_policy(ontology, rules, dict([parse_iri_override(f"{wish}={{}}")]), None, CONFERENCES)
    assert mapping_of(rules, ontology, whole).rules[0].subject.parts == rules[0].arguments


def test_a_class_of_several_spaces_needs_a_template_for_each(ontology: Ontology) -> None:
    text = "Document(x) <- papers(id: x)   Document(x) <- reviews(id: x)"
    with pytest.raises(InputError, match=r"2 kinds \(papers, reviews\).*a template for each table"):
        triples(ontology, text, Document="http://e.x/{}")
    found, _ = triples(ontology, text, papers="http://e.x/p/{}", reviews="http://e.x/r/{}")
    assert [prefix(rule.subject) for rule in found] == ["http://e.x/p/", "http://e.x/r/"]
    found, _ = triples(ontology, text, Document="{}")  # whole IRIs keep apart what they name
    assert [rule.subject.parts for rule in found] == [rule.rule.arguments for rule in found]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Person", "it looks like"),
        ("=http://e.x/{}", "it looks like"),
        ("Person=http://e.x/", "must have {} where the key goes"),
        ("Person=person/{}", "is no IRI"),
        ("Person=http://e.x/a b/{}", "is no IRI"),
    ],
)
def test_a_bad_iri_template_is_told(text: str, told: str) -> None:
    with pytest.raises(InputError, match="iris") as caught:
        parse_iri_override(text)
    assert told in str(caught.value)


def test_overrides_that_cannot_be_followed_are_told(ontology: Ontology) -> None:
    for overrides, told in (
        ({"Persn": "http://e.x/{}"}, "Persn is neither of the database, and the ontology has .*; nearest: Person"),
        ({"persons.nam": "http://e.x/{}"}, "persons.nam is neither of the database"),
        ({"name": "http://e.x/{}"}, "is a property"),
        ({"Person": "http://e.x/{}", "Paper": "http://e.x/{}"}, "Person and Paper the same template"),
    ):
        with pytest.raises(InputError, match=told):
            check_overrides(ontology, overrides, None, CONFERENCES.schema)
    with pytest.raises(InputError, match="two templates for the same entities: Person and Author"):
        triples(
            ontology,
            "Person(x) <- persons(id: x)   Author(x) <- authors(id: x)",
            Person="http://e.x/{}",
            Author="http://e.y/{}",
        )
    with pytest.raises(InputError, match=r"once for each of persons\.id"):
        triples(ontology, "Person(x) <- persons(id: x)", Person="http://e.x/{}/{}")
    with pytest.raises(InputError, match="papers the template that reviews has"):
        triples(ontology, "Paper(x) <- papers(id: x)   Review(x) <- reviews(id: x)", papers=f"{BASE}reviews/{{}}")
    with pytest.raises(InputError, match="no base for IRIs"):
        check_overrides(ontology, {}, "data")


def test_the_base_is_the_users_and_never_the_ontologys(ontology: Ontology) -> None:
    rules = rules_of("Person(x) <- persons(id: x)")
    policy = identity_policy(ontology, rules, {}, "https://e.x/things", CONFERENCES)
    assert policy.spaces[0].template == "https://e.x/things/persons/{}"
    assert json.loads(json.dumps(policy.to_json()))["spaces"] == [
        {"template": "https://e.x/things/persons/{}", "key": ["persons.id"], "classes": ["Person"]}
    ]


def test_classes_of_the_same_local_name_are_told_apart_in_overrides() -> None:
    text = ONTOLOGY + "<http://other#Paper> a owl:Class . <http://other#Person> a owl:Class ."
    both = ontology_of(rdflib.Graph().parse(data=text, format="turtle"))
    ours, theirs = both.find("http://e.x/o#Person").name, both.find("http://other#Person").name
    assert ours != theirs
    found, _ = triples(
        both,
        """"http://e.x/o#Person"(x) <- persons(id: x)   "http://other#Person"(x) <- conferences(id: x)""",
        **{"http://other#Person": "http://other/{}"},
    )
    assert [prefix(rule.subject) for rule in found] == [f"{BASE}persons/", "http://other/"]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_a_column_of_whole_iris_is_found_and_kept(
    ontology: Ontology, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = {"duckdb": f"duckdb:///{tmp_path}/d.duckdb", "sqlite": f"sqlite:///{tmp_path}/d.sqlite"}.get(engine)
    url = url or request.getfixturevalue("empty_postgres")
    with writable(engine, url) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (id INTEGER, page VARCHAR(40), mixed VARCHAR(40), blank VARCHAR(40))")
        cursor.execute("INSERT INTO t VALUES (1, 'http://e.x/1', 'http://e.x/1', NULL), (2, NULL, 'x', NULL)")
        connection.commit()
    rules = rules_of(
        """knows(x, y) <- t(id: x, page: y)   knows(x, y) <- t(id: x, mixed: y)   knows(x, y) <- t(id: x, blank: y)
           knows(x, y) <- gone(id: x, page: y)   name(x, y) <- t(id: x, page: y)"""
    )
    with open_database(url) as database:
        structure = learn_structure(database)
        found = iri_columns(rules, ontology, database, structure)
    assert found == {("t", "page")}
    policy = identity_policy(ontology, rules, {}, None, structure, found)
    mapped = mapping_of(rules, ontology, policy).rules
    assert mapped[0].object == Iri((rules[0].arguments[1],))
    assert prefix(mapped[1].object) == f"{BASE}t.mixed/"
    assert "knows: t.page holds whole IRIs" in policy.lines()


def writable(engine: str, url: str):  # type: ignore[no-untyped-def]
    if engine == "postgres":
        return closing(psycopg2.connect(url))
    database = make_url(url).database
    return closing(sqlite3.connect(database) if engine == "sqlite" else duckdb.connect(database))
