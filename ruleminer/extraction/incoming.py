"""Rows of the source on their way into the work database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

import duckdb
import pyarrow as pa

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.sql import Query


class Source(Protocol):
    """What extraction needs of a database: its dialect, and the rows of a query as Arrow batches."""

    @property
    def dialect(self) -> Dialect: ...
    def arrow(self, sql: str, params: Sequence[object] | None = None) -> pa.RecordBatchReader: ...


@contextmanager
def incoming(work: duckdb.DuckDBPyConnection, source: Source, query: Query, table: str) -> Iterator[None]:
    """The rows of a query on a table as the relation `incoming`.

    What the source fails with is told as such: DuckDB would report it as an error of its own.
    """
    failed: list[DatabaseError] = []
    try:
        reader = source.arrow(query.sql, query.parameters)
    except DatabaseError as error:
        raise _told(error, table) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except DatabaseError as error:
            failed.append(error)
            raise

    work.register("incoming", pa.RecordBatchReader.from_batches(reader.schema, batches()))
    try:
        yield
    except duckdb.Error:
        if failed:
            raise _told(failed[0], table) from None
        raise
    finally:
        # A transaction that broke lets nothing go, and the next takes its place; a connection may have been closed.
        with suppress(duckdb.TransactionException, duckdb.ConnectionException):
            work.unregister("incoming")


def _told(error: DatabaseError, table: str) -> DatabaseError:
    if isinstance(error, ConnectionLostError | DatabaseTimeoutError):
        return error
    return DatabaseError(f"table {table} cannot be read: {error}; leave it out with ‹exclude={table}›")
