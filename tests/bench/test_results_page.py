"""The results page: written from the project's result files, which take in those of a run."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from ruleminer.bench.runner import run_bench
from ruleminer.bench.units import BenchOptions, read_records

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "results.py"


@pytest.fixture
def page(tmp_path: Path) -> dict[str, Any]:
    names = runpy.run_path(str(SCRIPT))
    for function in ("take_in", "measured", "section", "main"):  # they share one namespace
        names[function].__globals__.update(
            MEASURED=tmp_path / "measured", PICTURES=tmp_path / "pictures", PAGE=tmp_path / "page.md", SCALES=("smoke",)
        )
    return names


def test_a_unit_that_was_run_again_replaces_its_older_result(page: dict[str, Any], tmp_path: Path) -> None:
    for folder, epochs in (("first", 1), ("second", 2)):
        options = BenchOptions(scale="smoke", losses=("nll",), epochs=epochs, out=tmp_path / folder)
        run_bench("synthetic-small", options)
        page["take_in"](tmp_path / folder)
    kept = read_records(tmp_path / "measured" / "synthetic-small-smoke.jsonl")
    assert [record.settings["epochs"] for record in kept] == [2, 2]


def test_sections_without_result_files_stay(
    page: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.md").write_text(
        "# Results\n\n## dynamics\n\nold words\n\n## synthetic-small\n\nold too\n<!-- by hand -->\nadded\n", "utf-8"
    )
    run_bench("synthetic-small", BenchOptions(scale="smoke", losses=("nll",), out=tmp_path / "run"))
    monkeypatch.setattr("sys.argv", ["results.py", str(tmp_path / "run")])
    for _ in range(2):
        page["main"]()
        text = (tmp_path / "page.md").read_text("utf-8")
        assert text.count("old words\n\n## synthetic-small\n") == 1
        assert "old too" not in text
        assert text.count("<!-- by hand -->\nadded\n") == 1
        assert "`ruleminer bench synthetic-small --scale smoke`" in text
    assert (tmp_path / "pictures" / "synthetic-small-figure-7-small.png").is_file()
