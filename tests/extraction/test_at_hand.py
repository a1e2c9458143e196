"""Tables of a live server that are kept here say what they say there, to the letter."""

from __future__ import annotations

import os
import random
import signal
import struct
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing

import psycopg2
import pyarrow as pa
import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import ConnectionLostError, NotKeptWarning
from ruleminer.extraction import at_hand as at_hand_module
from ruleminer.extraction.at_hand import at_hand
from ruleminer.extraction.catalog import catalog_of
from ruleminer.extraction.entity_names import Names
from ruleminer.extraction.scan import rows_query
from ruleminer.progress import silent
from ruleminer.sources.database import Database, open_database
from ruleminer.structure import links as links_module
from ruleminer.structure import profile as profile_module
from ruleminer.structure.profile import profile_of
from ruleminer.structure.structure import learn_structure

ROOM = 10**9

# What is written in more ways than one, or is greater, earlier or less of a value than others.
VALUES = r"""
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN grade AS numeric(3, 1);
CREATE TABLE numbers (id int PRIMARY KEY, small smallint, big bigint, any_scale numeric, fixed numeric(13, 6),
  graded grade, single real, "Double" double precision);
INSERT INTO numbers SELECT i, i % 7, i * 10000000019, i / 8.0, i / 7.0, i % 60 / 10.0, i / 7.0, i / 7.0
FROM generate_series(1, 300) i;
INSERT INTO numbers VALUES
  (1001, -32768, -9223372036854775808, 'NaN', 'NaN', NULL, 'NaN', 'NaN'),
  (1002, 32767, 9223372036854775807, 'Infinity', NULL, 9.5, 'Infinity', 'Infinity'),
  (1003, NULL, NULL, '-Infinity', -0.5, -9.5, '-Infinity', '-Infinity'),
  (1004, 0, 0, 1.50, 1.5, 1.5, 1e20, 1e20), (1005, 0, 0, 1.5000, 1.5, 1.5, 241449000, 532455.84),
  (1006, 0, 0, 1e40, 0, 0, 1e-20, 1.7976931348623157e308), (1007, 0, 0, -1e-30, 0, 0, -1e38, 5e-324),
  (1008, 0, 0, 123456789012345678901234567890.123456789, 0, 0, 17.45, 123456789.123456789),
  (1009, 0, 0, 123456789012345678901234567890.123456788, 0, 0, 0.1, 0.30000000000000004),
  (1010, 0, 0, 100, 100, 10, 100, -1e26), (1011, 0, 0, '-0', 0, 0, '-0', '-0'), (1012, 0, 0, '-0.00', 0, 0, 0, 0);
CREATE TABLE times (id int PRIMARY KEY, day date, moment timestamp, "with zone" timestamptz, hour time, span interval);
INSERT INTO times SELECT i, date '1999-12-25' + i % 40, timestamp '2020-01-01' + i * interval '1.5 hours 1 ms',
  timestamptz '2020-06-01 00:00:00.5+02' + i % 90 * interval '1 day', time '00:00' + i * interval '1 s',
  i * interval '1 h' FROM generate_series(1, 200) i;
INSERT INTO times VALUES
  (301, 'infinity', 'infinity', 'infinity', NULL, NULL), (302, '-infinity', '-infinity', '-infinity', NULL, NULL),
  (303, '0044-03-15 BC', '0044-03-15 10:00:00 BC', '0044-03-15 10:00:00+00 BC', '23:59:59.999999', '-1 day'),
  (304, '10000-01-01', '10000-01-01 00:00:00.000001', '9999-12-31 23:00:00-05', '24:00', '1 year 2 mons'),
  (305, '0044-07-01 BC', '0045-01-01 BC', '0045-01-01 BC', NULL, NULL);
CREATE TABLE "Tëxts, ""all"" of them" (code char(6) PRIMARY KEY, "user" varchar(20), mood mood, tags text[],
  matrix int[], id uuid, doc json, docb jsonb, raw bytea, flag boolean, bits bit(4), place inet, "SELECT" text);
INSERT INTO "Tëxts, ""all"" of them" SELECT 'c' || i, 'Üser ' || i % 9, (enum_range(NULL::mood))[1 + i % 3],
  ARRAY['a,' || i % 4, NULL, '"q"'], ARRAY[[i % 3, 2], [3, NULL]], md5(CAST(i % 50 AS text))::uuid,
  CAST('{"a":  ' || i % 5 || '}' AS json), CAST('{"a":  ' || i % 5 || '}' AS jsonb),
  decode(md5(CAST(i AS text)), 'hex'), i % 3 = 0,
  CAST(i % 16 AS bit(4)), CAST('10.0.0.' || i % 9 AS inet), 'a' || i
FROM generate_series(1, 150) i;
INSERT INTO "Tëxts, ""all"" of them" (code, "user", tags)
VALUES ('', E' \t\n\\', '{}'), ('x', E'\u00a0', NULL), ('y', '', '{""}');
CREATE TABLE called (number numeric(8, 0) PRIMARY KEY, name text, first text, last text);
INSERT INTO called SELECT i, 'name ' || i % 3, 'Ann' || i % 2, 'Lee' || i % 3 FROM generate_series(1, 40) i;
CREATE TABLE nothing (id int, note text);
CREATE TABLE columnless ();
INSERT INTO columnless SELECT FROM generate_series(1, 3);
CREATE VIEW shown AS SELECT n.id, n.fixed * 2 AS twice, t."with zone" FROM numbers n LEFT JOIN times t USING (id);
"""


