"""The dataset on disk: written whole or not at all, never over another one, and read back with its rules."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruleminer.dataset import FactWithRules, LabelledFact, read_dataset, write_labelled_facts
from ruleminer.errors import InputError
from ruleminer.extraction.summary import summarise
from ruleminer.rules.printer import rule_text
from ruleminer.run import Run
from ruleminer.sources.schema import Schema

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


def test_each_fact_is_read_with_its_rules(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS, Schema(None, ()), "a test")
    dataset = read_dataset(str(tmp_path))
    assert list(dataset.facts_with_rules()) == [
        FactWithRules(0, "wrote", ("1", "2"), True, False, (2, 1)),
        FactWithRules(1, "Author", ("1",), False, True, (0,)),  # who knows whether it was drawn?
        FactWithRules(2, "Author", (), True, False, (0,)),
        FactWithRules(3, "Author", ("9",), True, False, ()),
    ]
    assert dataset.rule_texts[1] == "wrote(x, y) <- a(p: x, q: y)"
    bodies = dataset.bodies(dataset.rule_texts)
    assert {
        number: rule_text(bodies[number].of(said.split("(")[0])) for number, said in dataset.rule_texts.items()
    } == (dataset.rule_texts)
    assert list(dataset.bodies([1])) == [1]


def test_what_predicates_share_is_parsed_once(tmp_path: Path) -> None:
    texts = ("wrote(x, y) <- a(p: x, q: y)", "signed(x, y) <- a(p: x, q: y)", '"wrote (1)"(x, y) <- a(p: x, q: y)')
    facts = [LabelledFact(text.split("(x")[0], ("1", "2"), (text,)) for text in texts]
    write_labelled_facts(tmp_path, facts, Schema(None, ()), "a test")
    dataset = read_dataset(str(tmp_path))
    said = {dataset.rule_texts[number]: body for number, body in dataset.bodies(range(3)).items()}
    wrote, signed, quoted = (said[text] for text in texts)
    assert wrote is signed
    assert wrote == quoted


def test_a_dataset_is_replaced_only_with_force(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS[:1], Schema(None, ()), "first")
    with pytest.raises(InputError, match="holds another dataset already"):
        write_labelled_facts(tmp_path, FACTS, Schema(None, ()), "second")
    assert read_dataset(tmp_path).manifest["source"] == "first"
    write_labelled_facts(tmp_path, FACTS, Schema(None, ()), "second", force=True)
    assert read_dataset(tmp_path).manifest["source"] == "second"


def test_what_goes_wrong_leaves_the_old_dataset(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS[:1], Schema(None, ()), "first")
    with pytest.raises(TypeError):
        write_labelled_facts(tmp_path, FACTS, Schema(None, ()), object(), force=True)  # type: ignore[arg-type]
    assert read_dataset(tmp_path).manifest["source"] == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


def test_a_rule_that_is_not_there_is_a_damaged_dataset(tmp_path: Path) -> None:
    write_labelled_facts(tmp_path, FACTS, Schema(None, ()), "a test")
    path = Run(tmp_path).dataset / "candidates.parquet"
    known = pq.read_table(path)
    wrong = pa.array([538976256] * known.num_rows, known.schema.field("rule").type)
    pq.write_table(known.set_column(known.column_names.index("rule"), "rule", wrong), path)
    with pytest.raises(InputError, match=r"damaged \(candidates.parquet names a rule that is not there"):
        read_dataset(tmp_path)
