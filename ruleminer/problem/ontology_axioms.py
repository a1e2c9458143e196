"""What a graph declares, in the ways in which vocabularies are published: OWL, plain RDFS, schema.org, Dublin Core.

RDFS and OWL say what a property's ends *are*; schema.org and Dublin Core (`domainIncludes`, `rangeIncludes`) what they
may be among others. A property of which nobody says whether it leads to things or values leads to either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from ruleminer.problem.ontology_terms import OntologyClass, Property, PropertyKind, Restriction, local_name
from ruleminer.problem.triples import OWL, RDF, RDFS, TYPE, XSD, Triples, is_blank

_BUILT_IN = (OWL, RDF, RDFS, XSD)
_SCHEMA_ORG = ("http://schema.org/", "https://schema.org/")  # both are in use
_DUBLIN_CORE = "http://purl.org/dc/dcam/"
_OPEN = (*_SCHEMA_ORG, _DUBLIN_CORE)
_DOMAINS = (RDFS + "domain", *(namespace + "domainIncludes" for namespace in _OPEN))
_RANGES = (RDFS + "range", *(namespace + "rangeIncludes" for namespace in _OPEN))
_INVERSES = (OWL + "inverseOf", *(namespace + "inverseOf" for namespace in _SCHEMA_ORG))
_DATATYPE_CLASSES = tuple(namespace + "DataType" for namespace in _SCHEMA_ORG)
_SCHEMA_ORG_DATATYPES = {
    "Text": XSD + "string",
    "URL": XSD + "anyURI",
    "Boolean": XSD + "boolean",
    "Date": XSD + "date",
    "DateTime": XSD + "dateTime",
    "Time": XSD + "time",
    "Integer": XSD + "integer",
    "Float": "",
    "Number": "",
}
_LITERALS = (RDFS + "Literal", RDF + "langString", RDF + "PlainLiteral", RDF + "XMLLiteral", RDF + "HTML", RDF + "JSON")
_ANYTHING = (RDFS + "Resource",)
_COUNTS = (  # the word, and whether it tells the least and the most
    ("cardinality", True, True),
    ("qualifiedCardinality", True, True),
    ("minCardinality", True, False),
    ("minQualifiedCardinality", True, False),
    ("maxCardinality", False, True),
    ("maxQualifiedCardinality", False, True),
)
_DIGITS = 9  # of a number of values
_LARGEST_SET = 1000  # classes of which it is said at once that no two have a member in common
_OF_THINGS = tuple(
    OWL + name
    for name in ("SymmetricProperty", "TransitiveProperty", "InverseFunctionalProperty",
                 "AsymmetricProperty", "ReflexiveProperty", "IrreflexiveProperty")
)  # fmt: skip


def classes_of(triples: Triples, names: Mapping[str, str], iris: Collection[str]) -> tuple[OntologyClass, ...]:
    """The classes, by name."""
    equivalents = _symmetric(triples.pairs(OWL + "equivalentClass"))
    disjoint = _symmetric(_disjoint_classes(triples))
    return tuple(
        OntologyClass(
            iri=iri,
            name=names[iri],
            labels=_texts(triples, iri, RDFS + "label"),
            comments=_texts(triples, iri, RDFS + "comment"),
            parents=_parents(triples, iri),
            equivalents=_named(equivalents[iri] - {iri}),
            disjoint=_named(disjoint[iri]),
            restrictions=_restrictions(triples, iri),
        )
        for iri in sorted(iris, key=names.__getitem__)
    )


def properties_of(
    triples: Triples, names: Mapping[str, str], kinds: Mapping[str, PropertyKind]
) -> tuple[Property, ...]:
    """The properties, by name."""
    inverses = _symmetric(triples.pairs(*_INVERSES))
    equivalents = _symmetric(triples.pairs(OWL + "equivalentProperty"))
    disjoint = _symmetric(
        [*triples.pairs(OWL + "propertyDisjointWith"), *_all_disjoint(triples, "AllDisjointProperties")]
    )
    traits = {
        name: triples.instances(OWL + name + "Property")
        for name in ("Functional", "InverseFunctional", "Symmetric", "Transitive")
    }
    return tuple(
        Property(
            iri=iri,
            name=names[iri],
            kind=kinds[iri],
            labels=_texts(triples, iri, RDFS + "label"),
            comments=_texts(triples, iri, RDFS + "comment"),
            domains=_ends(triples, triples.nodes(iri, *_DOMAINS)),
            ranges=_ends(triples, triples.nodes(iri, *_RANGES)),
            parents=_named(triples.nodes(iri, RDFS + "subPropertyOf")),
            inverses=_named(inverses[iri] - {iri}),
            equivalents=_named(equivalents[iri] - {iri}),
            disjoint=_named(disjoint[iri]),
            functional=iri in traits["Functional"],
            inverse_functional=iri in traits["InverseFunctional"],
            symmetric=iri in traits["Symmetric"] or iri in inverses[iri],
            transitive=iri in traits["Transitive"],
        )
        for iri in sorted(kinds, key=names.__getitem__)
    )


def class_iris(triples: Triples) -> set[str]:
    """The classes that are declared, or mentioned by a hierarchy of classes."""
    declared = triples.instances(OWL + "Class", RDFS + "Class")
    mentioned = {node for pair in triples.pairs(RDFS + "subClassOf") for node in pair}
    return {iri for iri in declared | mentioned if _is_own(iri)} - datatypes(triples)


def datatypes(triples: Triples) -> set[str]:
    """What has values for members: datatypes of its own, and the classes that schema.org has for them."""
    below: dict[str, list[str]] = defaultdict(list)
    for low, high in triples.pairs(RDFS + "subClassOf"):
        below[high].append(low)
    found = {*_DATATYPE_CLASSES, *triples.instances(*_DATATYPE_CLASSES), *triples.instances(RDFS + "Datatype")}
    frontier = list(found)
    while frontier:
        frontier = [low for at in frontier for low in below[at] if low not in found]
        found.update(frontier)
    return found


def xsd_datatypes(triples: Triples) -> dict[str, str]:
    """The XSD datatype that stands for each datatype of the graph's own; empty for those that any number is of."""
    found = {}
    for iri in datatypes(triples):
        namespace, local = iri.removesuffix(local_name(iri)), local_name(iri)
        if namespace in _SCHEMA_ORG:
            if local != "DataType":
                base = next((up for up in (local, *_above(triples, iri)) if up in _SCHEMA_ORG_DATATYPES), "Text")
                found[iri] = _SCHEMA_ORG_DATATYPES[base]
        else:
            defined = triples.nodes(iri, OWL + "equivalentClass", RDFS + "subClassOf")
            bases = [base for node in (iri, *defined) for base in triples.nodes(node, OWL + "onDatatype")]
            xsd = sorted({base for base in (*bases, *defined) if base.startswith(XSD)})
            found |= {iri: xsd[0]} if len(xsd) == 1 else {}
    return dict(sorted(found.items()))


