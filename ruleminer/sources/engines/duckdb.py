"""DuckDB files, read-only, through DuckDB's own catalogue functions."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.dialects import DUCKDB
from ruleminer.sources.engines.engine import (
    ROWS_PER_BATCH,
    ROWS_PER_FETCH,
    Clock,
    Parameters,
    one_line,
    streamed,
    timed_out,
)
from ruleminer.sources.schema import Column, ForeignKey, Table, quote_identifier

# Keys that a loaded dump declares (pgdump/into_duckdb.py). DuckDB adds no foreign key to a table that exists, and its
# index for an enforced key lives in memory, so they are kept as data, which reflection reads and hides.
KEYS_TABLE = "_ruleminer_keys"
CATALOG = "_ruleminer"
_TRIES_TO_CLOSE = 40  # of a connection that another thread still uses
_MEMORY = 4 * 10**9  # bytes for one query; what needs more goes to disk, or is refused

_COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND NOT internal ORDER BY table_name, column_index"""
_RELATIONS = """
SELECT schema_name, table_name, false FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND NOT temporary
UNION ALL
SELECT schema_name, view_name, true FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal AND NOT temporary"""
_CONSTRAINTS = """
SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database() AND schema_name = ?
AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"""


_KINDS_OF_FUNCTIONS = """
SELECT lower(function_name), bool_or(function_type IN ('table', 'table_macro', 'pragma')),
  bool_or(stability = 'VOLATILE') FROM duckdb_functions() WHERE lower(function_name) IN
  (SELECT unnest(from_json(?, '["VARCHAR"]'))) GROUP BY 1"""
# They tell of the machine, or make so much of a few bytes that no memory limit and no interrupt is heard in time.
_DENIED = re.compile(
    r"^(getenv|getvariable|current_setting|set_config|version|nextval|currval|which_secret|read_|write_|duckdb_|pragma_"
    r"|pg_|parquet_|sniff_|query|glob$|repeat|range|generate_series|lpad|rpad|bar$|list_resize|array_resize"
    r"|in_search_path|current_(database|schemas?|query|transaction_id|connection_id|role|catalog)|txid_|add_parquet)"
)
_SMALL_TABLES = {"unnest", "json_each", "json_tree"}


class DuckDB:
    """One DuckDB file; every statement runs on a cursor of its own, which is a session of its own."""

    dialect = DUCKDB

    def __init__(
        self,
        path: Path | str,
        timeout: float,
        connect: Callable[[Path], duckdb.DuckDBPyConnection] | None = None,
        is_limited: bool = True,
    ) -> None:
        """One that is connected otherwise (folder.py, kept.py), given where to spill, has views where others have
        tables; `is_limited` tells whether its tables go to disk, too, where memory is short.

        What does not fit into memory goes to a folder that nobody else may read, and never beside what is read.
        """
        self._path, self._timeout, self._schema = path, timeout, "main"
        self._views_are_tables, self._is_limited = connect is not None, is_limited
        spill = Path(tempfile.mkdtemp(prefix="ruleminer-"))
        self._remove_spill = weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        self._connection = connect(spill) if connect else attached(Path(path), Path(path), spill, read_only=True)
        self.limit_memory(None)

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """The schema unqualified names go to, and how many tables and views each schema has."""
        found: dict[str, int] = {
            name: 0
            for (name,) in self.rows(
                "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database() AND NOT internal",
                None,
            )
        }
        for schema, name, _ in self.rows(_RELATIONS, None):
            found[schema] = found.get(schema, 0) + (name != KEYS_TABLE)
        return "main", {"main": 0} | found

    def use_schema(self, name: str) -> None:
        """Let unqualified names go to this schema from now on."""
        self._schema = name

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted; a DuckDB file has none we may not read."""
        name = schema or self._schema
        columns: dict[str, list[Column]] = defaultdict(list)
        for table, column, sql_type, nullable in self.rows(_COLUMNS, (name,)):
            columns[table].append(Column.of_type(column, sql_type, nullable))
        relations = {
            table: view and not self._views_are_tables
            for owner, table, view in self.rows(_RELATIONS, None)
            if owner == name
        }
        keys = list(self.rows(_CONSTRAINTS, (name,)))
        if KEYS_TABLE in relations:
            del relations[KEYS_TABLE]
            keys += self.rows(f"SELECT * FROM {quote_identifier(name)}.{KEYS_TABLE}", None)
        return [_table(table, view, columns[table], keys) for table, view in relations.items()], []

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed."""
        clock = Clock(self._timeout)
        with self._session() as session:
            with self._guarded(session, clock):
                _refuse_others(session, sql)
                session.execute(sql, list(params or ()))
                described = [str(column[1]) for column in session.description or ()]
            if any("TIME ZONE" in sql_type for sql_type in described):
                # DuckDB wants pytz to make such values itself; Arrow brings them without.
                session.abort()
                for batch in self.arrow(sql, params):
                    yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
                return
            while True:
                with self._guarded(session, clock):
                    fetched = session.fetchmany(ROWS_PER_FETCH)
                if not fetched:
                    return
                yield from fetched

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches."""
        batches = self._batches(sql, params)
        return streamed(next(batches), batches)

    def _batches(self, sql: str, params: Parameters) -> Iterator[Any]:
        clock = Clock(self._timeout)
        with self._session() as session:
            with self._guarded(session, clock):
                _refuse_others(session, sql)
                reader = session.sql(sql, params=list(params or ())).to_arrow_reader(ROWS_PER_BATCH)
            yield reader.schema
            while True:
                with self._guarded(session, clock):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield batch

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """Those of the names that are volatile, read something other than tables, or grow without bounds."""
        refused = {name for name in names if _DENIED.search(name.lower())}
        asked = json.dumps([name.lower() for name in names])
        for name, is_table, is_volatile in self.rows(_KINDS_OF_FUNCTIONS, (asked,)):
            if is_volatile or (is_table and name not in _SMALL_TABLES):
                refused |= {given for given in names if given.lower() == name}
        return refused

    def role_problem(self) -> str:
        """A file has no roles."""
        return ""

    def limit_memory(self, size: int | None) -> None:
        """Take no more than so many bytes from now on; a folder's tables may be in memory themselves, and keep it."""
        if size is None or self._is_limited:
            with suppress(duckdb.ConnectionException):  # closed by now
                self._connection.execute(f"SET memory_limit = '{size or _MEMORY}B'")

    def close(self) -> None:
        """Give back every connection; a statement that still runs in another thread is stopped."""
        try:
            for _ in range(_TRIES_TO_CLOSE):
                try:
                    self._connection.close()
                except duckdb.ResourceInUseException:
                    with suppress(duckdb.ConnectionException):  # closed by now
                        self._connection.interrupt()
                    time.sleep(0.05)
                else:
                    return
            self._connection.close()
        finally:
            self._remove_spill()

    @contextmanager
    def _session(self) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            session = self._connection.cursor()
        except duckdb.ConnectionException:
            raise ConnectionLostError(f"{self._path} has been closed; open it again") from None
        try:
            # Without the second setting a name that is no table may reach a Python variable of the caller.
            session.execute("SET TimeZone = 'UTC'")
            session.execute("SET python_enable_replacements = false")
            session.execute(f"USE {CATALOG}.{quote_identifier(self._schema)}")
            yield session
        finally:
            session.close()

    @contextmanager
    def _guarded(self, session: duckdb.DuckDBPyConnection, clock: Clock) -> Iterator[None]:
        try:
            with clock.waiting(session.interrupt):
                yield
        except duckdb.InterruptException:
            raise timed_out(self._timeout) from None
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise DatabaseError(f"{self._path}: {one_line(error)}") from None


