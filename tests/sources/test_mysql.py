"""MySQL and MariaDB: what their types become, texts compared exactly, and nothing but reading."""

from __future__ import annotations

import json
import time
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import (
    ConnectionLostError,
    DatabaseError,
    DatabaseTimeoutError,
    RoleWarning,
)
from ruleminer.rules.dialects import MYSQL
from ruleminer.rules.expressions import column_of
from ruleminer.rules.transformation_sql import transformed_sql
from ruleminer.rules.transformations import transformed
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.dump import load_dump
from ruleminer.sources.engines.mysql import connect
from ruleminer.sources.foreign_sql import caged
from ruleminer.sources.schema import ForeignKey
from tests.mariadb import run_in_mariadb
from tests.rules.test_transformations import DAY_FORMS, DAY_TEXTS

TYPES = """
CREATE TABLE kinds (
  id int unsigned PRIMARY KEY, flag boolean, bit1 bit(1), bits bit(4), tiny tinyint, big bigint unsigned,
  price decimal(10,4), single float, real_one double, day date, moment datetime(6), stamp timestamp NULL, hours time,
  born year, sort enum('a','B'), tags set('x','y'), doc json, raw blob, padded int(5) zerofill, fixed char(5));
INSERT INTO kinds VALUES (1, true, b'1', b'101', -3, 18446744073709551615, 12.3000, 0.1, 0.1, '2020-01-02',
  '2020-01-02 03:04:05.100000', '2020-01-02 03:04:05', '10:11:12', 2020, 'B', 'x,y', '{"a": 1}', x'00ff', 42, 'ab ');
INSERT INTO kinds (id, real_one, day) VALUES (2, 1e20, '0000-00-00');
"""
FORMS = {
    "id": ("integer", "1"),
    "flag": ("boolean", "true"),
    "bit1": ("boolean", "true"),
    "bits": ("integer", "5"),
    "tiny": ("integer", "-3"),
    "big": ("integer", "18446744073709551615"),
    "price": ("decimal", "12.3"),
    "single": ("decimal", "0.1"),
    "real_one": ("decimal", "0.1"),
    "day": ("date", "2020-01-02"),
    "moment": ("timestamp", "2020-01-02 03:04:05.1"),
    "stamp": ("timestamp", "2020-01-02 03:04:05"),
    "hours": ("text", "10:11:12"),
    "born": ("integer", "2020"),
    "sort": ("text", "B"),
    "tags": ("text", "x,y"),
    "doc": ("text", '{"a": 1}'),
    "raw": ("text", "00ff"),
    "padded": ("integer", "42"),
    "fixed": ("text", "ab"),
}


def forms(database: Database, table: str, number: int) -> dict[str, tuple[str, str | None]]:
    found = database.schema.table(table)
    selected = [
        database.dialect.lexical(column_of("t", c.name), found.type_of(c.name)).sql(database.dialect.name)
        for c in found.columns
    ]
    (row,) = database.rows(f"SELECT {', '.join(selected)} FROM {database.quoted(table)} AS t WHERE id = {number}")
    return {c.name: (c.kind.value, text) for c, text in zip(found.columns, row, strict=True)}


def test_every_type_has_its_kind_and_lexical_form(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, TYPES)
    with open_database(empty_mariadb) as database:
        assert forms(database, "kinds", 1) == FORMS
        empty = forms(database, "kinds", 2)
        assert empty["real_one"] == ("decimal", "100000000000000000000")
        assert empty["day"] == ("date", "0000-00-00")  # told as it is kept; it is no date
        assert {text for name, (_, text) in empty.items() if name not in ("id", "real_one", "day")} == {None}


def test_values_come_as_python_and_arrow_have_them(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, TYPES)
    asked = "SELECT flag, bit1, bits, big, price, day, moment, born, raw FROM kinds ORDER BY id"
    expected = (
        True, True, 5, 18446744073709551615, Decimal("12.3000"), date(2020, 1, 2),
        datetime(2020, 1, 2, 3, 4, 5, 100000), 2020, b"\x00\xff",
    )  # fmt: skip
    with open_database(empty_mariadb) as database:
        assert next(database.rows(asked)) == expected
        first, second = database.arrow(asked).read_all().to_pylist()
        assert tuple(first.values()) == (*expected[:4], "12.3000", *expected[5:])
        assert set(second.values()) == {None}


