"""Keys that nobody declared: what tells all rows apart, and looks as if it was made for it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import duckdb
import pytest

from ruleminer.errors import DatabaseTimeoutError, UnansweredWarning
from ruleminer.sources.database import open_database
from ruleminer.structure.keys import with_keys
from ruleminer.structure.profile import profile_of
from ruleminer.structure.structure import learn_structure

from .worlds import ENGINES, database_of, on_engine


def found_keys(url: str) -> dict[str, tuple[str, ...]]:
    """The discovered keys by table; each must be the primary key of the schema that comes along."""
    with open_database(url) as database:
        schema, keys = with_keys(database.schema, profile_of(database), database)
    found = {key.table: key.columns for key in keys}
    for table in schema.tables:
        if table.name in found:
            assert table.primary_key == found[table.name]
    return found


def key_of(folder: Path, columns: str, rows: int = 30) -> tuple[str, ...] | None:
    """The key found for a table of so many rows, whose columns are expressions of the row's number i."""
    return found_keys(database_of(folder, f"CREATE TABLE thing AS SELECT {columns} FROM range({rows}) r(i)")).get(
        "thing"
    )


def test_declared_keys_are_left_as_they_are(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE a (code VARCHAR PRIMARY KEY, id INTEGER)",
        "INSERT INTO a SELECT 'c' || i, i FROM range(9) r(i)",
        "CREATE TABLE b (id INTEGER, code VARCHAR UNIQUE)",
        "INSERT INTO b SELECT i, 'c' || i FROM range(9) r(i)",
    )
    with open_database(url) as database:
        schema, keys = with_keys(database.schema, profile_of(database), database)
        assert (schema, keys) == (database.schema, ())


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ("'n' || i AS name, i + 7 AS id", "id"),
        ("i * i AS square, i AS thing_no", "thing_no"),
        ("'n' || i AS label, 1000 - i AS n", "n"),
        ("'n' || i AS label, 'm' || i AS other", "label"),
        ("CAST(i AS DOUBLE) AS ratio, DATE '2014-01-01' + CAST(i AS INTEGER) AS day, 'n' || i AS label", "label"),
    ],
    ids=["an id", "named like the table", "a number", "the first", "no measure, no day"],
)
def test_of_several_columns_the_one_that_looks_like_a_key_is_chosen(columns: str, key: str, tmp_path: Path) -> None:
    assert key_of(tmp_path, columns) == (key,)


@pytest.mark.parametrize(
    "columns",
    ["i // 2 AS id", "CASE WHEN i > 0 THEN i END AS id", "repeat('long ', 20) || i AS id", "i / 7.0 AS id"],
    ids=["twice", "empty once", "prose", "fractions"],
)
def test_what_repeats_is_empty_or_is_no_name_is_no_key(columns: str, tmp_path: Path) -> None:
    assert key_of(tmp_path, columns) is None


