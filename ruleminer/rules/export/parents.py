"""Links as R2RML has them: an object that is the subject of another triples map, found by equal columns.

A rule is a plain link where its object's key is a column of its rows, and some triples map makes the very same IRIs of
a whole table by the column that this one leads to. Either the rule joins that table itself, or the database keeps the
link (a foreign key, enforced); elsewhere a join could lose triples, and the IRI is made of the rule's own column.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.triple_sql import TripleSql
from ruleminer.rules.export.triples import IriMap, Ref, TriplesMap, ValueMap
from ruleminer.rules.mapping import Iri, Literal, Mapping, TripleRule
from ruleminer.rules.values import Place, Rule, Transformed, Variable

Shape = tuple[str | Place | Transformed, ...]
"""An IRI of text and columns, taken as they stand or changed."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The triples map whose subject the object is, and the columns that are equal: the child's, the parent's."""

    name: str
    child: Ref
    parent: Ref


@dataclass(frozen=True)
class PlainLinks:
    """A mapping whose plain links join no table themselves, and what those were that did."""

    mapping: Mapping
    originals: dict[Rule, Rule] = field(default_factory=dict)
    joined: dict[Hashable, Place] = field(default_factory=dict)
    """For a property and an IRI of text and the child's column: the parent's column."""


def without_parents(mapping: Mapping, dialect: Dialect, types: TypeOf) -> PlainLinks:
    """The mapping with the parents' tables taken out of its plain links; a triples map's join puts them back."""
    bodies = [TripleSql(rule, dialect, types) for rule in mapping.rules]
    parents = {(body.whole_table, _subject_shape(body)) for body in bodies if body.whole_table}
    reduced = [_reduced(body, parents) for body in bodies]
    said: dict[Hashable, set[Place | None]] = {}  # one column must not be joined for one rule and not for another
    for body, shorter in zip(bodies, reduced, strict=True):
        if (key := _key(body)) is not None:
            said.setdefault(key, set()).add(shorter[1] if shorter else None)
    result = PlainLinks(mapping)
    rules: list[TripleRule] = []
    for body, shorter in zip(bodies, reduced, strict=True):
        if shorter is None or len(said[_key(body)]) > 1:
            rules.append(body.rule)
            continue
        rule, end = shorter
        result.originals[rule.rule] = body.rule.rule
        result.joined[_key(TripleSql(rule, dialect, types))] = end
        rules.append(rule)
    return replace(result, mapping=replace(mapping, rules=tuple(rules)))


def parents_of(maps: Iterable[TriplesMap], plain: PlainLinks, types: TypeOf) -> dict[tuple[str, str, IriMap], Parent]:
    """The parent of each plain link, by triples map, property and the IRI that it would be made of otherwise."""
    known = tuple(maps)
    whole = {(one.table, one.subject): one for one in known if one.table is not None}
    found: dict[tuple[str, str, IriMap], Parent] = {}
    joined: set[Hashable] = set()
    for triples_map in known:
        for term, target in triples_map.links:
            place = _place(triples_map, target)
            if isinstance(target, ValueMap) or place is None:
                continue
            key = (term, tuple(part if isinstance(part, str) else place for part in target.parts))
            asked = plain.joined.get(key)
            ends = [asked] if asked else [end for start, end in sorted(plain.mapping.kept_links) if start == place]
            for end in ends:
                parent = whole.get((end.table, _with_column(target, end.column)))
                if parent is not None and types(*place).kind is types(*end).kind:
                    (child,) = (part for part in target.parts if isinstance(part, Ref))
                    found[triples_map.name, term, target] = Parent(parent.name, child, Ref(end.column))
                    joined.add(key)
                    break
    assert joined >= plain.joined.keys(), "a table that was taken out of a rule is joined again"
    return found


def _reduced(body: TripleSql, parents: set[tuple[str, Shape]]) -> tuple[TripleRule, Place] | None:
    """A rule without the table that its object comes from, and the column that joins it; None if it joins none so."""
    rule, target = body.rule.rule, body.rule.object
    key = _one_key(target)
    if key is None or not isinstance(target, Iri) or target.spelled or rule.definitions:
        return None
    positions = body.rows.positions[key]
    if len(positions) != 2 or not all(map(body.is_text_already, positions)):
        return None
    start, end = positions
    if rule.body[end.atom - 1].columns != ((end.column, key),):
        start, end = end, start
    shape = tuple(part if isinstance(part, str) else end.place for part in target.parts)
    if rule.body[end.atom - 1].columns != ((end.column, key),) or start.atom == end.atom:
        return None
    if (end.table, shape) not in parents or body.type_of(start).kind is not body.type_of(end).kind:
        return None
    rest = tuple(atom for number, atom in enumerate(rule.body, start=1) if number != end.atom)
    return replace(body.rule, rule=replace(rule, body=rest)), end.place


def _one_key(target: Iri | Literal | None) -> Variable | None:
    """The variable of an IRI that is text and one variable."""
    keys = [part for part in target.parts if isinstance(part, Variable)] if isinstance(target, Iri) else []
    return keys[0] if len(keys) == 1 and isinstance(target, Iri) and len(target.parts) > 1 else None


def _key(body: TripleSql) -> Hashable:
    """What a triples map can tell of a link: its property, and its object's text and column."""
    variable, target = _one_key(body.rule.object), body.rule.object
    if variable is None or target is None:
        return None
    return body.rule.term, tuple(part if isinstance(part, str) else body.first(variable).place for part in target.parts)


def _subject_shape(body: TripleSql) -> Shape:
    subject = body.rule.subject
    return tuple(body.first(part).place if isinstance(part, Variable) else part for part in subject.parts)


def _with_column(iri: IriMap, column: str) -> IriMap:
    return IriMap(tuple(part if isinstance(part, str) else Ref(column) for part in iri.parts))


def _place(triples_map: TriplesMap, target: IriMap | ValueMap) -> Place | None:
    """The one column of the database that an IRI is made of, if there is one and it is taken as it stands."""
    refs = [part for part in target.parts if isinstance(part, Ref)] if isinstance(target, IriMap) else []
    if len(refs) != 1 or not isinstance(target, IriMap) or len(target.parts) < 2:
        return None
    if triples_map.table is not None:
        return Place(triples_map.table, refs[0].name)
    tables = {f"t{number}": atom.table for number, atom in enumerate(triples_map.rules[0].body, start=1)}
    for selected in triples_map.query.selects:
        column = selected.unalias()
        if selected.alias == refs[0].name and isinstance(column, exp.Column):
            return Place(tables[column.table], column.name)
    return None
