"""Other scenarios to learn from: what a corpus holds, and that a model can be trained on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.bench.pretraining import finetuned_scorer, is_trained, make_corpus, train_on_corpus
from ruleminer.dataset import Dataset, read_dataset
from ruleminer.learn import training
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.scoring import RuleScorer
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.run import Run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("school")
    made = make_corpus(folder, 1, 150, lambda fraction: None)
    assert made["scenarios"] == 1
    assert made["candidates"] > made["facts"] > 50
    before = {path: path.stat().st_mtime_ns for path in folder.glob("parts/*")}
    assert make_corpus(folder, 1, 150, lambda fraction: None) == made  # from what is there already
    assert {path: path.stat().st_mtime_ns for path in folder.glob("parts/*")} == before
    return folder


def candidates(dataset: Dataset) -> dict[tuple[str, str | None, str | None], set[str]]:
    texts = dataset.rules["text"].to_pylist()
    facts = [(f["predicate"], f["arg1"], f["arg2"]) for f in dataset.facts.to_pylist()]
    found: dict[tuple[str, str | None, str | None], set[str]] = {}
    for fact, rule in zip(dataset.candidates["fact"].to_pylist(), dataset.candidates["rule"].to_pylist(), strict=True):
        found.setdefault(facts[fact], set()).add(texts[rule])
    return found


def test_a_fact_without_arguments_has_the_rules_that_derive_all_others(corpus: Path) -> None:
    found = candidates(read_dataset(corpus))
    bare = {predicate: rules for (predicate, first, _), rules in found.items() if first is None}
    assert len(bare) > 20
    for predicate, rules in bare.items():
        others = [own for (name, first, _), own in found.items() if name == predicate and first is not None]
        assert all(rules <= own for own in others)


def stop(self: training.Training) -> None:
    raise KeyboardInterrupt


def test_a_model_learns_from_the_corpus_and_goes_on_after_a_stop(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = TrainOptions(size="tiny", updates=5, passes=1, vocabulary=700, negatives="none", threads=1)
    assert not is_trained(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(training, "_CHECKPOINT_SECONDS", 0.0)
        patch.setattr(training.Training, "_validate", stop)
        with pytest.raises(KeyboardInterrupt):
            train_on_corpus(corpus, tmp_path / "run", options)
    assert not is_trained(tmp_path / "run")
    tokens = Run(tmp_path / "run").training / "tokens.model"
    before = tokens.read_bytes(), tokens.stat().st_mtime_ns
    went_on = train_on_corpus(corpus, tmp_path / "run", options)
    kept = Run(tmp_path / "run").model / "tokens.model"
    assert (kept.read_bytes(), kept.stat().st_mtime_ns) == before  # a new training would write it anew
    assert is_trained(tmp_path / "run")
    assert went_on.p_pos == train_on_corpus(corpus, tmp_path / "anew", options).p_pos
    scorer = RuleScorer.of_run(tmp_path / "run")
    [[short, long]] = scorer.log_probabilities([("A", ())], [["A(x) <- a(id: x)", "A(x) <- a(id: x, b: 2, c: 4)"]])
    assert long < short < 0


def examples_of(table: str) -> list[CandidateSet]:
    rules = [parse_rule(text) for text in (f"C(x) <- {table}(id: x)", f"C(x) <- {table}(id: x, kind: 2)")]
    return [CandidateSet((f"{table}/{i}",), tuple(map(Body, rules))) for i in range(3)]


def test_a_model_learns_from_the_examples_at_hand() -> None:
    drawn = {"Person": examples_of("t1"), "Paper": examples_of("t2")}
    options = TrainOptions(
        size="tiny", updates=80, passes=1, vocabulary=700, negatives="none", learning_rate=1e-2, warmup=5, threads=1
    )
    scorer = finetuned_scorer(drawn, options)
    for name, own, other in (("Person", "t1", "t2"), ("Paper", "t2", "t1")):
        [[right, wrong]] = scorer.log_probabilities([(name, ())], [[f"{name}(x) <- {t}(id: x)" for t in (own, other)]])
        assert right > wrong + 1
