"""Which rule is another's inverse: the same rows, with the arguments turned round."""

from __future__ import annotations

from collections.abc import Sequence

from ruleminer.rules.body import Body
from ruleminer.rules.values import Constant, Rule, Transformed, Variable, variable_in


def turned_round(bodies: Sequence[Body]) -> list[int]:
    """For each rule the place of the one with its arguments turned round; -1 if there is none, or it is a class's."""
    places = {_ends_and_rows(body.of("_")): number for number, body in enumerate(bodies)}
    found = []
    for body in bodies:
        rule = body.of("_")
        found.append(-1 if len(rule.arguments) == 1 else places.get(_ends_and_rows(rule, turned=True), -1))
    return found


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
