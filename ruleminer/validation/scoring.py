"""RODI's score: how far a SPARQL query's rows over the mapped triples are those of the SQL query they stand for.

precision = matches / rows of SPARQL (0 if there are none), recall = matches / rows of SQL (1 if there are none); the
overall score is the F-measure of both means. Values are compared as strings. Columns that hold ids of entities are
placeholders: any entity will do.

A match is a SQL row that equals some SPARQL row. So says RODI's code, where several SQL rows may share one SPARQL row:
SQL repeats rows, RDF cannot. (It can even print a precision above 1; ours stops there.) That is generous where few
different values make many rows, so `pairs` also counts the rows that can be matched one to one.

The same number or time in another notation (`12.3` and `12.300000`, a blank or a T before the hour) counts as the
same string: the standard's canonical forms and an engine's cast to text differ in just that. So does a day that the
ontology's range makes a midnight, or a midnight that it makes a day, where the SQL query gives a date or a timestamp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, islice, product

from pyoxigraph import Literal, NamedNode

from ruleminer.rules.lexical import number_form
from ruleminer.validation.terms import XSD, natural

MIDNIGHT = " 00:00:00"
Row = tuple[str | None, ...]
_SHOWN = 5
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_TIME = re.compile(r"(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(?:Z|[+-]00(?::00)?)?")
_NUMERIC = {f"{XSD}{name}" for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte")}


@dataclass(frozen=True, slots=True)
class Score:
    """What matched. `missing` and `extra` are a few of the SQL and SPARQL rows that found no partner."""

    precision: float
    recall: float
    matches: int
    pairs: int
    sparql_rows: int
    sql_rows: int
    missing: tuple[Row, ...] = ()
    extra: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Average:
    """Means over some queries, and their F-measure."""

    queries: int
    precision: float
    recall: float
    f1: float


def f_measure(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where RODI prints NaN."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def average(scores: Iterable[tuple[float, float]]) -> Average:
    """The average of (precision, recall) pairs."""
    given = list(scores)
    if not given:
        return Average(0, 0.0, 0.0, 0.0)
    precision, recall = (sum(side) / len(given) for side in zip(*given, strict=True))
    return Average(len(given), precision, recall, f_measure(precision, recall))


def by_category(scores: Iterable[tuple[Sequence[str], float, float]]) -> dict[str, Average]:
    """An average for each category that some query has."""
    found: dict[str, list[tuple[float, float]]] = {}
    for categories, precision, recall in scores:
        for category in dict.fromkeys(categories):
            found.setdefault(category, []).append((precision, recall))
    return {category: average(found[category]) for category in sorted(found)}


def score(
    sql_rows: Iterable[Sequence[object]], sparql_rows: Iterable[Sequence[object]], placeholders: Iterable[int] = ()
) -> Score:
    """The score of one query. SPARQL rows are pyoxigraph's terms, in the order of the SQL columns."""
    ids = frozenset(placeholders)
    counts: dict[tuple[str | None, ...], int] = {}
    first: dict[tuple[str | None, ...], Sequence[object]] = {}  # one row of each key, to show
    sparql_count = 0
    for solution in sparql_rows:
        sparql_count += 1
        key = _sparql_key(solution, ids)
        if key in counts:
            counts[key] += 1
        else:
            counts[key], first[key] = 1, solution
    left = dict(counts)
    missing: list[Row] = []
    surplus: list[Row] = []
    matches = pairs = sql_count = 0
    for row in sql_rows:
        sql_count += 1
        for found in _sql_keys(row, ids):
            if found in left:
                break
        else:
            _keep(missing, row)
            continue
        matches += 1
        if left[found] > 0:
            pairs += 1
        else:
            _keep(surplus, row)
        left[found] -= 1
    # What has no partner at all tells more than what has one too few.
    unknown = (key for key, count in left.items() if count == counts[key])
    too_many = (key for key, count in left.items() if 0 < count < counts[key])
    return Score(
        precision=min(1.0, matches / sparql_count) if sparql_count else 0.0,
        recall=matches / sql_count if sql_count else 1.0,
        matches=matches,
        pairs=pairs,
        sparql_rows=sparql_count,
        sql_rows=sql_count,
        missing=tuple([*missing, *surplus][:_SHOWN]),
        extra=tuple(tuple(map(_term_text, first[key])) for key in islice(chain(unknown, too_many), _SHOWN)),
    )


def strict(found: Score) -> tuple[float, float]:
    """Precision and recall where each row is matched once."""
    return (
        found.pairs / found.sparql_rows if found.sparql_rows else 0.0,
        found.pairs / found.sql_rows if found.sql_rows else 1.0,
    )


def _keep(rows: list[Row], row: Sequence[object]) -> None:
    if len(rows) < _SHOWN:
        rows.append(tuple(None if value is None else natural(value)[0] for value in row))


_BOUND = "\0entity"  # a placeholder matches whatever is bound


def _sparql_key(solution: Sequence[object], ids: frozenset[int]) -> tuple[str | None, ...]:
    return tuple(
        [None if term is None else _BOUND if place in ids else _term_key(term) for place, term in enumerate(solution)]
    )


def _sql_keys(row: Sequence[object], ids: frozenset[int]) -> Iterator[tuple[str | None, ...]]:
    """The keys that a SQL row fits. One with a NULL fits none: a triple cannot say that there is nothing."""
    if None in row:
        return iter(())
    return product(*[(_BOUND,) if place in ids else _value_keys(value) for place, value in enumerate(row)])


def _value_keys(value: object) -> tuple[str, ...]:
    # The store forgets how a typed number was written ("007"^^xsd:integer is 7), so those are told apart by a mark.
    if type(value) is int:
        return (text := str(value)), f"#{text}"
    text = natural(value)[0]
    if not _may_be_notation(text):
        return (text,)
    key = _notation(text)
    if isinstance(value, datetime):  # at midnight it may have been published as a date
        return (key, key.removesuffix(MIDNIGHT)) if key.endswith(MIDNIGHT) else (key,)
    if isinstance(value, date):  # and a date, under a range of xsd:dateTime, as its midnight
        return key, key + MIDNIGHT
    return (key, f"#{number_form(text)}") if _NUMBER.fullmatch(text) else (key,)


def _term_key(term: object) -> str:
    text = _term_text(term) or ""
    if not _may_be_notation(text):
        return text
    if isinstance(term, Literal) and term.datatype.value in _NUMERIC and _NUMBER.fullmatch(text):
        return f"#{number_form(text)}"
    return _notation(text)


def _may_be_notation(text: str) -> bool:
    """Whether a text starts as a number or a time does; most do not, and then it is all that there is to compare."""
    return text[:1].isdecimal() or text[:1] in ("+", "-")


def comparable(text: str) -> str:
    """A value's text in one notation, whatever its type: `12.30` is `12.3`, and a time has a blank before the hour."""
    if not _may_be_notation(text):
        return text
    return number_form(text) if _NUMBER.fullmatch(text) else _notation(text)


def _notation(text: str) -> str:
    if ("." in text or "e" in text or "E" in text) and _NUMBER.fullmatch(text):
        return number_form(text)
    if len(text) > 18 and (found := _TIME.fullmatch(text)):
        day, hour, fraction = found.groups()
        return f"{day} {hour}{(fraction or '').rstrip('0').rstrip('.')}"
    return text


def _term_text(term: object) -> str | None:
    if term is None:
        return None
    return term.value if isinstance(term, (Literal, NamedNode)) else str(term)
