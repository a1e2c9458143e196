"""What a mapping is made of: how the texts of IRIs are told from others."""

from __future__ import annotations

import re

import pytest

from ruleminer.rules.mapping import LOOKS_LIKE_IRI, looks_like_iri


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("http://h/album/1", True),
        ("urn:isbn:1", True),
        ("tag:h,2021:album/1", True),
        ("album:4", False),
        ("tag:4", False),
        ("tag:rock, pop", False),
        ("AC/DC", False),
        ("turn:1", False),
        ("", False),
    ],
)
def test_an_iri_is_told_from_a_name_and_from_a_key_of_a_table(text: str, is_one: bool) -> None:
    assert looks_like_iri(text) is is_one
    assert bool(re.search(LOOKS_LIKE_IRI, text)) is is_one
