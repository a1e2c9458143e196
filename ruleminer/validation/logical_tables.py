"""Logical tables in a live database: their columns, and the SQL that reads some of them, joined or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import cast

import numpy as np
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ruleminer.errors import InputError
from ruleminer.problem.pair_sql import AliasedColumn, branches, parse_pair_sql, read_sources
from ruleminer.problem.pair_target import NoFacts
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database
from ruleminer.sources.engines.engine import one_line
from ruleminer.sources.foreign_sql import caged
from ruleminer.sources.schema import Column, nearest, quote_identifier
from ruleminer.validation.identifiers import Identifier, resolve
from ruleminer.validation.r2rml_values import LogicalTable

_SINGLE = "FLOAT"  # as DuckDB and Spark call it; Python makes 0.10000000149011612 of its 0.1
_QUERY = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:select|with|values|\()", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """A logical table as the database has it.

    `declared` has the types where the engine's values do not tell them, `written` the columns of a query as
    `table.column`, and `ambiguous` the names (in lower case) that two columns have which may differ.
    """

    inner: str
    columns: tuple[str, ...]
    shown: str
    dialect: Dialect
    declared: Mapping[int, Column] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    ambiguous: frozenset[str] = frozenset()

    def place(self, column: Identifier) -> int:
        """Where a column stands."""
        found = resolve(column, self.columns, self.dialect)
        if found is not None and found.casefold() in self.ambiguous:
            raise InputError(f"{self.shown} has two columns {found}; give one another name with AS")
        if found is None and "." in column.name:
            # Not of the standard, but NPD's reference mapping tells columns of one name apart by their tables so.
            qualified = resolve(column, self.written, self.dialect)
            if qualified is not None:
                return self.written.index(qualified)
        if found is None:
            raise InputError(f"{self.shown} has no column {column}{nearest(column.name, self.columns)}")
        return self.columns.index(found)

    def as_declared(self, places: Sequence[int]) -> dict[int, Declared]:
        """Of a row with these places, where its declared type says what a value means; a `Declared` for each."""
        typed = self.dialect.types_values
        return {at: (self.declared[place], typed) for at, place in enumerate(places) if place in self.declared}


Declared = tuple[Column, bool]
"""A column whose values do not show their type, and whether the engine has types of values at all."""


def declared_value(value: object, declared: Declared) -> object:
    """A value as its declared type means it; SQLite's values and DuckDB's single precision do not show it."""
    column, typed = declared
    if value is None:
        return None
    return float(str(np.float32(cast(float, value)))) if typed else _as_declared(value, column)


def logical_source(table: LogicalTable, database: Database) -> Source:
    """The source of a logical table, found in the database."""
    if table.query:
        return _query_source(table.query, database)
    name = table.path[-1]
    if len(table.path) > 1 and database.schema_name is not None:
        owner = table.path[-2]
        if resolve(owner, [database.schema_name], database.dialect) is None:
            path = ".".join(quote_identifier(part.name) for part in table.path)
            inner = caged(f"SELECT * FROM {path}", database)
            return _probed(inner, f"table {'.'.join(map(str, table.path))}", database)
    names = [known.name for known in database.schema.tables]
    found = resolve(name, names, database.dialect)
    if found is None:
        known = dict(database.schema.unreadable)
        if (stored := resolve(name, known, database.dialect)) is not None:
            raise InputError(f"table {stored} cannot be read: {known[stored]}")
        raise InputError(f"the database has no table {name}{nearest(name.name, names)}")
    columns = database.schema.table(found).columns
    inner = f"SELECT {', '.join(quote_identifier(c.name) for c in columns)} FROM {database.quoted(found)}"
    declared = {
        place: column
        for place, column in enumerate(columns)
        if not database.dialect.types_values or (database.dialect.widens_singles and column.sql_type.upper() == _SINGLE)
    }
    return Source(inner, tuple(c.name for c in columns), f"table {found}", database.dialect, declared)


def select_sql(source: Source, places: Iterable[int]) -> str:
    """A statement for some columns of a logical table, in this order."""
    wanted = ", ".join(f"c{place}" for place in places) or "1"
    return f"WITH child({_names('c', source)}) AS (\n{source.inner}\n)\nSELECT {wanted} FROM child"


def join_sql(
    child: Source, child_places: Iterable[int], parent: Source, parent_places: Iterable[int], on: list[tuple[int, int]]
) -> str:
    """A statement for columns of two logical tables where the columns of `on` are equal; the child's come first."""
    wanted = [f"child.c{place}" for place in child_places] + [f"parent.p{place}" for place in parent_places]
    equal = " AND ".join(f"child.c{one} = parent.p{other}" for one, other in on)
    tables = (
        f"child({_names('c', child)}) AS (\n{child.inner}\n)",
        f"parent({_names('p', parent)}) AS (\n{parent.inner}\n)",
    )
    return f"WITH {', '.join(tables)}\nSELECT {', '.join(wanted) or '1'} FROM child JOIN parent ON {equal}"


