"""Scenarios: folders that hold a whole problem, and the database made from their dump."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import RuleminerError
from ruleminer.problem.facts import facts_of
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.pair_facts import facts_from_pairs
from ruleminer.problem.scenario import all_facts, load_scenario, open_scenario, scenario_database, scenario_examples
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.data_folder import data_folder
from ruleminer.sources.database import open_database

DUMP = """--
-- PostgreSQL database dump
--
SET client_encoding = 'UTF8';
CREATE SCHEMA ships;
SET search_path = ships, pg_catalog;
CREATE TABLE vessel (
    id integer NOT NULL,
    label character varying(20)
);
COPY vessel (id, label) FROM stdin;
1	Ark
2	\\N
\\.
ALTER TABLE ONLY vessel
    ADD CONSTRAINT vessel_pk PRIMARY KEY (id);
--
-- PostgreSQL database dump complete
--
"""
ONTOLOGY = """@prefix : <http://example.org/ships#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Ship a owl:Class . :name a owl:DatatypeProperty . :flag a owl:DatatypeProperty .
"""
NAMES = """sql=SELECT label FROM vessel
sparql=SELECT ?n {?s <http://example.org/ships#name> ?n}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ships"
    (folder / "queries").mkdir(parents=True)
    (folder / "dump.sql").write_text(DUMP)
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "ontology.owl").write_text("not even read")
    (folder / "queries" / "names.qpair").write_text(NAMES)
    return folder


def test_a_folder_in_rodis_layout_is_a_scenario(folder: Path) -> None:
    scenario = open_scenario(folder)
    assert (scenario.name, scenario.ontology_path.name) == ("ships", "ontology.ttl")
    assert [pair.stem for pair in scenario.pairs] == ["names"]
    assert scenario.dump_path == folder / "dump.sql"
    assert (scenario.database_path, scenario.facts_path, scenario.mapping_path) == (None, None, None)