def _above(triples: Triples, iri: str) -> list[str]:
    """The local names of the classes above, nearest first."""
    found: list[str] = [iri]
    for at in found:
        found += [up for up in triples.nodes(at, RDFS + "subClassOf") if up not in found]
    return [local_name(up) for up in found[1:]]


def property_kinds(triples: Triples) -> dict[str, PropertyKind]:
    """What each property leads to."""
    values = datatypes(triples)
    plain = {iri for iri in triples.instances(OWL + "DatatypeProperty") if _is_own(iri)}
    # FOAF has inverse functional properties with values: only what nobody says otherwise is of things by its traits.
    turned = {iri for pair in triples.pairs(OWL + "inverseOf") for iri in pair}
    implied = {iri for iri in triples.instances(*_OF_THINGS) | turned if _is_own(iri)} - plain
    things = {iri for iri in triples.instances(OWL + "ObjectProperty") if _is_own(iri)} | implied
    others = {iri for iri in triples.instances(RDF + "Property", OWL + "FunctionalProperty") if _is_own(iri)}
    kinds = {iri: _kind_by_range(triples, iri, values) for iri in others - things - plain}
    kinds |= dict.fromkeys(plain, PropertyKind.DATATYPE)
    kinds |= {iri: PropertyKind.EITHER if iri in plain else PropertyKind.OBJECT for iri in things}
    return kinds


