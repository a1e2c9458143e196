"""Rules for a predicate without examples: what names and structure alone suggest.

Classes: the keys of tables, links to them, and the rows that a flag or a code of few values picks out.
Properties: two columns of a row, one of them a key or a link, and a value across one link.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ruleminer.errors import DatabaseError
from ruleminer.problem.ontology import OntologyClass, Property, PropertyKind, Term
from ruleminer.problem.schema import Column, Schema, Table
from ruleminer.propose.extensions import Extensions
from ruleminer.rules.values import Atom, Constant, Kind, Rule, Variable

_FEW = 12  # values that make a column a code
_X, _Y, _Z = Variable("x"), Variable("y"), Variable("a")


def guesses(term: Term, extensions: Extensions) -> list[Rule]:
    """The rules that may be meant by a term that has no example."""
    schema = extensions.database.schema
    tables = [table for table in schema.tables if table.rows != 0]
    if isinstance(term, OntologyClass):
        rules = (rule for table in tables for rule in _class_rules(term.name, table, extensions))
    else:
        rules = (rule for table in tables for rule in _property_rules(term, table, schema))
    return list(dict.fromkeys(rules))


def _class_rules(name: str, table: Table, extensions: Extensions) -> Iterator[Rule]:
    for column in _entity_columns(table):
        yield Rule(name, (_X,), (Atom(table.name, ((column, _X),)),))
    key = next(iter(_keys(table)), None)
    if key is None:
        return
    for column, constant in _codes(table, extensions):
        yield Rule(name, (_X,), (Atom(table.name, ((key, _X), (column, constant))),))


def _property_rules(term: Property, table: Table, schema: Schema) -> Iterator[Rule]:
    links = _links(table)
    for x in _entity_columns(table):
        for column in table.columns:
            if column.name == x:
                continue
            if term.kind is PropertyKind.OBJECT and column.name not in (*links, *_keys(table)):
                continue
            yield Rule(term.name, (_X, _Y), (Atom(table.name, ((x, _X), (column.name, _Y))),))
    if term.kind is PropertyKind.OBJECT:
        return
    for x in _keys(table):
        for link, (target, target_key) in links.items():
            for column in schema.table(target).columns:
                if link != x and column.name != target_key:
                    first = Atom(table.name, ((x, _X), (link, _Z)))
                    yield Rule(term.name, (_X, _Y), (first, Atom(target, ((target_key, _Z), (column.name, _Y)))))


def _keys(table: Table) -> list[str]:
    keys = [key[0] for key in (table.primary_key, *table.unique) if len(key) == 1]
    return list(dict.fromkeys(keys))


def _links(table: Table) -> dict[str, tuple[str, str]]:
    single = (key for key in table.foreign_keys if len(key.columns) == len(key.referenced) == 1)
    return {key.columns[0]: (key.table, key.referenced[0]) for key in single}


def _entity_columns(table: Table) -> list[str]:
    found = list(dict.fromkeys([*_keys(table), *_links(table)]))
    return found or [column.name for column in table.columns[:1]]


def _codes(table: Table, extensions: Extensions) -> Iterator[tuple[str, Constant]]:
    """The columns with few values, and each value."""
    taken = {*_keys(table), *_links(table)}
    columns = [c for c in table.columns if c.name not in taken and c.kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)]
    counts = extensions.distinct((table.name, column.name) for column in columns)
    for column in columns:
        few = 1 < counts[table.name, column.name] <= _FEW or column.kind is Kind.BOOLEAN
        if few and (table.rows or 0) > counts[table.name, column.name]:
            values: list[object] = []
            with suppress(DatabaseError):  # one that cannot be read is no code
                values = extensions.values(table.name, column.name, _FEW)
            yield from ((column.name, constant) for value in values if (constant := _constant(column, value)))


def _constant(column: Column, value: object) -> Constant | None:
    """The value as a constant of the column's kind; SQLite keeps anything in any column."""
    if column.kind is Kind.TEXT:
        return Constant(Kind.TEXT, str(value))
    if not isinstance(value, int):
        return None
    return Constant.of(bool(value) if column.kind is Kind.BOOLEAN else value)