@pytest.fixture
def source(empty_postgres: str) -> str:
    make(empty_postgres, VALUES)
    return empty_postgres


def make(url: str, sql: str) -> None:
    with closing(psycopg2.connect(url)) as connection, connection, connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.fixture
def both(source: str) -> Iterator[tuple[Database, Database]]:
    """The database as it is asked there, and as it is asked here."""
    with open_database(source, count_rows="views") as there, at_hand(there, ROOM, 60, silent) as here:
        assert here is not there
        yield there, here


def test_all_values_have_the_same_forms_and_texts(both: tuple[Database, Database]) -> None:
    catalog = catalog_of(learn_structure(both[0]))
    compared = 0
    for table, columns in catalog.by_table.items():
        said = []
        for database in both:
            query = rows_query(table, columns, database.dialect, None)
            assert query is not None
            said.append(list(database.rows(query.sql)))
        assert sorted(said[0], key=repr) == sorted(said[1], key=repr), table
        compared += len(said[0])
    assert compared > 1000


@pytest.mark.parametrize("seed", [0, 1])
def test_floats_are_rounded_as_the_server_does(seed: int, empty_postgres: str) -> None:
    draw = random.Random(seed)
    numbers = [struct.unpack("d", draw.randbytes(8))[0] for _ in range(3000)]
    numbers += [draw.uniform(-1, 1) * 10 ** draw.randint(-15, 30) for _ in range(3000)]
    numbers += [round(draw.uniform(-1e6, 1e6), draw.randint(0, 8)) for _ in range(3000)]
    with closing(psycopg2.connect(empty_postgres)) as connection, connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE f (x double precision, y real)")
        singles = [n if n == 0 or 1e-37 < abs(n) < 3e38 else 0.0 for n in numbers]
        cursor.execute("INSERT INTO f SELECT * FROM unnest(%s::float8[], %s::float8[])", (numbers, singles))
    with open_database(empty_postgres) as there, at_hand(there, ROOM, 60, silent) as here:
        columns = catalog_of(learn_structure(there)).by_table["f"]
        queries = [rows_query("f", columns, database.dialect, None) for database in (there, here)]
        said = [list(d.rows(q.sql)) for d, q in zip((there, here), queries, strict=True) if q is not None]
    assert said[0] == said[1]


