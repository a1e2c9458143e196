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
from ruleminer.rules.transformations import FALSE, TRANSFORMATIONS, TRUE, shift_of
from ruleminer.rules.values import Transformed


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
