"""The true mapping of every generated scenario derives exactly its facts, on every engine.

A sample of domains, kinds and names in which each pair of a kind and a way of naming comes up. With
RULEMINER_FULL_MATRIX=1 it is all of them, on all engines, which takes a good half hour.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from ruleminer.scenarios import KINDS, NAMES, generate_scenario, written_domains
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import open_database
from tests.scenarios.generated import derived_facts, true_facts

FULL = os.environ.get("RULEMINER_FULL_MATRIX") == "1"
RANDOM = 20


def combinations() -> list[tuple[str, int, str, str, tuple[str, ...]]]:
    """Domain, seed, kind, names and the engines that the rules run on besides DuckDB."""
    domains = [(name, 7) for name in written_domains()] + [("random", seed) for seed in range(RANDOM)]
    if FULL:
        return [
            (*domain, kind, names, ("sqlite", "postgres")) for domain, kind, names in product(domains, KINDS, NAMES)
        ]
    written = [(d, k) for d in range(len(written_domains())) for k in range(len(KINDS))]
    chosen = [(*domains[d], KINDS[k], NAMES[(d + k) % len(NAMES)]) for d, k in written]
    pairs = list(product(KINDS, NAMES))
    chosen += [("random", seed, *pairs[seed % len(pairs)]) for seed in range(RANDOM)]
    return [(*scenario, (("sqlite", "postgres")[place % 2],)) for place, scenario in enumerate(chosen)]


@pytest.mark.parametrize(("domain", "seed", "kind", "names", "engines"), combinations())
def test_the_true_mapping_derives_exactly_the_facts(
    domain: str,
    seed: int,
    kind: str,
    names: str,
    engines: tuple[str, ...],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    folder = tmp_path / "scenario"
    generate_scenario(folder, domain=domain, kind=kind, names=names, size=300, seed=seed)
    source = folder / "database.duckdb"
    facts = true_facts(folder)
    with open_database(f"duckdb:///{source}") as database:
        assert derived_facts(folder, database) == facts
        tables = {table.name: table for table in database.schema.tables}
    for engine in engines:
        url = f"sqlite:///{tmp_path}/copy.sqlite" if engine == "sqlite" else request.getfixturevalue("postgres_url")
        copy_database(source, url, schema="generated", replace=True)
        with open_database(url, schema="generated" if engine == "postgres" else None) as database:
            assert derived_facts(folder, database) == facts
            for table in database.schema.tables:
                original = tables[table.name]
                assert (table.rows, table.primary_key) == (original.rows, original.primary_key)
                assert (table.unique, table.foreign_keys) == (original.unique, original.foreign_keys)
                assert [c.kind for c in table.columns] == [c.kind for c in original.columns]