def test_a_dump_is_loaded_once_and_again_when_it_changes(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    url = scenario_database(open_scenario(folder), cache)
    made = Path(url.removeprefix("duckdb:///"))
    stamp = made.stat().st_mtime_ns
    assert scenario_database(open_scenario(folder), cache) == url
    assert made.stat().st_mtime_ns == stamp
    (folder / "dump.sql").write_text(DUMP.replace("Ark", "Argo"))
    other = scenario_database(open_scenario(folder), cache)
    assert other != url
    with open_database(other) as database:
        assert list(database.rows("SELECT label FROM vessel WHERE id = 1")) == [("Argo",)]
    assert len(list(cache.iterdir())) == 2, "and nothing else is left behind"


def test_a_broken_dump_leaves_nothing_in_the_cache(folder: Path, tmp_path: Path) -> None:
    (folder / "dump.sql").write_text(DUMP[: DUMP.index("2\t")])
    with pytest.raises(RuleminerError):
        scenario_database(open_scenario(folder), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_generated_scenario_brings_its_own_database(folder: Path, tmp_path: Path) -> None:
    (folder / "dump.sql").unlink()
    with duckdb.connect(str(folder / "database.duckdb")) as connection:
        connection.execute("CREATE TABLE vessel (id integer PRIMARY KEY, label varchar)")
    (folder / "mapping.rules").write_text("Ship(x) <- vessel(id: x)\n")
    scenario = open_scenario(folder)
    assert scenario.mapping_path == folder / "mapping.rules"
    assert scenario_database(scenario, tmp_path / "cache") == f"duckdb:///{folder / 'database.duckdb'}"
    assert not (tmp_path / "cache").exists()


def test_examples_come_from_pairs_first_and_from_the_known_facts_where_no_pair_tells(
    folder: Path, tmp_path: Path
) -> None:
    ontology = read_ontology(folder / "ontology.ttl")
    with open_database(scenario_database(open_scenario(folder), tmp_path / "cache")) as database:
        assert all_facts(open_scenario(folder), ontology, database).facts.num_rows == 1
        (folder / "facts.csv").write_text("predicate,arg1,arg2\nname,1,Ark\nname,2,unpaired\nflag,1,red\n")
        scenario = open_scenario(folder)
        truth = all_facts(scenario, ontology, database)
        examples = scenario_examples(scenario, ontology, database)
    assert truth.facts.num_rows == 3
    assert [(fact.predicate, fact.arguments, fact.kinds) for fact in facts_of(examples.facts)] == [
        ("name", ("1", "Ark"), ("integer", "text")),
        ("flag", ("1", "red"), (None, None)),
    ]
    assert examples.notes == ("flag: from facts.csv, for no pair gives it",)
    assert [row.facts for row in examples.pairs] == [1]


def test_the_facts_of_a_large_scenario_are_read_from_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    generate_scenario(small, domain="shop", size=200)
    monkeypatch.setattr("ruleminer.scenarios.write.CSV_UP_TO", 0)
    generate_scenario(large, domain="shop", size=200)
    assert (large / "facts.parquet").is_file()
    truth = []
    for folder in (small, large):
        scenario = open_scenario(folder)
        with open_database(scenario_database(scenario, tmp_path)) as database:
            truth.append(all_facts(scenario, read_ontology(scenario.ontology_path), database).facts)
    assert truth[0].num_rows > 200
    assert truth[0].equals(truth[1])


def test_a_scenario_loads_into_a_database_of_ones_own_and_tells_what_came(folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mine.sqlite'}"
    first, *rest = load_scenario(open_scenario(folder), url)
    assert first.startswith("ships: 1 tables, 2 rows into sqlite:///")
    assert any("SET" in line and line.startswith("left out: ") for line in rest)
    with open_database(url) as database:
        assert list(database.rows("SELECT id, label FROM vessel ORDER BY id")) == [(1, "Ark"), (2, None)]
    made = tmp_path / "made"
    generate_scenario(made, size=100, seed=1)
    copied = f"duckdb:///{tmp_path / 'copy.duckdb'}"
    (line,) = load_scenario(open_scenario(made), copied, schema="made")
    assert line.endswith("copy.duckdb, schema made")
    with open_database(copied) as database, open_database(f"duckdb:///{made / 'database.duckdb'}") as original:
        assert [(t.name, t.rows) for t in database.schema.tables] == [(t.name, t.rows) for t in original.schema.tables]


@pytest.mark.parametrize("kind", ["renaming", "denormalising"])
def test_the_pairs_of_a_generated_scenario_give_exactly_its_facts(tmp_path: Path, kind: str) -> None:
    generate_scenario(tmp_path / "made", domain="hospital", kind=kind, size=200, seed=1)
    scenario = open_scenario(tmp_path / "made")
    ontology = read_ontology(scenario.ontology_path)
    with open_database(scenario_database(scenario, tmp_path / "cache")) as database:
        given, _ = facts_from_pairs(database, scenario.pairs, ontology)
        truth = all_facts(scenario, ontology, database).facts
    untyped = ["predicate", "arg1", "arg2"]
    order = [(name, "ascending") for name in untyped]
    assert given.select(untyped).sort_by(order) == truth.select(untyped).sort_by(order)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["ontology.ttl", "ontology.owl"], "has no ontology.ttl"),
        (["dump.sql"], "neither dump.sql nor dump.sql.gz nor database.duckdb"),
        (["queries/names.qpair"], r"neither queries/\*.qpair nor facts.csv"),
    ],
)
def test_a_folder_that_lacks_a_part_says_which(folder: Path, missing: list[str], message: str) -> None:
    for name in missing:
        (folder / name).unlink()
    with pytest.raises(RuleminerError, match=message):
        open_scenario(folder)


def test_a_missing_folder_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(RuleminerError, match="no such folder"):
        open_scenario(tmp_path / "none")


def test_the_data_folder_is_what_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEMINER_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("RULEMINER_DATA", str(tmp_path / "none"))
    with pytest.raises(RuleminerError, match="RULEMINER_DATA names"):
        data_folder()


@pytest.mark.data
def test_all_rodi_folders_open_as_they_are(real_data: Path) -> None:
    opened = [open_scenario(folder) for folder in sorted((real_data / "rodi").iterdir()) if folder.is_dir()]
    assert len(opened) == 15
    assert sum(scenario.facts_path is not None for scenario in opened) == 7
    assert sum(len(scenario.pairs) for scenario in opened) == 915
