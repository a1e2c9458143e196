"""Domains as values: the classes and properties of a made-up world, and the words people use for them.

A domain is what the ontology says before any database is made of it. `domain_file.py` reads one from a TOML file,
`random_domain.py` composes a fresh one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ruleminer.errors import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Notion:
    """A notion: its name as the ontology writes it, and other names a database may have for it."""

    name: str
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A column of a class's key: a running number, or a short code that many rows share or that is unique."""

    term: Notion
    is_code: bool = False


PLAIN_KEY = (KeyPart(Notion("ID", ("nr", "key", "number", "no"))),)


@dataclass(frozen=True, slots=True)
class Class:
    """A class. Its entities are named by their key, or by an IRI around it, or by a code beside it (`natural`).

    `size` is the weight of a root class among all, and the share of its parent's members for another.
    """

    term: Notion
    size: float
    parent: str | None = None
    overlapping: bool = False
    """Whether its direct sub-classes share members."""
    at_most: int | None = None
    key: tuple[KeyPart, ...] = PLAIN_KEY
    iri: str | None = None
    natural: Notion | None = None
    comment: str = ""

    @property
    def name(self) -> str:
        return self.term.name


@dataclass(frozen=True, slots=True)
class Attribute:
    """A datatype property; `value` is a kind of value_kinds.py, `at_most` how many an entity may have."""

    term: Notion
    domains: tuple[str, ...]
    value: str
    choices: tuple[str, ...] = ()
    missing: float = 0.0
    at_most: int = 1
    comment: str = ""

    @property
    def name(self) -> str:
        return self.term.name


@dataclass(frozen=True, slots=True)
class Link:
    """An object property. With `many` (least, most), an entity may have several; without, one or, if missing, none."""

    term: Notion
    domain: str
    range: str
    missing: float = 0.0
    many: tuple[int, int] | None = None
    inverse: Notion | None = None
    comment: str = ""

    @property
    def name(self) -> str:
        return self.term.name


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A property that is a link followed by a property: what a join of two tables tells."""

    term: Notion
    first: str
    second: str
    comment: str = ""

    @property
    def name(self) -> str:
        return self.term.name


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Another property, of the members of a narrower class, or to them: what a filter tells."""

    term: Notion
    of: str
    domain: str | None = None
    range: str | None = None
    comment: str = ""

    @property
    def name(self) -> str:
        return self.term.name


Property = Attribute | Link | Shortcut | Narrowing


@dataclass(frozen=True)
class Domain:
    """A whole domain; `properties` may come in any order."""

    name: str
    namespace: str
    classes: tuple[Class, ...]
    properties: tuple[Property, ...]
    comment: str = ""

    @cached_property
    def _classes(self) -> dict[str, Class]:
        return {cls.name: cls for cls in self.classes}

    @cached_property
    def _children(self) -> dict[str | None, tuple[Class, ...]]:
        found: dict[str | None, tuple[Class, ...]] = {}
        for cls in self.classes:
            found[cls.parent] = (*found.get(cls.parent, ()), cls)
        return found

    @cached_property
    def _properties(self) -> dict[str, Property]:
        return {prop.name: prop for prop in self.properties}

    def cls(self, name: str) -> Class:
        """The class of this name."""
        return self._classes[name]

    def prop(self, name: str) -> Property:
        """The property of this name (of an inverse, ask for the link)."""
        return self._properties[name]

    def lineage(self, name: str) -> tuple[Class, ...]:
        """A class and its super-classes, up to the root."""
        found = [self.cls(name)]
        while (parent := found[-1].parent) is not None:
            found.append(self.cls(parent))
        return tuple(found)

    def root(self, name: str) -> Class:
        """The topmost super-class."""
        return self.lineage(name)[-1]

    def is_within(self, name: str, ancestor: str) -> bool:
        """Whether a class is another or below it."""
        return any(cls.name == ancestor for cls in self.lineage(name))

    def children(self, name: str) -> tuple[Class, ...]:
        """The direct sub-classes."""
        return self._children.get(name, ())

    def tree(self, name: str) -> tuple[Class, ...]:
        """A class and all below it, parents first."""
        return (self.cls(name), *(below for child in self.children(name) for below in self.tree(child.name)))

    @property
    def roots(self) -> tuple[Class, ...]:
        return tuple(cls for cls in self.classes if cls.parent is None)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(prop for prop in self.properties if isinstance(prop, Attribute))

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(prop for prop in self.properties if isinstance(prop, Link))

    def is_object_property(self, name: str) -> bool:
        """Whether a property leads to entities rather than values."""
        match self.prop(name):
            case Link():
                return True
            case Shortcut(second=second):
                return self.is_object_property(second)
            case Narrowing(of=of):
                return self.is_object_property(of)
            case _:
                return False

    def ends(self, name: str) -> tuple[tuple[str, ...], str]:
        """The domains of a property, and its range: a class, or a kind of value."""
        match self.prop(name):
            case Attribute(domains=domains, value=value):
                return domains, value
            case Link(domain=domain, range=target):
                return (domain,), target
            case Shortcut(first=first, second=second):
                return self.ends(first)[0], self.ends(second)[1]
            case Narrowing(of=of, domain=narrow_domain, range=narrow_range):
                domains, target = self.ends(of)
                return (narrow_domain,) if narrow_domain else domains, narrow_range or target


