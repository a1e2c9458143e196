"""A dump into a DuckDB file. Keys are checked once, when all rows are in, and kept as data (`KEYS_TABLE`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ruleminer.errors import DatabaseError, InputError
from ruleminer.rules.dialects import DUCKDB
from ruleminer.rules.values import Kind
from ruleminer.sources.engines.duckdb import KEYS_TABLE, attached, detach, shut_in
from ruleminer.sources.engines.engine import one_line
from ruleminer.sources.pgdump.copy_text import copy_batches, copy_table
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import Columns, DumpColumn, DumpTable, DumpView
from ruleminer.sources.pgdump.rows import Rows
from ruleminer.sources.pgdump.target import occupied
from ruleminer.sources.schema import quote_identifier as quoted
from ruleminer.whole_files import sweep_dead

_TYPES = {
    "SMALLINT": "SMALLINT",
    "SMALLSERIAL": "SMALLINT",
    "INT": "INTEGER",
    "SERIAL": "INTEGER",
    "REAL": "REAL",
    "BOOLEAN": "BOOLEAN",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPTZ": "TIMESTAMPTZ",
}
_WIDEST = {Kind.INTEGER: "BIGINT", Kind.DECIMAL: "DOUBLE"}
_MEGABYTES = 512  # and one more per column of the widest table; beyond that DuckDB goes to disk
_MAX_DIGITS = 38  # of DuckDB's DECIMAL


@contextmanager
def into_duckdb(path: Path, declared: Declarations, replace: bool) -> Iterator[DuckDBTarget]:
    """The file, ready to be filled. A new one appears under its name when all is done."""
    if str(path) in (".", ":memory:"):
        raise DatabaseError("a database in memory would be gone at once: give a file, duckdb:///path")
    is_new = not path.exists()
    if is_new and not path.parent.is_dir():
        raise DatabaseError(f"no folder {path.parent} to write {path.name} into")
    place = path.with_name(f".{path.name}.loading-{os.getpid()}") if is_new else path
    sweep_dead(path.parent, f".{path.name}.loading-")
    try:
        target = DuckDBTarget(place, path, declared, replace)
        try:
            yield target
        finally:
            target.close()
        if is_new:
            place.replace(path)
    except duckdb.Error as error:
        raise InputError(f"{declared.path}: DuckDB cannot take this dump: {one_line(error)}") from None
    finally:
        if is_new:
            place.unlink(missing_ok=True)
            place.with_name(place.name + ".wal").unlink(missing_ok=True)
            shutil.rmtree(place.with_name(place.name + ".tmp"), ignore_errors=True)


class DuckDBTarget:
    """One transaction on a DuckDB file, which `finish` makes final."""

    def __init__(self, place: Path, path: Path, declared: Declarations, replace: bool) -> None:
        self._declared = declared
        _refuse_twins(declared)
        self._connection = attached(place, path, place.with_name(place.name + ".tmp"), read_only=False)
        try:
            self._run("SET TimeZone = 'UTC'")
            widest = max(len(table.columns) for table in declared.tables.values())
            self._run(f"SET memory_limit = '{_MEGABYTES + widest}MB'")
            self._run("SET threads = 2")
            self._run("BEGIN")
            for schema in declared.schemas:
                self._make_schema(schema, path, replace)
            for table in declared.tables.values():
                columns = ", ".join(_definition(table, column) for column in table.columns)
                self._run(f"CREATE TABLE {_name(table)} ({columns})")
        except BaseException:
            self.close()
            raise

    def fill(self, rows: Rows) -> int:
        """Add the rows to their table, and say how many they were."""
        columns = {column.name: column for column in rows.table.columns}
        names = [f"c{number}" for number in range(len(rows.columns))]
        values = [_value(columns[name], raw) for name, raw in zip(rows.columns, names, strict=True)]
        insert = (
            f"INSERT INTO {_name(rows.table)} ({', '.join(map(quoted, rows.columns))}) "
            f"SELECT {', '.join(values)} FROM incoming"
        )
        done = 0
        for batch in copy_batches(rows.lines):
            try:
                incoming = copy_table(batch, names)
                # DuckDB finds `incoming` in this frame. Registered, it would stay in memory till the commit.
                self._connection.execute(insert)
            except ValueError as error:
                raise InputError(f"{rows.place(done + error.args[0])}: {error.args[1]}") from None
            except duckdb.Error as error:
                number, reason = self._misfit(rows, incoming, one_line(error))
                raise InputError(f"{rows.place(done + number)}: table {rows.table.name}: {reason}") from None
            done += len(batch)
        return done

    def finish(self) -> list[str]:
        """Check the keys and keep them; make the views."""
        for table in self._declared.tables.values():
            for column in table.columns:
                if _is_unbounded(column):
                    self._bound(table, column)
        for schema in self._declared.schemas:
            self._run(
                f"CREATE TABLE {quoted(schema)}.{KEYS_TABLE} (table_name VARCHAR, constraint_type VARCHAR, "
                "columns VARCHAR[], referenced_table VARCHAR, referenced_columns VARCHAR[])"
            )
        for table in self._declared.tables.values():
            self._keep_keys(table)
        self._run("COMMIT")
        # Until here all SQL was ours, and DuckDB must see `incoming`; the text of a view is the dump's own.
        shut_in(self._connection)
        # Behind the transaction, for DuckDB ends one at the first view it cannot make.
        made = [view.name for view in self._declared.views if self._made(view)]
        detach(self._connection)
        return made

    def close(self) -> None:
        """Let go of the file; what is not committed is undone."""
        self._connection.close()

    def _run(self, sql: str, *params: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, params).fetchall()

    def _make_schema(self, schema: str, path: Path, replace: bool) -> None:
        filled = self._run(
            "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ? "
            "UNION ALL SELECT 1 FROM duckdb_views() "
            "WHERE database_name = current_database() AND schema_name = ? AND NOT internal LIMIT 1",
            schema,
            schema,
        )
        if filled and not (replace and schema != "main"):
            raise occupied(str(path), schema, can_replace=schema != "main")
        if filled:
            self._run(f"DROP SCHEMA {quoted(schema)} CASCADE")
        self._run(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")

    def _bound(self, table: DumpTable, column: DumpColumn) -> None:
        """Give a numeric without bounds the digits its values need; DuckDB's DECIMAL must have them."""
        name = quoted(column.name)
        ((whole, scale, others),) = self._run(
            f"SELECT coalesce(max(length(split_part(ltrim({name}, '-'), '.', 1))), 1), "
            f"coalesce(max(length(split_part({name}, '.', 2))), 0), "
            f"count(*) FILTER (NOT regexp_full_match({name}, '-?[0-9]+([.][0-9]+)?')) FROM {_name(table)}"
        )
        fits = not others and whole + scale <= _MAX_DIGITS
        if not fits:
            self._declared.skipped[f"exact digits of {table.name}.{column.name}"] += 1
        sql_type = f"DECIMAL({max(18, whole + scale)}, {scale})" if fits else "DOUBLE"
        self._run(f"ALTER TABLE {_name(table)} ALTER COLUMN {name} TYPE {sql_type}")

    def _keep_keys(self, table: DumpTable) -> None:
        keys: list[tuple[Any, ...]] = []
        if table.primary_key:
            keys.append((table.name, "PRIMARY KEY", list(table.primary_key), None, []))
        keys += [(table.name, "UNIQUE", list(columns), None, []) for columns in table.unique]
        for _, kind, columns, *_ in keys:
            self._check_unique(table, kind, columns)
        for key in table.foreign_keys:
            target, referenced = self._declared.target(key)
            if key.valid:
                self._check_reference(table, key.columns, target, referenced)
            if target.schema == table.schema:
                keys.append((table.name, "FOREIGN KEY", list(key.columns), target.name, list(referenced)))
        if keys:
            place = f"{quoted(table.schema)}.{KEYS_TABLE}"
            self._connection.executemany(f"INSERT INTO {place} VALUES (?, ?, ?, ?, ?)", keys)

    def _check_unique(self, table: DumpTable, kind: str, columns: Sequence[str]) -> None:
        names = ", ".join(map(quoted, columns))
        present = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in columns)
        if twice := self._run(
            f"SELECT {names} FROM {_name(table)} WHERE {present} GROUP BY {names} HAVING count(*) > 1 LIMIT 1"
        ):
            raise self._violated(table, f"{kind} ({', '.join(columns)})", f"{_shown(twice[0])} is there twice")

    def _check_reference(self, table: DumpTable, own: Columns, target: DumpTable, referenced: Columns) -> None:
        pairs = list(zip(map(quoted, own), map(quoted, referenced), strict=True))
        present = " AND ".join(f"child.{mine} IS NOT NULL" for mine, _ in pairs)
        same = " AND ".join(f"child.{mine} = parent.{theirs}" for mine, theirs in pairs)
        if lost := self._run(
            f"SELECT {', '.join(f'child.{mine}' for mine, _ in pairs)} FROM {_name(table)} child WHERE {present} "
            f"AND NOT EXISTS (SELECT 1 FROM {_name(target)} parent WHERE {same}) LIMIT 1"
        ):
            what = f"FOREIGN KEY ({', '.join(own)})"
            raise self._violated(table, what, f"{_shown(lost[0])} is not in table {target.name}")

    def _violated(self, table: DumpTable, key: str, how: str) -> InputError:
        return InputError(f"{self._declared.path}: table {table.name} breaks its {key}: {how}")

    def _made(self, view: DumpView) -> bool:
        try:
            self._run(self._declared.view_sql(view, DUCKDB))
        except duckdb.Error as error:
            self._declared.skipped[f"CREATE VIEW {view.name}: {one_line(error)[:120]}"] += 1
            return False
        return True

    def _misfit(self, rows: Rows, incoming: pa.Table, reason: str) -> tuple[int, str]:
        """The first of the incoming rows that its table refuses, and why; else the first row and the reason given."""
        self._run("ROLLBACK")
        self._connection.register("incoming", incoming)
        columns = {column.name: column for column in rows.table.columns}
        found = []
        for name, raw in zip(rows.columns, incoming.column_names, strict=True):
            column = columns[name]
            wrong = f"{raw} IS NOT NULL AND TRY_CAST({raw} AS {_type(column)}) IS NULL"
            if not column.nullable or name in rows.table.primary_key:
                wrong = f"{raw} IS NULL OR ({wrong})"
            first = self._run(
                f"SELECT n, {raw} FROM (SELECT row_number() OVER () - 1 AS n, {raw} FROM incoming) "
                f"WHERE {wrong} ORDER BY n LIMIT 1"
            )
            found += [(number, name, value) for number, value in first]
        if not found:
            return 0, reason
        number, name, value = min(found)
        what = "NULL" if value is None else f"{value[:60]!r}"
        return number, f"column {name}: {what} is not a value of type {columns[name].sql_type}"


