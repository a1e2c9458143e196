"""Datasets from candidate sets that did not come from an extraction."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.extract.dataset import LabelledFact, read_dataset, write_labelled_facts
from ruleminer.extract.summary import summarise
from ruleminer.problem.schema import Schema

FACTS = [
    LabelledFact("wrote", ("1", "2"), ("wrote(x, y) <- b(p: x, q: y)", "wrote(x, y) <- a(p: x, q: y)")),
    LabelledFact("Author", ("1",), ("Author(x) <- a(p: x)", "Author(x) <- a(p: x)"), positive=False),
    LabelledFact("Author", (), ("Author(x) <- a(p: x)",)),
    LabelledFact("Author", ("9",), ()),
]


def test_facts_and_their_rules_are_read_back_as_they_were_given(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS, Schema(None, ()), "a test")
    found = read_dataset(tmp_path)
    facts = [(f["predicate"], f["arg1"], f["arg2"], f["positive"]) for f in found.facts.to_pylist()]
    assert facts == [
        ("wrote", "1", "2", True),
        ("Author", "1", None, False),
        ("Author", None, None, True),
        ("Author", "9", None, True),
    ]
    assert "drawn" not in found.facts.column_names
    assert found.rules["text"].to_pylist() == sorted({rule for fact in FACTS for rule in fact.rules})
    pairs = zip(found.candidates["fact"].to_pylist(), found.candidates["rule"].to_pylist(), strict=True)
    assert sorted(pairs) == [(0, 1), (0, 2), (1, 0), (2, 0)]  # each rule once for a fact
    assert found.manifest["source"] == "a test"
    [gap] = summarise(tmp_path).gaps
    assert (gap.predicate, gap.reason, gap.example) == ("Author", "no rule was given", "9")


def test_what_goes_wrong_leaves_the_old_dataset(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS[:1], Schema(None, ()), "first")
    with pytest.raises(TypeError):
        write_labelled_facts(tmp_path, FACTS, Schema(None, ()), object())  # type: ignore[arg-type]
    assert read_dataset(tmp_path).manifest["source"] == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]
