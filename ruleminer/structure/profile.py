"""What a database holds, in numbers: one statement per table for all its columns, a second one for frequent values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlglot import exp

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.progress import Progress, silent
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import column_of
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Column, Schema, Table, quote_identifier

COMMON = 40  # values of a column whose frequencies are kept
_FEW = 2_000  # distinct values up to which a column's values are counted one by one
_COLUMNS = 60  # of a table that one statement asks for
_ORDERED = (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)
_OPAQUE = ("bytea", "blob", "binary", "varbinary", "image")

_WHOLE = re.compile(r"-?\d+")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: how many values are filled, how many of them differ, the least and the greatest, the frequent ones.

    `common` holds (lexical form, rows) of the most frequent values, all of them if `distinct` is no more than COMMON;
    it is empty where hardly a value stands twice. `padded` texts are filled up with blanks to one length.
    """

    filled: int
    distinct: int
    low: str | None = None
    high: str | None = None
    length: float = 0.0  # of the texts, on average
    common: tuple[tuple[str, int], ...] = ()
    padded: bool = False

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
    """One table: its rows, and its columns by name. `trouble` says why one that could not be read has no columns."""

    rows: int
    columns: Mapping[str, ColumnProfile] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True)
class Profile:
    """All tables of a database, by name."""

    tables: Mapping[str, TableProfile]

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
                    + ([True] if one.padded else [])
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
                        column: ColumnProfile(filled, distinct, low, high, length, tuple(map(tuple, common)), *padded)
                        for column, (filled, distinct, low, high, length, common, *padded) in table["columns"].items()
                    },
                    table.get("trouble", ""),
                )
                for name, table in data.items()
            }
        )


def profile_of(database: Database, progress: Progress = silent) -> Profile:
    """Profile every table; one that times out or refuses is known by its rows only."""
    tables = database.schema.tables
    found: dict[str, TableProfile] = {}
    for number, table in enumerate(tables):
        progress("structure", table.name, number, len(tables))
        try:
            found[table.name] = _profiled(database, table)
        except ConnectionLostError:
            raise
        except DatabaseError as error:
            found[table.name] = TableProfile(table.rows or 0, trouble=str(error))
    progress("structure", "", len(tables), len(tables))
    return Profile(found)


def empty_profile(schema: Schema) -> Profile:
    """What is known of a database without asking it: how many rows its tables have."""
    return Profile({table.name: TableProfile(table.rows or 0) for table in schema.tables})


def _profiled(database: Database, table: Table) -> TableProfile:
    columns = [column for column in table.columns if not column.sql_type.lower().startswith(_OPAQUE)]
    if table.rows == 0:  # counted a moment ago: there is nothing to ask
        return TableProfile(0, {column.name: ColumnProfile(0, 0) for column in columns})
    numbers: dict[str, ColumnProfile] = {}
    rows = table.rows or 0
    for some in _chunks(columns, _COLUMNS):
        measures = ", ".join(measure for column in some for measure in _measures(table, column, database.dialect))
        ((rows, *cells),) = _rows(database, f"SELECT count(*), {measures} FROM {database.quoted(table.name)}")
        for column, (filled, distinct, low, high, length, padded) in zip(some, _chunks(cells, 6), strict=True):
            numbers[column.name] = ColumnProfile(filled, distinct, low, high, float(length or 0.0), (), bool(padded))
    repeated = [c for c in columns if 0 < numbers[c.name].distinct <= min(_FEW, numbers[c.name].filled // 2)]
    common = _common_values(database, table, repeated) if repeated else {}
    for name, values in common.items():
        one = numbers[name]
        forms = ((value.rstrip(" "), count) for value, count in values) if one.padded else values
        numbers[name] = replace(one, common=tuple(forms))
    return TableProfile(rows, numbers)


def _measures(table: Table, column: Column, dialect: Dialect) -> Iterator[str]:
    name = quote_identifier(column.name)
    value = _value(table, column, dialect)
    yield f"count({name})"
    yield f"count(DISTINCT {value})"
    ordered = column.kind in _ORDERED
    yield dialect.text_of(f"min({name})") if ordered else "NULL"
    yield dialect.text_of(f"max({name})") if ordered else "NULL"
    is_text = column.kind is Kind.TEXT
    yield f"avg({dialect.length}({value}))" if is_text else "NULL"
    yield _padded(value, dialect) if is_text and table.type_of(column.name).is_text else "NULL"


def _padded(value: str, dialect: Dialect) -> str:
    """Whether all texts have one length, of more than one character, and some end in a blank: then these fill them up.

    Two such texts that differ still do without the blanks.
    """
    length = f"{dialect.length}({value})"
    ends = f"max(CASE WHEN {value} LIKE '% ' THEN 1 ELSE 0 END)"
    return f"CASE WHEN min({length}) = max({length}) AND min({length}) > 1 AND {ends} = 1 THEN 1 ELSE 0 END"


def _common_values(
    database: Database, table: Table, columns: Sequence[Column]
) -> dict[str, tuple[tuple[str, int], ...]]:
    """The most frequent values of some columns, counted in one statement."""
    dialect = database.dialect
    counts = " UNION ALL ".join(
        f"SELECT {number} AS n, {_form(database, table, column)} AS v, c "
        f"FROM (SELECT {_value(table, column, dialect)} AS x, count(*) AS c FROM ruleminer_all "
        f"WHERE {quote_identifier(column.name)} IS NOT NULL GROUP BY 1) AS t"
        for number, column in enumerate(columns)
    )
    ranked = f"SELECT n, v, c, row_number() OVER (PARTITION BY n ORDER BY c DESC, v) AS place FROM ({counts}) AS q"
    sql = (
        f"WITH ruleminer_all AS (SELECT {', '.join(quote_identifier(c.name) for c in columns)} "
        f"FROM {database.quoted(table.name)}) "
        f"SELECT n, v, c FROM ({ranked}) AS r WHERE place <= {COMMON} ORDER BY n, c DESC, v"
    )
    found: dict[str, list[tuple[str, int]]] = {}
    for number, value, rows in _rows(database, sql):
        found.setdefault(columns[number].name, []).append((value, rows))
    return {name: tuple(values) for name, values in found.items()}


def _rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    return patiently(lambda: list(database.rows(sql)))


def _value(table: Table, column: Column, dialect: Dialect) -> str:
    """What is counted of a column: not every type that is read as text can be compared."""
    name = quote_identifier(column.name)
    if table.type_of(column.name).is_array:
        form = dialect.lexical(exp.column(exp.to_identifier(column.name, quoted=True)), table.type_of(column.name))
        return str(form.sql(dialect.name))
    return dialect.text_of(name) if column.kind is Kind.TEXT else name


def _form(database: Database, table: Table, column: Column) -> str:
    """The lexical form of a counted value, which is the same on all engines."""
    column_type = table.type_of(column.name)
    if column_type.is_array:  # counted by its form already
        return "t.x"
    return str(database.dialect.lexical(column_of("t", "x"), column_type).sql(database.dialect.name))


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
