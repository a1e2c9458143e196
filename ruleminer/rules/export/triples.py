"""A mapping as triples maps: logical tables and the terms made of their rows, for R2RML, OBDA and YARRRML alike.

Rules with the same subject and the same rows share one triples map. A query returns no NULL, its columns have plain
lower-case names and hold the text that the triple is to have: no engine's own idea of case, NULL or numbers matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.errors import DatabaseError
from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.triple_sql import TripleSql, is_made_whole
from ruleminer.rules.expressions import as_text, identifier, verbatim
from ruleminer.rules.mapping import Iri, Literal, Mapping
from ruleminer.rules.values import Rule, Transformed, Variable

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


def triples_maps(mapping: Mapping, dialect: Dialect, types: TypeOf, tables: bool = True) -> tuple[TriplesMap, ...]:
    """The triples maps of a mapping, in the order of its rules. Without `tables`, each has a query."""
    groups: dict[object, list[TripleSql]] = {}
    for rule in mapping.rules:
        body = TripleSql(rule, dialect, types)
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


def unique_name(wanted: str, taken: set[str], joint: str = "_") -> str:
    """The name, numbered if another has it; names that differ only in case are taken for the same."""
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}{joint}{number}"
    taken.add(name.lower())
    return name


def plain_words(text: str, default: str) -> str:
    """A name of lower-case letters, digits and `_` that recalls the text."""
    words = "_".join(_WORD.findall(_HUMP.sub(r"\1_\2", text).lower()))
    return words if words and not words[0].isdigit() else f"{default}{'_' if words else ''}{words}"


def _triples_map(bodies: list[TripleSql], dialect: Dialect, table: str | None, taken: set[str]) -> TriplesMap:
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
        first.rows.select(*selected),
        subject,
        tuple(dict.fromkeys(classes)),
        tuple(dict.fromkeys(links)),
    )


class _Columns:
    """The columns a triples map needs, each under one name."""

    def __init__(self, dialect: Dialect, by_name: bool) -> None:
        self.dialect, self.by_name = dialect, by_name
        self.selected: dict[str, tuple[str, exp.Expression]] = {}
        self.taken: set[str] = set()

    def iri(self, body: TripleSql, iri: Iri) -> IriMap:
        if is_made_whole(iri):
            return IriMap((self._named("iri", body.iri_text(iri, self._encoded)),))
        return IriMap(
            tuple(
                part if isinstance(part, str) else self.add(body, part, body.text_of(part, None, iri.spelled))
                for part in iri.parts
            )
        )

    def _encoded(self, text: exp.Expression) -> exp.Expression:
        if self.dialect.percent_encoded is None:
            raise DatabaseError(f"{self.dialect.scheme} has no SQL of ours to percent-encode a text")
        return verbatim(self.dialect.percent_encoded(text.sql(self.dialect.name), False))

    def value(self, body: TripleSql, literal: Literal) -> ValueMap:
        whole = literal.parts[0] if len(literal.parts) == 1 and not isinstance(literal.parts[0], str) else None
        return ValueMap(self.add(body, whole, body.literal_text(literal)), body.datatype_of(literal))

    def add(self, body: TripleSql, part: Variable | Transformed | None, text: exp.Expression) -> Ref:
        """The column for a text; the bare column where that is as good."""
        wanted = "value"
        if part is not None:
            variable = part.variable if isinstance(part, Transformed) else part
            position, column = body.first(variable), body.rows.first_column(variable)
            if self.by_name:
                return self._named(position.column, column)
            wanted = plain_words(position.column, "value")
            if body.is_text_already(position) and text == as_text(column):
                text = column
        return self._named(wanted, text)

    def _named(self, wanted: str, value: exp.Expression) -> Ref:
        key = value.sql(self.dialect.name)
        if key not in self.selected:
            self.selected[key] = (wanted if self.by_name else unique_name(wanted, self.taken), value)
        return Ref(self.selected[key][0])


def _map_name(term: str) -> str:
    words = "_".join(re.findall(r"[A-Za-z0-9]+", re.split(r"[#/:]", term)[-1]))
    return words if words[:1].isalpha() else f"map_{words}".rstrip("_")
