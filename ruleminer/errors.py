"""The errors a user can cause: raised where the cause is known, printed once in cli.py."""

from __future__ import annotations


class RuleminerError(Exception):
    """One clear line: what is wrong, where, and what to do about it. Ends a command with exit code 2."""


class InputError(RuleminerError):
    """A file or value the user gave is missing, broken or out of range."""


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