def checked(domain: Domain, where: str) -> Domain:
    """The domain, if scenarios can be made of it; an error that tells the first fault otherwise."""
    for fault in _faults(domain):
        raise InputError(f"{where}: {fault}")
    return domain


def _faults(domain: Domain) -> Iterator[str]:
    inverses = [link.inverse.name for link in domain.links if link.inverse]
    names = [*domain._classes, *domain._properties, *inverses]
    if len(domain._classes) < len(domain.classes) or not domain.classes:
        yield "a domain needs classes, each of its own name"
    folded: set[str] = set()
    for name in names:
        if not _NAME.fullmatch(name):
            yield f"{name!r} is no name: letters, digits, '_' and '-', a letter first"
        if name.casefold() in folded:
            yield f"two classes or properties are called {name}"
        folded.add(name.casefold())
    for cls in domain.classes:
        yield from _class_faults(domain, cls)
    for prop in sorted(domain.properties, key=lambda prop: isinstance(prop, Shortcut | Narrowing)):
        yield from _property_faults(domain, prop)


def _class_faults(domain: Domain, cls: Class) -> Iterator[str]:
    seen = {cls.name}
    parent = cls.parent
    while parent is not None:
        if parent not in domain._classes:
            yield f"class {cls.name}: its parent {parent} is not there"
            return
        if parent in seen:
            yield f"class {cls.name} is below itself"
            return
        seen.add(parent)
        parent = domain.cls(parent).parent
    if cls.size <= 0 or (cls.parent and cls.size > 1):
        yield f"class {cls.name}: a size is above 0, and the share of a sub-class at most 1"
    if cls.parent and (cls.iri or cls.natural or cls.key != PLAIN_KEY):
        yield f"class {cls.name}: only a topmost class says how its entities are named"
    if cls.iri is not None and cls.iri.count("{}") != len(cls.key):
        yield f"class {cls.name}: its iri needs one {{}} for each of the {len(cls.key)} columns of its key"
    if cls.iri is None and len(cls.key) > 1:
        yield f"class {cls.name}: a key of several columns needs an iri"
    if cls.natural and (cls.iri or domain.children(cls.name)):
        yield f"class {cls.name}: a class with a natural code has no iri and no sub-classes"
    shares = sum(child.size for child in domain.children(cls.name))
    if not cls.overlapping and shares > 1.0001:
        yield f"class {cls.name}: the shares of its disjoint sub-classes add up to more than 1"


def _property_faults(domain: Domain, prop: Property) -> Iterator[str]:
    def known(*names: str | None) -> Iterator[str]:
        yield from (f"{prop.name}: there is no class {name}" for name in names if name and name not in domain._classes)

    match prop:
        case Attribute():
            if not prop.domains:
                yield f"{prop.name}: no class has it"
            yield from known(*prop.domains)
            if prop.at_most > 1 and len(prop.domains) > 1:
                yield f"{prop.name}: a property with several values has one class"
        case Link():
            yield from known(prop.domain, prop.range)
            if prop.many and not 0 <= prop.many[0] <= prop.many[1]:
                yield f"{prop.name}: many is [least, most]"
        case Shortcut():
            first, second = domain._properties.get(prop.first), domain._properties.get(prop.second)
            if not isinstance(first, Link) or not isinstance(second, Attribute | Link):
                yield f"{prop.name}: a path is a link and a property of the class it leads to"
            elif not any(domain.is_within(first.range, start) for start in domain.ends(second.name)[0]):
                yield f"{prop.name}: {first.range} has no {second.name}"
        case Narrowing():
            base = domain._properties.get(prop.of)
            if not isinstance(base, Attribute | Link):
                yield f"{prop.name}: there is no property {prop.of} to narrow"
                return
            yield from known(prop.domain, prop.range)
            if not prop.domain and not prop.range:
                yield f"{prop.name} narrows nothing: give `from` or `to`"
            domains, target = domain.ends(prop.of)
            if prop.domain and not any(domain.is_within(prop.domain, start) for start in domains):
                yield f"{prop.name}: {prop.domain} is not below {' or '.join(domains)}"
            if prop.range and (isinstance(base, Attribute) or not domain.is_within(prop.range, target)):
                yield f"{prop.name}: {prop.range} is not below {target}"
    if isinstance(prop, Attribute | Link) and not 0 <= prop.missing < 1:
        yield f"{prop.name}: missing is a share from 0 to below 1"
