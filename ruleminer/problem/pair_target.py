"""What a pair's SPARQL asks for: one class, one property, or something that facts cannot be read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyparsing import ParserElement
from pyparsing.exceptions import ParseBaseException
from rdflib import OWL, RDF, RDFS, XSD, URIRef, Variable
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Node

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property, PropertyKind, local_name
from ruleminer.problem.pairs import QueryPair

# RODI's engine knows these without a declaration, and some of its pairs rely on it.
_PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}

_TRANSPARENT = frozenset({"SelectQuery", "Project", "Distinct", "Reduced", "OrderBy", "Extend"})
_OBSTACLES = {
    "Filter": "a FILTER",
    "LeftJoin": "an OPTIONAL",
    "Union": "a UNION",
    "Minus": "a MINUS",
    "Slice": "a LIMIT",
    "ToMultiSet": "a subquery",
    "Graph": "a GRAPH",
}
_Triple = tuple[Node, Node, Node]
_Pattern = tuple[tuple[_Triple, ...], tuple[str, ...]]
"""The triple patterns of a query that has nothing else, and the variables it returns or counts."""


@dataclass(frozen=True, slots=True)
class NoFacts:
    """Why a pair gives no facts."""

    reason: str


@dataclass(frozen=True, slots=True)
class PairTarget:
    """The predicate a pair asks for, its variables, and the classes it asks its ends to be of."""

    term: OntologyTerm
    variables: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    """For each end the IRIs of the classes asked for, known to the ontology or not."""
    selected: tuple[str, ...]
    """The variables whose values are returned or counted; none for COUNT(*)."""

    @property
    def arity(self) -> int:
        return len(self.variables)

    def ends(self) -> tuple[tuple[str, ...], ...]:
        """For each end its classes: those asked for, else the domain or range."""
        if isinstance(self.term, OntologyClass):
            return ((self.term.iri,),)
        declared = (self.term.domains, self.term.ranges if self.term.kind is PropertyKind.OBJECT else ())
        return tuple(asked or known for asked, known in zip(self.classes, declared, strict=True))


def pair_target(pair: QueryPair, ontology: Ontology) -> PairTarget | NoFacts:
    """The one predicate that the pair's SPARQL asks for."""
    pattern = _asked(pair.sparql)
    if isinstance(pattern, NoFacts):
        return pattern
    triples, selected = pattern
    types = [triple for triple in triples if triple[1] == RDF.type]
    links = [triple for triple in triples if triple[1] != RDF.type]
    if len(links) == 1:
        return _property_target(links[0], types, selected, ontology)
    if links:
        return NoFacts(f"its SPARQL asks for {len(links)} properties at once")
    if len(types) == 1:
        return _class_target(types[0], selected, ontology)
    return NoFacts(f"its SPARQL asks for {len(types)} classes and no property")


@lru_cache(maxsize=2048)  # rdflib takes longer to parse a query than most databases to answer it
def _asked(sparql: str) -> _Pattern | NoFacts:
    try:
        query = prepareQuery(sparql, initNs=_PREFIXES).algebra
    except ParseBaseException as problem:
        return NoFacts(f"its SPARQL does not parse: {problem.msg}, line {problem.lineno}, column {problem.column}")
    except Exception as problem:  # an unknown prefix is a bare Exception in rdflib
        return NoFacts(f"its SPARQL does not parse: {problem}")
    finally:
        ParserElement.reset_cache()  # it keeps the frames of every failed try alive, and all that they know
    return _pattern(query)


def _class_target(triple: _Triple, selected: tuple[str, ...], ontology: Ontology) -> PairTarget | NoFacts:
    entity, _, asked = triple
    if not isinstance(entity, Variable) or not isinstance(asked, URIRef):
        return NoFacts("its SPARQL does not ask for the members of a named class")
    term = ontology.get(str(asked))
    if not isinstance(term, OntologyClass):
        return NoFacts(f"the ontology has no class {local_name(asked)}{_nearest(asked, ontology)}")
    return PairTarget(term, (str(entity),), ((term.iri,),), selected)


def _property_target(
    link: _Triple, types: Sequence[_Triple], selected: tuple[str, ...], ontology: Ontology
) -> PairTarget | NoFacts:
    subject, asked, value = link
    if not isinstance(asked, URIRef):
        return NoFacts("its SPARQL has a variable or a path in the place of a property")
    if not isinstance(subject, Variable) or not isinstance(value, Variable) or subject == value:
        return NoFacts("its SPARQL does not ask for both ends of the property")
    term = ontology.get(str(asked))
    if not isinstance(term, Property):
        return NoFacts(f"the ontology has no property {local_name(asked)}{_nearest(asked, ontology)}")
    classes: dict[Node, list[str]] = {subject: [], value: []}
    for entity, _, asked_class in types:
        if entity not in classes or not isinstance(asked_class, URIRef):
            return NoFacts("its SPARQL asks for the class of something other than an end of the property")
        classes[entity].append(str(asked_class))
    return PairTarget(term, (str(subject), str(value)), (tuple(classes[subject]), tuple(classes[value])), selected)


def _pattern(query: CompValue) -> _Pattern | NoFacts:
    if query.name != "SelectQuery":
        return NoFacts("its SPARQL is not a SELECT")
    selected = tuple(map(str, query.PV))
    at = query
    while at.name != "BGP":
        if at.name == "AggregateJoin":
            counted = _counted(at)
            if isinstance(counted, NoFacts):
                return counted
            selected, at = counted, at.p.p
        elif at.name in _TRANSPARENT:
            at = at.p
        else:
            return NoFacts(f"its SPARQL has {_OBSTACLES.get(at.name, at.name)}")
    return tuple(at.triples), selected


def _counted(aggregate: CompValue) -> tuple[str, ...] | NoFacts:
    counts = [part for part in aggregate.A if part.name == "Aggregate_Count"]
    if aggregate.p.expr is not None or len(counts) != 1 or len(aggregate.A) != 1:
        return NoFacts("its SPARQL aggregates otherwise than by one COUNT")
    counted = counts[0].vars
    return (str(counted),) if isinstance(counted, Variable) else ()


def _nearest(iri: URIRef, ontology: Ontology) -> str:
    """The term whose name differs in case or namespace only: the usual slip in RODI's pairs."""
    same = [term.name for term in ontology.terms if local_name(term.iri).lower() == local_name(iri).lower()]
    return f" (there is {same[0]})" if same else ""
