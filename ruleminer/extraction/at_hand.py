"""The tables of a server, each read once and asked here from then on: for structure, names, constants and rows.

That is for tables that together take no more than the search may. Where there is more, where one of them cannot be read
to its end, or where DuckDB does not tell names apart (two that differ in case alone, a schema called like a database of
its own), all are asked on the server.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError, NotKeptWarning, first_line
from ruleminer.extraction.incoming import incoming
from ruleminer.extraction.interrupts import heeding_interrupts
from ruleminer.progress import Progress
from ruleminer.rules.sql import Query
from ruleminer.sources.database import Database
from ruleminer.sources.engines.duckdb import DuckDB, plain_connection, shut_in
from ruleminer.sources.engines.kept import CATALOGS, Kept, attach_kept, keeping, written_rows
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Table

_PACKED = 2  # times as many bytes as a server tells may come: it packs long texts
_ASKED = 100  # tables of which one statement asks the size
_AGAIN = 0.05  # seconds between interruptions of what is read
_FREE = 4  # of the free disk, one part in so many may be taken


@contextmanager
def at_hand(database: Database, memory: int, timeout: float, progress: Progress) -> Iterator[Database]:
    """The database with its tables at hand, if they take no more than so many bytes; or the database as it is."""
    kept = None if database.dialect.kept_as is None else _kept(database, memory, timeout, progress)
    if kept is None:
        yield database
    else:
        with kept, kept.memory_limit(memory):
            yield kept


def _kept(database: Database, memory: int, timeout: float, progress: Progress) -> Database | None:
    tables, refused = database.reflected
    most = min(memory, shutil.disk_usage(tempfile.gettempdir()).free // _FREE)
    taken = (database.schema_name or "").casefold() in CATALOGS
    if taken or _have_twins(tables):
        return None
    opened: list[duckdb.DuckDBPyConnection] = []
    loading = _Loading(database, tables, refused, most * _PACKED)

    def connect(spill: Path) -> duckdb.DuckDBPyConnection:
        connection = plain_connection({"temp_directory": str(spill), "memory_limit": f"{memory}B"})
        opened.append(connection)
        try:
            loading.load(connection, attentive)
            shut_in(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    over = threading.Event()

    def interrupt() -> None:
        """Again and again: between two statements nobody hears."""
        while not over.wait(_AGAIN):
            database.interrupt()
            for connection in opened:
                with suppress(duckdb.ConnectionException):  # closed by now
                    connection.interrupt()

    def stop() -> None:
        threading.Thread(target=interrupt, daemon=True).start()

    asked: DuckDB | None = None
    why = ""
    with heeding_interrupts(progress, stop) as attentive:
        try:
            if _bytes(database, tables) > most:
                return None
            asked = DuckDB(database.safe_url, timeout, connect)
        except ConnectionLostError:
            raise
        except (DatabaseError, duckdb.Error, pa.ArrowException, OSError) as error:
            why = first_line(error)
        finally:
            over.set()
    if asked is None:
        if not loading.is_full:  # nor interrupted, which would have ended here
            told = f"tables are not kept here ({why}) and asked for on the server, again and again"
            warnings.warn(told, NotKeptWarning, stacklevel=5)
        return None
    if database.schema_name is not None:
        asked.use_schema(database.schema_name)
    assert database.dialect.kept_as is not None
    return database.asked_by(Kept(asked, database.dialect.kept_as, loading.brought, loading.unreadable))


class _Loading:
    """The way of all tables to where they are kept, as far as there is room; it is itself what they are read from."""

    def __init__(
        self, database: Database, tables: Sequence[Table], unreadable: Sequence[tuple[str, str]], room: int
    ) -> None:
        self.dialect, self.brought, self.unreadable = database.dialect, list[Table](), list(unreadable)
        self._database, self._tables, self._room = database, tables, room

    @property
    def is_full(self) -> bool:
        """Whether more came than there is room for."""
        return self._room < 0

    def load(self, connection: duckdb.DuckDBPyConnection, progress: Progress) -> None:
        """Bring all tables over; a view that no longer works is none."""
        attach_kept(connection, self._database.schema_name)
        for number, table in enumerate(self._tables):
            try:
                rows = patiently(partial(self._keep, connection, table, number, self._room, progress))
            except (ConnectionLostError, DatabaseTimeoutError):
                raise
            except DatabaseError:
                progress("reading", table.name, number, len(self._tables))
                reason = _trouble(self._database, table) if table.is_view and not self.is_full else None
                if reason is None:
                    raise
                self.unreadable.append((table.name, reason))
            else:
                self.brought.append(replace(table, rows=rows))
        progress("reading", "", len(self._tables), len(self._tables))

    def arrow(self, sql: str, params: Sequence[object] | None = None) -> pa.RecordBatchReader:
        """The rows of a query, as long as there is room for them."""
        reader = self._database.arrow(sql, params)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                self._room -= batch.nbytes
                if self.is_full:
                    raise DatabaseError("more than there is room for")
                yield batch

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    def _keep(
        self, connection: duckdb.DuckDBPyConnection, table: Table, number: int, room: int, progress: Progress
    ) -> int:
        self._room = room  # what came before a connection was lost is thrown away
        # Here an interrupt is heard, should it be asked again.
        progress("reading", table.name, number, len(self._tables))
        with incoming(connection, self, Query(written_rows(table, self.dialect), ()), table.name):
            ((rows,),) = connection.execute(keeping(table, self._database.schema_name, "incoming")).fetchall()
        return int(rows)


def _have_twins(tables: Sequence[Table]) -> bool:
    """Whether names of tables, or of columns in one, are the same but for upper and lower case."""
    named = [[table.name for table in tables], *([column.name for column in table.columns] for table in tables)]
    return any(len({name.casefold() for name in names}) < len(names) for names in named)


def _bytes(database: Database, tables: Sequence[Table]) -> int:
    """What tables take together, as far as that is known before they are read."""
    total, names = 0, [database.quoted(table.name) for table in tables if not table.is_view]
    for start in range(0, len(names), _ASKED):
        some = names[start : start + _ASKED]
        sql = f"SELECT {' + '.join(f'({database.dialect.table_bytes})' for _ in some)}"
        ((size,),) = patiently(lambda sql=sql, some=some: list(database.rows(sql, some)))  # type: ignore[misc]
        total += int(size)
    return total


def _trouble(database: Database, view: Table) -> str | None:
    """Why a view cannot even be counted; None if it can, or if that takes too long."""
    try:
        list(database.rows(f"SELECT count(*) FROM {database.quoted(view.name)}"))
    except (ConnectionLostError, DatabaseTimeoutError):
        return None
    except DatabaseError as error:
        return str(error)
    return None
