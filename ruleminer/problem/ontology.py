"""Ontologies: the classes and properties a mapping may derive, and the names rules call them by.

A predicate is called by its local name (`Author`, `co-writePaper`) where that is unique in the ontology or belongs to
the namespace of the empty prefix, else by its prefixed name (`npd-v2:name`), else by its IRI. Imports are not followed;
anonymous classes other than unions are left out.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from ruleminer.errors import InputError
from ruleminer.problem.rdf import parse_graph, read_bytes

_BUILT_IN = tuple(str(vocabulary) for vocabulary in (OWL, RDF, RDFS, XSD))
_LOCAL_NAME = re.compile(r"[^#/:]+$")


class PropertyKind(StrEnum):
    """What a property leads to: another entity, or a value."""

    OBJECT = "object"
    DATATYPE = "datatype"


@dataclass(frozen=True, slots=True)
class OntologyClass:
    """A named class; `parents` and `equivalents` are IRIs of named classes."""

    iri: str
    name: str
    labels: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    equivalents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Property:
    """A property; a union of classes as domain or range is listed member by member."""

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


Term = OntologyClass | Property

# RODI's pairs ask for these two, which no ontology declares.
_ANNOTATIONS = tuple(
    Property(str(iri), iri.fragment, PropertyKind.DATATYPE, ranges=(str(XSD.string),))
    for iri in (RDFS.label, RDFS.comment)
)


@dataclass(frozen=True)
class Ontology:
    """The vocabulary of a mapping, in the order of the terms' names."""

    classes: tuple[OntologyClass, ...]
    properties: tuple[Property, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""

    @property
    def terms(self) -> tuple[Term, ...]:
        """All declared classes and properties."""
        return (*self.classes, *self.properties)

    @cached_property
    def _by_iri(self) -> dict[str, Term]:
        taken = {term.name for term in self.terms}
        built_in = [replace(t, name=f"rdfs:{t.name}") if t.name in taken else t for t in _ANNOTATIONS]
        return {term.iri: term for term in (*built_in, *self.terms)}

    @cached_property
    def _by_name(self) -> dict[str, Term]:
        return {term.name: term for term in self._by_iri.values()}

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, for a run's files."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ontology:
        """The ontology that `to_json` wrote."""

        def tuples(term: Mapping[str, Any]) -> dict[str, Any]:
            return {key: tuple(value) if isinstance(value, list) else value for key, value in term.items()}

        properties = ({**tuples(term), "kind": PropertyKind(term["kind"])} for term in data["properties"])
        return cls(
            tuple(OntologyClass(**tuples(term)) for term in data["classes"]),
            tuple(Property(**term) for term in properties),
            data["prefixes"],
            data["sha256"],
        )

    def get(self, iri: str) -> Term | None:
        """The term with this IRI, rdfs:label and rdfs:comment included."""
        return self._by_iri.get(iri)

    def find(self, name: str) -> Term:
        """The term with this name, prefixed name, local name or IRI; one that fits none or several is an error."""
        prefix, _, rest = name.partition(":")
        namespace = self.prefixes.get(prefix, _STANDARD_PREFIXES.get(prefix, ""))
        term = self._by_name.get(name) or self._by_iri.get(name) or self._by_iri.get(namespace + rest)
        if term:
            return term
        sharing = sorted(term.name for term in self._by_iri.values() if local_name(term.iri) == name)
        if sharing:  # a name that one term alone has is that term's name
            raise InputError(f"{name} is ambiguous in the ontology: use {' or '.join(sharing)}")
        near = difflib.get_close_matches(name, self._by_name, n=3, cutoff=0.6)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise InputError(f"the ontology has no class or property {name}{hint}")

    def ancestors(self, iri: str) -> tuple[str, ...]:
        """The superclasses (or superproperties) of a term and its equivalents, nearest first."""
        return _reach(iri, lambda at: (*self._equivalents(at), *self._parents(at)))

    def descendants(self, iri: str) -> tuple[str, ...]:
        """The subclasses (or subproperties) of a term, nearest first."""
        children: dict[str, list[str]] = defaultdict(list)
        for term in self._by_iri.values():
            for parent in term.parents:
                children[parent].append(term.iri)
        return _reach(iri, lambda at: (*self._equivalents(at), *children[at]))

    def _equivalents(self, iri: str) -> tuple[str, ...]:
        term = self._by_iri.get(iri)
        return term.equivalents if term else ()

    def _parents(self, iri: str) -> tuple[str, ...]:
        term = self._by_iri.get(iri)
        return term.parents if term else ()


_STANDARD_PREFIXES = {"owl": str(OWL), "rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD)}


def arity(term: Term) -> int:
    """How many arguments a fact of this predicate has."""
    return 1 if isinstance(term, OntologyClass) else 2


def local_name(iri: str) -> str:
    """The last part of an IRI, behind `#`, `/` or `:`."""
    found = _LOCAL_NAME.search(iri)
    return found.group() if found else iri


def read_ontology(path: Path | str) -> Ontology:
    """The ontology in a Turtle, RDF/XML or N-Triples file."""
    path = Path(path)
    content = read_bytes(path)
    ontology = ontology_of(parse_graph(content, path), hashlib.sha256(content).hexdigest())
    if not ontology.classes and not ontology.properties:
        raise InputError(f"{path}: declares no class and no property; is it an ontology?")
    return ontology


def ontology_of(graph: Graph, sha256: str = "") -> Ontology:
    """The ontology that a graph declares."""
    prefixes = {prefix: str(namespace) for prefix, namespace in graph.namespaces()}
    classes = _class_iris(graph)
    kinds = _property_kinds(graph, classes)
    names = _predicate_names({*classes, *kinds}, prefixes)
    return Ontology(
        tuple(
            OntologyClass(
                iri=str(iri),
                name=names[iri],
                labels=_texts(graph, iri, RDFS.label),
                comments=_texts(graph, iri, RDFS.comment),
                parents=_iris(graph.objects(iri, RDFS.subClassOf)),
                equivalents=_both_ways(graph, iri, OWL.equivalentClass),
            )
            for iri in sorted(classes, key=names.__getitem__)
        ),
        tuple(
            Property(
                iri=str(iri),
                name=names[iri],
                kind=kinds[iri],
                labels=_texts(graph, iri, RDFS.label),
                comments=_texts(graph, iri, RDFS.comment),
                domains=_members(graph, graph.objects(iri, RDFS.domain)),
                ranges=_members(graph, graph.objects(iri, RDFS.range)),
                parents=_iris(graph.objects(iri, RDFS.subPropertyOf)),
                inverses=_both_ways(graph, iri, OWL.inverseOf),
                equivalents=_both_ways(graph, iri, OWL.equivalentProperty),
            )
            for iri in sorted(kinds, key=names.__getitem__)
        ),
        prefixes,
        sha256,
    )


def _class_iris(graph: Graph) -> set[URIRef]:
    declared = {*graph.subjects(RDF.type, OWL.Class), *graph.subjects(RDF.type, RDFS.Class)}
    mentioned = {*graph.subjects(RDFS.subClassOf), *graph.objects(None, RDFS.subClassOf)}
    return {iri for iri in declared | mentioned if _is_own(iri)}


def _property_kinds(graph: Graph, classes: set[URIRef]) -> dict[URIRef, PropertyKind]:
    kinds: dict[URIRef, PropertyKind] = {}
    for iri in graph.subjects(RDF.type, RDF.Property):  # plain RDFS says no more than the range tells
        if _is_own(iri):
            leads_to_class = any(target in classes for target in graph.objects(iri, RDFS.range))
            kinds[iri] = PropertyKind.OBJECT if leads_to_class else PropertyKind.DATATYPE
    for owl_type, kind in (
        (OWL.DatatypeProperty, PropertyKind.DATATYPE),
        (OWL.ObjectProperty, PropertyKind.OBJECT),
    ):
        kinds.update((iri, kind) for iri in graph.subjects(RDF.type, owl_type) if _is_own(iri))
    return kinds


def _predicate_names(iris: set[URIRef], prefixes: Mapping[str, str]) -> dict[URIRef, str]:
    shared = Counter(map(local_name, iris))
    names: dict[URIRef, str] = {}
    for iri in iris:
        local = local_name(iri)
        namespace = iri.removesuffix(local)
        fitting = sorted(prefix for prefix, known in prefixes.items() if known == namespace)
        if shared[local] == 1 or "" in fitting:
            names[iri] = local
        else:
            names[iri] = f"{fitting[0]}:{local}" if fitting else str(iri)
    return names


def _is_own(node: Node) -> TypeGuard[URIRef]:
    return isinstance(node, URIRef) and not str(node).startswith(_BUILT_IN)


def _texts(graph: Graph, iri: URIRef, predicate: URIRef) -> tuple[str, ...]:
    return tuple(sorted(str(text) for text in graph.objects(iri, predicate)))


def _iris(nodes: Iterable[Node]) -> tuple[str, ...]:
    return tuple(sorted({str(node) for node in nodes if _is_own(node)}))


def _both_ways(graph: Graph, iri: URIRef, predicate: URIRef) -> tuple[str, ...]:
    others = _iris([*graph.objects(iri, predicate), *graph.subjects(predicate, iri)])
    return tuple(other for other in others if other != str(iri))


def _members(graph: Graph, nodes: Iterable[Node]) -> tuple[str, ...]:
    """Named classes and datatypes, those of unions included."""
    named: set[str] = set()
    for node in nodes:
        if isinstance(node, BNode):
            for union in graph.objects(node, OWL.unionOf):
                named.update(_members(graph, Collection(graph, union)))
        elif isinstance(node, URIRef) and node != OWL.Thing:
            named.add(str(node))
    return tuple(sorted(named))


def _reach(start: str, neighbours: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """Everything reachable, breadth first, without the start."""
    found: dict[str, None] = {start: None}
    frontier = [start]
    while frontier:
        reached = [other for at in frontier for other in neighbours(at)]
        frontier = [other for other in dict.fromkeys(reached) if other not in found]
        found.update(dict.fromkeys(frontier))
    return tuple(found)[1:]
