"""The frame of all benches: options, resume, tables, the report."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ruleminer.bench import real_world, synthetic_large, synthetic_small
from ruleminer.bench.catalogue import BENCHES, bench_list
from ruleminer.bench.report import bench_report
from ruleminer.bench.runner import duration, flushed_denormals, run_bench
from ruleminer.bench.tables import Cell, Table, fitting, markdown_of, rich_of
from ruleminer.bench.units import RESULTS, BenchOptions, Unit, paper_numbers, read_records, unit_hash
from ruleminer.errors import InputError
from tests.command_line import Run

NAMES = ("dynamics", "synthetic-small", "synthetic-large", "cifar10", "cifar100", "real-world", "cmt", "npd", "mapping")
ELSEWHERE = ("decision", "drafts", "rodi", "real", "questions")  # their runs take databases


def test_every_bench_says_what_it_reproduces_costs_and_needs() -> None:
    assert [info.name for info in bench_list()] == [*NAMES, *ELSEWHERE]
    assert all(info.reproduces and info.cost and info.data for info in bench_list())
    assert all(info.losses or info.name in ELSEWHERE for info in bench_list())


@pytest.mark.parametrize("name", NAMES)
def test_every_bench_runs_end_to_end(name: str, made_up_data: Path, tmp_path: Path) -> None:
    options = BenchOptions(scale="smoke", out=tmp_path, data=made_up_data)
    folder = run_bench(name, options).folder
    assert folder == tmp_path / f"{name}-smoke"
    assert (folder / "table.md").read_text(encoding="utf-8").startswith(f"# {name} (smoke)")
    assert list(folder.glob("*.png"))
    assert len(list(folder.glob("*.svg"))) == len(list(folder.glob("*.png")))
    assert not list(folder.glob("*.tmp"))
    assert len(read_records(folder / RESULTS)) == len(BENCHES[name].units(options))


@pytest.mark.parametrize("name", ["synthetic-small", "real-world", "cifar10"])
def test_the_same_seed_gives_the_same_result(name: str, made_up_data: Path, tmp_path: Path) -> None:
    results = []
    for attempt in ("a", "b"):
        options = BenchOptions(scale="smoke", losses=("libra", "lws"), out=tmp_path / attempt, data=made_up_data)
        folder = run_bench(name, options).folder
        results.append([(record.hash, record.result) for record in read_records(folder / RESULTS)])
    assert results[0] == results[1]


def test_finished_units_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = BenchOptions(scale="smoke", losses=("nll",), out=tmp_path)
    folder = run_bench("synthetic-small", options).folder
    before = (folder / RESULTS).read_bytes()
    calls: list[str] = []
    bench = BENCHES["synthetic-small"]
    monkeypatch.setattr(synthetic_small.torch, "manual_seed", lambda seed: None)

    def run(unit: Unit, chosen: BenchOptions, tick: Any) -> dict[str, Any]:
        calls.append(unit.key)
        return bench.run(unit, chosen, tick)

    patched = {**BENCHES, "synthetic-small": type(bench)(bench.info, bench.units, run, bench.tables, bench.pictures)}
    monkeypatch.setattr("ruleminer.bench.catalogue.BENCHES", patched)
    run_bench("synthetic-small", options)
    assert calls == []
    assert (folder / RESULTS).read_bytes() == before
    run_bench("synthetic-small", BenchOptions(scale="smoke", losses=("nll", "rc"), out=tmp_path))
    assert calls == ["misled rc", "random rc"]


def test_other_settings_are_other_units() -> None:
    small = synthetic_small.BENCH.units(BenchOptions(scale="smoke", epochs=3))[0]
    other = synthetic_small.BENCH.units(BenchOptions(scale="smoke", epochs=4))[0]
    assert small.key == other.key
    assert unit_hash("synthetic-small", small) != unit_hash("synthetic-small", other)


def test_a_result_cut_off_by_a_crash_is_done_again(tmp_path: Path) -> None:
    options = BenchOptions(scale="smoke", losses=("nll",), out=tmp_path)
    path = run_bench("synthetic-small", options).folder / RESULTS
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[:-40], encoding="utf-8")
    run_bench("synthetic-small", options)
    keys = [record.key for record in read_records(path)]
    assert keys == ["misled nll", "random nll"]


def test_a_results_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "synthetic-small-smoke" / RESULTS
    path.parent.mkdir()
    path.write_text("hello\nworld\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"results\.jsonl:1: not a bench result"):
        run_bench("synthetic-small", BenchOptions(scale="smoke", out=tmp_path))
    assert path.read_text(encoding="utf-8") == "hello\nworld\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "huge"}, "unknown scale 'huge'; known are smoke, cpu, paper"),
        ({"losses": ("nil",)}, "unknown loss 'nil'"),
        ({"losses": ()}, "losses names no loss"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"epochs": -1}, "epochs must be at least 1"),
        ({"device": "abacus"}, "device='abacus' cannot be used here"),
    ],
)
def test_bad_options_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        BenchOptions(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_bench_is_refused() -> None:
    with pytest.raises(InputError, match="unknown bench 'imagenet'; known are dynamics, "):
        run_bench("imagenet", BenchOptions())


def test_the_cost_is_told_before_the_work_and_then_how_far_it_is(tmp_path: Path) -> None:
    told: list[Any] = []
    options = BenchOptions(scale="smoke", losses=("nll",), out=tmp_path)
    run_bench("synthetic-large", options, lambda *progress: told.append(progress), told.append)
    first, *rest = told
    assert first.startswith("synthetic-large: 1 units at scale smoke, about ")
    assert {stage for stage, _, _, _ in rest} == {"synthetic-large"}
    assert all(0 <= done <= total for _, _, done, total in rest)


def test_a_bench_prints_its_tables_or_nothing_but_json(run: Run) -> None:
    words = ("bench", "synthetic-large", "--scale", "smoke", "--losses", "nll", "--out", "results")
    shown = run(*words)
    assert "1 units at scale smoke" in shown.err
    assert "nll" in shown.out
    (record,) = json.loads(run(*words, "--json").out)
    assert record["settings"]["loss"] == "nll"
    assert 0 <= record["result"]["accuracy"][0] <= 100


def test_the_papers_number_stands_beside_ours_under_its_own_name() -> None:
    table = Table(
        "T", ("a", "b"), (("x", (Cell(70.0, 3.0, 69.8, 3.1), Cell(1.0))), ("y", (Cell(None), Cell("no data"))))
    )
    assert "|  | a | paper | difference | b |" in markdown_of(table)
    assert "| x | 70.0 ± 3.0 | 69.8 ± 3.1 | +0.2 (0.1σ) | 1.0 |" in markdown_of(table)
    assert "| y | – |  |  | no data |" in markdown_of(table)


@pytest.mark.parametrize("name", ["dynamics", "synthetic_small", "real_world", "cmt", "npd"])
def test_the_papers_numbers_name_their_source(name: str) -> None:
    assert paper_numbers(name)["source"].startswith("paper: ")


def test_absent_data_sets_are_shown_as_such(made_up_data: Path, tmp_path: Path) -> None:
    folder = run_bench(
        "real-world", BenchOptions(scale="smoke", losses=("nll",), out=tmp_path, data=made_up_data)
    ).folder
    text = (folder / "table.md").read_text(encoding="utf-8")
    assert "no data" in text  # MSRCv2 and BirdSong are not in the made-up folder
    assert text.count("64.7 ± 0.4") == 1  # Yahoo is there, the paper's number beside it


@pytest.mark.parametrize(("name", "options"), [("dynamics", {"tune": True}), ("cmt", {"db": "duckdb:///x"})])
def test_an_option_of_another_bench_is_refused(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"is for the bench .*, not for {name}"):
        run_bench(name, BenchOptions(scale="smoke", out=tmp_path, **options))
    assert not list(tmp_path.iterdir())


def test_a_learning_rate_is_chosen_without_looking_at_true_labels(made_up_data: Path, tmp_path: Path) -> None:
    options = BenchOptions(scale="smoke", losses=("nll",), out=tmp_path, data=made_up_data, tune=True, epochs=30)
    folder = run_bench("real-world", options).folder
    assert "learning rate chosen on a validation split" in (folder / "table.md").read_text(encoding="utf-8")
    tuned = [record for record in read_records(folder / RESULTS) if "rates" in record.settings]
    assert len(tuned) == 6
    assert all(rate in real_world.RATES for rate in (record.result["chosen_rate"] for record in tuned))
    linear = next(record for record in tuned if record.settings["model"] == "linear")
    assert min(linear.result["accuracy"]) > 60


def test_the_report_needs_no_network_and_holds_every_run(made_up_data: Path, tmp_path: Path) -> None:
    for name in ("synthetic-small", "real-world"):
        run_bench(name, BenchOptions(scale="smoke", losses=("nll",), out=tmp_path, data=made_up_data))
    page = bench_report(tmp_path).read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert "synthetic-small-smoke" in page
    assert "real-world-smoke" in page
    assert "http" not in page.replace("data:image", "")
    assert "not for comparing" in page


def test_a_report_over_nothing_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no bench has left its results\.jsonl here"):
        bench_report(tmp_path)


def test_large_scales_are_projected_before_they_are_run() -> None:
    seconds = sum(unit.seconds for unit in synthetic_large.BENCH.units(BenchOptions(scale="paper")))
    assert seconds >= 50 * 3600
    assert duration(seconds).endswith(" h")
    assert [duration(value) for value in (12, 600, 7200)] == ["12 s", "10 min", "2.0 h"]


@pytest.mark.parametrize("width", [80, 120, 300])
def test_a_wide_table_is_cut_to_the_terminal_and_nothing_is_lost(width: int) -> None:
    columns = tuple(f"step {i}" for i in range(11))
    cells = tuple(Cell(i / 100, 0.01) for i in range(11))
    table = Table("F1", columns, (("generated, opaque names: neural, libra", cells),), 3)
    console = Console(width=width, record=True, file=io.StringIO())
    for part in fitting(table, console):
        console.print(rich_of(part))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert all(text.count(f"step {i} ") == 1 and f"0.{i:02}0 ± 0.010" in text for i in range(11))


def test_a_bench_leaves_the_arithmetic_as_it_was(tmp_path: Path) -> None:
    run_bench("synthetic-large", BenchOptions(scale="smoke", losses=("nll",), out=tmp_path))
    assert sys.float_info.min / 2 > 0  # a denormal number
    with flushed_denormals():
        assert sys.float_info.min / float("2") == 0
