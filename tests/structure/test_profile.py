"""A profile says what counting by hand says, on every engine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.lexical import lexical_form
from ruleminer.sources.database import Database, open_database
from ruleminer.structure import profile as profile_module
from ruleminer.structure import profile_sql
from ruleminer.structure.profile import ColumnProfile, Profile, TableProfile, empty_profile, profile_of
from ruleminer.structure.profile_sql import COMMON
from ruleminer.structure.structure import learn_structure
from tests.extraction import small_worlds

from .worlds import ENGINES, database_of, on_engine

ORDERED = ("INTEGER", "DECIMAL(8,3)", "DATE", "TIMESTAMP")


def counted(values: list[object], sql_type: str) -> ColumnProfile:
    """One column of a small world, the obvious way."""
    filled = [value for value in values if value is not None]
    low = high = None
    if filled and sql_type in ORDERED:
        low, high = lexical_form(min(filled)), lexical_form(max(filled))  # type: ignore[type-var]
    length = sum(map(len, map(str, filled))) / len(filled) if filled and sql_type == "VARCHAR" else 0.0
    counts = Counter(map(lexical_form, filled))
    common = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if len(counts) <= len(filled) // 2 else []
    return ColumnProfile(len(filled), len(counts), low, high, round(length, 6), tuple(common))


def alike(one: ColumnProfile, sql_type: str) -> ColumnProfile:
    """The profile with numbers and times in the form that all engines share."""
    low, high = (None if text is None else shared(text, sql_type) for text in (one.low, one.high))
    common = sorted(((shared(text, sql_type), rows) for text, rows in one.common), key=lambda p: (-p[1], p[0]))
    return ColumnProfile(one.filled, one.distinct, low, high, round(one.length, 6), tuple(common))


def shared(text: str, sql_type: str) -> str:
    if sql_type.startswith("DECIMAL"):
        return lexical_form(Decimal(text))
    return text.replace("T", " ") if sql_type == "TIMESTAMP" else text


@pytest.mark.parametrize("engine", [one for one in ENGINES if one != "mysql"])  # which rounds means, spells seconds
@pytest.mark.parametrize("seed", [0, 1])
def test_a_profile_is_what_counting_by_hand_gives(
    engine: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with open_database(small_worlds.on_engine(engine, seed, tmp_path, request)) as database:
        profile = profile_of(database)
    rows = small_worlds.world(seed)
    repeated = 0
    for table, columns in small_worlds.TABLES.items():
        found = profile.tables[table.removesuffix("*")]
        assert found.rows == len(rows[table])
        for number, (column, sql_type) in enumerate(columns.items()):
            expected = counted([row[number] for row in rows[table]], sql_type)
            assert alike(found.columns[column], sql_type) == expected, (table, column)
            repeated += bool(expected.common)
    assert repeated > 3, "some columns have frequent values"


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_most_frequent_values_are_kept(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Value v stands in v rows, so that the greatest are the most frequent; of equals the first are kept."""
    url = on_engine(
        engine, tmp_path, request,
        "CREATE TABLE t AS SELECT v, 'B' || v % 100 AS even, v AS x FROM range(1, 101) r(v), range(1, 101) s(w) "
        "WHERE w <= v",
    )  # fmt: skip
    with open_database(url) as database:
        found = profile_of(database).tables["t"]
    assert found.columns["v"].common == tuple((str(v), v) for v in range(100, 100 - COMMON, -1))
    assert len(found.columns["even"].common) == COMMON
    seen = found.columns["v"]
    assert seen.frequency("100") == 100.0
    left = sum(range(1, 101 - COMMON))
    assert seen.frequency("3") == pytest.approx(left / (100 - COMMON)), "as often as the others, on average"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_keeps_the_same_of_equally_frequent_values(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In the order of their characters' numbers, in which capitals come before small letters."""
    letters = [f"{letter}{number}" for letter in "aBcD" for number in range(20)]
    rows = ", ".join(f"('{text}')" for text in letters * 2)
    url = on_engine(engine, tmp_path, request, "CREATE TABLE t (v VARCHAR)", f"INSERT INTO t VALUES {rows}")
    with open_database(url) as database:
        found = profile_of(database).column("t", "v")
    assert found is not None
    assert found.common == tuple((text, 2) for text in sorted(letters)[:COMMON])


def test_a_column_in_which_hardly_a_value_stands_twice_has_no_frequent_ones(tmp_path: Path) -> None:
    url = database_of(tmp_path, "CREATE TABLE t AS SELECT v, v // 2 AS pair FROM range(10) r(v)")
    with open_database(url) as database:
        columns = profile_of(database).tables["t"].columns
    assert columns["v"].common == ()
    assert columns["pair"].common == tuple((str(v), 2) for v in range(5))
    assert columns["v"].frequency("3") == 1.0


def test_more_columns_than_one_statement_asks_for(tmp_path: Path) -> None:
    selected = ", ".join(f"v % {number + 1} AS c{number}" for number in range(150))
    with open_database(database_of(tmp_path, f"CREATE TABLE t AS SELECT {selected} FROM range(300) r(v)")) as database:
        found = profile_of(database).tables["t"]
    assert found.rows == 300
    assert [found.columns[f"c{number}"].distinct for number in range(150)] == list(range(1, 151))


def test_blobs_are_not_looked_at_but_their_rows_count(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE picture (bytes BLOB)",
        "INSERT INTO picture VALUES ('a'), ('b')",
        "CREATE TABLE named (name VARCHAR, bytes BLOB)",
        "INSERT INTO named VALUES ('x', 'a')",
    )
    with open_database(url) as database:
        profile = profile_of(database)
    assert profile.tables["picture"] == TableProfile(2, {})
    assert list(profile.tables["named"].columns) == ["name"]


class Refusing:
    """A database that fails on one table, or on what is asked of it with a certain word."""

    def __init__(self, database: Database, error: DatabaseError, word: str = "") -> None:
        self.database, self.error, self.schema, self.word = database, error, database.schema, word
        self.dialect, self.own_dialect, self.origin = database.dialect, database.dialect, None

    def quoted(self, table: str) -> str:
        return self.database.quoted(table)

    def rows(self, sql: str, params: None = None) -> Iterator[tuple[object, ...]]:
        if '"secret"' in sql and self.word in sql.lower():
            raise self.error
        return self.database.rows(sql, params)


def two_tables(folder: Path) -> str:
    return database_of(
        folder,
        "CREATE TABLE open AS SELECT v FROM range(7) r(v)",
        "CREATE TABLE secret AS SELECT v FROM range(5) r(v)",
    )


def test_a_table_that_refuses_is_known_by_its_rows_only(tmp_path: Path) -> None:
    with open_database(two_tables(tmp_path)) as database:
        profile = profile_of(Refusing(database, DatabaseError("timed out")))  # type: ignore[arg-type]
        assert empty_profile(database.schema).tables == {"open": TableProfile(7), "secret": TableProfile(5)}
    assert profile.tables["secret"] == TableProfile(5, trouble="timed out")
    assert profile.column("secret", "v") is None
    assert profile.tables["open"].columns["v"].distinct == 7


def test_a_table_that_cannot_be_counted_is_not_taken_for_empty(tmp_path: Path) -> None:
    with open_database(two_tables(tmp_path), count_rows=False) as database:
        structure = learn_structure(Refusing(database, DatabaseError("timed out")))  # type: ignore[arg-type]
    assert {table.name: table.rows for table in structure.schema.tables} == {"open": 7, "secret": None}
    assert structure.profile.tables["secret"].counted is None


def test_rows_that_nobody_counted_are_counted_where_columns_cannot_be_asked(tmp_path: Path) -> None:
    url = database_of(tmp_path, "CREATE TABLE picture (bytes BLOB)", "INSERT INTO picture VALUES ('a'), ('b')")
    with open_database(url, count_rows="views") as database:
        assert profile_of(database).tables["picture"] == TableProfile(2, {})
    with open_database(two_tables(tmp_path), count_rows="views") as database:
        refusing = Refusing(database, DatabaseError("timed out"), "distinct")
        assert profile_of(refusing).tables["secret"] == TableProfile(5, trouble="timed out")  # type: ignore[arg-type]


def test_a_lost_connection_is_no_refusal(tmp_path: Path) -> None:
    with open_database(two_tables(tmp_path)) as database, pytest.raises(ConnectionLostError):
        profile_of(Refusing(database, ConnectionLostError("gone")))  # type: ignore[arg-type]


def test_a_profile_comes_back_from_json(tmp_path: Path) -> None:
    with open_database(small_worlds.in_duckdb(tmp_path / "w.duckdb", 1)) as database:
        profile = profile_of(database)
    written = json.loads(json.dumps(profile.to_json()))
    assert Profile.from_json(written).to_json() == profile.to_json()
    assert Profile.from_json(written).tables["wrote"].rows == profile.tables["wrote"].rows


def test_progress_is_told_table_by_table(tmp_path: Path) -> None:
    told: list[tuple[str, str, int, int]] = []
    with open_database(two_tables(tmp_path)) as database:
        profile_of(database, lambda *step: told.append(step))
    assert told == [("structure", *step) for step in (("open", 0, 2), ("secret", 1, 2), ("", 2, 2))]


def test_an_empty_table_is_known_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(database_of(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, a VARCHAR)")) as database:
        assert database.schema.tables[0].rows == 0
        monkeypatch.setattr(Database, "rows", lambda *given: pytest.fail("it was asked"))
        known = profile_of(database).tables["t"]
    assert known == TableProfile(0, {"id": ColumnProfile(0, 0), "a": ColumnProfile(0, 0)})


MIXED = """
CREATE TABLE mixed (tiny TINYINT, small SMALLINT, id INTEGER, big BIGINT, huge HUGEINT, nothing INTEGER, flag INTEGER,
                    code VARCHAR, char5 VARCHAR, note VARCHAR, blank VARCHAR, day DATE);
INSERT INTO mixed SELECT i % 100 - 50, i % 7000 - 3000, i - 2000, i * 3 + 10000000000, i * 2, NULL, i % 2,
  'c' || i % 1200, rpad(CAST(i % 50 AS VARCHAR), 5, ' '), CASE WHEN i % 5 > 0 THEN 'note ' || i END,
  CASE WHEN i % 3 = 0 THEN '' WHEN i % 3 = 1 THEN 'ab' ELSE 'a ' END, date '2000-01-01' + CAST(i % 900 AS INTEGER)
FROM range(5000) AS r(i);
"""


@pytest.mark.parametrize("bits", [(1, 10**9), (10**6, 10**9)])
def test_what_two_statements_on_columns_tell_is_what_one_tells(
    bits: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(tmp_path / "mixed.duckdb") as work:
        work.execute(MIXED)
    with open_database(tmp_path / "mixed.duckdb") as database:
        asked: list[str] = []
        rows = database.rows
        monkeypatch.setattr(database, "rows", lambda sql, *rest: asked.append(sql) or rows(sql, *rest))
        one = profile_of(database)
        assert not any("bitstring_agg" in sql for sql in asked)
        monkeypatch.setattr(profile_module, "_MANY_ROWS", 100)
        monkeypatch.setattr(profile_module, "_FEW_BITS", bits[0])
        two = profile_of(database)
    assert two.to_json() == one.to_json()
    assert any("bitstring_agg" in sql for sql in asked) == (bits[0] == 1)
    columns = one.tables["mixed"].columns
    assert [name for name, column in columns.items() if column.padded] == ["char5", "blank"]
    assert {name: columns[name].distinct for name in ("tiny", "small", "id", "big", "nothing", "flag")} == {
        "tiny": 100, "small": 5000, "id": 5000, "big": 5000, "nothing": 0, "flag": 2
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_values_in_very_many_rows_are_known_beyond_the_most_frequent(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(profile_module, "FREQUENT", 30)
    monkeypatch.setattr(profile_sql, "_KEPT", f"(place <= {COMMON} OR c > 30)")
    # 0 … 49 in 40 rows each, 50 … 89 in ten
    table = "CREATE TABLE thing AS SELECT n AS id, CASE WHEN n < 2000 THEN n % 50 ELSE 50 + n % 40 END AS kind"
    source = on_engine(engine, tmp_path, request, f"{table} FROM range(2400) AS r(n)")
    with open_database(source) as database:
        profile = profile_of(database)
    kind = profile.tables["thing"].columns["kind"]
    assert kind.distinct == 90
    assert [rows for _, rows in kind.common] == [40] * COMMON
    assert [rows for _, rows in kind.frequent] == [40] * 10
    assert {int(form) for form, _ in (*kind.common, *kind.frequent)} == set(range(50))
    assert Profile.from_json(json.loads(json.dumps(profile.to_json()))) == profile
