"""The vocabulary: nothing is lost, names share their pieces, and the same text gives the same tokens."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ruleminer.learn.tokens import Tokens

TEXTS = [
    "ProgramCommitteeChair(x) <- program_committee_chairs(id: x)",
    'Author(x) <- Person(ID: x, is_Author: true, name: "Ada O\'Neil")',
    "hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), Author(ID: y)",
    "hasPCMember(x, y) <- program_committee_members(committee: x, member: y), persons(id: y)",
    "Co-author(x) <- co_author_papers(cid: x, pid: 212)",
    'Agent(x) <- licensees(licence: a, company: b), x = "http://ex.org/data/v2/licence/" ++ a ++ "/licensee/" ++ b',
    "Agent(http://ex.org/data/v2/licence/12345/licensee/7)",
    "Company(http://ex.org/data/v2/company/7)",
    "Paper(http://other.org/2001)",
    "Paper(1471)",
]


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return Tokens.trained_on(TEXTS)


names = st.from_regex(r"[A-Za-z_]{1,12}([_ -]?[A-Z]?[a-z]{1,6}){0,3}", fullmatch=True)
texts = st.one_of(st.text(), names, st.text("aAbZzX_ -1", max_size=20), st.lists(st.sampled_from(TEXTS)).map("".join))


@given(text=texts)
@example(text="hasPCChair")
@example(text="__x__Y  Z--a")
@example(text="Straße İstanbul ŉ ǅ ﬁ ẞ")
@example(text="▁⟪x⟫⟦case␣Capital⟧<0x41><s></s>␣\x00\n\t")
@example(text='": x), "" ++ a ++ "')
def test_text_round_trips(tokens: Tokens, text: str) -> None:
    assert tokens.decode(tokens.encode(text)) == text


def test_camel_case_and_snake_case_share_their_words(tokens: Tokens) -> None:
    camel, snake = tokens.encode("ProgramCommitteeChair"), tokens.encode("program_committee_chairs")
    shared = set(camel) & set(snake)
    words = [tokens.encode(word) for word in ("program", "committee", "chair")]
    assert all(len(word) == 1 and word[0] in shared for word in words)


def test_iris_share_their_namespace_and_split_at_slashes_and_digits(tokens: Tokens) -> None:
    one, other = (tokens.encode(f"http://ex.org/data/v2/licence/{n}") for n in ("12345", "12999"))
    assert len(one) == 6  # namespace, licence, slash, 12, 34, 5
    assert one[:4] == other[:4]


def test_rule_punctuation_is_whole_symbols(tokens: Tokens) -> None:
    assert len(tokens.encode("(x) <- ")) == 1
    assert len(tokens.encode(" <- ")) == 1
    assert len(tokens.encode('" ++ a ++ "')) == 1


def test_a_longer_rule_extends_the_tokens_of_its_start(tokens: Tokens) -> None:
    start = tokens.encode("hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), ")
    assert tokens.encode("hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), Author(ID: y)")[: len(start)] == start


def test_unknown_characters_become_bytes(tokens: Tokens) -> None:
    assert len(tokens.encode("学")) == 3


def test_same_texts_give_the_same_vocabulary_and_it_reloads(tokens: Tokens) -> None:
    again = Tokens.trained_on(TEXTS)
    assert again.model == tokens.model
    reloaded = Tokens(tokens.model)
    assert [reloaded.encode(text) for text in TEXTS] == [tokens.encode(text) for text in TEXTS]


def test_tokens_in_any_order_decode_to_some_text(tokens: Tokens) -> None:
    assert isinstance(tokens.decode(range(len(tokens))), str)
    assert isinstance(tokens.decode(reversed(range(len(tokens)))), str)


def test_a_vocabulary_can_be_trained_on_next_to_nothing() -> None:
    for few in ([], ["1"], ["a"], ["学校(x)"]):
        tokens = Tokens.trained_on(few)
        assert tokens.decode(tokens.encode("Paper(x) <- 学校(id: x)")) == "Paper(x) <- 学校(id: x)"


@settings(deadline=None, max_examples=50)
@given(text=texts)
def test_every_beginning_of_a_texts_tokens_is_well_formed(tokens: Tokens, text: str) -> None:
    ids = tokens.encode(text)
    assert all(tokens.well_formed(ids[:end]) for end in range(len(ids) + 1))
