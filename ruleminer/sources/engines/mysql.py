"""MySQL and MariaDB servers, through PyMySQL: each statement in a READ ONLY transaction on a connection of its own.

The session quotes names by double quotes, compares casts to text exactly, and lives in UTC (rules/dialects/mysql.py).
A schema is what the server calls a database.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pymysql
from pymysql.constants import CLIENT, ER, FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import SSCursor
from sqlalchemy.engine import URL

from ruleminer.errors import ConnectionLostError, DatabaseError, StatementStoppedError
from ruleminer.rules.dialects import MYSQL
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.engine import (
    ROLE,
    ROWS_PER_BATCH,
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
from ruleminer.sources.schema import Column, ForeignKey, Table

_OWN_SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
_LOCK_PATIENCE = 10  # seconds; a lock that is held longer is told, not waited for
_LONG_IDLE = 60.0  # seconds
_BACKSTOP = 3600.0  # seconds beyond ours after which the server stops a statement whose reader is gone
_GONE = {2006, 2013, 2014, 2055, 1927, 0, ER.SERVER_SHUTDOWN}
_LOCKED = {1205, 1213, 3572}
_TOO_LONG = {1969, 3024}
_INTERRUPTED = 1317

_SCHEMAS = """
SELECT s.schema_name, count(t.table_name), s.schema_name = database() FROM information_schema.schemata s
LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name GROUP BY s.schema_name"""
_RELATIONS = """
SELECT table_name, table_type LIKE '%%VIEW' FROM information_schema.tables WHERE table_schema = %s
AND table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') ORDER BY table_name"""
_COLUMNS = """
SELECT table_name, column_name, column_type, is_nullable = 'YES' FROM information_schema.columns
WHERE table_schema = %s ORDER BY table_name, ordinal_position"""
_KEYS = """
SELECT k.table_name, c.constraint_type, k.constraint_name, k.column_name, k.referenced_table_schema,
  k.referenced_table_name, k.referenced_column_name
FROM information_schema.key_column_usage k JOIN information_schema.table_constraints c
  ON c.constraint_schema = k.constraint_schema AND c.constraint_name = k.constraint_name
  AND c.table_schema = k.table_schema AND c.table_name = k.table_name
WHERE k.table_schema = %s AND c.constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY k.table_name, c.constraint_type, k.constraint_name, k.ordinal_position"""
_FILES = re.compile(r"\b(OUTFILE|DUMPFILE|LOAD_FILE)\b", re.IGNORECASE)
_WRITING = re.compile(r"\b(ALL PRIVILEGES|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|TRIGGER|FILE|SUPER)\b")

# The server does not say of its functions what they do. Words of the language that stand before brackets are here, too.
_ALLOWED = frozenset(
    """abs all and any as ascii avg between bin bit_length by case cast ceil ceiling char character char_length
    character_length coalesce collate concat concat_ws convert count crc32 cross cume_dist curdate current_date
    current_timestamp date date_add date_format date_sub datediff datetime day dayname dayofmonth dayofweek dayofyear
    decimal degrees dense_rank distinct div double elt else end except exists exp extract field find_in_set
    first_value float floor from greatest group_concat having hex hour if ifnull in instr int integer intersect
    interval is json_array json_extract json_object json_unquote json_value json_valid json_length join lag
    last_day last_value lcase lead least left length like ln locate log log10 log2 lower ltrim max md5 microsecond mid
    min minute mod month monthname not ntile nullif octet_length on or ord over partition percent_rank pi
    position pow power quarter radians rank regexp regexp_replace regexp_substr replace reverse regexp_instr right
    round row row_number rtrim second select separator sha1 sha2 sign signed sqrt std stddev str_to_date strcmp substr
    substring substring_index sum then time time_format timestamp timestampdiff to_days trim truncate ucase
    unhex union unix_timestamp unsigned upper using values varchar variance week weekday when where with year
    binary limit order recursive""".split()  # noqa: SIM905
)


def _bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


_CONVERTERS: dict[type[object] | int, Callable[..., Any]] = {
    **conversions,
    FIELD_TYPE.BIT: _bits,
    FIELD_TYPE.TIME: lambda value: value.decode() if isinstance(value, bytes) else value,
}


