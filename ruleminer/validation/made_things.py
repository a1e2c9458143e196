"""What the IRIs of a mapping stand for: entities, each a key in a space, as the columns tell that it was made of.

A mapping may give its IRIs any form, so their text tells nothing but the key. Where a query does not tell the columns,
another map with IRIs of the same form may; if none does, the kind of thing is unknown, and that is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from urllib.parse import unquote

from ruleminer.rules.values import Place
from ruleminer.sources.database import Database
from ruleminer.structure.profile import Profile
from ruleminer.structure.spaces import compound_root
from ruleminer.structure.structure import Structure
from ruleminer.validation.iri_forms import clashes
from ruleminer.validation.r2rml_values import LogicalTable, R2RMLMapping, RefObject, TermMap, TermType, TriplesMap
from ruleminer.validation.scoring import comparable
from ruleminer.validation.term_origins import Origins, TermOrigins
from ruleminer.validation.terms import is_absolute

Thing = frozenset[tuple[Place, str]]
"""An entity: the columns of its key where its space is known by them, each with its value in one notation."""

_HOLE = r"([A-Za-z0-9\-._~%\u0080-\U0010ffff]*)"  # what R2RML leaves of a value in an IRI
_VALUE = re.compile(_HOLE)
_MOST_SPLITS = 16  # of one IRI into values: `1-2-3` is 1-2 and 3, or 1 and 2-3


def thing_of(places: Sequence[Place], values: Sequence[str], structure: Structure) -> Thing:
    """The entity that these columns name by these values."""
    return frozenset(zip(_roots(places, structure), map(key_text, values), strict=True))


def key_text(text: str) -> str:
    """A key in one notation; blanks at its end fill it up."""
    return comparable(text.rstrip(" "))


def _roots(places: Sequence[Place], structure: Structure) -> tuple[Place, ...]:
    if len(places) > 1:
        return tuple(compound_root(places, structure.schema))
    space = structure.space(places[0])
    return (places[0] if space is None else space.key,)


@dataclass(frozen=True, slots=True)
class IriMaker:
    """A term map that makes IRIs, on its logical table."""

    form: tuple[str | None, ...]  # the texts around its columns, which are None
    pattern: re.Pattern[str]
    origins: Origins

    @property
    def columns(self) -> tuple[str, ...]:
        """Where its keys come from, for people."""
        return tuple(sorted({".".join(place) for places in self.origins for place in places}))

    def values(self, iri: str) -> Sequence[tuple[str, ...]]:
        """What the columns may have held of which it made this IRI; nothing if it cannot have made it."""
        found = self.pattern.fullmatch(iri)
        if found is None:
            return ()
        splits = [found.groups()] if len(found.groups()) == 1 else islice(_splits(self.form, iri), _MOST_SPLITS)
        return [tuple(map(unquote, split)) for split in splits]


def _splits(form: Sequence[str | None], iri: str) -> Iterator[tuple[str, ...]]:
    """All values that make this IRI in the places of None."""
    if not form:
        if not iri:
            yield ()
    elif form[0] is not None:
        if iri.startswith(form[0]):
            yield from _splits(form[1:], iri[len(form[0]) :])
    else:
        found = _VALUE.match(iri)
        longest = len(iri) if found is None else found.end()
        following = (form[1] or "") if len(form) > 1 else None
        for end in range(longest, -1, -1) if following is not None else (longest,):
            if following is None or iri.startswith(following, end):
                yield from ((iri[:end], *rest) for rest in _splits(form[1:], iri[end:]))


class MadeThings:
    """The makers of a mapping's IRIs, and what they make."""

    def __init__(self, mapping: R2RMLMapping, database: Database, structure: Structure | None) -> None:
        self._mapping, self._structure = mapping, structure
        self._declared = structure or Structure(database.schema, Profile({}))
        self._origins = TermOrigins(database)
        self._subjects: dict[str, IriMaker | None] = {}
        self._objects: dict[tuple[str, str], tuple[IriMaker, ...]] = {}
        self._keys: dict[tuple[str | None, ...], set[tuple[Place, ...]]] = {}  # by form: the keys that are known
        for triples_map in mapping.maps:
            self._read(triples_map)

    def subject(self, triples_map: TriplesMap) -> IriMaker | None:
        """What makes a map's subjects; None if these are no IRIs of columns."""
        return self._subjects[triples_map.name]

    def objects(self, triples_map: TriplesMap, predicate: str, iri: str) -> list[IriMaker]:
        """What may have made an object of this property, if the map tells."""
        made = (*self._objects.get((triples_map.name, predicate), ()), *self._objects.get((triples_map.name, ""), ()))
        return [maker for maker in made if maker.values(iri)]

    def things(self, maker: IriMaker, iri: str) -> Iterator[Thing]:
        """The entities that an IRI may stand for; nothing if no map tells which columns its keys come from."""
        if self._structure is None:
            return
        known = () if self._is_known(maker) else self._keys.get(maker.form, ())
        for values in maker.values(iri):
            for places in (*product(*maker.origins), *known):
                yield thing_of(places, values, self._structure)

    def texts(self, maker: IriMaker, iri: str) -> Iterator[str]:
        """How a key in an IRI may be written: its values in the order of the IRI, or of the table's own key."""
        for values in maker.values(iri):
            yield "/".join(map(key_text, values))
            if len(values) > 1 and self._structure is not None:
                for places in product(*maker.origins):
                    order = {name: place for place, name in enumerate(_own_order(places, self._structure))}
                    if set(order) == {place.column for place in places}:
                        ranked = sorted(zip(places, values, strict=True), key=lambda pair: order[pair[0].column])
                        yield "/".join(key_text(value) for _, value in ranked)

    def clashes(self) -> list[str]:
        """Things with several IRIs, and IRIs that name things of several kinds, in a line each.

        A column that nothing is known to lead from may hold keys of anything.
        """
        objects = (maker for some in self._objects.values() for maker in some)
        forms: dict[str, dict[str, None]] = {}
        for maker in (*filter(None, self._subjects.values()), *objects):
            form = "".join("{}" if part is None else part for part in maker.form)
            for places in product(*maker.origins) if form else ():
                if len(places) == 1 and self._declared.space(places[0]) is None:
                    continue
                kind = ", ".join(sorted(".".join(place) for place in _roots(places, self._declared)))
                forms.setdefault(kind, {})[form] = None
        return list(clashes(forms))

    def is_unknown(self, maker: IriMaker) -> bool:
        """Whether nothing tells which kind of thing is made."""
        return not all(maker.origins) and not self._keys.get(maker.form)

    def _is_known(self, maker: IriMaker) -> bool:
        structure = self._structure
        if structure is None or not all(maker.origins):
            return False
        return len(maker.origins) > 1 or any(structure.space(place) is not None for place in maker.origins[0])

    def _read(self, triples_map: TriplesMap) -> None:
        self._subjects[triples_map.name] = self._maker(triples_map.table, triples_map.subject)
        for pair in triples_map.predicate_objects:
            made: list[IriMaker] = []
            for each in pair.objects:
                if isinstance(each, RefObject):
                    parent = self._mapping.parent(each.parent)
                    maker = self._maker(parent.table if each.joins else triples_map.table, parent.subject)
                else:
                    maker = self._maker(triples_map.table, each)
                made += [] if maker is None else [maker]
            for predicate in pair.predicates:
                place = triples_map.name, predicate.constant or ""
                self._objects[place] = (*self._objects.get(place, ()), *made)

    def _maker(self, table: LogicalTable, term: TermMap) -> IriMaker | None:
        if term.term_type is not TermType.IRI or not term.columns:
            return None
        origins = self._origins.of(table, term)
        parts = list(term.template or ())
        if term.column is not None:  # whole IRIs, which end in a key like all others
            maker = IriMaker((), re.compile(r".*?([^/#=:]*)", re.DOTALL), origins)
        else:
            start = parts[0] if parts and isinstance(parts[0], str) else ""
            if not is_absolute(start):
                parts = [self._mapping.base + start, *(parts[1:] if start else parts)]
            pattern = "".join(re.escape(part) if isinstance(part, str) else _HOLE for part in parts)
            form = tuple(part if isinstance(part, str) else None for part in parts)
            maker = IriMaker(form, re.compile(pattern), origins)
        if term.column is None and self._is_known(maker) and self._structure is not None:
            keys = (_roots(places, self._structure) for places in product(*origins))
            self._keys.setdefault(maker.form, set()).update(keys)
        return maker


def _own_order(places: Sequence[Place], structure: Structure) -> tuple[str, ...]:
    table = places[0].table
    return structure.schema.table(table).primary_key if all(place.table == table for place in places) else ()
