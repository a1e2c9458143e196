"""What every engine offers, and how its failures and its patience are told: one line, no password."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from sqlalchemy.engine import URL

from ruleminer.errors import DatabaseTimeoutError, printable
from ruleminer.rules.dialects import Dialect
from ruleminer.sources.engines.alarms import ALARMS
from ruleminer.sources.schema import Table

ROWS_PER_FETCH = 10_000
ROWS_PER_BATCH = 100_000

Parameters = Sequence[object] | None
Tell = Callable[[object], None]
Through = Callable[[Iterator[pa.RecordBatch], Tell], Iterator[pa.RecordBatch]]
"""What becomes of a statement's rows, and how to tell what happened on the way."""

_SECRET = re.compile(r"pass|pwd|token|secret|key(?![a-z])|credential", re.IGNORECASE)
"""Options of a URL whose values nobody may see."""

ROLE = "role"
"""The option of a server's URL that names the role to take on when connected."""


class Engine(Protocol):
    """A read-only session factory. `rows` and `arrow` may be interleaved: each has a session of its own."""

    dialect: Dialect

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has."""

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted, and (name, reason) of those we may not read."""

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed."""

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches."""

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """Those of the names that a stranger's SQL may not call here (foreign_sql.py)."""

    def role_problem(self) -> str:
        """What the role we read with should not be allowed to do, in a few words; empty if it may only read."""

    def limit_memory(self, size: int | None) -> None:
        """Take no more than so many bytes of this machine's memory from now on; None: as many as at first."""

    def close(self) -> None:
        """Give back every connection."""


@runtime_checkable
class WritesInParallel(Protocol):
    """What an engine offers beside that if it can write what becomes of its rows, many at a time."""

    @property
    def writes_in_parallel(self) -> bool:
        """Whether it can, as it was opened."""

    def write_distinct(
        self, statements: Sequence[tuple[str, Through]], columns: Sequence[str], folder: Path, form: str, per_file: int
    ) -> tuple[list[Path], int, list[Any]]:
        """What becomes of the rows of statements, each row once, as files: their names, the rows, what was told."""


@runtime_checkable
class Interruptible(Protocol):
    """What an engine offers beside that if what streams from it can be ended from another thread."""

    def interrupt(self) -> None:
        """End what streams now: whoever waits for it gets an error."""


class Clock:
    """The patience for one statement: what all waits for the database may last together.

    A query without an end may bring its rows quickly, so each wait alone would never be too long. The time that
    the reader of the rows takes does not count.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._left = seconds, seconds

    @contextmanager
    def waiting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """A wait for the database, interrupted when the patience is gone."""
        if self._left <= 0:
            raise timed_out(self._seconds)
        started = time.monotonic()
        try:
            with time_limit(self._left, interrupt, self._seconds):
                yield
        finally:
            self._left -= time.monotonic() - started


@contextmanager
def time_limit(seconds: float, interrupt: Callable[[], object], told: float | None = None) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds; its error is then a `DatabaseTimeoutError`.

    `told` is the limit that the user knows, where these seconds are what is left of it. An interruption that has begun
    is waited for, so `interrupt` must come to its end by itself.
    """
    turn, expired, over = threading.Lock(), False, False

    def expire() -> None:
        nonlocal expired
        with turn:  # what has ended must not be interrupted: it may be closed, or ask for the next thing
            if not over:
                expired = True
                interrupt()

    alarm = ALARMS.set(seconds, expire)
    try:
        yield
    except Exception:
        if expired:
            raise timed_out(told or seconds) from None
        raise
    finally:
        ALARMS.take_back(alarm)
        with turn:
            over = True


def timed_out(seconds: float) -> DatabaseTimeoutError:
    """The error of a statement that took too long."""
    return DatabaseTimeoutError(f"the database did not answer within {seconds:g} s; ask for less or allow more time")


def one_line(error: object) -> str:
    """The first paragraph of an engine's message, on one line and of bearable length."""
    text = printable(" ".join(str(error).strip().split("\n\n")[0].split()))
    return text if len(text) <= 400 else text[:397] + "..."


def without_password(url: URL) -> str:
    """The URL as we may show it: no secret, neither before the host nor among the options."""
    hidden = [key for key in url.query if _SECRET.search(key)]
    return printable(url._replace(password=None).difference_update_query(hidden).render_as_string())


def role_of(url: URL) -> str | None:
    """The role that a URL asks for."""
    role = url.query.get(ROLE)
    return role if isinstance(role, str) and role else None


def scrubbed(text: str, url: URL) -> str:
    """Text from the engine with any secret of the URL blotted out.

    Where it stands within a word it is part of that word: blots all over the text would tell a short one.
    """
    options = [value for key, value in url.query.items() if _SECRET.search(key)]
    for secret in (url.password, *options):
        if isinstance(secret, str) and secret:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)" if len(secret) < 5 else re.escape(secret), "***", text)
    return text


def streamed(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """A reader over a generator that cleans up behind itself."""
    return pa.RecordBatchReader.from_batches(schema, batches)