class MySQL:
    """A server. Connections are opened as needed and kept for the next statement."""

    dialect = MYSQL

    def __init__(self, url: URL, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._schema = url.database
        self._idle: list[tuple[float, pymysql.Connection[Any]]] = []  # since when
        self._reached = False
        with self._connection():
            self._reached = True

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has."""
        found = [row for row in self.rows(_SCHEMAS, None) if row[0] not in _OWN_SCHEMAS]
        return next((name for name, _, current in found if current), None), {name: count for name, count, _ in found}

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""
        self._schema = name
        self.close()

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted; the server shows none that we may not read."""
        columns: dict[str, list[Column]] = defaultdict(list)
        for table, name, sql_type, nullable in self.rows(_COLUMNS, (schema,)):
            columns[table].append(_column(name, _text(sql_type), bool(nullable)))
        keys: dict[tuple[str, str, str], list[tuple[Any, ...]]] = defaultdict(list)
        for table, kind, name, *key in self.rows(_KEYS, (schema,)):
            keys[table, kind, name].append(tuple(key))
        found = list(self.rows(_RELATIONS, (schema,)))
        return [_table(name, bool(view), columns[name], keys, schema) for name, view in found], []

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed."""
        for _, rows in self._fetched(sql, params, ROWS_PER_FETCH):
            yield from rows

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches. Decimals come as text, not to lose digits."""
        batches = self._batches(sql, params)
        return streamed(next(batches), batches)

    def _batches(self, sql: str, params: Parameters) -> Iterator[Any]:
        schema: pa.Schema | None = None
        for fields, rows in self._fetched(sql, params, ROWS_PER_BATCH):
            if schema is None:
                schema = pa.schema([pa.field(field.name, _arrow_type(field)) for field in fields])
                yield schema
                continue
            try:
                columns = [
                    _array(list(column), f.type) for column, f in zip(zip(*rows, strict=True), schema, strict=True)
                ]
            except (pa.ArrowException, OverflowError) as error:
                raise DatabaseError(f"{without_password(self._url)}: {one_line(error)}") from None
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _fetched(self, sql: str, params: Parameters, size: int) -> Iterator[tuple[Sequence[Any], list[Any]]]:
        """The columns of a query with its rows, some at a time; at first with none."""
        if _FILES.search(sql):  # the one way of a query to write, which no transaction stops
            raise DatabaseError(f"a query that writes or reads files of the server: {one_line(sql)[:80]}")
        clock = Clock(self._timeout)
        with self._connection() as connection:
            cursor = connection.cursor(SSCursor)

            def stop() -> None:
                self._kill(connection)

            with self._guarded(connection), clock.waiting(stop):
                cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute(sql, None if params is None else tuple(params))
            result: Any = cursor._result  # type: ignore[attr-defined]
            if not cursor.description:
                raise DatabaseError(f"not a query: {one_line(sql)[:80]}")
            truths = [place for place, field in enumerate(result.fields) if _is_truth(field)]
            try:
                yield result.fields, []
                while True:
                    with self._guarded(connection), clock.waiting(stop):
                        fetched = list(cursor.fetchmany(size))
                    if not fetched:
                        break
                    yield result.fields, [_with_truths(row, truths) for row in fetched] if truths else fetched
            finally:
                result.unbuffered_active = False  # PyMySQL would read to the end what somebody left

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """All but those that are known to compute and nothing else."""
        return {name for name in names if name.lower() not in _ALLOWED and re.match(r"\w", name)}

    def role_problem(self) -> str:
        """Whether the account could write, by its own grants."""
        with self._connection() as connection, self._guarded(connection):
            cursor = connection.cursor()
            cursor.execute("SHOW GRANTS")
            for (grant,) in cursor.fetchall():
                what = grant.split(" ON ")[0]
                if grant.startswith("GRANT ALL PRIVILEGES ON *.*") or re.search(r"\b(SUPER|FILE)\b", what):
                    return "is a superuser"
                if _WRITING.search(what):
                    return "may write to its tables"
        return ""

    def limit_memory(self, size: int | None) -> None:
        """The server's memory is its own."""

    def close(self) -> None:
        """Give back every idle connection."""
        while self._idle:
            self._idle.pop()[1].close()

    @contextmanager
    def _connection(self) -> Iterator[pymysql.Connection[Any]]:
        connection = self._rested() or self._connect()
        finished = False
        try:
            yield connection
            with self._guarded(connection):
                connection.rollback()
            finished = True
        finally:
            if finished:  # one whose rows were left would have to be read to its end
                self._idle.append((time.monotonic(), connection))
            else:
                with suppress(Exception):
                    connection._force_close()  # type: ignore[attr-defined]

    def _rested(self) -> pymysql.Connection[Any] | None:
        while self._idle:
            since, connection = self._idle.pop()
            try:
                if time.monotonic() - since > _LONG_IDLE:
                    connection.ping(reconnect=False)
                return connection
            except pymysql.Error:
                connection.close()
        return None

    def _connect(self) -> pymysql.Connection[Any]:
        try:
            connection = connect(self._url, database=self._schema)
        except DatabaseError as failure:
            raise ConnectionLostError(str(failure)) if self._reached else failure from None
        try:
            with connection.cursor() as cursor:
                version = connection.get_server_info()  # type: ignore[no-untyped-call]
                if role := role_of(self._url):
                    cursor.execute("SET ROLE `" + role.replace("`", "``") + "`")
                for setting in _session_settings(version, self._timeout):
                    cursor.execute(setting)
        except pymysql.Error as error:
            connection.close()
            raise connect_failure(self._url, error) from None
        return connection

    def _kill(self, connection: pymysql.Connection[Any]) -> None:
        """Stop what runs on a connection, by another one; if there is none to be had, leave it."""
        try:
            other = connect(self._url)
            with other.cursor() as cursor:
                number = connection.thread_id()  # type: ignore[no-untyped-call]
                cursor.execute(f"KILL QUERY {int(number)}")
            other.close()
        except (DatabaseError, pymysql.Error):
            connection._force_close()  # type: ignore[attr-defined]

    @contextmanager
    def _guarded(self, connection: pymysql.Connection[Any]) -> Iterator[None]:
        try:
            yield
        except pymysql.Error as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else -1
            told = scrubbed(one_line(error.args[1] if len(error.args) > 1 else error), self._url)
            if number in _TOO_LONG:
                raise timed_out(self._timeout) from None
            if number in _LOCKED or number == _INTERRUPTED:
                why = "somebody has locked what we read" if number in _LOCKED else "somebody cancelled our statement"
                raise StatementStoppedError(f"{without_password(self._url)}: {why}; try again") from None
            if number in _GONE or not connection.open:
                self.close()
                raise ConnectionLostError(
                    f"the connection to {without_password(self._url)} was lost; try again"
                ) from None
            raise DatabaseError(f"{without_password(self._url)}: {told}") from None
        except (OSError, AttributeError) as error:  # a socket that closed while it was read
            self.close()
            raise ConnectionLostError(
                f"the connection to {without_password(self._url)} was lost ({one_line(error)}); try again"
            ) from None
        except (IndexError, TypeError, ValueError) as error:  # PyMySQL's own, for placeholders that do not fit
            told = scrubbed(one_line(error), self._url)
            raise DatabaseError(f"the query and its parameters do not fit: {told}") from None


def connect(url: URL, **more: Any) -> pymysql.Connection[Any]:
    """A plain connection, or a `DatabaseError` that says why there is none."""
    options = dict(url.query)
    socket = options.pop("unix_socket", None)
    ca = options.pop("ssl_ca", None)
    options.pop(ROLE, None)
    if options:
        known = "unix_socket, ssl_ca and role"
        raise DatabaseError(f"cannot connect to {without_password(url)}: options of the URL may be {known}")
    try:
        connection: pymysql.Connection[Any] = pymysql.connect(
            **{
                "host": url.host or "localhost",
                "port": url.port or 3306,
                "user": url.username,
                "password": url.password or "",
                "database": url.database,
                "unix_socket": socket,
                "ssl_ca": ca,
                "charset": "utf8mb4",
                "connect_timeout": 15,
                "program_name": "ruleminer",
                "autocommit": True,
                "local_infile": False,
                "client_flag": CLIENT.MULTI_RESULTS,
                "conv": _CONVERTERS,
                **more,
            }
        )
    except (pymysql.Error, OSError, RuntimeError) as error:
        raise connect_failure(url, error) from None
    return connection


def connect_failure(url: URL, error: BaseException) -> DatabaseError:
    """Why there is no connection, without the password."""
    reason = error.args[1] if isinstance(error, pymysql.Error) and len(error.args) > 1 else error
    return DatabaseError(f"cannot connect to {without_password(url)}: {scrubbed(one_line(reason), url)}")


def _session_settings(version: str, timeout: float) -> Iterator[str]:
    is_mariadb = "mariadb" in version.lower()
    yield "SET SESSION TRANSACTION READ ONLY"
    yield "SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'"
    exact = "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"
    yield f"SET NAMES utf8mb4 COLLATE {exact}"
    yield "SET SESSION time_zone = '+00:00'"
    yield f"SET SESSION lock_wait_timeout = {max(1, min(_LOCK_PATIENCE, int(timeout)))}"
    yield f"SET SESSION innodb_lock_wait_timeout = {max(1, min(_LOCK_PATIENCE, int(timeout)))}"
    yield "SET SESSION group_concat_max_len = 1048576"
    # The clock is ours: the server's counts the time that the reader takes, too.
    limit = timeout + _BACKSTOP
    yield (
        f"SET SESSION max_statement_time = {limit:.0f}"
        if is_mariadb
        else (f"SET SESSION max_execution_time = {min(limit * 1000, 2**32 - 1):.0f}")
    )


def _column(name: str, sql_type: str, nullable: bool) -> Column:
    """A column; truth is kept in TINYINT(1), which is what BOOLEAN makes, or in BIT(1)."""
    lowered = sql_type.lower()
    if lowered.startswith(("tinyint(1)", "bit(1)")):
        return Column(name, sql_type, Kind.BOOLEAN, nullable)
    if lowered.startswith("bit("):
        return Column(name, sql_type, Kind.INTEGER, nullable)
    return Column.of_type(name, sql_type, nullable)


def _table(
    name: str,
    is_view: bool,
    columns: list[Column],
    keys: dict[tuple[str, str, str], list[tuple[Any, ...]]],
    schema: str | None,
) -> Table:
    own = [(kind, parts) for (table, kind, _), parts in keys.items() if table == name]
    primary = next((tuple(part[0] for part in parts) for kind, parts in own if kind == "PRIMARY KEY"), ())
    unique = tuple(tuple(part[0] for part in parts) for kind, parts in own if kind == "UNIQUE")
    foreign = tuple(
        ForeignKey(tuple(part[0] for part in parts), parts[0][2], tuple(part[3] for part in parts))
        for kind, parts in own
        if kind == "FOREIGN KEY" and parts[0][1] == schema
    )
    return Table(name, tuple(columns), primary, unique, foreign, None, is_view)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _is_truth(field: Any) -> bool:
    return bool(field.length == 1 and field.type_code in (FIELD_TYPE.TINY, FIELD_TYPE.BIT))


def _with_truths(row: tuple[Any, ...], places: Sequence[int]) -> tuple[Any, ...]:
    cells = list(row)
    for place in places:
        cells[place] = None if cells[place] is None else bool(cells[place])
    return tuple(cells)


_WHOLE = {FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR}
_UNSIGNED, _BINARY_CHARSET = 32, 63


def _arrow_type(field: Any) -> pa.DataType:
    if _is_truth(field):
        return pa.bool_()
    if field.type_code in _WHOLE:
        return pa.uint64() if field.flags & _UNSIGNED and field.type_code == FIELD_TYPE.LONGLONG else pa.int64()
    if field.type_code == FIELD_TYPE.BIT:
        return pa.uint64()
    if field.type_code in (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE):
        return pa.float64()
    if field.type_code == FIELD_TYPE.DATE:
        return pa.date32()
    if field.type_code in (FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP):
        return pa.timestamp("us")
    texts = (FIELD_TYPE.BLOB, FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR)
    return pa.binary() if field.type_code in texts and field.charsetnr == _BINARY_CHARSET else pa.string()


def _array(values: list[Any], arrow_type: pa.DataType) -> pa.Array:
    if arrow_type == pa.string():
        values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
    elif pa.types.is_date(arrow_type) or pa.types.is_timestamp(arrow_type):  # 0000-00-00 is no date
        values = [value if isinstance(value, date | datetime) else None for value in values]
    return pa.array(values, arrow_type)
