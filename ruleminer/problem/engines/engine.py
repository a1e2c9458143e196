"""What every engine offers, and how its failures and its patience are told: one line, no password."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa
from sqlalchemy.engine import URL

from ruleminer.errors import DatabaseTimeoutError
from ruleminer.problem.schema import Table

ROWS_PER_FETCH = 10_000
ROWS_PER_BATCH = 100_000

Parameters = Sequence[object] | None


class Engine(Protocol):
    """A read-only session factory. `rows` and `arrow` may be interleaved: each has a session of its own."""

    dialect: str

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

    def close(self) -> None:
        """Give back every connection."""


@contextmanager
def time_limit(seconds: float, interrupt: Callable[[], object]) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds; its error is then a `DatabaseTimeoutError`."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        interrupt()

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if expired.is_set():
            raise timed_out(seconds) from None
        raise
    finally:
        timer.cancel()


def timed_out(seconds: float) -> DatabaseTimeoutError:
    """The error of a statement that took too long."""
    return DatabaseTimeoutError(f"the database did not answer within {seconds:g} s; ask for less or allow more time")


def one_line(error: object) -> str:
    """The first paragraph of an engine's message, on one line and of bearable length."""
    text = " ".join(str(error).strip().split("\n\n")[0].split())
    return text if len(text) <= 400 else text[:397] + "..."


def without_password(url: URL) -> str:
    """The URL as we may show it: no password, neither before the host nor among the options."""
    hidden = [key for key in url.query if "password" in key.lower() or key.lower() == "passfile"]
    return url._replace(password=None).difference_update_query(hidden).render_as_string()


def scrubbed(text: str, url: URL) -> str:
    """Text from the engine with any password of the URL blotted out."""
    options = [value for key, value in url.query.items() if "password" in key.lower()]
    for secret in (url.password, *options):
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "***")
    return text


def streamed(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """A reader over a generator that cleans up behind itself."""
    return pa.RecordBatchReader.from_batches(schema, batches)
