"""A database opened for reading: what it holds, and queries on it as rows or as Arrow.

SQL is written for `Database.dialect`. Placeholders are positional: `?` on DuckDB and SQLite, `%s` on PostgreSQL.
When parameters are given on PostgreSQL, even an empty `()`, a literal `%` is written `%%`; without any (None)
the text goes as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import sqlglot
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError
from ruleminer.problem.engines.duckdb import DuckDB
from ruleminer.problem.engines.engine import (
    Engine,
    Parameters,
    one_line,
    without_password,
)
from ruleminer.problem.engines.postgresql import PostgreSQL
from ruleminer.problem.engines.sqlite import SQLite
from ruleminer.problem.schema import Schema, Table, closed_schema, nearest, quote_identifier

_QUERIES = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}
_SQLITE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_SCHEMES = {"duckdb": "duckdb", "sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}


_HOW_URLS_LOOK = (
    "cannot read the database URL; it looks like duckdb:///file.duckdb, "
    "postgresql://user:password@host/database or sqlite:///file.sqlite"
)


class Database:
    """A read-only database. A context manager; closing it ends its connections."""

    def __init__(
        self,
        engine: Engine,
        safe_url: str,
        schema: str | None,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        count_rows: bool,
    ) -> None:
        self.dialect, self.safe_url, self.schema_name = engine.dialect, safe_url, schema
        self._engine, self._include, self._exclude, self._count_rows = engine, include, exclude, count_rows

    @cached_property
    def schema(self) -> Schema:
        """The tables and views we may use, read on first use, with exact row counts."""
        tables, unreadable = self._engine.reflect(self.schema_name)
        chosen = self._chosen([table.name for table in tables] + [name for name, _ in unreadable])
        unreadable = [(name, reason) for name, reason in unreadable if name in chosen]
        kept = []
        for table in tables:
            if table.name in chosen:
                try:
                    kept.append(replace(table, rows=self._count(table)))
                except ConnectionLostError:
                    raise
                except DatabaseError as error:  # a view that no longer works
                    unreadable.append((table.name, str(error)))
        return closed_schema(self.schema_name, kept, unreadable)

    def rows(self, sql: str, params: Parameters = None) -> Iterator[tuple[Any, ...]]:
        """The rows of one query, streamed. The query runs when the first row is asked for."""
        self._check(sql)
        return self._engine.rows(sql, params)

    def arrow(self, sql: str, params: Parameters = None) -> pa.RecordBatchReader:
        """The rows of one query as a stream of Arrow batches.

        The engines differ in what they make of a type (PostgreSQL's `numeric` comes as text, SQLite's columns are
        whatever their values are), so cast in the SQL what must come out alike.
        """
        self._check(sql)
        return self._engine.arrow(sql, params)

    def quoted(self, table: str) -> str:
        """The table's name for SQL: quoted, and with its schema where there are schemas."""
        name = quote_identifier(table)
        return name if self.schema_name is None else f"{quote_identifier(self.schema_name)}.{name}"

    def close(self) -> None:
        """End all connections."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self, sql: str) -> None:
        # The session is read-only, but two statements in one text could leave its transaction.
        try:
            tokens = sqlglot.tokenize(sql, dialect=self.dialect)
        except SqlglotError as error:
            raise DatabaseError(f"cannot read this SQL: {one_line(error)}") from None
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        if not tokens or tokens[0].token_type not in _QUERIES:
            raise DatabaseError(f"not a query (SELECT, WITH or VALUES): {one_line(sql)[:80]}")
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise DatabaseError(f"more than one statement where one query is expected: {one_line(sql)[:80]}")

    def _chosen(self, names: list[str]) -> set[str]:
        for pattern in (*self._include, *self._exclude):
            if pattern not in names and not any(c in pattern for c in "*?["):
                where = "" if self.schema_name is None else f" in schema {self.schema_name!r}"
                raise DatabaseError(f"no table {pattern!r}{where}{nearest(pattern, names)}")
        return {
            name
            for name in names
            if (not self._include or _matches(name, self._include)) and not _matches(name, self._exclude)
        }

    def _count(self, table: Table) -> int | None:
        if not self._count_rows:
            return None
        try:
            ((count,),) = self.rows(f"SELECT count(*) FROM {self.quoted(table.name)}")
        except DatabaseTimeoutError:
            return None
        return int(count)


def open_database(
    url: str,
    *,
    schema: str | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    timeout: float = 300.0,
    count_rows: bool = True,
) -> Database:
    """Open a database read-only: a SQLAlchemy URL (duckdb, postgresql, sqlite) or the path of a file.

    Without `schema`: the engine's default one, or, if that is empty, the only one with tables in it. `include` and
    `exclude` are names or patterns (`*`, `?`) of tables. No single wait for the database lasts longer than
    `timeout` seconds.
    """
    parsed = parse_url(url)
    engine = _engine(parsed, timeout)
    try:
        return Database(
            engine,
            without_password(parsed),
            _settled_schema(engine, schema, without_password(parsed)),
            tuple(include),
            tuple(exclude),
            count_rows,
        )
    except BaseException:
        engine.close()
        raise


def parse_url(url: str, *, may_be_new: bool = False) -> URL:
    """The URL's parts. A plain path stands for the file there; a new one is SQLite's or DuckDB's by its suffix."""
    if "://" not in url:
        path = Path(url)
        if not path.exists() and re.search(r"@|password\s*=", url, re.IGNORECASE):
            raise DatabaseError(_HOW_URLS_LOOK)  # a mistyped URL or a DSN; what is in it must not be shown
        if may_be_new and not path.exists():
            return URL.create("sqlite" if path.suffix in _SQLITE_SUFFIXES else "duckdb", database=url)
        return URL.create(_file_engine(path), database=url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the message of neither may be shown: it can hold the password
        raise DatabaseError(_HOW_URLS_LOOK) from None
    scheme = _SCHEMES.get(parsed.drivername.split("+")[0])
    if scheme is None:
        raise DatabaseError(f"no engine for {parsed.drivername!r} databases: use duckdb, postgresql or sqlite URLs")
    return parsed.set(drivername=scheme)


def _engine(url: URL, timeout: float) -> Engine:
    if not timeout > 0:
        raise DatabaseError(f"the timeout must be more than 0 seconds, not {timeout:g}")
    if url.drivername == "postgresql":
        return PostgreSQL(url, timeout)
    if url.database in (None, "", ":memory:"):
        raise DatabaseError(f"a database in memory has nothing to read: give a file, {url.drivername}:///path")
    path = Path(str(url.database))
    found = _file_engine(path)
    if found != url.drivername:
        raise DatabaseError(f"{path} is a {found} database: open it with {found}:///{path}")
    return DuckDB(path, timeout) if found == "duckdb" else SQLite(path, timeout)


def _file_engine(path: Path) -> str:
    """Which engine wrote the file: each marks its files with a word near the start."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        raise DatabaseError(f"no such database file: {path}") from None
    except OSError as error:
        raise DatabaseError(f"cannot read {path}: {error.strerror}") from None
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    raise DatabaseError(f"{path} is not a database (neither DuckDB nor SQLite)")


def _settled_schema(engine: Engine, wanted: str | None, safe_url: str) -> str | None:
    default, found = engine.schemas()
    if wanted is not None:
        if default is not None and wanted not in found:
            raise DatabaseError(f"no schema {wanted!r} in {safe_url}{nearest(wanted, found)}")
        engine.use_schema(wanted)
        return wanted
    filled = sorted(name for name, tables in found.items() if tables)
    if not filled or default in filled:
        return default
    if len(filled) > 1:
        raise DatabaseError(f"{safe_url} has several schemas: choose one of {', '.join(filled)}")
    engine.use_schema(filled[0])
    return filled[0]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
