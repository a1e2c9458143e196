"""A dump into a schema of a MySQL or MariaDB server, which it calls a database. Keys are added when all rows are in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any

import pymysql
from sqlalchemy.engine import URL

from ruleminer.errors import InputError
from ruleminer.rules.lexical import timestamp_form
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.engine import one_line, without_password
from ruleminer.sources.engines.mysql import connect
from ruleminer.sources.pgdump.copy_text import copy_fields
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import Columns, DumpColumn, DumpTable
from ruleminer.sources.pgdump.rows import Rows
from ruleminer.sources.pgdump.target import occupied
from ruleminer.sources.schema import quote_identifier as quoted

_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.DECIMAL: "DOUBLE",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "DATETIME(6)",
    Kind.TEXT: "LONGTEXT",
}
_KEY_LENGTH = 255  # characters; an index takes 3,072 bytes, and a text without bounds none
_ROWS = 1000  # in one INSERT
_MAX_DIGITS = 65


@contextmanager
def into_mysql(url: URL, declared: Declarations, replace: bool) -> Iterator[MySQLTarget]:
    """The schemas, ready to be filled. The server makes tables outside of transactions: on failure they are dropped."""
    connection = connect(url, database=None)
    made: list[str] = []  # statements that undo what was done
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'")
            cursor.execute("SET SESSION foreign_key_checks = 0, time_zone = '+00:00'")
            for schema in declared.schemas:
                cursor.execute("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (schema,))
                is_there = bool(cursor.fetchall())
                cursor.execute("SELECT 1 FROM information_schema.tables WHERE table_schema = %s", (schema,))
                if cursor.fetchall():
                    if not replace:
                        raise occupied(without_password(url), schema, can_replace=True)
                    cursor.execute(f"DROP DATABASE {quoted(schema)}")
                    is_there = False
                if is_there:
                    own = [table for table in declared.tables.values() if table.schema == schema]
                    made += [f"DROP TABLE IF EXISTS {_name(table)}" for table in own]
                else:
                    made.append(f"DROP DATABASE IF EXISTS {quoted(schema)}")
                    cursor.execute(f"CREATE DATABASE {quoted(schema)} CHARACTER SET utf8mb4")
        yield MySQLTarget(connection, declared)
        connection.commit()
        made = []
    except pymysql.Error as error:
        raise InputError(f"{declared.path}: the server does not take this dump: {one_line(error.args[-1])}") from None
    finally:
        if made and connection.open:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION foreign_key_checks = 0")
                for statement in made:
                    cursor.execute(statement)
        connection.close()


class MySQLTarget:
    """Schemas being filled."""

    def __init__(self, connection: pymysql.Connection[Any], declared: Declarations) -> None:
        self._connection, self._declared = connection, declared
        for table in declared.tables.values():
            indexed = self._indexed(table)
            columns = ", ".join(
                f"{quoted(c.name)} {_type(c, c.name in indexed)}{'' if c.nullable else ' NOT NULL'}"
                for c in table.columns
            )
            self._run(f"CREATE TABLE {_name(table)} ({columns}) ENGINE=InnoDB CHARACTER SET utf8mb4")

    def fill(self, rows: Rows) -> int:
        """Add the rows to their table, and say how many they were."""
        columns = {column.name: column for column in rows.table.columns}
        readers = [_reader(columns[name]) for name in rows.columns]
        one = f"({', '.join('%s' for _ in readers)})"
        insert = f"INSERT INTO {_name(rows.table)} ({_list(rows.columns)}) VALUES ".replace("%", "%%")
        done = 0
        while some := list(islice(rows.lines, _ROWS)):
            values: list[object] = []
            for number, line in enumerate(some):
                try:
                    fields = copy_fields(line)
                    pairs = zip(readers, fields, strict=True)
                    values += [None if field is None else read(field) for read, field in pairs]
                except ValueError as error:
                    where = f"{rows.place(done + number)}: table {rows.table.name}"
                    raise InputError(f"{where}: not a row of it: {error}") from None
            try:
                self._run(insert + ", ".join([one] * len(some)), values)
            except pymysql.Error as error:
                raise InputError(
                    f"{rows.place(done)}: table {rows.table.name}, from here on: {one_line(error.args[-1])}"
                ) from None
            done += len(some)
        return done

    def finish(self) -> list[str]:
        """Add the keys, which the server checks; views are left out, for they are written in another SQL."""
        self._run("SET SESSION foreign_key_checks = 1")
        for table in self._declared.tables.values():
            keys = [f"ADD PRIMARY KEY ({_list(table.primary_key)})"] if table.primary_key else []
            keys += [f"ADD UNIQUE ({_list(columns)})" for columns in table.unique]
            if keys:
                self._run(f"ALTER TABLE {_name(table)} {', '.join(keys)}")
        for table in self._declared.tables.values():
            for key in table.foreign_keys:
                target, referenced = self._declared.target(key)
                self._run(
                    f"ALTER TABLE {_name(table)} ADD FOREIGN KEY ({_list(key.columns)}) "
                    f"REFERENCES {_name(target)} ({_list(referenced)})"
                )
        for view in self._declared.views:
            self._declared.skipped[f"CREATE VIEW {view.name}"] += 1
        return []

    def _run(self, sql: str, values: list[object] | None = None) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values)

    def _indexed(self, table: DumpTable) -> set[str]:
        """The columns of keys, and those that keys of other tables lead to."""
        own = {name for key in (table.primary_key, *table.unique) for name in key}
        own |= {name for key in table.foreign_keys for name in key.columns}
        for other in self._declared.tables.values():
            for key in other.foreign_keys:
                target, referenced = self._declared.target(key)
                own |= set(referenced) if target is table else set()
        return own


def _type(column: DumpColumn, indexed: bool) -> str:
    if column.kind is Kind.DECIMAL and column.base_type == "DECIMAL":
        precision, scale = column.digits or (_MAX_DIGITS, 30)
        return f"DECIMAL({min(precision, _MAX_DIGITS)}, {min(scale, 30)})"
    if column.kind is Kind.TEXT and indexed:
        return f"VARCHAR({_KEY_LENGTH}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    return _TYPES[column.kind]


def _reader(column: DumpColumn) -> Callable[[str], object]:
    if column.kind is Kind.BOOLEAN:
        return lambda text: text in ("t", "true", "1")
    if column.base_type == "TIMESTAMPTZ":
        return lambda text: timestamp_form(datetime.fromisoformat(text))
    return (lambda text: text.rstrip(" ")) if column.is_padded else str


def _name(table: DumpTable) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)}"


def _list(names: Columns) -> str:
    return ", ".join(map(quoted, names))
