"""A mapping as triples maps: logical tables and the terms made of their rows, for R2RML, OBDA and YARRRML alike.

Rules with the same subject and the same rows share one triples map. A query returns no NULL, its columns have plain
lower-case names and hold the text that the triple is to have: no engine's own idea of case, NULL or numbers matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.rules.export.body import Body
from ruleminer.rules.mapping import Iri, Literal, Mapping
from ruleminer.rules.sql import TypeOf, identifier
from ruleminer.rules.values import Rule, Variable

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
        table = body.whole_table if tables else None
        groups.setdefault((table, body.subject) if table else body.signature, []).append(body)
    taken: set[str] = set()
    return tuple(
        _triples_map(bodies, dialect, bodies[0].whole_table if tables else None, taken) for bodies in groups.values()
    )


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


def _triples_map(bodies: list[Body], dialect: str, table: str | None, taken: set[str]) -> TriplesMap:
    first = bodies[0]
    classes = [body.rule.term for body in bodies if body.rule.object is None]
    name = unique_name(_map_name(classes[0] if classes else first.rule.term), taken)
    columns = _Columns(dialect, by_name=table is not None)
    subject = columns.iri(first, first.rule.subject)
    links: list[tuple[str, IriMap | ValueMap]] = []
    for body in bodies:
        if isinstance(body.rule.object, Iri):
            links.append((body.rule.term, columns.iri(body, body.rule.object)))
        elif body.rule.object is not None:
            links.append((body.rule.term, columns.value(body, body.rule.object)))
    selected = [exp.alias_(value, identifier(alias)) for alias, value in columns.selected.values()]
    selected = selected or [exp.alias_(exp.Literal.number(1), identifier("value"))]  # all terms are constant
    return TriplesMap(
        name,
        tuple(dict.fromkeys(body.rule.rule for body in bodies)),
        table,
        first.from_tables().select(*selected).where(*first.conditions()),
        subject,
        tuple(dict.fromkeys(classes)),
        tuple(dict.fromkeys(links)),
    )


class _Columns:
    """The columns a triples map needs, each under one name."""

    def __init__(self, dialect: str, by_name: bool) -> None:
        self.dialect, self.by_name = dialect, by_name
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
            if body.is_text_already(place):
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
