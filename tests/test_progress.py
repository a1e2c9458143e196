"""Progress: one protocol, which every long piece of work speaks and the terminal draws."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from ruleminer import terminal
from ruleminer.demo import DOMAIN
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import train_run
from ruleminer.progress import silent, unsaid
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.terminal import console

PACKAGE = Path(terminal.__file__).parent.parent
TINY = TrainOptions(size="tiny", updates=3, threads=1)


class Heard:
    """What was told, by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, list[tuple[str, int, int]]] = {}

    def __call__(self, stage: str, what: str, done: int, total: int) -> None:
        self.stages.setdefault(stage, []).append((what, done, total))


def test_every_stage_tells_how_far_it_is_up_to_the_end(tmp_path: Path) -> None:
    heard = Heard()
    scenario, run = tmp_path / "shop", tmp_path / "run"
    generate_scenario(scenario, domain=str(DOMAIN), size=100, progress=heard)
    extract_datasets(ExtractRequest(out=run, scenario=scenario, positives=3), heard)
    train_run(run, TINY, progress=heard)
    propose_mappings(ProposeRequest(run, scenario=scenario), heard)
    assert list(heard.stages) == [
        *("generate", "structure", "facts", "rows", "candidates", "training"),
        *("pool", "database", "ranking", "guesses", "materialise", "queries"),
    ]
    for stage, told in heard.stages.items():
        assert all(isinstance(what, str) and 0 <= done <= total for what, done, total in told), stage
        assert stage == "training" or told[-1][1] == told[-1][2], stage


def test_nobody_needs_to_listen(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    generate_scenario(tmp_path / "shop", domain=str(DOMAIN), size=100)
    extract_datasets(ExtractRequest(out=tmp_path / "run", scenario=tmp_path / "shop", positives=3))
    train_run(tmp_path / "run", TINY)
    silent("stage", "what", 1, 2)
    unsaid("a line")
    assert capfd.readouterr() == ("", "")


def test_the_terminal_draws_a_bar_per_stage_and_lines_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    monkeypatch.setattr(console, "log", screen)
    with terminal.progress_bars() as progress:
        progress("rows", "table [a]", 1, 2)
        terminal.say("a line with [brackets]")
        progress("training", "loss 0.5", 7, 9)
        progress("rows", "table b", 2, 2)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "a line with [brackets]" in shown
    assert re.search(r"rows .*2/2.*table b", shown)
    assert re.search(r"training .*7/9.*loss 0.5", shown)


def test_quiet_bars_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO())
    monkeypatch.setattr(console, "log", screen)
    with terminal.progress_bars(quiet=True) as progress:
        progress("rows", "", 1, 2)
    assert screen.file.getvalue() == ""  # type: ignore[attr-defined]


def test_only_the_terminal_has_consoles_and_only_progress_py_says_what_progress_is() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.relative_to(PACKAGE).as_posix() != "terminal/console.py":
            assert not re.search(r"\bConsole\(|\bprint\(|from rich.progress", re.sub(r"\.print\(", "", text)), path
        if path.name != "progress.py":
            assert not re.search(r"^(class )?Progress\b", text, re.MULTILINE), path
