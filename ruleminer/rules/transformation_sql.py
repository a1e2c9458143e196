"""Transformations in SQL: an expression over a value's lexical form, in words that all engines share.

What only some engines have (patterns, JSON, bytes) is asked of the dialect; one that has it not refuses the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from sqlglot import exp

from ruleminer.errors import DatabaseError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import verbatim
from ruleminer.rules.literals import text_sql
from ruleminer.rules.transformations import COUNTED, FALSE, TRANSFORMATIONS, TRUE, shift_of
from ruleminer.rules.values import Transformed

_LONG_MONTHS = ("01", "03", "05", "07", "08", "10", "12")
_LEAP = tuple(f"{number:02}" for number in range(4, 100, 4))  # the ends of leap years that do not end in 00
_WRITTEN = {"DMY": (7, 4, 1), "MDY": (7, 1, 4), "YMD": (1, 6, 9)}  # where year, month and day stand
_SHAPES = {"DMY": "__.__.____", "MDY": "__.__.____", "YMD": "____.__.__"}

_NEEDS = {
    "number": "is_number",
    "scale": "is_number",
    "times": "is_number",
    "field": "json_scalar",
    "item": "json_scalar",
    "encoded": "percent_encoded",
    "escaped": "percent_encoded",
    "plus": "percent_encoded",
}


def transformed_sql(
    function: Transformed, text: exp.Expression, column: ColumnType | None, dialect: Dialect
) -> exp.Expression:
    """The text that a transformation makes of a lexical form; NULL where it makes nothing.

    DatabaseError says what the engine cannot do, or what the column is not.
    """
    problem = refusal(function, column, dialect)
    if problem:
        raise DatabaseError(problem)
    lexical = text if isinstance(text, exp.Cast | exp.Anonymous | exp.Column) else exp.paren(text)
    return verbatim(_WORDS[function.name](_Words(dialect), lexical.sql(dialect.name), *function.parameters))


def refusal(function: Transformed, column: ColumnType | None, dialect: Dialect) -> str | None:
    """Why a transformation cannot be asked of a column of this engine, or None."""
    if column is not None and column.kind not in TRANSFORMATIONS[function.name].takes:
        kinds = " or ".join(sorted(TRANSFORMATIONS[function.name].takes))
        return f"{function.name}() takes a {kinds}, and the column is a {column.kind} ({column.sql_type})"
    need = _NEEDS.get(function.name)
    if function.name in dialect.lacks or (need is not None and getattr(dialect, need) is None):
        return f"{dialect.scheme} has no SQL of ours for {function.name}()"
    of_json = column is not None and ("json" in column.sql_type.lower() or column.is_array)
    if function.name in ("field", "item") and column is not None and not (dialect.checks_json or of_json):
        return f"{dialect.scheme}: {function.name}() takes a column of json or an array, not {column.sql_type}"
    return None


class _Words:
    """The SQL of each transformation on one engine; texts in and out."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def literal(self, text: str) -> str:
        return text_sql(text, self.dialect).sql(self.dialect.name)

    def date(self, text: str) -> str:
        return self._of_day(text, f"SUBSTR({text}, 1, 10)")

    def timestamp(self, text: str) -> str:
        return self._of_day(text, f"SUBSTR({text}, 1, 10) || ' 00:00:00'")

    def year(self, text: str) -> str:
        return self._of_day(text, _zero_if_empty(self._without("LEADING", f"SUBSTR({text}, 1, 4)", "0")))

    def _of_day(self, text: str, result: str) -> str:
        """Only of years of four digits: others are written by each engine in its way."""
        return f"CASE WHEN {text} LIKE '____-__-__%' AND NOT {text} LIKE '%BC%' THEN {result} END"

    def day(self, text: str, how: str) -> str:
        if how in COUNTED:
            return self._counted(text, how, lambda seconds: f"SUBSTR({self.dialect.since_1970(seconds)}, 1, 10)")
        cases = self._written(text, how, f"SUBSTR({text}, 11, 1) IN ('', ' ', 'T')")
        if how == "YMD":
            cases += self._run_together(text, "8, 14")
        return f"CASE {cases} END"

    def moment(self, text: str, how: str) -> str:
        if how == "milliseconds":
            return self._counted(text, how, lambda seconds: self._with_milliseconds(text, seconds))
        if how in COUNTED:
            return self._counted(text, how, self.dialect.since_1970)
        hour_on = f"SUBSTR({text}, 12)"
        to_the_minute = self._joined(hour_on, "':00'")
        time = f"CASE WHEN LENGTH({text}) = 16 THEN {to_the_minute} ELSE {hour_on} END"
        cases = self._written(text, how, f"SUBSTR({text}, 11, 1) IN (' ', 'T')", time)
        if how == "YMD":
            pairs = [f"SUBSTR({text}, {start}, 2)" for start in (9, 11, 13)]
            cases += self._run_together(text, "14", self._joined(pairs[0], "':'", pairs[1], "':'", pairs[2]))
        return f"CASE {cases} END"

    def _written(self, text: str, how: str, condition: str, time: str = "") -> str:
        """The case of a day whose numbers have marks between them."""
        shape = f"REPLACE(REPLACE(SUBSTR({text}, 1, 10), '/', '.'), '-', '.') LIKE '{_SHAPES[how]}'"
        numbers = [f"SUBSTR({text}, {at}, {4 if n == 0 else 2})" for n, at in enumerate(_WRITTEN[how])]
        return self._calendar_day(f"{shape} AND {condition}", numbers, time)

    def _run_together(self, text: str, lengths: str, time: str = "") -> str:
        """The case of a day whose numbers have nothing between them."""
        numbers = [f"SUBSTR({text}, {at}, {length})" for at, length in ((1, 4), (5, 2), (7, 2))]
        condition = f"LENGTH({text}) IN ({lengths}) AND {self.dialect.is_digits(text)}"
        return " " + self._calendar_day(condition, numbers, time)

    def _calendar_day(self, condition: str, numbers: list[str], time: str) -> str:
        """The case of a day that there is, by year, month and day, and of a time of day, if one is wanted."""
        year, month, day = numbers
        leap = ", ".join(f"'{ends}'" for ends in _LEAP)
        of_leap = (
            f"SUBSTR({year}, 3, 2) IN ({leap}) OR SUBSTR({year}, 3, 2) = '00' AND SUBSTR({year}, 1, 2) IN ({leap})"
        )
        months = ", ".join(f"'{number}'" for number in _LONG_MONTHS)
        conditions = [
            condition,
            self.dialect.is_digits(self._joined(*numbers)),
            f"{year} > '0000' AND {month} BETWEEN '01' AND '12'",
            f"({day} BETWEEN '01' AND '28' OR {day} = '29' AND ({month} <> '02' OR {of_leap})"
            f" OR {day} = '30' AND {month} <> '02' OR {day} = '31' AND {month} IN ({months}))",
        ]
        parts = [year, "'-'", month, "'-'", day]
        if time:
            pairs = [f"SUBSTR({time}, {start}, 2)" for start in (1, 4, 7)]
            conditions += [
                f"{time} LIKE '__:__:__' AND {self.dialect.is_digits(self._joined(*pairs))}",
                f"{pairs[0]} < '24' AND {pairs[1]} < '60' AND {pairs[2]} < '60'",
            ]
            parts += ["' '", time]
        return f"WHEN {' AND '.join(conditions)} THEN {self._joined(*parts)}"

    def _counted(self, text: str, how: str, made: Callable[[str], str]) -> str:
        """What is made of the seconds since 1970, where a text is a count of that many digits."""
        least, most = COUNTED[how]
        seconds = f"SUBSTR({text}, 1, LENGTH({text}) - 3)" if how == "milliseconds" else text
        is_count = f"LENGTH({text}) BETWEEN {least} AND {most} AND {self.dialect.is_digits(text)}"
        return f"CASE WHEN {is_count} THEN {made(seconds)} END"

    def _with_milliseconds(self, text: str, seconds: str) -> str:
        fraction = self._joined("'.'", f"SUBSTR({text}, LENGTH({text}) - 2)")
        trimmed = self._without("TRAILING", self._without("TRAILING", fraction, "0"), ".")
        return self._joined(self.dialect.since_1970(seconds), trimmed)

    def _joined(self, *parts: str) -> str:
        return self.dialect.joined(parts)

    def boolean(self, text: str) -> str:
        word = f"LOWER({self.trim(text)})"
        true, false = (", ".join(f"'{word}'" for word in words) for words in (TRUE, FALSE))
        return f"CASE WHEN {word} IN ({true}) THEN 'true' WHEN {word} IN ({false}) THEN 'false' END"

    def number(self, text: str) -> str:
        return self.times(self.trim(text))

    def times(self, text: str, factor: Decimal = Decimal(1)) -> str:
        """The decimal point moved within the text, for arithmetic is not the same everywhere."""
        places = shift_of(factor) or 0
        whole, fraction = self._halves(self._without("LEADING", text, "+-"))
        if places > 0:
            padded = f"({fraction} || '{'0' * places}')"
            whole, fraction = f"{whole} || SUBSTR({padded}, 1, {places})", f"SUBSTR({padded}, {places + 1})"
        elif places < 0:
            padded = f"('{'0' * -places}' || {whole})"
            cut = f"LENGTH({padded}) - {-places}"
            whole, fraction = f"SUBSTR({padded}, 1, {cut})", f"SUBSTR({padded}, {cut} + 1) || {fraction}"
        digits = _zero_if_empty(self._without("LEADING", whole, "0"))
        number = self._without("TRAILING", self._without("TRAILING", f"{digits} || '.' || {fraction}", "0"), ".")
        sign = f"CASE WHEN {text} LIKE '-%' AND {self._without('LEADING', text, '-0.')} <> '' THEN '-' ELSE '' END"
        return f"CASE WHEN {self._is_number(text)} THEN {sign} || {number} END"

    def scale(self, text: str, decimals: int) -> str:
        whole, fraction = self._halves(text)
        made = f"{whole} || '.' || SUBSTR({fraction} || '{'0' * decimals}', 1, {decimals})" if decimals else whole
        return f"CASE WHEN {self._is_number(text)} AND LENGTH({fraction}) <= {decimals} THEN {made} END"

    def _is_number(self, text: str) -> str:
        assert self.dialect.is_number is not None
        return self.dialect.is_number(text)

    def _halves(self, number: str) -> tuple[str, str]:
        """The digits before and behind the point."""
        pointed = f"({number} || '.')"
        point = f"{self.dialect.position}({pointed}, '.')"
        return f"SUBSTR({pointed}, 1, {point} - 1)", self._without("TRAILING", f"SUBSTR({pointed}, {point} + 1)", ".")

    def trim(self, text: str) -> str:
        return self._without("LEADING", self._without("TRAILING", text, " "), " ")

    def _without(self, side: str, text: str, characters: str) -> str:
        return self.dialect.trim(side, text, f"'{characters}'")

    def lower(self, text: str) -> str:
        return f"LOWER({text})"

    def upper(self, text: str) -> str:
        return f"UPPER({text})"

    def before(self, text: str, separator: str) -> str:
        found = self._found(text, separator)
        return f"CASE WHEN {found} > 0 THEN SUBSTR({text}, 1, {found} - 1) END"

    def after(self, text: str, separator: str) -> str:
        found = self._found(text, separator)
        return f"CASE WHEN {found} > 0 THEN SUBSTR({text}, {found} + {len(separator)}) END"

    def _found(self, text: str, separator: str) -> str:
        return f"{self.dialect.position}({text}, {self.literal(separator)})"

    def field(self, text: str, name: str) -> str:
        return self._scalar(text, name)

    def item(self, text: str, number: int) -> str:
        return self._scalar(text, number)

    def _scalar(self, text: str, step: str | int) -> str:
        assert self.dialect.json_scalar is not None
        scalar = self.dialect.json_scalar(text, step, self.literal)
        return (
            f"CASE WHEN {scalar.is_number} THEN {self.times(scalar.text)} WHEN {scalar.is_plain} THEN {scalar.text} END"
        )

    def encoded(self, text: str) -> str:
        return self._percent(text, False)

    def escaped(self, text: str) -> str:
        return self._percent(text, True)

    def plus(self, text: str) -> str:
        return f"REPLACE({self._percent(text, True)}, '%20', '+')"

    def _percent(self, text: str, ascii_only: bool) -> str:
        assert self.dialect.percent_encoded is not None
        return self.dialect.percent_encoded(text, ascii_only)


_WORDS: Mapping[str, Callable[..., str]] = {name: getattr(_Words, name) for name in TRANSFORMATIONS}


def _zero_if_empty(digits: str) -> str:
    return f"COALESCE(NULLIF({digits}, ''), '0')"
