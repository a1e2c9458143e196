"""Reading databases: the same on DuckDB, PostgreSQL and SQLite, and nothing but reading."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pyarrow as pa
import pytest

from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError
from ruleminer.rules.dialects import BOUND
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.engines.duckdb import DuckDB
from ruleminer.sources.engines.sqlite import SQLite
from ruleminer.sources.schema import ForeignKey, Schema
from tests.mariadb import run_in_mariadb

WEIRD = "we;--ird %s \"q\" 'ü'"
DDL = """
CREATE TABLE "Par ent" (id integer PRIMARY KEY, code varchar(5) NOT NULL UNIQUE);
CREATE TABLE "we;--ird %s ""q"" 'ü'" (
    a integer NOT NULL, b integer NOT NULL, "select" numeric(5,2), "100%" date, t timestamp, f boolean, v varchar(9),
    PRIMARY KEY (b, a), UNIQUE (v, "select"), FOREIGN KEY (a) REFERENCES "Par ent" (id)
);
CREATE TABLE "empty" (x integer);
CREATE VIEW "seen" AS SELECT a, "100%" FROM "we;--ird %s ""q"" 'ü'";
INSERT INTO "Par ent" VALUES (1, 'x'), (2, 'y');
INSERT INTO "we;--ird %s ""q"" 'ü'" VALUES (1, 2, 12.3, '2020-01-02', '2020-01-02 03:04:05', true, '50%'),
    (2, 3, NULL, NULL, NULL, NULL, NULL);
"""
ENGINES = ("duckdb", "postgres", "sqlite", "mysql")


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the engine that the test is parametrised with, holding DDL."""
    if request.param == "postgres":
        found: str = request.getfixturevalue("empty_postgres")
        run_in_postgres(found, DDL)
        return found
    if request.param == "mysql":
        found = request.getfixturevalue("empty_mariadb")
        run_in_mariadb(found, DDL)
        return found
    if request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
            connection.execute(DDL)
        return f"duckdb:///{tmp_path}/a.duckdb"
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.executescript(DDL)
    connection.close()
    return f"sqlite:///{tmp_path}/a.sqlite"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with open_database(url, timeout=20) as opened:
        yield opened


every_engine = pytest.mark.parametrize("url", ENGINES, indirect=True)


def run_in_postgres(url: str, sql: str) -> None:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql)


def without_types(schema: Schema) -> list[Any]:
    return [
        (
            table.name,
            [(c.name, c.kind, c.nullable) for c in table.columns],
            table.primary_key,
            table.unique,
            table.foreign_keys,
            table.rows,
            table.is_view,
        )
        for table in schema.tables
    ]


@every_engine
def test_weird_names_keys_and_counts_are_reflected_alike(database: Database) -> None:
    assert [table.name for table in database.schema.tables] == ["Par ent", "empty", "seen", WEIRD]
    weird = database.schema.table(WEIRD)
    assert [(c.name, c.kind.value, c.nullable) for c in weird.columns] == [
        ("a", "integer", False),
        ("b", "integer", False),
        ("select", "decimal", True),
        ("100%", "date", True),
        ("t", "timestamp", True),
        ("f", "boolean", True),
        ("v", "text", True),
    ]
    assert weird.primary_key == ("b", "a")
    assert weird.unique == (("v", "select"),)
    assert weird.foreign_keys == (ForeignKey(("a",), "Par ent", ("id",)),)
    assert [table.rows for table in database.schema.tables] == [2, 0, 2, 2]
    assert [table.is_view for table in database.schema.tables] == [False, False, True, False]
    assert database.schema.table("Par ent").unique == (("code",),)


