"""What a rule derives from a database: the arguments of its facts."""

from __future__ import annotations

from ruleminer.rules.sql import rule_query
from ruleminer.rules.values import Rule
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema


def derived_facts(rule: Rule, database: Database, schema: Schema | None = None) -> set[tuple[str, ...]]:
    """The arguments of all facts that a rule derives, as lexical forms.

    Which texts are padded only the schema of a structure knows.
    """
    query = rule_query(rule, database.dialect, (schema or database.schema).type_of)
    return set(database.rows(query.sql, query.parameters))
