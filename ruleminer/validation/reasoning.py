"""What an ontology lets one conclude from a single triple, so that reasoning needs no memory of the others.

    none        nothing
    rdfs        sub-classes, equivalent classes, inverse properties
    structural  also sub- and equivalent properties, domains and ranges

None of these rules joins two facts, so the closure of the axioms, taken once, gives all that follows from a triple.
A union as a domain says nothing about one class; an intersection says it of every member.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rdflib import OWL, RDFS, BNode, Graph, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

from ruleminer.errors import InputError
from ruleminer.problem.rdf import parse_graph, read_bytes
from ruleminer.validation.terms import RDF_TYPE

REASONING = ("none", "rdfs", "structural")
_BUILT_IN = tuple(str(vocabulary) for vocabulary in (OWL, RDFS))

_Node = TypeVar("_Node")
_Turned = tuple[str, bool]
"""A property, and whether subject and object have changed places."""

Triple = tuple[str, str, str]


@dataclass
class Reasoner:
    """The closed axioms; terms are N-Triples."""

    classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    properties: dict[str, tuple[_Turned, ...]] = field(default_factory=dict)
    subject_types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    object_types: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def concludes(self, predicate: str, value: str) -> bool:
        """Whether anything follows from a triple with these; asked of every triple, so it is quick."""
        if predicate == RDF_TYPE:
            return value in self.classes
        return predicate in self.properties or predicate in self.subject_types or predicate in self.object_types

    def leads_to(self, term: str, wanted: Container[str]) -> bool:
        """Whether a triple of this class or property is one of the wanted terms, or lets one follow."""
        others = (*self.classes.get(term, ()), *(other for other, _ in self.properties.get(term, ())))
        types = (*self.subject_types.get(term, ()), *self.object_types.get(term, ()))
        return any(one in wanted for one in (term, *others, *types))

    def consequences(self, subject: str, predicate: str, value: str) -> Iterator[Triple]:
        """All triples that follow from this one."""
        if predicate == RDF_TYPE:
            for name in self.classes.get(value, ()):
                yield subject, RDF_TYPE, name
            return
        is_node = not value.startswith('"')
        for other, turned in self.properties.get(predicate, ()):
            if not turned:
                yield subject, other, value
            elif is_node:
                yield value, other, subject
        for name in self.subject_types.get(predicate, ()):
            yield subject, RDF_TYPE, name
        if is_node:
            for name in self.object_types.get(predicate, ()):
                yield value, RDF_TYPE, name


def read_reasoner(ontology: Path, reasoning: str) -> Reasoner:
    """The reasoner of an ontology file."""
    if reasoning not in REASONING:
        raise InputError(f"no reasoning {reasoning!r}: choose {', '.join(REASONING)}")
    if reasoning == "none":
        return Reasoner()
    return reasoner_of(parse_graph(read_bytes(ontology), ontology), structural=reasoning == "structural")


def reasoner_of(graph: Graph, structural: bool) -> Reasoner:
    """The reasoner of the axioms in a graph."""
    above: defaultdict[str, set[str]] = defaultdict(set)
    for axiom in (RDFS.subClassOf, OWL.equivalentClass):
        for one, other in graph.subject_objects(axiom):
            for name in _conjuncts(graph, other, structural):
                if isinstance(one, URIRef):
                    above[_text(one)].add(name)
            if axiom == OWL.equivalentClass and isinstance(one, URIRef) and isinstance(other, URIRef):
                above[_text(other)].add(_text(one))
    classes = {name: _reached(name, above) for name in above}
    turns = _property_axioms(graph, structural)
    properties = {name: _reached((name, False), turns) for name in {named for named, _ in turns}}
    if not structural:
        return Reasoner(classes, properties)
    domains, ranges = _places(graph, RDFS.domain), _places(graph, RDFS.range)
    subject_types, object_types = {}, {}
    for name in {*properties, *domains, *ranges}:
        all_turns = ((name, False), *properties.get(name, ()))
        at_subject = [c for p, turned in all_turns for c in (ranges if turned else domains)[p]]
        at_object = [c for p, turned in all_turns for c in (domains if turned else ranges)[p]]
        subject_types[name] = _with_parents(at_subject, classes)
        object_types[name] = _with_parents(at_object, classes)
    return Reasoner(classes, properties, subject_types, object_types)


def _property_axioms(graph: Graph, structural: bool) -> dict[_Turned, set[_Turned]]:
    turns: defaultdict[_Turned, set[_Turned]] = defaultdict(set)

    def implies(one: Node, other: Node, turned: bool) -> None:
        if _is_named(one) and _is_named(other):
            for start in (False, True):
                turns[_text(one), start].add((_text(other), start != turned))

    for one, other in graph.subject_objects(OWL.inverseOf):
        implies(one, other, True)
        implies(other, one, True)
    if structural:
        for one, other in graph.subject_objects(RDFS.subPropertyOf):
            implies(one, other, False)
        for one, other in graph.subject_objects(OWL.equivalentProperty):
            implies(one, other, False)
            implies(other, one, False)
    return dict(turns)


def _places(graph: Graph, axiom: URIRef) -> defaultdict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, node in graph.subject_objects(axiom):
        if _is_named(name):
            found[_text(name)] += _conjuncts(graph, node, inside=True)
    return found


def _conjuncts(graph: Graph, node: Node, inside: bool) -> list[str]:
    """The named classes that all members of a class belong to; those of an intersection if we look inside it."""
    if isinstance(node, BNode) and inside:
        lists = graph.objects(node, OWL.intersectionOf)
        return [name for members in lists for each in Collection(graph, members) for name in _named([each])]
    return _named([node])


def _named(nodes: Iterable[Node]) -> list[str]:
    return [_text(node) for node in nodes if _is_named(node)]


def _is_named(node: Node) -> bool:
    return isinstance(node, URIRef) and not str(node).startswith(_BUILT_IN)


def _with_parents(names: Iterable[str], classes: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({every for name in names for every in (name, *classes.get(name, ()))}))


def _reached(start: _Node, steps: dict[_Node, set[_Node]]) -> tuple[_Node, ...]:
    """Everything that follows from the start, without the start."""
    found, frontier = {start}, [start]
    while frontier:
        frontier = [other for at in frontier for other in steps.get(at, ()) if other not in found]
        found.update(frontier)
    return tuple(sorted(found - {start}, key=str))


def _text(node: Node) -> str:
    return f"<{node}>"
