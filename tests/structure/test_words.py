"""Words of names: the index of names finds what comparing each with each does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.structure.words import NameIndex, best_likeness

_WORDS = [
    "pc",
    "program",
    "committee",
    "prog",
    "member",
    "id",
    "of",
    "is",
    "Name",
    "PCChair",
    "doc",
    "document",
    "x",
    "a1",
]
_NAMES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map("_".join)
_ANY = _NAMES | st.text(st.sampled_from("abcdAB_ 1"), max_size=8)


@given(st.lists(_ANY, max_size=4), st.lists(_ANY, max_size=6))
def test_the_index_finds_the_best_likeness_of_all_pairs(titles: list[str], names: list[str]) -> None:
    assert NameIndex(names).best(titles) == best_likeness(titles, names)


@pytest.mark.parametrize(
    ("title", "name"),
    [("ProgramCommitteeMember", "pc_members"), ("PC", "program_committee"), ("InvoiceLine", "invoiceline")],
)
def test_acronyms_and_joined_words_are_not_overlooked(title: str, name: str) -> None:
    assert NameIndex(["other", name]).best([title]) > 0.5
