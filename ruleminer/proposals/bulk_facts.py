"""Which of given facts rules derive, for many rules at once: SELECTs side by side in one statement.

A SELECT asks for the rows whose arguments stand in lists of what is wanted, each argument by itself; which of the
combinations were meant is settled here. Rules that differ only in the column of their second argument share one: most
of a statement's time is its planning. Where a few facts are looked for among thousands of rules, as when the user has
named one, it is first asked which columns hold their arguments at all, by one pass over each table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruleminer.proposals.column_sql import LIST, ColumnSql
from ruleminer.proposals.frames import Frame, Reading, Spot
from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.sql import Query
from ruleminer.rules.values import Place, Scalar

_SELECTS = 50  # in one statement
_SHARING = 25  # rules that share a SELECT
_MANY_RULES, _FEW_FACTS = 200, 8  # from and up to which columns are asked first
_CELLS = 4000  # columns by what is looked for in them, in one statement

Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Facts, in the lexical forms of their columns, that are looked for among those of a rule.

    They may have fewer arguments than the rule: with each that is found come the values of the others.
    """

    reading: Reading
    facts: Sequence[Fact]


Sharing = tuple[Wanted, ...]
"""Who asks by one SELECT: all the same but for the column of the second argument."""


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """One statement, and who asks."""

    sql: str
    parameters: tuple[Scalar | float, ...]
    selects: tuple[Sharing, ...]

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Who asks, one by one."""
        return tuple(one for sharing in self.selects for one in sharing)

    def found(self, rows: Sequence[Sequence[Any]]) -> list[list[Fact]]:
        """For each who asks: the facts that are derived, with the values of the other arguments behind them."""
        found: list[list[dict[Fact, None]]] = [[{} for _ in sharing] for sharing in self.selects]
        facts = [[frozenset(one.facts) for one in sharing] for sharing in self.selects]
        for number, *cells in rows:
            sharing = self.selects[number]
            arguments = len(sharing[0].reading.arguments)
            length = len(sharing[0].facts[0])
            for place, own in enumerate(facts[number]):
                fact = (cells[0], cells[1 + place]) if len(sharing) > 1 else tuple(cells[:arguments])
                if fact[:length] in own:
                    found[number][place][fact] = None
        return [list(own) for sharing in found for own in sharing]


def fact_questions(wanted: Sequence[Wanted], columns: ColumnSql) -> Iterator[FactQuestion]:
    """The statements that find the facts; there must be some for each rule."""
    alike: dict[object, list[Wanted]] = {}
    for number, one in enumerate(wanted):
        alike.setdefault(_but_for_the_second(one) or number, []).append(one)
    selects = [tuple(some[n : n + _SHARING]) for some in alike.values() for n in range(0, len(some), _SHARING)]
    for start in range(0, len(selects), _SELECTS):
        yield _question(tuple(selects[start : start + _SELECTS]), columns)


def _but_for_the_second(one: Wanted) -> object:
    """What a rule asks but for the column of its second argument; None if it cannot share."""
    reading = one.reading
    if len(reading.arguments) != 2 or len(one.facts[0]) != 2:
        return None
    first, second = reading.arguments
    if not isinstance(second, Spot):
        return None
    filled = tuple(spot for spot in reading.filled if spot != second)  # which it is, if it is in a list
    return reading.frame, first, filled, reading.filters, reading.constants


def _question(selects: tuple[Sharing, ...], columns: ColumnSql) -> FactQuestion:
    width = max(len(sharing) + len(sharing[0].reading.arguments) - 1 for sharing in selects)
    at_once = columns.dialect.parts_are_dear and len(selects) > 1
    lists: dict[str, str] = {}
    constants: list[Scalar | float] = []
    parts = []

    def among(one: Wanted, place: int) -> str:
        texts = sorted({fact[place] for fact in one.facts})
        written = columns.writes_out(texts)
        name = "" if written else lists.setdefault(json.dumps(texts), f"{LIST}{len(lists)}")
        return columns.among(one.reading.frame, one.reading.arguments[place], name, texts)

    for number, sharing in enumerate(selects):
        reading = sharing[0].reading
        tables, conditions, values = _source(reading, columns)
        constants += values
        if len(sharing) == 1:
            conditions += [among(sharing[0], place) for place in range(len(sharing[0].facts[0]))]
            arguments = reading.arguments
        else:
            firsts = dict.fromkeys(among(one, 0) for one in sharing)
            seconds = dict.fromkeys(among(one, 1) for one in sharing)
            second = reading.arguments[1]
            assert isinstance(second, Spot)
            conditions = [one for one in conditions if one != columns.filled(second)]
            conditions += [f"({' OR '.join(some)})" for some in (firsts, seconds)]
            arguments = (reading.arguments[0], *(one.reading.arguments[1] for one in sharing))
        cells = [columns.argument(reading.frame, argument) for argument in arguments]
        cells += [columns.dialect.text_of("NULL")] * (width - len(cells))
        named = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
        distinct = "" if at_once else "DISTINCT "
        select = f"SELECT {distinct}{number} AS n, {named} FROM {tables} WHERE {' AND '.join(conditions)}"
        parts.append(f"SELECT * FROM ({select}) AS q{number}")
    relations = ", ".join(f"{name} AS {columns.dialect.value_list}" for name in lists.values())
    before = f"WITH {relations} " if relations else ""
    whole = " UNION ALL ".join(parts)
    if at_once:
        whole = f"SELECT DISTINCT * FROM (SELECT {columns.dialect.gathered}* FROM ({whole}) AS parts) AS found"
    return FactQuestion(before + whole, (*lists, *constants), selects)


@dataclass(frozen=True, slots=True)
class ColumnQuestion:
    """One statement, a row for each table: which of its columns hold any of what is looked for in them."""

    sql: str
    parameters: tuple[str, ...]
    places: tuple[tuple[Place, ...], ...]

    def held(self, rows: Sequence[Sequence[Any]]) -> set[Place]:
        """The columns that do."""
        return {
            place
            for number, *counts in rows
            for place, count in zip(self.places[number], counts, strict=False)
            if count
        }


def column_questions(wanted: Sequence[Wanted], columns: ColumnSql) -> list[ColumnQuestion]:
    """The statements by which to tell rules that derive none of a few facts; none if it is not worth asking."""
    if len(wanted) < _MANY_RULES or any(len(one.facts) > _FEW_FACTS for one in wanted):
        return []
    sought: dict[str, dict[Place, dict[str, None]]] = {}
    for one in wanted:
        for place, texts in arguments_sought(one).items():
            sought.setdefault(place.table, {}).setdefault(place, {}).update(dict.fromkeys(texts))
    found: list[ColumnQuestion] = []
    some: list[dict[Place, dict[str, None]]] = []
    cells = 0
    for by_column in sought.values():
        own = sum(map(len, by_column.values()))
        if some and (cells + own > _CELLS or len(some) == _SELECTS):
            found.append(_column_question(some, columns))
            some, cells = [], 0
        some, cells = [*some, by_column], cells + own
    return [*found, _column_question(some, columns)] if some else found


def arguments_sought(one: Wanted) -> dict[Place, list[str]]:
    """What is looked for in each column that is an argument by itself."""
    found: dict[Place, list[str]] = {}
    for place, argument in enumerate(one.reading.arguments[: len(one.facts[0])]):
        if isinstance(argument, Spot):
            found.setdefault(one.reading.frame.place(argument), []).extend(fact[place] for fact in one.facts)
    return found


def _column_question(some: Sequence[Mapping[Place, Mapping[str, None]]], columns: ColumnSql) -> ColumnQuestion:
    width = max(map(len, some))
    parameters: list[str] = []
    parts = []
    for number, by_column in enumerate(some):
        table = next(iter(by_column)).table
        frame = Frame((table,), ())
        cells = []
        for place, texts in by_column.items():
            among = columns.among_bound(frame, Spot(1, place.column), list(texts))
            cells.append(f"COUNT(CASE WHEN {among} THEN 1 END)")
            parameters += texts
        cells += ["0"] * (width - len(cells))
        named = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
        parts.append(f"SELECT {number} AS n, {named} FROM {columns.tables(frame)[0]}")
    return ColumnQuestion(" UNION ALL ".join(parts), tuple(parameters), tuple(map(tuple, some)))


def lone_question(query: Query, names: Sequence[str], facts: Sequence[Fact], dialect: Dialect) -> Query:
    """The facts of one rule's query whose first arguments, called so, stand in lists of what is wanted."""
    lists = [json.dumps(sorted({fact[place] for fact in facts})) for place in range(len(names))]
    relations = ", ".join(f"{LIST}{place} AS {dialect.value_list}" for place in range(len(names)))
    among = " AND ".join(f"e.{name} IN (SELECT v FROM {LIST}{place})" for place, name in enumerate(names))
    return Query(f"WITH {relations} SELECT * FROM ({query.sql}) AS e WHERE {among}", (*lists, *query.parameters))


def union_query(readings: Sequence[Reading], columns: ColumnSql) -> Query:
    """The facts that some rules derive together, each once; not as their lexical forms if something cheaper does."""
    selects = []
    constants: list[Scalar | float] = []
    for cells, one in zip(columns.comparable(readings), readings, strict=True):
        tables, conditions, values = _source(one, columns)
        constants += values
        named = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        selects.append(f"SELECT {named} FROM {tables}{where}")
    return Query(" UNION ".join(selects), tuple(constants))


def _source(reading: Reading, columns: ColumnSql) -> tuple[str, list[str], list[Scalar | float]]:
    """What a rule reads, what it asks of the rows, and the constants in that."""
    frame = reading.frame
    tables, conditions = columns.tables(frame)
    conditions += [f"{columns.place(frame, spot)} = {BOUND}" for spot, _ in reading.constants]
    conditions += map(columns.filled, reading.filled)
    for count, (spot, other) in enumerate(reading.filters):
        values = columns.values(other, f"f{count}", distinct=False)
        conditions.append(f"{columns.place(frame, spot)} IN {values}")
    return tables, conditions, [columns.dialect.bindable(constant.value) for _, constant in reading.constants]