def _kind_by_range(triples: Triples, iri: str, values: Collection[str]) -> PropertyKind:
    """By the property's own ranges, or those of the nearest property above that has some."""
    seen, frontier = {iri}, [iri]
    while frontier:
        ranges = {end for at in frontier for end in _ends(triples, triples.nodes(at, *_RANGES), every=True)}
        if ranges:
            break
        frontier = [up for at in frontier for up in triples.nodes(at, RDFS + "subPropertyOf") if up not in seen]
        seen.update(frontier)
    else:
        return PropertyKind.EITHER
    data = {end for end in ranges if end.startswith(XSD) or end in _LITERALS or end in values}
    if data == ranges:
        return PropertyKind.DATATYPE
    # What values are among others leaves room for a plain text in place of a thing.
    is_said = any(triples.nodes(at, RDFS + "range") for at in frontier)
    return PropertyKind.OBJECT if is_said and not data and not ranges & {*_ANYTHING} else PropertyKind.EITHER


def has_open_ends(triples: Triples) -> bool:
    """Whether most properties are told what they may start at among other things, not what they do."""
    closed, *included = ({subject for subject, _ in triples.pairs(one)} for one in _DOMAINS)
    return len(set().union(*included)) > len(closed)


def predicate_names(triples: Triples, iris: Collection[str]) -> dict[str, str]:
    """What terms are called. One that is only mentioned does not take the name from one that is described."""
    described = triples.described.intersection(iris)
    shared, own = Counter(map(local_name, iris)), Counter(map(local_name, described))
    by_namespace: dict[str, list[str]] = defaultdict(list)
    for prefix, namespace in sorted(triples.prefixes.items()):
        by_namespace[namespace].append(prefix)
    names: dict[str, str] = {}
    for iri in iris:
        local = local_name(iri)
        fitting = by_namespace.get(iri.removesuffix(local), [])
        if (own if iri in described else shared)[local] == 1 or "" in fitting:
            names[iri] = local
        else:
            names[iri] = f"{fitting[0]}:{local}" if fitting else iri
    return names


def _parents(triples: Triples, iri: str) -> tuple[str, ...]:
    """The classes that a class is below, or is defined to be a part of."""
    defined = [node for node in triples.nodes(iri, OWL + "equivalentClass") if is_blank(node)]
    return _named(_conjuncts(triples, [*triples.nodes(iri, RDFS + "subClassOf"), *defined]))


def _restrictions(triples: Triples, iri: str) -> tuple[Restriction, ...]:
    """What a class says of the properties of its members, by what it is below or the same as."""
    above = _conjuncts(triples, triples.nodes(iri, RDFS + "subClassOf", OWL + "equivalentClass"))
    found = {one for node in above if is_blank(node) for one in _restriction(triples, node)}
    return tuple(sorted(found, key=lambda one: (one.property, one.ranges, one.only, one.at_least, one.at_most or 0)))


