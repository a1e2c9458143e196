"""What a rule derives from a database: the arguments of its facts."""

from __future__ import annotations

from ruleminer.problem.database import Database
from ruleminer.rules.sql import ColumnType, rule_query
from ruleminer.rules.values import Rule


def derived_facts(rule: Rule, database: Database) -> set[tuple[str, ...]]:
    """The arguments of all facts that a rule derives, as lexical forms."""

    def type_of(table: str, column: str) -> ColumnType:
        found = database.schema.table(table).column(column)
        return ColumnType(found.kind, found.sql_type)

    query = rule_query(rule, database.dialect, type_of)
    return set(database.rows(query.sql, query.parameters))
