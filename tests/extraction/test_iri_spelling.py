"""IRIs are put together from the columns of a row: the way that explains most of them, and constants for the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from ruleminer.extraction.oracle import candidates, habits_of, load_rows
from ruleminer.problem.facts import Fact
from ruleminer.rules.parser import parse_templates
from ruleminer.rules.transformations import IN_IRIS, transformed
from ruleminer.rules.values import Kind, Transformed, Variable
from ruleminer.sources.database import open_database

from .small_worlds import WORDS, catalog_of_database, on_engine
from .test_exact import engine_candidates

Spelt = Callable[..., set[str]]
TEMPLATES = list(parse_templates("spelt: ?H(x) <- ?T(?*: a...), x = concat(a...)"))


@pytest.fixture
def spelt(tmp_path: Path) -> Spelt:
    """The rules that spell an IRI from a database of these statements."""

    def spelt(iri: str, *statements: str, kind: Kind | None = None) -> set[str]:
        with duckdb.connect(tmp_path / "w.duckdb") as connection:
            for statement in statements:
                connection.execute(statement)
        fact = Fact("P", (iri,), (kind,))
        with open_database(str(tmp_path / "w.duckdb")) as database:
            return engine_candidates(database, [fact], TEMPLATES).get((fact, "spelt"), set())

    return spelt


CORES = "CREATE TABLE core (well INTEGER, number INTEGER)", "INSERT INTO core VALUES (15, 2), (15, 3), (16, 2)"


def test_what_a_row_holds_is_a_column_and_the_rest_is_text(spelt: Spelt) -> None:
    """Another row holds the 15, the longest piece, and not the 2: that may be the same for all."""
    assert spelt("http://h/well/15/core/2", *CORES) == {
        'P(x) <- core(well: a, number: b), x = "http://h/well/" ++ a ++ "/core/" ++ b',
        'P(x) <- core(well: a), x = "http://h/well/" ++ a ++ "/core/2"',
    }


def test_of_two_columns_with_one_value_each_may_spell_it(spelt: Spelt) -> None:
    rules = spelt("http://h/p/7", "CREATE TABLE t (a INTEGER, b INTEGER)", "INSERT INTO t VALUES (7, 7)")
    assert rules == {'P(x) <- t(a: a), x = "http://h/p/" ++ a', 'P(x) <- t(b: a), x = "http://h/p/" ++ a'}


def test_a_value_with_a_slash_in_it_is_one_value(spelt: Spelt) -> None:
    rules = spelt("http://h/block/7/12", "CREATE TABLE b (name VARCHAR)", "INSERT INTO b VALUES ('7/12'), ('7')")
    assert rules == {'P(x) <- b(name: a), x = "http://h/block/" ++ a'}


def test_rows_that_explain_less_do_not_count(spelt: Spelt) -> None:
    """Ten rows hold the 9, but not the 155."""
    rules = spelt(
        "http://h/155/9",
        "CREATE TABLE t (a INTEGER, b INTEGER)",
        "INSERT INTO t VALUES (155, 9)",
        "CREATE TABLE nine AS SELECT 9 AS b FROM range(10)",
    )
    assert rules == {'P(x) <- t(a: a, b: b), x = "http://h/" ++ a ++ "/" ++ b'}


def test_a_word_that_is_the_same_for_all_may_be_a_constant_after_all(spelt: Spelt) -> None:
    """One row happens to hold the word, too; the one that holds the longest piece is not lost for it."""
    rules = spelt(
        "http://h/OIL/TROLL-EAST",
        "CREATE TABLE field (name VARCHAR)",
        "CREATE TABLE odd (kind VARCHAR, name VARCHAR)",
        "INSERT INTO field VALUES ('TROLL-EAST')",
        "INSERT INTO odd VALUES ('OIL', 'TROLL-EAST')",
    )
    assert 'P(x) <- field(name: a), x = "http://h/OIL/" ++ a' in rules
    assert 'P(x) <- odd(kind: a, name: b), x = "http://h/" ++ a ++ "/" ++ b' in rules


def test_a_word_that_names_the_kind_of_thing_may_be_constant_although_a_column_holds_it(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE joins (kind VARCHAR, club VARCHAR, land VARCHAR)")
        connection.execute(
            "INSERT INTO joins VALUES ('member', 'UN', 'A'), ('member', 'UN', 'B'), ('guest', 'UN', 'C')"
        )
    facts = [Fact("Member", (f"http://h/member/UN/{land}",), (None,)) for land in "AB"]
    with open_database(str(tmp_path / "w.duckdb")) as database:
        rules = engine_candidates(database, facts, TEMPLATES).get((facts[0], "spelt"), set())
    assert 'Member(x) <- joins(club: a, land: b), x = "http://h/member/" ++ a ++ "/" ++ b' in rules
    assert not any('"http://h/" ++ a ++ "/UN/"' in rule for rule in rules), "UN names nothing"


def test_scheme_and_host_are_never_explained(spelt: Spelt) -> None:
    rules = spelt(
        "http://h/p/7",
        "CREATE TABLE t (host VARCHAR, scheme VARCHAR, id INTEGER)",
        "INSERT INTO t VALUES ('h', 'http:', 7)",
    )
    assert rules == {'P(x) <- t(id: a), x = "http://h/p/" ++ a'}


def test_a_decimal_is_spelt_with_all_its_digits(spelt: Spelt) -> None:
    table = "CREATE TABLE t (price DECIMAL(8,3))", "INSERT INTO t VALUES (2.5)"
    assert spelt("http://h/p/2.500", *table) == {'P(x) <- t(price: a), x = "http://h/p/" ++ a'}


def test_a_decimal_is_not_spelt_with_other_digits(spelt: Spelt) -> None:
    table = "CREATE TABLE t (price DECIMAL(8,3))", "INSERT INTO t VALUES (2.5)"
    assert spelt("http://h/p/2.5", *table) == set()


@pytest.mark.parametrize(("kind", "rules"), [(None, 2), (Kind.TEXT, 2), (Kind.INTEGER, 0), (Kind.DATE, 0)])
def test_only_what_may_be_a_text_is_an_iri(spelt: Spelt, kind: Kind | None, rules: int) -> None:
    assert len(spelt("http://h/well/15/core/2", *CORES, kind=kind)) == rules


def test_nothing_in_the_database_spells_nothing(spelt: Spelt) -> None:
    assert spelt("http://h/well/77", *CORES) == set()


def some_iris_in_namespaces(dice: random.Random, pieces: list[str]) -> Iterator[Fact]:
    """IRIs of several predicates, each with a beginning of its own and perhaps one way to encode."""
    for number in range(8):
        how = (*IN_IRIS, "")[number % 4]
        begin = "http://h/" + "".join(f"{dice.choice(pieces)}/" for _ in range(number % 3))
        for _ in range(6):
            words = [dice.choice(pieces) for _ in range(dice.randrange(1, 4))]
            if how:
                words = [transformed(Transformed(how, Variable("a")), word) or "" for word in words]
            yield Fact(f"Q{number}", (begin + "/".join(words),), (None,))


def test_the_namespace_is_not_explained_by_data(tmp_path: Path) -> None:
    """A column that happens to hold the 10 which all IRIs have tells nothing of the countries behind it."""
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE release (number INTEGER)")
        connection.execute("INSERT INTO release VALUES (10)")
        connection.execute("CREATE TABLE country (code VARCHAR)")
        connection.execute("INSERT INTO country VALUES ('L'), ('F')")
    facts = [Fact("Country", (f"http://host/10/countries/{code}/",), (None,)) for code in "LF"]
    with open_database(str(tmp_path / "w.duckdb")) as database:
        found = engine_candidates(database, facts, TEMPLATES)
        alone = engine_candidates(database, facts[:1], TEMPLATES)
    rule = 'Country(x) <- country(code: a), x = "http://host/10/countries/" ++ a ++ "/"'
    assert [found[fact, "spelt"] for fact in facts] == [{rule}, {rule}]
    assert len(alone[facts[0], "spelt"]) == 2, "one IRI alone does not tell what its namespace is"


def test_values_of_examples_are_decoded(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute("CREATE TABLE city (name VARCHAR)")
        connection.execute("INSERT INTO city VALUES ('New York'), ('AC/DC'), ('Oslo'), ('Zürich')")
    facts = [Fact("City", (f"http://h/c/{name}",), (None,)) for name in ("New+York", "AC%2FDC", "Oslo")]
    with open_database(str(tmp_path / "w.duckdb")) as database:
        found = engine_candidates(database, facts, TEMPLATES)
        zurich = Fact("City", ("http://h/c/Z%C3%BCrich",), (None,))
        assert engine_candidates(database, [zurich], TEMPLATES)[zurich, "spelt"] == {
            'City(x) <- city(name: a), x = "http://h/c/" ++ escaped(a)'
        }
    by_plus = 'City(x) <- city(name: a), x = "http://h/c/" ++ plus(a)'
    assert all(by_plus in found[fact, "spelt"] for fact in facts)


@pytest.mark.parametrize(
    ("engine", "seed"), [("duckdb", 0), ("duckdb", 1), ("duckdb", 2), ("postgres", 3), ("mysql", 4)]
)
def test_any_iri_is_spelt_as_by_trying_everything(
    engine: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dice = random.Random(seed)
    pieces = [*(word for word in WORDS if word), *map(str, range(9)), "2.500", "1.000", "2014-05-02", "true", "core"]
    iris = {
        f"{dice.choice(['http://h', 'urn:x', 'http://h.org/data'])}/"
        + "".join(f"{dice.choice(pieces)}{dice.choice('///#')}" for _ in range(dice.randrange(1, 5)))
        for _ in range(60)
    }
    facts = [Fact("P", (iri.rstrip("/#") if dice.random() < 0.8 else iri,), (None,)) for iri in sorted(iris)]
    facts += list(some_iris_in_namespaces(dice, pieces))
    with open_database(on_engine(engine, seed, tmp_path, request)) as database:
        rows = load_rows(database, catalog_of_database(database))
        found = engine_candidates(database, facts, TEMPLATES)
    habits = habits_of(facts)
    expected = {fact: candidates(fact, TEMPLATES[0], rows, habits) for fact in facts}
    shown = {how for rules in expected.values() for rule in rules for how in IN_IRIS if f"{how}(" in rule}
    assert shown >= {"encoded", "plus"}
    assert sum(map(bool, expected.values())) > 40
    assert max(rule.count("++") for rules in expected.values() for rule in rules) > 3
    for fact in facts:
        assert found.get((fact, "spelt"), set()) == expected[fact], fact
