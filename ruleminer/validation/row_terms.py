"""Rows to quads, a batch at a time and column by column: what a statement of a mapping reads, and what its rows become.

A `Reading` is a plain value, so that it can be sent to other processes, where `QuadMaker` makes the quads. Working by
columns, what is the same for all rows of a batch is looked at once: the type of a column, whether a text of it must be
escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ruleminer.errors import InputError
from ruleminer.validation.identifiers import Identifier
from ruleminer.validation.logical_tables import Declared, declared_value
from ruleminer.validation.r2rml import DEFAULT_GRAPH
from ruleminer.validation.r2rml_values import TermMap, TermType, TriplesMap
from ruleminer.validation.terms import (
    RDF_TYPE,
    XSD,
    blank,
    fits_in_iri,
    iri,
    iri_safe,
    is_absolute,
    is_iri,
    is_safe_in_iri,
    literal,
    natural,
    needs_escape,
)

ROWS_PER_BATCH = 2_000
"""So many rows become quads at once: enough for columns to pay, few enough for long texts."""

Row = Sequence[Any]
Texts = Sequence[str | None]
Quad = tuple[str, str, str, str]
"""Subject, predicate, object and graph as N-Triples; the default graph is the empty text."""

_NO_ESCAPES = frozenset((int, Decimal, float, bool, date, datetime))
_REPEATED = frozenset((Decimal, date, datetime))  # dear to write; equal ones are written alike, unlike 0.0 and -0.0


@dataclass(frozen=True, slots=True)
class RowTerm:
    """A term map over rows: a constant, a place of the row, or texts and places in turn."""

    term_type: TermType
    constant: str | None = None
    place: int | None = None
    parts: tuple[str | int, ...] = ()
    datatype: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class RowTriples:
    """Every predicate with every object, in these graphs."""

    predicates: tuple[RowTerm, ...]
    objects: tuple[RowTerm, ...]
    graphs: tuple[RowTerm, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement, and what its rows become: triples of a subject; `classes` are terms, and `graphs` theirs."""

    map_name: str
    sql: str
    base: str
    subject: RowTerm
    classes: tuple[str, ...]
    graphs: tuple[RowTerm, ...]
    triples: tuple[RowTriples, ...]
    declared: Mapping[int, Declared]


@dataclass
class Tally:
    """What happened on the way: rows read, maps that could not be run, and values that are no IRIs, by map.

    `running` is the map whose triples come now.
    """

    running: TriplesMap | None = None
    rows: int = 0
    problems: list[str] = field(default_factory=list)
    no_iris: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add_no_iri(self, map_name: str, text: str, count: int = 1) -> None:
        """A value that is no IRI, where one was to be; the first of a map is shown."""
        shown, before = self.no_iris.get(map_name, (text[:60], 0))
        self.no_iris[map_name] = shown, before + count

    def add(self, other: Tally) -> None:
        """What happened elsewhere."""
        self.rows += other.rows
        self.problems += other.problems
        for name, (text, count) in other.no_iris.items():
            self.add_no_iri(name, text, count)

    @property
    def notes(self) -> list[str]:
        """What was left out, with how often."""
        counted = sorted(self.no_iris.items(), key=lambda one: -one[1][1])
        return [
            f"triples map {name}: not an IRI, such as {text!r}"[:200] + f" ({count:,} rows)"
            for name, (text, count) in counted
        ]


@dataclass
class Counts:
    """What passed by, with repeats."""

    derived: int = 0
    in_graphs: int = 0

    def see(self, quads: Sequence[Quad]) -> None:
        """Count them."""
        self.derived += len(quads)
        self.in_graphs += sum(1 for quad in quads if quad[3])

    def add(self, other: Counts) -> None:
        """What passed by elsewhere."""
        self.derived += other.derived
        self.in_graphs += other.in_graphs


