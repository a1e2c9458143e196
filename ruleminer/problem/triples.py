"""The triples of an ontology, indexed for the few questions that reading one asks: nodes and texts as plain strings.

pyoxigraph reads a vocabulary of 18,000 triples in a fifth of a second. What it refuses, rdflib is asked about: it
reads some files that are slightly broken, and knows how to say what is wrong with the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from ruleminer.problem.rdf import parse_graph, syntax_of

OWL = "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = RDF + "type"
_FORMATS = {"turtle": RdfFormat.TURTLE, "xml": RdfFormat.RDF_XML, "nt": RdfFormat.N_TRIPLES}


def is_blank(node: str) -> bool:
    """Whether a node has no name."""
    return node.startswith("_:")


@dataclass
class Triples:
    """A graph. A node is its IRI, or `_:` and the label of a blank node."""

    prefixes: dict[str, str] = field(default_factory=dict)
    described: set[str] = field(default_factory=set)  # subjects of which more is said than their types
    _nodes: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _texts: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    _pairs: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, subject: str, predicate: str, node: str) -> None:
        """A triple between two nodes."""
        self._nodes[subject, predicate].append(node)
        self._pairs[predicate].append((subject, node))
        if predicate != TYPE:
            self.described.add(subject)

    def add_text(self, subject: str, predicate: str, text: str) -> None:
        """A triple with a literal."""
        self._texts[subject, predicate].append(text)
        self.described.add(subject)

    def nodes(self, subject: str, *predicates: str) -> list[str]:
        """The nodes that these predicates lead to."""
        return [node for predicate in predicates for node in self._nodes.get((subject, predicate), ())]

    def texts(self, subject: str, predicate: str) -> list[str]:
        """The literals that a predicate leads to."""
        return self._texts.get((subject, predicate), [])

    def pairs(self, *predicates: str) -> Iterator[tuple[str, str]]:
        """The nodes that these predicates join."""
        for predicate in predicates:
            yield from self._pairs.get(predicate, ())

    def instances(self, *types: str) -> set[str]:
        """The nodes of one of these types."""
        wanted = set(types)
        return {subject for subject, node in self._pairs.get(TYPE, ()) if node in wanted}

    def listed(self, start: str) -> Iterator[str]:
        """The members of an RDF list; one that goes round in a circle ends there."""
        seen: set[str] = set()
        while start != RDF + "nil" and start not in seen:
            seen.add(start)
            yield from self.nodes(start, RDF + "first")
            start = next(iter(self.nodes(start, RDF + "rest")), RDF + "nil")

    def include(self, other: Triples, name: str) -> None:
        """Take in another file's triples; its blank nodes are told apart by its name, and our prefixes stay."""

        def own(node: str) -> str:
            return f"_:{name}-{node[2:]}" if is_blank(node) else node

        for predicate, pairs in other._pairs.items():
            for subject, node in pairs:
                self._nodes[own(subject), predicate].append(own(node))
                self._pairs[predicate].append((own(subject), own(node)))
        for (subject, predicate), texts in other._texts.items():
            self._texts[own(subject), predicate] += texts
        self.described.update(map(own, other.described))
        self.prefixes = {**{name: iri for name, iri in other.prefixes.items() if name}, **self.prefixes}


def read_triples(content: bytes, path: Path) -> Triples:
    """The triples of Turtle, RDF/XML or N-Triples text; `path` is what errors name."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    found = Triples()
    try:
        quads = parse(content, _FORMATS[syntax_of(content, path)], base_iri=path.absolute().as_uri(), lenient=True)
        for quad in quads:
            _add(found, quad.subject, quad.predicate.value, quad.object)
    except (SyntaxError, ValueError):
        return triples_of(parse_graph(content, path))
    found.prefixes = dict(quads.prefixes)
    return found


def triples_of(graph: rdflib.Graph) -> Triples:
    """The triples of a graph of rdflib's."""
    found = Triples({prefix: str(namespace) for prefix, namespace in graph.namespaces()})
    for subject, predicate, value in graph:
        start = f"_:{subject}" if isinstance(subject, rdflib.BNode) else str(subject)
        if isinstance(value, rdflib.Literal):
            found.add_text(start, str(predicate), str(value))
        else:
            found.add(start, str(predicate), f"_:{value}" if isinstance(value, rdflib.BNode) else str(value))
    return found


def _add(found: Triples, subject: object, predicate: str, value: object) -> None:
    if not isinstance(subject, NamedNode | BlankNode):
        return  # a statement about a statement
    start = subject.value if isinstance(subject, NamedNode) else f"_:{subject.value}"
    if isinstance(value, Literal):
        found.add_text(start, predicate, value.value)
    elif isinstance(value, NamedNode):
        found.add(start, predicate, value.value)
    elif isinstance(value, BlankNode):
        found.add(start, predicate, f"_:{value.value}")
