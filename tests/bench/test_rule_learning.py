"""The benches on rule learning: counting, ceilings, choice of the rate, resuming, tables."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ruleminer.bench import cmt, npd
from ruleminer.bench.counting import counting_result, shape
from ruleminer.bench.reference_sets import write_reference_set
from ruleminer.bench.rule_learning import (
    LOSSES,
    chosen_rate,
    forbidden_but_deriving,
    measure_data,
    plan_units,
    run_unit,
)
from ruleminer.bench.rule_learning_tables import METRICS, tables_of
from ruleminer.bench.runner import run_bench
from ruleminer.bench.tables import markdown_of
from ruleminer.bench.units import BenchOptions, Record, Unit, paper_numbers, read_records, run_folder, unit_hash
from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.learn import training
from ruleminer.learn.examples import SPLITS, Example, SplitExamples, examples_of
from ruleminer.learn.model_files import load_model
from ruleminer.learn.scoring import RuleScorer
from ruleminer.learn.tokens import Tokens

TRAINED = BenchOptions(scale="smoke", losses=("libra",))


@pytest.fixture(scope="module")
def smoke_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the bench has run once, with one loss."""
    out = tmp_path_factory.mktemp("bench")
    run_bench("cmt", replace(TRAINED, out=out))
    return out


def _units(kind: str, options: BenchOptions) -> list[Unit]:
    return [unit for unit in cmt.BENCH.units(options) if unit.settings["kind"] == kind]


def _result(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.result.items() if name != "took"}


def _made_up(seed: int) -> tuple[SplitExamples, dict[int, tuple[str, ...]]]:
    """Facts of three predicates with random candidates, and a group of each."""
    dice = random.Random(seed)
    numbers = iter(range(10_000))
    rules = {rule: tuple(range(3 + rule % 4)) for rule in range(30)}

    def some(count: int) -> list[Example]:
        found = []
        for _ in range(count):
            head = dice.randrange(3)
            own = dice.sample(range(10 * head, 10 * head + 10), dice.randint(1, 5))
            found.append(Example(next(numbers), f"P{head}", (), tuple(own)))
        return found

    tokens = Tokens.trained_on(["Author(x) <- people(id: x)"], 700)
    positives = {"train": some(25), "validation": some(5), "test": some(30)}
    negatives = {"train": some(2), "validation": some(1), "test": some(1)}
    examples = SplitExamples(tokens, rules, positives, negatives, 0)
    everyone = [e for part in (*positives.values(), *negatives.values()) for e in part]
    return examples, {e.fact: (e.predicate, str(e.fact % 3)) for e in everyone}


def _brute_force(examples: SplitExamples, groups: dict[int, tuple[str, ...]]) -> Iterator[tuple[list[int], Example]]:
    """Each test fact with its five first rules, counted anew for every fact and rule."""
    for fact in examples.positives["test"]:
        peers = [e for e in examples.positives["train"] if groups[e.fact] == groups[fact.fact]]
        for own in (peers, [e for e in examples.positives["train"] if e.predicate == fact.predicate]):
            told = [rule for e in examples.negatives["train"] for rule in e.candidates]
            rules = [r for r in examples.rules if r not in told and any(r in e.candidates for e in own)]
            if rules:
                break
        key = {r: (-sum(r in e.candidates for e in own), len(examples.rules[r]), r) for r in rules}
        yield sorted(rules, key=key.__getitem__)[:5], fact


@pytest.mark.parametrize("seed", range(8))
def test_counting_agrees_with_counting_anew_for_every_fact(seed: int) -> None:
    examples, groups = _made_up(seed)
    found = counting_result(examples, groups)
    bad = {r for part in examples.negatives.values() for e in part for r in e.candidates}
    expected = list(_brute_force(examples, groups))
    for k in (1, 5):
        good_hits = sum(any(r in fact.candidates for r in rules[:k]) for rules, fact in expected)
        bad_hits = sum(any(r in bad for r in rules[:k]) for rules, _ in expected)
        assert found.hits[f"hit_pos_{k}"] == good_hits / 30
        assert found.hits[f"hit_neg_{k}"] == bad_hits / 30
    assert found.p_pos == found.hits["hit_pos_1"]
    assert found.p_neg == found.hits["hit_neg_1"]
    both = sum(bool(rules) and rules[0] in bad and rules[0] in fact.candidates for rules, fact in expected)
    assert found.p_neg_derives == both / 30


