"""Mapping → SQL views: one per class and property, with the IRIs and values of its facts as text.

The views stand in a schema of their own, for a class often has the name of a table. SQLite has no schemas: there their
names start with `mapping_`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ruleminer.rules.export.body import Body
from ruleminer.rules.export.triples import unique_name
from ruleminer.rules.mapping import Iri, Literal, Mapping, TripleRule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import TypeOf, as_text, concatenated, identifier, text_sql
from ruleminer.rules.values import Kind, Variable

SCHEMA = "mapping"
_LONGEST_NAME = 60  # bytes; PostgreSQL cuts names at 63

# `iri_safe` percent-encodes all but letters, digits, -._~ and what lies beyond ASCII, as R2RML does.
_FUNCTIONS = {
    "postgres": r"""CREATE OR REPLACE FUNCTION "mapping".iri_safe(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT COALESCE(STRING_AGG(
    CASE WHEN piece ~ '^[A-Za-z0-9._~-]$' OR ASCII(piece) > 159 THEN piece
    ELSE REGEXP_REPLACE(UPPER(ENCODE(CONVERT_TO(piece, 'UTF8'), 'hex')), '(..)', '%\1', 'g') END,
    '' ORDER BY place), '')
  FROM REGEXP_SPLIT_TO_TABLE(value, '') WITH ORDINALITY AS pieces(piece, place) WHERE piece <> ''
$$;""",
    "duckdb": r"""CREATE OR REPLACE MACRO "mapping".iri_safe(value) AS
  ARRAY_TO_STRING(LIST_TRANSFORM(REGEXP_EXTRACT_ALL(value, '(?s).'), lambda piece:
    CASE WHEN REGEXP_FULL_MATCH(piece, '[A-Za-z0-9._~-]') OR UNICODE(piece) > 159 THEN piece
    ELSE URL_ENCODE(piece) END), '');""",
}
# SQLite has no functions to define, but can count through a text.
_SQLITE_ENCODED = """WITH RECURSIVE pieces(at, piece, done) AS (
  SELECT 0, '', '' UNION ALL
  SELECT at + 1, SUBSTR({text}, at + 1, 1), done || CASE
    WHEN piece GLOB '[A-Za-z0-9._~-]' OR UNICODE(piece) > 159 THEN piece
    WHEN LENGTH(HEX(piece)) = 4 THEN '%' || SUBSTR(HEX(piece), 1, 2) || '%' || SUBSTR(HEX(piece), 3)
    WHEN piece <> '' THEN '%' || HEX(piece) ELSE '' END
  FROM pieces WHERE at <= LENGTH({text})
) SELECT done FROM pieces ORDER BY at DESC LIMIT 1"""


def views_text(mapping: Mapping, dialect: str, types: TypeOf, schema: str | None = None) -> str:
    """The statements that make the views, for a database of this dialect, whose columns `types` tells.

    `schema` is where the tables are. DuckDB must know, or would look for them among the views.
    """
    if schema is None and dialect == "duckdb":
        schema = "main"
    names = _view_names(mapping)
    statements = [] if dialect == "sqlite" else [f'CREATE SCHEMA IF NOT EXISTS "{SCHEMA}";']
    if dialect in _FUNCTIONS and any(_needs_encoding(rule, dialect, types) for rule in mapping.rules):
        statements.append(_FUNCTIONS[dialect])
    for term, name in names.items():
        rules = [rule for rule in mapping.rules if rule.term == term]
        view = identifier(f"{SCHEMA}_{name}" if dialect == "sqlite" else name).sql(dialect)
        if dialect != "sqlite":
            view = f'"{SCHEMA}".{view}'
        comments = "".join(f"-- {rule_text(rule.rule)}\n" for rule in rules)
        union = "\nUNION\n".join(_select(Body(rule, dialect, types), schema, len(rules) == 1) for rule in rules)
        create = f"DROP VIEW IF EXISTS {view};\nCREATE VIEW" if dialect == "sqlite" else "CREATE OR REPLACE VIEW"
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


def _select(body: Body, schema: str | None, distinct: bool) -> str:
    rule, dialect = body.rule, body.dialect
    columns = [exp.alias_(_iri_text(body, rule.subject), identifier("subject"))]
    if isinstance(rule.object, Iri):
        columns.append(exp.alias_(_iri_text(body, rule.object), identifier("object")))
    elif rule.object is not None:
        columns.append(exp.alias_(body.literal_text(rule.object), identifier("object")))
    query = body.from_tables(schema).select(*columns).where(*body.conditions())
    return (query.distinct() if distinct else query).sql(dialect, pretty=query.sql(dialect).isprintable())


def _iri_text(body: Body, iri: Iri) -> exp.Expression:
    if len(iri.parts) == 1 and isinstance(iri.parts[0], Variable):
        return body.text_of(iri.parts[0], None, iri.spelled)
    return concatenated(
        [
            text_sql(part, body.dialect) if isinstance(part, str) else _encoded(body, part, iri.spelled)
            for part in iri.parts
        ]
    )


def _encoded(body: Body, variable: Variable, spelled: bool) -> exp.Expression:
    text = body.text_of(variable, None, spelled)
    if not _has_specials(body, variable):
        return text if isinstance(text, exp.Cast) else as_text(text)
    if body.dialect != "sqlite":
        function = exp.Anonymous(this="iri_safe", expressions=[text])
        return exp.Dot(this=identifier(SCHEMA), expression=function)
    encoded = exp.maybe_parse(_SQLITE_ENCODED.format(text=text.sql("sqlite")), into=exp.Select, dialect="sqlite")
    return encoded.subquery()


def _has_specials(body: Body, variable: Variable) -> bool:
    """Whether values of a column may have characters to encode: numbers, dates and truth values do not."""
    return body.type_of(body.places[variable][0]).kind in (Kind.TEXT, Kind.TIMESTAMP)


def _needs_encoding(rule: TripleRule, dialect: str, types: TypeOf) -> bool:
    body = Body(rule, dialect, types)

    def variables() -> Iterator[Variable]:
        for term in (rule.subject, rule.object):
            if term is not None and not isinstance(term, Literal):
                yield from (part for part in term.parts if isinstance(part, Variable))

    return any(_has_specials(body, variable) for variable in variables())