@every_engine
def test_rows_and_arrow_bind_the_same_parameters(database: Database) -> None:
    condition = " AND ".join(f"{column} = {BOUND}" for column in ("a", '"select"', '"100%"', "t", "f", "v"))
    values = (1, Decimal("12.30"), date(2020, 1, 2), datetime(2020, 1, 2, 3, 4, 5), True, "50%")
    sql = f"SELECT b, v FROM {database.quoted(WEIRD)} WHERE {condition}"
    assert list(database.rows(sql, values)) == [(2, "50%")]
    assert database.arrow(sql, values).read_all().to_pylist() == [{"b": 2, "v": "50%"}]


@every_engine
def test_sql_without_parameters_goes_as_it_stands(database: Database) -> None:
    sql = f"SELECT v FROM {database.quoted(WEIRD)} WHERE v LIKE '50%' AND v <> '%s'"
    assert list(database.rows(sql)) == [("50%",)]
    assert database.arrow(sql).read_all()["v"].to_pylist() == ["50%"]


@every_engine
def test_streams_of_one_database_may_be_interleaved(database: Database) -> None:
    sql = f"SELECT id FROM {database.quoted('Par ent')} ORDER BY id"
    first, second, third = database.rows(sql), database.rows(sql), database.arrow(sql)
    assert [next(first), next(second), next(first), next(second)] == [(1,), (1,), (2,), (2,)]
    assert third.read_all()["id"].to_pylist() == [1, 2]


@every_engine
def test_a_stream_can_be_left_in_the_middle(database: Database) -> None:
    digits = ", ".join(f"({digit})" for digit in range(10))
    numbers = f"WITH d(i) AS (VALUES {digits}) SELECT a.i FROM d a, d b, d c, d e, d f WHERE a.i < 5"
    for _ in range(3):
        stream = database.rows(numbers)
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert database.arrow(numbers).read_next_batch().num_rows > 0
    assert sum(1 for _ in database.rows(numbers)) == 50000


@every_engine
def test_an_empty_result_still_has_its_columns(database: Database) -> None:
    assert list(database.rows(f"SELECT x FROM {database.quoted('empty')}")) == []
    assert database.arrow(f"SELECT x AS y FROM {database.quoted('empty')}").read_all().column_names == ["y"]


@every_engine
def test_arrow_streams_flow_into_duckdb(database: Database) -> None:
    reader = database.arrow(f"SELECT a, v FROM {database.quoted(WEIRD)} ORDER BY a")
    with duckdb.connect() as connection:
        connection.register("incoming", reader)
        assert connection.execute("SELECT * FROM incoming").fetchall() == [(1, "50%"), (2, None)]


@every_engine
@pytest.mark.parametrize(
    "sql",
    [
        'DELETE FROM "Par ent"',
        'SELECT 1; DELETE FROM "Par ent"',
        'COMMIT; DROP TABLE "Par ent"',
        "PRAGMA query_only = OFF",
        "ATTACH 'x' AS y",
        "SET default_transaction_read_only = off",
        "COPY (SELECT 1) TO '/dev/null'",
        "",
        "-- nothing",
    ],
)
def test_only_single_queries_are_run(database: Database, sql: str) -> None:
    with pytest.raises(DatabaseError):
        list(database.rows(sql))
    with pytest.raises(DatabaseError):
        database.arrow(sql)
    assert list(database.rows('SELECT count(*) FROM "Par ent";')) == [(2,)]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_does_not_fit_into_memory_goes_to_a_folder_of_ours_that_is_removed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours, here = (tmp_path / name for name in ("theirs", "ours", "here"))
    for folder in (theirs, ours, here):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(ours))
    many = "SELECT i, md5(CAST(i AS VARCHAR)) AS v FROM range(900000) r(i)"
    with duckdb.connect(theirs / "a.duckdb" if kind == "file" else ":memory:") as connection:
        made = (
            "CREATE TABLE t AS " + many
            if kind == "file"
            else f"COPY ({many}) TO '{theirs}/t.parquet' (ROW_GROUP_SIZE 20000)"
        )
        connection.execute(made)
    before = list(theirs.iterdir())
    with open_database(theirs / "a.duckdb" if kind == "file" else f"parquet:{theirs}") as database:
        database._engine._connection.execute("SET threads = 1; SET memory_limit = '50MB'")  # type: ignore[attr-defined]
        rows = database.rows("SELECT i, v FROM t ORDER BY v")
        next(rows)
        assert any(path.is_file() for path in ours.rglob("*"))
        assert all(folder.stat().st_mode & 0o077 == 0 for folder in ours.iterdir())
        assert (list(theirs.iterdir()), list(here.iterdir())) == (before, [])
        rows.close()  # type: ignore[attr-defined]
    assert list(ours.iterdir()) == []


