"""PostgreSQL servers: rows through psycopg2's server-side cursors, Arrow through ADBC's COPY.

Every statement runs in a READ ONLY transaction that is rolled back, on both ways. A statement cannot leave it: the
server refuses to make it writable once a query runs, and takes one statement at a time (`_refuse_several`).
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import psycopg2
import pyarrow as pa
from psycopg2.extensions import connection as Connection  # noqa: N812
from psycopg2.extensions import make_dsn, new_type, register_type
from sqlalchemy.engine import URL

from ruleminer.errors import ConnectionLostError, DatabaseError, StatementStoppedError
from ruleminer.rules.dialects import POSTGRES
from ruleminer.sources.engines.engine import (
    ROLE,
    ROWS_PER_FETCH,
    Clock,
    Parameters,
    one_line,
    role_of,
    scrubbed,
    streamed,
    timed_out,
    without_password,
)
from ruleminer.sources.schema import Column, ForeignKey, Table, quote_identifier

_LONG_IDLE = 60.0  # seconds
_LOCK_PATIENCE = 10.0  # seconds; a lock that is held longer is told, not waited for
_FORGOTTEN = 3600  # seconds after which the server gives up a transaction of ours in which nothing happens

_SCHEMAS = """
SELECT n.nspname::text, count(c.oid), n.nspname = current_schema()
FROM pg_namespace n LEFT JOIN pg_class c
  ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')
