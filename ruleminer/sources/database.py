"""A database opened for reading: what it holds, and queries on it as rows or as Arrow.

SQL is written for `Database.dialect`. Where parameters are given, `BOUND` (rules/dialects) stands for each in turn,
whatever the engine; without any (None) the text goes as it stands.
"""

from __future__ import annotations

import logging
import os
import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

import pyarrow as pa
import sqlglot
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError, InputError, RoleWarning
from ruleminer.rules.dialects import DIALECTS, Dialect
from ruleminer.sources.engines.duckdb import DuckDB
from ruleminer.sources.engines.engine import (
    ROLE,
    Engine,
    Interruptible,
    Parameters,
    Through,
    WritesInParallel,
    one_line,
    without_password,
)
from ruleminer.sources.engines.folder import SUFFIXES, open_folder
from ruleminer.sources.engines.mysql import MySQL
from ruleminer.sources.engines.postgresql import PostgreSQL
from ruleminer.sources.engines.spark import Spark
from ruleminer.sources.engines.sqlite import SQLite
from ruleminer.sources.schema import Schema, Table, closed_schema, nearest, quote_identifier

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it repeats a stranger's SQL as it is, on the terminal

_QUERIES = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}
_QUERY = re.compile(r"(SELECT|WITH|VALUES)\b")
_LONGEST_WAIT = 1_000_000  # seconds; servers count milliseconds in 32 bits
_SQLITE_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_SCHEMES = {
    "duckdb": "duckdb",
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "parquet": "parquet",
    "csv": "csv",
    "spark": "spark",
    "sc": "sc",
}
_SERVERS = ("postgresql", "mysql")
_FOLDER = re.compile(r"(parquet|csv):(?!//)(.+)", re.DOTALL)
_SPARK = re.compile(r"spark:(?!//)([^?]*)(?:\?(.*))?", re.DOTALL)
_MISSING = {"mssql": "SQL Server", "sqlserver": "SQL Server", "oracle": "Oracle"}


_LONGEST_URL = 4096
_HOW_URLS_LOOK = (
    "cannot read the database URL; it looks like duckdb:///file.duckdb, "
    "postgresql://user:password@host/database, mysql://user:password@host/database, sqlite:///file.sqlite, "
    "parquet:FOLDER, csv:FOLDER, spark:FOLDER or sc://host:15002"
)


CountRows = bool | Literal["views"]
"""Whether tables are counted when their schema is read; only a count tells whether a view works at all."""


