"""The ontology of a domain, written as Turtle."""

from __future__ import annotations

from collections.abc import Iterable

from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection

from ruleminer.rules.values import Kind
from ruleminer.scenarios.domain import Attribute, Domain, Link, Narrowing, Property, Shortcut
from ruleminer.scenarios.value_kinds import VALUE_KINDS
from ruleminer.scenarios.words import words_of

_DATATYPES = {
    Kind.TEXT: XSD.string,
    Kind.INTEGER: XSD.integer,
    Kind.DECIMAL: XSD.decimal,
    Kind.BOOLEAN: XSD.boolean,
    Kind.DATE: XSD.date,
    Kind.TIMESTAMP: XSD.dateTime,
}


def ontology_turtle(domain: Domain) -> str:
    """The ontology's text."""
    return ontology_graph(domain).serialize(format="turtle")


def ontology_graph(domain: Domain) -> Graph:
    """Classes and properties with labels, comments, domains, ranges, super-classes and inverses."""
    graph = Graph()
    own = Namespace(domain.namespace)
    graph.bind("", own)
    ontology = URIRef(domain.namespace.rstrip("#/"))
    graph.add((ontology, RDF.type, OWL.Ontology))
    if domain.comment:
        graph.add((ontology, RDFS.comment, Literal(domain.comment, lang="en")))
    for cls in domain.classes:
        _describe(graph, own[cls.name], OWL.Class, cls.name, cls.comment)
        if cls.parent:
            graph.add((own[cls.name], RDFS.subClassOf, own[cls.parent]))
        if not cls.overlapping:
            _disjoint(graph, own, [child.name for child in domain.children(cls.name)])
    for prop in domain.properties:
        _property(graph, own, domain, prop)
    return graph


def _property(graph: Graph, own: Namespace, domain: Domain, prop: Property) -> None:
    subject = own[prop.name]
    starts, end = domain.ends(prop.name)
    leads_to_entities = domain.is_object_property(prop.name)
    kind = OWL.ObjectProperty if leads_to_entities else OWL.DatatypeProperty
    _describe(graph, subject, kind, prop.name, prop.comment or _comment(domain, prop))
    graph.add((subject, RDFS.domain, _union(graph, own, starts)))
    graph.add((subject, RDFS.range, own[end] if leads_to_entities else _DATATYPES[VALUE_KINDS[end].kind]))
    if (isinstance(prop, Link) and not prop.many) or (isinstance(prop, Attribute) and prop.at_most == 1):
        graph.add((subject, RDF.type, OWL.FunctionalProperty))
    if isinstance(prop, Narrowing):
        graph.add((subject, RDFS.subPropertyOf, own[prop.of]))
    if isinstance(prop, Link) and prop.inverse:
        inverse = own[prop.inverse.name]
        _describe(graph, inverse, OWL.ObjectProperty, prop.inverse.name, "")
        graph.add((inverse, RDFS.domain, own[end]))
        graph.add((inverse, RDFS.range, _union(graph, own, starts)))
        graph.add((inverse, OWL.inverseOf, subject))


def _comment(domain: Domain, prop: Property) -> str:
    match prop:
        case Shortcut(first=first, second=second):
            return f"{_spoken(second).capitalize()} of what the {_spoken(first)} leads to."
        case Narrowing(of=of):
            starts, end = domain.ends(prop.name)
            to = f" to a {_spoken(end)}" if prop.range else ""
            return f"{_spoken(of).capitalize()} of a {_spoken(starts[0])}{to}."
        case _:
            return ""


def _describe(graph: Graph, subject: URIRef, kind: URIRef, name: str, comment: str) -> None:
    graph.add((subject, RDF.type, kind))
    graph.add((subject, RDFS.label, Literal(_spoken(name), lang="en")))
    if comment:
        graph.add((subject, RDFS.comment, Literal(comment, lang="en")))


def _spoken(name: str) -> str:
    return " ".join(words_of(name))


def _union(graph: Graph, own: Namespace, names: Iterable[str]) -> URIRef | BNode:
    classes = [own[name] for name in names]
    if len(classes) == 1:
        return classes[0]
    # Named by its members, so that the same domain gives the same file.
    union, members = BNode("u" + "".join(names)), BNode("m" + "".join(names))
    graph.add((union, RDF.type, OWL.Class))
    graph.add((union, OWL.unionOf, members))
    Collection(graph, members, classes)  # type: ignore[arg-type]
    return union


def _disjoint(graph: Graph, own: Namespace, names: list[str]) -> None:
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            graph.add((own[name], OWL.disjointWith, own[other]))