def test_texts_are_equal_only_if_all_their_characters_are(empty_mariadb: str) -> None:
    run_in_mariadb(
        empty_mariadb,
        "CREATE TABLE a (t varchar(9)) COLLATE utf8mb4_general_ci; CREATE TABLE b (t varchar(9)) COLLATE utf8mb4_bin;"
        "INSERT INTO a VALUES ('x'), ('X'), ('x '), ('é'), ('e'); INSERT INTO b VALUES ('x'), ('é ');",
    )
    with open_database(empty_mariadb) as database:
        a, b = (
            database.dialect.comparable(column_of(name, "t"), database.schema.type_of(name, "t")).sql("mysql")
            for name in ("a", "b")
        )
        assert list(database.rows(f"SELECT {a} FROM a JOIN b ON {a} = {b}")) == [("x",)]
        assert list(database.rows(f"SELECT count(DISTINCT {a}) FROM a")) == [(5,)]


def test_days_and_moments_that_no_column_of_dates_holds_are_read_as_python_reads_them(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, "CREATE TABLE held (c varchar(40)) COLLATE utf8mb4_bin")
    with open_database(empty_mariadb) as database:
        bound = ", ".join(f"{transformed_sql(f, column_of('j', 'v'), None, MYSQL).sql('mysql')}" for f in DAY_FORMS)
        sql = f"WITH j AS {MYSQL.value_list} SELECT v, {bound} FROM j"
        for text, *made in database.rows(sql, (json.dumps(DAY_TEXTS),)):
            assert dict(zip(DAY_FORMS, made, strict=True)) == {f: transformed(f, text) for f in DAY_FORMS}, text
        form = MYSQL.lexical(column_of("held", "c"), database.schema.table("held").type_of("c"))
        exported = ", ".join(transformed_sql(f, form, None, MYSQL).sql("mysql") for f in DAY_FORMS)
        assert list(database.rows(caged(f"SELECT {exported} FROM held", database))) == []


def test_keys_and_links_are_reflected(empty_mariadb: str) -> None:
    run_in_mariadb(
        empty_mariadb,
        'CREATE TABLE "Par ent" (a int, b int, c varchar(5) UNIQUE, PRIMARY KEY (b, a)) ENGINE=InnoDB;'
        'CREATE TABLE child (x int, y int, FOREIGN KEY (y, x) REFERENCES "Par ent" (b, a)) ENGINE=InnoDB;'
        "CREATE VIEW seen AS SELECT x FROM child;",
    )
    with open_database(empty_mariadb) as database:
        assert database.schema.name == make_url(empty_mariadb).database
        assert database.schema.table("Par ent").primary_key == ("b", "a")
        assert database.schema.table("Par ent").unique == (("c",),)
        assert database.schema.table("child").foreign_keys == (ForeignKey(("y", "x"), "Par ent", ("b", "a")),)
        assert database.schema.table("seen").is_view


def test_nothing_writes_whatever_it_calls(empty_mariadb: str) -> None:
    run_in_mariadb(
        empty_mariadb,
        "CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2); "
        "CREATE FUNCTION wipe() RETURNS int DETERMINISTIC MODIFIES SQL DATA RETURN 1;",
    )
    with connect(make_url(empty_mariadb)) as owner, owner.cursor() as cursor:
        cursor.execute("CREATE FUNCTION gone() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM t; RETURN 1; END")
    with open_database(empty_mariadb, trust=True) as database:
        for ask in (lambda sql: list(database.rows(sql)), lambda sql: database.arrow(sql).read_all()):
            for sql in ("SELECT gone()", "SELECT 1; DELETE FROM t", "SELECT i FROM t INTO OUTFILE '/tmp/ruleminer-x'"):
                with pytest.raises(DatabaseError):
                    ask(sql)
        assert list(database.rows("SELECT count(*) FROM t")) == [(2,)]
    assert not Path("/tmp/ruleminer-x").exists()


HOSTILE = [
    "SELECT load_file('/etc/passwd')",
    "SELECT sleep(9)",
    "SELECT benchmark(1000000000, md5('a'))",
    "SELECT get_lock('a', 1)",
    "SELECT gone()",
    "SELECT i FROM t INTO OUTFILE '/tmp/x'",
    "SELECT i FROM t INTO @x",
    "SELECT @@datadir",
    "SELECT user FROM mysql.user",
    "SELECT * FROM information_schema.processlist",
    "SELECT i FROM t FOR UPDATE",
    "SELECT i FROM t LOCK IN SHARE MODE",
    "SELECT @x := 1",
    "SELECT repeat('x', 1000000000)",
    "SELECT current_user()",
    "SELECT version()",
    "SELECT 1 /*!, load_file('/etc/passwd') */ FROM t WHERE load_file('x')",
    "SELECT extractvalue(1, concat(0x5c, (SELECT 1)))",
    "SELECT nextval(s)",
    "CALL p()",
    "DO sleep(1)",
    "HANDLER t OPEN",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
]


