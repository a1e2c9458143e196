"""Scenarios: folders that hold a whole problem, RODI's as they are and our own generated ones.

dump.sql[.gz] or database.duckdb    the database
ontology.ttl (else .rdf, .owl, …)   the ontology
queries/*.qpair                     query pairs
facts.csv or facts.parquet          all true facts, if known
mapping.rules                       the true mapping in the rule language, if known
scenario.json                       how a generated scenario was made
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ruleminer import __version__
from ruleminer.errors import InputError
from ruleminer.problem.examples import Examples, read_fact_file
from ruleminer.problem.facts import predicates_of, united
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.pair_facts import facts_from_pairs
from ruleminer.problem.pairs import SUFFIX, QueryPair, read_pairs
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database
from ruleminer.sources.dump import load_dump
from ruleminer.whole_files import sweep_dead

_ONTOLOGIES = ("ontology.ttl", "ontology.rdf", "ontology.owl", "ontology.xml", "ontology.nt")
_LOADING = ".loading-"
_DUMPS = ("dump.sql", "dump.sql.gz")
_FACTS = ("facts.csv", "facts.parquet")  # large scenarios have the latter


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a scenario folder holds. It has a dump or a database; facts and mapping only if someone knows them."""

    name: str
    folder: Path
    ontology_path: Path
    pairs: tuple[QueryPair, ...]
    dump_path: Path | None = None
    database_path: Path | None = None
    facts_path: Path | None = None
    mapping_path: Path | None = None


def open_scenario(folder: Path | str) -> Scenario:
    """The scenario in a folder; what it cannot do without must be there."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    ontology = _first(folder, _ONTOLOGIES)
    if ontology is None:
        raise InputError(f"{folder}: is no scenario, for it has no {_ONTOLOGIES[0]}")
    database = _first(folder, ("database.duckdb",))
    dump = _first(folder, _DUMPS)
    if database is None and dump is None:
        raise InputError(f"{folder}: is no scenario, for it has neither {' nor '.join(_DUMPS)} nor database.duckdb")
    facts = _first(folder, _FACTS)
    queries = folder / "queries"
    pairs = read_pairs(queries) if any(queries.glob(f"*{SUFFIX}")) else ()
    if not pairs and facts is None:
        raise InputError(f"{folder}: is no scenario, for it has neither queries/*{SUFFIX} nor {' nor '.join(_FACTS)}")
    return Scenario(
        name=folder.resolve().name,
        folder=folder,
        ontology_path=ontology,
        pairs=pairs,
        dump_path=None if database else dump,
        database_path=database,
        facts_path=facts,
        mapping_path=_first(folder, ("mapping.rules",)),
    )


def scenario_database(scenario: Scenario, cache_dir: Path | str) -> str:
    """The URL of the scenario's database in DuckDB; a dump is loaded once and kept in the cache folder.

    The cached file is named by the dump's content, and appears there whole or not at all.
    """
    if scenario.database_path:
        return _duckdb_url(scenario.database_path)
    assert scenario.dump_path is not None
    with scenario.dump_path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    cache = Path(cache_dir)
    cache.mkdir(parents=True, exist_ok=True)
    cached = cache / f"{scenario.name}-{digest[:16]}-{__version__}.duckdb"
    if not cached.exists():
        sweep_dead(cache, _LOADING)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"{_LOADING}{os.getpid()}-") as workplace:
            fresh = Path(workplace) / cached.name
            load_dump(scenario.dump_path, _duckdb_url(fresh))
            fresh.replace(cached)
    return _duckdb_url(cached)


def load_scenario(scenario: Scenario, url: str, *, schema: str | None = None, replace: bool = False) -> tuple[str, ...]:
    """Load the scenario's database into the one at `url`; the lines tell what came over and what was left out."""
    if scenario.database_path:
        loaded = copy_database(scenario.database_path, url, schema=schema, replace=replace)
    else:
        assert scenario.dump_path is not None
        loaded = load_dump(scenario.dump_path, url, schema=schema, replace=replace)
    places = sorted({table.schema for table in loaded.tables if table.schema})
    where = f", schema {', '.join(places)}" if places else ""
    views = f", {len(loaded.views)} views" if loaded.views else ""
    told = f"{scenario.name}: {len(loaded.tables)} tables{views}, {loaded.rows:,} rows into {loaded.url}{where}"
    return (told, *(f"left out: {left.count} x {left.what} ({left.why})" for left in loaded.skipped))


def all_facts(scenario: Scenario, ontology: Ontology, database: Database) -> Examples:
    """All true facts as far as the scenario knows them: those of its table if there, else those of its pairs."""
    if scenario.facts_path:
        return Examples(united([read_fact_file(scenario.facts_path, ontology)]))
    facts, report = facts_from_pairs(database, scenario.pairs, ontology)
    return Examples(facts, report)


def scenario_examples(scenario: Scenario, ontology: Ontology, database: Database) -> Examples:
    """The scenario's facts as examples: those of pairs, and of its table for the predicates that no pair gives.

    Pairs go first because their facts are typed: their 1400 is a number or a text, one from a table may be either.
    """
    facts, report = facts_from_pairs(database, scenario.pairs, ontology)
    if scenario.facts_path is None:
        return Examples(facts, report)
    more = read_fact_file(scenario.facts_path, ontology)
    given = pa.array(predicates_of(facts), pa.string())
    more = more.filter(pc.invert(pc.is_in(more["predicate"], value_set=given)))
    notes = tuple(f"{name}: from {scenario.facts_path.name}, for no pair gives it" for name in predicates_of(more))
    return Examples(pa.concat_tables([facts, united([more])]), report, notes)


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _duckdb_url(path: Path) -> str:
    return f"duckdb:///{path}"
