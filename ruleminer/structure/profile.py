"""What a database holds, in numbers: one statement per table for all its columns, a second one for frequent values.

An engine that can answer both together reads each table once (`profile_sql.py`), and draws constants on the way. It
keeps all values of the table meanwhile, so this is not asked of large ones.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, TypeVar

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.progress import Progress, silent
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Column, Schema, Table
from ruleminer.structure.profile_sql import (
    COMMON,
    FEW,
    FREQUENT,
    ROWS,
    at_once_sql,
    common_sql,
    family_of,
    later_sql,
    measures_sql,
)

READ_ONCE = 64 * 10**6  # bytes of a table up to which one statement asks for everything

_COLUMNS = 60  # of a table that one statement asks for
_COLUMNS_READ_ONCE = 300  # the same where all that is asked reads the table once

_MANY_ROWS = 20_000  # from which a second statement costs less than it saves
_SPARSE = 8  # numbers of a span for each row up to which a bit for each is cheaper than to tell them apart
_FEW_BITS, _MOST_BITS = 1_000, 10**9

_ROOM = 4  # times as many constants as are wanted are kept before the late ones go
_WHOLE = re.compile(r"-?\d+")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: how many values are filled, how many of them differ, the least and the greatest, the frequent ones.

    `common` holds (lexical form, rows) of the most frequent values, all of them if `distinct` is no more than COMMON;
    it is empty where hardly a value stands twice. Blanks fill up `padded` texts to one length, or those of what links
    join with such (`padding.py`); then the values are without them.
    """

    filled: int
    distinct: int
    low: str | None = None
    high: str | None = None
    length: float = 0.0  # of the texts, on average
    common: tuple[tuple[str, int], ...] = ()
    padded: bool = False
    frequent: tuple[tuple[str, int], ...] = ()  # after the common ones: those that stand in more than FREQUENT rows

    @property
    def span(self) -> tuple[int, int] | None:
        """The least and the greatest whole number; None if it has none, as SQLite keeps anything in any column."""
        if self.low is None or self.high is None or not (_WHOLE.fullmatch(self.low) and _WHOLE.fullmatch(self.high)):
            return None
        return int(self.low), int(self.high)

    @property
    def all_values(self) -> tuple[str, ...]:
        """The lexical forms of all values; () where only some of them are known."""
        return tuple(form for form, _ in self.common) if len(self.common) == self.distinct else ()

    def frequency(self, text: str) -> float:
        """In how many rows a value stands: as counted, or as often as the values that were not, on average."""
        for value, rows in self.common:
            if value == text:
                return float(rows)
        left = self.distinct - len(self.common)
        return (self.filled - sum(rows for _, rows in self.common)) / left if left > 0 else 0.0


@dataclass(frozen=True, slots=True)
class TableProfile:
    """One table: its rows, and its columns by name. `trouble` says why one that could not be read has no columns.

    With it, no rows mean that nobody could count them.
    """

    rows: int
    columns: Mapping[str, ColumnProfile] = field(default_factory=dict)
    trouble: str = ""

    @property
    def counted(self) -> int | None:
        """Its rows; None if nobody could count them."""
        return None if self.trouble and not self.rows else self.rows


@dataclass
class Constants:
    """Of each family, the `most` constants of some `tables` that come first by the MD5 of the seed and their form.

    A few more may be kept: whoever draws takes the first.
    """

    seed: int
    most: int
    kept: dict[Kind, set[str]] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)

    def add(self, family: Kind, form: str) -> None:
        """Keep a constant, unless it is late among so many."""
        texts = self.kept.setdefault(family, set())
        texts.add(form)
        if len(texts) > _ROOM * self.most:
            self.kept[family] = set(sorted(texts, key=self._card)[: self.most])

    def _card(self, text: str) -> tuple[str, str]:
        return hashlib.md5(f"{self.seed}{text}".encode(), usedforsecurity=False).hexdigest(), text


