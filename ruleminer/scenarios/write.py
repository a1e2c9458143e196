"""Writes the files of a generated scenario into a folder.

database.duckdb   the tables, in the schema main
ontology.ttl      what the mapping is to derive
queries/*.qpair   a pair for every predicate
facts.csv         all true facts; facts.parquet in a large scenario
mapping.rules     the true mapping
scenario.json     how it was made, and what is in it
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from ruleminer import __version__
from ruleminer.progress import Progress
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.scenarios.distortions import distorted_layout
from ruleminer.scenarios.instance import fact_queries
from ruleminer.scenarios.layout import Layout
from ruleminer.scenarios.names import Naming, named
from ruleminer.scenarios.ontology_file import ontology_turtle
from ruleminer.scenarios.pair_files import pair_files
from ruleminer.scenarios.population import Population
from ruleminer.scenarios.rows import connect, fill_tables, is_small
from ruleminer.scenarios.truth import true_rules

MANIFEST = "scenario.json"
MADE_BY = "ruleminer scenario generate"

# Above so many rows facts are written as Parquet, which is a fifth of the size and read a column at a time.
CSV_UP_TO = 200_000


def write_scenario(
    folder: Path, spill: Path, population: Population, kind: str, names: str, size: int, progress: Progress
) -> dict[str, Any]:
    """Write everything into an empty folder; the manifest. What outgrows memory goes to the folder `spill`."""
    domain = population.domain
    layout = distorted_layout(population, kind)
    naming = named(layout, kind, names, population.seed)
    rules = tuple(naming.rule(rule) for rule in true_rules(domain, layout))
    rows = population.expected_rows()
    steps = len(layout.tables) + 1
    filled: list[str] = []

    def done(table: str) -> None:
        filled.append(table)
        progress("generate", f"table {table}", len(filled), steps)

    connection = connect(folder / "database.duckdb", spill, population)
    try:
        counts = fill_tables(connection, layout, naming, is_small(population), done)
        facts = _write_facts(connection, folder / f"facts.{'csv' if rows <= CSV_UP_TO else 'parquet'}", population)
    finally:
        connection.close()
    progress("generate", "facts", steps, steps)
    (folder / "ontology.ttl").write_text(ontology_turtle(domain), "utf-8")
    (folder / "mapping.rules").write_text(_mapping_text(rules), "utf-8")
    (folder / "queries").mkdir()
    keys = {
        naming.tables[table.id]: tuple(naming.columns[table.id, column] for column in table.key)
        for table in layout.tables.values()
    }
    for name, content in pair_files(domain, rules, keys):
        (folder / "queries" / name).write_text(content, "utf-8")
    manifest = {
        "made_by": MADE_BY,
        "version": __version__,
        "domain": domain.name,
        "kind": kind,
        "names": names,
        "size": size,
        "seed": population.seed,
        **_counts(population, layout, naming, rules, counts, facts),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return manifest


def _write_facts(connection: duckdb.DuckDBPyConnection, path: Path, population: Population) -> dict[str, int]:
    """Write all facts by one statement that streams; how many there are of each predicate."""
    parts = [
        f"SELECT '{predicate}' AS predicate, arg1, arg2 FROM ({query})" for predicate, query in fact_queries(population)
    ]
    target = str(path).replace("'", "''")
    form = "FORMAT csv, HEADER" if path.suffix == ".csv" else "FORMAT parquet, COMPRESSION zstd"
    connection.execute(f"COPY ({' UNION ALL '.join(parts)}) TO '{target}' ({form})")
    read = "read_csv(?, all_varchar = true)" if path.suffix == ".csv" else "read_parquet(?)"
    count = f"SELECT predicate, count(*) FROM {read} GROUP BY predicate"
    found = dict(connection.execute(count, [str(path)]).fetchall())
    return {predicate: found.get(predicate, 0) for predicate, _ in fact_queries(population)}


def _mapping_text(rules: Iterable[Rule]) -> str:
    return "# The true mapping. Several rules for one predicate are a union.\n" + "".join(
        f"{rule_text(rule)}\n" for rule in rules
    )


def _counts(
    population: Population,
    layout: Layout,
    naming: Naming,
    rules: tuple[Rule, ...],
    rows: dict[str, int],
    facts: dict[str, int],
) -> dict[str, Any]:
    domain = population.domain
    return {
        "tables": len(layout.tables),
        "columns": len(naming.columns),
        "foreign_keys": sum(len(table.references) for table in layout.tables.values()),
        "rows": sum(rows.values()),
        "classes": len(domain.classes),
        "properties": len(facts) - len(domain.classes),
        "rules": len(rules),
        "facts": sum(facts.values()),
        "rows_by_table": rows,
        "facts_by_predicate": facts,
    }
