"""Mapping → SQL views: one per class and property, with the IRIs and values of its facts as text.

The views stand in a schema of their own, for a class often has the name of a table. SQLite has no schemas: there their
names start with `mapping_`.
"""

from __future__ import annotations

from sqlglot import exp

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.export.triple_sql import TripleSql
from ruleminer.rules.export.triples import unique_name
from ruleminer.rules.expressions import identifier
from ruleminer.rules.mapping import Iri, Mapping, TripleRule
from ruleminer.rules.printer import rule_text

SCHEMA = "mapping"
_LONGEST_NAME = 60  # bytes; PostgreSQL cuts names at 63


def views_text(mapping: Mapping, dialect: Dialect, types: TypeOf, schema: str | None = None) -> str:
    """The statements that make the views, for a database of this dialect, whose columns `types` tells.

    `schema` is where the tables are. DuckDB must know, or would look for them among the views.
    """
    if schema is None:
        schema = dialect.tables_schema
    names = _view_names(mapping)
    statements = [f'CREATE SCHEMA IF NOT EXISTS "{SCHEMA}";'] if dialect.has_schemas else []
    if dialect.iri_safe_function and any(_needs_encoding(rule, dialect, types) for rule in mapping.rules):
        statements.append(dialect.iri_safe_function)
    for term, name in names.items():
        rules = [rule for rule in mapping.rules if rule.term == term]
        if dialect.has_schemas:
            view = f'"{SCHEMA}".{identifier(name).sql(dialect.name)}'
        else:
            view = identifier(f"{SCHEMA}_{name}").sql(dialect.name)
        comments = "".join(f"-- {rule_text(rule.rule)}\n" for rule in rules)
        union = "\nUNION\n".join(_select(TripleSql(rule, dialect, types), schema, len(rules) == 1) for rule in rules)
        create = "CREATE OR REPLACE VIEW" if dialect.replaces_views else f"DROP VIEW IF EXISTS {view};\nCREATE VIEW"
        statements.append(f"{comments}{create} {view} AS\n{union};")
    return "\n\n".join(statements) + "\n"


def _view_names(mapping: Mapping) -> dict[str, str]:
    """A name for each term; those that differ only in case are numbered, as most databases ignore it."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for rule in mapping.rules:
        if rule.term not in names:
            short = rule.rule.predicate.encode()[:_LONGEST_NAME].decode(errors="ignore")
            names[rule.term] = unique_name(short, taken)
    return names


def _select(body: TripleSql, schema: str | None, distinct: bool) -> str:
    rule, dialect = body.rule, body.dialect
    columns = [exp.alias_(body.iri_text(rule.subject, dialect.iri_safe), identifier("subject"))]
    if isinstance(rule.object, Iri):
        columns.append(exp.alias_(body.iri_text(rule.object, dialect.iri_safe), identifier("object")))
    elif rule.object is not None:
        columns.append(exp.alias_(body.literal_text(rule.object), identifier("object")))
    query = body.rows.select(*columns, schema=schema)
    return (query.distinct() if distinct else query).sql(dialect.name, pretty=query.sql(dialect.name).isprintable())


def _needs_encoding(rule: TripleRule, dialect: Dialect, types: TypeOf) -> bool:
    body = TripleSql(rule, dialect, types)
    iris = [term for term in (rule.subject, rule.object) if isinstance(term, Iri)]
    return any(body.has_specials(part) for iri in iris for part in iri.parts if not isinstance(part, str))