@dataclass(frozen=True)
class Profile:
    """All tables of a database, by name; and what was drawn while they were read, which no file keeps."""

    tables: Mapping[str, TableProfile]
    constants: Constants | None = field(default=None, compare=False)

    def column(self, table: str, column: str) -> ColumnProfile | None:
        """A column's profile; None if it could not be read."""
        known = self.tables.get(table)
        return None if known is None else known.columns.get(column)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        return {
            name: {
                "rows": table.rows,
                **({"trouble": table.trouble} if table.trouble else {}),
                "columns": {
                    column: [one.filled, one.distinct, one.low, one.high, round(one.length, 2), list(one.common)]
                    + ([one.padded, list(one.frequent)] if one.frequent else [True] if one.padded else [])
                    for column, one in table.columns.items()
                },
            }
            for name, table in self.tables.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Profile:
        """The profile that `to_json` wrote."""
        return cls(
            {
                name: TableProfile(
                    table["rows"],
                    {
                        column: ColumnProfile(
                            filled,
                            distinct,
                            low,
                            high,
                            length,
                            _pairs(common),
                            bool(more[:1] and more[0]),
                            _pairs(more[1] if more[1:] else ()),
                        )
                        for column, (filled, distinct, low, high, length, common, *more) in table["columns"].items()
                    },
                    table.get("trouble", ""),
                )
                for name, table in data.items()
            }
        )


def _pairs(listed: Sequence[Sequence[Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((form, rows) for form, rows in listed)


def profile_of(
    database: Database, progress: Progress = silent, draw: Constants | None = None, read_once: int = READ_ONCE
) -> Profile:
    """Profile every table; one that times out or refuses is known by its rows only.

    What there is to `draw` is drawn where that takes no further look at a table: of those of no more than `read_once`
    bytes.
    """
    tables = database.schema.tables
    found: dict[str, TableProfile] = {}
    for number, table in enumerate(tables):
        progress("structure", table.name, number, len(tables))
        try:
            found[table.name] = _profiled(database, table, draw, read_once)
        except ConnectionLostError:
            raise
        except DatabaseError as error:
            found[table.name] = TableProfile(_counted(database, table) or 0, trouble=str(error))
    progress("structure", "", len(tables), len(tables))
    return Profile(found, draw if database.own_dialect.reads_once else None)


def empty_profile(schema: Schema) -> Profile:
    """What is known of a database without asking it: how many rows its tables have."""
    return Profile({table.name: TableProfile(table.rows or 0) for table in schema.tables})


def _profiled(database: Database, table: Table, kept: Constants | None, read_once: int) -> TableProfile:
    columns = [column for column in table.columns if not table.type_of(column.name).is_opaque]
    if table.rows == 0:  # counted a moment ago: there is nothing to ask
        return TableProfile(0, {column.name: ColumnProfile(0, 0) for column in columns})
    if not columns:
        return TableProfile(_count(database, table))
    told_by = _told_by(database, table)
    if told_by.dialect.reads_once and _bytes(told_by, table) <= read_once:
        return _profiled_at_once(told_by, table, columns, kept)
    numbers: dict[str, ColumnProfile] = {}
    rows = 0
    name, dialect = database.quoted(table.name), database.dialect
    later = dialect.reads_columns and not table.is_view and (table.rows or 0) > _MANY_ROWS
    for some in _chunks(columns, _COLUMNS):
        answers = sorted(_rows(database, measures_sql(table, some, name, dialect, later)), key=itemgetter(0))
        rows, cells = answers[0][1], [cell for _, _, *of_column in answers for cell in of_column]
        left = []
        for column, (filled, distinct, low, high, length, padded, pairs) in zip(some, _chunks(cells, 7), strict=True):
            measured = ColumnProfile(filled, distinct or 0, low, high, float(length or 0.0), (), bool(padded))
            numbers[column.name] = _with_common(measured, _most_common(pairs or (), filled))
            if filled and (distinct is None or padded is None):
                left.append((column, _bits(measured)))
        if left:
            (told,) = _rows(database, later_sql(table, left, name, dialect))
            for (column, _), answer in zip(left, told, strict=True):
                one = numbers[column.name]
                is_text = column.kind is Kind.TEXT
                numbers[column.name] = (
                    replace(one, padded=bool(answer)) if is_text else replace(one, distinct=int(answer))
                )
    repeated = [
        column
        for column in columns
        if not (one := numbers[column.name]).common and 0 < one.distinct <= min(FEW, one.filled // 2)
    ]
    found: dict[str, list[tuple[str, int]]] = {}
    if repeated:
        for number, value, count in _rows(database, common_sql(table, repeated, name, dialect)):
            found.setdefault(repeated[number].name, []).append((value, count))
    return TableProfile(
        rows, {name: _with_common(one, found[name]) if name in found else one for name, one in numbers.items()}
    )


def _told_by(database: Database, table: Table) -> Database:
    """Who tells the profile of a table that is kept here: its server if it has few rows, for which its one statement
    costs less than several here. Where there are views, each of which reads tables again, it is not asked."""
    server = database.origin
    is_small = (table.rows or 0) <= _MANY_ROWS and len(table.columns) <= _COLUMNS_READ_ONCE
    if server is None or not is_small or any(one.is_view for one in database.schema.tables):
        return database
    return server


def _bits(one: ColumnProfile) -> tuple[int, int] | None:
    """The span of whole numbers that are best told apart by a bit for each number in it."""
    if one.span is None:
        return None
    size = one.span[1] - one.span[0] + 1
    return one.span if _FEW_BITS < size <= min(_MOST_BITS, _SPARSE * one.filled) else None


def _with_common(one: ColumnProfile, ordered: Sequence[tuple[str, int]]) -> ColumnProfile:
    """The profile with its most frequent values."""
    frequent = tuple((form, rows) for form, rows in ordered[COMMON:] if rows > FREQUENT)
    return replace(one, common=tuple(ordered[:COMMON]), frequent=frequent)


def _most_common(pairs: Sequence[tuple[str, int]], filled: int) -> list[tuple[str, int]]:
    """All values, the most frequent first; none if these are not all."""
    if sum(count for _, count in pairs) != filled:
        return []
    counts: Counter[str] = Counter()
    for form, count in pairs:  # 0.0 and -0.0 are two values, of one form
        counts[form] += count
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _counted(database: Database, table: Table) -> int | None:
    """The rows of a table; None if they cannot be counted."""
    try:
        return _count(database, table)
    except ConnectionLostError:
        raise
    except DatabaseError:
        return None


def _count(database: Database, table: Table) -> int:
    if table.rows is not None:
        return table.rows
    ((rows,),) = _rows(database, f"SELECT count(*) FROM {database.quoted(table.name)}")
    return int(rows)


def _profiled_at_once(
    database: Database, table: Table, columns: Sequence[Column], kept: Constants | None
) -> TableProfile:
    rows, found = 0, dict[str, ColumnProfile]()
    for some in _chunks(columns, _COLUMNS_READ_ONCE):
        sql = at_once_sql(table, some, database.quoted(table.name), database.dialect, kept.most if kept else 0)
        answer = _rows(database, sql, (str(kept.seed),) * len(some) if kept else None)
        common: dict[int, dict[int, tuple[str, int]]] = {}
        for number, form, count, place, low, high, length, padded in answer:
            if number == ROWS:
                rows = count
            elif number < ROWS:
                assert kept is not None
                kept.add(family_of(number), form)
            elif form is None:
                measured = ColumnProfile(count, place, low, high, float(length or 0.0), (), bool(padded))
                found[some[number].name] = measured
            else:
                common.setdefault(number, {})[place] = form, count
        for number, places in common.items():
            name = some[number].name
            found[name] = _with_common(found[name], [places[place] for place in sorted(places)])
    if kept is not None:
        kept.tables.add(table.name)
    return TableProfile(rows, {column.name: found[column.name] for column in columns})


def _bytes(database: Database, table: Table) -> int:
    ((size,),) = _rows(database, database.dialect.table_bytes, (database.quoted(table.name),))
    return int(size)


def _rows(database: Database, sql: str, params: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
    return patiently(lambda: list(database.rows(sql, params)))


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