def test_counting_does_not_know_the_negatives_of_the_test_part() -> None:
    examples, groups = _made_up(0)
    none: dict[str, list[Example]] = {name: [] for name in SPLITS}
    rule = counting_result(replace(examples, negatives=none), groups)
    everything = [Example(9_999, "P0", (), tuple(examples.rules))]
    told = counting_result(replace(examples, negatives={**none, "test": everything}), groups)
    assert told.p_pos == rule.p_pos > 0
    assert (rule.p_neg, told.p_neg) == (0.0, 1.0)


def test_iris_of_one_kind_have_one_shape() -> None:
    base = "http://ex.org/data/licence"
    assert shape(f"{base}/21/licensee/5") == shape(f"{base}/7/licensee/1999-01-02") != shape(f"{base}/21/area/5")
    assert shape("21/5") == shape("Ada") == ""


@pytest.mark.data
def test_counting_reaches_what_it_is_known_to_on_the_published_npd_set(real_data: Path, tmp_path: Path) -> None:
    write_reference_set(real_data / "reference", "npd", tmp_path)
    found = measure_data(tmp_path, {"training": npd.TRAINING[npd.AUTHORS], "seed": 0})
    assert found["counting"]["p_pos"] == pytest.approx(0.83, abs=0.01)
    assert found["counting_by_shape"]["p_pos"] == pytest.approx(0.96, abs=0.01)
    assert found["counting"]["p_neg"] == found["counting_by_shape"]["p_neg"] == 0
    assert found["ceiling_pos"] == 1 - found["only_forbidden"] / found["test_facts"] < 1


def test_one_seed_of_the_cmt_table_is_25_runs_with_one_budget_for_all_losses() -> None:
    plan = cmt.plan_of("cpu")
    runs = [unit for unit in plan_units(plan, BenchOptions(seeds=1)) if unit.settings["kind"] == "run"]
    assert len({(unit.settings["set"], unit.settings["loss"]) for unit in runs}) == len(runs) == 25
    assert all(unit.settings["training"] == cmt.TRAINING for unit in runs)
    assert sum(unit.seconds for unit in runs) < 90 * 60


def test_the_same_seed_gives_the_same_records_but_for_the_times(smoke_run: Path, tmp_path: Path) -> None:
    run_bench("cmt", replace(TRAINED, out=tmp_path))
    first, second = (
        [(record.hash, _result(record)) for record in read_records(run_folder("cmt", options) / "results.jsonl")]
        for options in (replace(TRAINED, out=smoke_run), replace(TRAINED, out=tmp_path))
    )
    assert first == second


