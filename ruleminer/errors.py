"""The errors a user can cause: raised where the cause is known, printed once, by the command line.

An option stands in a message as ‹name› or ‹name=value›. A caller of the library reads it as they write it
(`force=True replaces it`), a user of the command line as they type it (`--force replaces it`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_OPTION = re.compile(r"‹(\w+)(?:=([^›]*))?›")


def printable(text: str) -> str:
    """Text of a database for a terminal: what would steer it (escapes, other control and format characters) as codes.

    >>> printable("red \x1b[31m")
    'red \\x1b[31m'
    """
    return "".join(
        ascii(character)[1:-1] if unicodedata.category(character) in _STEERING and character != "\n" else character
        for character in text
    )


def first_line(error: BaseException) -> str:
    """What another library's error says first, or its kind where it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


class RuleminerError(Exception):
    """One clear line: what is wrong, where, and what to do about it. Ends a command with exit code 2."""

    def __init__(self, message: str) -> None:
        super().__init__(_OPTION.sub(lambda option: option[0][1:-1], message))
        self._message = message

    def told(self, option: Callable[[str, str | None], str]) -> str:
        """The message with its options, each a name and perhaps a value, spelt by somebody else."""
        return _OPTION.sub(lambda found: option(found[1], found[2]), self._message)


class InputError(RuleminerError):
    """A file or value the user gave is missing, broken or out of range."""


class SearchTimeError(InputError):
    """A search that did not end within the time it was given: with more of it, or less to look for, it may."""


class SyntaxProblem(RuleminerError):
    """Text in one of our small languages that does not parse; the message carries line and column."""

    def __init__(self, message: str, line: int, column: int, source: str = "") -> None:
        self.line, self.column, self.source = line, column, source
        where = f"{source}:{line}:{column}" if source else f"line {line}, column {column}"
        super().__init__(f"{where}: {message}")


class DatabaseError(RuleminerError):
    """A database that cannot be reached, refuses a query, or lacks what was asked for."""


class DatabaseTimeoutError(DatabaseError):
    """The database did not answer within the time we were given."""


class ConnectionLostError(DatabaseError):
    """The connection broke in the middle of a statement; the next statement opens a new one."""


class StatementStoppedError(ConnectionLostError):
    """Somebody else stopped a statement or kept it waiting (a cancel, a lock): asked again, it may well be answered."""


class NoteWarning(UserWarning):
    """Something that a user should know and that stops nothing; the command line tells it in one line."""


class RoleWarning(NoteWarning):
    """The role that reads a database may do more than read."""


class UnansweredWarning(NoteWarning):
    """A question about the structure of a database that it did not answer: keys or links may be missing."""


class NotKeptWarning(NoteWarning):
    """Tables of a server that could not be kept here: they are asked for there, as often as it takes."""


class TakenOverWarning(NoteWarning):
    """A run that a process left without finishing is taken over."""
