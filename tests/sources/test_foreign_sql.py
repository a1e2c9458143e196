"""SQL of strangers: what may only read passes and means the same, everything else is refused before it runs."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import DatabaseError, DatabaseTimeoutError, RoleWarning
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.foreign_sql import caged
from tests.mariadb import run_in_mariadb

DDL = """
CREATE TABLE person (id integer PRIMARY KEY, name varchar(40), born date);
CREATE TABLE "Odd ; name" (id integer, "select" integer);
INSERT INTO person VALUES (1, 'Ann', '1990-01-02'), (2, 'O''Hara', NULL), (3, 'Ann', NULL);
"""
FUNCTIONS = """
CREATE FUNCTION wipe() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM person; RETURN 1; END $$;
CREATE FUNCTION wipe_by(person) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM person; RETURN 1; END $$;
CREATE FUNCTION twice(i integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 2 * i $$;
CREATE VIEW making AS SELECT lo_create(4711) AS made;
"""
ENGINES = ("duckdb", "postgres", "sqlite", "mysql")

HARMLESS = [
    "SELECT id, name FROM person",
    "SELECT p.id, q.name FROM person p JOIN person q ON p.id = q.id WHERE q.name LIKE 'A%' ORDER BY 1",
    "SELECT DISTINCT lower(name) AS n, count(*) FROM person GROUP BY lower(name) HAVING count(*) > 0",
    "WITH old AS (SELECT id FROM person WHERE born < '2000-01-01') SELECT id FROM old UNION SELECT id FROM person",
    "SELECT CASE WHEN id > 1 THEN 'a;b' ELSE 'c--d' END, coalesce(name, '/* x */') FROM person -- a comment; DELETE",
    'SELECT o."select" FROM "Odd ; name" o',
    "SELECT id FROM person WHERE id IN (SELECT max(id) FROM person) AND EXISTS (SELECT 1 FROM person)",
    "SELECT substr(name, 1, 2) || '-' || CAST(id AS varchar(10)) FROM person;",
]
HOSTILE = [
    "DELETE FROM person",
    "SELECT 1; DELETE FROM person",
    "SELECT 1; COMMIT; DROP TABLE person",
    "WITH gone AS (DELETE FROM person RETURNING id) SELECT id FROM gone",
    "SELECT * INTO copy FROM person",
    "SELECT * FROM person FOR UPDATE",
    "SELECT * FROM secrets",
    "SELECT * FROM other.person",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_schema, (WITH sqlite_schema AS (SELECT 1) SELECT 1) x",
    "SELECT * FROM pragma_table_info('person')",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM query('SELECT 1')",
    "PRAGMA query_only = OFF",
    "ATTACH 'x' AS y",
    "COPY person TO '/tmp/x'",
    "SET threads = 1",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT " + "NOT " * 5000 + "true",
    "SELECT '" + "x" * 200_000 + "'",
    "SELECT 'unfinished",
    "",
]
# As the campaign had them, and their relatives.
HOSTILE_POSTGRES = [
    "SELECT set_config('default_transaction_read_only', 'off', false)",
    "SELECT wipe()",
    'SELECT "wipe"()',
    "SELECT public.wipe() FROM person",
    "SELECT person.wipe_by FROM person",
    "SELECT (person).wipe_by FROM person",
    "SELECT person.wipe_by FROM person, (SELECT 1 AS wipe_by) AS x",
    "SELECT ('/etc/passwd'::text).pg_read_file",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('/etc/passwd')",
    "SELECT pg_ls_dir('.')",
    "SELECT * FROM pg_ls_dir('.')",
    "SELECT * FROM pg_stat_file('.')",
    "SELECT lo_create(1)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/x')",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT loread(1, 1)",
    "SELECT pg_terminate_backend(1)",
    "SELECT pg_cancel_backend(1)",
    "SELECT pg_reload_conf()",
    "SELECT pg_rotate_logfile()",
    "SELECT pg_notify('a', 'b')",
    "SELECT pg_create_physical_replication_slot('x')",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_sleep(100)",
    "SELECT pg_switch_wal()",
    "SELECT query_to_xml('DELETE FROM person', true, true, '')",
    "SELECT table_to_xml('pg_authid', true, true, '')",
    "SELECT database_to_xml(true, true, '')",
    "SELECT cursor_to_xml('c', 1, true, true, '')",
    "SELECT dblink('x', 'y')",
    "SELECT dblink_exec('x', 'y')",
    "SELECT current_setting('data_directory')",
    "SELECT nextval('s')",
    "SELECT ts_stat('SELECT 1')",
    "SELECT txid_current()",
    "SELECT has_table_privilege('pg_authid', 'SELECT')",
    "SELECT random()",
    "SELECT * FROM pg_authid",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM pg_shadow",
    "SELECT rolname FROM person, pg_roles",
    "SELECT (SELECT count(*) FROM pg_class)",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM pg_stat_activity)",
    "SELECT * FROM pg_authid, (WITH pg_authid AS (SELECT 1) SELECT 1 FROM pg_authid) AS x",
    "TABLE pg_authid",
    "SELECT E'a'\n'\\''; COMMIT; DROP TABLE person; SELECT '",
    "SELECT U&'\\0027'",
    "SELECT 1 FROM person FOR SHARE",
    "VALUES (pg_read_file('/etc/passwd'))",
    "SELECT $$x$$; DELETE FROM person",
    "SELECT * FROM LATERAL (SELECT pg_read_file('/etc/passwd')) AS x",
    "SELECT count(*) FILTER (WHERE pg_sleep(9) IS NULL) FROM person",
    "SELECT id FROM person ORDER BY pg_read_file('/etc/passwd')",
    "SELECT id FROM person LIMIT (SELECT length(pg_read_file('/etc/passwd')))",
    "EXPLAIN ANALYZE DELETE FROM person",
    "DO $$ BEGIN DELETE FROM person; END $$",
    "CALL wipe()",
    "EXECUTE wipe",
    "LISTEN x",
    "SET ROLE postgres",
]


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "postgres":
        url = request.getfixturevalue("empty_postgres")
        run_in_postgres(url, DDL + FUNCTIONS)
    elif request.param == "mysql":
        url = request.getfixturevalue("empty_mariadb")
        run_in_mariadb(url, DDL)
    elif request.param == "duckdb":
        url = f"duckdb:///{tmp_path}/a.duckdb"
        with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
            connection.execute(DDL)
    else:
        url = f"sqlite:///{tmp_path}/a.sqlite"
        with sqlite3.connect(tmp_path / "a.sqlite") as lite:
            lite.executescript(DDL)
    with open_database(url, timeout=5) as opened:
        yield opened


def run_in_postgres(url: str, sql: str) -> None:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql)


every_engine = pytest.mark.parametrize("database", ENGINES, indirect=True)
on_postgres = pytest.mark.parametrize("database", ["postgres"], indirect=True)


@every_engine
def test_harmless_queries_mean_the_same_when_they_are_caged(database: Database) -> None:
    for sql in HARMLESS:
        if database.dialect.name == "mysql":  # its own names stand in other quotes
            sql = sql.replace('"', "`").replace("substr(name, 1, 2) || '-' || CAST", "CAST")  # || is OR there
        bare = sql.split(" -- ")[0].replace("varchar(10)", database.dialect.text_type)
        assert sorted(map(str, database.rows(caged(sql, database)))) == sorted(map(str, database.rows(bare)))


@every_engine
@pytest.mark.parametrize("sql", HOSTILE, ids=lambda sql: sql[:30])
def test_whatever_is_no_query_over_the_tables_is_refused(database: Database, sql: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        list(database.rows(caged(sql, database)))  # a function that the engine does not have gets so far
    assert "\n" not in str(caught.value)
    assert list(database.rows("SELECT count(*) FROM person")) == [(3,)]


# A name of WITH that hides a table of the server from us must hide it from the engine, too.
SHADOWS = {
    "postgres": [
        'WITH "PG_SHADOW" AS (SELECT 1 AS a) SELECT * FROM PG_SHADOW',
        'WITH "Pg_Shadow" AS (SELECT 1 AS a) SELECT * FROM pg_shadow',
        "WITH x AS (SELECT 1 AS a) SELECT * FROM pg_shadow AS x, x AS y",
        "WITH pg_shadow AS (SELECT * FROM pg_shadow) SELECT * FROM pg_shadow",
        "WITH RECURSIVE pg_shadow AS (SELECT * FROM pg_shadow) SELECT * FROM pg_shadow",
        'SELECT * FROM "PERSON"',
    ],
    "sqlite": [
        "WITH x AS (SELECT 1 AS a) SELECT * FROM sqlite_master AS x, x",
        "WITH x AS (SELECT 1 AS a) SELECT * FROM sqlite_master AS x",
        "SELECT id FROM person WHERE 'x' IN secrets",
        "SELECT 'x' NOT IN main.secrets",
        "WITH a AS (SELECT * FROM sqlite_master), sqlite_master AS (SELECT 1) SELECT * FROM a",
    ],
    "duckdb": [
        "WITH x AS (SELECT 1 AS a) SELECT * FROM duckdb_tables AS x, x AS y",
        'WITH "duc\u212adb_tables" AS (SELECT 1 AS a) SELECT * FROM duckdb_tables',
        "WITH RECURSIVE duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables",
        "WITH RECURSIVE sqlite_master AS (SELECT name FROM sqlite_master UNION SELECT 1) SELECT * FROM sqlite_master",
    ],
    "mysql": [
        "WITH x AS (SELECT 1 AS a) SELECT * FROM general_log AS x, x AS y",
        "WITH `GENERAL_LOG` AS (SELECT 1 AS a) SELECT * FROM general_log",
    ],
}
# … and where it does, the query runs.
NAMED_BY_WITH = [
    "WITH Old AS (SELECT id FROM Person) SELECT OLD.id FROM OLD",
    'WITH "Old" AS (SELECT id FROM person) SELECT o.id FROM "Old" AS o, (SELECT count(*) FROM "Old") AS c',
    "WITH a AS (SELECT id FROM person), b AS (SELECT id FROM a) SELECT id FROM b WHERE id IN (SELECT id FROM a)",
    "WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 3) SELECT id FROM n",
    "SELECT id FROM (WITH a AS (SELECT id FROM person) SELECT id FROM a) AS x",
]


@every_engine
def test_a_with_hides_a_table_only_where_the_engine_sees_it(database: Database) -> None:
    for sql in SHADOWS[database.dialect.name]:
        with pytest.raises(DatabaseError, match="refused"):
            caged(sql, database)


@every_engine
def test_names_of_with_are_tables_where_they_are_in_force(database: Database) -> None:
    for sql in NAMED_BY_WITH:
        if database.dialect.name == "mysql":  # names have their case there, and other quotes
            sql = sql.replace('"', "`").replace("OLD", "Old").replace("Person", "person")
        assert sorted(database.rows(caged(sql, database)))[0][0] == 1
        assert len(list(database.rows(caged(sql, database)))) == 3


@on_postgres
def test_functions_and_catalogues_of_the_server_are_refused(database: Database) -> None:
    passed = []
    for sql in HOSTILE_POSTGRES:
        try:
            passed.append(caged(sql, database))
        except DatabaseError:
            continue
    assert passed == []
    assert list(database.rows("SELECT count(*) FROM person")) == [(3,)]


@on_postgres
def test_functions_that_only_compute_are_allowed(database: Database) -> None:
    sql = "SELECT twice(id), md5(name), date_part('year', born), format('%s-%s', id, name) FROM person WHERE id = 1"
    assert next(database.rows(caged(sql, database)))[:2] == (2, hashlib.md5(b"Ann").hexdigest())


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_formats_of_our_own_exports_pass_and_bombs_do_not(database: Database) -> None:
    caged("SELECT PRINTF('%.12f', id) FROM person", database)
    for bomb in ("%.*c", "%900000000d", "%.900000000f"):
        with pytest.raises(DatabaseError, match="formats with widths"):
            caged(f"SELECT printf('{bomb}', 900000000, 'x')", database)


def test_with_trust_a_strangers_sql_runs_as_it_is(empty_postgres: str) -> None:
    run_in_postgres(empty_postgres, DDL)
    with open_database(empty_postgres, trust=True) as database:
        assert caged("SELECT version();", database) == "SELECT version()"
        # … inside the transaction that every statement has.
        with pytest.raises(DatabaseError, match="read-only"):
            list(database.rows(caged("SELECT lo_create(5)", database)))


# What guards every statement, caged or not.


@on_postgres
def test_no_statement_writes_whatever_it_calls(database: Database) -> None:
    """As in the campaign: a setting made by one statement, used by the next, read as rows and as Arrow."""
    for ask in (lambda sql: list(database.rows(sql)), lambda sql: database.arrow(sql).read_all()):
        ask("SELECT set_config('default_transaction_read_only', 'off', false)")
        for sql in (
            "SELECT wipe()",
            "SELECT lo_create(4711)",
            "SELECT made FROM making",
            "SELECT set_config('transaction_read_only', 'off', false), wipe()",
        ):
            with pytest.raises(DatabaseError):
                ask(sql)
    assert list(database.rows("SELECT count(*) FROM person")) == [(3,)]
    assert list(database.rows("SELECT count(*) FROM pg_largeobject_metadata")) == [(0,)]


@on_postgres
def test_a_string_that_goes_on_in_the_next_line_smuggles_no_statement(database: Database) -> None:
    for sql in (
        "SELECT E'a'\n'\\''; COMMIT; DROP TABLE person; SELECT '",
        "SELECT E'a'\n'\\''; COMMIT; DELETE FROM person; --'",
        "SELECT 1 -- x\r; COMMIT; DELETE FROM person",
    ):
        for ask in (lambda text: list(database.rows(text)), lambda text: database.arrow(text).read_all()):
            with pytest.raises(DatabaseError):
                ask(sql)
    assert list(database.rows("SELECT count(*) FROM person")) == [(3,)]


@pytest.mark.parametrize("database", ["duckdb", "postgres", "sqlite"], indirect=True)  # MariaDB ends it by itself
def test_a_query_without_an_end_is_stopped_though_its_rows_come_quickly(
    database: Database, request: pytest.FixtureRequest
) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with open_database(_url_of(database, request), timeout=1.5) as hurried:
        for ask in (hurried.rows, hurried.arrow):
            started = time.monotonic()
            with pytest.raises(DatabaseTimeoutError):
                for _ in ask(endless):
                    pass
            assert time.monotonic() - started < 30  # the reader's own time is not counted


def _url_of(database: Database, request: pytest.FixtureRequest) -> str:
    if database.dialect.name == "postgres":
        return str(request.getfixturevalue("empty_postgres"))
    return database.safe_url


def test_sqlite_makes_no_giant_of_a_few_bytes(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").executescript("CREATE TABLE t (i integer)").connection.close()
    with open_database(tmp_path / "a.db", timeout=5) as database:
        for bomb in ("SELECT zeroblob(900000000)", "SELECT replace(hex(zeroblob(30000)), '0', hex(zeroblob(40000)))"):
            with pytest.raises(DatabaseError, match="too big"):
                list(database.rows(bomb))


def test_a_role_with_its_own_settings_reads_the_same_dates(empty_postgres: str) -> None:
    run_in_postgres(
        empty_postgres,
        DDL + "DROP ROLE IF EXISTS german; CREATE ROLE german LOGIN; GRANT SELECT ON person TO german; "
        "ALTER ROLE german SET DateStyle = 'German'; ALTER ROLE german SET TimeZone = 'Europe/Berlin'; "
        "ALTER ROLE german SET standard_conforming_strings = off",
    )
    german = make_url(empty_postgres).set(username="german").render_as_string(hide_password=False)
    sql = (
        "SELECT CAST(born AS text), CAST(TIMESTAMPTZ '2020-01-01 00:00:00+00' AS text), 'a\\b' FROM person WHERE id = 1"
    )
    with open_database(german) as database:
        assert list(database.rows(sql)) == [("1990-01-02", "2020-01-01 00:00:00+00", "a\\b")]
        assert list(database.arrow(sql).read_all().to_pylist()[0].values()) == [
            "1990-01-02",
            "2020-01-01 00:00:00+00",
            "a\\b",
        ]


def test_a_role_that_may_write_is_warned_of_and_one_that_reads_is_not(
    empty_postgres: str, recwarn: pytest.WarningsRecorder
) -> None:
    run_in_postgres(
        empty_postgres,
        DDL + "DROP ROLE IF EXISTS reads; CREATE ROLE reads LOGIN; GRANT SELECT ON person TO reads; "
        "DROP ROLE IF EXISTS writes; CREATE ROLE writes LOGIN; GRANT SELECT, DELETE ON person TO writes",
    )
    with pytest.warns(RoleWarning, match="is a superuser"), open_database(empty_postgres):
        pass
    writes, reads = (make_url(empty_postgres).set(username=name) for name in ("writes", "reads"))
    with pytest.warns(RoleWarning, match="may write"), open_database(writes.render_as_string(hide_password=False)):
        pass
    recwarn.clear()
    with open_database(reads.render_as_string(hide_password=False)):
        pass
    assert not [one for one in recwarn if one.category is RoleWarning]


LEAVING = """
import sys
from ruleminer.sources.database import open_database
with open_database(sys.argv[1]) as database:
    stream = database.arrow("SELECT i, repeat('x', 500) FROM generate_series(1, 100000000) i WHERE i < 9 OR i % 3 > 5")
    print("asked", flush=True)
    for batch in stream:
        pass
"""


def test_a_killed_client_leaves_nothing_running_on_the_server(empty_postgres: str) -> None:
    connection = psycopg2.connect(empty_postgres)
    connection.autocommit = True
    cursor = connection.cursor()
    client = subprocess.Popen([sys.executable, "-c", LEAVING, empty_postgres], stdout=subprocess.PIPE)
    running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COPY%generate_series%'"
    try:
        assert _soon(cursor, running, 1)
    finally:
        client.kill()
        client.communicate()
    assert _soon(cursor, running, 0)
    connection.close()


def _soon(cursor: Any, sql: str, wanted: int) -> bool:
    for _ in range(120):
        cursor.execute(sql)
        if cursor.fetchone()[0] == wanted:
            return True
        time.sleep(0.25)
    return False


def test_a_statement_behind_a_lock_is_told_soon(empty_postgres: str) -> None:
    run_in_postgres(empty_postgres, DDL)
    locker = psycopg2.connect(empty_postgres)
    with open_database(empty_postgres, timeout=1) as database:
        assert database.schema.table("person").rows == 3
        locker.cursor().execute("LOCK TABLE person IN ACCESS EXCLUSIVE MODE")
        for ask in (lambda sql: list(database.rows(sql)), lambda sql: database.arrow(sql).read_all()):
            with pytest.raises(DatabaseError, match="locked what we read"):
                ask("SELECT id FROM person")
    locker.close()
