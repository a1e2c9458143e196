"""Which terms tell which others what they believe: the ontology's axioms as messages from one term to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product

import numpy as np

from ruleminer.learn.decision_problem import Ints, Relation
from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property
from ruleminer.structure.spaces import Space

_MOST = 40  # terms that share a parent or a domain: beyond, each hears of the next ones only

_ANYWHERE = {Relation.RANGE, Relation.RANGE_OF, Relation.RANGE_KIN, Relation.RANGE_OF_KIN, Relation.INVERSE}
_TOLD_BACK = {
    Relation.DOMAIN: Relation.DOMAIN_OF,
    Relation.RANGE: Relation.RANGE_OF,
    Relation.DOMAIN_KIN: Relation.DOMAIN_OF_KIN,
    Relation.RANGE_KIN: Relation.RANGE_OF_KIN,
}


def relations(terms: Sequence[OntologyTerm], at: Sequence[Space | None], ontology: Ontology) -> Ints:
    """All messages of a round: (E, 3) of receiver, sender and relation, by the terms' places.

    Parts of open-ended terms, which are decided `at` one kind of thing each, speak with parts that are decided of the
    same kind; only what a property leads to may be of any.
    """
    places: dict[str, list[int]] = {}
    for number, term in enumerate(terms):
        places.setdefault(term.iri, []).append(number)
    found: dict[tuple[int, int, int], None] = {}
    for receiver, sender, relation in _related(list({term.iri: term for term in terms}.values()), ontology):
        if receiver == sender:
            continue
        for one, other in product(places.get(receiver, ()), places.get(sender, ())):
            if relation in _ANYWHERE or at[one] is None or at[other] is None or at[one] == at[other]:
                found[one, other, int(relation)] = None
    for parts in _parts(terms):
        for one, other in permutations(parts[:_MOST], 2):
            found[one, other, int(Relation.SAME_TERM)] = None
    return np.array(list(found), np.int64).reshape(-1, 3)


def _parts(terms: Sequence[OntologyTerm]) -> Iterable[list[int]]:
    """The places of the parts of each term: what it is of several kinds of things, or (`domain~term`) of classes."""
    found: dict[str, list[int]] = {}
    for number, term in enumerate(terms):
        found.setdefault(term.iri.rpartition("~")[2], []).append(number)
    return found.values()


def _related(terms: Sequence[OntologyTerm], ontology: Ontology) -> Iterator[tuple[str, str, Relation]]:
    below: dict[str, list[str]] = {}
    starting: dict[str, list[str]] = {}
    for term in terms:
        for parent in term.parents:
            below.setdefault(parent, []).append(term.iri)
        if isinstance(term, OntologyClass):
            for parent in term.parents:
                yield term.iri, parent, Relation.PARENT
                yield parent, term.iri, Relation.CHILD
            for other in term.disjoint[:_MOST]:
                yield term.iri, other, Relation.DISJOINT
                yield other, term.iri, Relation.DISJOINT
        else:
            yield from _of_property(term, ontology)
            for domain in term.domains:
                starting.setdefault(domain, []).append(term.iri)
    classes = {term.iri for term in terms if isinstance(term, OntologyClass)}
    for members in below.values():
        siblings = [one for one in members if one in classes]
        for one, other in permutations(siblings[:_MOST], 2):
            yield one, other, Relation.SIBLING
    for members in starting.values():
        for one, other in permutations(members[:_MOST], 2):
            yield one, other, Relation.SAME_DOMAIN


def _of_property(term: Property, ontology: Ontology) -> Iterator[tuple[str, str, Relation]]:
    ends = ((term.domains, Relation.DOMAIN, Relation.DOMAIN_KIN), (term.ranges, Relation.RANGE, Relation.RANGE_KIN))
    for declared, relation, of_kin in ends:
        kin = {other for iri in declared for other in (*ontology.ancestors(iri), *ontology.descendants(iri))}
        for iri in declared:
            yield term.iri, iri, relation
            yield iri, term.iri, _TOLD_BACK[relation]
        for iri in sorted(kin - set(declared)):
            yield term.iri, iri, of_kin
            yield iri, term.iri, _TOLD_BACK[of_kin]
    for other in term.inverses:
        yield term.iri, other, Relation.INVERSE
        yield other, term.iri, Relation.INVERSE
    for other in term.parents:
        yield term.iri, other, Relation.PARENT_PROPERTY
        yield other, term.iri, Relation.CHILD_PROPERTY
