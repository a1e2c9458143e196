"""Spaces: which classes share their entities, and the template of their IRIs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ruleminer.problem.ontology import Ontology, local_name
from ruleminer.propose.key_spaces import KeySpaces, Partition, Place
from ruleminer.rules.mapping import Iri, iri_safe
from ruleminer.rules.values import Variable

HOLE = "{}"


@dataclass(frozen=True, slots=True)
class Space:
    """A template with one `{}` for the key, the names of the classes whose entities it names, and why."""

    template: str
    classes: tuple[str, ...]
    why: str

    def iri(self, *key: str | Variable) -> Iri:
        """The IRI of the entity with this key."""
        before, after = self.template.split(HOLE)
        return Iri(tuple(part for part in (before, *key, after) if part))


def class_spaces(ontology: Ontology, base: str, uses: Mapping[str, list[Place]], keys: KeySpaces) -> dict[str, Space]:
    """The space of each class. `uses` has the classes that the mapping names entities of, with their key columns."""
    spaces: dict[str, Space] = {}
    taken: set[str] = set()
    for hierarchy in _hierarchies(ontology):
        for name, why, members in _split(ontology, hierarchy, uses, keys):
            template = f"{base}{_free_name(iri_safe(name), taken)}/{HOLE}"
            classes = tuple(_name(ontology, iri) for iri in members)
            spaces.update(dict.fromkeys(members, Space(template, classes, why)))
    return spaces


def _hierarchies(ontology: Ontology) -> list[list[str]]:
    """Classes that hang together by sub-classes and equivalents, in the order of their names."""
    together: Partition[str] = Partition()
    order = [term.iri for term in ontology.classes]
    for term in ontology.classes:
        together.of(term.iri)
        for other in (*term.parents, *term.equivalents):
            together.join(term.iri, other)
    return together.groups(order)


def _split(
    ontology: Ontology, hierarchy: list[str], uses: Mapping[str, list[Place]], keys: KeySpaces
) -> list[tuple[str, str, list[str]]]:
    """Name, reason and classes of each space of a hierarchy: one, unless its keys are known to be unrelated."""
    below = {iri: set(ontology.descendants(iri)) & set(hierarchy) for iri in hierarchy}
    top = _topmost(ontology, hierarchy, below)
    groups = _related([iri for iri in hierarchy if iri in uses], below, uses, keys)
    own = [group for group in groups if any(keys.is_entity_key(place) for iri in group for place in uses[iri])]
    if len(own) < 2:
        others = [local_name(iri) for iri in hierarchy if iri != top]
        listed = f" and {others[0]}" if len(others) == 1 else f" and the {len(others)} classes of its hierarchy"
        return [(local_name(top), local_name(top) + (listed if others else ""), _from(top, hierarchy))]
    spaces, left = [], set(hierarchy)
    for group in groups:
        head = _topmost(ontology, group, below)
        members = [iri for iri in hierarchy if iri in left and (iri in group or any(iri in below[g] for g in group))]
        left -= set(members)
        why = f"{local_name(head)}, apart from other {local_name(top)}: no foreign key relates their keys"
        spaces.append((local_name(head), why, _from(head, members)))
    return [*spaces, (local_name(top), f"{local_name(top)}, where nothing tells more", _from(top, sorted(left)))]


def _from(first: str, members: list[str]) -> list[str]:
    return sorted(members, key=lambda iri: iri != first)


def _related(
    used: list[str], below: Mapping[str, set[str]], uses: Mapping[str, list[Place]], keys: KeySpaces
) -> list[list[str]]:
    """The classes in use by what relates them: one above the other, a class below both, or the same keys."""
    related: Partition[str | Place] = Partition()
    for number, iri in enumerate(used):
        for other in used[:number]:
            if ({iri} | below[iri]) & ({other} | below[other]):
                related.join(other, iri)
        for place in uses[iri]:
            related.join(iri, keys.of(place))
    groups: dict[str | Place, list[str]] = {}
    for iri in used:
        groups.setdefault(related.of(iri), []).append(iri)
    return list(groups.values())


def _topmost(ontology: Ontology, classes: Iterable[str], below: Mapping[str, set[str]]) -> str:
    """The class with most classes below it; of equivalents, the one with most children of its own; then by IRI."""
    children = Counter(parent for term in ontology.classes for parent in term.parents)
    return min(classes, key=lambda iri: (-len(below[iri]), -children[iri], iri))


def _free_name(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free.lower() in taken:
        number += 1
        free = f"{name}-{number}"
    taken.add(free.lower())
    return free


def _name(ontology: Ontology, iri: str) -> str:
    term = ontology.get(iri)
    return term.name if term else local_name(iri)
