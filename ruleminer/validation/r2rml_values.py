"""R2RML mappings as values: what a document says, construct by construct. A constant is kept as N-Triples text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ruleminer.validation.identifiers import Identifier


class TermType(StrEnum):
    """What a term map makes."""

    IRI = "IRI"
    BLANK = "BlankNode"
    LITERAL = "Literal"


@dataclass(frozen=True, slots=True)
class TermMap:
    """How a term is made of a row: one of constant, column and template is set."""

    term_type: TermType
    constant: str | None = None
    column: Identifier | None = None
    template: tuple[str | Identifier, ...] | None = None
    datatype: str | None = None
    language: str | None = None

    @property
    def columns(self) -> tuple[Identifier, ...]:
        """The columns it reads."""
        if self.column:
            return (self.column,)
        return tuple(part for part in self.template or () if isinstance(part, Identifier))


@dataclass(frozen=True, slots=True)
class Join:
    """`rr:joinCondition`: the child's column equals the parent's."""

    child: Identifier
    parent: Identifier


@dataclass(frozen=True, slots=True)
class RefObject:
    """The subjects of another triples map as objects; `parent` is its name."""

    parent: str
    joins: tuple[Join, ...]


@dataclass(frozen=True, slots=True)
class PredicateObjectMap:
    """Every predicate with every object, in its own graphs and the subject's."""

    predicates: tuple[TermMap, ...]
    objects: tuple[TermMap | RefObject, ...]
    graphs: tuple[TermMap, ...] = ()


@dataclass(frozen=True, slots=True)
class LogicalTable:
    """A table or view by the parts of its name, or a query."""

    path: tuple[Identifier, ...] = ()
    query: str = ""


@dataclass(frozen=True, slots=True)
class TriplesMap:
    """The triples of one logical table; `classes` are IRIs."""

    name: str
    table: LogicalTable
    subject: TermMap
    classes: tuple[str, ...] = ()
    graphs: tuple[TermMap, ...] = ()
    predicate_objects: tuple[PredicateObjectMap, ...] = ()


@dataclass(frozen=True)
class R2RMLMapping:
    """A whole document; `source` is what messages name."""

    source: str
    base: str
    maps: tuple[TriplesMap, ...]

    def parent(self, name: str) -> TriplesMap:
        """The triples map of this name."""
        return next(one for one in self.maps if one.name == name)