def test_the_engines_themselves_refuse_to_write(tmp_path: Path, empty_postgres: str) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t (i integer)")
    lite = sqlite3.connect(tmp_path / "a.sqlite")
    lite.execute("CREATE TABLE t (i integer)")
    lite.close()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for engine in (DuckDB(tmp_path / "a.duckdb", 9), SQLite(tmp_path / "a.sqlite", 9)):
        for sql in (
            "INSERT INTO t VALUES (1)",
            f"ATTACH '{tmp_path}/new.db' AS n",
            f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        ):
            with pytest.raises(DatabaseError):
                list(engine.rows(sql, None))
        engine.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.duckdb", "a.sqlite", "secret.csv"]
    run_in_postgres(empty_postgres, "CREATE SEQUENCE s")
    with open_database(empty_postgres) as database:
        with pytest.raises(DatabaseError, match="read-only"):
            list(database.rows("SELECT nextval('s')"))
        with pytest.raises(DatabaseError, match="read-only"):
            database.arrow("SELECT nextval('s')").read_all()


def test_python_variables_are_no_tables(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    sneaky = pa.table({"x": [1]})
    assert sneaky.num_rows == 1
    with open_database(str(tmp_path / "a.duckdb")) as database, pytest.raises(DatabaseError, match="sneaky"):
        list(database.rows("SELECT * FROM sneaky"))


ENDLESS = {
    "duckdb": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5",
    "postgres": "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE a % 7 = b % 5",
    "mysql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
    "SELECT count(*) FROM n a, n b, n c, n d WHERE a.i % 7 = b.i % 5",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
}


@every_engine
def test_a_query_that_takes_too_long_is_stopped(url: str) -> None:
    with open_database(url, timeout=0.5) as database:
        for ask in (lambda sql: list(database.rows(sql)), lambda sql: database.arrow(sql).read_all()):
            with pytest.raises(DatabaseTimeoutError, match=r"within 0\.5 s"):
                ask(ENDLESS[database.dialect.name])
        assert list(database.rows("SELECT 1")) == [(1,)]


@every_engine
def test_counting_can_be_skipped_and_may_run_out_of_time(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(url, count_rows=False) as database:
        assert {table.rows for table in database.schema.tables} == {None}
    with open_database(url) as database:

        def too_slow(sql: str, params: object = None) -> Iterator[tuple[Any, ...]]:
            raise DatabaseTimeoutError("too slow")

        monkeypatch.setattr(database, "rows", too_slow)
        assert {table.rows for table in database.schema.tables} == {None}


@every_engine
def test_tables_are_chosen_by_name_and_pattern(url: str) -> None:
    def names(**options: Any) -> list[str]:
        with open_database(url, **options) as database:
            return [table.name for table in database.schema.tables]

    assert names(include=["Par ent", "e*"]) == ["Par ent", "empty"]
    assert names(exclude=["*e*n*", "se??"]) == ["empty", WEIRD]
    assert names(include=[WEIRD]) == [WEIRD]
    with pytest.raises(DatabaseError, match=r"no table is called like 'none\*'"):
        names(include=["none*"])
    with pytest.raises(DatabaseError, match=r"no table 'Parent'.*did you mean Par ent"):
        names(include=["Parent"])
    with pytest.raises(DatabaseError, match="no table 'emtpy'"):
        names(exclude=["emtpy"])
    with open_database(url, exclude=["Par ent"]) as database:
        assert database.schema.table(WEIRD).foreign_keys == ()


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_a_schema_is_found_chosen_and_searched(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    one = 'CREATE SCHEMA "my.sch""ema"; CREATE TABLE "my.sch""ema".t (i integer);'
    two = "CREATE SCHEMA other; CREATE TABLE other.u (j integer);"
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else f"duckdb:///{tmp_path}/a.duckdb"

    def run(sql: str) -> None:
        if engine == "postgres":
            run_in_postgres(url, sql)
        else:
            with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
                connection.execute(sql)

    run(one)
    with open_database(url) as database:
        assert database.schema.name == 'my.sch"ema'
        assert list(database.rows("SELECT i FROM t")) == []
        assert database.arrow("SELECT i FROM t").read_all().num_rows == 0
        assert database.quoted("t") == '"my.sch""ema"."t"'
    run(two)
    with pytest.raises(DatabaseError, match="several schemas: choose one of my"):
        open_database(url)
    with open_database(url, schema="other") as database:
        assert [table.name for table in database.schema.tables] == ["u"]
        assert list(database.rows("SELECT j FROM u")) == []
    with pytest.raises(DatabaseError, match=r"no schema 'othr'.*did you mean other"):
        open_database(url, schema="othr")
    with pytest.raises(DatabaseError, match="one schema is read at a time"):
        open_database(url, schema="other,main")


def test_a_schema_may_be_named_like_its_file(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "npd.duckdb")) as connection:
        connection.execute("CREATE SCHEMA npd; CREATE TABLE npd.npd.field AS SELECT 1 AS id")
    with open_database(str(tmp_path / "npd.duckdb")) as database:
        assert database.schema.table("field").rows == 1
        assert list(database.rows("SELECT field.id FROM npd.field")) == [(1,)]


def test_times_with_a_zone_come_in_utc(empty_postgres: str, tmp_path: Path) -> None:
    make = "CREATE TABLE t AS SELECT TIMESTAMPTZ '2020-01-01 10:00:00+02' AS seen"
    run_in_postgres(empty_postgres, make)
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(make)
    for url in (empty_postgres, str(tmp_path / "a.duckdb")):
        with open_database(url) as database:
            assert list(database.rows("SELECT seen FROM t")) == [(datetime(2020, 1, 1, 8, tzinfo=UTC),)]
            assert list(database.rows("SELECT CAST(seen AS VARCHAR) FROM t")) == [("2020-01-01 08:00:00+00",)]
            assert database.arrow("SELECT seen FROM t").read_all()["seen"].to_pylist() == [
                datetime(2020, 1, 1, 8, tzinfo=UTC)
            ]


def test_arrow_brings_postgresql_types_whole(empty_postgres: str) -> None:
    with open_database(empty_postgres) as database:
        table = database.arrow(
            "SELECT 12.300000::numeric(13,6) AS n, DATE '2020-01-02' AS d, true AS b, 'x'::char(3) AS c, "
            "TIMESTAMP '2020-01-02 03:04:05' AS t, 9000000000000000000 AS i, 0.5::float8 AS f, NULL::text AS z"
        ).read_all()
    assert table.to_pylist() == [
        {
            "n": "12.300000",
            "d": date(2020, 1, 2),
            "b": True,
            "c": "x  ",
            "t": datetime(2020, 1, 2, 3, 4, 5),
            "i": 9000000000000000000,
            "f": 0.5,
            "z": None,
        }
    ]


def test_blanks_that_fill_up_a_char_do_not_count(empty_postgres: str) -> None:
    with open_database(empty_postgres) as database:
        assert list(database.rows("SELECT 'x'::char(3), NULL::char(3)")) == [("x", None)]


def test_sqlite_columns_of_mixed_values_come_as_text(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (a, b, c, d, e)")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?, ?, ?)", [(1, 1, "x", b"\x00", None), (None, 2.5, 7, b"\xff", None)]
    )
    connection.commit()
    connection.close()
    with open_database(str(tmp_path / "a.db")) as database:
        table = database.arrow("SELECT * FROM t;").read_all()
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.string()]
    assert table["c"].to_pylist() == ["x", "7"]


def test_a_table_without_permission_does_not_hide_the_others(empty_postgres: str) -> None:
    run_in_postgres(
        empty_postgres,
        "CREATE TABLE open_table (i integer); CREATE TABLE secret (i integer PRIMARY KEY); "
        "CREATE TABLE half (id integer PRIMARY KEY, shown text, hidden text, ref integer REFERENCES secret); "
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN; "
        "GRANT SELECT ON open_table TO guest; GRANT SELECT (id, shown) ON half TO guest",
    )
    with open_database(empty_postgres.replace("postgres:@", "guest@")) as database:
        assert [table.name for table in database.schema.tables] == ["half", "open_table"]
        assert [column.name for column in database.schema.table("half").columns] == ["id", "shown"]
        assert database.schema.table("half").foreign_keys == ()
        assert database.schema.table("half").rows == 0
        assert database.schema.unreadable == (("secret", "no permission to read it"),)
        with pytest.raises(DatabaseError, match="permission denied for table secret"):
            list(database.rows("SELECT * FROM secret"))


def test_a_view_that_no_longer_works_does_not_hide_the_tables(tmp_path: Path) -> None:
    lite = sqlite3.connect(tmp_path / "a.sqlite")
    lite.executescript("CREATE TABLE t (i integer); CREATE VIEW broken AS SELECT j FROM gone;")
    lite.close()
    with duckdb.connect(str(tmp_path / "a.duckdb")) as duck:
        duck.execute("CREATE TABLE t (i integer); CREATE TABLE gone (j integer)")
        duck.execute("CREATE VIEW broken AS SELECT j FROM gone; DROP TABLE gone")
    for name in ("a.sqlite", "a.duckdb"):
        with open_database(str(tmp_path / name)) as database:
            assert [(table.name, table.rows) for table in database.schema.tables] == [("t", 0)]
            ((broken, reason),) = database.schema.unreadable
            assert broken == "broken"
            assert "gone" in reason


def test_a_lost_connection_is_told_and_the_next_query_works(empty_postgres: str) -> None:
    numbers = "SELECT i, repeat('x', 500) FROM generate_series(1, 200000) i"
    kick = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = '{}'"
    name = empty_postgres.split("/")[3].split("?")[0]
    with open_database(empty_postgres) as database:
        for open_stream in (database.rows, database.arrow):
            spare = database.rows("SELECT 1")
            next(spare), spare.close()  # type: ignore[attr-defined]
            stream = iter(open_stream(numbers))
            next(stream)
            run_in_postgres(empty_postgres, kick.format(name))
            with pytest.raises(ConnectionLostError, match="was lost"):
                for _ in stream:
                    pass
            assert list(database.rows("SELECT 1")) == [(1,)]
            assert database.arrow("SELECT 1").read_all().num_rows == 1


def test_a_connection_that_is_lost_before_its_cursor_closes_is_told(empty_postgres: str) -> None:
    kick = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = '{}'"
    name = empty_postgres.split("/")[3].split("?")[0]
    plain = psycopg2.extensions.cursor.close

    class Unlucky(psycopg2.extensions.cursor):
        def close(self) -> None:
            run_in_postgres(empty_postgres, kick.format(name))
            plain(self)

    with open_database(empty_postgres) as database:
        list(database.rows("SELECT 1"))
        ((_, connection),) = database._engine._idle  # type: ignore[attr-defined]
        connection.cursor_factory = Unlucky
        with pytest.raises(ConnectionLostError, match="was lost"):
            list(database.rows("SELECT 1"))
        assert list(database.rows("SELECT 1")) == [(1,)]
