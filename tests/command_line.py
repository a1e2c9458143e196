"""The command line inside a test: `run` is a fixture of conftest.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ruleminer import terminal
from ruleminer.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path | None) -> Run:
    """A function that runs a command, in `folder` if there is one, and catches what it says."""
    if folder is not None:
        monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    for console in (terminal.results, terminal.log):  # whoever imported them first, and wherever
        monkeypatch.setattr(console, "_width", 200)

    def run(*words: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["ruleminer", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run
