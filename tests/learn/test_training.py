"""Training learns, resumes to the bit, runs the same on several processes, and says clearly what it cannot do."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ruleminer.errors import InputError, RuleminerError
from ruleminer.learn import training
from ruleminer.learn.examples import SPLITS, load_examples
from ruleminer.learn.metrics import evaluate_run
from ruleminer.learn.options import NEGATIVES, TrainOptions
from ruleminer.learn.scoring import RuleScorer
from ruleminer.learn.training import Training, train_run
from ruleminer.rules.parser import parse_rule
from tests.learn.conftest import SCHEMA, Labelled, toy_facts, write_run

QUICK = TrainOptions(size="tiny", updates=60, passes=1, warmup=5, learning_rate=1e-2, batch_nodes=400, threads=1)
MakeRun = Callable[[Sequence[Labelled]], Path]


def metrics_of(run: Path) -> list[dict[str, float]]:
    lines = (run / "model" / "metrics.jsonl").read_text("utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def test_a_model_learns_to_allow_what_is_allowed_and_avoid_what_is_forbidden(toy_run: Path) -> None:
    result = train_run(toy_run, QUICK)
    assert result.p_pos > 0.9
    assert result.p_neg < 0.05
    found = evaluate_run(toy_run, threads=1)
    keys = {f"hit_{sign}_{k}" for sign in ("pos", "neg") for k in (1, 5, 10)} | {"p_pos", "p_neg"}
    assert keys <= found.keys()
    assert found["p_pos"] > 0.9
    assert found["p_neg"] < 0.05
    assert found["hit_pos_1"] == 1.0
    assert found["ceiling_pos"] == 1.0
    written = json.loads((toy_run / "model" / "evaluation-test.json").read_text("utf-8"))
    assert written == found
    files = {path.name for path in (toy_run / "model").iterdir()}
    assert {"model.safetensors", "tokens.model", "config.json", "metrics.jsonl", "curve.png"} <= files
    assert not [name for name in files if name.startswith(".")]
    assert (toy_run / "model" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_trained_model_scores_rules_and_writes_its_own(toy_run: Path) -> None:
    train_run(toy_run, QUICK)
    scorer = RuleScorer.of_run(toy_run)
    right, forbidden = 'Author(x) <- people(id: x, kind: "author")', "Author(x) <- people(id: x)"
    ((good, bad, endless),) = scorer.log_probabilities(
        [("Author", ["107"])], [[right, forbidden, f'Author(x) <- papers(author: x, title: "{"a b " * 200}")']]
    )
    assert good > bad
    assert endless == float("-inf")
    (own,) = scorer.rules_for([("Author", ["107"])], SCHEMA)
    assert all(parse_rule(text).predicate == "Author" for text, _ in own)
    assert dict(own)[right] == pytest.approx(good, abs=1e-4)


@pytest.mark.parametrize("updates", [1, 5])
def test_it_stops_after_exactly_so_many_updates(toy_run: Path, updates: int) -> None:
    options = replace(QUICK, updates=updates, batch_nodes=150)
    result = train_run(toy_run, options)
    assert (result.updates, result.reason) == (updates, "as many as asked for")
    assert [line["update"] for line in metrics_of(toy_run)] == [updates]
    assert train_run(toy_run, options, resume=True).updates == updates


def test_without_a_number_of_updates_it_goes_through_the_data_in_whole_passes(toy_run: Path) -> None:
    result = train_run(toy_run, replace(QUICK, updates=None, least_updates=7, batch_nodes=150))
    assert result.updates > 7
    assert "passes over the data" in result.reason


def test_equal_options_give_equal_models(toy_run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", toy_facts())
    for run in (toy_run, other):
        train_run(run, replace(QUICK, updates=12))
    one, two = (load_file(run / "model" / "model.safetensors") for run in (toy_run, other))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert metrics_of(toy_run) == metrics_of(other)


@pytest.mark.slow
@pytest.mark.live
def test_a_killed_run_resumes_to_the_bit(toy_run: Path, tmp_path: Path) -> None:
    options = replace(QUICK, updates=150, batch_nodes=150, patience=1000)
    whole = write_run(tmp_path / "whole", toy_facts())
    code = (
        "import sys; from pathlib import Path; from ruleminer.learn import training\n"
        "from ruleminer.learn.options import TrainOptions\n"
        "training._CHECKPOINT_SECONDS = 0.05\n"
        f"training.train_run(Path(sys.argv[1]), TrainOptions(**{options.to_json()!r}))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(toy_run)], env={**os.environ, "OMP_NUM_THREADS": "1"})
    checkpoint = toy_run / ".training" / "checkpoint.safetensors"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"

    resumed = train_run(toy_run, options, resume=True)
    unbroken = train_run(whole, options)
    assert (resumed.p_pos, resumed.p_neg, resumed.updates) == (unbroken.p_pos, unbroken.p_neg, unbroken.updates)
    assert metrics_of(toy_run) == metrics_of(whole)
    one, two = (load_file(run / "model" / "checkpoint.safetensors") for run in (toy_run, whole))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_give_the_loss_of_one(processes: int, toy_run: Path, tmp_path: Path) -> None:
    options = replace(QUICK, updates=6, batch_nodes=300, learning_rate=1e-3)
    alone = write_run(tmp_path / "alone", toy_facts())
    train_run(alone, options)
    script = tmp_path / "train.py"
    script.write_text(
        "import sys; from pathlib import Path; from ruleminer.learn.training import train_run\n"
        "from ruleminer.learn.options import TrainOptions\n"
        f"train_run(Path(sys.argv[1]), TrainOptions(**{options.to_json()!r}))\n",
        encoding="utf-8",
    )
    launch = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--standalone"]
    subprocess.run([*launch, str(script), str(toy_run)], check=True, timeout=240, capture_output=True)
    for one, two in zip(metrics_of(toy_run), metrics_of(alone), strict=True):
        assert one == pytest.approx(two, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "how_near"), [({"precision": "bf16"}, 0.05), ({"compile": True}, 1e-3)])
def test_quicker_ways_give_the_losses_of_the_plain_one(
    changes: dict[str, Any], how_near: float, toy_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The graphs are traced and run as they are: to make C++ of them takes a minute.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    options = replace(QUICK, updates=4, learning_rate=1e-3)
    plain = write_run(tmp_path / "plain", toy_facts())
    train_run(plain, options)
    train_run(toy_run, replace(options, **changes))
    ((one, two),) = zip(metrics_of(toy_run), metrics_of(plain), strict=True)
    assert one.keys() == two.keys()
    for name in two:
        assert one[name] == pytest.approx(two[name], rel=how_near, abs=how_near), name


@pytest.mark.parametrize("negatives", NEGATIVES)
def test_every_way_with_negatives_trains(toy_run: Path, negatives: str) -> None:
    result = train_run(toy_run, replace(QUICK, negatives=negatives))
    assert result.p_pos > 0.5


@pytest.mark.parametrize("loss", ["nll", "rc", "uniform", "merit:0.25", "libra-plain"])
def test_every_sequence_loss_trains(toy_run: Path, loss: str) -> None:
    assert train_run(toy_run, replace(QUICK, loss=loss)).p_pos > 0.3


def test_a_dataset_without_negatives_trains(make_run: MakeRun) -> None:
    run = make_run([fact for fact in toy_facts() if fact[2]])
    assert train_run(run, QUICK).p_pos > 0.9
    assert evaluate_run(run, threads=1)["p_neg"] == 0.0


def test_one_predicate_with_one_candidate_each_trains(make_run: MakeRun) -> None:
    run = make_run([("Author", (str(i),), True, ["Author(x) <- people(id: x)"]) for i in range(10)])
    assert train_run(run, QUICK).p_pos > 0.9


def test_a_single_fact_trains_and_evaluation_says_that_nothing_is_held_out(make_run: MakeRun) -> None:
    run = make_run([("Author", ("1",), True, ["Author(x) <- people(id: x)"])])
    assert train_run(run, replace(QUICK, updates=30)).p_pos > 0.3
    with pytest.raises(InputError, match=r"test split .* has no facts"):
        evaluate_run(run)


def test_two_thousand_candidates_train(make_run: MakeRun) -> None:
    many = [f"Author(x) <- papers(author: x, id: {i})" for i in range(2000)]
    run = make_run([("Author", (str(i),), True, ["Author(x) <- people(id: x)", *many]) for i in range(4)])
    result = train_run(run, replace(QUICK, updates=2, batch_nodes=2500))
    assert result.updates >= 2


def test_candidates_over_the_limit_are_left_out_and_counted(make_run: MakeRun) -> None:
    endless = f'Author(x) <- papers(author: x, title: "{"word " * 100}")'
    facts: list[Labelled] = [("Author", (str(i),), True, ["Author(x) <- people(id: x)", endless]) for i in range(6)]
    run = make_run([*facts, ("Author", ("9",), True, [endless])])
    said: list[str] = []
    train_run(run, replace(QUICK, updates=5), say=said.append)
    assert any("longer than 64 tokens" in line for line in said)
    assert evaluate_run(run, "train", threads=1)["ceiling_pos"] <= 1.0


def test_only_candidates_over_the_limit_are_refused(make_run: MakeRun) -> None:
    endless = f'Author(x) <- papers(author: x, title: "{"word " * 100}")'
    run = make_run([("Author", (str(i),), True, [endless]) for i in range(6)])
    with pytest.raises(InputError, match="at most 64 tokens"):
        train_run(run, QUICK)


def test_facts_without_candidates_are_refused(make_run: MakeRun) -> None:
    run = make_run([("Author", ("1",), True, []), ("Author", ("2",), False, ["Author(x) <- people(id: x)"])])
    with pytest.raises(InputError, match="nothing to learn from"):
        train_run(run, QUICK)


def test_a_run_without_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no dataset in"):
        train_run(tmp_path, QUICK)


def test_evaluating_without_a_model_says_how_to_get_one(toy_run: Path) -> None:
    with pytest.raises(InputError, match="no trained model"):
        evaluate_run(toy_run)


def test_a_damaged_model_is_named(toy_run: Path) -> None:
    train_run(toy_run, replace(QUICK, updates=2))
    (toy_run / "model" / "model.safetensors").write_bytes(b"not tensors")
    with pytest.raises(InputError, match="is damaged"):
        evaluate_run(toy_run)


def test_a_changed_dataset_is_noticed(toy_run: Path, tmp_path: Path) -> None:
    train_run(toy_run, replace(QUICK, updates=2))
    other = write_run(tmp_path / "other", toy_facts(10))
    (other / "dataset" / "facts.parquet").replace(toy_run / "dataset" / "facts.parquet")
    with pytest.raises(InputError, match="has changed since"):
        evaluate_run(toy_run)
    with pytest.raises(InputError, match="has changed since"):
        train_run(toy_run, replace(QUICK, updates=2), resume=True)


def test_resuming_with_other_options_or_nothing_is_refused(toy_run: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint"):
        train_run(toy_run, QUICK, resume=True)
    train_run(toy_run, replace(QUICK, updates=2))
    with pytest.raises(InputError, match="made with seed 0"):
        train_run(toy_run, replace(QUICK, updates=2, seed=5), resume=True)


def test_a_model_is_replaced_only_with_force(toy_run: Path) -> None:
    first = train_run(str(toy_run), replace(QUICK, updates=2))
    weights = (first.folder / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match="holds a model already"):
        train_run(toy_run, replace(QUICK, updates=2, seed=1))
    assert (first.folder / "model.safetensors").read_bytes() == weights
    train_run(toy_run, replace(QUICK, updates=2, seed=1), force=True)
    assert (first.folder / "model.safetensors").read_bytes() != weights


def test_resuming_a_finished_run_leaves_it_as_it_is(toy_run: Path) -> None:
    first = train_run(toy_run, replace(QUICK, updates=4))
    again = train_run(toy_run, replace(QUICK, updates=4), resume=True)
    assert again == first


def test_a_loss_that_is_not_a_number_stops_with_a_clear_message(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training.Training, "_losses", lambda self, scores, bits: scores.log_leak * float("nan"))
    with pytest.raises(RuleminerError, match=r"became nan .*at update 1:.*learning_rate"):
        train_run(toy_run, QUICK)
    assert (toy_run / ".training" / "checkpoint.safetensors").is_file()


def test_the_time_limit_ends_training_with_a_usable_model(toy_run: Path) -> None:
    result = train_run(toy_run, replace(QUICK, updates=100_000, patience=10_000, time_limit=0.001))
    assert "time limit" in result.reason
    assert evaluate_run(toy_run, threads=1)["facts"] > 0


def test_a_model_that_has_learned_little_is_called_so(toy_run: Path) -> None:
    little: list[str] = []
    train_run(toy_run, replace(QUICK, updates=1, learning_rate=1e-6), say=little.append)
    assert little[-1].startswith("note: the model has learned little")
    enough: list[str] = []
    train_run(toy_run, QUICK, force=True, say=enough.append)
    assert not any("learned little" in line for line in enough)


def test_more_time_goes_on_where_the_time_limit_had_ended(toy_run: Path) -> None:
    short = replace(QUICK, updates=100_000, patience=10_000, time_limit=0.001)
    first = train_run(toy_run, short)
    again = train_run(toy_run, replace(short, time_limit=0.08), resume=True)
    assert again.updates > first.updates
    same = train_run(toy_run, replace(short, time_limit=0.08), resume=True)
    assert same.updates == again.updates


def test_a_run_stopped_right_after_its_start_can_be_resumed(toy_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(QUICK, updates=6)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Training, "_validate", stop)
        with pytest.raises(KeyboardInterrupt):
            train_run(toy_run, options)
    assert train_run(toy_run, options, resume=True).updates >= 6


def test_a_model_can_start_from_that_of_another_run(toy_run: Path, tmp_path: Path) -> None:
    first = train_run(toy_run, QUICK)
    shutil.copytree(toy_run / "dataset", tmp_path / "next" / "dataset")
    options = replace(QUICK, updates=2, learning_rate=1e-5, start=str(toy_run), size="small", vocabulary=900)
    gone_on = train_run(tmp_path / "next", options)
    assert gone_on.p_pos == pytest.approx(first.p_pos, abs=0.02)  # two tiny steps from where it was
    assert gone_on.parameters == first.parameters  # its own size, whatever the options say
    assert (tmp_path / "next" / "model" / "tokens.model").read_bytes() == (
        toy_run / "model" / "tokens.model"
    ).read_bytes()
    assert train_run(tmp_path / "next", options, resume=True) == gone_on


def test_a_run_that_started_from_another_resumes_without_it(toy_run: Path, tmp_path: Path) -> None:
    train_run(toy_run, replace(QUICK, updates=2))
    shutil.copytree(toy_run / "dataset", tmp_path / "next" / "dataset")
    options = replace(QUICK, updates=100_000, patience=10_000, time_limit=0.001, start=str(toy_run), size="small")
    first = train_run(tmp_path / "next", options)
    config = json.loads((tmp_path / "next" / "model" / "config.json").read_text("utf-8"))
    weights = (toy_run / "model" / "model.safetensors").read_bytes()
    assert config["start"] == {"run": str(toy_run), "sha256": hashlib.sha256(weights).hexdigest()}
    shutil.rmtree(toy_run)
    more = train_run(tmp_path / "next", replace(options, start=None, time_limit=0.05), resume=True)
    assert more.updates > first.updates
    assert more.parameters == first.parameters
    assert json.loads((tmp_path / "next" / "model" / "config.json").read_text("utf-8"))["start"] == config["start"]


@pytest.mark.parametrize("name", ["config.json", "tokens.model"])
def test_a_damaged_run_is_not_resumed(name: str, toy_run: Path, tmp_path: Path) -> None:
    train_run(toy_run, replace(QUICK, updates=2))
    shutil.copytree(toy_run / "dataset", tmp_path / "next" / "dataset")
    train_run(tmp_path / "next", replace(QUICK, updates=2, start=str(toy_run)))
    (tmp_path / "next" / "model" / name).write_text("{", "utf-8")
    with pytest.raises(InputError, match=f"{name} is damaged .* train anew with force"):
        train_run(tmp_path / "next", replace(QUICK, updates=2), resume=True)


def test_a_start_that_cannot_be_is_refused(toy_run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trained model"):
        train_run(toy_run, replace(QUICK, start=str(tmp_path)))
    with pytest.raises(InputError, match="its own model"):
        train_run(toy_run, replace(QUICK, start=str(toy_run)))
    train_run(toy_run, replace(QUICK, updates=2))
    with pytest.raises(InputError, match="began from scratch"):
        train_run(toy_run, replace(QUICK, updates=2, start=str(tmp_path)), resume=True)
    shutil.copytree(toy_run / "dataset", tmp_path / "next" / "dataset")
    with pytest.raises(InputError, match="room for 64 tokens of a rule"):
        train_run(tmp_path / "next", replace(QUICK, start=str(toy_run), longest_rule=70))


def test_splits_are_by_fact_seeded_and_hold_every_predicate_in_training(toy_run: Path) -> None:
    one, again, other = (load_examples(toy_run, seed, 64) for seed in (0, 0, 1))
    assert one.positives == again.positives
    assert one.positives != other.positives
    facts = [example.fact for split in SPLITS for example in one.positives[split]]
    assert len(facts) == len(set(facts)) == 48
    assert [len(one.positives[split]) for split in SPLITS] == [34, 6, 8]
    assert {example.predicate for example in one.positives["train"]} == {"Author", "wrote"}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"loss": "sag"}, "no sequence model"),
        ({"loss": "lws(2)"}, "no sequence model"),
        ({"loss": "libre"}, "unknown loss"),
        ({"size": "huge"}, "unknown size 'huge'; known are tiny, small"),
        ({"negatives": "all"}, "unknown negatives"),
        ({"device": "tpu"}, "unknown device"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"batch_nodes": -1}, "batch_nodes must be above 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"threads": 0}, "threads must be above 0"),
        ({"longest_rule": 2}, "longest_rule must be at least 8"),
    ],
)
def test_bad_options_are_refused_with_the_reason(bad: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainOptions(**bad)  # type: ignore[arg-type]


@pytest.mark.data
@pytest.mark.slow
def test_the_papers_renamed_conference_set_is_learnt_in_a_few_passes(real_data: Path, tmp_path: Path) -> None:
    from ruleminer.bench.reference_sets import write_reference_set

    write_reference_set(real_data / "reference", "cmt_renamed", tmp_path)
    train_run(tmp_path, TrainOptions(updates=240, threads=1))
    found = evaluate_run(tmp_path, threads=1)
    assert found["p_pos"] > 0.94  # the paper's figures for renaming: .94, .11, 93 %
    assert found["p_neg"] < 0.01
    assert found["hit_pos_1"] > 0.99
