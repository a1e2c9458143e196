"""A dump into a PostgreSQL database, in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812
from sqlalchemy.engine import URL

from ruleminer.errors import InputError
from ruleminer.rules.dialects import POSTGRES
from ruleminer.sources.engines.engine import one_line, scrubbed, without_password
from ruleminer.sources.engines.postgresql import connect
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import Columns, DumpColumn, DumpTable, DumpView
from ruleminer.sources.pgdump.rows import Rows
from ruleminer.sources.pgdump.target import occupied
from ruleminer.sources.schema import quote_identifier as quoted

_CHUNK = 1 << 16
_FILLED = """
SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f') LIMIT 1"""


@contextmanager
def into_postgresql(url: URL, declared: Declarations, replace: bool) -> Iterator[PostgreSQLTarget]:
    """The database, ready to be filled; nothing of it is seen before all is done."""
    connection = connect(url)
    try:
        target = PostgreSQLTarget(connection, declared)
        target.create(without_password(url), replace)
        yield target
        connection.commit()
    except psycopg2.Error as error:
        told = ": ".join(filter(None, [error.diag.message_primary or str(error), error.diag.message_detail]))
        reason = scrubbed(one_line(told), url)
        raise InputError(f"{declared.path}: PostgreSQL does not take this dump: {reason}") from None
    finally:
        connection.close()


class PostgreSQLTarget:
    """One transaction on a server."""

    def __init__(self, connection: Connection, declared: Declarations) -> None:
        self._connection, self._declared = connection, declared
        self._cursor = connection.cursor()

    def create(self, place: str, replace: bool) -> None:
        """Make the schemas and tables."""
        for setting in ("statement_timeout = 0", "TimeZone = 'UTC'", "search_path = ''", "DateStyle = 'ISO, YMD'"):
            self._cursor.execute(f"SET LOCAL {setting}")
        for schema in self._declared.schemas:
            self._cursor.execute(_FILLED, (schema,))
            filled = self._cursor.fetchone() is not None
            if filled and not (replace and schema != "public"):
                raise occupied(place, schema, can_replace=schema != "public")
            if filled:
                self._cursor.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")
            self._cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
        types = self._known_types()
        for table in self._declared.tables.values():
            columns = ", ".join(_definition(column, types) for column in table.columns)
            self._cursor.execute(f"CREATE TABLE {_name(table)} ({columns})")

    def fill(self, rows: Rows) -> int:
        """Add the rows to their table, and say how many they were."""
        copy = f"COPY {_name(rows.table)} ({_list(rows.columns)}) FROM STDIN"
        try:
            self._cursor.copy_expert(copy, _Chunks(rows.lines))
        except (psycopg2.DataError, psycopg2.IntegrityError) as error:
            raise self._misfit(rows, error) from None
        return self._cursor.rowcount

    def finish(self) -> list[str]:
        """Add the keys, which PostgreSQL checks, and the views."""
        tables = self._declared.tables.values()
        for table in tables:
            if table.primary_key:
                self._constrain(table, f"PRIMARY KEY ({_list(table.primary_key)})")
            for columns in table.unique:
                self._constrain(table, f"UNIQUE ({_list(columns)})")
        for table in tables:
            for key in table.foreign_keys:
                target, referenced = self._declared.target(key)
                self._constrain(
                    table,
                    f"FOREIGN KEY ({_list(key.columns)}) REFERENCES {_name(target)} ({_list(referenced)})"
                    f"{'' if key.valid else ' NOT VALID'}",
                )
            self._cursor.execute(f"ANALYZE {_name(table)}")
        return [view.name for view in self._declared.views if self._made(view)]

    def _constrain(self, table: DumpTable, constraint: str) -> None:
        self._cursor.execute(f"ALTER TABLE {_name(table)} ADD {constraint}")

    def _made(self, view: DumpView) -> bool:
        self._cursor.execute("SAVEPOINT view")
        try:
            self._cursor.execute(self._declared.view_sql(view, POSTGRES))
        except psycopg2.Error as error:
            self._cursor.execute("ROLLBACK TO view")
            self._declared.skipped[f"CREATE VIEW {view.name}: {one_line(error.diag.message_primary)}"] += 1
            return False
        return True

    def _known_types(self) -> set[str]:
        """The types of the dump that this server has; columns of others (extensions, enums) hold text."""
        known = set()
        for sql_type in {c.sql_type for table in self._declared.tables.values() for c in table.columns}:
            self._cursor.execute("SAVEPOINT type")
            try:
                self._cursor.execute("SELECT to_regtype(%s) IS NOT NULL", (sql_type,))
                if self._cursor.fetchone() == (True,):
                    known.add(sql_type)
            except psycopg2.Error:
                self._cursor.execute("ROLLBACK TO type")
        return known

    def _misfit(self, rows: Rows, error: psycopg2.Error) -> InputError:
        line = re.search(r"COPY .*, line (\d+)", error.diag.context or "")
        place = rows.place(int(line[1]) - 1 if line else 0)
        return InputError(f"{place}: table {rows.table.name}: {one_line(error.diag.message_primary)}")


class _Chunks:
    """Lines as the file that `copy_expert` wants to read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines

    def read(self, _size: int = -1, /) -> bytes:
        chunk: list[bytes] = []
        size = 0
        for line in self._lines:
            chunk.append(line)
            size += len(line)
            if size >= _CHUNK:
                break
        return b"".join(chunk)

    def readline(self, _size: int = -1, /) -> bytes:
        return next(self._lines, b"")


def _definition(column: DumpColumn, types: set[str]) -> str:
    sql_type = column.sql_type if column.sql_type in types else "TEXT"
    return f"{quoted(column.name)} {sql_type}{'' if column.nullable else ' NOT NULL'}"


def _name(table: DumpTable) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)}"


def _list(names: Columns) -> str:
    return ", ".join(map(quoted, names))
