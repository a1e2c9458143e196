"""Which rows come over: whole tables where that is cheap, and none for a value that very many rows hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.extraction import candidates, cells, pipeline
from ruleminer.extraction.catalog import catalog_of
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.template_files import read_templates
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure

PLACES, VISITS = 60, 1200  # each place has twenty visits
IN_PLACE = "inPlace(x, y) <- visit(id: x, place_id: y)"
PLACE_NAME = "placeName(x, y) <- visit(id: x, place_id: a), place(id: a, name: y)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE nothing (id INTEGER PRIMARY KEY, name VARCHAR)")
        work.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name VARCHAR)")
        work.execute(f"INSERT INTO place SELECT i, 'place ' || i FROM range(1, {PLACES + 1}) AS r(i)")
        work.execute("CREATE TABLE visit (id INTEGER PRIMARY KEY, place_id INTEGER REFERENCES place (id))")
        work.execute(f"INSERT INTO visit SELECT 5000 + i, 1 + i % {PLACES} FROM range({VISITS}) AS r(i)")
    return path


def extracted(database: Path, out: Path, facts: list[Fact]) -> Dataset:
    chosen = [one for one in read_templates() if one.name in ("property-in-table", "property-by-join")]
    with open_database(database) as opened:
        options = ExtractOptions(negatives=Negatives.NONE)
        extract(opened, fact_table(facts), chosen, out, options)
    return read_dataset(out)


def test_a_search_reads_a_table_of_a_live_server_twice_at_most_and_a_small_one_once(
    database: Path, tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_database(database, empty_postgres)
    place = ("inPlace", 5008, 9)
    facts = told(place, *(("placeName", 5000 + n, f"place {1 + n}") for n in range(PLACES // 2 + 1)))
    asked = list[str]()

    for name in ("arrow", "rows"):
        plain = getattr(Database, name)

        def recorded(self: Database, sql: str, params: object = None, plain: Any = plain) -> Any:
            asked.append(sql)
            return plain(self, sql, params)

        monkeypatch.setattr(Database, name, recorded)
    rules = []
    for url in (database, empty_postgres):
        with open_database(url) as opened:
            structure = learn_structure(opened)
            asked.clear()
            out, options = tmp_path / opened.dialect.name, ExtractOptions(negatives=Negatives.NONE)
            extract(opened, fact_table(facts), read_templates(), out, options, structure=structure)
        reads = {table: sum(f'"{table}"' in sql for sql in asked) for table in ("nothing", "place", "visit")}
        assert reads == {"nothing": 0, "place": 1, "visit": 2}
        rules.append(read_dataset(tmp_path / opened.dialect.name).rules["text"].to_pylist())
    assert rules[0] == rules[1]
    assert {IN_PLACE, PLACE_NAME} <= set(rules[0])


def told(*facts: tuple[str, int, object]) -> list[Fact]:
    return [Fact(predicate, (str(one), str(other)), (None, None)) for predicate, one, other in facts]


def test_a_value_that_is_common_beyond_those_of_the_profile_brings_no_rows(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "COMMON_ROWS", 10)
    place = 1 + 8  # the profile keeps forty of sixty places, by their texts as all are alike
    facts = told(("inPlace", 5008, place), ("placeName", 5008, f"place {place}"))
    found = extracted(database, tmp_path / "before", facts)
    assert found.manifest["rows_fetched"]["visit"] == VISITS // PLACES  # a few: nobody looks
    assert "visit.place_id" not in found.manifest["common_values"]
    monkeypatch.setattr(cells, "_MOST_FETCHED", 15)
    bounded = extracted(database, tmp_path / "after", facts)
    assert bounded.manifest["common_values"]["visit.place_id"] == [str(place)]
    assert bounded.manifest["rows_fetched"]["visit"] == 1
    assert {IN_PLACE, PLACE_NAME} <= set(bounded.rules["text"].to_pylist())


def test_a_table_with_no_more_rows_than_values_are_asked_for_comes_whole_and_leads_nowhere_else(
    database: Path, tmp_path: Path
) -> None:
    numbers = [5000 + 61 * i for i in range(16)]  # with their places and names, more values than there are places
    facts = told(
        *(("inPlace", n, 1 + (n - 5000) % PLACES) for n in numbers),
        *(("placeName", n, f"place {1 + (n - 5000) % PLACES}") for n in numbers),
    )
    found = extracted(database, tmp_path / "run", facts)
    assert found.manifest["rows_fetched"]["place"] == PLACES
    assert found.manifest["rows_fetched"]["visit"] < VISITS // 2
    assert {IN_PLACE, PLACE_NAME} <= set(found.rules["text"].to_pylist())


def test_a_table_that_nobody_could_count_is_asked_all_the_same(database: Path) -> None:
    with open_database(database) as opened:
        structure = learn_structure(opened)
    profile = structure.profile
    troubled = {**profile.tables, "place": replace(profile.tables["place"], rows=0, trouble="no answer in time")}
    counted = catalog_of(replace(structure, profile=replace(profile, tables=troubled))).rows
    assert counted["nothing"] == 0
    assert "place" not in counted


def test_values_whose_numbers_meet_get_others(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = told(("inPlace", 5008, 9), ("placeName", 5000, "place 1"), ("placeName", 5001, "place 2"))
    plain = extracted(database, tmp_path / "plain", facts)
    number_of = cells.number_of
    salts = list[int]()

    def colliding(salt: int) -> str:
        salts.append(salt)
        return number_of(salt) if salt > 1 else "CAST(length(key) AS BIGINT)"

    monkeypatch.setattr(cells, "number_of", colliding)
    met = extracted(database, tmp_path / "met", facts)
    assert max(salts) == 2
    assert met.candidates.num_rows > 0
    assert met.candidates == plain.candidates
    assert met.rules == plain.rules


def test_what_is_cut_does_not_hang_on_the_numbers_of_values(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(database) as work:
        work.execute("ALTER TABLE visit ADD COLUMN day VARCHAR")
        work.execute("UPDATE visit SET day = 'day ' || (id // 60) % 9")
    monkeypatch.setattr(candidates, "MOST_INSTANCES", 3)
    flag = [one for one in read_templates() if one.name == "class-by-flag"]
    facts = fact_table([Fact("Visited", (str(place),), (None,)) for place in range(1, 30)])
    number_of = cells.number_of
    for salt in (0, 7):
        monkeypatch.setattr(cells, "number_of", lambda given, salt=salt: number_of(given + salt))
        with open_database(database) as opened:
            extract(opened, facts, flag, tmp_path / str(salt), ExtractOptions(negatives=Negatives.NONE))
        dataset = read_dataset(tmp_path / str(salt))
        assert dataset.manifest["cut_searches"]
        rules = dataset.rules["text"].to_pylist()
        assert sorted(rules) == [f'Visited(x) <- visit(place_id: x, day: "day {day}")' for day in range(3)]