def _names(letter: str, source: Source) -> str:
    return ", ".join(f"{letter}{place}" for place in range(len(source.columns)))


def _query_source(query: str, database: Database) -> Source:
    written = query.strip().rstrip(";").rstrip()
    if not _QUERY.match(written):
        raise InputError(f"its rr:sqlQuery is not a query (SELECT, WITH or VALUES): {one_line(written)[:60]}")
    inner = caged(written, database)
    source = _probed(inner, "its rr:sqlQuery", database)
    selected = _selected(inner, database.dialect)
    if len(selected) != len(source.columns):
        selected = []
    # DuckDB gives the second of two columns of one name another, so the text is asked where it tells.
    repeated = _repeats([part.alias_or_name for part in selected] or source.columns)
    return replace(
        source,
        written=tuple(f"{p.table}.{p.name}" if isinstance(p, exp.Column) else "" for p in selected),
        ambiguous=frozenset(name for name in repeated if not _always_equal(inner, name, database)),
    )


def _probed(inner: str, shown: str, database: Database) -> Source:
    reader = database.arrow(f"SELECT * FROM (\n{inner}\n) AS q LIMIT 0")
    fields = list(reader.schema)
    reader.read_all()
    singles = [
        place for place, found in enumerate(fields) if database.dialect.widens_singles and found.type == pa.float32()
    ]
    declared = {place: Column.of_type(fields[place].name, _SINGLE, nullable=True) for place in singles}
    return Source(inner, tuple(found.name for found in fields), shown, database.dialect, declared)


def _selected(query: str, dialect: Dialect) -> list[exp.Expr]:
    """What a query selects, as far as its text tells."""
    try:
        parsed = sqlglot.parse_one(query, read=dialect.name)
    except SqlglotError:
        return []
    selected = parsed.selects if isinstance(parsed, exp.Query) else []
    return [] if any(part.is_star for part in selected) else selected


def _repeats(names: Iterable[str]) -> list[str]:
    counts = Counter(name.casefold() for name in names)
    return [name for name, count in counts.items() if count > 1]


def _always_equal(query: str, name: str, database: Database) -> bool:
    """Whether all columns of this name are made equal by joins, so that it does not matter which one is meant.

    The standard forbids such queries; NPD's reference mapping has dozens of them.
    """
    parsed = parse_pair_sql(query)
    found = parsed if isinstance(parsed, NoFacts) else branches(parsed)
    if isinstance(found, NoFacts):
        return False
    for branch in found:
        sources = read_sources(branch.select, database.schema)
        if isinstance(sources, NoFacts):
            return False
        places: list[AliasedColumn | None] = [
            sources.place(selected)
            for selected, called in zip(branch.selected, branch.names, strict=True)
            if called.casefold() == name
        ]
        if None in places or not all(place in sources.entity(places[0]) for place in places if place and places[0]):
            return False
    return True


def _as_declared(value: object, column: Column) -> object:
    match column.kind, value:
        case Kind.BOOLEAN, int():
            return bool(value)
        case Kind.DATE, str():
            return _parsed(date.fromisoformat, value[:10], value)
        case Kind.TIMESTAMP, str():
            return _parsed(datetime.fromisoformat, value, value)
        case Kind.DECIMAL, int() if _is_float(column):
            return float(value)
        case Kind.DECIMAL, int() | float() if not _is_float(column):
            return Decimal(repr(value))
        case Kind.DECIMAL, str():
            return _parsed(Decimal, value, value)
        case _:
            return value


def _is_float(column: Column) -> bool:
    return any(word in column.sql_type.lower() for word in ("float", "double", "real"))


def _parsed(parse: object, text: str, otherwise: object) -> object:
    try:
        return parse(text)  # type: ignore[operator]
    except (ValueError, InvalidOperation):
        return otherwise
