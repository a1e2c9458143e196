"""RODI's score on small results whose score one can see."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode

from ruleminer.validation.scoring import average, by_category, f_measure, score, strict
from ruleminer.validation.terms import XSD


def lit(text: str, datatype: str | None = None) -> Literal:
    return Literal(text, datatype=NamedNode(XSD + datatype)) if datatype else Literal(text)


def test_the_same_rows_in_any_order_are_perfect() -> None:
    found = score([("a",), ("b",)], [(lit("b"),), (lit("a"),)])
    assert (found.precision, found.recall, found.matches, found.missing, found.extra) == (1, 1, 2, (), ())


def test_what_is_missing_and_what_is_too_much_is_shown() -> None:
    found = score([("a",), ("b",), ("c",)], [(lit("a"),), (lit("z"),)])
    assert (found.precision, found.recall) == (1 / 2, pytest.approx(1 / 3))
    assert found.missing == (("b",), ("c",))
    assert found.extra == (("z",),)


def test_empty_results_score_as_rodi_says() -> None:
    for sql, sparql, expected in (([], [], (0, 1)), ([("a",)], [], (0, 0)), ([], [(lit("a"),)], (0, 1))):
        found = score(sql, sparql)
        assert (found.precision, found.recall) == expected


def test_a_wrong_count_is_all_wrong() -> None:
    found = score([(402,)], [(lit("564", "integer"),)])
    assert (found.precision, found.recall, found.missing, found.extra) == (0, 0, (("402",),), (("564",),))


def test_rows_that_sql_repeats_are_all_found_as_in_rodi() -> None:
    found = score([("a",)] * 4, [(lit("a"),)])
    assert (found.precision, found.recall) == (1, 1)
    assert strict(found) == (1, 1 / 4)


def test_rows_that_sparql_repeats_cost_precision() -> None:
    found = score([("a",)], [(lit("a"),)] * 4)
    assert (found.precision, found.recall, found.extra[0]) == (1 / 4, 1, ("a",))


def test_an_id_stands_for_any_entity_but_not_for_none() -> None:
    sql = [("http://sql/1", "x"), ("http://sql/2", "y")]
    found = score(sql, [(NamedNode("http://e/1"), lit("x")), (BlankNode("b"), lit("y"))], placeholders=(0,))
    assert (found.precision, found.recall) == (1, 1)
    assert score(sql, [(None, lit("x"))], placeholders=(0,)).matches == 0
    assert score(sql, [(NamedNode("http://e/1"), lit("x"))]).matches == 0


def test_whole_rows_are_compared_not_columns() -> None:
    assert score([("a", "1"), ("b", "2")], [(lit("a"), lit("2")), (lit("b"), lit("1"))]).matches == 0


def test_nothing_equals_null() -> None:
    found = score([(None,)], [(None,), (lit(""),)])
    assert (found.matches, found.missing) == (0, ((None,),))


@pytest.mark.parametrize(
    ("value", "term", "equal"),
    [
        (5, lit("5", "integer"), True),
        (5, lit("5"), True),
        ("5", lit("5", "integer"), True),
        ("007", lit("7", "integer"), True),  # the store keeps the value of a typed number, not its text
        ("007", lit("7"), False),
        (Decimal("12.300000"), lit("12.3", "decimal"), True),
        ("12.300000", lit("12.3"), True),
        (30.0, lit("30", "double"), True),
        (True, lit("true", "boolean"), True),
        (datetime(2014, 5, 4, 10), lit("2014-05-04T10:00:00", "dateTime"), True),
        ("2014-05-04 10:00:00", lit("2014-05-04T10:00:00.000Z"), True),
        ("2014-05-04", lit("2014-05-04T00:00:00", "dateTime"), False),
        (date(2014, 5, 4), lit("2014-05-04", "date"), True),
        (date(2014, 5, 4), lit("2014-05-04T00:00:00", "dateTime"), True),  # --datatypes ontology
        (date(2014, 5, 4), lit("2014-05-04T10:00:00", "dateTime"), False),
        (date(2014, 5, 4), lit("2014-05-05T00:00:00", "dateTime"), False),
        (datetime(2014, 5, 4), lit("2014-05-04", "date"), True),
        (datetime(2014, 5, 4, 10), lit("2014-05-04", "date"), False),
        ("http://e/a", NamedNode("http://e/a"), True),
        ("A", lit("a"), False),
        ("a", Literal("a", language="en"), True),
    ],
)
def test_values_are_compared_as_strings_whatever_their_notation(value: object, term: object, equal: bool) -> None:
    assert score([(value,)], [(term,)]).matches == equal


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abcd")))
def test_scores_stay_within_their_bounds(sql: list[str], sparql: list[str]) -> None:
    found = score([(text,) for text in sql], [(lit(text),) for text in sparql])
    assert found.matches == sum(text in sparql for text in sql)
    assert found.pairs == sum(min(sql.count(text), sparql.count(text)) for text in set(sql))
    for one, other in zip(strict(found), (found.precision, found.recall), strict=True):
        assert 0 <= one <= other <= 1


def test_the_overall_score_is_f_of_the_means() -> None:
    found = average([(1.0, 0.0), (0.0, 1.0)])
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert f_measure(0, 0) == 0
    assert average([]).f1 == 0


def test_a_query_counts_in_each_of_its_categories() -> None:
    found = by_category([(("class", "1-1"), 1.0, 1.0), (("class",), 0.0, 0.0)])
    assert list(found) == ["1-1", "class"]
    assert (found["class"].queries, found["class"].f1, found["1-1"].f1) == (2, 0.5, 1)