def test_a_training_that_was_interrupted_goes_on_where_it_was(
    smoke_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_CHECKPOINT_SECONDS", 0.0)
    options = replace(TRAINED, out=tmp_path)
    (unit,) = _units("rate", options)[:1]
    unit = replace(unit, settings={**unit.settings, "kind": "run", "choice": {}})
    monkeypatch.setattr("ruleminer.bench.rule_learning.chosen_rate", lambda settings, records: 0.01)
    seen: list[float] = []

    def stopped(fraction: float) -> None:
        seen.append(fraction)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_unit("cmt", cmt.plan_of("smoke"), unit, options, stopped)
    resumed: list[float] = []
    result = run_unit("cmt", cmt.plan_of("smoke"), unit, options, resumed.append)
    assert resumed[0] >= seen[-1]
    anew = run_unit("cmt", cmt.plan_of("smoke"), replace(unit, key="anew"), options, lambda fraction: None)
    assert {**result, "took": None} == {**anew, "took": None}
    assert not list(tmp_path.rglob("checkpoint.safetensors"))  # nobody needs it any more


def test_forbidden_rules_that_derive_the_fact_are_weighed_one_by_one(smoke_run: Path) -> None:
    options = replace(TRAINED, out=smoke_run)
    run = run_folder("cmt", options) / "runs" / unit_hash("cmt", _units("run", options)[0])
    dataset = read_dataset(run)
    saved = load_model(run)
    examples = examples_of(dataset, 0, 128, tokens=saved.tokens)
    facts = [e for split in SPLITS for e in examples.positives[split]]
    found = forbidden_but_deriving(saved.model, examples, facts, saved.config["options"]["longest_rule"])
    texts = dict(zip(dataset.rules["rule"].to_pylist(), dataset.rules["text"].to_pylist(), strict=True))
    rows = {f["fact"]: f for f in dataset.facts.to_pylist()}
    scorer = RuleScorer(saved)
    known, forbidden = examples.forbidden("train"), examples.forbidden(*SPLITS)
    derives = untold = 0.0
    for example in facts:
        own = [rule for rule in example.candidates if rule in forbidden]
        row = rows[example.fact]
        arguments = [a for a in (row["arg1"], row["arg2"]) if a is not None]
        if own:
            (log_p,) = scorer.log_probabilities([(row["predicate"], arguments)], [[texts[r] for r in own]])
            derives += sum(math.exp(p) for p in log_p)
            untold += sum(math.exp(p) for r, p in zip(own, log_p, strict=True) if r not in known)
    assert derives > 0
    assert found["p_neg_derives"] == pytest.approx(derives / len(facts), rel=1e-4)
    assert found["p_neg_untold"] == pytest.approx(untold / len(facts), rel=1e-4)


def _rate_record(loss: str, rate: float, gain: float) -> Record:
    settings = {"kind": "rate", "set": "s", "loss": loss, "rate": rate, "seed": 0, "training": {}}
    return Record("cmt", "k", f"{loss}{rate}", settings, {"gain": gain}, 1.0)


def test_each_loss_takes_the_rate_that_does_best_on_validation() -> None:
    records = [_rate_record("libra", rate, gain) for rate, gain in ((3e-3, 0.5), (1.5e-3, 0.9), (6e-3, 0.9))]
    records += [_rate_record("nll", 6e-3, 1.0)]
    choice = {"set": "s", "training": {}, "rates": [3e-3, 1.5e-3, 6e-3]}
    assert chosen_rate({"loss": "libra", "choice": choice}, records) == 1.5e-3
    with pytest.raises(InputError, match=r"no result for nll at learning rate 0\.003"):
        chosen_rate({"loss": "nll", "choice": choice}, records)


@pytest.mark.parametrize(("name", "sets"), [("cmt", tuple(cmt.DISTORTIONS)), ("npd", ("npd",))])
def test_the_paper_has_six_numbers_for_each_set_and_loss(name: str, sets: tuple[str, ...]) -> None:
    numbers = paper_numbers(name)
    assert numbers["columns"] == list(METRICS)
    for each in sets:
        assert set(numbers[each]) == set(LOSSES)
        assert all(len(row) == 6 and all(0 <= value <= 100 for value in row) for row in numbers[each].values())


def test_the_table_says_where_libra_falls_behind_the_paper(smoke_run: Path) -> None:
    records = read_records(run_folder("cmt", replace(TRAINED, out=smoke_run)) / "results.jsonl")
    good = dict.fromkeys(METRICS, 0.0) | {"p_pos": 0.995, "hit_pos_1": 1.0, "hit_pos_5": 1.0, "hit_neg_5": 0.2}
    made = [replace(r, result={**r.result, **good}) if r.settings["kind"] == "run" else r for r in records]
    paper = {"generated": {"libra": [97, 99, 100, 3, 4, 7]}}
    tables = tables_of(made, {"generated": "A set"}, paper)
    text = markdown_of(tables[0])
    assert "| libra | 99.50 | 97.00 | +2.50 |" in text
    assert "libra: at least as good as the paper's in all but neg H@5" in text
    assert "| counting |" in text
    assert "| ceiling |" in text
    assert any("share of P_neg" in table.columns for table in tables)
    assert any("chosen" in table.columns for table in tables)
