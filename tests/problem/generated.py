"""What the tests of generated scenarios share: reading the facts, and deriving them by the rules."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb

from ruleminer.problem.database import Database
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.sql import ColumnType, rule_query

Facts = dict[str, set[tuple[str, ...]]]


def true_facts(folder: Path) -> Facts:
    """The facts that a scenario's folder lists, by predicate; each is listed once."""
    path = next(folder.glob("facts.*"))
    read = "read_csv(?, all_varchar = true)" if path.suffix == ".csv" else "read_parquet(?)"
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT predicate, arg1, arg2 FROM {read}", [str(path)]).fetchall()
    facts: Facts = defaultdict(set)
    for predicate, *arguments in rows:
        facts[predicate].add(tuple(argument for argument in arguments if argument is not None))
    assert len(rows) == sum(map(len, facts.values()))
    return facts


def derived_facts(folder: Path, database: Database) -> Facts:
    """What the rules of a scenario's mapping derive from a database, by predicate."""
    types = {
        (table.name, column.name): ColumnType(column.kind, column.sql_type)
        for table in database.schema.tables
        for column in table.columns
    }
    facts: Facts = defaultdict(set)
    for rule in parse_rules((folder / "mapping.rules").read_text("utf-8")):
        query = rule_query(rule, database.dialect, lambda table, column: types[table, column])
        facts[rule.predicate] |= set(database.rows(query.sql, query.parameters))
    return {predicate: found for predicate, found in facts.items() if found}
