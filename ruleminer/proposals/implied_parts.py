"""Parts of a union that no example shows, but that follow from what examples show of other terms: taken, and told.

What has a jobTitle is a Person where that is all that a jobTitle may be of: if the examples of jobTitle are of
employees, employees are persons, though the examples of Person are customers. What a seller leads to is a Person where
that is the only class of ours that it may be, and the table has the columns that all our persons have. And if customers
and employees are persons, and the examples of email are the column `email` of customers, so is the column `email` of
employees, and that of stores, if a store is what an email may be of. A property that examples show as what the rows of
several tables are called, in columns of different names, is what the rows of all are called that it may be of. What is
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
_X, _Y, _KEY, _VALUE = Variable("x"), Variable("y"), Variable("a"), Variable("b")


@dataclass(frozen=True, slots=True)
class ImpliedPart:
    """A rule that follows for a term, and why; with all `others` of its sort, or none: if it is meant, they are."""

    rule: Rule
    why: str
    others: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """All rows of a table under its own key, and perhaps one whole column of them; both may be spelt into IRIs."""

    table: str
    key: str
    spelt: Concat | None
    column: str | None = None
    told: Concat | None = None  # how the value of the column is spelt

    def rule(self, term: str) -> Rule:
        key, value = _X if self.spelt is None else _KEY, _Y if self.told is None else _VALUE
        columns = ((self.key, key), *(((self.column, value),) if self.column else ()))
        arguments = (_X, _Y) if self.column else (_X,)
        spelt = ((_X, self.spelt), (_Y, self.told if self.column else None))
        definitions = tuple((variable, concat) for variable, concat in spelt if concat is not None)
        return canonical(Rule(term, arguments, (Atom(self.table, columns),), definitions))


def implied_parts(
    decided: Mapping[str, Sequence[Rule]], ontology: Ontology, structure: Structure
) -> Iterator[tuple[str, ImpliedPart]]:
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
    yield from _led_to(decided, classes, whole, ontology, structure)
    for name in (name for name in whole if name not in classes):
        some = _of_property(name, whole[name], classes, ontology, structure)
        yield from ((name, one) for one in some if Body(one.rule) not in known)


def _of_class(
    name: str,
    classes: Mapping[str, Sequence[_Part]],
    whole: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[ImpliedPart]:
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
                yield ImpliedPart(
                    replace(part, column=None, told=None).rule(name), f"{other} is of nothing else, and of {part.table}"
                )


def _led_to(
    decided: Mapping[str, Sequence[Rule]],
    classes: Mapping[str, Sequence[_Part]],
    whole: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[tuple[str, ImpliedPart]]:
    """Tables of no class that a property leads to, where they look like one class of ours alone of those it may be."""
    taken = {part.table for some in classes.values() for part in some}
    for name, rules in decided.items():
        prop = ontology.find(name)
        if not isinstance(prop, Property) or not prop.ranges:
            continue
        may_be = [one for one in classes if _is_below(ontology.find(one).iri, prop.ranges, ontology)]
        for part in (found for rule in rules if (found := _end(rule, structure)) is not None):
            if part.table in taken:
                continue
            columns = {one: _looks_like(part, one, classes[one], whole, ontology, structure) for one in may_be}
            fitting = [one for one in may_be if columns[one]]
            if len(fitting) == 1:
                taken.add(part.table)
                [of] = fitting
                has = ", ".join(columns[of])
                yield of, ImpliedPart(part.rule(of), f"{name} leads to {part.table}, which has {has} as all {of} have")


def _looks_like(
    part: _Part,
    name: str,
    own: Sequence[_Part],
    whole: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> list[str]:
    """The columns that all tables of a class have for properties of it alone, if another table has them, too."""
    if any((part.spelt is None) != (other.spelt is None) for other in own):
        return []
    iri, tables = ontology.find(name).iri, {other.table for other in own}
    found: set[str] = set()
    for other, some in whole.items():
        prop = ontology.find(other)
        if not isinstance(prop, Property) or tuple(prop.domains) != (iri,) or {one.table for one in some} != tables:
            continue
        if len(columns := _called(some[0], part.table, structure)) != 1:
            return []
        found.update(columns)
    return sorted(found)


def _end(rule: Rule, structure: Structure) -> _Part | None:
    """All rows of the table whose key a rule's second argument is, which may be spelt into an IRI."""
    if len(rule.arguments) != 2:
        return None
    end, spelt = rule.arguments[1], rule.definition_of(rule.arguments[1])
    if spelt is not None:
        if len(spelt.variables) != 1 or not spelt.is_path:
            return None
        end, spelt = spelt.variables[0], _renamed(spelt, _KEY)
    space = next((space for place in rule.places_of(end) if (space := structure.space(place)) is not None), None)
    if space is None or structure.schema.table(space.key.table).own_key != space.key.column:
        return None
    return _Part(space.key.table, space.key.column, spelt)