def test_the_structure_is_the_same_whoever_tells_it(
    both: tuple[Database, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = both
    expected = learn_structure(there).to_json()
    assert learn_structure(here).to_json() == expected
    monkeypatch.setattr(profile_module, "_MANY_ROWS", -1)
    assert learn_structure(here).to_json() == expected
    monkeypatch.setattr(profile_module, "_told_by", lambda database, table: database.origin or database)
    assert profile_of(here).to_json() == profile_of(there).to_json()


def test_names_pick_the_same_rows(both: tuple[Database, Database]) -> None:
    there, here = both
    texts = ["name 1", "Ann0 Lee1", "Lee2, Ann1", "Üser 3", "c7", "NAME 2"]
    structure = learn_structure(there)
    found = [Names(structure, database, texts) for database in both]
    assert found[0]._found == found[1]._found != {}
    assert found[0].hints(there) == found[1].hints(here)


def test_more_than_there_is_room_for_is_asked_on_the_server(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(source) as there:
        with at_hand(there, 10_000, 60, silent) as asked:
            assert asked is there
        # A server does not know what a view takes, nor, before it is read, what long texts do.
        monkeypatch.setattr(at_hand_module, "_bytes", lambda database, tables: 0)
        with at_hand(there, 10_000, 60, silent) as asked:
            assert asked is there


def test_names_that_differ_in_case_alone_are_left_to_the_server(empty_postgres: str) -> None:
    make(empty_postgres, 'CREATE TABLE a (id int); CREATE TABLE "A" (id int)')
    with open_database(empty_postgres) as there, at_hand(there, ROOM, 60, silent) as asked:
        assert asked is there


@pytest.mark.parametrize("schema", ["memory", "System", "temp", "_ruleminer"])
def test_a_schema_called_like_a_database_of_duckdb_is_left_to_the_server(schema: str, empty_postgres: str) -> None:
    make(empty_postgres, f'CREATE SCHEMA "{schema}"; CREATE TABLE "{schema}".t AS SELECT 1 AS id')
    with open_database(empty_postgres, schema=schema) as there, at_hand(there, ROOM, 60, silent) as asked:
        assert asked is there


def test_a_view_that_no_longer_works_is_told_as_such(empty_postgres: str) -> None:
    make(empty_postgres, "CREATE TABLE t AS SELECT 0 AS x; CREATE VIEW broken AS SELECT DISTINCT 1 / x AS y FROM t")
    with open_database(empty_postgres, count_rows="views") as there, at_hand(there, ROOM, 60, silent) as here:
        assert here is not there
        assert [table.name for table in here.schema.tables] == ["t"]
        assert here.schema.unreadable == there.schema.unreadable
        assert "division by zero" in here.schema.unreadable[0][1]


def test_a_table_that_cannot_be_read_whole_is_told_and_left_to_the_server(empty_postgres: str) -> None:
    make(empty_postgres, "CREATE TABLE t AS SELECT 0 AS x; CREATE VIEW v AS SELECT 1 / x AS y FROM t")
    told = pytest.warns(NotKeptWarning, match="division by zero")
    with open_database(empty_postgres) as there, told, at_hand(there, ROOM, 60, silent) as asked:
        assert asked is there


def test_a_table_that_is_gone_by_now_leaves_the_others_to_the_server(empty_postgres: str) -> None:
    make(empty_postgres, "CREATE TABLE gone AS SELECT 1 AS id; CREATE TABLE there AS SELECT 1 AS id")
    with open_database(empty_postgres, count_rows="views") as there:
        assert len(there.reflected[0]) == 2
        make(empty_postgres, "DROP TABLE gone")
        with pytest.warns(NotKeptWarning, match="gone"), at_hand(there, ROOM, 60, silent) as asked:
            assert asked is there


def test_what_a_role_may_not_read_is_left_out(empty_postgres: str) -> None:
    name = f"reader_{os.getpid()}"
    make(
        empty_postgres,
        f"""CREATE TABLE seen AS SELECT 1 AS id, 2 AS hidden; CREATE TABLE unseen AS SELECT 1 AS id;
        CREATE ROLE {name} LOGIN; GRANT SELECT (id) ON seen TO {name}""",
    )
    try:
        url = make_url(empty_postgres).set(username=name).render_as_string(hide_password=False)
        with open_database(url) as there, at_hand(there, ROOM, 60, silent) as here:
            assert here is not there
            assert [(t.name, t.rows, [c.name for c in t.columns]) for t in here.schema.tables] == [("seen", 1, ["id"])]
            assert here.schema.unreadable == (("unseen", "no permission to read it"),)
    finally:
        make(empty_postgres, f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_the_memory_that_tables_take_is_bounded(empty_postgres: str) -> None:
    make(
        empty_postgres,
        "CREATE TABLE t AS SELECT i, repeat(md5(CAST(i AS text)), 9) AS x FROM generate_series(1, 200000) i",
    )
    with (
        open_database(empty_postgres) as there,
        at_hand(there, 100_000_000, 60, silent) as here,
        here.memory_limit(30_000_000),
    ):
        assert here is not there
        ((kept,),) = here.rows("SELECT sum(length(x)) FROM t")
        assert kept == 200_000 * 288
        ((used,),) = here.rows("SELECT sum(memory_usage_bytes) FROM duckdb_memory()")
        assert used <= 30_000_000


def test_rows_that_come_again_after_a_lost_connection_take_no_room_twice(
    empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(empty_postgres, "CREATE TABLE t AS SELECT i, repeat('x', 900) AS x FROM generate_series(1, 3000) i")
    monkeypatch.setattr(at_hand_module, "_bytes", lambda database, tables: 0)
    monkeypatch.setattr(at_hand_module, "_PACKED", 0.04)
    streamed, streams = Database.arrow, list[int]()

    def lost_once(self: Database, sql: str, params: object = None) -> pa.RecordBatchReader:
        reader = streamed(self, sql)
        streams.append(1)
        if len(streams) > 1:
            return reader

        def batches() -> Iterator[pa.RecordBatch]:
            yield from reader
            raise ConnectionLostError("lost")

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    monkeypatch.setattr(Database, "arrow", lost_once)
    with open_database(empty_postgres) as there, at_hand(there, 100_000_000, 60, silent) as here:
        assert here is not there
        assert len(streams) == 2
        assert [table.rows for table in here.schema.tables] == [3000]


@pytest.mark.live
def test_an_interrupt_is_heard_while_tables_are_read(empty_postgres: str) -> None:
    make(empty_postgres, "CREATE VIEW slow AS SELECT i, pg_sleep(0.001) IS NULL AS x FROM generate_series(1, 100000) i")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest ignore it
    try:
        with open_database(empty_postgres) as there:
            started = time.monotonic()
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt), at_hand(there, ROOM, 60, silent):
                raise AssertionError("nobody interrupted")
            assert time.monotonic() - started < 10
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.live
def test_an_interrupt_of_what_streams_is_told_as_nothing_else(
    empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(
        empty_postgres,
        "CREATE TABLE long AS SELECT i, repeat(md5(CAST(i AS text)), 30) AS x FROM generate_series(1, 300000) i",
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    broken = list[threading.ExceptHookArgs]()
    monkeypatch.setattr(threading, "excepthook", broken.append)
    try:
        for wait in (0.3, 0.5):
            with open_database(empty_postgres) as there, warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", NotKeptWarning)
                threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT)).start()
                with pytest.raises(KeyboardInterrupt), at_hand(there, ROOM, 60, silent):
                    time.sleep(wait)
            assert (told, broken) == ([], [])
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_password_is_shown_by_what_is_kept(both: tuple[Database, Database]) -> None:
    assert both[1].safe_url == both[0].safe_url
    assert both[1].own_dialect == both[0].dialect


@pytest.mark.parametrize("number", ["numeric(8, 0)", "numeric", "double precision"])
@pytest.mark.parametrize("local", [0, 50_000])
def test_whole_numbers_lead_to_keys_of_other_numbers(
    number: str, local: int, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links_module, "_LOCAL", local)
    make(
        empty_postgres,
        f"CREATE TABLE customer AS SELECT CAST(i AS {number}) AS id FROM generate_series(1, 3000) i;"
        "ALTER TABLE customer ADD PRIMARY KEY (id);"
        "CREATE TABLE bill AS SELECT 10000 + i AS id, 1 + i % 2900 AS customer_id FROM generate_series(1, 4000) i;"
        "CREATE TABLE visit AS SELECT 90000 + i AS id, 1 + i % 400 AS customer_id FROM generate_series(1, 900) i",
    )
    with open_database(empty_postgres, count_rows="views") as there, at_hand(there, ROOM, 60, silent) as here:
        expected = learn_structure(there)
        assert {(link.table, link.target) for link in expected.links} == {("bill", "customer"), ("visit", "customer")}
        assert learn_structure(here).links == expected.links
