"""Parts of a union that no example shows, but that the ontology and the structure suggest: offered, never taken.

A property that takes one column of a table may as well take the column of the same name elsewhere: the phone of
customers, of suppliers, of shippers. A class may have those tables among its parts whose keys are the subjects of
properties that it is the domain of, or their objects where it is the range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleminer.problem.ontology import Ontology, OntologyClass, Property
from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Place, Rule, Variable
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import likeness

MOST = 6  # that are offered for a term
_SAME_NAME = 0.95


@dataclass(frozen=True)
class _Plain:
    """A rule that takes one whole column of a table, or its key, without any condition."""

    table: str
    columns: tuple[str, ...]  # of each argument


def offers(decided: Mapping[str, Sequence[Rule]], ontology: Ontology, structure: Structure) -> dict[str, list[Rule]]:
    """For each term the rules that may be further parts of it; none that any term has been decided to be."""
    taken = {Body(rule) for rules in decided.values() for rule in rules}
    found: dict[str, list[Rule]] = {}
    for name, rules in decided.items():
        term = ontology.find(name)
        if isinstance(term, OntologyClass):
            suggested = _class_parts(term, rules, decided, ontology, structure)
        else:
            suggested = _property_parts(name, rules, structure)
        parts = [rule for rule in dict.fromkeys(suggested) if Body(rule) not in taken]
        if parts:
            found[name] = parts[:MOST]
    return found


def _property_parts(name: str, rules: Sequence[Rule], structure: Structure) -> Iterator[Rule]:
    """Columns of the same name and kind in the rows of other tables."""
    own = [plain for rule in rules if (plain := _plain(rule))]
    tables = {plain.table for plain in own}
    for plain in own:
        if len(plain.columns) != 2:
            continue
        column = structure.schema.table(plain.table).column(plain.columns[1])
        for table in structure.schema.tables:
            key = table.own_key
            if key is None or table.name in tables or table.rows == 0 or table.is_view:
                continue
            for other in table.columns:
                alike = likeness(column.name, other.name) >= _SAME_NAME and other.kind is column.kind
                if (
                    alike
                    and other.name != key
                    and _leads(plain.table, column.name, structure) == _leads(table.name, other.name, structure)
                ):
                    yield _rule(name, table.name, (key, other.name))


def _class_parts(
    term: OntologyClass,
    rules: Sequence[Rule],
    decided: Mapping[str, Sequence[Rule]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[Rule]:
    """The keys of the spaces in which properties of the class have their ends, but it has no rule."""
    own = {space for rule in rules if (space := _space(rule, 0, structure)) is not None}
    if not own or not all(map(_plain, rules)):
        return
    related = {term.iri, *ontology.ancestors(term.iri), *ontology.descendants(term.iri)}
    others = {
        space
        for name, some in decided.items()
        if isinstance(other := ontology.find(name), OntologyClass) and other.iri not in related
        for rule in some
        if (space := _space(rule, 0, structure)) is not None
    }
    for name, some in decided.items():
        prop = ontology.find(name)
        if not isinstance(prop, Property):
            continue
        for place, declared in enumerate((prop.domains, prop.ranges)):
            for rule in some if tuple(declared) == (term.iri,) else ():
                space = _space(rule, place, structure)
                if space is not None and space not in own | others:
                    yield _rule(term.name, space.table, (space.column,))


def _plain(rule: Rule) -> _Plain | None:
    if len(rule.body) != 1 or rule.constants or rule.definitions:
        return None
    [atom] = rule.body
    columns = [atom.columns_of(argument) for argument in rule.arguments]
    if any(len(some) != 1 for some in columns) or len(atom.columns) != len(rule.arguments):
        return None
    return _Plain(atom.table, tuple(some[0] for some in columns))


def _space(rule: Rule, place: int, structure: Structure) -> Place | None:
    """The key of the space that an argument is of; none for one that is put together."""
    argument = rule.arguments[place]
    if rule.definition_of(argument) is not None:
        return None
    spaces = (structure.space(where) for where in rule.places_of(argument))
    return next((space.key for space in spaces if space is not None), None)


def _leads(table: str, column: str, structure: Structure) -> Place | None:
    space = structure.space(Place(table, column))
    return None if space is None else space.key


def _rule(name: str, table: str, columns: Sequence[str]) -> Rule:
    variables = tuple(Variable(letter) for letter in "xy"[: len(columns)])
    return Rule(name, variables, (Atom(table, tuple(zip(columns, variables, strict=True))),))
