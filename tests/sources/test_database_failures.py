"""Databases that cannot be opened: one clear line each, and never a password in it."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import DatabaseError
from ruleminer.rules.dialects import BOUND, DUCKDB, SQLITE
from ruleminer.sources.database import open_database

SECRET = "s3cr@t/p w:d%"
QUOTED = "s3cr%40t%2Fp%20w%3Ad%25"


def failure(url: str, **options: str) -> str:
    """The message of the refusal, after we saw that nothing around it holds the password."""
    with pytest.raises(DatabaseError) as caught, open_database(url, **options):  # type: ignore[arg-type]
        pass
    printed = "".join(traceback.format_exception(caught.value))
    for shown in (str(caught.value), repr(caught.value), printed):
        assert SECRET not in shown
        assert QUOTED not in shown
        assert "s3cr" not in shown
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for url in (f"duckdb:///{tmp_path}/no.duckdb", f"sqlite:///{tmp_path}/no.db", f"{tmp_path}/no.db"):
        assert failure(url).startswith("no such database file:")
    assert failure("localhost/shop").endswith("a server's URL looks like postgresql://user@host/database")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    for content in (b"", b"hello", b"\0" * 5000, b"SQLite format 3\0" + b"x" * 5000, b"x" * 8 + b"DUCK" + b"x" * 9000):
        (tmp_path / "a.db").write_bytes(content)
        for scheme in ("", "duckdb:///", "sqlite:///"):
            with pytest.raises(DatabaseError) as caught, open_database(f"{scheme}{tmp_path}/a.db") as database:
                assert database.schema
            assert "a.db" in str(caught.value)
            assert "\n" not in str(caught.value)
    assert "Is a directory" in failure(str(tmp_path))


def test_the_engine_of_a_file_is_recognised(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "a.sqlite")).close()
    sqlite3.connect(tmp_path / "b.duckdb").executescript("CREATE TABLE t (i integer)").connection.close()
    with open_database(str(tmp_path / "a.sqlite")) as one, open_database(str(tmp_path / "b.duckdb")) as two:
        assert (one.dialect, two.dialect) == (DUCKDB, SQLITE)
    assert "is a sqlite database: open it with sqlite:///" in failure(f"duckdb:///{tmp_path}/b.duckdb")
    assert "is a duckdb database" in failure(f"sqlite:///{tmp_path}/a.sqlite")


def test_memory_holds_nothing_to_read() -> None:
    for url in ("duckdb:///:memory:", "duckdb://", "sqlite://", "sqlite:///:memory:"):
        assert "nothing to read" in failure(url)


def test_a_file_someone_writes_to_is_told(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")):
        assert "open for writing" in failure(f"{tmp_path}/a.duckdb")


def test_urls_that_lead_nowhere(tmp_path: Path) -> None:
    assert "no engine for 'db2+ibm' databases" in failure(f"db2+ibm://me:{QUOTED}@host/db")
    assert failure(f"mssql+pyodbc://me:{QUOTED}@host/db").startswith("SQL Server cannot be read yet: it lacks")
    assert failure(f"oracle://me:{QUOTED}@host/db").startswith("Oracle cannot be read yet: it lacks")
    assert "cannot connect to mysql://me@127.0.0.1:1/db: " in failure(f"mariadb://me:{QUOTED}@127.0.0.1:1/db")
    assert "cannot read the database URL" in failure(f"postgresql://me:{QUOTED}@host:port/db")
    assert "cannot read the database URL" in failure("://")
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    assert "more than 0 seconds" in failure(str(tmp_path / "a.duckdb"), timeout=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        f"md:shop?motherduck_token={QUOTED}",
        f"duckdb:///shop.duckdb?motherduck_token={QUOTED}",
        f"shop.duckdb?pwd={QUOTED}",
        f"postgresql:/me:{QUOTED}@host/db",
        f"postgresql://me@127.0.0.1:1/db?pwd={QUOTED}",
        f"postgresql://me@127.0.0.1:1/db?sslkey={QUOTED}&token={QUOTED}",
        f"Driver=x;Pwd={QUOTED}",
        "x" * 5000 + QUOTED,
        f"duckdb:///a\0{QUOTED}",
        f"sqlite:///\ud800{QUOTED}",
    ],
)
def test_no_malformed_url_shows_its_secret(url: str) -> None:
    failure(url)


def test_a_short_password_is_not_blotted_out_of_words() -> None:
    told = failure("postgresql://me:t@127.0.0.1:1/db")
    assert "***" not in told
    assert "connection" in told


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), -1.0, 1e12])
def test_a_time_limit_is_a_number_of_seconds(tmp_path: Path, timeout: float) -> None:
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    with pytest.raises(DatabaseError, match="timeout must be more than 0 seconds"):
        open_database(tmp_path / "a.duckdb", timeout=timeout)


def test_sqlite_has_no_schemas(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").executescript("CREATE TABLE t (i integer)").connection.close()
    assert "SQLite has no schemas" in failure(str(tmp_path / "a.db"), schema="main")


def test_an_unknown_host_is_named_without_the_password() -> None:
    told = failure(f"postgresql://me:{QUOTED}@no-such-host.invalid:5432/db?connect_timeout=3")
    assert told.startswith("cannot connect to postgresql://me@no-such-host.invalid:5432/db?connect_timeout=3: ")
    assert "refused" in failure(f"postgresql://me:{QUOTED}@127.0.0.1:1/db")


def test_an_unknown_option_does_not_spill_the_password() -> None:
    told = failure(f"postgresql://me@127.0.0.1:1/db?password={QUOTED}&sslpassword={QUOTED}&nonsense=1")
    assert "nonsense" in told
    assert "password" not in told


def test_a_wrong_password_is_told_and_not_shown(empty_postgres: str) -> None:
    connection = psycopg2.connect(empty_postgres)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("DROP ROLE IF EXISTS locked")
        cursor.execute("CREATE ROLE locked LOGIN PASSWORD 'right one'")
        cursor.execute("SHOW hba_file")
        hba = Path(cursor.fetchone()[0])
        before = hba.read_text()
        hba.write_text("local all locked scram-sha-256\n" + before)
        cursor.execute("SELECT pg_reload_conf()")
        wrong = make_url(empty_postgres).set(username="locked", password=SECRET)
        right = wrong.set(password="right one")
        try:
            assert "password authentication failed" in failure(wrong.render_as_string(hide_password=False))
            with open_database(right.render_as_string(hide_password=False)) as database:
                assert "right" not in database.safe_url
                assert database.safe_url.startswith("postgresql://locked@/test_")
                assert database.arrow("SELECT 1 AS one").read_all()["one"].to_pylist() == [1]
                assert "right" not in repr(database)
        finally:
            hba.write_text(before)
            cursor.execute("SELECT pg_reload_conf()")
    connection.close()


def test_what_is_not_there_is_named(empty_postgres: str) -> None:
    assert 'database "nowhere" does not exist' in failure(
        make_url(empty_postgres).set(database="nowhere").render_as_string(hide_password=False)
    )
    assert "no schema 'publik'" in failure(empty_postgres, schema="publik")
    with open_database(empty_postgres) as database:
        for ask in (lambda sql: list(database.rows(sql)), lambda sql: database.arrow(sql).read_all()):
            with pytest.raises(DatabaseError, match='relation "gone" does not exist'):
                ask("SELECT * FROM gone")
            with pytest.raises(DatabaseError, match="division by zero"):
                ask("SELECT 1 / 0")
        with pytest.raises(DatabaseError, match="parameters do not fit"):
            list(database.rows(f"SELECT {BOUND}, {BOUND}", (1,)))
        with pytest.raises(DatabaseError, match="unterminated quoted string"):
            list(database.rows("SELECT 'unfinished"))
