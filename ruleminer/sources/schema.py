"""The shape of a database as values: tables, columns, keys and what kind of value each column holds."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ruleminer.errors import DatabaseError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.values import Kind, Place

_NAMES = {
    Kind.INTEGER: "int integer int2 int4 int8 smallint bigint tinyint mediumint hugeint uhugeint utinyint usmallint "
    "uinteger ubigint serial smallserial bigserial oid unsigned_big_int int_unsigned "
    "bigint_unsigned tinyint_unsigned smallint_unsigned mediumint_unsigned year",
    Kind.DECIMAL: "decimal numeric dec number real float float4 float8 double double_precision "
    "decimal_unsigned float_unsigned double_unsigned",
    Kind.BOOLEAN: "boolean bool",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp timestamptz datetime timestamp_with_time_zone timestamp_without_time_zone "
    "timestamp_s timestamp_ms timestamp_us timestamp_ns",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_TYPE_ARGUMENTS = re.compile(r"\s*\([^()]*\)")


def kind_of_type(sql_type: str) -> Kind:
    """The kind of value a column of this SQL type holds; what no kind fits is read as text.

    >>> kind_of_type("numeric(13,6)"), kind_of_type("timestamp(3) with time zone"), kind_of_type("integer[]")
    (<Kind.DECIMAL: 'decimal'>, <Kind.TIMESTAMP: 'timestamp'>, <Kind.TEXT: 'text'>)
    """
    name = "_".join(_TYPE_ARGUMENTS.sub("", sql_type).lower().split())
    return _KINDS.get(name.removesuffix("_zerofill"), Kind.TEXT)


def quote_identifier(name: str) -> str:
    """An identifier quoted for any of our engines (standard SQL: double quotes, doubled inside)."""
    if "\0" in name:
        raise DatabaseError(f"a name cannot hold a NUL character: {name!r}")
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `sql_type` is the engine's own text, `kind` what rules make of it.

    Whether its texts are `padded` with blanks to one length is seen in the values (`structure/profile.py`).
    """

    name: str
    sql_type: str
    kind: Kind
    nullable: bool
    padded: bool = False

    @classmethod
    def of_type(cls, name: str, sql_type: str, nullable: bool) -> Column:
        """The column with the kind its SQL type tells."""
        return cls(name, sql_type, kind_of_type(sql_type), nullable)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` of the table that has it refer to the columns `referenced` of `table`, in this order."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


class Link(NamedTuple):
    """A foreign key of one column: the column, and the one that it refers to."""

    start: Place
    end: Place


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view. `rows` is exact; None if nobody counted (skipped, or the count ran out of time)."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int | None = None
    is_view: bool = False

    def column(self, name: str) -> Column:
        """The column of this name, or an error that names the nearest ones."""
        for column in self.columns:
            if column.name == name:
                return column
        known = [column.name for column in self.columns]
        raise DatabaseError(f"table {self.name!r} has no column {name!r}{nearest(name, known)}")

    def type_of(self, column: str) -> ColumnType:
        """What SQL for a column depends on. What a view's columns promise of NULLs is not always kept."""
        found = self.column(column)
        return ColumnType(found.kind, found.sql_type, found.nullable or self.is_view, found.padded)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are a key on their own, the primary key first."""
        return tuple(dict.fromkeys(key[0] for key in (self.primary_key, *self.unique) if len(key) == 1))

    @property
    def own_key(self) -> str | None:
        """The one column that names the table's rows: its primary key; if it has none, its only unique column."""
        if self.primary_key:
            return self.primary_key[0] if len(self.primary_key) == 1 else None
        return self.keys[0] if len(self.keys) == 1 else None

    @property
    def links(self) -> tuple[Link, ...]:
        """The columns that are a foreign key on their own, with where they lead; one may lead to several places."""
        single = (key for key in self.foreign_keys if len(key.columns) == len(key.referenced) == 1)
        return tuple(Link(Place(self.name, k.columns[0]), Place(k.table, k.referenced[0])) for k in single)

    @property
    def link_ends(self) -> dict[str, Place]:
        """Where each column leads that is a foreign key on its own: of several places, to the last."""
        return {link.start.column: link.end for link in self.links}


@dataclass(frozen=True)
class Schema:
    """All tables a problem may use. Every foreign key leads to a table in it.

    `unreadable` holds (name, reason) of tables that are there but refuse to be read.
    """

    name: str | None
    tables: tuple[Table, ...]
    unreadable: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}

    def __contains__(self, what: object) -> bool:
        """Whether there is a table of this name, or a column at this place."""
        if isinstance(what, Place):
            table = self._by_name.get(what.table)
            return table is not None and any(column.name == what.column for column in table.columns)
        return what in self._by_name

    def table(self, name: str) -> Table:
        """The table of this name, or an error that names the nearest ones."""
        if name in self._by_name:
            return self._by_name[name]
        for unreadable, reason in self.unreadable:
            if unreadable == name:
                raise DatabaseError(f"table {name!r} cannot be read: {reason}")
        raise DatabaseError(f"no table {name!r}{_in_schema(self.name)}{nearest(name, self._by_name)}")

    def type_of(self, table: str, column: str) -> ColumnType:
        """What SQL for a column depends on."""
        return self.table(table).type_of(column)

    @cached_property
    def keys(self) -> frozenset[Place]:
        """The columns that are a key of their table on their own."""
        return frozenset(Place(table.name, column) for table in self.tables for column in table.keys)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """All foreign keys of one column."""
        return tuple(link for table in self.tables for link in table.links)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, for a run's files."""
        return {
            "name": self.name,
            "tables": [_table_to_json(table) for table in self.tables],
            "unreadable": [list(pair) for pair in self.unreadable],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Schema:
        """The schema that `to_json` wrote."""
        return cls(
            data["name"],
            tuple(_table_from_json(table) for table in data["tables"]),
            tuple((name, reason) for name, reason in data["unreadable"]),
        )


def closed_schema(name: str | None, tables: Iterable[Table], unreadable: Iterable[tuple[str, str]] = ()) -> Schema:
    """A schema of these tables in order of name, its keys spelled as stored, without foreign keys that leave it.

    An engine that ignores case may spell a table or column otherwise in a key than in its definition.
    """
    kept = {table.name: table for table in sorted(tables, key=lambda table: table.name)}
    spelling = {table.casefold(): table for table in kept} | {table: table for table in kept}

    def column_names(table: Table, names: tuple[str, ...]) -> tuple[str, ...]:
        stored = {c.name.casefold(): c.name for c in table.columns} | {c.name: c.name for c in table.columns}
        return tuple(stored.get(name, stored.get(name.casefold(), name)) for name in names)

    def foreign_keys(table: Table) -> tuple[ForeignKey, ...]:
        found = set()
        for key in table.foreign_keys:
            target = spelling.get(key.table, spelling.get(key.table.casefold()))
            if target is not None:
                referenced = column_names(kept[target], key.referenced or kept[target].primary_key)
                found.add(ForeignKey(column_names(table, key.columns), target, referenced))
        return tuple(sorted(found, key=lambda key: (key.columns, key.table, key.referenced)))

    return Schema(
        name,
        tuple(
            replace(
                table,
                primary_key=column_names(table, table.primary_key),
                unique=tuple(sorted({column_names(table, columns) for columns in table.unique})),
                foreign_keys=foreign_keys(table),
            )
            for table in kept.values()
        ),
        tuple(sorted(unreadable)),
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, or the names there are if none is near; nothing if there are none."""
    names = sorted(known)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {', '.join(by_folded[folded] for folded in close)}?"
    if not names:
        return "; there are none"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"; there are {', '.join(names[:5])}{more}"


def _in_schema(name: str | None) -> str:
    return "" if name is None else f" in schema {name!r}"


def _table_to_json(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "columns": [
            {"name": c.name, "sql_type": c.sql_type, "kind": c.kind.value, "nullable": c.nullable}
            | ({"padded": True} if c.padded else {})
            for c in table.columns
        ],
        "primary_key": list(table.primary_key),
        "unique": [list(columns) for columns in table.unique],
        "foreign_keys": [
            {"columns": list(key.columns), "table": key.table, "referenced": list(key.referenced)}
            for key in table.foreign_keys
        ],
        "rows": table.rows,
        "is_view": table.is_view,
    }


def _table_from_json(data: Mapping[str, Any]) -> Table:
    return Table(
        data["name"],
        tuple(
            Column(c["name"], c["sql_type"], Kind(c["kind"]), c["nullable"], c.get("padded", False))
            for c in data["columns"]
        ),
        tuple(data["primary_key"]),
        tuple(tuple(columns) for columns in data["unique"]),
        tuple(
            ForeignKey(tuple(key["columns"]), key["table"], tuple(key["referenced"])) for key in data["foreign_keys"]
        ),
        data["rows"],
        data["is_view"],
    )
