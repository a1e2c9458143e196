"""Facts from RDF instance data: what it says of the classes and properties of an ontology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pyarrow as pa
from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ruleminer.errors import InputError
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, local_name
from ruleminer.problem.rdf import parse_graph, read_bytes
from ruleminer.rules.lexical import number_form, timestamp_form
from ruleminer.rules.values import Kind

_INTEGERS = frozenset(
    {XSD.integer, XSD.int, XSD.long, XSD.short, XSD.byte}
    | {XSD.nonNegativeInteger, XSD.positiveInteger, XSD.nonPositiveInteger, XSD.negativeInteger}
    | {XSD.unsignedInt, XSD.unsignedLong, XSD.unsignedShort, XSD.unsignedByte}
)
_DECIMALS = frozenset({XSD.decimal, XSD.double, XSD.float})
_BUILT_IN = tuple(str(vocabulary) for vocabulary in (OWL, RDF, RDFS))


def read_rdf_facts(path: Path, ontology: Ontology) -> tuple[pa.Table, tuple[str, ...]]:
    """The facts of an RDF file, and one note for each sort of statement that was left out."""
    graph = parse_graph(read_bytes(path), path)
    skipped: Counter[str] = Counter()
    facts = fact_table(_facts(graph, ontology, skipped))
    if not facts.num_rows:
        raise InputError(f"{path}: says nothing of the ontology's classes and properties")
    return facts, tuple(f"{path.name}: {count} x {what} left out" for what, count in sorted(skipped.items()))


def typed_literal(literal: Literal) -> tuple[str, Kind | None]:
    """A literal's lexical form and kind. One without a datatype, or with one we do not know, may be anything."""
    text = str(literal)
    try:
        if literal.datatype in _INTEGERS:
            return str(int(text)), Kind.INTEGER
        if literal.datatype in _DECIMALS and Decimal(text).is_finite():
            return number_form(text), Kind.DECIMAL
        if literal.datatype == XSD.boolean and text.strip() in ("true", "false", "1", "0"):
            return ("true" if text.strip() in ("true", "1") else "false"), Kind.BOOLEAN
        if literal.datatype == XSD.date:
            return date.fromisoformat(text).isoformat(), Kind.DATE
        if literal.datatype in (XSD.dateTime, XSD.dateTimeStamp):
            return timestamp_form(datetime.fromisoformat(text)), Kind.TIMESTAMP
    except (ValueError, InvalidOperation):
        return text, None
    if literal.language or literal.datatype in (XSD.string, XSD.anyURI):
        return text, Kind.TEXT
    return text, None


def _facts(graph: Graph, ontology: Ontology, skipped: Counter[str]) -> Iterator[Fact]:
    for subject, predicate, value in graph:
        if ontology.get(str(subject)) or (subject, RDF.type, OWL.Ontology) in graph:
            continue  # the ontology itself, in the same file
        term = ontology.get(str(value if predicate == RDF.type else predicate))
        if isinstance(term, OntologyClass) and predicate == RDF.type:
            arguments: tuple[Node, ...] = (subject,)
        elif isinstance(term, Property) and predicate != RDF.type:
            arguments = (subject, value)
        else:
            unknown = str(value if predicate == RDF.type else predicate)
            if not unknown.startswith(_BUILT_IN):
                skipped[f"{local_name(unknown)} (not in the ontology)"] += 1
            continue
        if any(isinstance(argument, BNode) for argument in arguments):
            skipped[f"{term.name} of a blank node"] += 1
            continue
        texts, kinds = zip(*map(_argument, arguments), strict=True)
        yield Fact(term.name, texts, kinds)


def _argument(node: Node) -> tuple[str, Kind | None]:
    if isinstance(node, Literal):
        return typed_literal(node)
    assert isinstance(node, URIRef)
    return str(node), Kind.TEXT
