"""Each folder here is a bug that was fixed: what a user did, and what must happen (README.md says how to add one)."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.command_line import Run

HERE = Path(__file__).parent
ISSUES = sorted(session.parent for session in HERE.glob("*/session.txt"))


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.name)
def test_the_bug_stays_fixed(issue: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEMINER_CACHE", str(tmp_path / "cache"))
    shutil.copytree(issue, tmp_path, dirs_exist_ok=True)
    for script in tmp_path.glob("*.*.sql"):  # shop.duckdb.sql makes shop.duckdb
        make_database(script.with_suffix(""), script.read_text("utf-8"))
    for command, expected in steps((issue / "session.txt").read_text("utf-8")):
        printed = output(shlex.split(command), run)
        assert alike(expected, printed), f"$ {command}\n{printed}\nexpected:\n{expected}"


def test_every_folder_is_run() -> None:
    assert {path for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(ISSUES)


def make_database(path: Path, script: str) -> None:
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as lite:
            lite.executescript(script)
    else:
        with duckdb.connect(path) as duck:
            duck.execute(script)


def steps(session: str) -> list[tuple[str, str]]:
    """The commands of a session, each with what it prints."""
    return re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE)


def output(words: list[str], run: Run) -> str:
    """What a terminal would show: results, then complaints, then the exit code if it is not 0."""
    if words[0] == "cat":
        return Path(words[1]).read_text("utf-8")
    assert words[0] == "ruleminer"
    result = run(*words[1:])
    return result.out + result.err + (f"[{result.code}]\n" if result.code else "")


def alike(expected: str, printed: str) -> bool:
    """The same but for blanks at the ends of lines; `...` stands for anything."""
    plain = [re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE) for text in (expected, printed)]
    return doctest.OutputChecker().check_output(*plain, doctest.ELLIPSIS)
