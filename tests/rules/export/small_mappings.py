"""Mappings for the tests of the exports: a file of rules, and a fixed idea of what their arguments are."""

from __future__ import annotations

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.mapping import Iri, Literal, Mapping, TripleRule, iri_safe
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Kind, Rule, Variable

NAMESPACE = "http://e.x/o#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DATATYPES = {"born": f"{XSD}date", "name": f"{XSD}string", "since": f"{XSD}dateTime"}
COLUMNS = {
    "ID": ColumnType(Kind.INTEGER, "INTEGER", nullable=False),
    "boss": ColumnType(Kind.INTEGER, "INTEGER"),
    "author": ColumnType(Kind.INTEGER, "INTEGER"),
    "info": ColumnType(Kind.INTEGER, "INTEGER"),
    "born": ColumnType(Kind.DATE, "DATE"),
    "made": ColumnType(Kind.TIMESTAMP, "TIMESTAMP"),
    "price": ColumnType(Kind.DECIMAL, "DECIMAL(9,2)", nullable=False),
    "active": ColumnType(Kind.BOOLEAN, "BOOLEAN"),
    "TYPE": ColumnType(Kind.INTEGER, "INTEGER"),
}
TEXT = ColumnType(Kind.TEXT, "VARCHAR")


def types(table: str, column: str) -> ColumnType:
    return COLUMNS.get(column, TEXT)


def mapping_of(text: str) -> Mapping:
    """Properties called `has...` lead to entities; an entity is `http://e.x/id/{key}` if its rule does not say more."""
    return Mapping(tuple(map(_triples, parse_rules(text))), {"": NAMESPACE})


def _triples(rule: Rule) -> TripleRule:
    term = rule.predicate if "://" in rule.predicate else NAMESPACE + iri_safe(rule.predicate)
    subject = _entity(rule, rule.arguments[0])
    if len(rule.arguments) == 1:
        return TripleRule(rule, term, subject)
    value = rule.arguments[1]
    if rule.predicate.startswith("has"):
        return TripleRule(rule, term, subject, _entity(rule, value))
    concat = rule.definition_of(value)
    return TripleRule(rule, term, subject, Literal(concat.parts if concat else (value,), DATATYPES.get(rule.predicate)))


def _entity(rule: Rule, variable: Variable) -> Iri:
    concat = rule.definition_of(variable)
    return Iri(concat.parts, spelled=True) if concat else Iri(("http://e.x/id/", variable))
