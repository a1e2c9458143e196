"""Words of one kind: what the package carries knows synonyms and kinds of things, whatever the letters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruleminer.structure.lexicon import FILE, lexicon, save_lexicon


def near(name: str, title: str) -> float:
    known = lexicon()
    return float(known.near(known.read([name]), [title])[0])


@pytest.mark.parametrize(
    ("name", "title", "stranger"),
    [("salary", "remuneration", "bridge"), ("employee", "person", "river"), ("city", "town", "price")],
)
def test_words_of_one_kind_are_near_and_others_are_not(name: str, title: str, stranger: str) -> None:
    assert near(name, title) > 0.7
    assert near(name, stranger) < 0.2


def test_names_are_compared_word_by_word_and_forms_of_a_word_are_the_word() -> None:
    assert near("tag_names", "keywordName") > 0.7
    assert near("requesting_persons", "requestPerson") > 0.9
    assert near("xqzt", "person") == 0.0


def test_what_nobody_knows_is_near_nothing_among_names_that_are_known() -> None:
    known = lexicon()
    found = known.near(known.read(["xqzt", "salary", ""]), ["remuneration", "xqzt"])
    assert found[1] > 0.9
    assert not found[[0, 2]].any()
    assert not known.near(known.read([]), ["salary"]).size


def test_words_are_written_the_same_each_time(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(2, 4)).astype(np.float32)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save_lexicon(tmp_path / folder, ["ant", "bee"], vectors)
    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "two" / FILE).read_bytes()
