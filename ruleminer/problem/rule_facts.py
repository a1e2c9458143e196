"""What a rule derives from a database: the arguments of its facts."""

from __future__ import annotations

from ruleminer.rules.sql import rule_query
from ruleminer.rules.values import Rule
from ruleminer.sources.database import Database


def derived_facts(rule: Rule, database: Database) -> set[tuple[str, ...]]:
    """The arguments of all facts that a rule derives, as lexical forms."""
    query = rule_query(rule, database.dialect, database.schema.type_of)
    return set(database.rows(query.sql, query.parameters))
