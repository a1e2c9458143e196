"""RODI's score: how far a SPARQL query's rows over the mapped triples are those of the SQL query they stand for.

precision = matches / rows of SPARQL (0 if there are none), recall = matches / rows of SQL (1 if there are none); the
overall score is the F-measure of both means. Values are compared as strings. Columns that hold ids of entities are
placeholders: any entity will do.

A match is a SQL row that equals some SPARQL row. So says RODI's code, where several SQL rows may share one SPARQL row:
SQL repeats rows, RDF cannot. (It can even print a precision above 1; ours stops there.) That is generous where few
different values make many rows, so `pairs` also counts the rows that can be matched one to one.

The same number or time in another notation (`12.3` and `12.300000`, a blank or a T before the hour) counts as the
same string: the standard's canonical forms and an engine's cast to text differ in just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

from pyoxigraph import Literal, NamedNode

from ruleminer.propose.validation.terms import XSD, natural
from ruleminer.rules.lexical import number_form

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
    partners: dict[tuple[str | None, ...], list[Row]] = {}
    sparql_count = 0
    for solution in sparql_rows:
        sparql_count += 1
        partners.setdefault(_sparql_key(solution, ids), []).append(tuple(map(_term_text, solution)))
    matched: set[tuple[str | None, ...]] = set()
    missing: list[Row] = []
    surplus: list[Row] = []
    matches = pairs = sql_count = 0
    for row in sql_rows:
        sql_count += 1
        key = next((key for key in _sql_keys(row, ids) if key in partners), None)
        if key is None:
            _keep(missing, row)
            continue
        matches += 1
        matched.add(key)
        if partners[key]:
            partners[key].pop()
            pairs += 1
        else:
            _keep(surplus, row)
    # What has no partner at all tells more than what has one too few.
    unknown = (row for key, rows in partners.items() if key not in matched for row in rows)
    left = (row for key, rows in partners.items() if key in matched for row in rows)
    return Score(
        precision=min(1.0, matches / sparql_count) if sparql_count else 0.0,
        recall=matches / sql_count if sql_count else 1.0,
        matches=matches,
        pairs=pairs,
        sparql_rows=sparql_count,
        sql_rows=sql_count,
        missing=tuple([*missing, *surplus][:_SHOWN]),
        extra=tuple(islice(chain(unknown, left), _SHOWN)),
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
        None if term is None else _BOUND if place in ids else _term_key(term) for place, term in enumerate(solution)
    )


def _sql_keys(row: Sequence[object], ids: frozenset[int]) -> Iterator[tuple[str | None, ...]]:
    """The keys that a SQL row fits. One with a NULL fits none: a triple cannot say that there is nothing."""
    if any(value is None for value in row):
        return iter(())
    return product(*((_BOUND,) if place in ids else _value_keys(value) for place, value in enumerate(row)))


def _value_keys(value: object) -> tuple[str, ...]:
    # The store forgets how a typed number was written ("007"^^xsd:integer is 7), so those are told apart by a mark.
    text = natural(value)[0]
    key = _notation(text)
    return (key, f"#{number_form(text)}") if _NUMBER.fullmatch(text) else (key,)


def _term_key(term: object) -> str:
    text = _term_text(term) or ""
    if isinstance(term, Literal) and term.datatype.value in _NUMERIC and _NUMBER.fullmatch(text):
        return f"#{number_form(text)}"
    return _notation(text)


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
    return term.value if isinstance(term, Literal | NamedNode) else str(term)
