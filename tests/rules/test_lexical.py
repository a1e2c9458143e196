"""Lexical forms: one text for a value, and the value back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given

from ruleminer.rules.lexical import constant_of, lexical_form
from ruleminer.rules.values import Constant, Kind

from .strategies import constants


@given(constants)
def test_a_constant_is_read_back_from_its_lexical_form(constant: Constant) -> None:
    assert constant_of(lexical_form(constant.value), constant.kind) == constant


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1.5", Kind.INTEGER),
        ("1_000", Kind.INTEGER),
        (" 5", Kind.INTEGER),
        ("", Kind.INTEGER),
        ("NaN", Kind.DECIMAL),
        ("-Infinity", Kind.DECIMAL),
        ("twelve", Kind.DECIMAL),
        ("1", Kind.BOOLEAN),
        ("infinity", Kind.DATE),
        ("2014-02-30", Kind.DATE),
        ("0044-03-15 (BC) 12:00:00", Kind.TIMESTAMP),
    ],
)
def test_what_the_rule_language_cannot_say_is_no_constant(text: str, kind: Kind) -> None:
    assert constant_of(text, kind) is None


def test_every_text_is_a_constant_and_numbers_keep_their_sign() -> None:
    assert constant_of("", Kind.TEXT) == Constant(Kind.TEXT, "")
    assert constant_of("-2", Kind.INTEGER) == Constant(Kind.INTEGER, -2)
    assert constant_of("-0.5", Kind.DECIMAL) == Constant(Kind.DECIMAL, Decimal("-0.5"))
