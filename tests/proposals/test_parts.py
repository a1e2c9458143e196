"""Terms that are of several kinds of things are decided for each: by class, or by what the database has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from ruleminer.learn.decision_problem import Relation
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.comments import Comments
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import World, problem_of
from ruleminer.proposals.parts import all_parts
from ruleminer.proposals.relations import relations
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

NS = "http://vocabulary.example/"


def a_class(name: str, comment: str = "") -> OntologyClass:
    return OntologyClass(NS + name, name, comments=(comment,) if comment else ())


def a_property(name: str, domain: str, comment: str = "") -> Property:
    comments = (comment,) if comment else ()
    return Property(NS + name, name, PropertyKind.DATATYPE, comments=comments, domains=(NS + domain,))


OPEN = Ontology(
    (a_class("Human"), a_class("Order"), a_class("Planet", "A body that goes round a star")),
    (
        a_property("givenName", "Human", "Given name. In the U.S., the first name of a human."),
        a_property("title", "Human"),
        a_property("orbit", "Planet", "The path of a planet."),
    ),
    open_ended=True,
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        for table in ("customer", "employee"):
            connection.execute(
                f"CREATE TABLE {table} ({table}_id INTEGER PRIMARY KEY, first_name VARCHAR, city VARCHAR)"
            )
            connection.execute(f"INSERT INTO {table} SELECT range, 'name ' || range, 'city' FROM range(1, 20)")
        connection.execute("CREATE VIEW customer_list AS SELECT customer_id AS id, first_name FROM customer")
        connection.execute("CREATE TABLE orders (order_id INTEGER PRIMARY KEY, title VARCHAR)")
        connection.execute("INSERT INTO orders SELECT range, 'title ' || range FROM range(1, 30)")
    with open_database(f"duckdb:///{path}") as database:
        yield World(Derivations(database, learn_structure(database)), None)


def placed(world: World, most: int = 100) -> set[tuple[str, str]]:
    parts = all_parts(OPEN.terms, OPEN, world, most)
    assert all(part.at is not None and part.term.name == f"{part.whole.name} of {part.at.name}" for part in parts)
    return {(part.whole.name, part.at.name) for part in parts if part.at is not None}


def test_an_open_ended_term_is_asked_of_each_kind_of_thing_that_names_speak_for(world: World) -> None:
    found = placed(world)
    assert {("givenName", "customer"), ("givenName", "employee"), ("title", "orders"), ("Order", "orders")} <= found
    assert ("givenName", "orders") not in found
    assert not {kind for _, kind in found} - {"customer", "employee", "orders"}  # a view only repeats


def test_a_class_is_asked_where_its_properties_are_found(world: World) -> None:
    found = placed(world)
    assert {("Human", "customer"), ("Human", "employee")} <= found
    assert not {name for name, _ in found} & {"Planet", "orbit"}


def test_there_are_no_more_parts_than_are_asked_for_and_the_best_named_are_among_them(world: World) -> None:
    assert len(placed(world, 3)) <= 3
    assert ("Order", "orders") in placed(world, 3)


def test_of_a_handful_of_terms_every_kind_of_thing_is_thought_of_whatever_its_name(world: World) -> None:
    parts = all_parts(OPEN.terms, OPEN, world, thorough=True)
    found = {(part.whole.name, part.at.name) for part in parts if part.at is not None}
    kinds = {"customer", "employee", "orders"}
    assert {(name, kind) for name in ("Human", "Order", "Planet", "orbit") for kind in kinds} <= found
    assert {kind for _, kind in found} == kinds
    many = replace(OPEN, classes=tuple(a_class(f"Planet{number}") for number in range(400)))
    assert not all_parts(many.terms, many, world, most=0, thorough=True)


def test_the_rules_of_a_part_speak_of_its_kind_of_thing_only(world: World) -> None:
    for part in all_parts(OPEN.terms, OPEN, world):
        assert part.offered(world)
        assert {world.spaces[body] for body in part.offered(world)} == {part.at}


def test_a_closed_ontology_is_parted_by_its_own_classes(world: World) -> None:
    shared = replace(a_property("name", "Human"), domains=(NS + "Human", NS + "Order"))
    closed = replace(OPEN, open_ended=False, properties=(shared,))
    parts = all_parts(closed.terms, closed, world)
    assert [part.term.name for part in parts] == ["Human", "Order", "Planet", "name of Human", "name of Order"]
    assert all(part.at is None for part in parts)


def test_parts_hear_of_those_of_the_same_kind_of_thing(world: World) -> None:
    parts = all_parts(OPEN.terms, OPEN, world)
    terms, at = [part.term for part in parts], [part.at for part in parts]
    edges = relations(terms, at, OPEN)
    named = {(terms[one].name, terms[other].name) for one, other, kind in edges if kind == Relation.DOMAIN}
    assert ("givenName of customer", "Human of customer") in named
    assert ("givenName of customer", "Human of employee") not in named
    same = {(terms[one].name, terms[other].name) for one, other, kind in edges if kind == Relation.SAME_TERM}
    assert {("givenName of customer", "givenName of employee"), ("Human of employee", "Human of customer")} <= same
    assert all(one.partition(" ")[0] == other.partition(" ")[0] for one, other in same)


def test_parts_by_class_hear_of_each_other_too(world: World) -> None:
    shared = replace(a_property("name", "Human"), domains=(NS + "Human", NS + "Order"))
    closed = replace(OPEN, open_ended=False, properties=(shared, a_property("title", "Human")))
    parts = all_parts(closed.terms, closed, world)
    terms = [part.term for part in parts]
    edges = relations(terms, [None] * len(terms), closed)
    same = {(terms[one].name, terms[other].name) for one, other, kind in edges if kind == Relation.SAME_TERM}
    assert same == {("name of Human", "name of Order"), ("name of Order", "name of Human")}


def test_columns_are_called_the_same_whatever_their_tables_are(world: World) -> None:
    parts = all_parts(OPEN.terms, OPEN, world)
    problem, bodies = problem_of([part.candidates(world) for part in parts], world, OPEN)
    called: dict[str, set[int]] = {}
    for number, own in enumerate(bodies):
        for column, body in enumerate(own, start=1):
            if len(body.rule.arguments) == 2:
                place = body.rule.places_of(body.rule.arguments[1])[-1]
                called.setdefault(place.column, set()).add(int(problem.called[number, column]))
    assert len(called["first_name"]) == len(called["city"]) == 1
    assert called["first_name"] != called["city"]
    assert not problem.called[problem.is_class].any()


def test_a_comment_tells_the_name_whose_words_it_uses() -> None:
    comments = Comments(OPEN.terms)
    said = comments.of(OPEN.find("givenName"))
    assert comments.use(said, "first_name") > comments.use(said, "last_name") > comments.use(said, "city") == 0.0
    assert comments.use(comments.of(OPEN.find("title")), "title") == 0.0  # it has none