class Database:
    """A read-only database. A context manager; closing it ends its connections."""

    def __init__(
        self,
        engine: Engine,
        safe_url: str,
        schema: str | None,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        count_rows: CountRows,
        trusts: bool = False,
    ) -> None:
        self.dialect, self.safe_url, self.schema_name = engine.dialect, safe_url, schema
        self.origin: Database | None = None  # whose tables these are, where they are kept by another engine
        self.trusts = trusts  # whether a stranger's SQL runs as it is (foreign_sql.py)
        self._engine, self._include, self._exclude, self._count_rows = engine, include, exclude, count_rows
        self._functions: dict[str, bool] = {}
        self._memory: int | None = None

    @cached_property
    def schema(self) -> Schema:
        """The tables and views we may use, read on first use, with exact row counts."""
        tables, refused = self.reflected
        kept, unreadable = [], list(refused)
        for table in tables:
            try:
                kept.append(replace(table, rows=self._count(table)))
            except ConnectionLostError:
                raise
            except DatabaseError as error:  # a view that no longer works
                unreadable.append((table.name, str(error)))
        return closed_schema(self.schema_name, kept, unreadable)

    @cached_property
    def reflected(self) -> tuple[list[Table], list[tuple[str, str]]]:
        """The tables and views we may use, mostly uncounted, and (name, reason) of those that we may not read."""
        tables, unreadable = self._engine.reflect(self.schema_name)
        chosen = self._chosen([table.name for table in tables] + [name for name, _ in unreadable])
        return (
            [table for table in tables if table.name in chosen],
            [(name, reason) for name, reason in unreadable if name in chosen],
        )

    def asked_by(self, engine: Engine) -> Database:
        """The same database, with another engine that keeps the tables we may use."""
        moved = Database(engine, self.safe_url, self.schema_name, (), (), True, self.trusts)
        moved.origin = self
        return moved

    @property
    def own_dialect(self) -> Dialect:
        """In which its rules are written, wherever its tables are kept."""
        return self.dialect if self.origin is None else self.origin.dialect

    def rows(self, sql: str, params: Parameters = None) -> Iterator[tuple[Any, ...]]:
        """The rows of one query, streamed. The query runs when the first row is asked for."""
        return self._engine.rows(self._checked(sql, params), params)

    def arrow(self, sql: str, params: Parameters = None) -> pa.RecordBatchReader:
        """The rows of one query as a stream of Arrow batches.

        The engines differ in what they make of a type (PostgreSQL's `numeric` comes as text, SQLite's columns are
        whatever their values are), so cast in the SQL what must come out alike.
        """
        return self._engine.arrow(self._checked(sql, params), params)

    @property
    def writes_in_parallel(self) -> bool:
        """Whether the engine can write what becomes of its rows by itself, with `write_distinct`."""
        return isinstance(self._engine, WritesInParallel) and self._engine.writes_in_parallel

    def write_distinct(
        self,
        statements: Sequence[tuple[str, Through]],
        columns: Sequence[str],
        folder: Path,
        form: str,
        per_file: int,
    ) -> tuple[list[Path], int, list[Any]]:
        """What becomes of the rows of queries, each row once, as files: their names, the rows, and what was told."""
        if not isinstance(self._engine, WritesInParallel):
            raise DatabaseError(f"{self.safe_url} writes no files")
        checked = [(self._checked(sql, None), through) for sql, through in statements]
        return self._engine.write_distinct(checked, columns, folder, form, per_file)

    def refused_functions(self, names: Collection[str]) -> set[str]:
        """Those of the names that a stranger's SQL may not call; each is asked about once."""
        unknown = set(names) - self._functions.keys()
        if unknown:
            refused = self._engine.refused_functions(unknown)
            self._functions.update({name: name in refused for name in unknown})
        return {name for name in names if self._functions[name]}

    @contextmanager
    def memory_limit(self, size: int) -> Iterator[None]:
        """A source that is read in this process takes no more than so many bytes inside, whatever it takes outside."""
        before, self._memory = self._memory, size
        self._engine.limit_memory(size)
        try:
            yield
        finally:
            self._memory = before
            self._engine.limit_memory(before)

    def quoted(self, table: str) -> str:
        """The table's name for SQL: quoted, and with its schema where there are schemas."""
        name = quote_identifier(table)
        return name if self.schema_name is None else f"{quote_identifier(self.schema_name)}.{name}"

    def interrupt(self) -> None:
        """End what streams as Arrow in another thread, where the engine can."""
        if isinstance(self._engine, Interruptible):
            self._engine.interrupt()

    def close(self) -> None:
        """End all connections."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, sql: str, params: Parameters) -> str:
        """One query, as the engine takes it."""
        if params is not None:
            sql = self.dialect.bound(sql)
        if ";" not in sql and _QUERY.match(sql):  # one at most, and a query: to cut long ones into words takes long
            return sql
        # A first look; that it is one statement is for the engine to say, which reads it as it will be run.
        try:
            tokens = sqlglot.tokenize(sql, dialect=self.dialect.name)
        except SqlglotError as error:
            raise DatabaseError(f"cannot read this SQL: {one_line(error)}") from None
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        if not tokens or tokens[0].token_type not in _QUERIES:
            raise DatabaseError(f"not a query (SELECT, WITH or VALUES): {one_line(sql)[:80]}")
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise DatabaseError(f"more than one statement where one query is expected: {one_line(sql)[:80]}")
        return sql

    def _chosen(self, names: list[str]) -> set[str]:
        where = "" if self.schema_name is None else f" in schema {self.schema_name!r}"
        for pattern in (*self._include, *self._exclude):
            if pattern not in names and not any(c in pattern for c in "*?["):
                raise DatabaseError(f"no table {pattern!r}{where}{nearest(pattern, names)}")
        for pattern in self._include:
            if names and not any(_matches(name, (pattern,)) for name in names):
                raise DatabaseError(
                    f"no table is called like {pattern!r}{where}; there is {', '.join(sorted(names)[:3])} …"
                )
        return {
            name
            for name in names
            if (not self._include or _matches(name, self._include)) and not _matches(name, self._exclude)
        }

    def _count(self, table: Table) -> int | None:
        if table.rows is not None or not (self._count_rows is True or (self._count_rows == "views" and table.is_view)):
            return table.rows
        try:
            ((count,),) = self.rows(f"SELECT count(*) FROM {self.quoted(table.name)}")
        except DatabaseTimeoutError:
            return None
        return int(count)


def open_database(
    url: str | Path,
    *,
    schema: str | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    timeout: float = 300.0,
    count_rows: CountRows = True,
    trust: bool = False,
) -> Database:
    """Open a database read-only: a SQLAlchemy URL (duckdb, postgresql, mysql, mariadb, sqlite), the path of a
    file, a folder of files as parquet:FOLDER or csv:FOLDER, or Spark's, as spark:FOLDER or sc://host:15002.

    Without `schema`: the engine's default one, or, if that is empty, the only one with tables in it. `include` and
    `exclude` are names or patterns (`*`, `?`) of tables. We wait for no statement longer than `timeout` seconds, the
    time that the reader of its rows takes not counted. With `trust`, SQL of query pairs and mappings runs as it is.
    """
    parsed = parse_url(str(url))
    engine = _engine(parsed, timeout)
    try:
        _warn_of_role(engine, without_password(parsed))
        return Database(
            engine,
            without_password(parsed),
            _settled_schema(engine, schema, without_password(parsed)),
            tuple(include),
            tuple(exclude),
            count_rows,
            trust,
        )
    except BaseException:
        engine.close()
        raise


def _warn_of_role(engine: Engine, safe_url: str) -> None:
    problem = engine.role_problem()
    if problem:
        told = f"the role of {safe_url} {problem}; we only read, and a role that can only read is safer"
        warnings.warn(told, RoleWarning, stacklevel=4)


def parse_url(url: str, *, may_be_new: bool = False) -> URL:
    """The URL's parts. A plain path stands for the file there; a new one is SQLite's or DuckDB's by its suffix."""
    if len(url) > _LONGEST_URL or any(unicodedata.category(one) in ("Cc", "Cs") for one in url):
        raise DatabaseError(_HOW_URLS_LOOK)
    if folder := _FOLDER.fullmatch(url):
        return URL.create(folder[1], database=folder[2])
    if spark := _SPARK.fullmatch(url):
        return URL.create("spark", database=spark[1] or None, query=dict(parse_qsl(spark[2] or "")))
    if "://" not in url:
        path = Path(url)
        exists = os.path.exists(path)  # noqa: PTH110 (a name that is too long is no file's)
        if not exists and re.search(r"[@?=]", url):
            raise DatabaseError(_HOW_URLS_LOOK)  # a mistyped URL or a DSN; what is in it must not be shown
        if may_be_new and not exists:
            return URL.create("sqlite" if path.suffix in _SQLITE_SUFFIXES else "duckdb", database=url)
        return URL.create(_file_engine(path), database=url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the message of neither may be shown: it can hold the password
        raise DatabaseError(_HOW_URLS_LOOK) from None
    named = parsed.drivername.split("+")[0].lower()
    scheme = _SCHEMES.get(named)
    if scheme is None and named in _MISSING:
        raise DatabaseError(
            f"{_MISSING[named]} cannot be read yet: it lacks an engine and a dialect (one file each in "
            "sources/engines/ and rules/dialects/); copy what you need into PostgreSQL, or into Parquet files "
            "and give parquet:FOLDER"
        )
    if scheme is None:
        raise DatabaseError(
            f"no engine for {parsed.drivername!r} databases: use duckdb, postgresql, mysql, mariadb or sqlite URLs, "
            "parquet:FOLDER, csv:FOLDER, spark:FOLDER or sc://host:15002"
        )
    return parsed.set(drivername=scheme)


@contextmanager
def using(
    given: Database | str | Path,
    *,
    schema: str | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    timeout: float = 300.0,
    count_rows: CountRows = True,
    trust: bool = False,
) -> Iterator[Database]:
    """An open database as it is, which stays open; or the one of a URL or file, for as long as it is used."""
    if isinstance(given, Database):
        if trust and not given.trusts:
            raise InputError("‹trust› is said when a database is opened; this one is open")
        if schema is not None or (*include, *exclude):
            raise InputError("‹schema›, ‹include› and ‹exclude› are chosen when a database is opened; this one is open")
        yield given
        return
    with open_database(
        given, schema=schema, include=include, exclude=exclude, timeout=timeout, count_rows=count_rows, trust=trust
    ) as database:
        yield database


def with_role(url: str | None, role: str | None) -> str | None:
    """The URL of a server with the role to take on there; stages that come later find it in the run."""
    if role is None:
        return url
    if url is None:
        raise InputError("‹role› goes with ‹database›; a run that was made with a role has kept it")
    parsed = parse_url(url)
    if parsed.drivername not in _SERVERS:
        raise DatabaseError("a file has no roles: ‹role› goes with PostgreSQL, MySQL and MariaDB")
    return parsed.update_query_dict({ROLE: role}).render_as_string(hide_password=False)


def is_folder(url: URL) -> bool:
    """Whether a parsed URL names a folder of files."""
    return url.drivername in SUFFIXES


def has_jdbc(url: URL) -> bool:
    """Whether Java has a way to what a parsed URL names; it knows no folders."""
    return not is_folder(url) and bool(dialect_of(url).jdbc_driver)


def dialect_of(url: URL) -> Dialect:
    """The dialect of the engine that a parsed URL names."""
    scheme = "duckdb" if is_folder(url) else "spark" if url.drivername == "sc" else url.drivername
    return next(known for known in DIALECTS if known.scheme == scheme)


def _engine(url: URL, timeout: float) -> Engine:
    if not 0 < timeout <= _LONGEST_WAIT:
        raise DatabaseError(f"the timeout must be more than 0 seconds and at most {_LONGEST_WAIT:,}, not {timeout:g}")
    if url.drivername == "postgresql":
        return PostgreSQL(url, timeout)
    if url.drivername == "mysql":
        return MySQL(url, timeout)
    if url.drivername in ("spark", "sc"):
        return Spark(url, timeout)
    if url.database in (None, "", ":memory:"):
        raise DatabaseError(f"a database in memory has nothing to read: give a file, {url.drivername}:///path")
    path = Path(str(url.database))
    if is_folder(url):
        return open_folder(url.drivername, path, timeout)
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
        hint = "" if path.suffix else "; a server's URL looks like postgresql://user@host/database"
        raise DatabaseError(f"no such database file: {path}{hint}") from None
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
            one = "; one schema is read at a time, and views in it can show tables of others" if "," in wanted else ""
            raise DatabaseError(f"no schema {wanted!r} in {safe_url}{one or nearest(wanted, found)}")
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
