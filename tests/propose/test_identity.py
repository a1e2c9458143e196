"""Identity: one person is one node however a rule reaches it, and the policy says so."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg2
import pytest
import rdflib
from sqlalchemy.engine import make_url

from ruleminer.errors import InputError
from ruleminer.problem.database import open_database
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.problem.schema import Column, ForeignKey, Schema, Table
from ruleminer.propose.identity import (
    IdentityPolicy,
    check_overrides,
    default_base,
    identity_policy,
    mapping_of,
    parse_iri_override,
)
from ruleminer.propose.iri_columns import iri_columns
from ruleminer.rules.mapping import Iri, Literal, TripleRule
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Rule

XSD = "http://www.w3.org/2001/XMLSchema#"
ONTOLOGY = """
@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
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
"""
BASE = "http://e.x/o/data/"


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return ontology_of(rdflib.Graph().parse(data=ONTOLOGY, format="turtle"))


def table(name: str, *columns: str, links: tuple[tuple[str, str], ...] = ()) -> Table:
    """A table whose first column is its key; links lead to the column `id` of other tables."""
    return Table(
        name,
        tuple(Column.of_type(column, "INTEGER", column != columns[0]) for column in columns),
        (columns[0],),
        foreign_keys=tuple(ForeignKey((column,), target, ("id",)) for column, target in links),
    )


def rules_of(text: str) -> list[Rule]:
    return list(parse_rules(text))


def triples(
    ontology: Ontology, text: str, schema: Schema | None = None, **overrides: str
) -> tuple[list[TripleRule], IdentityPolicy]:
    rules = rules_of(text)
    policy = identity_policy(ontology, rules, overrides, None, schema)
    return list(mapping_of(rules, ontology, policy).rules), policy


def prefix(term: object) -> str:
    assert isinstance(term, Iri)
    return str(term.parts[0])


def test_a_person_is_one_node_as_author_as_person_and_as_object(ontology: Ontology) -> None:
    found, _ = triples(
        ontology,
        """Person(x) <- persons(id: x)   Author(x) <- authors(id: x)   Human(x) <- humans(id: x)
           Reviewer(x) <- reviewers(id: x)   Expert(x) <- experts(id: x)
           hasAuthor(x, y) <- papers(id: x, author: y)   writes(x, y) <- papers(id: y, author: x)
           hasFirstAuthor(x, y) <- papers(id: x, first: y)""",
    )
    people = [rule.subject for rule in found[:5]] + [found[5].object, found[6].subject, found[7].object]
    assert {prefix(person) for person in people} == {f"{BASE}Person/"}
    documents = [found[5].subject, found[6].object, found[7].subject]
    assert {prefix(document) for document in documents} == {f"{BASE}Document/"}


def test_unrelated_keys_below_a_class_that_nothing_derives_stay_apart(ontology: Ontology) -> None:
    text = "Paper(x) <- papers(id: x)   Review(x) <- reviews(id: x)"
    links = table("bids", "id", "paper", links=(("paper", "papers"),))
    apart = Schema(None, (table("papers", "id"), table("reviews", "id"), links))
    found, policy = triples(ontology, text, apart)
    assert [prefix(rule.subject) for rule in found] == [f"{BASE}Paper/", f"{BASE}Review/"]
    assert any("no foreign key relates their keys" in line for line in policy.lines())
    documents = table("documents", "id")
    related = Schema(
        None,
        (
            documents,
            table("papers", "id", links=(("id", "documents"),)),
            table("reviews", "id", links=(("id", "documents"),)),
        ),
    )
    for schema, more in ((related, ""), (None, ""), (apart, "   Document(x) <- papers(id: x)")):
        found, _ = triples(ontology, text + more, schema)
        assert {prefix(rule.subject) for rule in found} == {f"{BASE}Document/"}


def test_entities_that_stay_apart_may_have_templates_of_their_own(ontology: Ontology) -> None:
    links = table("bids", "id", "paper", links=(("paper", "papers"),))
    apart = Schema(None, (table("papers", "id"), table("reviews", "id"), links))
    own = {"Paper": "http://e.x/p/{}", "Review": "http://e.x/r/{}"}
    check_overrides(ontology, own)  # only the rules will tell whether they share their entities
    text = "Paper(x) <- papers(id: x)   Review(x) <- reviews(id: x)"
    found, _ = triples(ontology, text, apart, **own)
    assert [prefix(rule.subject) for rule in found] == ["http://e.x/p/", "http://e.x/r/"]
    with pytest.raises(InputError, match="share theirs"):
        triples(ontology, text, None, **own)


def test_a_union_of_domains_is_decided_by_the_key(ontology: Ontology) -> None:
    found, policy = triples(
        ontology,
        """Person(x) <- persons(id: x)   Conference(x) <- conferences(id: x)
           name(x, y) <- persons(id: x, name: y)   name(x, y) <- conferences(id: x, name: y)""",
    )
    assert [prefix(rule.subject) for rule in found[2:]] == [f"{BASE}Person/", f"{BASE}Conference/"]
    assert any(line.startswith("name, subject") and "conferences.id" in line for line in policy.lines())


def test_an_end_without_a_class_is_decided_by_key_foreign_key_or_table(ontology: Ontology) -> None:
    schema = Schema(None, (table("persons", "id"), table("friends", "no", "who", links=(("who", "persons"),))))
    text = "knows(x, y) <- friends(no: x, who: y)"
    found, policy = triples(ontology, text, schema)
    assert (prefix(found[0].subject), prefix(found[0].object)) == (f"{BASE}table/friends/", f"{BASE}table/persons/")
    assert any("the ontology names no class" in line and "friends.no" in line for line in policy.lines())
    found, _ = triples(ontology, text + "   Person(x) <- persons(id: x)", schema)
    assert prefix(found[0].object) == f"{BASE}Person/"


def test_a_rule_that_spells_an_iri_keeps_it(ontology: Ontology) -> None:
    found, policy = triples(
        ontology,
        """Author(x) <- authors(id: a), x = "http://a.b/author/" ++ a
           Paper(x) <- papers(year: a, no: b), x = a ++ "-" ++ b
           Review(x) <- reviews(id: a), x = "http://a.b/a <b>/" ++ a""",
    )
    assert prefix(found[0].subject) == "http://a.b/author/"
    assert found[1].subject.parts[0] == f"{BASE}Document/"
    assert found[1].subject.parts[2] == "-"
    assert prefix(found[2].subject) == "http://a.b/a%20%3Cb%3E/"
    assert all(rule.subject.spelled for rule in found)
    assert any("keep it" in line for line in policy.lines())


def test_values_have_the_datatype_of_the_range(ontology: Ontology) -> None:
    found, _ = triples(
        ontology,
        """born(x, y) <- persons(id: x, born: y)   name(x, y) <- persons(id: x, name: y)
           note(x, y) <- persons(id: x, note: y)   label(x, y) <- persons(id: x, name: y)""",
    )
    kinds = [rule.object.datatype for rule in found if isinstance(rule.object, Literal)]
    assert kinds == [f"{XSD}date", f"{XSD}string", None, f"{XSD}string"]


def test_the_user_can_name_the_entities(ontology: Ontology) -> None:
    name, template = parse_iri_override(" Author = http://e.x/person/{}.html ")
    rules = rules_of("Person(x) <- persons(id: x)   Paper(x) <- papers(id: x)")
    policy = identity_policy(ontology, rules, {name: template})
    found = mapping_of(rules, ontology, policy).rules
    assert found[0].subject.parts == ("http://e.x/person/", rules[0].arguments[0], ".html")
    assert prefix(found[1].subject) == f"{BASE}Document/"
    assert any("--iri for Author" in line for line in policy.lines())
    whole = identity_policy(ontology, rules, dict([parse_iri_override("Person={}")]))
    assert mapping_of(rules, ontology, whole).rules[0].subject.parts == rules[0].arguments


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Person", "it looks like"),
        ("=http://e.x/{}", "it looks like"),
        ("Person=http://e.x/", "must have {} once"),
        ("Person=http://e.x/{}/{}", "must have {} once"),
        ("Person=person/{}", "is no IRI"),
        ("Person=http://e.x/a b/{}", "is no IRI"),
    ],
)
def test_a_bad_iri_template_is_told(text: str, told: str) -> None:
    with pytest.raises(InputError, match="--iri") as caught:
        parse_iri_override(text)
    assert told in str(caught.value)


def test_overrides_that_cannot_be_followed_are_told(ontology: Ontology) -> None:
    for overrides, told in (
        ({"Persn": "http://e.x/{}"}, "nearest: Person"),
        ({"name": "http://e.x/{}"}, "is a property"),
        ({"Person": "http://e.x/{}", "Author": "http://e.y/{}"}, "share theirs"),
    ):
        with pytest.raises(InputError, match=told):
            check_overrides(ontology, overrides)
    with pytest.raises(InputError, match="no base for IRIs"):
        check_overrides(ontology, {}, "data")


def test_the_base_is_the_users_or_comes_from_the_ontology(ontology: Ontology) -> None:
    assert default_base(ontology) == BASE
    rules = rules_of("Person(x) <- persons(id: x)")
    policy = identity_policy(ontology, rules, {}, "https://e.x/things")
    assert policy.spaces[0].template == "https://e.x/things/Person/{}"
    assert json.loads(json.dumps(policy.to_json()))["spaces"][0]["classes"][0] == "Person"


def test_classes_of_the_same_local_name_have_spaces_of_their_own() -> None:
    text = ONTOLOGY + "<http://other#Paper> a owl:Class . <http://other#Person> a owl:Class ."
    both = ontology_of(rdflib.Graph().parse(data=text, format="turtle"))
    rules = rules_of('Person(x) <- persons(id: x)   "http://other#Person"(x) <- others(id: x)')
    found = mapping_of(rules, both, identity_policy(both, rules, {})).rules
    assert len({prefix(rule.subject) for rule in found}) == 2


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
        found = iri_columns(rules, ontology, database)
    assert found == {("t", "page")}
    policy = identity_policy(ontology, rules, {}, whole_iris=found)
    mapped = mapping_of(rules, ontology, policy).rules
    assert mapped[0].object == Iri((rules[0].arguments[1],))
    assert prefix(mapped[1].object) == f"{BASE}table/t/"
    assert "knows: t.page holds whole IRIs" in policy.lines()


def writable(engine: str, url: str):  # type: ignore[no-untyped-def]
    if engine == "postgres":
        return closing(psycopg2.connect(url))
    database = make_url(url).database
    return closing(sqlite3.connect(database) if engine == "sqlite" else duckdb.connect(database))