def _restriction(triples: Triples, node: str) -> Iterator[Restriction]:
    for restricted in _named(triples.nodes(node, OWL + "onProperty")):
        only, some = (_ends(triples, triples.nodes(node, OWL + word)) for word in ("allValuesFrom", "someValuesFrom"))
        if only:
            yield Restriction(restricted, only, only=True)
        if triples.nodes(node, OWL + "someValuesFrom", OWL + "hasValue") or triples.texts(node, OWL + "hasValue"):
            yield Restriction(restricted, some, at_least=1)
        qualified = _ends(triples, triples.nodes(node, OWL + "onClass", OWL + "onDataRange"))
        # "At most one of this class" says nothing of values of other classes, unless there are none.
        ranges = set(_ends(triples, triples.nodes(restricted, *_RANGES)))
        is_total = not qualified or (bool(ranges) and ranges <= set(qualified))
        for word, is_least, is_most in _COUNTS:
            for text in triples.texts(node, OWL + word):
                if text.isdecimal() and len(text) <= _DIGITS:
                    most = int(text) if is_most and is_total else None
                    yield Restriction(restricted, qualified, at_least=int(text) if is_least else 0, at_most=most)


def _disjoint_classes(triples: Triples) -> Iterator[tuple[str, str]]:
    yield from triples.pairs(OWL + "disjointWith", OWL + "complementOf")
    yield from _all_disjoint(triples, "AllDisjointClasses")
    for _, members in triples.pairs(OWL + "disjointUnionOf"):
        yield from _each_two(list(triples.listed(members)))
    for iri, node in triples.pairs(RDFS + "subClassOf", OWL + "equivalentClass"):
        yield from ((iri, other) for other in triples.nodes(node, OWL + "complementOf") if is_blank(node))


def _all_disjoint(triples: Triples, kind: str) -> Iterator[tuple[str, str]]:
    for axiom in triples.instances(OWL + kind):
        for members in triples.nodes(axiom, OWL + "members"):
            yield from _each_two(list(triples.listed(members)))


def _each_two(members: list[str]) -> Iterator[tuple[str, str]]:
    """All pairs; a set so large that they would fill the memory is left out."""
    if len(members) > _LARGEST_SET:
        return iter(())
    return ((one, other) for place, one in enumerate(members) for other in members[place + 1 :])


def _symmetric(pairs: Iterable[tuple[str, str]]) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
        found[other].add(one)
    return found


def _conjuncts(triples: Triples, nodes: Iterable[str]) -> list[str]:
    """Classes, those of intersections included: who is in the intersection is in each."""
    found = dict.fromkeys(nodes)
    waiting = [node for node in found if is_blank(node)]
    while waiting:
        members = triples.nodes(waiting.pop(), OWL + "intersectionOf")
        more = [node for each in members for node in triples.listed(each) if node not in found]
        found.update(dict.fromkeys(more))
        waiting += filter(is_blank, dict.fromkeys(more))
    return list(found)


def _ends(triples: Triples, nodes: Iterable[str], every: bool = False) -> tuple[str, ...]:
    """Named classes and datatypes, those of unions and intersections included; `every` keeps what means anything."""
    named: set[str] = set()
    waiting = list(nodes)
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if is_blank(node):
            parts = [*triples.nodes(node, OWL + "onDatatype")]
            for members in triples.nodes(node, OWL + "unionOf", OWL + "intersectionOf"):
                parts += triples.listed(members)
            waiting += [part for part in dict.fromkeys(parts) if part not in seen]
            seen.update(parts)
            if triples.nodes(node, OWL + "oneOf") and every:
                named.add(RDFS + "Literal" if RDFS + "Datatype" in triples.nodes(node, TYPE) else OWL + "Thing")
        elif every or node not in (OWL + "Thing", *_ANYTHING):
            named.add(node)
    return tuple(sorted(named))


def _is_own(node: str) -> bool:
    return not is_blank(node) and not node.startswith(_BUILT_IN)


def _texts(triples: Triples, iri: str, predicate: str) -> tuple[str, ...]:
    return tuple(sorted(triples.texts(iri, predicate)))


def _named(nodes: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({node for node in nodes if _is_own(node)}))
