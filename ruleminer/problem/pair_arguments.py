"""Which columns of a pair's SQL are the arguments of its facts.

Pairs come in two manners. NPD's select the arguments themselves, named like the SPARQL's variables. The conference
pairs count rows or return one attribute: there the entity of a table is its key, columns that a join makes equal
are one entity, and a link is a pair of entities. Which entity is the subject and which the object is told by

1. the pairs for classes: if the one for `PaperFullVersion` counts rows of `Paper`, the key of `Paper` is a paper,
   and so is a column that refers to it;
2. names: a table or a column that is called like the class, or one of its superclasses or subclasses;
3. a column that is called like the property, or like its inverse: its row is at the other end;
4. what is left when one end is known and there are two entities.

Where these do not decide, there are no facts, and the reason says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.problem.ontology import Ontology, Property, local_name
from ruleminer.problem.pair_sql import AliasedColumn, Branch, Entity, Sources
from ruleminer.problem.pair_target import NoFacts, PairTarget
from ruleminer.rules.values import Place

ClassColumns = Mapping[str, frozenset[Place]]
"""For classes, by IRI, the columns that their own pairs say hold their members."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The expressions for a fact's arguments, and what a reader of the report should know about the choice."""

    expressions: tuple[exp.Expr, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Hint:
    """An entity that a class points to; the smaller the distance, the surer."""

    entity: Entity
    distance: int
    why: str


def choose_arguments(
    target: PairTarget, branch: Branch, sources: Sources, known: ClassColumns, ontology: Ontology
) -> Arguments | NoFacts:
    """The arguments of the facts that one SELECT of a pair gives."""
    if len(branch.selected) == target.arity:
        return _named_arguments(target, branch)
    if len(branch.selected) > target.arity:
        return NoFacts(f"its SQL returns {len(branch.selected)} columns where a fact has {target.arity}")
    guide = _Guide(sources, known, ontology)
    if target.arity == 1:
        return guide.class_argument(target)
    return guide.attribute(target, branch.selected[0]) if branch.selected else guide.link(target)


def class_columns(sources: Sources, chosen: Arguments) -> frozenset[Place]:
    """The columns that hold the members of a class, according to its own pair."""
    place = sources.place(chosen.expressions[0])
    return frozenset(Place(sources.tables[at.alias].name, at.column) for at in (sources.entity(place) if place else ()))


def _named_arguments(target: PairTarget, branch: Branch) -> Arguments | NoFacts:
    if target.arity == 1:
        return Arguments(branch.selected)
    for order in (tuple(name.lower() for name in branch.names), tuple(name.lower() for name in target.selected)):
        wanted = [variable.lower() for variable in target.variables]
        if sorted(order) == sorted(wanted):
            return Arguments(tuple(branch.selected[order.index(variable)] for variable in wanted))
    return NoFacts("its SQL returns two columns, but neither their names nor the SPARQL say which is the subject")


class _Guide:
    """Reads one FROM clause with what classes and names tell about it."""

    def __init__(self, sources: Sources, known: ClassColumns, ontology: Ontology) -> None:
        self.sources, self.known, self.ontology = sources, known, ontology
        self.keys: dict[Entity, None] = dict.fromkeys(sources.entity(key) for key in sources.single_keys())
        joined = dict.fromkeys(entity for entity in sources.equal.values())
        self.candidates: dict[Entity, None] = self.keys | joined

    def class_argument(self, target: PairTarget) -> Arguments | NoFacts:
        """COUNT(*) for a class: the key of the only entity, or of the one that is called like the class."""
        if len(self.keys) == 1:
            return Arguments((self.column(next(iter(self.keys))),))
        if not self.keys:
            return NoFacts(f"{self.tables()} has no key of one column, so nothing names its entities")
        called = self.called(target.term.iri)
        if len(called) == 1:
            return Arguments((self.column(called[0]),), f"of {len(self.keys)} entities, the one called like the class")
        return NoFacts(f"its SQL joins {len(self.keys)} entities; which one is counted is not told")

    def attribute(self, target: PairTarget, value: exp.Expr) -> Arguments | NoFacts:
        """One column returned for a property: the value, and the key of whom it belongs to."""
        place = self.sources.place(value)
        own = self.sources.entity(place) if place else frozenset()
        note = ""
        if target.selected[:1] == target.variables[:1]:
            if own in self.candidates:
                return NoFacts("its SPARQL and SQL return the subject only; nothing tells the object")
            note = f"the SPARQL returns the subject, but {value.sql()} is no key: taken as the object"
        hint = self.hint(target.ends()[0], by_names=False, without=own)
        subject = hint.entity if hint else self.owner(place, own)
        if subject is None and (hint := self.hint(target.ends()[0], by_names=True, without=own)):
            subject = hint.entity
        if subject is None:
            return NoFacts(f"{self.tables()} does not tell whose {value.sql()} it is")
        return Arguments((self.column(subject), value.copy()), note or (hint.why if hint else ""))

    def owner(self, value: AliasedColumn | None, own: Entity) -> Entity | None:
        """The one other entity; in a table without key of its own, the rest of its key or its only reference."""
        others = [entity for entity in self.keys if entity != own]
        if others or value is None:
            return others[0] if len(others) == 1 else None
        table = self.sources.tables[value.alias]
        rest = [column for column in table.primary_key if column != value.column]
        for columns in (rest, sorted(table.link_ends.keys() - {value.column})):
            if len(columns) == 1:
                return self.sources.entity(AliasedColumn(value.alias, columns[0]))
        return None

    def link(self, target: PairTarget) -> Arguments | NoFacts:
        """COUNT(*) for a property: the two entities that the joins connect."""
        subject, value = (self.hint(classes, by_names=True) for classes in target.ends())
        if subject and value and subject.entity == value.entity:
            if subject.distance == value.distance:
                return NoFacts("both ends of the property point to the same column; which is which is not told")
            subject, value = (subject, None) if subject.distance < value.distance else (None, value)
        if subject is None and value is None:
            return self.link_by_column(target)
        if subject and value:
            return self.ends(subject.entity, value.entity, f"subject: {subject.why}; object: {value.why}")
        given = subject or value
        assert given is not None
        others = [entity for entity in self.candidates if entity != given.entity]
        if len(others) != 1:
            return NoFacts(f"one end is {self.show(given.entity)}, but {len(others)} columns could be the other")
        if subject:
            return self.ends(subject.entity, others[0], f"subject: {subject.why}; object: the entity left over")
        return self.ends(others[0], given.entity, f"subject: the entity left over; object: {given.why}")

    def link_by_column(self, target: PairTarget) -> Arguments | NoFacts:
        """The row with a column called like the property is the subject; called like its inverse, the object."""
        assert isinstance(target.term, Property)
        found: dict[tuple[Entity, Entity], str] = {}
        for entity in self.candidates:
            for place in entity:
                key = self.sources.tables[place.alias].own_key
                if key is None or key == place.column:
                    continue
                holder = self.sources.entity(AliasedColumn(place.alias, key))
                why = f"{place.column} is called like the property"
                if _alike(place.column, local_name(target.term.iri)):
                    found[holder, entity] = why
                elif any(_alike(place.column, local_name(inverse)) for inverse in target.term.inverses):
                    found[entity, holder] = f"{why}'s inverse"
        if len(found) != 1:
            return NoFacts("neither classes nor names tell which end of the property is which")
        ((subject, value), why) = next(iter(found.items()))
        return self.ends(subject, value, why)

    def ends(self, subject: Entity, value: Entity, why: str) -> Arguments:
        return Arguments((self.column(subject), self.column(value)), why)

    def hint(self, classes: Iterable[str], *, by_names: bool, without: Entity = frozenset()) -> _Hint | None:
        """The entity that the nearest class with any evidence points to, if it points to one only."""
        for distance, iri in enumerate(self.related(tuple(classes))):
            for why, found in self.evidence(iri, by_names):
                entities = {entity for entity in found if entity != without}
                if len(entities) == 1:
                    return _Hint(entities.pop(), distance, f"{why} {local_name(iri)}")
                if entities:
                    return None
        return None

    def evidence(self, iri: str, by_names: bool) -> Iterator[tuple[str, Iterable[Entity]]]:
        columns = self.known.get(iri, frozenset())
        places = [AliasedColumn(alias, column) for alias, table in self.sources.tables.items()
                  for name, column in columns if table.name == name]  # fmt: skip
        yield "as in the pair for", map(self.sources.entity, places)
        yield "refers to", (entity for entity in self.candidates if self.refers(entity, columns))
        if by_names:
            yield "called like", self.called(iri)

    def refers(self, entity: Entity, columns: frozenset[Place]) -> bool:
        return any(
            link.start.column == place.column and link.end in columns
            for place in entity
            for link in self.sources.tables[place.alias].links
        )

    def called(self, iri: str) -> list[Entity]:
        """The entities whose table, or a column of which, is called like a class; tables go first."""
        name = local_name(iri)
        keyed = {place: self.sources.tables[place.alias].own_key for e in self.candidates for place in e}
        tables = [p for p, key in keyed.items() if p.column == key and _alike(self.sources.tables[p.alias].name, name)]
        columns = [place for place in keyed if _alike(place.column, name)]
        return list(dict.fromkeys(self.sources.entity(place) for place in tables or columns))

    def related(self, classes: tuple[str, ...]) -> Iterable[str]:
        """The classes, then their superclasses, then their subclasses, the nearest first."""
        above = [iri for start in classes for iri in self.ontology.ancestors(start)]
        below = [iri for start in classes for iri in self.ontology.descendants(start)]
        return dict.fromkeys((*classes, *above, *below))

    def column(self, entity: Entity) -> exp.Expr:
        """One of an entity's columns, a key if there is one: to name it any of them does."""
        keys = set(self.sources.single_keys())
        place = min(entity, key=lambda place: (place not in keys, place))
        return exp.column(place.column, table=place.alias, quoted=True)

    def show(self, entity: Entity) -> str:
        return self.column(entity).sql()

    def tables(self) -> str:
        return " and ".join(table.name for table in self.sources.tables.values()) or "its SQL"


def _alike(one: str, other: str) -> bool:
    """Whether two identifiers are the same words, but for case, joints and plural."""
    return _words(one) == _words(other)


def _words(name: str) -> str:
    return "".join(word.lower().rstrip("s") for word in _WORD.findall(name))
