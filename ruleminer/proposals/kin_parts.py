"""Parts of a union that no example shows, but that follow from what examples show of other terms: taken, and told.

What has a jobTitle is a Person where that is all that a jobTitle may be of: if the examples of jobTitle are of
employees, employees are persons, though the examples of Person are customers. And if customers and employees are
persons, and the examples of email are the column `email` of customers, so is the column `email` of employees. What is
only likely, for a name or a sort of thing fits, is offered (`offers.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleminer.problem.ontology import Ontology, OntologyClass, Property
from ruleminer.rules.body import Body
from ruleminer.rules.canonical import canonical
from ruleminer.rules.values import Atom, Concat, Place, Rule, Transformed, Variable
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import likeness

_SAME_NAME = 0.95
_X, _Y, _KEY = Variable("x"), Variable("y"), Variable("a")


@dataclass(frozen=True, slots=True)
class KinPart:
    """A rule that follows for a term, and why."""

    rule: Rule
    why: str


@dataclass(frozen=True, slots=True)
class _Part:
    """All rows of a table under its own key, which may be spelt into an IRI, and perhaps one whole column of them."""

    table: str
    key: str
    spelt: Concat | None
    column: str | None = None

    def rule(self, term: str) -> Rule:
        key = _X if self.spelt is None else _KEY
        columns = ((self.key, key), *(((self.column, _Y),) if self.column else ()))
        arguments = (_X, _Y) if self.column else (_X,)
        definitions = () if self.spelt is None else ((_X, self.spelt),)
        return canonical(Rule(term, arguments, (Atom(self.table, columns),), definitions))


def kin_parts(
    decided: Mapping[str, Sequence[Rule]], ontology: Ontology, structure: Structure
) -> Iterator[tuple[str, KinPart]]:
    """The parts that follow for the terms that examples decide, by what is decided of all of them."""
    parts = {
        name: [part for rule in rules if (part := _part(rule, structure)) is not None]
        for name, rules in decided.items()
        if rules
    }
    whole = {name: some for name, some in parts.items() if len(some) == len(decided[name])}
    known = {Body(rule) for rules in decided.values() for rule in rules}
    classes = {name: some for name, some in whole.items() if isinstance(ontology.find(name), OntologyClass)}
    for name in classes:
        yield from ((name, one) for one in _of_class(name, classes, whole, ontology, structure))
    for name in (name for name in whole if name not in classes):
        some = _of_property(name, whole[name], classes, ontology, structure)
        yield from ((name, one) for one in some if Body(one.rule) not in known)


def _of_class(
    name: str,
    classes: Mapping[str, Sequence[_Part]],
    whole: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[KinPart]:
    """The tables that properties of this class alone have their subjects in, unless those are of another class."""
    term = ontology.find(name)
    related = {term.iri, *ontology.ancestors(term.iri), *ontology.descendants(term.iri)}
    taken = {part.table for part in classes[name]}
    taken |= {part.table for other, some in classes.items() if ontology.find(other).iri not in related for part in some}
    spelt = any(part.spelt for part in classes[name])
    for other, some in whole.items():
        prop = ontology.find(other)
        if not isinstance(prop, Property) or tuple(prop.domains) != (term.iri,):
            continue
        for part in some:
            sparse = part.column is None or Place(part.table, part.column) in structure.sparse
            if part.table not in taken and not sparse and (part.spelt is not None) == spelt:
                taken.add(part.table)
                yield KinPart(replace(part, column=None).rule(name), f"{other} is of nothing else, and of {part.table}")


def _of_property(
    name: str,
    own: Sequence[_Part],
    classes: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[KinPart]:
    """The column of the same name in the other tables of a class, if one of them is shown and the class is meant."""
    prop = ontology.find(name)
    assert isinstance(prop, Property)
    shown = {part.table: part for part in own}
    for other, some in classes.items():
        iri = ontology.find(other).iri
        if prop.domains and not {iri, *ontology.ancestors(iri)} & {*prop.domains}:
            continue
        like = next((shown[part.table] for part in some if part.table in shown), None)
        for part in some if like is not None else ():
            if like is None or part.table in shown or (part.spelt is None) != (like.spelt is None):
                continue
            columns = _called(like, part.table, structure)
            if len(columns) == 1:
                shown[part.table] = replace(part, column=columns[0])
                yield KinPart(shown[part.table].rule(name), f"it is shown of {like.table}, and both are {other}")


def _called(like: _Part, table: str, structure: Structure) -> list[str]:
    """The columns of a table that are called as one of another table, of the same kind, and lead to the same."""
    schema = structure.schema
    wanted = schema.table(like.table).column(like.column or "")
    return [
        column.name
        for column in schema.table(table).columns
        if likeness(wanted.name, column.name) >= _SAME_NAME
        and column.kind is wanted.kind
        and structure.space(Place(like.table, wanted.name)) == structure.space(Place(table, column.name))
    ]


def _part(rule: Rule, structure: Structure) -> _Part | None:
    """A rule of one table that takes its own key and perhaps one more column, of all rows; None for any other."""
    if (
        len(rule.body) != 1
        or rule.constants
        or rule.exclusions
        or rule.empty
        or rule.body[0].table not in structure.schema
    ):
        return None
    [atom] = rule.body
    table = structure.schema.table(atom.table)
    subject, spelt = rule.arguments[0], rule.definition_of(rule.arguments[0])
    if spelt is not None:
        if len(spelt.variables) != 1 or not spelt.is_path:
            return None
        subject = spelt.variables[0]
        spelt = Concat(tuple(_renamed(part) for part in spelt.parts))
    if atom.columns_of(subject) != (table.own_key,) or len(atom.columns) != len(rule.arguments):
        return None
    if len(rule.arguments) == 1:
        return _Part(atom.table, table.own_key or "", spelt)
    value = rule.arguments[1]
    columns = atom.columns_of(value)
    if rule.definition_of(value) is not None or len(columns) != 1 or value == subject:
        return None
    return _Part(atom.table, table.own_key or "", spelt, columns[0])


def _renamed(part: str | Variable | Transformed) -> str | Variable | Transformed:
    if isinstance(part, Transformed):
        return replace(part, variable=_KEY)
    return part if isinstance(part, str) else _KEY
