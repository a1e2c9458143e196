"""A mapping run on a database: its triples, streamed as N-Triples terms, row by row and map by map.

Nothing is kept: memory does not grow with the data. A triple may come more than once; a store is a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product, zip_longest
from typing import Any

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError, InputError
from ruleminer.progress import Progress, silent
from ruleminer.sources.database import Database
from ruleminer.validation.identifiers import Identifier
from ruleminer.validation.logical_tables import Source, join_sql, logical_source, select_sql
from ruleminer.validation.r2rml import DEFAULT_GRAPH
from ruleminer.validation.r2rml_values import (
    PredicateObjectMap,
    R2RMLMapping,
    RefObject,
    TermMap,
    TermType,
    TriplesMap,
)
from ruleminer.validation.terms import (
    RDF_TYPE,
    XSD,
    blank,
    fits_in_iri,
    iri,
    iri_safe,
    is_absolute,
    is_iri,
    literal,
    natural,
)

Row = Sequence[Any]
TermOfRow = Callable[[Row], str | None]
Quad = tuple[str, str, str, str]
"""Subject, predicate, object and graph as N-Triples; the default graph is the empty text."""


@dataclass
class Tally:
    """What happened on the way: rows read, maps that could not be run, and terms that could not be made, by cause.

    `running` is the map whose triples come now.
    """

    running: TriplesMap | None = None
    rows: int = 0
    problems: list[str] = field(default_factory=list)
    data_errors: Counter[str] = field(default_factory=Counter)


def materialise(
    mapping: R2RMLMapping,
    database: Database,
    tally: Tally | None = None,
    *,
    skip_broken: bool = False,
    progress: Progress = silent,
) -> Iterator[Quad]:
    """The quads of a mapping. A map that the database refuses is an error, or, with `skip_broken`, a problem told."""
    tally = tally if tally is not None else Tally()
    for number, triples_map in enumerate(mapping.maps, 1):
        tally.running = triples_map
        try:
            yield from _Runner(mapping, triples_map, database, tally).quads()
        except ConnectionLostError:
            raise
        except (InputError, DatabaseError) as problem:
            told = f"{mapping.source}: triples map {triples_map.name}: {problem}"
            if isinstance(problem, DatabaseTimeoutError):  # half of a map's triples is no result
                raise DatabaseTimeoutError(told) from None
            if not skip_broken:
                raise InputError(told) from None
            tally.problems.append(told)
        progress("materialise", triples_map.name, number, len(mapping.maps))


def map_quads(mapping: R2RMLMapping, triples_map: TriplesMap, database: Database) -> Iterator[Quad]:
    """The quads of one triples map."""
    return _Runner(mapping, triples_map, database, Tally()).quads()


@dataclass(frozen=True, slots=True)
class _Joined:
    """A statement over child and parent, and where their columns stand in its rows."""

    sql: str
    places: Mapping[Identifier, int]
    parent_places: Mapping[Identifier, int]
    declared: Mapping[int, tuple[Source, int]]


class _Runner:
    """One triples map on one database."""

    def __init__(self, mapping: R2RMLMapping, triples_map: TriplesMap, database: Database, tally: Tally) -> None:
        self.mapping, self.map, self.database, self.tally = mapping, triples_map, database, tally

    def quads(self) -> Iterator[Quad]:
        source = logical_source(self.map.table, self.database)
        pairs: list[tuple[PredicateObjectMap, tuple[TermMap, ...]]] = []
        joined: list[tuple[PredicateObjectMap, RefObject]] = []
        for pair in self.map.predicate_objects:
            here = [each for each in pair.objects if isinstance(each, TermMap)]
            for each in pair.objects:
                if isinstance(each, RefObject):
                    if each.joins:
                        joined.append((pair, each))
                    else:  # the same rows: the parent's subject is made of this one
                        here.append(self.mapping.parent(each.parent).subject)
            pairs.append((pair, tuple(here)))
        # Joins are put together first: a column that is missing is told before any triple comes.
        streams = [self.over_join(pair, ref, self.join(source, pair, ref)) for pair, ref in joined]
        yield from self.plain(source, pairs)
        for stream in streams:
            yield from stream

    def plain(self, source: Source, pairs: list[tuple[PredicateObjectMap, tuple[TermMap, ...]]]) -> Iterator[Quad]:
        used = [self.map.subject, *self.map.graphs]
        for pair, objects in pairs:
            used += [*pair.predicates, *pair.graphs, *objects]
        places, order = _row_places(source, used)
        make = self.maker(places)
        subject, own_graphs = make(self.map.subject), [make(graph) for graph in self.map.graphs]
        classes = [iri(name) for name in self.map.classes]
        made = [
            (
                [make(predicate) for predicate in pair.predicates],
                [make(each) for each in objects],
                [*own_graphs, *(make(graph) for graph in pair.graphs)],
            )
            for pair, objects in pairs
            if objects
        ]
        if not classes and not made and any(pair.objects for pair in self.map.predicate_objects):
            return  # all its objects come through joins
        for row in self.rows(select_sql(source, order), _declared(source, order)):
            at = subject(row)
            if at is None:
                continue
            if classes:
                for graph, name in product(_graphs(own_graphs, row), classes):
                    yield at, RDF_TYPE, name, graph
            for predicates, objects_made, graphs in made:
                yield from _products(at, row, predicates, objects_made, graphs)

    def over_join(self, pair: PredicateObjectMap, ref: RefObject, join: _Joined) -> Iterator[Quad]:
        make = self.maker(join.places)
        subject = make(self.map.subject)
        predicates = [make(predicate) for predicate in pair.predicates]
        graphs = [make(graph) for graph in (*self.map.graphs, *pair.graphs)]
        objects = [self.maker(join.parent_places)(self.mapping.parent(ref.parent).subject)]
        for row in self.rows(join.sql, join.declared):
            at = subject(row)
            if at is not None:
                yield from _products(at, row, predicates, objects, graphs)

    def join(self, source: Source, pair: PredicateObjectMap, ref: RefObject) -> _Joined:
        parent_map = self.mapping.parent(ref.parent)
        parent = logical_source(parent_map.table, self.database)
        places, order = _row_places(source, [self.map.subject, *self.map.graphs, *pair.predicates, *pair.graphs])
        parent_places, parent_order = _row_places(parent, [parent_map.subject])
        on = [(source.place(each.child), parent.place(each.parent)) for each in ref.joins]
        shift = len(order)
        return _Joined(
            join_sql(source, order, parent, parent_order, on),
            places,
            {column: shift + at for column, at in parent_places.items()},
            _declared(source, order) | {shift + at: found for at, found in _declared(parent, parent_order).items()},
        )

    def rows(self, sql: str, declared: Mapping[int, tuple[Source, int]]) -> Iterator[Row]:
        for row in self.database.rows(sql):
            self.tally.rows += 1
            if declared:
                values = list(row)
                for at, (source, place) in declared.items():
                    values[at] = source.value(place, values[at])
                yield values
            else:
                yield row

    def maker(self, places: Mapping[Identifier, int]) -> Callable[[TermMap], TermOfRow]:
        def make(term: TermMap) -> TermOfRow:
            if term.constant is not None:
                constant = "" if term.constant == iri(DEFAULT_GRAPH) else term.constant
                return lambda row: constant
            if term.column is not None:
                return self.of_column(term, places[term.column])
            return self.of_template(term, places)

        return make

    def of_column(self, term: TermMap, place: int) -> TermOfRow:
        if term.term_type is TermType.LITERAL:
            return _literal_column(place, term.datatype, term.language)
        if term.term_type is TermType.BLANK:
            return lambda row: None if row[place] is None else blank(natural(row[place])[0])

        def of_row(row: Row) -> str | None:
            if row[place] is None:
                return None
            text = natural(row[place])[0]
            return self.checked_iri(text if is_iri(text) else self.mapping.base + text)

        return of_row

    def of_template(self, term: TermMap, places: Mapping[Identifier, int]) -> TermOfRow:
        parts = tuple(part if isinstance(part, str) else places[part] for part in term.template or ())
        if term.term_type is TermType.IRI:
            start = parts[0] if isinstance(parts[0], str) else ""
            if not is_absolute(start):
                parts = (self.mapping.base + start, *(parts[1:] if start else parts))
            fixed = [part for part in parts if isinstance(part, str)]
            if not is_absolute(fixed[0]) or not all(map(fits_in_iri, fixed)):
                raise InputError(f"its template makes no IRIs: {''.join(fixed)!r}")
            return _filled(parts, iri_safe, iri)
        if term.term_type is TermType.BLANK:
            return _filled(parts, str, blank)
        return _filled(parts, str, lambda text: literal(text, term.datatype, term.language))

    def checked_iri(self, text: str) -> str | None:
        if is_iri(text):
            return iri(text)
        self.tally.data_errors[f"triples map {self.map.name}: not an IRI, such as {text[:60]!r}"[:200]] += 1
        return None


def _literal_column(place: int, datatype: str | None, language: str | None) -> TermOfRow:
    def of_row(row: Row) -> str | None:
        value = row[place]
        if value is None:
            return None
        text, own = natural(value)
        return literal(text, None if language else datatype or (own and XSD + own), language)

    return of_row


def _filled(parts: tuple[str | int, ...], inside: Callable[[str], str], outside: Callable[[str], str]) -> TermOfRow:
    """A template's term: a text to start with, then places, each with the text behind it (no two texts in a row)."""
    start = parts[0] if isinstance(parts[0], str) else ""
    holes = [
        (part, behind if isinstance(behind, str) else "")
        for part, behind in zip_longest(parts, parts[1:], fillvalue="")
        if isinstance(part, int)
    ]

    def of_row(row: Row) -> str | None:
        text = start
        for place, behind in holes:
            value = row[place]
            if value is None:
                return None
            # Most keys are whole numbers, which need no looking at.
            text += (str(value) if type(value) is int else inside(natural(value)[0])) + behind
        return outside(text)

    return of_row


def _products(
    at: str, row: Row, predicates: list[TermOfRow], objects: list[TermOfRow], graphs: list[TermOfRow]
) -> Iterator[Quad]:
    for make_object in objects:
        value = make_object(row)
        if value is None:
            continue
        for make_predicate in predicates:
            predicate = make_predicate(row)
            if predicate is not None:
                for graph in _graphs(graphs, row):
                    yield at, predicate, value, graph


def _graphs(graphs: list[TermOfRow], row: Row) -> Sequence[str]:
    """The graphs of a row's triples: the default one if no graph is asked for, none where all that are, are NULL."""
    if not graphs:
        return ("",)
    return tuple(dict.fromkeys(found for graph in graphs if (found := graph(row)) is not None))


def _row_places(source: Source, used: Sequence[TermMap]) -> tuple[dict[Identifier, int], list[int]]:
    """Where each column stands in a row, and which places of the source the row is made of."""
    places = {column: source.place(column) for term in used for column in term.columns}
    order = sorted(set(places.values()))
    return {column: order.index(place) for column, place in places.items()}, order


def _declared(source: Source, order: Sequence[int]) -> dict[int, tuple[Source, int]]:
    return {at: (source, place) for at, place in enumerate(order) if place in source.declared}
