"""Keys that nobody declared: columns, pairs and triples of columns that tell all rows of a table apart.

A table that declares a primary key has none to be discovered but one: the number of its own in a compound key, as in
`line(order_id, line_id)`, where it goes on from order to order. Of several unique columns without a primary key among
them, that is taken for it to which links lead.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Column, Schema, Table, quote_identifier
from ruleminer.structure.profile import ColumnProfile, Profile, TableProfile
from ruleminer.structure.surprise import is_counter
from ruleminer.structure.unanswered import tell_unanswered
from ruleminer.structure.words import likeness, words

_KINDS = (Kind.INTEGER, Kind.TEXT)
_LONGEST = 40.0  # characters a text key may have, on average
_LEAST_ROWS = 3  # fewer differ by chance
_LEAST_NUMBERED = 20  # the same of a column of a declared key
_ALIKE = 0.8  # likeness of a number's name to its table's
_PARTS = 6  # columns of most values among which the parts of a compound key are looked for, and those that look most so
_LATE = 0.4  # nats that the last of a table's columns must make up for
_SURPRISED = 10.0  # nats; more surprise makes no better key
_MORE_PARTS = 3.0  # nats that a third column must be worth
_KEY_WORDS = frozenset(
    ("id", "key", "pk", "code", "cd", "no", "nr", "num", "number", "nummer", "seq", "line", "pos", "position")
)
_KEY_ENDS = ("key", "code", "nr", "num", "number")  # of names that are written in one
_SHORT = 12.0  # characters that texts in keys mostly have
_LOOKED_AT = 10_000  # rows in which most combinations repeat already
_COUNTED = 4  # combinations that are then counted in the whole table


@dataclass(frozen=True, slots=True)
class DiscoveredKey:
    """A key that the data show, and why it is taken for one."""

    table: str
    columns: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"table": self.table, "columns": list(self.columns), "why": self.why}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscoveredKey:
        """The key that `to_json` wrote."""
        return cls(data["table"], tuple(data["columns"]), data["why"])


def with_keys(schema: Schema, profile: Profile, database: Database) -> tuple[Schema, tuple[DiscoveredKey, ...]]:
    """The schema with a key for each table that declares none and has one."""
    found: list[DiscoveredKey] = []
    tables = []
    links = Counter(end for link in schema.links if (end := link.end).table != link.start.table)
    for table in schema.tables:
        profiled = profile.tables[table.name]
        if table.primary_key:
            key = _own_number(table, profiled)
            table = table if key is None else replace(table, unique=(*table.unique, key.columns))
        else:
            key = _chosen(table, profiled, links) if table.unique else _discovered(table, profiled, database)
            table = table if key is None else replace(table, primary_key=key.columns)
        found += [] if key is None else [key]
        tables.append(table)
    return replace(schema, tables=tuple(tables)), tuple(found)


def _discovered(table: Table, profile: TableProfile, database: Database) -> DiscoveredKey | None:
    if profile.rows < _LEAST_ROWS:
        return None
    single = [
        column
        for column in table.columns
        if column.kind in _KINDS and _is_unique(profile.columns.get(column.name), profile.rows)
    ]
    if single:
        best = max(single, key=lambda column: _looks_like_key(table, column))
        return DiscoveredKey(table.name, (best.name,), f"{profile.rows:,} rows, as many values")
    promising = _without_repeats(_choices(table, profile), table, database)
    for columns in promising[:_COUNTED]:
        if _tells_apart(columns, table, profile.rows, database):
            return DiscoveredKey(table.name, columns, f"{profile.rows:,} rows, as many combinations")
    return None


def _chosen(table: Table, profile: TableProfile, links: Mapping[Place, int]) -> DiscoveredKey | None:
    """Of several unique columns the one that names the rows, all of them."""
    led_to = {
        column: links.get(Place(table.name, column), 0)
        for column in table.keys
        if (one := profile.columns.get(column)) is not None and one.filled == profile.rows > 0
    }
    if len(table.keys) < 2 or not led_to:
        return None
    best = max(led_to, key=lambda column: (led_to[column], *_looks_like_key(table, table.column(column))))
    why = f"unique, and {led_to[best]} links lead to it" if led_to[best] else "unique, and looks most like a key"
    return DiscoveredKey(table.name, (best,), why)


def _own_number(table: Table, profile: TableProfile) -> DiscoveredKey | None:
    """The number in a compound key that is called like its table, leads nowhere and tells all rows apart alone."""
    if len(table.primary_key) < 2 or table.keys or profile.rows < _LEAST_NUMBERED:
        return None
    links = {name for link in table.foreign_keys for name in link.columns}
    for name in table.primary_key:
        is_number = table.column(name).kind is Kind.INTEGER and name not in links
        if is_number and _is_unique(profile.columns.get(name), profile.rows) and likeness(name, table.name) >= _ALIKE:
            return DiscoveredKey(
                table.name, (name,), f"{profile.rows:,} rows, as many numbers, and called like its table"
            )
    return None


def _is_unique(one: ColumnProfile | None, rows: int) -> bool:
    return one is not None and one.filled == one.distinct == rows and one.length <= _LONGEST


def _looks_like_key(table: Table, column: Column) -> tuple[float, int]:
    """Named like its table or an id before others, numbers before texts, then the first."""
    named = max(likeness(column.name, table.name), 0.9 if {"id", "key", "pk"} & set(words(column.name)) else 0.0)
    number = 0.5 if column.kind is Kind.INTEGER else 0.0
    return named + number, -table.columns.index(column)


def _choices(table: Table, profile: TableProfile) -> list[tuple[str, ...]]:
    """Pairs and triples of the columns that look like parts of a key, the likeliest first."""
    usable = {
        column.name: (one, _looks_like_part(table, column, one))
        for column in table.columns
        if column.kind in (*_KINDS, Kind.DATE, Kind.TIMESTAMP)
        and (one := profile.columns.get(column.name)) is not None
        and one.filled == profile.rows
        and one.distinct > 1
        and one.length <= _LONGEST
    }
    by_looks = sorted(usable, key=lambda name: (-usable[name][1], -usable[name][0].distinct))
    by_values = sorted(usable, key=lambda name: -usable[name][0].distinct)
    chosen = {*by_looks[:_PARTS], *by_values[:_PARTS]}
    order = [name for name in usable if name in chosen]
    worth: dict[tuple[str, ...], float] = {}
    for size in (2, 3):
        for columns in combinations(order, size):
            profiles = [usable[name][0] for name in columns]
            if math.prod(one.distinct for one in profiles) >= profile.rows:
                surprise = profile.rows**2 / 2 * math.prod(map(_meeting, profiles))  # of as many pairs none is equal
                looks = sum(usable[name][1] for name in columns)
                worth[columns] = min(_SURPRISED, surprise) + looks - _MORE_PARTS * (size - 2)
    return sorted(worth, key=lambda columns: -worth[columns])


def _looks_like_part(table: Table, column: Column, one: ColumnProfile) -> float:
    """What speaks for a column as a part of a key, in nats: its name, a number that counts, a short text, its place."""
    last = (words(column.name) or ("",))[-1]
    named = 1.5 if last in _KEY_WORDS or last.endswith(_KEY_ENDS) else 0.0
    late = _LATE * table.columns.index(column) / len(table.columns)
    if column.kind is Kind.INTEGER:
        counts = one.span is not None and one.distinct > 2 and is_counter(one.span, one.distinct)
        return named - late + (0.5 if counts else 0.0 if named else -1.0)  # a measure or a flag, then
    return named - late - (1.5 if one.length > 2 * _SHORT else 0.5 if one.length > _SHORT else 0.0)


def _meeting(one: ColumnProfile) -> float:
    """How likely two rows have the same value."""
    known = [rows for _, rows in (*one.common, *one.frequent)]
    left, rest = one.distinct - len(known), one.filled - sum(known)
    pairs = sum(rows * (rows - 1) for rows in known) + (rest * (rest / left - 1) if left > 0 else 0.0)
    return pairs / max(1, one.filled * (one.filled - 1))


def _without_repeats(choices: list[tuple[str, ...]], table: Table, database: Database) -> list[tuple[str, ...]]:
    """Those of the combinations that the first rows do not refute: a large table is not counted for each of them."""
    names = list(dict.fromkeys(name for columns in choices for name in columns))
    if not names:
        return []
    listed = ", ".join(map(quote_identifier, names))
    sql = f"SELECT {listed} FROM {database.quoted(table.name)} LIMIT {_LOOKED_AT}"
    try:
        rows = patiently(lambda: list(database.rows(sql)))
    except ConnectionLostError:
        raise
    except DatabaseError as error:
        tell_unanswered(table.name, "compound keys", error)
        return []
    values = dict(zip(names, zip(*rows, strict=True), strict=True))
    return [c for c in choices if len(set(zip(*(values[name] for name in c), strict=True))) == len(rows)]


def _tells_apart(columns: tuple[str, ...], table: Table, rows: int, database: Database) -> bool:
    exact = database.dialect.compares_exactly
    names = ", ".join(
        f"{quote_identifier(c) if exact else database.dialect.text_of(quote_identifier(c))} AS c{n}"
        for n, c in enumerate(columns)
    )
    sql = f"SELECT count(*) FROM (SELECT DISTINCT {names} FROM {database.quoted(table.name)}) AS q"
    try:
        ((count,),) = patiently(lambda: list(database.rows(sql)))
    except ConnectionLostError:
        raise
    except DatabaseError as error:
        tell_unanswered(table.name, "compound keys", error)
        return False
    return bool(count == rows)
