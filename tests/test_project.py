"""The project holds to its own rules: lint, format, types, and which room may import which."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy"],
    ],
    ids=["lint", "format", "types"],
)
def test_the_code_is_clean(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_rooms_import_only_the_rooms_above_them() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_ci_runs_the_command_of_the_readme() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    commands = re.findall(r"```sh\n(.*?)\n```", readme, re.DOTALL)
    assert "ruleminer demo" in commands[0]
    assert "pytest" in commands[1]
    assert "<!-- tests -->" in readme


def test_the_checks_before_a_commit_use_tools_of_the_environment() -> None:
    hooks = (PROJECT / ".pre-commit-config.yaml").read_text("utf-8")
    tools = re.findall(r"entry: \.venv/bin/(\S+)", hooks)
    assert set(tools) == {"ruff", "mypy", "lint-imports"}
    assert hooks.count("entry:") == hooks.count("language: system") == len(tools)  # none that is fetched
    for tool in tools:
        assert Path(sys.executable).with_name(tool).exists()
