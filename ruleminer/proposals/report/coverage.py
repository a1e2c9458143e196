"""The whole ontology at a glance: its classes as a tree and its properties, each with how far it is mapped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ruleminer.problem.ontology import Ontology, OntologyClass, Property
from ruleminer.proposals.report.review import Page, Trust

_DEEPEST = 8  # levels that are indented
_TITLES = {"class": "Classes", "object property": "Object properties", "datatype property": "Datatype properties"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A term in its place; without an anchor if it has no page."""

    name: str
    anchor: str
    trust: Trust
    mapped: bool
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """Terms of one kind."""

    kind: str
    leaves: tuple[Leaf, ...]

    @property
    def title(self) -> str:
        """The kind in the plural."""
        return _TITLES.get(self.kind, self.kind)

    @property
    def trusts(self) -> dict[Trust, int]:
        """How many terms there are of each trust."""
        return {trust: sum(leaf.trust is trust for leaf in self.leaves) for trust in Trust}

    @property
    def proposed(self) -> int:
        """How many are part of the mapping."""
        return sum(leaf.mapped for leaf in self.leaves)


def coverage_of(pages: Sequence[Page], ontology: Ontology | None) -> tuple[Coverage, ...]:
    """Classes, object properties and datatype properties; terms of the ontology without a proposal, too."""
    by_iri = {page.proposal.iri: page for page in pages}
    kinds: dict[str, list[Leaf]] = {}
    if ontology is not None:
        kinds["class"] = _tree(ontology.classes, by_iri)
        for term in ontology.properties:
            kinds.setdefault(_kind(term), []).append(_leaf(term, by_iri))
    known = {term.iri for term in ontology.terms} if ontology is not None else set()
    for page in pages:
        if page.proposal.iri not in known:
            leaf = Leaf(page.proposal.predicate, page.anchor, page.trust, page.mapped)
            kinds.setdefault(page.proposal.kind, []).append(leaf)
    for kind, leaves in kinds.items():
        if kind != "class" or ontology is None:
            leaves.sort(key=lambda leaf: (leaf.name.casefold(), leaf.name))
    ranked = [kind for kind in _TITLES if kind in kinds] + sorted(kinds.keys() - _TITLES.keys())
    return tuple(Coverage(kind, tuple(kinds[kind])) for kind in ranked if kinds[kind])


def _tree(classes: Sequence[OntologyClass], by_iri: dict[str, Page]) -> list[Leaf]:
    """Each class once, below its first parent; a class in a circle of sub-classes stands at the top."""
    declared = {one.iri: one for one in classes}
    children: dict[str | None, list[OntologyClass]] = defaultdict(list)
    for one in classes:
        children[next((parent for parent in one.parents if parent in declared and parent != one.iri), None)].append(one)
    placed: dict[str, Leaf] = {}
    for start in (*children[None], *classes):
        waiting = [(start, 0)]
        while waiting:
            one, depth = waiting.pop()
            if one.iri not in placed:
                placed[one.iri] = _leaf(one, by_iri, min(depth, _DEEPEST))
                waiting += [(child, depth + 1) for child in reversed(children[one.iri])]
    return list(placed.values())


def _leaf(term: OntologyClass | Property, by_iri: dict[str, Page], depth: int = 0) -> Leaf:
    page = by_iri.get(term.iri)
    if page is None:
        return Leaf(term.name, "", Trust.NOTHING, False, depth)
    return Leaf(term.name, page.anchor, page.trust, page.mapped, depth)


def _kind(term: Property) -> str:
    return f"{term.kind} property"
