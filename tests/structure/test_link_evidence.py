"""Links that nobody declared: found where the values or the names tell, not where every small number would do."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from ruleminer.structure.surprise import is_counter, surprise

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "links.py"


def found(folder: Path, *statements: str) -> set[str]:
    path = folder / "made.duckdb"
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    with open_database(str(path)) as database:
        links = learn_structure(database).links
    return {f"{link.table}.{link.column} -> {link.target}.{link.referenced}" for link in links}


def test_numbers_that_lie_in_every_key_say_nothing() -> None:
    assert surprise((1, 14), 14, (1, 1_000), 1_000) < 0
    assert surprise((1, 2), 2, (1, 25), 25) < 2


def test_scattered_numbers_and_common_ends_are_no_accident() -> None:
    assert surprise((7, 99_870), 300, (1, 99_999), 300) > 100
    assert surprise((7, 131), 26, (1, 133), 133, is_key=True) > 8
    assert surprise((5_002, 5_096), 19, (5_000, 5_097), 98) > surprise((2, 96), 19, (1, 98), 98)


def test_a_counter_fills_its_span_from_a_usual_start() -> None:
    assert is_counter((1, 40), 40)
    assert is_counter((1_001, 1_040), 39)
    assert not is_counter((1, 40), 20)
    assert not is_counter((62, 69), 8)


@pytest.mark.parametrize("name", ["territoryid", "territory_id", "TerritoryID"])
def test_what_is_named_as_the_key_of_something_else_leads_there_only_if_the_values_say_much(
    name: str, tmp_path: Path
) -> None:
    links = found(
        tmp_path,
        "CREATE TABLE reason AS SELECT i AS reasonid, 'Reason ' || i AS name FROM range(1, 11) t(i)",
        "ALTER TABLE reason ADD PRIMARY KEY (reasonid)",
        f"CREATE TABLE customer AS SELECT i AS customerid, 1 + i % 10 AS {name}, 1 + i % 10 AS why "
        "FROM range(1, 900) t(i)",
        "ALTER TABLE customer ADD PRIMARY KEY (customerid)",
        "CREATE TABLE depot AS SELECT 17 * i * i AS depotid, 'Depot ' || i AS name FROM range(1, 200) t(i)",
        "ALTER TABLE depot ADD PRIMARY KEY (depotid)",
        "CREATE TABLE van AS SELECT i AS vanid, 17 * (1 + i % 150) * (1 + i % 150) AS garageid FROM range(1, 600) t(i)",
        "ALTER TABLE van ADD PRIMARY KEY (vanid)",
    )
    assert links == {"customer.why -> reason.reasonid", "van.garageid -> depot.depotid"}


def test_keys_of_a_sub_class_lead_to_the_table_whose_keys_they_are(tmp_path: Path) -> None:
    links = found(
        tmp_path,
        "CREATE TABLE person AS SELECT i AS id, 'Name ' || i AS name FROM range(1, 400) t(i)",
        "CREATE TABLE building AS SELECT i AS id, 'House ' || i AS name FROM range(1, 90) t(i)",
        "CREATE TABLE alumnus AS SELECT i AS id, 1990 + i % 20 AS finished FROM range(3, 399, 7) t(i)",
        "ALTER TABLE person ADD PRIMARY KEY (id)",
        "ALTER TABLE building ADD PRIMARY KEY (id)",
        "ALTER TABLE alumnus ADD PRIMARY KEY (id)",
    )
    assert links == {"alumnus.id -> person.id"}


def test_grades_flags_and_counters_lead_nowhere(tmp_path: Path) -> None:
    links = found(
        tmp_path,
        "CREATE TABLE medium AS SELECT i AS id, 'Medium ' || i AS name FROM range(1, 6) t(i)",
        "CREATE TABLE track AS SELECT i AS id, 1 + i % 5 AS stars, i % 2 AS live, 1 + i % 9 AS quantity, "
        "1 + i % 3 AS mood FROM range(1, 3001) t(i)",
        "CREATE TABLE playlist_track AS SELECT i AS id, 1 + i * 7 % 3000 AS track_id FROM range(1, 501) t(i)",
        *(f"ALTER TABLE {name} ADD PRIMARY KEY (id)" for name in ("medium", "track", "playlist_track")),
    )
    assert links == {"playlist_track.track_id -> track.id"}


def test_where_two_keys_fit_alike_and_no_name_tells_neither_is_taken(tmp_path: Path) -> None:
    tables = [f"CREATE TABLE {name} AS SELECT 700 + i AS id FROM range(60) t(i)" for name in ("left_one", "right_one")]
    links = found(
        tmp_path,
        *tables,
        "CREATE TABLE happening AS SELECT i AS id, 700 + i % 60 AS whose FROM range(1, 301) t(i)",
        *(f"ALTER TABLE {name} ADD PRIMARY KEY (id)" for name in ("left_one", "right_one", "happening")),
    )
    assert not {link for link in links if "whose" in link}


def test_a_table_does_not_lead_to_a_view_of_itself(tmp_path: Path) -> None:
    links = found(
        tmp_path,
        "CREATE TABLE customer AS SELECT 5000 + i * 3 AS customer_id, 'Name ' || i AS name FROM range(80) t(i)",
        "ALTER TABLE customer ADD PRIMARY KEY (customer_id)",
        "CREATE VIEW customer_list AS SELECT customer_id AS id, name FROM customer",
    )
    assert links == {"customer_list.id -> customer.customer_id"}


def test_the_benchmark_measures_what_it_says(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("links_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id), "
                           "seller INTEGER REFERENCES customer (id))")  # fmt: skip
        connection.execute("INSERT INTO customer SELECT 1000 + i * 11 FROM range(50) t(i)")
        connection.execute("INSERT INTO orders SELECT i, 1000 + i % 50 * 11, NULL FROM range(1, 101) t(i)")
    with open_database(str(path)) as database:
        result = benchmark.measure(database, database.schema)
    assert result["exact"] == result["space"] == (1, 1, 1, 1), "a link without a value is not looked for"
    assert result["missed"] == result["wrong"] == []


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path: Path) -> None:
    out = tmp_path / "links.json"
    words = [sys.executable, BENCHMARK, "generated: random", "--rows", "400", "--json", out]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "generated, all" in done.stdout
    assert json.loads(out.read_text())["generated, all"]["space"]["precision"] > 0.8
