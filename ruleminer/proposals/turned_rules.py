"""Which rule is another's inverse: the same rows, with the arguments turned round."""

from __future__ import annotations

from collections.abc import Sequence

from ruleminer.rules.values import Constant, Rule, Transformed, Variable, variable_in

BothWays = tuple[object, object]
"""A rule as it is and turned round, up to how it is written; a class's is never another's inverse."""


def both_ways(rule: Rule) -> BothWays:
    """What tells a rule's inverse."""
    return _ends_and_rows(rule), None if len(rule.arguments) == 1 else _ends_and_rows(rule, turned=True)


def turned_round(rules: Sequence[BothWays], places: Sequence[int]) -> list[int]:
    """For each rule the place of the one with its arguments turned round; -1 if there is none, or it is a class's."""
    known = {as_it_is: place for (as_it_is, _), place in zip(rules, places, strict=True)}
    return [-1 if turned is None else known.get(turned, -1) for _, turned in rules]


def _ends_and_rows(rule: Rule, *, turned: bool = False) -> tuple[object, ...]:
    """A rule up to the order of its columns and the names of its variables; with what its arguments are made of."""
    named: dict[Variable, str] = {}
    made = []
    for number, argument in enumerate(rule.arguments[::-1] if turned else rule.arguments):
        concat = rule.definition_of(argument)
        parts = concat.parts if concat else (argument,)
        spelled: list[object] = []
        for part in parts:
            variable = variable_in(part)
            if variable is None:
                spelled.append(part)
                continue
            place = named.setdefault(variable, f"head{number}.{len(spelled)}")
            spelled.append((place, (part.name, part.parameters) if isinstance(part, Transformed) else None))
        made.append(tuple(spelled))
    for variable, positions in rule.positions.items():  # one within is known by where it stands
        named.setdefault(variable, repr(sorted(position.place for position in positions)))
    atoms = []
    for atom in rule.body:
        columns: list[tuple[str, object]] = []
        for column, term in sorted(atom.columns, key=lambda pair: pair[0]):
            if isinstance(term, Variable):
                columns.append((column, named[term]))
            else:
                columns.append((column, (term.kind, term.value) if isinstance(term, Constant) else None))
        atoms.append((atom.table, tuple(columns)))
    excluded = frozenset((named[variable], constant) for variable, constant in rule.exclusions)
    return frozenset(atoms), tuple(made), excluded