def test_a_strangers_sql_is_refused_unless_it_only_reads_the_tables(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, "CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2)")
    with open_database(empty_mariadb) as database:
        passed = []
        for sql in HOSTILE:
            try:
                passed.append(caged(sql, database))
            except DatabaseError:
                continue
        assert passed == []
        executable = caged("SELECT i /*! , load_file('/etc/passwd') */ FROM t", database)
        assert sorted(database.rows(executable)) == [(1,), (2,)]
        quoted = caged('SELECT concat("a\\"b", i) FROM `t` WHERE i = 1', database)
        assert list(database.rows(quoted)) == [('a"b1',)]


def test_a_slow_statement_is_stopped_on_the_server(empty_mariadb: str) -> None:
    with open_database(empty_mariadb, timeout=1) as database:
        started = time.monotonic()
        with pytest.raises(DatabaseTimeoutError, match="within 1 s"):
            list(database.rows("SELECT sleep(60)"))
        assert time.monotonic() - started < 20
        running = (
            "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%sleep(60)' AND command = 'Query'"
        )
        time.sleep(0.5)
        assert list(database.rows(running)) == [(0,)]


def test_a_lost_connection_is_told_and_the_next_query_works(empty_mariadb: str) -> None:
    digits = " UNION ALL ".join(f"SELECT {digit} AS i" for digit in range(10))
    many = f"WITH d AS ({digits}) SELECT connection_id(), repeat('x', 500) FROM d a, d b, d c, d e, d f, d g"
    with open_database(empty_mariadb) as database:
        stream = database.rows(many)
        number, _ = next(stream)  # not by the list of connections: the server leaves out what it is busy with
        with connect(make_url(empty_mariadb)) as owner, owner.cursor() as cursor:
            cursor.execute(f"KILL {number}")
        with pytest.raises(ConnectionLostError, match="try again"):  # lost, or stopped if the server could still say so
            for _ in stream:
                pass
        assert list(database.rows("SELECT 1")) == [(1,)]


def test_an_account_that_may_write_is_warned_of_and_one_that_reads_is_not(
    empty_mariadb: str, recwarn: pytest.WarningsRecorder
) -> None:
    name = make_url(empty_mariadb).database
    run_in_mariadb(
        empty_mariadb,
        "CREATE TABLE t (i int); CREATE OR REPLACE USER rdr; CREATE OR REPLACE USER wtr; "
        f"GRANT SELECT ON {name}.* TO rdr; GRANT SELECT, DELETE ON {name}.* TO wtr",
    )
    for user, warned in (("root", True), ("wtr", True), ("rdr", False)):
        recwarn.clear()
        with open_database(make_url(empty_mariadb).set(username=user).render_as_string(hide_password=False)) as opened:
            assert [table.name for table in opened.schema.tables] == ["t"]
        assert any(one.category is RoleWarning for one in recwarn) is warned


def test_a_wrong_password_is_told_and_not_shown(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, "CREATE OR REPLACE USER locked IDENTIFIED BY 'right'")
    wrong = make_url(empty_mariadb).set(username="locked", password="s3cret-word").render_as_string(hide_password=False)
    with pytest.raises(DatabaseError, match="Access denied") as caught:
        open_database(wrong)
    assert "s3cret" not in str(caught.value)


@pytest.mark.data
def test_sakila_is_the_same_as_on_duckdb(real_data: Path, tmp_path: Path, mariadb_url: str) -> None:
    folder = real_data / "real" / "sakila"
    if not folder.is_dir():
        pytest.skip("no Sakila among the real data")
    (tmp_path / "sakila.sql").write_bytes((folder / "schema.sql").read_bytes() + (folder / "data.sql").read_bytes())
    load_dump(tmp_path / "sakila.sql", f"duckdb:///{tmp_path}/sakila.duckdb")
    load_dump(tmp_path / "sakila.sql", mariadb_url, schema="sakila_copy", replace=True)
    with (
        open_database(f"{tmp_path}/sakila.duckdb") as duck,
        open_database(mariadb_url, schema="sakila_copy") as maria,
    ):
        ours = {table.name: table for table in maria.schema.tables}
        for table in duck.schema.tables:
            if not table.is_view:
                assert ours[table.name].rows == table.rows
                assert ours[table.name].primary_key == table.primary_key
                assert set(ours[table.name].foreign_keys) == set(table.foreign_keys)
                assert _texts(maria, table.name) == _texts(duck, table.name)


def _texts(database: Database, table: str) -> list[tuple[str, ...]]:
    found = database.schema.table(table)
    forms = [
        database.dialect.lexical(column_of("t", c.name), found.type_of(c.name)).sql(database.dialect.name)
        for c in found.columns
        if c.name not in ("picture", "fulltext")
    ]
    return sorted(database.rows(f"SELECT {', '.join(forms)} FROM {database.quoted(table)} AS t"), key=repr)
