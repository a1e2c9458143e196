"""Which atoms of a template hold nothing of the fact itself, and how far the search must reach to find their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Template
from ruleminer.rules.values import Concat, Variable


@dataclass(frozen=True, slots=True)
class InnerJoins:
    """What it takes to find the rows of inner atoms, such as a link table between two joins.

    `hops` scans beyond the first, each for rows that hold `needed` of the values reached so far, through columns
    with one of the `restrictions`, within their space; `by_value` if some template joins by the value alone.
    `across` tells that some template leads from one row to another at all; `joints` are the columns of an inner
    atom, at least, that are joined within their space.
    """

    hops: int
    restrictions: frozenset[Restriction | None]
    needed: int
    by_value: bool
    across: bool
    joints: int


def anchors(template: Template) -> set[Variable]:
    """The variables whose values can be read from a fact: arguments, and the first variable of a fixed text."""
    definitions = dict(template.definitions)
    found = {variable for variable in template.arguments if variable not in definitions}
    for definition in definitions.values():
        if isinstance(definition, Concat):
            found.update(definition.variables[:1])
    return found


def inner_joins(templates: Iterable[Template]) -> InnerJoins:
    """What all templates together need."""
    hops, restrictions, needed = 0, set[Restriction | None](), 2
    by_value = across = False
    joints: int | None = None
    for template in templates:
        across = across or sum(len(atom.columns) + len(atom.spreads) > 1 for atom in template.body) > 1
        known = anchors(template)
        outer = [atom for atom in template.body if atom.spreads or known & _variables(atom)]
        inner = [atom for atom in template.body if atom not in outer]
        if not inner:
            continue
        outside = set[Variable]().union(*map(_variables, outer))
        if any(len(_variables(atom) & outside) < 2 for atom in inner):
            needed = 1
        for atom in template.body:
            shared = set[Variable]().union(*(_variables(other) for other in inner if other is not atom))
            for name in (name for name, term in atom.columns if term in shared):
                if isinstance(name, Slot) and name.restriction is not Restriction.ANY:
                    restrictions.add(name.restriction)
                else:
                    by_value = True
        fewest = min(_joints(atom, template.body) for atom in inner)
        joints = fewest if joints is None else min(joints, fewest)
        hops = max(hops, _distance(inner, outside))
    return InnerJoins(hops, frozenset(restrictions), needed, by_value, across, joints or 0)


def _joints(atom: AtomPattern, body: Sequence[AtomPattern]) -> int:
    shared = set[Variable]().union(*(_variables(other) for other in body if other is not atom))
    joined = [name for name, term in atom.columns if term in shared]
    return sum(isinstance(name, Slot) and name.restriction is not Restriction.ANY for name in joined)


def _variables(atom: AtomPattern) -> set[Variable]:
    return {term for _, term in atom.columns if isinstance(term, Variable)}


def _distance(inner: list[AtomPattern], reached: set[Variable]) -> int:
    """How many steps from atom to atom it takes to reach all inner ones; those that cannot be reached do not count."""
    steps, waiting = 0, list(inner)
    while adjacent := [atom for atom in waiting if _variables(atom) & reached]:
        steps += 1
        reached = reached.union(*map(_variables, adjacent))
        waiting = [atom for atom in waiting if atom not in adjacent]
    return steps
