"""Ontologies: the classes and properties a mapping may derive, the names rules call them by, and how they relate.

A predicate is called by its local name (`Author`, `co-writePaper`) where that is unique in the ontology or belongs to
the namespace of the empty prefix, else by its prefixed name (`npd-v2:name`), else by its IRI. Anonymous classes count
by what they say of named ones: unions as ends, intersections as parents, restrictions.

A term's own fields hold what is declared of it; the questions of `Ontology` also know what follows from the terms
around it (a sub-property of a functional property is functional).
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rdflib import Graph

from ruleminer.errors import InputError
from ruleminer.problem.imports import read_with_imports
from ruleminer.problem.ontology_axioms import (
    class_iris,
    classes_of,
    has_open_ends,
    predicate_names,
    properties_of,
    property_kinds,
    xsd_datatypes,
)
from ruleminer.problem.ontology_terms import (
    OntologyClass,
    OntologyTerm,
    Property,
    PropertyKind,
    Restriction,
    arity,
    local_name,
)
from ruleminer.problem.triples import OWL, RDF, RDFS, XSD, Triples, triples_of

__all__ = [
    "Cardinality",
    "Ontology",
    "OntologyClass",
    "OntologyTerm",
    "Property",
    "PropertyKind",
    "Restriction",
    "arity",
    "local_name",
    "ontology_of",
    "read_ontology",
]

_STANDARD_PREFIXES = {"owl": OWL, "rdf": RDF, "rdfs": RDFS, "xsd": XSD}
_SCHEMES = ("http://schema.org/", "https://schema.org/")  # two names of one vocabulary

# Two that no ontology declares, and many publish to.
_ANNOTATIONS = tuple(
    Property(RDFS + name, name, PropertyKind.DATATYPE, ranges=(XSD + "string",)) for name in ("label", "comment")
)


class Cardinality(NamedTuple):
    """How many values an entity has of a property; None is no bound."""

    at_least: int = 0
    at_most: int | None = None


@dataclass(frozen=True)
class Ontology:
    """The vocabulary of a mapping, in the order of the terms' names. Terms are asked about by their IRIs."""

    classes: tuple[OntologyClass, ...]
    properties: tuple[Property, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""
    missing_imports: tuple[str, ...] = ()  # of which no file was found
    datatypes: Mapping[str, str] = field(default_factory=dict)  # own datatypes → those of XSD; empty: any number
    open_ended: bool = False  # ends are told as what they may be among others: a vocabulary for everybody

    @property
    def terms(self) -> tuple[OntologyTerm, ...]:
        """All declared classes and properties."""
        return (*self.classes, *self.properties)

    @cached_property
    def annotations(self) -> tuple[Property, ...]:
        """rdfs:label and rdfs:comment, which hold of anything, where the ontology does not declare them itself."""
        taken, declared = {term.name for term in self.terms}, {term.iri for term in self.terms}
        return tuple(
            replace(term, name=f"rdfs:{term.name}") if term.name in taken else term
            for term in _ANNOTATIONS
            if term.iri not in declared
        )

    @cached_property
    def leading_to_things(self) -> frozenset[str]:
        """The names of properties that lead to things, and to nothing else."""
        return frozenset(term.name for term in self.properties if term.kind is PropertyKind.OBJECT)

    @cached_property
    def _by_iri(self) -> dict[str, OntologyTerm]:
        return {term.iri: term for term in (*self.annotations, *self.terms)}

    @cached_property
    def _by_name(self) -> dict[str, OntologyTerm]:
        return {term.name: term for term in self._by_iri.values()}

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, for a run's files."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ontology:
        """The ontology that `to_json` wrote."""

        def tuples(term: Mapping[str, Any]) -> dict[str, Any]:
            return {key: tuple(value) if isinstance(value, list) else value for key, value in term.items()}

        def a_class(term: Mapping[str, Any]) -> OntologyClass:
            restrictions = tuple(Restriction(**tuples(one)) for one in term.get("restrictions", ()))
            return OntologyClass(**{**tuples(term), "restrictions": restrictions})

        return cls(
            tuple(map(a_class, data["classes"])),
            tuple(Property(**{**tuples(term), "kind": PropertyKind(term["kind"])}) for term in data["properties"]),
            data["prefixes"],
            data["sha256"],
            tuple(data.get("missing_imports", ())),
            data.get("datatypes", {}),
            data.get("open_ended", False),
        )

    def get(self, iri: str) -> OntologyTerm | None:
        """The term with this IRI, rdfs:label and rdfs:comment included; schema.org's under either scheme."""
        term = self._by_iri.get(iri)
        if term is None and iri.startswith(_SCHEMES):
            rest = iri.partition("://")[2].removeprefix("schema.org/")
            term = next((self._by_iri[one + rest] for one in _SCHEMES if one + rest in self._by_iri), None)
        return term

    def find(self, name: str) -> OntologyTerm:
        """The term with this name, prefixed name, local name, IRI or <IRI>; none or several are an error."""
        if name.startswith("<") and name.endswith(">"):
            name = name[1:-1]
        prefix, _, rest = name.partition(":")
        namespace = self.prefixes.get(prefix, _STANDARD_PREFIXES.get(prefix, ""))
        term = self._by_name.get(name) or self.get(name) or self.get(namespace + rest)
        if term:
            return term
        sharing = sorted(term.name for term in self._by_iri.values() if local_name(term.iri) == name)
        if sharing:  # a name that one term alone has is that term's name
            raise InputError(f"{name} is ambiguous in the ontology: use {' or '.join(sharing)}")
        folded: dict[str, list[str]] = {}
        for known in self._by_name:
            folded.setdefault(known.casefold(), []).append(known)
        if alike := folded.get(name.casefold()):
            raise InputError(
                f"the ontology has no class or property {name}, but {' and '.join(alike)}: case counts in names"
            )
        near = [
            one for key in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6) for one in folded[key]
        ]
        hint = f"; nearest: {', '.join(near)}" if near else ""
        if self.missing_imports:
            hint += f"; it imports {', '.join(self.missing_imports)}, of which no file lies beside it"
        raise InputError(f"the ontology has no class or property {name}{hint}")

    def ancestors(self, iri: str) -> tuple[str, ...]:
        """The superclasses (or superproperties) of a term and its equivalents, nearest first."""
        if iri not in self._ancestors:
            self._ancestors[iri] = _reach(iri, lambda at: (*self._equivalents(at), *self._parents(at)))
        return self._ancestors[iri]

    @cached_property
    def _ancestors(self) -> dict[str, tuple[str, ...]]:
        return {}

    def descendants(self, iri: str) -> tuple[str, ...]:
        """The subclasses (or subproperties) of a term, nearest first."""
        return _reach(iri, lambda at: (*self._equivalents(at), *self._children.get(at, ())))

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = defaultdict(list)
        for term in self._by_iri.values():
            for parent in term.parents:
                children[parent].append(term.iri)
        return children

    def has_children(self, iri: str) -> bool:
        """Whether any term is declared below this one."""
        return iri in self._children

    def is_within(self, iri: str, other: str) -> bool:
        """Whether all of one class (or property) is of another: the same, equivalent, or below it."""
        return iri == other or other in self.ancestors(iri)

    def equivalents(self, iri: str) -> tuple[str, ...]:
        """The terms that are declared to mean the same, directly or through others."""
        return _reach(iri, self._equivalents)

    def are_disjoint(self, iri: str, other: str) -> bool:
        """Whether nothing can be of both classes (or stand in both properties)."""
        above = {other, *self.ancestors(other)}
        return any(not above.isdisjoint(term.disjoint) for term in self._with_ancestors(iri))

    @cached_property
    def tells_classes_apart(self) -> bool:
        """Whether any two classes are declared disjoint at all."""
        return any(term.disjoint for term in self.classes)

    def domains(self, iri: str) -> tuple[str, ...]:
        """The classes at a property's first end, of which one holds: its own, else those that its relatives tell.

        Relatives are equivalent and inverse properties, then those above; then the classes that restrict it.
        """
        return self._ends(iri, lambda p: p.domains, lambda p: p.ranges) or tuple(
            sorted(one.iri for one in self._restricting.get(iri, ()))
        )

    def ranges(self, iri: str, of: str | None = None) -> tuple[str, ...]:
        """The classes or datatypes at a property's second end, of which one holds; for members of a class if given.

        A class that says "only such values" of the property, itself or one above it, has a range of its own for it.
        """
        for term in self._with_ancestors(of) if of is not None else ():
            own = {end for one in _restrictions(term, iri) if one.only for end in one.ranges}
            if own:
                return tuple(sorted(own))
        return self._ends(iri, lambda p: p.ranges, lambda p: p.domains)

    def datatype(self, iri: str) -> str | None:
        """The one XSD datatype of a property's range, or of the nearest property above that has one."""
        for near in self._properties((iri, *self.ancestors(iri))):
            found = {end if end.startswith(XSD) else self.datatypes.get(end) for end in near.ranges} - {None}
            if found:
                return (found.pop() or None) if len(found) == 1 else None
        return None

    def inverses(self, iri: str) -> tuple[str, ...]:
        """The properties that say the same the other way round; a symmetric one is its own."""
        same = [term for one in (iri, *self.equivalents(iri)) if isinstance(term := self.get(one), Property)]
        found = {other for term in same for one in term.inverses for other in (one, *self.equivalents(one))}
        return tuple(sorted(found | ({iri} if any(term.symmetric for term in same) else set())))

    def is_symmetric(self, iri: str) -> bool:
        """Whether a property holds both ways."""
        return iri in self.inverses(iri)

    def is_functional(self, iri: str) -> bool:
        """Whether an entity has at most one value of a property."""
        same, turned = self._implied(iri)
        return any(p.functional for p in same) or any(p.inverse_functional for p in turned)

    def is_inverse_functional(self, iri: str) -> bool:
        """Whether a value belongs to at most one entity."""
        same, turned = self._implied(iri)
        return any(p.inverse_functional for p in same) or any(p.functional for p in turned)

    def _implied(self, iri: str) -> tuple[list[Property], list[Property]]:
        """The properties that hold where one does, and those that hold the other way round."""
        above = (iri, *self.ancestors(iri))
        turned = {up for one in above for other in self.inverses(one) for up in (other, *self.ancestors(other))}
        return list(self._properties(above)), list(self._properties(turned))

    def cardinality(self, iri: str, of: str | None = None) -> Cardinality:
        """How many values of a property an entity has; a member of the class if one is given."""
        bounds = [one for term in (self._with_ancestors(of) if of else ()) for one in _restrictions(term, iri)]
        most = [one.at_most for one in bounds if one.at_most is not None] + [1] * self.is_functional(iri)
        return Cardinality(max((one.at_least for one in bounds), default=0), min(most, default=None))

    def _ends(
        self, iri: str, own: Callable[[Property], tuple[str, ...]], turned: Callable[[Property], tuple[str, ...]]
    ) -> tuple[str, ...]:
        for one in self._properties((iri, *self.ancestors(iri))):
            ends = own(one) or tuple(
                sorted({end for p in self._properties(self.inverses(one.iri)) for end in turned(p)})
            )
            if ends:
                return ends
        return ()

    @cached_property
    def _restricting(self) -> Mapping[str, list[OntologyClass]]:
        found: dict[str, list[OntologyClass]] = defaultdict(list)
        for term in self.classes:
            for name in {one.property for one in term.restrictions}:
                found[name].append(term)
        return found

    def _properties(self, iris: Iterable[str]) -> Iterator[Property]:
        return (term for iri in iris if isinstance(term := self.get(iri), Property))

    def _with_ancestors(self, iri: str) -> Iterator[OntologyTerm]:
        return (term for one in (iri, *self.ancestors(iri)) if (term := self.get(one)) is not None)

    def _equivalents(self, iri: str) -> tuple[str, ...]:
        term = self._by_iri.get(iri)
        return term.equivalents if term else ()

    def _parents(self, iri: str) -> tuple[str, ...]:
        term = self._by_iri.get(iri)
        return term.parents if term else ()