GROUP BY n.oid, n.nspname"""
# A domain stands for its base type. A partition's rows are its parent's.
_COLUMNS = """
SELECT c.relname::text, c.relkind IN ('v', 'm'), a.attname::text,
  format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid),
              CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
  NOT (a.attnotnull OR t.typnotnull), has_column_privilege(c.oid, a.attnum, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
ORDER BY c.relname, a.attnum"""
_NAMES = """ARRAY(SELECT a.attname::text FROM unnest({key}) WITH ORDINALITY u(number, place)
  JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = u.number ORDER BY u.place)"""
_CONSTRAINTS = f"""
SELECT c.relname::text, k.contype::text, {_NAMES.format(key="k.conkey", table="k.conrelid")},
  f.relname::text, {_NAMES.format(key="k.confkey", table="k.confrelid")}
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_class f ON f.oid = k.confrelid
WHERE n.nspname = %s AND k.contype IN ('p', 'u', 'f') AND (f.oid IS NULL OR f.relnamespace = n.oid)
ORDER BY k.oid"""
# A function declared volatile may write or reach out; overloads share a name, so one is enough.
_VOLATILE = "SELECT DISTINCT proname::text FROM pg_proc WHERE proname = ANY(%s) AND provolatile = 'v'"
# These are stable, and yet tell of the server, its roles and its other tables. What a rule needs is none of them.
_TELLING = re.compile(
    r"^(pg_|lo_|lo(create|creat|import|export|read|write|get|put)|dblink|has_|row_security|inet_(client|server)|ts_stat"
    r"|ts_rewrite|binary_upgrade|txid_|currtid|currval|nextval|setval|set_config|current_setting|cursor_to_xml"
    r"|current_(database|schemas?|role|catalog)|session_user|version$)|_to_xml|xmlschema$"
)
_ROLE = """
SELECT r.rolsuper, EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')
  AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
FROM pg_roles r WHERE r.rolname = current_user"""


def _without_padding(value: Any, _cursor: object) -> Any:
    return None if value is None else value.rstrip(" ")


# The blanks that fill up a char(n) do not count: a comparison or a cast to text in PostgreSQL drops them too.
_PADDED = new_type((1042,), "BPCHAR", _without_padding)


def _plain_bytes(value: str | bytes | None, cursor: Any) -> bytes | None:
    """Bytes of their own: psycopg2's are a view that cannot be sent to another process."""
    read = psycopg2.BINARY(value, cursor)
    return None if read is None else bytes(read)


_BYTES = new_type((17,), "BYTEA", _plain_bytes)


class PostgreSQL:
    """A server. Connections are opened as needed and kept for the next statement."""

    dialect = POSTGRES

    def __init__(self, url: URL, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._schema: str | None = None
        self._idle: list[tuple[float, Connection]] = []  # since when
        self._idle_streams: list[adbc.Connection] = []
        self._streaming: list[adbc.Cursor] = []
        self._reached = False  # a server that has answered once and is not to be reached is lost
        with self._connection():
            self._reached = True

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has."""
        found = list(self.rows(_SCHEMAS, None))
        return next((name for name, _, current in found if current), None), {n: c for n, c, _ in found}

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""
        self._schema = name
        self.close()

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted, and those we may not read. Columns we may not read are left out."""
        columns: dict[tuple[str, bool], list[Column]] = defaultdict(list)
        forbidden = set()
        for table, is_view, column, sql_type, nullable, readable in self.rows(_COLUMNS, (schema,)):
            known = columns[table, is_view]
            if readable:
                known.append(Column.of_type(column, sql_type, nullable))
            elif column is not None:
                forbidden.add(table)
        keys = list(self.rows(_CONSTRAINTS, (schema,)))
        tables = [_table(n, v, c, keys) for (n, v), c in columns.items() if c or n not in forbidden]
        return tables, [(n, "no permission to read it") for (n, _), c in columns.items() if not c and n in forbidden]

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed through a server-side cursor."""
        clock = Clock(self._timeout)
        with self._connection() as connection, self._cursor(connection) as cursor:
            with self._guarded(connection):
                literal = cursor.mogrify(sql, params).decode()
            self._refuse_several(literal)
            with self._guarded(connection), clock.waiting(connection.cancel):
                cursor.execute(sql, params)
                fetched = cursor.fetchmany(ROWS_PER_FETCH)
            while fetched:
                yield from fetched
                with self._guarded(connection), clock.waiting(connection.cancel):
                    fetched = cursor.fetchmany(ROWS_PER_FETCH)

    @contextmanager
    def _cursor(self, connection: Any) -> Iterator[Any]:
        """A cursor of the server's. To close one is a statement, too, and the connection may be lost by then."""
        cursor = connection.cursor("ruleminer")
        try:
            yield cursor
        except BaseException:
            with suppress(psycopg2.Error):
                cursor.close()
            raise
        with self._guarded(connection):
            cursor.close()

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches. `numeric` comes as text, not to lose digits."""
        with self._connection() as connection, connection.cursor() as cursor, self._guarded(connection):
            literal = cursor.mogrify(sql, params).decode()
        batches = self._batches(literal)
        return streamed(next(batches), batches)

    def _batches(self, sql: str) -> Iterator[Any]:
        # Parameters stand in the text (as psycopg2 sends them too): ADBC streams through COPY, which takes none.
        clock = Clock(self._timeout)
        with self._stream() as cursor:
            with self._adbc_guarded(cursor, clock):
                _elsewhere(cursor, partial(cursor.execute, sql))
                reader = cursor.fetch_record_batch()
            yield reader.schema
            while True:
                with self._adbc_guarded(cursor, clock):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        break
                yield batch

    def _refuse_several(self, sql: str) -> None:
        """Two statements in one text could end the transaction. The server itself says what is one: our own reading
        of quotes and comments might differ from its own."""
        if ";" in sql:
            with self._stream() as cursor, self._adbc_guarded(cursor, Clock(self._timeout)):
                cursor.adbc_prepare(sql)

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        """A cursor for Arrow, inside a read-only transaction that is rolled back whatever happens."""
        connection = self._idle_streams.pop() if self._idle_streams else self._connect_stream()
        finished = False
        try:
            with connection.cursor() as cursor:
                with self._adbc_guarded(cursor, Clock(self._timeout)):
                    cursor.execute("BEGIN TRANSACTION READ ONLY")
                self._streaming.append(cursor)
                try:
                    yield cursor
                finally:
                    self._streaming.remove(cursor)
                with self._adbc_guarded(cursor, Clock(self._timeout)):
                    cursor.execute("ROLLBACK")
            finished = True
        finally:
            if finished:  # a stream that was left or broke may still be running there
                self._idle_streams.append(connection)
            else:
                connection.close()

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """Those of the names that are volatile here, or tell of what is none of a query's business."""
        telling = {name for name in names if _TELLING.search(name.lower())}
        asked = sorted({*names, *(name.lower() for name in names)})  # a name without quotes is in lower case
        volatile = {name for (name,) in self.rows(_VOLATILE, (asked,))}
        return telling | {name for name in names if {name, name.lower()} & volatile}

    def role_problem(self) -> str:
        """Whether the role could write; the warning of it, that is, for we do not let it."""
        for is_superuser, may_write in self.rows(_ROLE, None):
            if is_superuser:
                return "is a superuser"
            if may_write:
                return "may write to its tables"
        return ""

    def _connect_stream(self) -> adbc.Connection:
        try:
            connection = adbc.connect(make_dsn(**connect_arguments(self._url)), autocommit=True)
        except adbc_driver_manager.Error as error:
            raise self._unreachable(connect_failure(self._url, error)) from None
        with connection.cursor() as cursor:
            with self._adbc_guarded(cursor, Clock(self._timeout)):
                # The clock is ours: the server's would count the time the reader of the stream takes.
                for setting in _session_settings(self._url, self._schema, self._timeout, own_clock=True):
                    cursor.execute(setting)
            with suppress(adbc_driver_manager.Error, pa.ArrowException):
                cursor.execute(_NOTICE_A_LOST_CLIENT)
        return connection

    def limit_memory(self, size: int | None) -> None:
        """The server's memory is its own."""

    def interrupt(self) -> None:
        """End what streams now: whoever waits for it gets an error."""
        for cursor in tuple(self._streaming):
            with suppress(adbc_driver_manager.Error):
                cursor.adbc_cancel()

    def close(self) -> None:
        """Give back every idle connection."""
        while self._idle:
            self._idle.pop()[1].close()
        while self._idle_streams:
            self._idle_streams.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        connection = self._rested() or self._connect()
        try:
            yield connection
        finally:
            try:
                connection.rollback()
                self._idle.append((time.monotonic(), connection))
            except psycopg2.Error:
                connection.close()

    def _rested(self) -> Connection | None:
        """An idle connection that still works; firewalls drop those that say nothing for long."""
        while self._idle:
            since, connection = self._idle.pop()
            try:
                if time.monotonic() - since > _LONG_IDLE:
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT 1")
                return connection
            except psycopg2.Error:
                connection.close()
        return None

    def _connect(self) -> Connection:
        try:
            connection = connect(self._url)
        except DatabaseError as failure:
            raise self._unreachable(failure) from None
        try:
            connection.set_session(readonly=True)
            register_type(_PADDED, connection)
            register_type(_BYTES, connection)
            with connection.cursor() as cursor:
                for setting in _session_settings(self._url, self._schema, self._timeout):
                    cursor.execute(setting)
            connection.commit()
            with suppress(psycopg2.errors.UndefinedObject, psycopg2.errors.InvalidParameterValue):
                with connection.cursor() as cursor:
                    cursor.execute(_NOTICE_A_LOST_CLIENT)
                connection.commit()
            connection.rollback()
        except psycopg2.Error as error:
            connection.close()
            raise connect_failure(self._url, error) from None
        return connection

    @contextmanager
    def _guarded(self, connection: Connection) -> Iterator[None]:
        try:
            yield
        except psycopg2.errors.QueryCanceled as error:
            if "statement timeout" in str(error):
                raise timed_out(self._timeout) from None
            raise self._stopped(error) from None
        except psycopg2.errors.LockNotAvailable as error:
            raise self._stopped(error) from None
        except psycopg2.Error as error:
            if connection.closed:
                raise self._lost() from None
            reason = error.diag.message_primary or str(error)
            raise DatabaseError(f"{without_password(self._url)}: {self._told(reason)}") from None
        except (IndexError, TypeError, ValueError) as error:  # psycopg2's own, for placeholders that do not fit
            raise DatabaseError(f"the query and its parameters do not fit: {self._told(error)}") from None

    @contextmanager
    def _adbc_guarded(self, cursor: Any, clock: Clock) -> Iterator[None]:
        try:
            with clock.waiting(cursor.adbc_cancel):
                yield
        except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
            text = str(error)
            if "server closed the connection" in text or "terminating connection" in text:
                raise self._lost() from None
            if "canceling statement due to" in text:
                raise self._stopped(text) from None
            reason = re.sub(r"^.*?ERROR:\s*", "", text, flags=re.DOTALL).split("\n")[0]
            raise DatabaseError(f"{without_password(self._url)}: {self._told(reason)}") from None

    def _unreachable(self, failure: DatabaseError) -> DatabaseError:
        return ConnectionLostError(str(failure)) if self._reached else failure

    def _stopped(self, error: object) -> StatementStoppedError:
        """Not by our clock, which tells its own."""
        if "lock timeout" in str(error):
            why = f"somebody has locked what we read, for more than {_LOCK_PATIENCE:g} s"
        else:
            why = "somebody cancelled our statement"
        return StatementStoppedError(f"{without_password(self._url)}: {why}; try again")

    def _lost(self) -> ConnectionLostError:
        self.close()  # the idle ones went the same way, most likely
        return ConnectionLostError(f"the connection to {without_password(self._url)} was lost; try again")

    def _told(self, reason: object) -> str:
        return scrubbed(one_line(reason), self._url)


def _elsewhere(cursor: adbc.Cursor, call: Callable[[], object]) -> None:
    """Call in a thread of its own: in the main one ADBC takes Ctrl-C for itself, and makes an error of the server's."""
    with ThreadPoolExecutor(1) as threads:
        called = threads.submit(call)
        try:
            called.result()
        except KeyboardInterrupt:
            cursor.adbc_cancel()
            raise


def connect(url: URL) -> Connection:
    """A plain connection, or a `DatabaseError` that says why there is none."""
    try:
        connection: Connection = psycopg2.connect(**connect_arguments(url))
    except psycopg2.Error as error:
        raise connect_failure(url, error) from None
    return connection


def connect_arguments(url: URL) -> dict[str, Any]:
    """The URL as libpq's keywords; the role is for us to take on."""
    named = url.translate_connect_args(username="user", database="dbname")
    defaults = {"connect_timeout": 15, "application_name": "ruleminer", "client_encoding": "UTF8"}
    return {**defaults, **named, **{name: value for name, value in url.query.items() if name != ROLE}}


def connect_failure(url: URL, error: object) -> DatabaseError:
    """Why there is no connection, without the password."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    reason = next((line for line in lines if "FATAL" in line), lines[0] if lines else "no reason given")
    return DatabaseError(f"cannot connect to {without_password(url)}: {scrubbed(one_line(reason), url)}")


_NOTICE_A_LOST_CLIENT = "SET client_connection_check_interval = '5s'"  # PostgreSQL 14, and not on every system


def _session_settings(url: URL, schema: str | None, timeout: float, own_clock: bool = False) -> Iterator[str]:
    if role := role_of(url):
        yield f"SET ROLE {quote_identifier(role)}"
    yield "SET default_transaction_read_only = on"
    yield f"SET statement_timeout = {0 if own_clock else max(1, round(timeout * 1000))}"
    yield f"SET lock_timeout = {max(1, round(min(timeout / 2, _LOCK_PATIENCE) * 1000))}"
    yield f"SET idle_in_transaction_session_timeout = '{_FORGOTTEN}s'"
    # A role or a database may have settings of its own, and values are read as texts.
    yield "SET TimeZone = 'UTC'"
    yield "SET DateStyle = 'ISO, YMD'"
    yield "SET IntervalStyle = 'postgres'"
    yield "SET bytea_output = 'hex'"
    yield "SET standard_conforming_strings = on"
    if schema is not None:
        yield f"SET search_path = {quote_identifier(schema)}"


def _table(name: str, is_view: bool, columns: list[Column], keys: list[tuple[Any, ...]]) -> Table:
    readable = {column.name for column in columns}
    own = [key for key in keys if key[0] == name and readable.issuperset(key[2])]
    primary = next((tuple(key[2]) for key in own if key[1] == "p"), ())
    unique = tuple(tuple(key[2]) for key in own if key[1] == "u")
    foreign = tuple(ForeignKey(tuple(k[2]), k[3], tuple(k[4])) for k in own if k[1] == "f")
    return Table(name, tuple(columns), primary, unique, foreign, None, is_view)
