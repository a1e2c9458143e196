"""One name for one rule: variables renamed in order, so that equal rules have equal text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, count

from ruleminer.rules.values import Atom, Concat, Part, Rule, Transformed, Variable

_HEAD = "xyz"
_BODY = "abcdefghijklmnopqrstuvw"


def canonical(rule: Rule) -> Rule:
    """The rule with its head variables called x, y, z and the others a, b, c, … in order of appearance.

    The order of atoms and columns is the writer's and stays.
    """
    names: dict[Variable, Variable] = {}
    for pool, variables in ((_HEAD, rule.arguments), (_BODY, _body_variables(rule))):
        fresh = _names(pool)
        for variable in variables:
            if variable not in names:
                names[variable] = Variable(next(fresh))
    return renamed(rule, names)


def renamed(rule: Rule, names: Mapping[Variable, Variable]) -> Rule:
    """The rule with some of its variables called otherwise, wherever they stand."""
    return Rule(
        rule.predicate,
        tuple(names.get(variable, variable) for variable in rule.arguments),
        tuple(_renamed(atom, names) for atom in rule.body),
        tuple(
            (names.get(variable, variable), Concat(tuple(_renamed_part(part, names) for part in concat.parts)))
            for variable, concat in rule.definitions
        ),
        exclusions=tuple((names.get(variable, variable), constant) for variable, constant in rule.exclusions),
    )


def _body_variables(rule: Rule) -> Iterator[Variable]:
    yield from chain.from_iterable(atom.variables for atom in rule.body)
    yield from (variable for variable, _ in rule.definitions)


def _renamed(atom: Atom, names: Mapping[Variable, Variable]) -> Atom:
    return Atom(
        atom.table,
        tuple((column, names.get(term, term) if isinstance(term, Variable) else term) for column, term in atom.columns),
    )


def _renamed_part(part: Part, names: Mapping[Variable, Variable]) -> Part:
    if isinstance(part, Transformed):
        return replace(part, variable=names.get(part.variable, part.variable))
    return names.get(part, part) if isinstance(part, Variable) else part


def _names(pool: str) -> Iterator[str]:
    yield from pool
    yield from (f"{pool[0]}{number}" for number in count(1))
