"""Which of given facts rules derive, for many rules at once: a SELECT each, side by side in one statement.

A statement asks for the rows whose arguments stand in lists of what is wanted, each argument by itself; which of the
combinations were meant is settled here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ruleminer.proposals.column_sql import LIST, ColumnSql
from ruleminer.proposals.frames import Reading
from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.sql import Query
from ruleminer.rules.values import Scalar

_SELECTS = 50  # in one statement

Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Facts, in the lexical forms of their columns, that are looked for among those of a rule.

    They may have fewer arguments than the rule: with each that is found come the values of the others.
    """

    reading: Reading
    facts: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """One statement, and who asks."""

    sql: str
    parameters: tuple[Scalar | float, ...]
    wanted: tuple[Wanted, ...]

    def found(self, rows: Sequence[Sequence[Any]]) -> list[list[Fact]]:
        """For each who asks: the facts that are derived, with the values of the other arguments behind them."""
        found: list[list[Fact]] = [[] for _ in self.wanted]
        facts = [frozenset(one.facts) for one in self.wanted]
        for number, *cells in rows:
            own = facts[number]
            length = len(next(iter(own)))
            if tuple(cells[:length]) in own:
                found[number].append(tuple(cells[: len(self.wanted[number].reading.arguments)]))
        return found


def fact_questions(wanted: Sequence[Wanted], columns: ColumnSql) -> Iterator[FactQuestion]:
    """The statements that find the facts; there must be some for each rule."""
    for start in range(0, len(wanted), _SELECTS):
        yield _question(tuple(wanted[start : start + _SELECTS]), columns)


def _question(wanted: tuple[Wanted, ...], columns: ColumnSql) -> FactQuestion:
    width = max(len(one.reading.arguments) for one in wanted)
    lists: dict[str, str] = {}
    constants: list[Scalar | float] = []
    selects = []
    for number, one in enumerate(wanted):
        frame = one.reading.frame
        tables, conditions, values = _source(one.reading, columns)
        constants += values
        for place, argument in enumerate(one.reading.arguments[: len(one.facts[0])]):
            texts = sorted({fact[place] for fact in one.facts})
            name = lists.setdefault(json.dumps(texts), f"{LIST}{len(lists)}")
            conditions.append(columns.among(frame, argument, name, texts))
        cells = [columns.argument(frame, argument) for argument in one.reading.arguments]
        cells += [columns.dialect.text_of("NULL")] * (width - len(cells))
        named = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
        selects.append(f"SELECT DISTINCT {number} AS n, {named} FROM {tables} WHERE {' AND '.join(conditions)}")
    relations = ", ".join(f"{name} AS {columns.dialect.value_list}" for name in lists.values())
    parts = " UNION ALL ".join(f"SELECT * FROM ({select}) AS q{number}" for number, select in enumerate(selects))
    return FactQuestion(f"WITH {relations} {parts}", (*lists, *constants), wanted)


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
