"""A mapping as triples maps: logical tables and the terms made of their rows, for R2RML, OBDA and YARRRML alike.

Rules with the same subject and the same rows share one triples map. Columns of a query have plain lower-case names
and hold the text that the triple is to have, so that no engine's own ideas of case, NULL or number formats matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.rules.export.body import Body, Place, variables_of
from ruleminer.rules.mapping import Iri, Literal, Mapping
from ruleminer.rules.sql import TypeOf, identifier
from ruleminer.rules.values import Rule, Variable

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of a logical table."""

    name: str


@dataclass(frozen=True, slots=True)
class IriMap:
    """An IRI of text and columns; a column alone holds whole IRIs."""

    parts: tuple[str | Ref, ...]


@dataclass(frozen=True, slots=True)
class ValueMap:
    """A literal whose text a column holds."""

    column: Ref
    datatype: str | None


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """The triples of one logical table with one subject: a whole table, if `table` names it, or a query."""

    name: str
    rules: tuple[Rule, ...]
    table: str | None
    query: exp.Select
    subject: IriMap
    classes: tuple[str, ...]
    links: tuple[tuple[str, IriMap | ValueMap], ...]


def triples_maps(mapping: Mapping, dialect: str, types: TypeOf, tables: bool = True) -> tuple[TriplesMap, ...]:
    """The triples maps of a mapping, in the order of its rules. Without `tables`, each has a query."""
    groups: dict[object, list[Body]] = {}
    for rule in mapping.rules:
        body = Body(rule, dialect, types)
        groups.setdefault(body.signature, []).append(body)
    taken: set[str] = set()
    return tuple(_triples_map(bodies, dialect, tables, taken) for bodies in groups.values())


def mapped_terms(maps: Iterable[TriplesMap]) -> Iterator[str]:
    """The IRIs of all classes, properties and datatypes that some triples maps name."""
    for triples_map in maps:
        yield from triples_map.classes
        for term, target in triples_map.links:
            yield term
            if isinstance(target, ValueMap) and target.datatype:
                yield target.datatype


def unique_name(wanted: str, taken: set[str]) -> str:
    """The name, numbered if another has it; names that differ only in case are taken for the same."""
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name.lower())
    return name


def plain_words(text: str, default: str) -> str:
    """A name of lower-case letters, digits and `_` that recalls the text."""
    words = "_".join(_WORD.findall(_HUMP.sub(r"\1_\2", text).lower()))
    return words if words and not words[0].isdigit() else f"{default}{'_' if words else ''}{words}"


def _triples_map(bodies: list[Body], dialect: str, tables: bool, taken: set[str]) -> TriplesMap:
    first = bodies[0]
    classes = [body.rule.term for body in bodies if body.rule.object is None]
    name = unique_name(_map_name(classes[0] if classes else first.rule.term), taken)
    table = _whole_table(bodies) if tables else None
    columns = _Columns(dialect, _required(bodies), by_name=table is not None)
    subject = columns.iri(first, first.rule.subject)
    links: list[tuple[str, IriMap | ValueMap]] = []
    for body in bodies:
        if isinstance(body.rule.object, Iri):
            links.append((body.rule.term, columns.iri(body, body.rule.object)))
        elif body.rule.object is not None:
            links.append((body.rule.term, columns.value(body, body.rule.object)))
    selected = [exp.alias_(value, identifier(alias)) for alias, value in columns.selected.values()]
    query = first.from_tables().select(*selected).where(*first.conditions(_required(bodies)))
    return TriplesMap(
        name,
        tuple(dict.fromkeys(body.rule.rule for body in bodies)),
        table,
        query,
        subject,
        tuple(dict.fromkeys(classes)),
        tuple(dict.fromkeys(links)),
    )


def _required(bodies: list[Body]) -> frozenset[Place]:
    """The optional columns that every rule of the map needs: a row without them gives no triple."""
    needs = [{body.places[variable][0] for variable in body.optional} for body in bodies]
    return frozenset(set.intersection(*needs))


def _whole_table(bodies: list[Body]) -> str | None:
    """The table, if its rows and columns can be taken just as they are."""
    first = bodies[0]
    used = [
        body.places[v][0] for body in bodies for v in variables_of(body.rule.subject) | variables_of(body.rule.object)
    ]
    names = [first.atoms[0].table, *(column for _, column in used)]
    simple = (
        len(first.atoms) == 1
        and not first.constants
        and all(len(places) == 1 for places in first.places.values())
        and set(first.places) <= variables_of(first.rule.subject) | first.optional
        and all(_PLAIN_NAME.fullmatch(name) for name in names)
        and all(first.is_text_already(place, not_null=False) for place in used)
        and not any(isinstance(b.rule.object, Literal) and len(b.rule.object.parts) != 1 for b in bodies)
    )
    return first.atoms[0].table if simple else None


class _Columns:
    """The columns a triples map needs, each under one name."""

    def __init__(self, dialect: str, required: frozenset[Place], by_name: bool) -> None:
        self.dialect, self.required, self.by_name = dialect, required, by_name
        self.selected: dict[str, tuple[str, exp.Expression]] = {}
        self.taken: set[str] = set()

    def iri(self, body: Body, iri: Iri) -> IriMap:
        return IriMap(
            tuple(
                part if isinstance(part, str) else self.add(body, part, body.text_of(part, None, iri.spelled))
                for part in iri.parts
            )
        )

    def value(self, body: Body, literal: Literal) -> ValueMap:
        variables = [part for part in literal.parts if isinstance(part, Variable)]
        whole = variables[0] if len(literal.parts) == 1 and variables else None
        return ValueMap(self.add(body, whole, body.literal_text(literal)), body.datatype_of(literal))

    def add(self, body: Body, variable: Variable | None, text: exp.Expression) -> Ref:
        """The column for a text; the bare column where that is as good."""
        wanted = "value"
        if variable is not None:
            place = body.places[variable][0]
            if self.by_name:
                return self._named(place[1], body.column(place))
            wanted = plain_words(place[1], "value")
            if body.is_text_already(place, not_null=variable not in body.optional or place in self.required):
                text = body.column(place)
        return self._named(wanted, text)

    def _named(self, wanted: str, value: exp.Expression) -> Ref:
        key = value.sql(self.dialect)
        if key not in self.selected:
            self.selected[key] = (wanted if self.by_name else unique_name(wanted, self.taken), value)
        return Ref(self.selected[key][0])


def _map_name(term: str) -> str:
    words = "_".join(re.findall(r"[A-Za-z0-9]+", re.split(r"[#/:]", term)[-1]))
    return words if words[:1].isalpha() else f"map_{words}".rstrip("_")
