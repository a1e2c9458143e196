"""The command line: each command parses its words, calls one function and prints what it returns."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from contextlib import suppress
from typing import TextIO

from typer._click.exceptions import NoArgsIsHelpError

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
from ruleminer.cli.failures import told_error
from ruleminer.errors import NoteWarning, printable

__all__ = ["app", "exporting", "initialising", "main", "materialising", "pretraining", "review", "validating"]

_INTERRUPTED = (
    "interrupted; extract, draft, propose-mappings, review and bench go on when they are run again, "
    "train with --resume\n"
)

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


def _tell_note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, NoteWarning):
        sys.stderr.write(f"note: {printable(str(message))}\n")
    else:
        _tell_as_before(message, category, filename, lineno, file, line)


_tell_as_before = warnings.showwarning


def main() -> None:
    """Run the command line. Whatever goes wrong below ends here, in one line and an exit code."""
    warnings.showwarning = _tell_note
    gc.set_threshold(
        50_000, 20, 20
    )  # millions of values stay; to look at them again and again was an eighth of the work
    try:
        try:
            code = app(prog_name="ruleminer", standalone_mode=False)
        finally:
            sys.stdout.flush()  # what cannot be written is told here, not when Python ends
        if code:
            sys.exit(code)
    except NoArgsIsHelpError as error:
        sys.stderr.write(error.format_message() + "\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write(_INTERRUPTED)
        sys.exit(130)
    except SystemExit as end:
        if end.code == 130:  # typer turns Ctrl-C into an exit code, and says nothing
            sys.stderr.write(_INTERRUPTED)
        raise
    except BrokenPipeError:  # `| head` has seen enough
        _close_stdout()
        sys.exit(141)
    except BaseException as error:
        code, told = told_error(error, sys.argv, _as_typed)
        if isinstance(error, OSError):
            _close_stdout()
        with suppress(OSError):  # where there is no room for anything, the exit code tells
            sys.stderr.write(f"error: {printable(told)}\n")
        sys.exit(code)


def _close_stdout() -> None:
    """Write no more of what is left: there is nobody, or no room, to take it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