def _refuse_others(session: duckdb.DuckDBPyConnection, sql: str) -> None:
    """One query: DuckDB would run several one after the other, and a COPY may write where files may be read."""
    statements = session.extract_statements(sql)
    if len(statements) != 1:
        raise DatabaseError(f"more than one statement where one query is expected: {one_line(sql)[:80]}")
    if statements[0].type is not duckdb.StatementType.SELECT:
        raise DatabaseError(f"not a query: {one_line(sql)[:80]}")


def _table(name: str, is_view: bool, columns: list[Column], keys: list[tuple[Any, ...]]) -> Table:
    own = [key for key in keys if key[0] == name]
    primary = next((tuple(key[2]) for key in own if key[1] == "PRIMARY KEY"), ())
    unique = tuple(tuple(key[2]) for key in own if key[1] == "UNIQUE")
    foreign = tuple(ForeignKey(tuple(k[2]), k[3], tuple(k[4])) for k in own if k[1] == "FOREIGN KEY")
    return Table(name, tuple(columns), primary, unique, foreign, None, is_view)


def plain_connection(config: dict[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that fetches no extension from anywhere."""
    alone = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    return duckdb.connect(config={**alone, **(config or {})})


def attached(place: Path, shown: Path, spill: Path, read_only: bool) -> duckdb.DuckDBPyConnection:
    """A connection to the file, under a name of ours: by default it is the file's name, and in npd.duckdb DuckDB
    could not tell the schema npd from it. `shown` is the file's name for messages; what does not fit into memory goes
    to the folder `spill`."""
    connection = plain_connection({"temp_directory": str(spill)})
    literal = str(place.resolve()).replace("'", "''")
    try:
        connection.execute(f"ATTACH '{literal}' AS {CATALOG} (TYPE duckdb, READ_ONLY {str(read_only).lower()})")
        connection.execute(f"USE {CATALOG}")
        if read_only:
            shut_in(connection)
    except duckdb.Error as error:
        connection.close()
        raise DatabaseError(_open_failure(shown, error)) from None
    return connection


def shut_in(connection: duckdb.DuckDBPyConnection) -> None:
    """What a scenario or a dump brings along has no business with files, the network or extensions."""
    connection.execute("SET enable_external_access = false")


def detach(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring all that was committed into the file itself, and let go of it."""
    connection.execute("USE memory")
    connection.execute(f"DETACH {CATALOG}")
    connection.close()


def _open_failure(path: Path, error: duckdb.Error) -> str:
    text = one_line(error)
    if "Could not set lock" in text:
        return f"{path} is in use by another process that writes to it"
    if "already attached" in text:
        return f"{path} is open for writing in this process; close it first"
    return f"cannot open {path}: {text}"
