"""SQL of columns for questions about many rules: each expression is made once and then put together as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ruleminer.proposals.frames import Frame, Reading, Spelling, Spot
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import BOUND, Dialect
from ruleminer.rules.expressions import as_text, column_of
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.literals import text_sql
from ruleminer.rules.values import Constant, Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema, quote_identifier

LIST = "ruleminer_list"
"""What lists of values that a statement brings along are called, with a number behind; no table of a user's is."""

_NATIVE = (Kind.INTEGER, Kind.BOOLEAN, Kind.DATE, Kind.DECIMAL, Kind.TIMESTAMP)
_WHOLE = re.compile(r"-?\d{1,18}")
_WRITTEN = 50  # values up to which a list is written out where it may be


class ColumnSql:
    """Expressions for columns of a database, remembered."""

    def __init__(self, database: Database, schema: Schema) -> None:
        self._database, self._dialect, self._schema = database, database.dialect, schema
        self._known: dict[tuple[str, str, Place], str] = {}

    @property
    def dialect(self) -> Dialect:
        """The engine's SQL."""
        return self._dialect

    def place(self, frame: Frame, spot: Spot) -> str:
        """A column as it is compared: what only a cast makes comparable (uuid, json, …) is cast."""
        return self._sql("place", f"t{spot.atom}", frame.place(spot))

    def other(self, alias: str, place: Place) -> str:
        """The same for a column outside of a frame."""
        return self._sql("place", alias, place)

    def text(self, frame: Frame, spot: Spot) -> str:
        """The engine's own text of a column."""
        return self._sql("text", f"t{spot.atom}", frame.place(spot))

    def argument(self, frame: Frame, argument: Spot | Spelling) -> str:
        """The lexical form of an argument."""
        if isinstance(argument, Spot):
            return self._sql("lexical", f"t{argument.atom}", frame.place(argument))
        parts = [
            self._dialect.text_of(text_sql(part, self._dialect).sql(self._dialect.name))
            if isinstance(part, str)
            else self.text(frame, part)
            for part in argument.parts or ("",)
        ]
        return " || ".join(parts)

    def keys(self, frame: Frame, argument: Spot | Spelling) -> tuple[str, ...]:
        """Cheap expressions that differ just where the lexical forms of an argument do."""
        if isinstance(argument, Spot):
            return (self._key(frame, argument, "lexical"),)
        spots = [part for part in argument.parts if isinstance(part, Spot)]
        return (self._key(frame, spots[0], "text"),) if len(spots) == 1 else (self.argument(frame, argument),)

    def comparable(self, readings: Sequence[Reading]) -> list[list[str]]:
        """For each rule, expressions for its arguments that are equal across rules just if the lexical forms are."""
        cells: list[list[str]] = [[] for _ in readings]
        for arguments in zip(*(one.arguments for one in readings), strict=True):
            whole = all(self.is_whole(one.frame, argument) for one, argument in zip(readings, arguments, strict=True))
            for own, one, argument in zip(cells, readings, arguments, strict=True):
                native = whole and isinstance(argument, Spot)
                own.append(self.place(one.frame, argument) if native else self.argument(one.frame, argument))
        return cells

    def is_whole(self, frame: Frame, argument: Spot | Spelling) -> bool:
        """Whether an argument is a column that surely holds whole numbers only."""
        return (
            isinstance(argument, Spot)
            and self._dialect.types_values
            and self._type(frame.place(argument)).kind is Kind.INTEGER
        )

    def among(self, frame: Frame, argument: Spot | Spelling, relation: str, values: Sequence[str]) -> str:
        """Whether an argument is one of the texts in a relation, which hold these values; perhaps a few more are."""
        if self.is_whole(frame, argument) and all(map(_WHOLE.fullmatch, values)):
            assert isinstance(argument, Spot)
            listed = f"SELECT CAST(v AS {self._dialect.whole_type}) FROM {relation}"
            return f"{self.place(frame, argument)} IN ({', '.join(values) if self.writes_out(values) else listed})"
        return self.in_list(self.argument(frame, argument), relation, values)

    def in_list(self, text: str, relation: str, values: Sequence[str]) -> str:
        """Whether a text is one of those in a relation, which hold these values."""
        written = (text_sql(one, self._dialect).sql(self._dialect.name) for one in values)
        return f"{text} IN ({', '.join(written) if self.writes_out(values) else f'SELECT v FROM {relation}'})"

    def writes_out(self, values: Sequence[str]) -> bool:
        """Whether values stand in the statement, and not in a relation."""
        return self._dialect.parts_are_dear and 0 < len(values) <= _WRITTEN

    def among_bound(self, frame: Frame, spot: Spot, values: Sequence[str]) -> str:
        """Whether a column holds one of a few texts, which are bound; perhaps it is true of a few more."""
        if self.is_whole(frame, spot) and all(map(_WHOLE.fullmatch, values)):
            one = f"CAST({self._dialect.text_of(BOUND)} AS {self._dialect.whole_type})"
            return f"{self.place(frame, spot)} IN ({', '.join([one] * len(values))})"
        return f"{self.argument(frame, spot)} IN ({', '.join([self._dialect.text_of(BOUND)] * len(values))})"

    def constant_text(self, constant: Constant) -> str:
        """The text that the engine makes of a constant of a column."""
        if isinstance(constant.value, bool):
            return self._dialect.truths[not constant.value]
        if self._dialect.types_values:
            return lexical_form(constant.value)
        return str(self._dialect.bindable(constant.value))

    def tables(self, frame: Frame) -> tuple[str, list[str]]:
        """What a frame reads, for a FROM, and conditions within its first table."""
        on: dict[int, list[str]] = {}
        for one, other in frame.joins:
            equal = f"{self.place(frame, one)} = {self.place(frame, other)}"
            on.setdefault(max(one.atom, other.atom), []).append(equal)
        text = f"{self._database.quoted(frame.tables[0])} AS t1"
        for number, table in enumerate(frame.tables[1:], start=2):
            text += f" JOIN {self._database.quoted(table)} AS t{number} ON {' AND '.join(on[number])}"
        return text, on.get(1, [])

    def values(self, place: Place, name: str, distinct: bool) -> str:
        """The relation of the values of a column, called `v`."""
        value = self.other(name, place)
        how = "SELECT DISTINCT" if distinct else "SELECT"
        return (
            f"({how} {value} AS v FROM {self._database.quoted(place.table)} AS {name} "
            f"WHERE {name}.{quote_identifier(place.column)} IS NOT NULL)"
        )

    def filled(self, spot: Spot) -> str:
        """Whether a column holds a value."""
        return f"t{spot.atom}.{quote_identifier(spot.column)} IS NOT NULL"

    def _key(self, frame: Frame, spot: Spot, text: str) -> str:
        found = self._type(frame.place(spot))
        native = (Kind.INTEGER,) if text == "text" else _NATIVE
        if self._dialect.types_values and found.kind in native and not found.is_float:
            return self.place(frame, spot)
        return self._sql(text, f"t{spot.atom}", frame.place(spot))

    def _type(self, place: Place) -> ColumnType:
        return self._schema.type_of(*place)

    def _sql(self, how: str, alias: str, place: Place) -> str:
        wanted = how, alias, place
        if wanted not in self._known:
            found = self._type(place)
            value = self._dialect.comparable(column_of(alias, place.column), found)
            if how == "text":
                value = as_text(value)
            elif how == "lexical":
                value = self._dialect.lexical(value, found)
            self._known[wanted] = value.sql(self._dialect.name)
        return self._known[wanted]
