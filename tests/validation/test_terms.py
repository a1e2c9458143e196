"""SQL values as RDF terms: canonical forms, and strings that cannot break out of their place."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from ruleminer.validation.terms import blank, double_form, iri, iri_safe, is_iri, literal, natural


@pytest.mark.parametrize(
    ("value", "text", "datatype"),
    [
        (5, "5", "integer"),
        (True, "true", "boolean"),
        (Decimal("12.300000"), "12.3", "decimal"),
        (Decimal("1E+3"), "1000", "decimal"),
        (Decimal("12345678901234567890123456789.120"), "12345678901234567890123456789.12", "decimal"),
        (30.0, "3.0E1", "double"),
        (-0.00125, "-1.25E-3", "double"),
        (0.0, "0.0E0", "double"),
        (float("inf"), "INF", "double"),
        (float("nan"), "NaN", "double"),
        (date(2014, 5, 4), "2014-05-04", "date"),
        (datetime(2014, 5, 4, 10, 0, 0, 500000), "2014-05-04T10:00:00.5", "dateTime"),
        (datetime(2014, 5, 4, 10, tzinfo=UTC), "2014-05-04T10:00:00Z", "dateTime"),
        (time(10, 30), "10:30:00", "time"),
        (b"\xca\xfe", "CAFE", "hexBinary"),
        (memoryview(b"\x00"), "00", "hexBinary"),
        ("plain", "plain", None),
        ([1, "ä"], '[1, "ä"]', None),
    ],
)
def test_values_have_their_natural_form(value: object, text: str, datatype: str | None) -> None:
    assert natural(value) == (text, datatype)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_keeps_its_value(value: float) -> None:
    assert float(double_form(value)) == value


@given(st.text())
def test_any_text_survives_as_a_literal(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return
    (triple,) = parse(f"<http://e/s> <http://e/p> {literal(text)} .", RdfFormat.N_TRIPLES)
    assert triple.object.value == text


@given(st.text(), st.text())
def test_texts_that_differ_give_other_iris_and_nodes(one: str, other: str) -> None:
    assert is_iri(f"http://e/{iri_safe(one)}")
    if one != other:
        assert blank(one) != blank(other)
        assert iri_safe(one) != iri_safe(other)
    list(parse(f"{iri('http://e/' + iri_safe(one))} <http://e/p> {blank(other)} .", RdfFormat.N_TRIPLES))


def test_letters_of_any_script_stay_in_iris() -> None:
    assert iri_safe("Ærø 東京/50%") == "Ærø%20東京%2F50%25"
