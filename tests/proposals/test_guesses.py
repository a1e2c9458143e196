"""Without examples, names and structure suggest a rule; names that fit nothing suggest none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest

from ruleminer.learn.scoring import Fact
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.decide import decide
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.explain import explain, nothing
from ruleminer.proposals.guesses import guesses
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import GUESS, rule_pool
from ruleminer.proposals.proposal import Proposal, Status
from ruleminer.proposals.ranking import Ranker
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

W = "http://world#"


def a_class(name: str, *labels: str) -> OntologyClass:
    return OntologyClass(W + name, name, labels)


def a_property(name: str, kind: PropertyKind, domain: str, range_: str | None = None) -> Property:
    return Property(W + name, name, kind, domains=(W + domain,), ranges=(W + range_,) if range_ else ())


TERMS = Ontology(
    tuple(
        a_class(name)
        for name in ("Person", "Author", "Reviewer", "Paper", "Poster", "Keynote", "Volcano", "Empty", "PcMember")
    ),
    (
        a_property("title", PropertyKind.DATATYPE, "Paper"),
        a_property("writtenBy", PropertyKind.OBJECT, "Paper", "Person"),
        a_property("altitude", PropertyKind.DATATYPE, "Volcano"),
        a_property("authorName", PropertyKind.DATATYPE, "Paper"),
    ),
)


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measure]:
    path = tmp_path_factory.mktemp("guess") / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, full_name VARCHAR, is_author BOOLEAN, role VARCHAR)"
        )
        connection.execute(
            "CREATE TABLE papers (id INTEGER PRIMARY KEY, title VARCHAR, written_by INTEGER REFERENCES person (id), "
            "kind VARCHAR, pages INTEGER)"
        )
        connection.execute("CREATE TABLE empty (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE pc_members (person INTEGER PRIMARY KEY REFERENCES person (id))")
        for i in range(30):
            role = ("reviewer", "guest", "chair")[i % 3]
            connection.execute("INSERT INTO person VALUES (?, ?, ?, ?)", [i, f"name {i}", i % 2 == 0, role])
            kind = ("poster", "talk")[i % 2]
            connection.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?)", [i, f"title {i}", i % 7, kind, i % 20])
        connection.execute("INSERT INTO pc_members VALUES (1), (2), (3)")
    with open_database(f"duckdb:///{path}") as database:
        yield Measure(TERMS, Derivations(database, learn_structure(database)))


def guess(measure: Measure, name: str, ranker: Ranker = Ranker.EVIDENCE) -> Proposal:
    term = TERMS.find(name)
    measured = measure.measured(rule_pool(name, guesses(term, measure.derivations), GUESS))
    assert measured is not None
    decision = decide({name: measured}, ranker, measure.weights, TERMS, measure.derivations.union_size)[name]
    if not decision.is_founded:
        return nothing(term, "no examples")
    return explain(decision, term, measure.derivations, reason="no examples")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Person", "Person(x) <- person(id: x)"),
        ("Paper", "Paper(x) <- papers(id: x)"),
        ("PcMember", "PcMember(x) <- pc_members(person: x)"),
        ("Author", "Author(x) <- person(id: x, is_author: true)"),
        ("Reviewer", 'Reviewer(x) <- person(id: x, role: "reviewer")'),
        ("Poster", 'Poster(x) <- papers(id: x, kind: "poster")'),
        ("title", "title(x, y) <- papers(id: x, title: y)"),
        ("writtenBy", "writtenBy(x, y) <- papers(id: x, written_by: y)"),
    ],
)
def test_names_and_structure_suggest_a_rule(measure: Measure, name: str, expected: str) -> None:
    for ranker in (Ranker.EVIDENCE, Ranker.COVERAGE):  # coverage has nothing to count, and goes by names too
        found = guess(measure, name, ranker)
        assert found.status is Status.GUESSED
        assert found.texts == (expected,)
        assert found.confidence is None
        assert found.sample


@pytest.mark.parametrize("name", ["Volcano", "altitude", "Keynote"])
def test_names_that_fit_nothing_suggest_nothing(measure: Measure, name: str) -> None:
    found = guess(measure, name)
    assert found.status is Status.NOTHING
    assert found.rules == ()
    assert found.reason == "no examples"


class Seer:
    """A model that expects volcanoes among the talks, and nothing of other classes."""

    def __init__(self, nats: float) -> None:
        self.nats = nats

    def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
        favourite = 'Volcano(x) <- papers(id: x, kind: "talk")'
        return [[-30.0 + self.nats * (text == favourite) for text in texts] for texts in rules]


def test_a_model_that_is_sure_makes_a_guess_where_names_are_silent(measure: Measure) -> None:
    for nats, ranker, status in (
        (20.0, Ranker.NEURAL, Status.GUESSED),
        (20.0, Ranker.EVIDENCE, Status.NOTHING),
        (1.0, Ranker.NEURAL, Status.NOTHING),
    ):
        found = guess(Measure(TERMS, measure.derivations, Seer(nats)), "Volcano", ranker)
        assert found.status is status
        if status is Status.GUESSED:
            assert found.texts == ('Volcano(x) <- papers(id: x, kind: "talk")',)
            assert found.rules[0].model_lift == pytest.approx(nats)
            assert any("the model finds it less likely" in lost.verdict for lost in found.alternatives)


def test_an_empty_table_is_no_guess(measure: Measure) -> None:
    texts = [rule_text(rule) for rule in guesses(TERMS.find("Empty"), measure.derivations)]
    assert texts
    assert not any("empty" in text for text in texts)


def test_values_across_a_link_are_among_the_guesses(measure: Measure) -> None:
    texts = [rule_text(rule) for rule in guesses(TERMS.find("authorName"), measure.derivations)]
    assert "authorName(x, y) <- papers(id: x, written_by: a), person(id: a, full_name: y)" in texts


def test_a_column_of_many_values_is_no_code(measure: Measure) -> None:
    texts = [rule_text(rule) for rule in guesses(TERMS.find("Keynote"), measure.derivations)]
    assert not any("pages" in text or "title:" in text for text in texts)


def test_no_guess_is_made_twice(measure: Measure) -> None:
    for term in TERMS.terms:
        rules = guesses(term, measure.derivations)
        assert len(rules) == len(set(rules))


def test_odd_values_and_links_of_sqlite_are_borne(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE rowids (name text)")
        connection.execute(
            "CREATE TABLE odd (id integer PRIMARY KEY, code integer, flag boolean, parent integer REFERENCES rowids)"
        )
        rows = [(i, ("three", 1, 2, 4.5)[i % 4], (0, 1, "yes", None)[i % 4], 1) for i in range(20)]
        connection.executemany("INSERT INTO odd VALUES (?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO rowids VALUES ('a')")
    connection.close()
    with open_database(f"sqlite:///{path}") as database:
        measure = Measure(TERMS, Derivations(database, learn_structure(database)))
        texts = [rule_text(rule) for rule in guesses(TERMS.find("Author"), measure.derivations)]
        assert "Author(x) <- odd(id: x, code: 2)" in texts
        assert "Author(x) <- odd(id: x, flag: true)" in texts
        assert (
            measure.measured(rule_pool("Author", guesses(TERMS.find("Author"), measure.derivations), GUESS)) is not None
        )
        assert guesses(TERMS.find("title"), measure.derivations)