def read_ontology(path: Path | str) -> Ontology:
    """The ontology in a Turtle, RDF/XML or N-Triples file, with what it imports from files beside it."""
    triples, missing, digest = read_with_imports(Path(path))
    ontology = replace(_declared(triples), sha256=digest, missing_imports=missing)
    if not ontology.classes and not ontology.properties:
        told = f", and imports {', '.join(missing)}, of which no file lies beside it" if missing else ""
        raise InputError(f"{path}: declares no class and no property{told}; is it an ontology?")
    return ontology


def ontology_of(graph: Graph, sha256: str = "") -> Ontology:
    """The ontology that a graph declares."""
    return replace(_declared(triples_of(graph)), sha256=sha256)


def _declared(triples: Triples) -> Ontology:
    classes, kinds = class_iris(triples), property_kinds(triples)
    names = predicate_names(triples, {*classes, *kinds})
    return Ontology(
        classes_of(triples, names, classes),
        properties_of(triples, names, kinds),
        dict(triples.prefixes),
        datatypes=xsd_datatypes(triples),
        open_ended=has_open_ends(triples),
    )


def _restrictions(term: OntologyTerm, iri: str) -> list[Restriction]:
    return [one for one in term.restrictions if one.property == iri] if isinstance(term, OntologyClass) else []


def _reach(start: str, neighbours: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """Everything reachable, breadth first, without the start."""
    found: dict[str, None] = {start: None}
    frontier = [start]
    while frontier:
        reached = [other for at in frontier for other in neighbours(at)]
        frontier = [other for other in dict.fromkeys(reached) if other not in found]
        found.update(dict.fromkeys(frontier))
    return tuple(found)[1:]
