"""What the tests of generated scenarios share: reading the facts, and deriving them by the rules."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb

from ruleminer.problem.rule_facts import derived_facts as derived_by
from ruleminer.rules.parser import parse_rules
from ruleminer.sources.database import Database

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
    facts: Facts = defaultdict(set)
    for rule in parse_rules((folder / "mapping.rules").read_text("utf-8")):
        facts[rule.predicate] |= derived_by(rule, database)
    return {predicate: found for predicate, found in facts.items() if found}
