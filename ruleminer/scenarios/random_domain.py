"""Random domains: a fresh ontology for each seed, composed from the nouns, adjectives and verbs of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from ruleminer.scenarios.domain import (
    PLAIN_KEY,
    Attribute,
    Class,
    Domain,
    KeyPart,
    Link,
    Narrowing,
    Notion,
    Property,
    Shortcut,
)
from ruleminer.scenarios.domain_file import checked_domain
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.vocabulary import vocabulary
from ruleminer.scenarios.words import cased, words_of

_MISSING = (0.0, 0.0, 0.0, 0.05, 0.1, 0.3)
_MANY = ((0, 2), (0, 4), (1, 2), (1, 3), (0, 6))
_KEYS = (
    (PLAIN_KEY, "{}"),
    (PLAIN_KEY, "{}"),
    ((KeyPart(Notion("code", ("ref", "symbol")), is_code=True),), "{}"),
    ((KeyPart(Notion("area", ("zone", "part")), is_code=True), KeyPart(Notion("number", ("seq", "no")))), "{}/{}"),
)


def random_domain(seed: int) -> Domain:
    """The random domain of a seed: four to eight hierarchies, and what they have and do."""
    composer = _Composer(randomness(seed, "domain"))
    composer.hierarchies()
    composer.attributes()
    composer.links()
    composer.shortcuts()
    composer.narrowings()
    domain = Domain(
        name=f"random-{seed}",
        namespace=f"http://domain-{seed}.example/ontology#",
        classes=tuple(composer.classes.values()),
        properties=tuple(composer.properties.values()),
        comment="A made-up domain.",
    )
    return checked_domain(domain, f"random domain {seed}")


class _Composer:
    """A domain in the making. A name that is taken is made longer, never given twice."""

    def __init__(self, generator: Random) -> None:
        self.generator = generator
        self.words: dict[str, Any] = vocabulary()["random"]
        self.snake = generator.random() < 0.25
        self.classes: dict[str, Class] = {}
        self.agents: set[str] = set()
        self.properties: dict[str, Property] = {}
        self.taken: set[str] = set()

    def chance(self, probability: float) -> bool:
        return self.generator.random() < probability

    def hierarchies(self) -> None:
        """The root classes and what is below them; at least one of them people."""
        agents = self.generator.randint(1, 2)
        things = self.generator.randint(3, 6)
        nouns = [(noun, True) for noun in self.generator.sample(self.words["agents"], agents)]
        nouns += [(noun, False) for noun in self.generator.sample(self.words["things"], things)]
        for noun, is_agent in self.generator.sample(nouns, len(nouns)):
            name = self.class_name(noun)
            has_children = self.chance(0.6)
            key, form = self.generator.choice(_KEYS) if self.chance(0.2) else (PLAIN_KEY, "")
            by_code = not form and not has_children and self.chance(0.15)
            self.add_class(
                Class(
                    Notion(name),
                    size=round(10 ** self.generator.uniform(0.9, 2.5), 1),
                    overlapping=self.chance(0.35),
                    key=key,
                    iri=f"http://data.example/{noun.lower()}/{form}" if form else None,
                    natural=Notion("code", ("ref", "abbreviation", "symbol")) if by_code else None,
                ),
                is_agent,
            )
            if has_children:
                self.children(name, noun, depth=1)

    def children(self, parent: str, noun: str, depth: int) -> None:
        count = self.generator.randint(1 if depth > 1 else 2, 4)
        shares = [self.generator.uniform(0.5, 1.5) for _ in range(count)]
        whole = sum(shares) * self.generator.uniform(1.0, 1.4)
        overlapping = self.classes[parent].overlapping
        fresh = [word for word in self.words["qualifiers"] if word.casefold() not in parent.casefold()]
        nouns = self.words["agents" if parent in self.agents else "things"]
        by_nouns = self.chance(0.35)  # an employee may be a nurse, not only a senior employee
        for qualifier, share in zip(self.generator.sample(fresh, count), shares, strict=True):
            texts = [f"{qualifier} {noun}", f"{qualifier} {parent}"]
            if by_nouns and self.chance(0.7) and (other := self.generator.choice(nouns)) != noun:
                texts = [other, *texts]
            name = self.class_name(*texts)
            size = min(0.9, 1.5 * share / whole) if overlapping else share / whole
            child = Class(Notion(name), round(size, 3), parent, overlapping=self.chance(0.2))
            self.add_class(child, parent in self.agents)
            if depth < 3 and self.chance(0.2):
                self.children(name, noun, depth + 1)

    def add_class(self, cls: Class, is_agent: bool) -> None:
        self.classes[cls.name] = cls
        if is_agent:
            self.agents.add(cls.name)

    def class_name(self, *texts: str) -> str:
        """The first of the names that is free, as a class is written: SeniorNurse or Senior_nurse."""
        if self.snake:
            return self.free("_".join(words_of(text)).capitalize() for text in texts)
        keep_hyphen = self.chance(0.5)
        return self.free(
            text.replace(" ", "") if "-" in text and keep_hyphen else cased(words_of(text), "pascal") for text in texts
        )

    def property_name(self, *texts: str) -> str:
        """The first of the names that is free."""
        return self.free(cased(words_of(text), "snake" if self.snake else "camel") for text in texts)

    def free(self, names: Iterable[str]) -> str:
        name = ""
        for name in names:
            if name.casefold() not in self.taken:
                break
        number = 2
        while name.casefold() in self.taken:
            name, number = f"{name}{number}", number + 1
        self.taken.add(name.casefold())
        return name

    def attributes(self) -> None:
        """Two to five for a root class, up to two for another; two classes may share a property."""
        by_text: dict[str, str] = {}
        for cls in self.classes.values():
            bank = self.words["agent_attributes" if cls.name in self.agents else "thing_attributes"]
            count = self.generator.randint(0, 2) if cls.parent else self.generator.randint(2, 5)
            for text in self.generator.sample(list(bank), count):
                known = self.properties.get(by_text.get(text, ""))
                if isinstance(known, Attribute) and self.chance(0.5):
                    self.share(known, cls.name)
                    continue
                name = self.property_name(text, f"{cls.name} {text}", f"{text} of {cls.name}")
                by_text[text] = name
                missing = self.generator.choice(_MISSING)
                self.properties[name] = Attribute(Notion(name), (cls.name,), bank[text], missing=missing)
        for text in self.generator.sample(list(self.words["many_attributes"]), self.generator.randint(0, 2)):
            owner = self.generator.choice(list(self.classes))
            name = self.property_name(text, f"{owner} {text}")
            kind = self.words["many_attributes"][text]
            self.properties[name] = Attribute(Notion(name), (owner,), kind, at_most=self.generator.randint(2, 4))

    def share(self, known: Attribute, owner: str) -> None:
        """Another class has the property too, unless it has it already from above or below."""
        if not any(self.related(owner, other) for other in known.domains):
            shared = Attribute(known.term, (*known.domains, owner), known.value, missing=known.missing)
            self.properties[known.name] = shared

    def links(self) -> None:
        """Links between any two classes, larger hierarchies not more often than small ones."""
        names = list(self.classes)
        for _ in range(self.generator.randint(6, 14)):
            start, end = self.generator.choice(names), self.generator.choice(names)
            verb = self.verb(start, end)
            spoken, by_role = f"{verb} {end}", False
            texts = (verb, spoken) if self.chance(0.5) else (spoken, f"{verb} this {end}")
            role = self.generator.choice(self.words["agent_roles" if end in self.agents else "thing_roles"])
            if self.chance(0.15):
                texts = (f"has {end}", spoken)
            elif by_role := self.chance(0.35):
                texts = (role, f"{start} {role}")
            name = self.property_name(*texts, f"{start} {spoken}")
            from_code, to_code = self.root(start).natural, self.root(end).natural
            if to_code and self.root(start).iri:
                continue  # no template joins a code to an IRI, nor a code to a table without a key of its own
            may_be_many = not to_code and not (from_code and self.root(end).iri)
            many = self.generator.choice(_MANY) if self.chance(0.4) and may_be_many else None
            inverse = None
            if self.chance(0.2) and not (many and from_code):
                told = f"{role if by_role else end} of"  # the owner of a car is at the end of its link
                inverses = (told, f"{told} {start}") if self.chance(0.6) else (f"has {start}", f"{told} {start}")
                inverse = Notion(self.property_name(*inverses))
            missing = 0.0 if many else self.generator.choice(_MISSING)
            self.properties[name] = Link(Notion(name), start, end, missing, many, inverse)

    def verb(self, start: str, end: str) -> str:
        banks = {
            (True, True): "people_verbs",
            (True, False): "agent_verbs",
            (False, True): "passive_verbs",
            (False, False): "verbs",
        }
        verb: str = self.generator.choice(self.words[banks[start in self.agents, end in self.agents]])
        return verb

    def shortcuts(self) -> None:
        """Up to two paths of a link and a property; keys only, for no rule of two joins is an IRI's."""
        firsts = [p for p in self.properties.values() if isinstance(p, Link) and not p.many and self.plain(p.domain)]
        for first in self.generator.sample(firsts, min(len(firsts), self.generator.randint(0, 2))):
            seconds = [
                prop
                for prop in self.properties.values()
                if prop.name != first.name and self.is_single(prop) and self.starts_at(prop, first.range)
            ]
            if seconds and self.plain(first.range):
                second = self.generator.choice(seconds)
                name = self.property_name(f"{first.range} {second.name}", f"{first.name} {second.name}")
                self.properties[name] = Shortcut(Notion(name), first.name, second.name)

    def narrowings(self) -> None:
        """Up to two properties of a class that hold for one below it only."""
        found = [
            (prop, cls.name)
            for prop in self.properties.values()
            for cls in self.classes.values()
            if self.is_single(prop)
            and self.plain(cls.name)
            and any(self.is_below(cls.name, owner) for owner in self.owners(prop))
        ]
        for prop, start in self.generator.sample(found, min(len(found), self.generator.randint(0, 2))):
            name = self.property_name(f"{start} {prop.name}", f"{prop.name} of {start}")
            self.properties[name] = Narrowing(Notion(name), prop.name, start)

    def is_single(self, prop: Property) -> bool:
        if isinstance(prop, Link):
            return not prop.many and self.plain(prop.range)
        return isinstance(prop, Attribute) and prop.at_most == 1

    def owners(self, prop: Property) -> tuple[str, ...]:
        match prop:
            case Attribute():
                return prop.domains
            case Link():
                return (prop.domain,)
            case _:
                return ()

    def starts_at(self, prop: Property, name: str) -> bool:
        return any(owner == name or self.is_below(name, owner) for owner in self.owners(prop))

    def plain(self, name: str) -> bool:
        """Whether entities of a class are named by their key."""
        return not self.root(name).iri and not self.root(name).natural

    def root(self, name: str) -> Class:
        while (parent := self.classes[name].parent) is not None:
            name = parent
        return self.classes[name]

    def is_below(self, name: str, ancestor: str) -> bool:
        parent = self.classes[name].parent
        return parent is not None and (parent == ancestor or self.is_below(parent, ancestor))

    def related(self, one: str, other: str) -> bool:
        return one == other or self.is_below(one, other) or self.is_below(other, one)
