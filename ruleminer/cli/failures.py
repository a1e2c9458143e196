"""The one door for errors: whatever is raised below becomes one line and an exit code.

2    something that the user, the disk or the memory of the machine is the cause of, and that the user can mend
70   a mistake of ours: the traceback is kept in a file, and the line says where, and how to report it
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from typer import Abort
from typer._click.exceptions import ClickException

from ruleminer import __version__
from ruleminer.errors import RuleminerError, first_line

USER, INTERNAL = 2, 70
_PASSWORD = re.compile(r"(?<=://)([^/@\s:]*):([^@\s]*)@")
_SECRET = re.compile(r"([\w.]*(?:pass|pwd|token|secret|key|credential)[\w.]*=)[^&\s]+", re.IGNORECASE)


def told_error(error: BaseException, words: Sequence[str], option: Callable[[str, str | None], str]) -> tuple[int, str]:
    """The exit code of an error and what is told of it; options are spelt as the command line has them."""
    if isinstance(error, RuleminerError):
        return USER, error.told(option)
    if isinstance(error, ClickException):
        return USER, _told_usage(error)
    if isinstance(error, Abort):
        return USER, "the input is at its end"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return USER, f"{where}{error.strerror or first_line(error)}"
    if isinstance(error, MemoryError):
        return USER, "out of memory: ask for less at a time, or use a machine with more"
    if isinstance(error, RecursionError):
        return USER, "something that was read is nested too deep"
    return INTERNAL, _told_internal(error, words)


def _told_usage(error: ClickException) -> str:
    """What is wrong with the words of a command, in one line, and where to read what it takes."""
    told = " ".join(error.format_message().split()).removesuffix(".")
    context = getattr(error, "ctx", None)
    return f"{told}; see {context.command_path} --help" if context is not None else told


def _told_internal(error: BaseException, words: Sequence[str]) -> str:
    kind = type(error).__name__
    advice = "please report it as SECURITY.md or CONTRIBUTING.md says, with that file, after a look at what is in it"
    try:
        handle, name = tempfile.mkstemp(prefix="ruleminer-error-", suffix=".txt")  # for its owner alone
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_report(error, words))
    except OSError as problem:
        return f"a mistake of ruleminer's own ({kind}: {first_line(error)}); its traceback cannot be kept ({problem})"
    return f"a mistake of ruleminer's own ({kind}); what happened is kept in {Path(name)}: {advice}"


def _report(error: BaseException, words: Sequence[str]) -> str:
    command = next((word for word in words[1:] if not word.startswith("-")), "")
    system = f"ruleminer {__version__}, Python {platform.python_version()}, {sys.platform}"
    text = "".join(traceback.format_exception(error))
    return f"{system}\ncommand: {command}\n\n" + _SECRET.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))
