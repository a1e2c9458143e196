"""Whether a rule has the shape of a template, by trying every way to lay one over the other."""

from __future__ import annotations

from itertools import permutations

from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Spread, Template
from ruleminer.rules.values import Atom, Constant, Rule, Variable

Keys = dict[str, set[tuple[str, ...]]]
"""For each table the sets of columns that are keys."""


def is_instance(rule: Rule, template: Template, keys: Keys) -> bool:
    """Whether the rule comes out of the template; the order of atoms and of columns does not matter."""
    spreads = _spreads(rule, template)
    if spreads is None or len(rule.arguments) != len(template.arguments) or len(rule.body) != len(template.body):
        return False
    start = {variable.name: variable for variable in rule.arguments}
    return any(_fits(list(order), list(template.body), start, spreads, keys) for order in permutations(rule.body))


def _spreads(rule: Rule, template: Template) -> dict[str, set[Variable]] | None:
    """For each `a...` of the template the variables that the rule's concatenation has."""
    concatenations = dict(rule.definitions)
    if set(concatenations) != {variable for variable, _ in template.definitions}:
        return None
    return {
        spread.name: {part for part in concatenations[variable].parts if isinstance(part, Variable)}
        for variable, spread in template.definitions
        if isinstance(spread, Spread)
    }


def _fits(
    atoms: list[Atom],
    patterns: list[AtomPattern],
    bound: dict[str, Variable],
    spreads: dict[str, set[Variable]],
    keys: Keys,
) -> bool:
    if not atoms:
        return True
    atom, pattern = atoms[0], patterns[0]
    wanted = set().union(*(spreads[spread.name] for spread in pattern.spreads))
    if len(atom.columns) != len(pattern.columns) + len(wanted):
        return False
    for chosen in permutations(atom.columns, len(pattern.columns)):
        left = {term for column, term in atom.columns if (column, term) not in chosen}
        now = dict(bound)
        alike = left == wanted and all(
            _matches(slot, term, column, value, atom.table, now, keys)
            for (slot, term), (column, value) in zip(pattern.columns, chosen, strict=True)
        )
        injective = len(set(now.values())) == len(now)
        if alike and injective and _fits(atoms[1:], patterns[1:], now, spreads, keys):
            return True
    return False


def _matches(
    slot: object, term: object, column: str, value: object, table: str, bound: dict[str, Variable], keys: Keys
) -> bool:
    if isinstance(slot, Slot) and slot.restriction is Restriction.KEY and (column,) not in keys[table]:
        return False
    if isinstance(term, Slot):
        return isinstance(value, Constant)
    return isinstance(term, Variable) and isinstance(value, Variable) and bound.setdefault(term.name, value) == value