def _refuse_twins(declared: Declarations) -> None:
    """DuckDB does not tell names apart by case; PostgreSQL does."""
    places: dict[str, list[str]] = {f"schema {schema}": [] for schema in declared.schemas}
    for table in declared.tables.values():
        places[f"schema {table.schema}"].append(table.name)
        places[f"table {table.name}"] = [column.name for column in table.columns]
    for place, names in places.items():
        spelled: dict[str, str] = {}
        for name in names:
            if (twin := spelled.setdefault(name.casefold(), name)) != name:
                raise InputError(
                    f"{declared.path}: {place} has both {twin!r} and {name!r}, which only PostgreSQL tells apart: "
                    "load it into a PostgreSQL database"
                )


def _name(table: DumpTable) -> str:
    return f"{quoted(table.schema)}.{quoted(table.name)}"


def _definition(table: DumpTable, column: DumpColumn) -> str:
    required = not column.nullable or column.name in table.primary_key
    return f"{quoted(column.name)} {_type(column)}{' NOT NULL' if required else ''}"


def _type(column: DumpColumn) -> str:
    """DuckDB's type; what has no kind of its own is kept as the text PostgreSQL writes for it."""
    if column.kind is Kind.TEXT or _is_unbounded(column):
        return "VARCHAR"
    if column.base_type == "DECIMAL" and column.digits:
        return "DECIMAL({}, {})".format(*column.digits)
    return _TYPES.get(column.base_type) or _WIDEST[column.kind]


def _is_unbounded(column: DumpColumn) -> bool:
    if column.base_type != "DECIMAL":
        return False
    return column.digits is None or column.digits[0] > _MAX_DIGITS or column.digits[1] > column.digits[0]


def _value(column: DumpColumn, raw: str) -> str:
    """PostgreSQL's text of a value as an expression of the column's type."""
    if column.is_padded:
        return f"rtrim({raw}, ' ')"
    if column.kind in (Kind.DATE, Kind.TIMESTAMP):
        era = rf"regexp_replace({raw}, '^(\S+)( .*)? BC$', '\1 (BC)\2')"
        return f"CAST(CASE WHEN {raw} LIKE '% BC' THEN {era} ELSE {raw} END AS {_type(column)})"
    return raw if _type(column) == "VARCHAR" else f"CAST({raw} AS {_type(column)})"


def _shown(values: tuple[object, ...]) -> str:
    return ", ".join(str(value)[:60] for value in values)