def row_term(term: TermMap, places: Mapping[Identifier, int], base: str) -> RowTerm:
    """A term map over rows whose columns stand at these places."""
    if term.constant is not None:
        return RowTerm(term.term_type, "" if term.constant == iri(DEFAULT_GRAPH) else term.constant)
    if term.column is not None:
        place = places[term.column]
        return RowTerm(term.term_type, place=place, datatype=term.datatype, language=term.language)
    parts = tuple(part if isinstance(part, str) else places[part] for part in term.template or ())
    if term.term_type is TermType.IRI:
        start = parts[0] if isinstance(parts[0], str) else ""
        if not is_absolute(start):
            parts = (base + start, *(parts[1:] if start else parts))
        fixed = [part for part in parts if isinstance(part, str)]
        if not is_absolute(fixed[0]) or not all(map(fits_in_iri, fixed)):
            raise InputError(f"its template makes no IRIs: {''.join(fixed)!r}")
    return RowTerm(term.term_type, parts=parts, datatype=term.datatype, language=term.language)


class _Batch:
    """Rows as columns, and what was made of these."""

    def __init__(self, rows: Sequence[Row], declared: Mapping[int, Declared]) -> None:
        self.size = len(rows)
        self.columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for place, how in declared.items():
            self.columns[place] = [declared_value(value, how) for value in self.columns[place]]
        self._natural: dict[int, Texts] = {}
        self._safe: dict[int, Texts] = {}

    def natural(self, place: int) -> Texts:
        """The natural texts of a column."""
        if place not in self._natural:
            self._natural[place] = _natural_texts(self.columns[place], _types(self.columns[place]))
        return self._natural[place]

    def safe(self, place: int) -> Texts:
        """Those texts, to be put into IRIs."""
        if place not in self._safe:
            texts = self.natural(place)
            if _types(self.columns[place]) != {int} and not is_safe_in_iri("".join(filter(None, texts))):
                texts = [None if text is None else iri_safe(text) for text in texts]
            self._safe[place] = texts
        return self._safe[place]


MakeTerms = Callable[[_Batch], Texts]


class QuadMaker:
    """The quads of a reading's rows; what cannot be made is told to the tally."""

    def __init__(self, reading: Reading, tally: Tally) -> None:
        self._reading, self._tally = reading, tally
        self._subject = self._maker(reading.subject)
        self._graphs = [self._maker(graph) for graph in reading.graphs]
        self._triples = [
            (
                [(one.constant, self._maker(one)) for one in triples.predicates],
                [self._maker(one) for one in triples.objects],
                [self._maker(one) for one in triples.graphs],
            )
            for triples in reading.triples
        ]

    def quads(self, rows: Sequence[Row]) -> list[Quad]:
        """The quads of some rows."""
        self._tally.rows += len(rows)
        if not rows:
            return []
        batch = _Batch(rows, self._reading.declared)
        subjects = self._subject(batch)
        if None in subjects:  # nothing is said of nothing
            kept = [number for number, subject in enumerate(subjects) if subject is not None]
            if not kept:
                return []
            batch.columns = [[column[number] for number in kept] for column in batch.columns]
            batch = _Batch(list(zip(*batch.columns, strict=True)), {})
            subjects = [subjects[number] for number in kept]
        found: list[Any] = []  # of quads; the subjects are there
        graphs = _graphs_of_rows(self._graphs, batch) if self._reading.classes else None
        for name in self._reading.classes:
            of_class = [(subject, RDF_TYPE, name, "") for subject in subjects]
            found += of_class if graphs is None else _in_graphs(of_class, graphs)
        for predicates, objects, makers in self._triples:
            graphs = _graphs_of_rows(makers, batch)
            for make_object in objects:
                values = make_object(batch)
                for constant, make_predicate in predicates:
                    if graphs is None and constant is not None:
                        said = zip(subjects, values, strict=True)
                        found += [(subject, constant, value, "") for subject, value in said if value is not None]
                    else:
                        named = make_predicate(batch)
                        whole = [(*one, "") for one in zip(subjects, named, values, strict=True)]
                        found += _in_graphs(whole, [[""]] * batch.size if graphs is None else graphs)
        return found

    def _maker(self, term: RowTerm) -> MakeTerms:
        if (constant := term.constant) is not None:
            return lambda batch: [constant] * batch.size
        if (place := term.place) is not None:
            if term.term_type is TermType.LITERAL:
                return lambda batch: _literals(batch, place, term.datatype, term.language)
            if term.term_type is TermType.BLANK:
                return lambda batch: _each(blank, batch.natural(place))
            return lambda batch: _each(self._checked_iri, batch.natural(place))
        return _template(term)

    def _checked_iri(self, text: str) -> str | None:
        whole = text if is_iri(text) else self._reading.base + text
        if is_iri(whole):
            return iri(whole)
        self._tally.add_no_iri(self._reading.map_name, whole)
        return None


