"""Rules for a predicate without examples: what names and structure alone suggest.

Classes: the keys of tables, links to them, and the rows that a flag or a code of few values picks out.
Properties: two columns of a row, one of them a key or a link, and a value across one link.
"""

from __future__ import annotations

from collections.abc import Iterator

from ruleminer.problem.ontology import OntologyClass, OntologyTerm, Property, PropertyKind
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Atom, Constant, Rule, Variable
from ruleminer.sources.schema import Schema, Table

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("a")


def guesses(term: OntologyTerm, derivations: Derivations) -> list[Rule]:
    """The rules that may be meant by a term that has no example."""
    schema = derivations.database.schema
    tables = [table for table in schema.tables if table.rows != 0]
    if isinstance(term, OntologyClass):
        rules = (rule for table in tables for rule in _class_rules(term.name, table, derivations))
    else:
        rules = (rule for table in tables for rule in _property_rules(term, table, schema))
    return list(dict.fromkeys(rules))


def _class_rules(name: str, table: Table, derivations: Derivations) -> Iterator[Rule]:
    for column in _entity_columns(table):
        yield Rule(name, (_X,), (Atom(table.name, ((column, _X),)),))
    key = next(iter(table.keys), None)
    if key is None:
        return
    for column, constant in _codes(table, derivations):
        yield Rule(name, (_X,), (Atom(table.name, ((key, _X), (column, constant))),))


def _property_rules(term: Property, table: Table, schema: Schema) -> Iterator[Rule]:
    links = table.link_ends
    for x in _entity_columns(table):
        for column in table.columns:
            if column.name == x:
                continue
            if term.kind is PropertyKind.OBJECT and column.name not in (*links, *table.keys):
                continue
            yield Rule(term.name, (_X, _Y), (Atom(table.name, ((x, _X), (column.name, _Y))),))
    if term.kind is PropertyKind.OBJECT:
        return
    for x in table.keys:
        for link, (target, target_key) in links.items():
            for column in schema.table(target).columns:
                if link != x and column.name != target_key:
                    first = Atom(table.name, ((x, _X), (link, _Z)))
                    yield Rule(term.name, (_X, _Y), (first, Atom(target, ((target_key, _Z), (column.name, _Y)))))


def _entity_columns(table: Table) -> list[str]:
    found = list(dict.fromkeys([*table.keys, *table.link_ends]))
    return found or [column.name for column in table.columns[:1]]


def _codes(table: Table, derivations: Derivations) -> Iterator[tuple[str, Constant]]:
    """The columns with few values, and each value."""
    for name, values in derivations.structure.kinds(table.name).items():
        kind = table.column(name).kind
        yield from ((name, constant) for value in values if (constant := constant_of(value, kind)))
