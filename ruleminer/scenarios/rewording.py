"""Another ontology for the same database: worded by somebody else, with more in it and less.

Who writes an ontology has not seen the schema. So terms go by other words, some have no label, some say nothing of
their domain or range; some terms that the data have are not in it, and some are in it that the data have not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property, PropertyKind
from ruleminer.scenarios.vocabulary import vocabulary, word_synonyms
from ruleminer.scenarios.words import cased, words_of

_SILENT = (0.0, 0.0, 0.1, 0.4)
_LOOSE = 0.35  # how many ontologies are vocabularies for everybody
_STRANGERS = (0.0, 0.0, 0.1, 0.1, 0.3, 0.3, 0.8, 0.8, 3.0)  # terms that the data have not, for each that they have


@dataclass(frozen=True, slots=True)
class Reworded:
    """The ontology, and what each of its terms was called before, but for those that the data know nothing of."""

    ontology: Ontology
    origin: Mapping[str, str]


def reworded(ontology: Ontology, generator: Random) -> Reworded:
    """The ontology in other words, with terms and axioms left out and terms added."""
    writer = _Writer(ontology, generator)
    left_out = generator.choice((0.0, 0.0, 0.1, 0.3))
    kept = [term for term in ontology.terms if generator.random() >= left_out]
    names = {term.iri: writer.name(term) for term in kept}
    origin = {names[term.iri]: term.name for term in kept}
    silent = {axiom: generator.choice(_SILENT) for axiom in ("domains", "ranges", "inverses", "parents", "disjoint")}
    labelled = generator.choice((0.0, 0.3, 1.0))
    terms = [writer.written(term, names, silent, labelled) for term in kept]
    if generator.random() < _LOOSE:
        terms = writer.loosened(terms)
    terms += writer.strangers(terms)
    return Reworded(
        Ontology(
            tuple(sorted((t for t in terms if isinstance(t, OntologyClass)), key=lambda term: term.name)),
            tuple(sorted((t for t in terms if isinstance(t, Property)), key=lambda term: term.name)),
            ontology.prefixes,
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

    def loosened(self, terms: list[OntologyTerm]) -> list[OntologyTerm]:
        """As vocabularies for everybody are: classes above all, properties of values or things, for those above."""
        tops: list[OntologyClass] = []
        for noun in self.generator.sample(("thing", "agent", "item", "record", "concept", "entity"), 2):
            name = self.free([noun], True)
            tops.append(OntologyClass(self.space + name, name, parents=tuple(top.iri for top in tops)))
        above = {term.iri: term.parents for term in terms if isinstance(term, OntologyClass)}
        lifted = {iri: parents or (self.generator.choice(tops).iri,) for iri, parents in above.items()}
        wide, either = self.generator.choice((0.1, 0.4, 0.7)), self.chance(0.7)
        found: list[OntologyTerm] = list(tops)
        for term in terms:
            if isinstance(term, OntologyClass):
                found.append(replace(term, parents=lifted[term.iri], disjoint=()))
                continue
            domains = term.domains
            if len(domains) == 1 and self.chance(wide):
                domains = lifted.get(domains[0], domains)
            kind = PropertyKind.EITHER if either else term.kind
            found.append(replace(term, kind=kind, domains=domains, inverses=(), functional=False))
        return found

    def strangers(self, terms: list[OntologyTerm]) -> Iterator[OntologyTerm]:
        """Terms that the data have not, worded like the others and tied to them."""
        bank = vocabulary()["random"]
        either = any(isinstance(term, Property) and term.kind is PropertyKind.EITHER for term in terms)
        classes = [term for term in terms if isinstance(term, OntologyClass)]
        share = self.generator.choice(_STRANGERS)
        fresh: list[OntologyClass] = []
        for _ in range(round(share * len(classes))):
            noun = self.generator.choice([*bank["agents"], *bank["things"]])
            parents: tuple[str, ...] = ()
            if classes and self.chance(0.6):
                parent = self.generator.choice(classes)
                parents, noun = (parent.iri,), f"{self.generator.choice(bank['qualifiers'])} {parent.name}"
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
                name = self.free([*(("has",) if self.chance(self.has) else ()), *called], False)
                starts = () if self.chance(0.2) else (start.iri,)
                kind = PropertyKind.EITHER if either else PropertyKind.DATATYPE
                yield Property(self.space + name, name, kind, domains=starts)