def _is_below(iri: str, declared: Sequence[str], ontology: Ontology) -> bool:
    return not {iri, *ontology.ancestors(iri)}.isdisjoint(declared)


def _of_property(
    name: str,
    own: Sequence[_Part],
    classes: Mapping[str, Sequence[_Part]],
    ontology: Ontology,
    structure: Structure,
) -> Iterator[ImpliedPart]:
    """The same column of the other tables of a class that is meant: one of them is shown, or the ontology says so.

    The same is a column of the same name; or, if examples show what rows are called, what those of the table are.
    """
    prop = ontology.find(name)
    assert isinstance(prop, Property)
    shown = {part.table: part for part in own}
    called = _names_rows(own, structure)
    for other, some in classes.items():
        declared = _is_below(ontology.find(other).iri, prop.domains, ontology)
        if prop.domains and not declared:
            continue
        same = next((shown[part.table] for part in some if part.table in shown), None)
        if same is None and not declared:
            continue
        for part in some:
            if part.table in shown or any((part.spelt is None) != (like.spelt is None) for like in own):
                continue
            if any(_are_the_same_things(part, like, structure) for like in own):
                continue
            for like in (same,) if same is not None else tuple(own):
                columns = _called(like, part.table, structure)
                if not columns and called and like.told is None:
                    columns = list(structure.naming_columns(structure.schema.table(part.table)))
                if len(columns) == 1:
                    shown[part.table] = replace(part, column=columns[0], told=like.told)
                    why = f"both are {other}" if same is not None else f"{other} is what it may be of"
                    told = f"it is shown of {like.table}, and {why}"
                    yield ImpliedPart(shown[part.table].rule(name), told, others=same is None)
                    break


def _are_the_same_things(part: _Part, other: _Part, structure: Structure) -> bool:
    """Whether two tables are about the same things: one is a view of the other, or their keys are one."""
    one, two = (structure.space(Place(table, key)) for table, key in ((part.table, part.key), (other.table, other.key)))
    return one is not None and one == two


def _names_rows(own: Sequence[_Part], structure: Structure) -> bool:
    """Whether a property is what the rows of several tables are called, in columns that have different names."""
    naming = (structure.naming_columns(structure.schema.table(part.table)) == (part.column,) for part in own)
    return len({part.column for part in own}) > 1 and all(naming)


def _called(like: _Part, table: str, structure: Structure) -> list[str]:
    """The columns of a table that are called as one of another table, of the same kind, and lead to the same.

    Its own key is not what it has, but what it is.
    """
    schema = structure.schema
    wanted = schema.table(like.table).column(like.column or "")
    return [
        column.name
        for column in schema.table(table).columns
        if likeness(wanted.name, column.name) >= _SAME_NAME
        and column.name != schema.table(table).own_key
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
        subject, spelt = spelt.variables[0], _renamed(spelt, _KEY)
    if atom.columns_of(subject) != (table.own_key,) or len(atom.columns) != len(rule.arguments):
        return None
    if len(rule.arguments) == 1:
        return _Part(atom.table, table.own_key or "", spelt)
    value, told = rule.arguments[1], rule.definition_of(rule.arguments[1])
    if told is not None:
        if len(told.variables) != 1 or not told.is_path:
            return None
        value, told = told.variables[0], _renamed(told, _VALUE)
    columns = atom.columns_of(value)
    if len(columns) != 1 or value == subject:
        return None
    return _Part(atom.table, table.own_key or "", spelt, columns[0], told)


def _renamed(spelt: Concat, variable: Variable) -> Concat:
    """The spelling of one column, by another name of its value."""

    def one(part: str | Variable | Transformed) -> str | Variable | Transformed:
        if isinstance(part, Transformed):
            return replace(part, variable=variable)
        return part if isinstance(part, str) else variable

    return Concat(tuple(map(one, spelt.parts)))
