"""The terms of an ontology as values: classes, properties, and what their axioms say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_LOCAL_NAME = re.compile(r"[^#/:]+$")


class PropertyKind(StrEnum):
    """What a property leads to: another entity, or a value."""

    OBJECT = "object"
    DATATYPE = "datatype"
    EITHER = "either"  # the ontology admits both; the data tell


@dataclass(frozen=True, slots=True)
class Restriction:
    """What the members of one class have of a property: so many values, of these classes or datatypes."""

    property: str
    ranges: tuple[str, ...] = ()
    only: bool = False  # all values are of the ranges, not just some
    at_least: int = 0
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class OntologyClass:
    """A named class; `parents`, `equivalents` and `disjoint` are IRIs of named classes, as declared."""

    iri: str
    name: str
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    equivalents: tuple[str, ...] = ()
    disjoint: tuple[str, ...] = ()
    restrictions: tuple[Restriction, ...] = ()


@dataclass(frozen=True, slots=True)
class Property:
    """A property, as declared; a union of classes as domain or range is listed member by member."""

    iri: str
    name: str
    kind: PropertyKind
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    inverses: tuple[str, ...] = ()
    equivalents: tuple[str, ...] = ()
    disjoint: tuple[str, ...] = ()
    functional: bool = False
    inverse_functional: bool = False
    symmetric: bool = False
    transitive: bool = False


OntologyTerm = OntologyClass | Property


def arity(term: OntologyTerm) -> int:
    """How many arguments a fact of this predicate has."""
    return 1 if isinstance(term, OntologyClass) else 2


def local_name(iri: str) -> str:
    """The last part of an IRI, behind `#`, `/` or `:`."""
    found = _LOCAL_NAME.search(iri)
    return found.group() if found else iri
