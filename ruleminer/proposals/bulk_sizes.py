"""How many facts rules derive, for all rules of a frame at once.

A rule whose arguments tell the rows that a fact comes from derives as many facts as its frame has fitting rows; of the
others the distinct arguments are counted. Rules that differ in constants only are counted by one grouping. Filters are
looked up once per statement, however many rules share them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleminer.proposals.column_sql import LIST, ColumnSql
from ruleminer.proposals.frames import Determination, Filter, Frame, Reading, Spelling, Spot, is_exact
from ruleminer.rules.values import Kind
from ruleminer.structure.structure import Structure

_COUNTS = 150  # that one statement asks for
_FEW = 64  # values of a column up to which all of them are counted, whether a rule asks or not


@dataclass(frozen=True, slots=True)
class Question:
    """One statement, and whose sizes its rows tell."""

    sql: str
    parameters: tuple[str, ...] | None
    readings: tuple[Reading, ...]
    columns: Mapping[Reading, int]  # where the count of each stands in a row
    texts: Mapping[Reading, tuple[object, ...]]  # what stands before the counts in the row that is the reading's

    def sizes(self, rows: Sequence[tuple[object, ...]]) -> dict[Reading, int]:
        """The sizes that the rows tell; of a constant that they do not name nothing is told."""
        width = len(self.texts[self.readings[0]])
        found = {row[:width]: row[width:] for row in rows}
        return {
            one: int(str(found[self.texts[one]][self.columns[one]]))
            for one in self.readings
            if self.texts[one] in found
        }


class BulkSizes:
    """Sizes of rules from the profile of a database, or by statements over frames."""

    def __init__(self, structure: Structure, columns: ColumnSql) -> None:
        self._profile, self._schema = structure.profile, structure.schema
        self._columns, self._types_values = columns, columns.dialect.types_values
        self._determined = Determination(structure, self._types_values)

    def known(self, reading: Reading) -> int | None:
        """The size of a rule, if the profile tells it."""
        if not reading.plain or len(reading.frame.tables) != 1 or reading.frame.joins:
            return None
        table = self._profile.tables.get(reading.frame.tables[0])
        if table is None or any(spot.column not in table.columns for spot in reading.filled):
            return None
        if len(reading.filled) == 1 and len(reading.arguments) == 1:
            (spot,) = reading.filled
            found = self._schema.type_of(*reading.frame.place(spot))
            spelled = isinstance(reading.arguments[0], Spelling)
            if (not spelled or found.kind in (Kind.INTEGER, Kind.TEXT)) and is_exact(found, self._types_values):
                return table.columns[spot.column].distinct
            return None
        if not self._determined.holds(reading):
            return None
        gaps = [count for spot in reading.filled if (count := table.columns[spot.column].filled) < table.rows]
        return None if len(gaps) > 1 else min(gaps, default=table.rows)

    def questions(self, readings: Sequence[Reading]) -> Iterator[Question]:
        """The statements that tell the sizes of some rules."""
        groups: dict[tuple[Frame, tuple[Spot, ...], bool], list[Reading]] = {}
        for one in readings:
            spots = tuple(spot for spot, _ in one.constants)
            wide = len(one.arguments) == 1 or self._determined.holds(one)
            groups.setdefault((one.frame, spots, wide), []).append(one)
        for (_, _, wide), some in groups.items():
            for start in range(0, len(some), _COUNTS):
                asked = some[start : start + _COUNTS]
                yield self._counted(asked) if wide else self._made_distinct(asked)

    def _counted(self, readings: Sequence[Reading]) -> Question:
        """A column of counts for each rule, in one pass."""
        source = self._source(readings)
        counts: dict[str, int] = {}
        columns = {one: counts.setdefault(self._count(one, source), len(counts)) for one in readings}
        sql = f"SELECT {', '.join((*source.groups, *counts))} FROM {source.tables}{_where(source.conditions)}"
        if source.groups:
            sql += f" GROUP BY {', '.join(map(str, range(1, len(source.groups) + 1)))}"
        texts = {one: self._texts(one) for one in readings}
        return Question(source.with_lists() + sql, source.parameters, tuple(readings), columns, texts)

    def _made_distinct(self, readings: Sequence[Reading]) -> Question:
        """The rows of the frame with all expressions that are asked of them, and the distinct ones of each rule.

        Where the rows of a WITH are made once, a SELECT for each combination of arguments and conditions stands beside
        the others. Where not, the rows are grouped by all combinations of arguments at once.
        """
        source, frame = self._source(readings), readings[0].frame
        names: dict[str, str] = {}

        def called(expression: str) -> str:
            return names.setdefault(expression, f"c{len(names)}")

        groups = list(map(called, source.groups))
        wanted: dict[Reading, _Distinct] = {}
        for one in readings:
            keys = [called(key) for argument in one.arguments for key in self._columns.keys(frame, argument)]
            fits = [called(f"CASE WHEN {condition} THEN 1 END") for condition in self._conditions(one, source)]
            wanted[one] = tuple(keys), tuple(fits)
        dialect, several = self._columns.dialect, len(set(wanted.values())) > 1
        if dialect.parts_are_dear and several:
            asked, places = _grouped(groups, wanted, dialect.whole_type)
        else:
            asked, places = _side_by_side(groups, wanted)
        rows = ", ".join(f"{expression} AS {name}" for expression, name in names.items())
        keep = dialect.materialized if several and source.is_joined else ""
        rows = f"ruleminer_rows AS {keep}(SELECT {rows} FROM {source.tables}{_where(source.conditions)})"
        texts = {one: (*self._texts(one), number) for one, (number, _) in places.items()}
        columns = {one: column for one, (_, column) in places.items()}
        return Question(source.with_lists(rows) + asked, source.parameters, tuple(readings), columns, texts)

    def _count(self, reading: Reading, source: _Source) -> str:
        conditions = " AND ".join(self._conditions(reading, source))
        if self._determined.holds(reading):
            return f"count(CASE WHEN {conditions} THEN 1 END)" if conditions else "count(*)"
        (key,) = self._columns.keys(reading.frame, reading.arguments[0])
        return f"count(DISTINCT CASE WHEN {conditions} THEN {key} END)" if conditions else f"count(DISTINCT {key})"

    def _conditions(self, reading: Reading, source: _Source) -> list[str]:
        filled = [self._columns.filled(spot) for spot in reading.filled]
        return [*filled, *(f"{source.filters[one]}.v IS NOT NULL" for one in reading.filters)]

    def _source(self, readings: Sequence[Reading]) -> _Source:
        """What rules of one frame, with constants in the same columns, are counted in."""
        frame = readings[0].frame
        tables, conditions = self._columns.tables(frame)
        filters = {one: f"f{number}" for number, one in enumerate(_distinct(r.filters for r in readings))}
        for (spot, place), name in filters.items():
            values = self._columns.values(place, f"{name}v", distinct=not self._determined.is_key(place))
            tables += f" LEFT JOIN {values} AS {name} ON {self._columns.place(frame, spot)} = {name}.v"
        groups: list[str] = []
        lists: dict[str, str] = {}
        for number, (spot, _) in enumerate(readings[0].constants):
            text = self._columns.text(frame, spot)
            groups.append(text)
            one = self._profile.column(*frame.place(spot))
            if one is None or one.distinct > _FEW:
                texts = sorted({self._texts(reading)[number] for reading in readings})
                name = f"{LIST}{number}"
                if not self._columns.writes_out(texts):
                    lists[f"{name} AS {self._columns.dialect.value_list}"] = json.dumps(texts)
                conditions.append(self._columns.in_list(text, name, texts))
            else:
                conditions.append(self._columns.filled(spot))
        is_joined = len(frame.tables) > 1 or bool(filters)
        return _Source(tables, conditions, filters, groups, lists, is_joined)

    def _texts(self, reading: Reading) -> tuple[str, ...]:
        return tuple(self._columns.constant_text(constant) for _, constant in reading.constants)


@dataclass(frozen=True, slots=True)
class _Source:
    """The FROM, WHERE and GROUP BY of a statement."""

    tables: str
    conditions: list[str]
    filters: Mapping[Filter, str]  # the relation that each is looked up in
    groups: list[str]
    lists: Mapping[str, str]  # relations of a WITH, and the values that each binds
    is_joined: bool

    @property
    def parameters(self) -> tuple[str, ...] | None:
        return tuple(self.lists.values()) or None

    def with_lists(self, *more: str) -> str:
        """The WITH before a statement, if there is one."""
        relations = (*self.lists, *more)
        return f"WITH {', '.join(relations)} " if relations else ""


_Distinct = tuple[tuple[str, ...], tuple[str, ...]]
"""Columns of `ruleminer_rows`: those of which the distinct combinations are counted, and those that are 1 in them."""

_Places = dict[Reading, tuple[int, int]]
"""For each rule, what stands before the counts in its row, and where its count stands."""


def _side_by_side(groups: Sequence[str], wanted: Mapping[Reading, _Distinct]) -> tuple[str, _Places]:
    """A SELECT for each combination."""
    numbers = {one: number for number, one in enumerate(dict.fromkeys(wanted.values()))}
    parts = []
    for (keys, fits), number in numbers.items():
        chosen = ", ".join((*groups, *(f"{key} AS k{place}" for place, key in enumerate(keys))))
        select = f"SELECT DISTINCT {chosen} FROM ruleminer_rows{_where([f'{name} = 1' for name in fits])}"
        parts.append(
            f"SELECT {', '.join((*groups, str(number), 'count(*)'))} FROM ({select}) AS q{number}"
            + (f" GROUP BY {', '.join(groups)}" if groups else "")
        )
    return " UNION ALL ".join(parts), {reading: (numbers[one], 0) for reading, one in wanted.items()}


def _grouped(groups: Sequence[str], wanted: Mapping[Reading, _Distinct], whole_type: str) -> tuple[str, _Places]:
    """One grouping by the columns of each rule; `g` tells by its bits which of the columns are none of a row's."""
    columns = list(dict.fromkeys((*groups, *(key for keys, _ in wanted.values() for key in keys))))
    sets = {reading: frozenset((*groups, *keys)) for reading, (keys, _) in wanted.items()}
    bits = {name: 1 << place for place, name in enumerate(columns)}
    left_out = " + ".join(f"CAST(grouping({name}) AS {whole_type}) * {bit}" for name, bit in bits.items())
    by = ", ".join(f"({', '.join(one for one in columns if one in some)})" for some in dict.fromkeys(sets.values()))
    sums = {fits: f"s{place}" for place, fits in enumerate(dict.fromkeys(fits for _, fits in wanted.values()))}
    fit = {fits: " AND ".join(f"{name} = 1" for name in fits) or "1 = 1" for fits in sums}
    fitting = [f"max(CASE WHEN {fit[fits]} THEN 1 END) AS {called}" for fits, called in sums.items()]
    inner = (
        f"SELECT {', '.join((*groups, f'{left_out} AS g', *fitting))} FROM ruleminer_rows GROUP BY GROUPING SETS ({by})"
    )
    counts = ", ".join(f"count({called})" for called in sums.values())
    before = ", ".join((*groups, "g"))
    order = {fits: place for place, fits in enumerate(sums)}
    places = {
        reading: (sum(bits[name] for name in columns if name not in sets[reading]), order[fits])
        for reading, (_, fits) in wanted.items()
    }
    return f"SELECT {before}, {counts} FROM ({inner}) AS q GROUP BY {before}", places


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _distinct(groups: Iterable[Sequence[Filter]]) -> list[Filter]:
    return list(dict.fromkeys(one for some in groups for one in some))
