"""SQLite files, read-only, with nothing allowed but reading."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from ruleminer.errors import DatabaseError
from ruleminer.rules.dialects import SQLITE
from ruleminer.rules.lexical import lexical_form
from ruleminer.sources.engines.engine import (
    ROWS_PER_BATCH,
    ROWS_PER_FETCH,
    Clock,
    Parameters,
    one_line,
    streamed,
    timed_out,
)
from ruleminer.sources.schema import Column, ForeignKey, Table

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_REFLECTING = {"table_xinfo", "foreign_key_list", "index_list", "index_info", "function_list"}

_RELATIONS = r"""
SELECT name, type = 'view' FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name"""
_UNIQUE = """
SELECT l.name, i.name FROM pragma_index_list(?) l, pragma_index_info(l.name) i
WHERE l.origin = 'u' ORDER BY l.seq, i.seqno"""


_LONGEST = 256 * 2**20  # bytes of a text or blob; SQLite's own limit is 1 GB
_FUNCTIONS = frozenset(
    """abs avg cast char coalesce concat concat_ws count date datetime dense_rank first_value format glob group_concat
    hex ifnull iif instr json json_array json_array_length json_each json_extract json_object json_type json_valid
    julianday lag last_value lead length like likely lower ltrim max md5 min ntile nullif octet_length printf quote
    rank replace round row_number rtrim sign string_agg strftime substr substring sum time total trim typeof unicode
    unixepoch unlikely upper""".split()  # noqa: SIM905
)


def _md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class SQLite:
    """One SQLite file. It has no schemas: the schema of every name is None."""

    dialect = SQLITE

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout = path, timeout
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.resolve()))}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.create_function("md5", 1, _md5, deterministic=True)  # the other engines have it
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            self._connection.set_authorizer(_only_reading)
        except sqlite3.Error as error:
            raise DatabaseError(f"cannot open {path}: {one_line(error)}") from None

    def schemas(self) -> tuple[str | None, dict[str, int]]:
        """SQLite has no schemas."""
        return None, {}

    def use_schema(self, name: str) -> None:
        """There is none to use."""
        raise DatabaseError(f"SQLite has no schemas, so no schema {name!r}; leave the schema out")

    def reflect(self, schema: str | None) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables, uncounted; and the views that no longer work, with SQLite's reason."""
        tables, unreadable = [], []
        for name, is_view in list(self.rows(_RELATIONS, None)):
            try:
                tables.append(self._table(name, bool(is_view)))
            except DatabaseError as error:
                unreadable.append((name, str(error)))
        return tables, unreadable

    def _table(self, name: str, is_view: bool) -> Table:
        columns, primary = [], []
        for column, sql_type, not_null, key_place in self.rows(
            'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1', (name,)
        ):
            columns.append(Column.of_type(column, sql_type, nullable=not not_null and not key_place))
            if key_place:
                primary.append((key_place, column))
        unique: dict[str, list[str]] = {}
        for index, column in self.rows(_UNIQUE, (name,)):
            unique.setdefault(index, []).append(column)
        foreign: dict[int, tuple[str, list[str], list[str]]] = {}
        for number, table, own, referenced in self.rows(
            'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
        ):
            _, owns, others = foreign.setdefault(number, (table, [], []))
            owns.append(own)
            others.extend([] if referenced is None else [referenced])
        return Table(
            name,
            tuple(columns),
            tuple(column for _, column in sorted(primary)),
            tuple(map(tuple, unique.values())),
            tuple(ForeignKey(tuple(own), table, tuple(other)) for table, own, other in foreign.values()),
            None,
            is_view,
        )

    def rows(self, sql: str, params: Parameters) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, streamed."""
        clock = Clock(self._timeout)
        with closing(self._executed(sql, params, clock)) as cursor:
            while fetched := self._fetch(cursor, ROWS_PER_FETCH, clock):
                yield from fetched

    def arrow(self, sql: str, params: Parameters) -> pa.RecordBatchReader:
        """The rows of a query as a stream of Arrow batches.

        SQLite types values, not columns, so the query runs twice: first for the types each column has.
        """
        with closing(self._executed(sql, params, Clock(self._timeout))) as cursor:
            names = [column[0] for column in cursor.description]
        places = [f"c{place}" for place in range(len(names))]
        types = ", ".join(f"group_concat(DISTINCT typeof({place}))" for place in places)
        described = f"WITH q({', '.join(places)}) AS ({sql.rstrip().rstrip(';')}\n) SELECT {types} FROM q"
        found = next(self.rows(described, params))
        schema = pa.schema([pa.field(n, _arrow_type(t)) for n, t in zip(names, found, strict=True)])
        return streamed(schema, self._batches(sql, params, schema))

    def _batches(self, sql: str, params: Parameters, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        clock = Clock(self._timeout)
        with closing(self._executed(sql, params, clock)) as cursor:
            while fetched := self._fetch(cursor, ROWS_PER_BATCH, clock):
                columns = zip(*fetched, strict=True)
                try:
                    arrays = [_array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
                except pa.ArrowException as error:
                    raise DatabaseError(f"{self._path} changed while we read it: {one_line(error)}") from None
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """All that SQLite has but a few: it does not say of its functions what they do."""
        known = {name for (name,) in self.rows("SELECT DISTINCT name FROM pragma_function_list", None)}
        tables = {"generate_series", "json_tree", "pragma_function_list"}
        return {
            name
            for name in names
            if name.lower() not in _FUNCTIONS
            and (name.lower() in known | tables or name.lower().startswith(("pragma_", "sqlite_", "fts")))
        }

    def role_problem(self) -> str:
        """A file has no roles."""
        return ""

    def limit_memory(self, size: int | None) -> None:
        """SQLite keeps a few pages only."""

    def close(self) -> None:
        """Give back the connection."""
        self._connection.close()

    def _executed(self, sql: str, params: Parameters, clock: Clock) -> sqlite3.Cursor:
        with self._guarded(clock):
            return self._connection.execute(sql, tuple(map(_bindable, params or ())))

    def _fetch(self, cursor: sqlite3.Cursor, size: int, clock: Clock) -> list[tuple[Any, ...]]:
        with self._guarded(clock):
            return cursor.fetchmany(size)

    @contextmanager
    def _guarded(self, clock: Clock) -> Iterator[None]:
        try:
            with clock.waiting(self._connection.interrupt):
                yield
        except sqlite3.Error as error:
            if str(error) == "interrupted":
                raise timed_out(self._timeout) from None
            raise DatabaseError(f"{self._path}: {one_line(error)}") from None


def _only_reading(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    # `mode=ro` guards this file; ATTACH and PRAGMA could still reach others.
    allowed = (
        action in _READING
        or (action == sqlite3.SQLITE_PRAGMA and first in _REFLECTING)
        or (action == sqlite3.SQLITE_UPDATE and first == "sqlite_master")  # SQLite asks so for pragma_… tables
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _bindable(value: object) -> object:
    """A parameter as SQLite stores such values: numbers as numbers, dates and timestamps as text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return lexical_form(value) if isinstance(value, date) else value


def _arrow_type(found: str | None) -> pa.DataType:
    types = set(found.split(",")) - {"null"} if found else set()
    if types == {"integer"}:
        return pa.int64()
    if types and types <= {"integer", "real"}:
        return pa.float64()
    return pa.binary() if types == {"blob"} else pa.string()


def _array(values: list[Any], arrow_type: pa.DataType) -> pa.Array:
    if arrow_type == pa.string():
        values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
    return pa.array(values, arrow_type)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
