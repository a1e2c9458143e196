"""A dump into a SQLite file. Keys are declared with the tables; SQLite checks all but foreign keys."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from ruleminer.errors import DatabaseError, InputError
from ruleminer.rules.dialects import SQLITE
from ruleminer.rules.lexical import timestamp_form
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.engine import one_line
from ruleminer.sources.pgdump.copy_text import copy_fields
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import Columns, DumpColumn, DumpTable, DumpView
from ruleminer.sources.pgdump.rows import Rows
from ruleminer.sources.schema import quote_identifier as quoted
from ruleminer.whole_files import sweep_dead

_NAMES = {
    Kind.INTEGER: "INTEGER",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.TEXT: "TEXT",
}


@contextmanager
def into_sqlite(path: Path, declared: Declarations, replace: bool) -> Iterator[SQLiteTarget]:
    """A new file, ready to be filled. It appears under its name when all is done, instead of an old one."""
    if str(path) in (".", ":memory:"):
        raise DatabaseError("a database in memory would be gone at once: give a file, sqlite:///path")
    if path.exists() and not replace:
        raise DatabaseError(f"{path} is there already: ‹replace=True› replaces it, or give another name")
    if not path.parent.is_dir():
        raise DatabaseError(f"no folder {path.parent} to write {path.name} into")
    place = path.with_name(f".{path.name}.loading-{os.getpid()}")
    sweep_dead(path.parent, f".{path.name}.loading-")
    try:
        connection = sqlite3.connect(place)
        try:
            yield SQLiteTarget(connection, declared)
            connection.commit()
        finally:
            connection.close()
        place.replace(path)
    except sqlite3.Error as error:
        raise InputError(f"{declared.path}: SQLite does not take this dump: {one_line(error)}") from None
    finally:
        place.unlink(missing_ok=True)
        place.with_name(place.name + "-journal").unlink(missing_ok=True)


class SQLiteTarget:
    """One transaction on a SQLite file."""

    def __init__(self, connection: sqlite3.Connection, declared: Declarations) -> None:
        self._connection, self._declared = connection, declared
        if len(declared.schemas) > 1:
            names = ", ".join(declared.schemas)
            raise InputError(f"{declared.path} has several schemas ({names}), and SQLite has none")
        for table in declared.tables.values():
            parts = [f"{quoted(c.name)} {_type(c)}{'' if c.nullable else ' NOT NULL'}" for c in table.columns]
            parts += self._keys(table)
            connection.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join(parts)})")

    def fill(self, rows: Rows) -> int:
        """Add the rows to their table, and say how many they were."""
        columns = {column.name: column for column in rows.table.columns}
        readers = [_reader(columns[name], name in rows.table.primary_key) for name in rows.columns]
        places = ", ".join("?" for _ in readers)
        insert = f"INSERT INTO {quoted(rows.table.name)} ({_list(rows.columns)}) VALUES ({places})"
        done = 0
        for done, line in enumerate(rows.lines, start=1):
            try:
                fields = copy_fields(line)
                values = [read(field) for read, field in zip(readers, fields, strict=True)]
                self._connection.execute(insert, values)
            except (ValueError, sqlite3.Error) as error:
                reason = one_line(error) if isinstance(error, sqlite3.Error) else f"not a row of it: {error}"
                raise InputError(f"{rows.place(done - 1)}: table {rows.table.name}: {reason}") from None
        return done

    def finish(self) -> list[str]:
        """Make the views; the keys are there."""
        return [view.name for view in self._declared.views if self._made(view)]

    def _made(self, view: DumpView) -> bool:
        try:
            self._connection.execute(self._declared.view_sql(view, SQLITE))
            self._connection.execute(f"SELECT 1 FROM {quoted(view.name)} LIMIT 0")
        except sqlite3.Error as error:
            self._connection.execute(f"DROP VIEW IF EXISTS {quoted(view.name)}")
            self._declared.skipped[f"CREATE VIEW {view.name}: {one_line(error)}"] += 1
            return False
        return True

    def _keys(self, table: DumpTable) -> Iterator[str]:
        if table.primary_key:
            yield f"PRIMARY KEY ({_list(table.primary_key)})"
        for columns in table.unique:
            yield f"UNIQUE ({_list(columns)})"
        for key in table.foreign_keys:
            target, referenced = self._declared.target(key)
            yield f"FOREIGN KEY ({_list(key.columns)}) REFERENCES {quoted(target.name)} ({_list(referenced)})"


def _type(column: DumpColumn) -> str:
    if column.kind is Kind.DECIMAL:
        return "DOUBLE" if column.base_type != "DECIMAL" else column.sql_type
    return _NAMES[column.kind]


def _reader(column: DumpColumn, is_key: bool) -> Callable[[str | None], object]:
    """How to read a field of the column; SQLite itself would take any value for any type."""
    read = _READERS.get(column.kind, str)
    if column.base_type == "TIMESTAMPTZ":
        read = _in_utc
    elif column.is_padded:
        read = _without_padding

    def field(text: str | None) -> object:
        if text is not None:
            return read(text)
        if is_key:
            raise ValueError(f"column {column.name} is NULL, and part of the primary key")
        return None

    return field


def _decimal(text: str) -> str:
    float(text)
    return text  # SQLite makes a number of it if it can do so without loss


def _in_utc(text: str) -> str:
    return text if text.endswith(("infinity", " BC")) else timestamp_form(datetime.fromisoformat(text))


def _without_padding(text: str) -> str:
    return text.rstrip(" ")


_READERS: dict[Kind, Callable[[str], object]] = {
    Kind.BOOLEAN: lambda text: int(text in ("t", "true", "1")),
    Kind.INTEGER: int,
    Kind.DECIMAL: _decimal,
}


def _list(names: Columns) -> str:
    return ", ".join(map(quoted, names))