def test_two_rows_differ_by_chance(tmp_path: Path) -> None:
    assert key_of(tmp_path, "i AS id", rows=2) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_and_triples_that_tell_rows_apart(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = on_engine(
        engine, tmp_path, request,
        "CREATE TABLE wrote AS SELECT p AS person, q AS paper, 'same' AS kind FROM range(5) r(p), range(6) s(q)",
        "CREATE TABLE sat AS SELECT a, b, c, 1 AS one FROM range(3) r(a), range(4) s(b), range(5) t(c)",
        "CREATE TABLE four AS SELECT a, b, c, d FROM range(3) r(a), range(3) s(b), range(3) t(c), range(3) u(d)",
        "CREATE TABLE twice AS SELECT p, q FROM range(3) r(p), range(3) s(q), range(2) t(x)",
    )  # fmt: skip
    assert found_keys(url) == {"wrote": ("person", "paper"), "sat": ("a", "b", "c")}


def test_a_table_is_counted_a_few_times_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six columns make 35 pairs and triples, none of which is a key; a look at some rows refutes nearly all."""
    columns = ", ".join(f"hash(i // 2 + {n}) % 90 AS c{n}" for n in range(6))
    url = database_of(tmp_path, f"CREATE TABLE t AS SELECT {columns} FROM range(30000) r(i)")
    asked = list[str]()
    with open_database(url) as database:
        profile = profile_of(database)
        rows = database.rows
        monkeypatch.setattr(database, "rows", lambda sql, *rest: asked.append(sql) or rows(sql, *rest))
        with_keys(database.schema, profile, database)
    assert asked[0].endswith("LIMIT 10000")
    assert len(asked) <= 5


def test_a_key_that_the_database_had_no_time_to_count_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = database_of(
        tmp_path, "CREATE TABLE wrote AS SELECT p AS person, q AS paper FROM range(5) r(p), range(6) s(q)"
    )
    with open_database(url) as database:
        profile = profile_of(database)

        def late(sql: str, *rest: object) -> NoReturn:
            raise DatabaseTimeoutError("the database did not answer within 1 s")

        monkeypatch.setattr(database, "rows", late)
        with pytest.warns(UnansweredWarning, match="wrote: compound keys may be missing .*within 1 s"):
            _, keys = with_keys(database.schema, profile, database)
    assert keys == ()


def test_why_is_told(tmp_path: Path) -> None:
    url = database_of(tmp_path, "CREATE TABLE t AS SELECT i AS id FROM range(1200) r(i)")
    with open_database(url) as database:
        _, (key,) = with_keys(database.schema, profile_of(database), database)
    assert key.why == "1,200 rows, as many values"
    assert type(key).from_json(key.to_json()) == key


def test_the_own_number_in_a_compound_key_is_a_key(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE bill (id INTEGER PRIMARY KEY)")
        work.execute("CREATE TABLE bill_line (bill INTEGER, bill_line_id INTEGER, PRIMARY KEY (bill, bill_line_id))")
        work.execute("CREATE TABLE part (bill INTEGER, part_id INTEGER, PRIMARY KEY (bill, part_id))")  # anew for each
        work.execute("INSERT INTO bill SELECT i FROM range(1, 31) r(i)")
        work.execute("INSERT INTO bill_line SELECT 1 + i // 2, 100 + i FROM range(60) r(i)")
        work.execute("INSERT INTO part SELECT 1 + i // 2, i % 2 FROM range(60) r(i)")
    with open_database(path) as database:
        structure = learn_structure(database)
        assert structure.schema.table("bill_line").keys == ("bill_line_id",)
        assert structure.schema.table("part").keys == ()
        assert structure.declared == database.schema


def test_of_several_unique_columns_that_names_the_rows_to_which_links_lead(tmp_path: Path) -> None:
    path = tmp_path / "towns.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE region (id INTEGER UNIQUE, code VARCHAR UNIQUE, name VARCHAR)")
        work.execute("CREATE TABLE town (id INTEGER PRIMARY KEY, region VARCHAR REFERENCES region (code))")
        work.execute("INSERT INTO region SELECT i, format('{:02d}', i + 40), 'region ' || i FROM range(1, 9) r(i)")
        work.execute("INSERT INTO town SELECT i, format('{:02d}', i % 8 + 41) FROM range(50) r(i)")
    with open_database(path) as database:
        structure = learn_structure(database)
        assert structure.schema.table("region").own_key == "code"
        assert structure.schema.table("region").keys == ("code", "id")
        assert structure.declared == database.schema


def test_a_unique_column_that_is_mostly_empty_names_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE person (person_id INTEGER UNIQUE, ssn VARCHAR UNIQUE)")
        people = "SELECT CASE WHEN i < 3 THEN i END, format('{:05d}', 7 * i) FROM range(30) r(i)"
        work.execute(f"INSERT INTO person {people}")
    with open_database(path) as database:
        assert learn_structure(database).schema.table("person").own_key == "ssn"


LINES = """
CREATE TABLE line AS SELECT 1 + i // 6 AS order_nr, 1 + i * 7919 % 997 AS part, 1 + i % 6 AS line_number,
    CAST(hash(i) % 50000 AS INTEGER) AS amount, 'word' || i * 31 % 2999 || ' and more' AS remark,
    DATE '2020-01-01' + CAST(i * 13 % 1999 AS INTEGER) AS shipped
FROM range(3000) r(i)
"""


def test_of_combinations_that_tell_rows_apart_the_most_surprising_one_is_chosen_and_no_prose(tmp_path: Path) -> None:
    assert found_keys(database_of(tmp_path, LINES)) == {"line": ("order_nr", "line_number")}


def test_a_day_is_rather_in_a_key_than_a_measure(tmp_path: Path) -> None:
    pay = """
    CREATE TABLE pay AS SELECT 1000 + i // 8 AS person, 40000 + CAST(hash(i) % 50000 AS INTEGER) AS amount,
           DATE '1990-01-01' + CAST(i * 331 % 7001 AS INTEGER) AS since FROM range(3000) r(i)
    """
    assert found_keys(database_of(tmp_path, pay)) == {"pay": ("person", "since")}


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (
            "1 + i // 20 AS order_nr, 1 + i % 20 AS place, 'r' || hash(i) % 40000 AS remark",
            ("order_nr", "place"),
        ),
        (
            "DATE '2020-01-01' + CAST(i % 25 AS INTEGER) AS day, 1 + i // 25 AS person, hash(i) % 90000 AS paid",
            ("day", "person"),
        ),
        (
            ", ".join(f"i % {2 + n % 2} AS flag{n}" for n in range(60))
            + ", 1 + i // 30 AS patient, 1 + i % 30 AS visit",
            ("patient", "visit"),
        ),
        (
            ", ".join(f"'text ' || i % {5 + n} AS t{n}" for n in range(12)) + ", i // 30 AS patient, i % 30 AS visit",
            ("patient", "visit"),
        ),
    ],
    ids=["a remark hardly repeats", "nor an amount", "behind many flags", "behind many codes"],
)
def test_what_hardly_repeats_is_no_part_of_a_key_and_a_key_may_stand_late(
    columns: str, key: tuple[str, ...], tmp_path: Path
) -> None:
    assert key_of(tmp_path, columns, rows=3000) == key
