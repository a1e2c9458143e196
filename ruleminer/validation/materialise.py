"""A mapping run on a database: its triples, streamed as N-Triples terms, batch by batch of rows and map by map.

Nothing is kept: memory does not grow with the data. A triple may come more than once; a store is a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError, InputError
from ruleminer.progress import Progress, silent
from ruleminer.sources.database import Database
from ruleminer.validation.identifiers import Identifier
from ruleminer.validation.logical_tables import Declared, Source, join_sql, logical_source, select_sql
from ruleminer.validation.r2rml_values import (
    PredicateObjectMap,
    R2RMLMapping,
    RefObject,
    TermMap,
    TriplesMap,
)
from ruleminer.validation.row_terms import (
    ROWS_PER_BATCH,
    Quad,
    QuadMaker,
    Reading,
    Row,
    RowTerm,
    RowTriples,
    Tally,
    row_term,
)
from ruleminer.validation.terms import iri


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
    for quads in quad_batches(row_batches(mapping, database, tally, skip_broken, progress), tally):
        yield from quads


def map_quads(
    mapping: R2RMLMapping, triples_map: TriplesMap, database: Database, wanted: Callable[[Reading], Reading]
) -> Iterator[Quad]:
    """Those quads of one triples map that are `wanted` of each reading."""
    for reading in map(wanted, readings(mapping, triples_map, database)):
        if reading.classes or reading.triples:
            for quads in quad_batches(_batches(reading, database), Tally()):
                yield from quads


def quad_batches(batches: Iterable[tuple[Reading, list[Row]]], tally: Tally) -> Iterator[list[Quad]]:
    """The quads of rows, in batches."""
    reading, maker = None, None
    for now, rows in batches:
        if maker is None or now is not reading:
            reading, maker = now, QuadMaker(now, tally)
        yield maker.quads(rows)


def row_batches(
    mapping: R2RMLMapping,
    database: Database,
    tally: Tally,
    skip_broken: bool = False,
    progress: Progress = silent,
) -> Iterator[tuple[Reading, list[Row]]]:
    """The rows that a mapping is made of, in batches, with what each batch becomes."""
    for number, triples_map in enumerate(mapping.maps, 1):
        tally.running = triples_map
        try:
            with told_of_map(mapping, triples_map):
                for reading in readings(mapping, triples_map, database):
                    yield from _batches(reading, database)
        except InputError as problem:
            if not skip_broken:
                raise
            tally.problems.append(str(problem))
        progress("materialise", triples_map.name, number, len(mapping.maps))


@contextmanager
def told_of_map(mapping: R2RMLMapping, triples_map: TriplesMap) -> Iterator[None]:
    """What goes wrong inside is told of this triples map."""
    try:
        yield
    except ConnectionLostError:
        raise
    except (InputError, DatabaseError) as problem:
        told = f"{mapping.source}: triples map {triples_map.name}: {problem}"
        if isinstance(problem, DatabaseTimeoutError):  # half of a map's triples is no result
            raise DatabaseTimeoutError(told) from None
        raise InputError(told) from None


def _batches(reading: Reading, database: Database) -> Iterator[tuple[Reading, list[Row]]]:
    rows: Iterator[Row] = iter(database.rows(reading.sql))
    while batch := [*islice(rows, ROWS_PER_BATCH)]:
        yield reading, batch


def all_readings(mapping: R2RMLMapping, database: Database, progress: Progress = silent) -> list[Reading]:
    """What is read for all triples maps."""
    found: list[Reading] = []
    for number, triples_map in enumerate(mapping.maps, 1):
        with told_of_map(mapping, triples_map):
            found += readings(mapping, triples_map, database)
        progress("materialise", triples_map.name, number, len(mapping.maps))
    return found


def readings(mapping: R2RMLMapping, triples_map: TriplesMap, database: Database) -> list[Reading]:
    """What is read for a triples map: its own rows, and for each join with another map those of both."""
    source = logical_source(triples_map.table, database)
    pairs: list[tuple[PredicateObjectMap, tuple[TermMap, ...]]] = []
    joined: list[Reading] = []
    for pair in triples_map.predicate_objects:
        here = [each for each in pair.objects if isinstance(each, TermMap)]
        for each in pair.objects:
            if isinstance(each, RefObject):
                if each.joins:
                    joined.append(_joined(mapping, triples_map, source, pair, each, database))
                else:  # the same rows: the parent's subject is made of this one
                    here.append(mapping.parent(each.parent).subject)
        if here:
            pairs.append((pair, tuple(here)))
    if not triples_map.classes and not pairs and joined:
        return joined
    return [_plain(mapping, triples_map, source, pairs), *joined]


def _plain(
    mapping: R2RMLMapping,
    triples_map: TriplesMap,
    source: Source,
    pairs: Sequence[tuple[PredicateObjectMap, tuple[TermMap, ...]]],
) -> Reading:
    used = [triples_map.subject, *triples_map.graphs]
    for pair, objects in pairs:
        used += [*pair.predicates, *pair.graphs, *objects]
    places, order = _row_places(source, used)

    def placed(terms: Sequence[TermMap]) -> tuple[RowTerm, ...]:
        return tuple(row_term(term, places, mapping.base) for term in terms)

    (subject,) = placed([triples_map.subject])
    return Reading(
        triples_map.name,
        select_sql(source, order),
        mapping.base,
        subject,
        tuple(map(iri, triples_map.classes)),
        placed(triples_map.graphs),
        tuple(
            RowTriples(placed(pair.predicates), placed(objects), placed([*triples_map.graphs, *pair.graphs]))
            for pair, objects in pairs
        ),
        source.as_declared(order),
    )


def _joined(
    mapping: R2RMLMapping,
    triples_map: TriplesMap,
    source: Source,
    pair: PredicateObjectMap,
    ref: RefObject,
    database: Database,
) -> Reading:
    parent_map = mapping.parent(ref.parent)
    parent = logical_source(parent_map.table, database)
    graphs = [*triples_map.graphs, *pair.graphs]
    places, order = _row_places(source, [triples_map.subject, *pair.predicates, *graphs])
    parent_places, parent_order = _row_places(parent, [parent_map.subject])
    behind = {column: len(order) + at for column, at in parent_places.items()}
    on = [(source.place(each.child), parent.place(each.parent)) for each in ref.joins]
    declared: dict[int, Declared] = source.as_declared(order)
    declared |= {len(order) + at: found for at, found in parent.as_declared(parent_order).items()}
    return Reading(
        triples_map.name,
        join_sql(source, order, parent, parent_order, on),
        mapping.base,
        row_term(triples_map.subject, places, mapping.base),
        (),
        (),
        (
            RowTriples(
                tuple(row_term(term, places, mapping.base) for term in pair.predicates),
                (row_term(parent_map.subject, behind, mapping.base),),
                tuple(row_term(term, places, mapping.base) for term in graphs),
            ),
        ),
        declared,
    )


def _row_places(source: Source, used: Sequence[TermMap]) -> tuple[Mapping[Identifier, int], list[int]]:
    """Where each column stands in a row, and which places of the source the row is made of."""
    places = {column: source.place(column) for term in used for column in term.columns}
    order = sorted(set(places.values()))
    return {column: order.index(place) for column, place in places.items()}, order
