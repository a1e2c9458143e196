"""Names tell what a rule means: cut into words, abbreviated, in the plural, as an acronym."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ruleminer.proposals.names import name_fit, telling_names
from ruleminer.rules.parser import parse_rule
from ruleminer.structure import words as words_module
from ruleminer.structure.words import likeness, words

IDENTIFIERS = st.text(st.sampled_from("abcdeghinorstxyABCDEPT_- 0159äßЖ名'\"%"), max_size=24)


def test_the_examples_of_the_module_hold() -> None:
    found = doctest.testmod(words_module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ProgramCommitteeChair", ("program", "committee", "chair")),
        ("program_committee_chairs", ("program", "committee", "chair")),
        ("PROGRAM_COMMITTEE", ("program", "committee")),
        ("hasPCChair", ("has", "pc", "chair")),
        ("XMLFile2Row", ("xml", "file", "2", "row")),
        ("co-writePaper", ("co", "write", "paper")),
        ("Paper Notes", ("paper", "note")),
        ("countries", ("country",)),
        ("address", ("address",)),
        ("is_Author", ("is", "author")),
        ("Größe_der_Straße", ("größe", "der", "straße")),
        ("", ()),
        ("___", ()),
    ],
)
def test_names_are_cut_into_words(name: str, expected: tuple[str, ...]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize(
    ("name", "other", "at_least"),
    [
        ("Author", "author", 1.0),
        ("Author", "Authors", 1.0),
        ("Author", "is_Author", 0.9),
        ("ProgramCommitteeMember", "pc_members", 0.9),
        ("hasAuthor", "author_id", 0.8),
        ("Document", "doc", 0.8),
        ("Document", "dcmnt", 0.6),
        ("Organization", "organisation", 0.5),
        ("email", "e_mail", 0.3),
        ("Country", "countries", 1.0),
    ],
)
def test_names_that_mean_the_same_are_alike(name: str, other: str, at_least: float) -> None:
    assert likeness(name, other) >= at_least


@pytest.mark.parametrize(
    ("name", "other"),
    [("Author", "Paper"), ("Author", "ID"), ("hasTitle", "has_date"), ("Person", "id"), ("Review", "email")],
)
def test_names_that_mean_something_else_are_not(name: str, other: str) -> None:
    assert likeness(name, other) < 0.35


def test_the_closer_name_wins() -> None:
    assert likeness("ProgramCommitteeMember", "program_committee_member") > likeness("ProgramCommitteeMember", "member")
    assert likeness("FullPaper", "is_FullPaper") > likeness("FullPaper", "Paper")
    assert likeness("startDate", "start_date") > likeness("startDate", "end_date")


@given(IDENTIFIERS, IDENTIFIERS)
@example("aÄb", "")
def test_likeness_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert 0.0 <= likeness(one, other) <= 1.0
    assert likeness(one, other) == likeness(other, one)


@given(IDENTIFIERS)
def test_a_name_is_most_like_itself(name: str) -> None:
    assert likeness(name, name) == (1.0 if words(name) else 0.0)


def test_a_class_is_told_by_its_flag_and_not_by_a_column_beside_it() -> None:
    flag = parse_rule("Author(x) <- Person(ID: x, is_Author: true)")
    assert {"Person", "ID", "is_Author"} == set(telling_names(flag))
    joined = parse_rule("Author(x) <- Person(ID: x, author: y), Paper(ID: y)")
    assert "author" not in telling_names(joined)
    assert name_fit(["Author"], flag) > name_fit(["Author"], parse_rule("Author(x) <- Person(ID: x)"))


def test_a_text_that_chooses_rows_is_a_name_unless_it_is_content() -> None:
    short = parse_rule('Author(x) <- Person(ID: x, kind: "author")')
    assert "author" in telling_names(short)
    long = parse_rule(f'Author(x) <- Person(ID: x, note: "author {"of something " * 9}")')
    assert name_fit(["Author"], long) < name_fit(["Author"], short)


def test_a_property_is_told_by_its_second_column_and_table() -> None:
    rule = parse_rule("paperTitle(x, y) <- Paper(ID: x, title: y)")
    assert name_fit(["paperTitle"], rule) == 1.0
    assert name_fit(["paperTitle"], parse_rule("paperTitle(x, y) <- Paper(ID: x, day: y)")) < 0.8


def test_an_iri_is_told_by_its_path_and_not_by_its_host() -> None:
    rule = parse_rule('Wellbore(x) <- w(id: a), x = "http://core.example.org/wellbore/" ++ a')
    assert "wellbore" in telling_names(rule)
    assert not any("core" in name and "wellbore" not in name for name in telling_names(rule))


def test_any_of_a_terms_labels_may_fit() -> None:
    rule = parse_rule("C17(x) <- authors(id: x)")
    assert name_fit(["C17"], rule) < 0.5
    assert name_fit(["C17", "Author"], rule) == 1.0
