"""Whether all facts of one rule are facts of another, as their texts show: then there is nothing to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ruleminer.rules.values import Atom, Part, Place, Rule, Term, Transformed, Variable, variable_in

Alike = Callable[[Place, Place], bool]
"""Whether equal values of two columns have the same lexical form."""


def is_contained(narrow: Rule, wide: Rule, alike: Alike) -> bool:
    """Whether each fact of the first rule is one of the second: all that the second asks for, the first does too."""
    if wide.exclusions:  # as refinement makes them: of the very same rule
        same = replace(wide, predicate=narrow.predicate, exclusions=narrow.exclusions) == narrow
        return same and {*wide.exclusions} <= {*narrow.exclusions}
    start: dict[Variable, Term] = {}
    for ours, theirs in zip(wide.arguments, narrow.arguments, strict=True):
        concat, other = wide.definition_of(ours), narrow.definition_of(theirs)
        if (concat is None) != (other is None):
            return False
        own, others = (concat.parts, other.parts) if concat and other else ((ours,), (theirs,))
        if len(own) != len(others):
            return False
        for here, there in zip(own, others, strict=True):
            if _form(here) != _form(there):
                return False
            one, two = variable_in(here), variable_in(there)
            if one is None or two is None:
                continue
            if start.setdefault(one, two) != two or not _forms_alike(_first(wide, one), _first(narrow, two), alike):
                return False
    return _maps(list(wide.body), narrow, start)


def _form(part: Part) -> object:
    """A part whatever its variable."""
    return (part.name, part.parameters) if isinstance(part, Transformed) else part if isinstance(part, str) else None


def widenings(rule: Rule) -> Iterator[Rule]:
    """The rule without one of the atoms that only ask whether a value stands in a column."""
    for number, atom in enumerate(rule.body):
        (_, term), *more = atom.columns
        if not more and isinstance(term, Variable) and any(term in other.variables for other in rule.body[:number]):
            yield replace(rule, body=rule.body[:number] + rule.body[number + 1 :])


def _maps(atoms: list[Atom], narrow: Rule, known: Mapping[Variable, Term]) -> bool:
    """Whether each atom can be found in the narrow rule, with the same terms for the same variables."""
    if not atoms:
        return True
    first, *rest = atoms
    for atom in narrow.body:
        if atom.table == first.table:
            found = _matched(first, atom, known)
            if found is not None and _maps(rest, narrow, found):
                return True
    return False


def _matched(atom: Atom, other: Atom, known: Mapping[Variable, Term]) -> dict[Variable, Term] | None:
    held: dict[str, list[Term]] = {}
    for column, term in other.columns:
        held.setdefault(column, []).append(term)
    options = dict(known)
    for column, term in atom.columns:
        there = held.get(column, [])
        if isinstance(term, Variable):
            if term not in options:
                if not there:
                    return None
                options[term] = there[0]
            if options[term] not in there:
                return None
        elif term not in there:
            return None
    return options


def _first(rule: Rule, variable: Variable) -> Place:
    return next(Place(atom.table, column) for atom in rule.body for column, term in atom.columns if term == variable)


def _forms_alike(one: Place, other: Place, alike: Alike) -> bool:
    return one == other or alike(one, other)
