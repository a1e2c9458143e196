"""Rules with transformations in proposals: counted, compared and weighed like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.containment import is_contained
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.prior import PriorOf, transformation_cost
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Transformed, Variable
from ruleminer.sources.database import Database
from tests.validation.engines import filled_database

from .test_transformed_exports import ONTOLOGY, SQL

DAY = parse_rule("day(x, y) <- shop(id: x, opened: a), y = date(a)")
YEAR = parse_rule("year(x, y) <- shop(id: x, opened: a), y = year(a)")
HOST = parse_rule('host(x, y) <- shop(id: x, mail: a), y = after(a, "@")')
FULL = parse_rule('full(x, y) <- shop(id: x, given: a, family: b), y = a ++ " " ++ b')
PRICE = parse_rule("price(x, y) <- shop(id: x, cents: a), y = times(a, 0.01)")
CITY = parse_rule('City(x) <- shop(city: a), x = "http://h/" ++ plus(a)')


@pytest.fixture(params=["duckdb", "postgres", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    url = request.getfixturevalue("empty_postgres") if request.param == "postgres" else ""
    return filled_database(request.param, SQL, tmp_path, url)


def test_sizes_unions_and_examples_of_transformed_rules(database: Database) -> None:
    with database:
        derivations = Derivations(database)
        assert derivations.sizes([DAY, YEAR, HOST, FULL, PRICE, CITY]) == [2, 2, 1, 2, 2, 2]
        assert derivations.derived(PRICE) == {("1", "1.99"), ("2", "0.5")}
        assert derivations.derived(CITY) == {("http://h/S%C3%A3o+Paulo",), ("http://h/AC%2FDC%2B",)}
        assert derivations.union_size([DAY, YEAR]) == 4
        assert derivations.union_size([FULL, parse_rule("full(x, y) <- shop(id: x, given: y)")]) == 4
        assert derivations.covered(PRICE, [("1", "1.990"), ("2", "0.50"), ("2", "1.99")]) == [True, True, False]
        assert derivations.covered(DAY, [("1", "2021-01-06"), ("2", "2021-01-06")]) == [True, False]
        assert derivations.covered(FULL, [("2", "Bo Li"), ("1", "Bo Li")]) == [True, False]


def test_a_rule_is_contained_only_in_one_of_the_same_form() -> None:
    def alike(one: object, other: object) -> bool:
        return True

    narrow = parse_rule('day(x, y) <- shop(id: x, opened: a, flag: "Y"), y = date(a)')
    assert is_contained(narrow, DAY, alike)
    assert not is_contained(DAY, narrow, alike)
    assert not is_contained(narrow, parse_rule("day(x, y) <- shop(id: x, opened: a), y = year(a)"), alike)
    assert not is_contained(narrow, parse_rule("day(x, y) <- shop(id: x, opened: y)"), alike)


def test_a_transformation_costs_and_a_longer_parameter_costs_more(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    with filled_database("duckdb", SQL, tmp_path, "") as database:
        prior_of = PriorOf(read_ontology(tmp_path / "o.ttl"), database.schema, {})
    plain = parse_rule("day(x, y) <- shop(id: x, opened: y)")
    assert prior_of.prior(DAY).length > prior_of.prior(plain).length
    assert prior_of.prior(DAY).keys == prior_of.prior(plain).keys
    a = Variable("a")
    assert 0 < transformation_cost(Transformed("trim", a)) < transformation_cost(Transformed("before", a, ("@",)))
    assert transformation_cost(Transformed("before", a, ("@",))) < transformation_cost(
        Transformed("before", a, (" - ",))
    )


def test_a_rule_the_engine_cannot_run_is_refused_with_a_reason(tmp_path: Path) -> None:
    with filled_database("duckdb", SQL, tmp_path, "") as database:
        derivations = Derivations(database)
        rule = parse_rule("year(x, y) <- shop(id: x, mail: a), y = year(a)")
        assert derivations.size(rule) is None
        assert "year() takes a date or timestamp" in str(derivations.refusal(rule))
