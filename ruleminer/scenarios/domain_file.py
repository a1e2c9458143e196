"""Domain files: TOML → domain. The written domains lie in domains/; a user may hand over another file.

    name = "university"
    [classes.Person]        size = 300                          # weight among the topmost classes
    [classes.Student]       parent = "Person", share = 0.6      # of its parent's members
    [attributes.birthDate]  of = "Person", value = "birth-date", missing = 0.1
    [links.attends]         from = "Student", to = "Course", many = [0, 6]
    [shortcuts.teachesIn]   path = ["givenBy", "officeAddress"]
    [narrowings.thesisOf]   property = "writtenBy", from = "Thesis"

All may have `synonyms` and a `comment`. What else there is to say is said in domains/university.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ruleminer.errors import InputError
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
    checked,
)
from ruleminer.scenarios.value_kinds import VALUE_KINDS, distinct_values

_VOCABULARY = "vocabulary.toml"


def written_domains() -> tuple[str, ...]:
    """The names of the domains that come with the product."""
    return tuple(
        sorted(
            item.name.removesuffix(".toml")
            for item in _folder().iterdir()
            if item.name.endswith(".toml") and item.name != _VOCABULARY
        )
    )


def read_domain(name: str) -> Domain:
    """The written domain of this name, or the domain in a TOML file."""
    if name in written_domains():
        return _domain(_folder().joinpath(f"{name}.toml").read_bytes(), f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml":
        known = ", ".join((*written_domains(), "random"))
        raise InputError(f"there is no domain {name!r}: use {known}, or a file ending in .toml")
    try:
        return _domain(path.read_bytes(), str(path))
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror})") from None


def checked_domain(domain: Domain, where: str) -> Domain:
    """The domain, if scenarios can be made of it; an error that tells the first fault otherwise."""
    for attribute in domain.attributes:
        if attribute.value not in VALUE_KINDS:
            raise InputError(f"{where}: {attribute.name}: there is no kind of value {attribute.value!r}")
        if (attribute.value == "choice") != bool(attribute.choices):
            raise InputError(f'{where}: {attribute.name}: choices go with value = "choice"')
        if attribute.at_most > max(1, distinct_values(attribute)):
            raise InputError(f"{where}: {attribute.name} cannot have {attribute.at_most} different values")
    return checked(domain, where)


def _folder() -> Traversable:
    return files(__package__).joinpath("domains")


def _domain(content: bytes, where: str) -> Domain:
    try:
        data = tomllib.loads(content.decode())
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8 text; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as problem:
        raise InputError(f"{where}: {problem}") from None
    try:
        return checked_domain(_parsed(data), where)
    except KeyError as problem:
        raise InputError(f"{where}: an entry lacks {problem.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise InputError(f"{where}: a value is not of the kind it should be ({problem})") from None


def _parsed(data: dict[str, Any]) -> Domain:
    sections = {"name", "comment", "namespace", "classes", "attributes", "links", "shortcuts", "narrowings"}
    _known(data, sections, "the file")
    properties: list[Property] = []
    for name, entry in data.get("attributes", {}).items():
        properties.append(_attribute(name, entry))
    for name, entry in data.get("links", {}).items():
        properties.append(_link(name, entry))
    for name, entry in data.get("shortcuts", {}).items():
        _known(entry, {"path"}, name)
        first, second = entry["path"]
        properties.append(Shortcut(_term(name, entry), first, second, entry.get("comment", "")))
    for name, entry in data.get("narrowings", {}).items():
        _known(entry, {"property", "from", "to"}, name)
        narrowing = Narrowing(
            _term(name, entry), entry["property"], entry.get("from"), entry.get("to"), entry.get("comment", "")
        )
        properties.append(narrowing)
    return Domain(
        name=data["name"],
        namespace=data["namespace"],
        classes=tuple(_class(name, entry) for name, entry in data["classes"].items()),
        properties=tuple(properties),
        comment=data.get("comment", ""),
    )


def _class(name: str, entry: dict[str, Any]) -> Class:
    known = {"parent", "share", "size", "subclasses", "at_most", "key", "iri", "natural"}
    _known(entry, known, name)
    kind = entry.get("subclasses", "disjoint")
    if kind not in ("disjoint", "overlapping"):
        raise ValueError(f"{name}: subclasses are disjoint or overlapping, not {kind}")
    return Class(
        term=_term(name, entry),
        size=float(entry["share"] if "parent" in entry else entry["size"]),
        parent=entry.get("parent"),
        overlapping=kind == "overlapping",
        at_most=entry.get("at_most"),
        key=tuple(_key_part(part) for part in entry["key"]) if "key" in entry else PLAIN_KEY,
        iri=entry.get("iri"),
        natural=_named(entry["natural"]) if "natural" in entry else None,
        comment=entry.get("comment", ""),
    )


def _key_part(part: dict[str, Any]) -> KeyPart:
    return KeyPart(_named(part), part.get("code", False))


def _attribute(name: str, entry: dict[str, Any]) -> Attribute:
    _known(entry, {"of", "value", "choices", "missing", "at_most"}, name)
    owners = entry["of"]
    return Attribute(
        term=_term(name, entry),
        domains=(owners,) if isinstance(owners, str) else tuple(owners),
        value=entry["value"],
        choices=tuple(entry.get("choices", ())),
        missing=float(entry.get("missing", 0)),
        at_most=int(entry.get("at_most", 1)),
        comment=entry.get("comment", ""),
    )


def _link(name: str, entry: dict[str, Any]) -> Link:
    _known(entry, {"from", "to", "missing", "many", "inverse"}, name)
    many = entry.get("many")
    if many is not None:
        least, most = many
        many = (int(least), int(most))
    return Link(
        term=_term(name, entry),
        domain=entry["from"],
        range=entry["to"],
        missing=float(entry.get("missing", 0)),
        many=many,
        inverse=_named(entry["inverse"]) if "inverse" in entry else None,
        comment=entry.get("comment", ""),
    )


def _term(name: str, entry: dict[str, Any]) -> Notion:
    return Notion(name, tuple(entry.get("synonyms", ())))


def _named(entry: dict[str, Any]) -> Notion:
    return _term(entry["name"], entry)


def _known(entry: dict[str, Any], names: Iterable[str], where: str) -> None:
    unknown = set(entry) - {*names, "synonyms", "comment"}
    if unknown:
        raise ValueError(f"{where} has an unknown entry {sorted(unknown)[0]!r}")