def _each(make: Callable[[str], str | None], texts: Texts) -> Texts:
    return [None if text is None else make(text) for text in texts]


def _types(values: Iterable[Any]) -> set[type]:
    found = set(map(type, values))
    found.discard(type(None))
    return found


def _natural_texts(values: Sequence[Any], types: set[type]) -> Texts:
    if types <= {str}:
        return values
    if len(types) == 1 and types <= _REPEATED:
        with suppress(TypeError):  # a signalling NaN cannot be looked up
            known = {value: natural(value)[0] for value in set(values) if value is not None}
            return [None if value is None else known[value] for value in values]
    if types == {int} and None not in values:
        return list(map(str, values))
    return [None if value is None else natural(value)[0] for value in values]


def _literals(batch: _Batch, place: int, datatype: str | None, language: str | None) -> Texts:
    values = batch.columns[place]
    types = _types(values)
    if len(types) > 1:  # SQLite's columns hold anything
        pairs = [None if value is None else natural(value) for value in values]
        return [pair and literal(pair[0], _datatype(pair[1], datatype, language), language) for pair in pairs]
    texts = batch.natural(place)
    if not types:
        return texts
    own = natural(next(value for value in values if value is not None))[1]
    wanted = _datatype(own, datatype, language)
    if types <= _NO_ESCAPES or not needs_escape("".join(filter(None, texts))):
        behind = literal("", wanted, language)[1:]
        return [None if text is None else f'"{text}{behind}' for text in texts]
    return _each(lambda text: literal(text, wanted, language), texts)


def _datatype(own: str | None, datatype: str | None, language: str | None) -> str | None:
    return None if language else datatype or (own and XSD + own)


def _template(term: RowTerm) -> MakeTerms:
    places = [part for part in term.parts if isinstance(part, int)]
    form = "".join("%s" if isinstance(part, int) else part.replace("%", "%%") for part in term.parts)
    if term.term_type is TermType.IRI:
        form = iri(form)

    def filled(batch: _Batch) -> Texts:
        if term.term_type is TermType.IRI:
            columns = [batch.safe(place) for place in places]
        else:
            columns = [batch.natural(place) for place in places]
        if not columns:
            return [form % ()] * batch.size
        if len(columns) == 1:
            return [None if text is None else form % text for text in columns[0]]
        return [None if None in row else form % row for row in zip(*columns, strict=True)]

    if term.term_type is TermType.IRI:
        return filled
    if term.term_type is TermType.BLANK:
        return lambda batch: _each(blank, filled(batch))
    return lambda batch: _each(lambda text: literal(text, term.datatype, term.language), filled(batch))


def _graphs_of_rows(makers: Sequence[MakeTerms], batch: _Batch) -> list[list[str]] | None:
    """The graphs of each row: none where all that are asked for are NULL; None, for all rows, if none is asked for."""
    if not makers:
        return None
    columns = [make(batch) for make in makers]
    return [list(dict.fromkeys(one for one in row if one is not None)) for row in zip(*columns, strict=True)]


def _in_graphs(said: Sequence[tuple[Any, ...]], graphs: Sequence[Sequence[str]]) -> list[tuple[Any, ...]]:
    return [
        (s, p, o, graph)
        for (s, p, o, _), of_row in zip(said, graphs, strict=True)
        if p is not None and o is not None
        for graph in of_row
    ]
