"""The command line: each command parses its words, calls one function and prints what it returns."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TextIO

from ruleminer.cli import (
    benches,
    exporting,
    initialising,
    materialising,
    pretraining,
    review,
    scenarios,
    stages,
    validating,
)
from ruleminer.cli.app import app
from ruleminer.errors import RoleWarning, RuleminerError, printable

__all__ = ["app", "exporting", "initialising", "main", "materialising", "pretraining", "review", "validating"]

_INTERRUPTED = "interrupted; extract, propose-mappings and bench go on when they are run again, train with --resume\n"

app.add_typer(scenarios.app, name="scenario")
app.add_typer(stages.datasets, name="dataset")
app.add_typer(benches.app, name="bench")


_FLAGS = {
    "start": "from",
    "language": "format",
    "iris": "iri",
    "database": "db",
    "form": "format",
}  # where they are not called as in the library


def _as_typed(name: str, value: str | None) -> str:
    """An option of the library as the command line has it."""
    flag = f"--{_FLAGS.get(name, name).replace('_', '-')}"
    return flag if value in (None, "True") else f"{flag} {value}"


def _tell_role(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, RoleWarning):
        sys.stderr.write(f"note: {printable(str(message))}\n")
    else:
        _tell_as_before(message, category, filename, lineno, file, line)


_tell_as_before = warnings.showwarning


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit code 2."""
    warnings.showwarning = _tell_role
    try:
        app()
    except RuleminerError as error:
        sys.stderr.write(f"error: {printable(error.told(_as_typed))}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write(_INTERRUPTED)
        sys.exit(130)
    except SystemExit as end:
        if end.code == 130:  # typer has its own way with Ctrl-C, and says nothing
            sys.stderr.write(_INTERRUPTED)
        raise
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
