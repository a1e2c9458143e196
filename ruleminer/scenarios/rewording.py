"""Another ontology for the same database: worded by somebody else, with more in it and less.

Who writes an ontology has not seen the schema. So terms go by other words, some have no label, some say nothing of
their domain or range; some terms that the data have are not in it, and some are in it that the data have not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property, PropertyKind
from ruleminer.scenarios.vocabulary import vocabulary, word_synonyms
from ruleminer.scenarios.words import cased, words_of

_SILENT = (0.0, 0.0, 0.1, 0.4)
_LOOSE = 0.45  # how many ontologies are vocabularies for everybody
_STRANGERS = (0.0, 0.0, 0.1, 0.1, 0.3, 0.3, 0.8, 0.8, 3.0)  # terms that the data have not, for each that they have
_MISPLACED = (0.0, 0.0, 0.0, 0.0, 0.1, 0.3)  # classes that stand elsewhere than the data have them
_GENERALISED = (0.0, 0.0, 0.0, 0.2)  # classes at the top that one more stands above, with the same members
_STRANGERS_OF_OPEN = (0.3, 0.8, 3.0, 6.0)
_BY_ROLE = (0.0, 0.4, 0.8)  # links named by nouns whose ends are a class: the heads of departments
_BY_VALUE = (0.0, 0.0, 0.1)  # properties that those who have them are a class by
_OBJECTS, _SUBJECTS = "objects of ", "subjects of "


def objects_of(name: str) -> str:
    """The origin of a class that is all that a property leads to."""
    return _OBJECTS + name


def subjects_of(name: str) -> str:
    """The origin of a class that is all that has a property."""
    return _SUBJECTS + name


@dataclass(frozen=True, slots=True)
class Reworded:
    """The ontology, and what each of its terms was called before, but for those that the data know nothing of.

    A term of a vocabulary for everybody may be several in one.
    """

    ontology: Ontology
    origin: Mapping[str, tuple[str, ...]]


def reworded(ontology: Ontology, generator: Random) -> Reworded:
    """The ontology in other words, with terms and axioms left out and terms added."""
    writer = _Writer(ontology, generator)
    left_out = generator.choice((0.0, 0.0, 0.1, 0.3))
    kept = [term for term in ontology.terms if generator.random() >= left_out]
    names = {term.iri: writer.name(term) for term in kept}
    origin: dict[str, tuple[str, ...]] = {names[term.iri]: (term.name,) for term in kept}
    silent = {axiom: generator.choice(_SILENT) for axiom in ("domains", "ranges", "inverses", "parents", "disjoint")}
    labelled = generator.choice((0.0, 0.3, 1.0))
    terms = [writer.written(term, names, silent, labelled) for term in kept]
    terms += [*writer.by_role(terms, origin), *writer.by_value(terms, origin)]
    terms = writer.misplaced(writer.generalised(terms, origin))
    is_open = generator.random() < _LOOSE
    if is_open:
        terms = writer.loosened(terms, origin)
    terms = writer.between([*terms, *writer.strangers(terms, is_open)], origin)
    if generator.random() < (0.8 if is_open else 0.4):
        terms = [writer.commented(term, origin) for term in terms]
    return Reworded(
        Ontology(
            tuple(sorted((t for t in terms if isinstance(t, OntologyClass)), key=lambda term: term.name)),
            tuple(sorted((t for t in terms if isinstance(t, Property)), key=lambda term: term.name)),
            ontology.prefixes,
            open_ended=is_open,
        ),
        origin,
    )


class _Writer:
    def __init__(self, ontology: Ontology, generator: Random) -> None:
        self.ontology, self.generator = ontology, generator
        self.space = "http://reworded.example/ontology#"
        self.other_words = generator.choice((0.0, 0.1, 0.3, 0.6))
        self.has = generator.choice((0.0, 0.2, 0.6))
        self.by_end = generator.choice((0.0, 0.0, 0.3))
        self.snake = generator.random() < 0.2
        self.chosen: dict[str, str] = {}
        self.taken: set[str] = set()

    def chance(self, probability: float) -> bool:
        return self.generator.random() < probability

    def word(self, word: str) -> str:
        """The word that is written for a word; the same each time."""
        if word not in self.chosen:
            others = word_synonyms(word)
            self.chosen[word] = self.generator.choice(others) if others and self.chance(self.other_words) else word
        return self.chosen[word]

    def name(self, term: OntologyTerm) -> str:
        own = [part for word in words_of(term.name) for part in words_of(self.word(word))]
        if isinstance(term, Property):
            ends = [found for iri in term.ranges if isinstance(found := self.ontology.get(iri), OntologyClass)]
            if ends and self.chance(self.by_end):  # hasAuthor, authorOf: what it leads to is all that is said
                end = [self.word(word) for word in words_of(ends[0].name)]
                own = ["has", *end] if self.chance(0.6) else [*words_of(own[0]), *end]
            elif self.chance(self.has) and own[0] not in ("has", "is"):
                own = ["has", *own]
        return self.free(own, isinstance(term, OntologyClass))

    def free(self, own: list[str], is_class: bool) -> str:
        own = [part for word in own for part in words_of(word)] or ["thing"]
        if self.snake:
            name = "_".join(own).capitalize() if is_class else "_".join(own)
        else:
            name = cased(tuple(own), "pascal" if is_class else "camel")
        fresh, number = name, 2
        while fresh.casefold() in self.taken:
            fresh, number = f"{name}{number}", number + 1
        self.taken.add(fresh.casefold())
        return fresh

    def written(
        self, term: OntologyTerm, names: Mapping[str, str], silent: Mapping[str, float], labelled: float
    ) -> OntologyTerm:
        """The term with its new name, its axioms in the new names, and some of them forgotten."""

        def told(axiom: str, iris: tuple[str, ...]) -> tuple[str, ...]:
            if iris and self.chance(silent[axiom]):
                return ()
            return tuple(self.space + names[i] if i in names else i for i in iris if i in names or "XMLSchema" in i)

        name = names[term.iri]
        labels: tuple[str, ...] = (" ".join(words_of(name)),) if self.chance(labelled) else ()
        if labels and self.chance(0.2):
            labels += (" ".join(words_of(term.name)),)
        iri, parents = self.space + name, told("parents", term.parents)
        if isinstance(term, OntologyClass):
            disjoint = told("disjoint", term.disjoint)
            return replace(term, iri=iri, name=name, labels=labels, parents=parents, disjoint=disjoint)
        return replace(
            term,
            iri=iri,
            name=name,
            labels=labels,
            parents=parents,
            domains=told("domains", term.domains),
            ranges=told("ranges", term.ranges),
            inverses=told("inverses", term.inverses),
        )

    def by_role(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """Classes of what links lead to that are named by nouns: the heads of departments are some of its people."""
        bank = vocabulary()["random"]
        roles = {words_of(role) for role in (*bank["agent_roles"], *bank["thing_roles"])}
        share = self.generator.choice(_BY_ROLE)
        found: list[OntologyTerm] = []
        for term in terms:
            if isinstance(term, Property) and term.ranges and words_of(origin[term.name][0])[-1:] in roles:
                role = [word for word in words_of(term.name) if word != "has"]
                start = [*words_of(term.domains[0].removeprefix(self.space))] if term.domains else []
                if self.chance(share):
                    name = self.free([*start, *role] if self.chance(0.6) else role, True)
                    origin[name] = tuple(objects_of(old) for old in origin[term.name])
                    found.append(OntologyClass(self.space + name, name, parents=term.ranges[:1]))
        return found

    def by_value(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """Classes of those that have some property: who has a licence is licensed."""
        share = self.generator.choice(_BY_VALUE)
        found: list[OntologyTerm] = []
        for term in terms:
            if isinstance(term, Property) and len(term.domains) == 1 and self.chance(share):
                own = [*words_of(term.domains[0].removeprefix(self.space))]
                said = [word for word in words_of(term.name) if word != "has"]
                name = self.free([*said, *own] if self.chance(0.5) else [*own, "with", *said], True)
                origin[name] = tuple(subjects_of(old) for old in origin[term.name])
                found.append(OntologyClass(self.space + name, name, parents=term.domains))
        return found

    def generalised(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """The terms with a wider class above some: of what it could hold, the data have the members of one class."""
        share = self.generator.choice(_GENERALISED)
        found: list[OntologyTerm] = []
        for term in terms:
            if isinstance(term, OntologyClass) and not term.parents and self.chance(share):
                own = words_of(term.name)
                wide = list(own[-1:]) if len(own) > 1 else [*own, self.generator.choice(("group", "item", "unit"))]
                kinds = [kind for kind in _kinds().values() if words_of(origin[term.name][0]) in kind.of]
                if kinds and self.chance(0.7):
                    wide = [*words_of(self.generator.choice(self.generator.choice(kinds).names))]
                name = self.free(wide, True)
                above = OntologyClass(self.space + name, name)
                origin[name] = origin[term.name]
                found.append(above)
                term = replace(term, parents=(above.iri,))
            found.append(term)
        return found

    def misplaced(self, terms: list[OntologyTerm]) -> list[OntologyTerm]:
        """The terms as somebody sees them who cuts the world otherwise: classes under others of their kind.

        So are the ends of some properties: of the class above, below or beside.
        """
        share = self.generator.choice(_MISPLACED)
        if not share:
            return terms
        classes = {term.iri: term for term in terms if isinstance(term, OntologyClass)}
        parents = {iri: one.parents for iri, one in classes.items()}

        def above(iri: str) -> list[str]:
            found = [iri]
            while (up := parents.get(found[-1], ())) and up[0] not in found:
                found.append(up[0])
            return found

        kin = {iri: [other for other in classes if above(other)[-1] == above(iri)[-1]] for iri in classes}
        for iri in classes:
            others = [other for other in kin[iri] if iri not in above(other)]
            if parents[iri] and others and self.chance(share):
                parents[iri] = (self.generator.choice(others),)

        def moved(iris: tuple[str, ...]) -> tuple[str, ...]:
            if len(iris) == 1 and iris[0] in kin and self.chance(share / 2):
                return (self.generator.choice(kin[iris[0]]),)
            return iris

        return [
            replace(term, parents=parents[term.iri])
            if isinstance(term, OntologyClass)
            else replace(term, domains=moved(term.domains), ranges=moved(term.ranges))
            for term in terms
        ]

    def loosened(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """As vocabularies for everybody are: classes above all, properties of values or things, for those above.

        What several kinds of things have (a name, an address) is one property, and people may be one class.
        """
        tops: list[OntologyClass] = []
        for noun in self.generator.sample(("thing", "agent", "item", "record", "concept", "entity"), 2):
            name = self.free([noun], True)
            tops.append(OntologyClass(self.space + name, name, parents=tuple(top.iri for top in tops)))
        for kind in self.generator.sample(list(_kinds()), len(_kinds())):
            if self.chance(0.6):
                terms = self.of_kind(terms, origin, kind)
        if self.chance(0.8):
            terms = self.shared(terms, origin)
        above = {term.iri: term.parents for term in terms if isinstance(term, OntologyClass)}
        lifted = {iri: parents or (self.generator.choice(tops).iri,) for iri, parents in above.items()}
        wide, either = self.generator.choice((0.1, 0.4, 0.7)), self.chance(0.7)
        found: list[OntologyTerm] = list(tops)
        for term in terms:
            if isinstance(term, OntologyClass):
                found.append(replace(term, parents=lifted[term.iri], disjoint=()))
                continue
            domains = term.domains
            if self.chance(wide):
                up = (above for one in domains for above in lifted.get(one, (one,)))
                domains = tuple(dict.fromkeys(up)) if len(domains) == 1 else (tops[0].iri,)
            kind = PropertyKind.EITHER if either else term.kind
            found.append(replace(term, kind=kind, domains=domains, inverses=(), functional=False))
        return found

    def of_kind(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]], kind: str) -> list[OntologyTerm]:
        """One class in the place of those at the top whose members are people, or organisations, places, works …"""
        known = _kinds()[kind]
        members = [
            term
            for term in terms
            if isinstance(term, OntologyClass) and not term.parents and words_of(origin[term.name][0]) in known.of
        ]
        if not members:
            return terms
        name = self.free([*words_of(self.generator.choice(known.names))], True)
        one = OntologyClass(self.space + name, name)
        origin[name] = tuple(dict.fromkeys(old for term in members for old in origin.pop(term.name)))
        gone = {term.iri for term in members}
        return [one, *(_renamed(term, gone, one.iri) for term in terms if term.iri not in gone)]

    def shared(self, terms: list[OntologyTerm], origin: dict[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """One property in the place of those with values of one sort, of one kind of thing each."""
        bank = vocabulary()["random"]
        sorts = {words_of(text): kind for text, kind in (bank["agent_attributes"] | bank["thing_attributes"]).items()}
        general = {kind: word for word, kinds in bank["general"].items() for kind in kinds}
        groups: dict[str, dict[str, Property]] = {}  # by the general word, then by class
        for term in terms:
            if isinstance(term, Property) and len(term.domains) == 1:
                own = words_of(origin[term.name][0])
                sort = next((kind for text, kind in sorts.items() if own[-len(text) :] == text), None)
                if sort in general:
                    groups.setdefault(general[sort], {}).setdefault(term.domains[0], term)
        gone: set[str] = set()
        fresh: list[OntologyTerm] = []
        for word, by_class in groups.items():
            if len(by_class) < 2 or self.chance(0.3):
                continue
            merged = list(by_class.values())
            name = self.free([self.word(part) for part in words_of(word)], False)
            origin[name] = tuple(old for term in merged for old in origin.pop(term.name))
            gone |= {term.iri for term in merged}
            labels = (" ".join(words_of(name)),) if merged[0].labels else ()
            fresh.append(replace(merged[0], iri=self.space + name, name=name, labels=labels, domains=tuple(by_class)))
        return [*(term for term in terms if term.iri not in gone), *fresh]

    def between(self, terms: list[OntologyTerm], origin: Mapping[str, tuple[str, ...]]) -> list[OntologyTerm]:
        """Some classes under one that the data have not, which is under their parent: finer than the data are."""
        share = self.generator.choice((0.0, 0.0, 0.2))
        strange = {term.iri: term for term in terms if isinstance(term, OntologyClass) and term.name not in origin}
        by_parent: dict[str, list[str]] = {}
        for iri, one in strange.items():
            for parent in one.parents:
                by_parent.setdefault(parent, []).append(iri)
        found: list[OntologyTerm] = []
        for term in terms:
            choices = [iri for parent in term.parents for iri in by_parent.get(parent, ())]
            if isinstance(term, OntologyClass) and term.iri not in strange and choices and self.chance(share):
                term = replace(term, parents=(self.generator.choice(choices),))
            found.append(term)
        return found

    def commented(self, term: OntologyTerm, origin: Mapping[str, tuple[str, ...]]) -> OntologyTerm:
        """The term with a comment: what it is in other words, and of what, or beside what."""
        if self.chance(0.2):
            return term
        old = self.generator.choice(origin.get(term.name, (term.name,)))
        old = old.removeprefix(_OBJECTS).removeprefix(_SUBJECTS)
        other = []
        for word in words_of(old):
            synonyms = word_synonyms(word)
            other.append(self.generator.choice(synonyms) if synonyms and self.chance(0.5) else word)
        said = f"A {' '.join(other)}" if isinstance(term, OntologyClass) else f"The {' '.join(other)}"
        if isinstance(term, Property) and term.domains and self.chance(0.6):
            said += f" of the {' '.join(words_of(term.domains[0].removeprefix(self.space)))}"
        beside = " ".join(words_of(self.generator.choice(sorted(origin)))) if origin else "thing"
        if self.chance(0.3):
            said += self.generator.choice((f", such as a {beside}", f". See {beside}", f", unlike {beside}"))
        return replace(term, comments=(f"{said}.",))

    def strangers(self, terms: list[OntologyTerm], is_open: bool) -> Iterator[OntologyTerm]:
        """Terms that the data have not, worded like the others and tied to them."""
        bank = vocabulary()["random"]
        either = any(isinstance(term, Property) and term.kind is PropertyKind.EITHER for term in terms)
        classes = [term for term in terms if isinstance(term, OntologyClass)]
        share = self.generator.choice(_STRANGERS_OF_OPEN if is_open else _STRANGERS)
        known = {words_of(term.name) for term in (*terms, *self.ontology.terms)}
        fresh: list[OntologyClass] = []
        for _ in range(round(share * len(classes))):
            noun = self.generator.choice([*bank["agents"], *bank["things"]])
            parents: tuple[str, ...] = ()
            if classes and self.chance(0.6):
                parent = self.generator.choice(classes)
                parents = (parent.iri,)
                if self.chance(0.75):
                    noun = f"{self.generator.choice(bank['qualifiers'])} {parent.name}"
            if words_of(noun) in known:  # no stranger
                continue
            name = self.free(list(words_of(noun)), True)
            fresh.append(OntologyClass(self.space + name, name, parents=parents))
        yield from fresh
        everything = [*classes, *fresh]
        for _ in range(round(share * sum(isinstance(term, Property) for term in terms)) if everything else 0):
            start, end = self.generator.choice(everything), self.generator.choice(everything)
            if self.chance(0.5):
                verb = self.generator.choice([*bank["verbs"], *bank["agent_verbs"], *bank["passive_verbs"]])
                said = [*words_of(verb), *(words_of(end.name) if self.chance(0.5) else ())]
                name = self.free(list(said), False)
                kind = PropertyKind.EITHER if either else PropertyKind.OBJECT
                yield Property(self.space + name, name, kind, domains=(start.iri,), ranges=(end.iri,))
            else:
                attribute = self.generator.choice([*bank["agent_attributes"], *bank["thing_attributes"]])
                called = words_of(attribute)
                if self.chance(0.3):  # it sounds like one that the data have
                    called = (*words_of(self.generator.choice(terms).name), *called[-1:])
                if called in known:
                    continue
                name = self.free([*(("has",) if self.chance(self.has) else ()), *called], False)
                starts = () if self.chance(0.2) else (start.iri,)
                kind = PropertyKind.EITHER if either else PropertyKind.DATATYPE
                yield Property(self.space + name, name, kind, domains=starts)


@dataclass(frozen=True)
class _Kind:
    names: tuple[str, ...]
    of: frozenset[tuple[str, ...]]


@cache
def _kinds() -> dict[str, _Kind]:
    """What a vocabulary for everybody calls kinds of things, and the nouns of each."""
    bank = vocabulary()["random"]
    return {
        name: _Kind(
            tuple(kind["names"]),
            frozenset(words_of(noun) for noun in (bank[kind["of"]] if isinstance(kind["of"], str) else kind["of"])),
        )
        for name, kind in bank["kinds"].items()
    }


def _renamed(term: OntologyTerm, gone: Set[str], iri: str) -> OntologyTerm:
    """The term with another class in the place of some."""

    def put(iris: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(iri if one in gone else one for one in iris))

    if isinstance(term, OntologyClass):
        return replace(term, parents=put(term.parents))
    return replace(term, domains=put(term.domains), ranges=put(term.ranges))
