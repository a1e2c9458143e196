"""Spark: the same answers as DuckDB over the same files, nothing but reading, and a Java process that may die.

All tests here share one Java process; this file stays on one worker (`--dist loadfile`). The scenarios are small, for
a statement of Spark takes its time whatever it is asked.
"""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlglot import exp

import ruleminer
from ruleminer.errors import ConnectionLostError, DatabaseError, DatabaseTimeoutError
from ruleminer.extraction import cells
from ruleminer.extraction.pipeline import ExtractOptions
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.reach import End
from ruleminer.proposals.stage import Delivery
from ruleminer.rules.dialects import BOUND, SPARK
from ruleminer.rules.expressions import column_of, verbatim
from ruleminer.rules.literals import text_sql
from ruleminer.rules.mapping import iri_safe
from ruleminer.rules.transformation_sql import transformed_sql
from ruleminer.rules.transformations import TRANSFORMATIONS, transformed
from ruleminer.rules.values import Place, Transformed, Variable
from ruleminer.sources import patience
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.engines.spark import Spark
from ruleminer.sources.engines.spark_files import small_tables
from ruleminer.sources.engines.spark_session import java_problem, page_size
from ruleminer.sources.foreign_sql import caged
from ruleminer.structure.files import read_structure
from tests.command_line import Run
from tests.rules.test_dialects import LEXICAL_FORMS, ODD_TEXTS
from tests.rules.test_transformations import DAY_FORMS, DAY_TEXTS

if problem := java_problem():
    pytest.skip(problem, allow_module_level=True)
for needed in ("pyspark", "pandas"):
    pytest.importorskip(needed, reason=f"{needed} is not installed (the extra spark)")

pytestmark = [pytest.mark.slow, pytest.mark.live]

# What makes small questions quick: no compiled code, no more tasks than there are rows for.
QUICK = "spark.sql.shuffle.partitions=1&spark.sql.codegen.wholeStage=false&spark.sql.adaptive.enabled=false"
FACTS = """predicate,arg1,arg2
Customer,1,
Customer,4,
Customer,9,
Order,1001,
Order,1007,
Order,1013,
name,1,Ann 1
name,4,Ann 4
placedBy,1001,1
placedBy,1007,7
total,1001,10.5
total,1007,13.5
joined,4,2020-01-05
joined,9,2020-01-10
"""
ONTOLOGY = """@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Customer a owl:Class . :Order a owl:Class .
:name a owl:DatatypeProperty ; rdfs:domain :Customer . :joined a owl:DatatypeProperty ; rdfs:domain :Customer .
:total a owl:DatatypeProperty ; rdfs:domain :Order .
:placedBy a owl:ObjectProperty ; rdfs:domain :Order ; rdfs:range :Customer ."""


def spark_url(folder: Path) -> str:
    return f"spark:{folder}?master=local[2]&{QUICK}"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A lake of two tables, an ontology and facts."""
    lake = tmp_path / "lake"
    lake.mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE customer AS SELECT range::INTEGER AS id, 'Ann ' || range AS name, range % 2 = 0 AS vip, "
            "DATE '2020-01-01' + range::INTEGER AS joined FROM range(1, 13)"
        )
        connection.execute(
            "CREATE TABLE orders AS SELECT 1000 + range AS number, (1 + (range - 1) % 12)::INTEGER AS customer, "
            "(10 + range / 2)::DECIMAL(10, 4) AS total, TIMESTAMP '2021-01-01' + to_hours(range) AS placed "
            "FROM range(1, 31)"
        )
        for table in ("customer", "orders"):
            connection.execute(f"COPY {table} TO '{lake / table}.parquet'")
    (tmp_path / "facts.csv").write_text(FACTS, "utf-8")
    (tmp_path / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    return tmp_path


def forms(database: Database, table: str) -> list[tuple[Any, ...]]:
    """The lexical forms of all columns of a table, by SQL that an exported mapping may hold."""
    found = database.schema.table(table)
    selected = [
        database.dialect.lexical(column_of("t", c.name), found.type_of(c.name)).sql(database.dialect.name)
        for c in found.columns
        if c.name != "n"
    ]
    asked = f"SELECT {', '.join(selected)} FROM {database.quoted(table)} AS t ORDER BY n"
    return list(database.rows(caged(asked, database)))


def test_a_statement_means_what_it_means_elsewhere(shop: Path) -> None:
    """What tests/rules/test_dialects.py asks of the other engines, in few statements."""
    casts = {
        "numeric(13,6)": "DECIMAL(13,6)",
        "double precision": "DOUBLE",
        "text": "STRING",
        "timestamp": "TIMESTAMP_NTZ",
    }
    wanted = ["a", "50%", "é", "", '"']
    with open_database(spark_url(shop / "lake")) as database:
        written = ", ".join(f"{SPARK.text_of(BOUND)}, {text_sql(text, SPARK).sql('spark')}" for text in ODD_TEXTS)
        (row,) = database.rows(f"SELECT {written}", ODD_TEXTS)
        assert list(row) == [text for text in ODD_TEXTS for _ in range(2)]
        typed = [f"CAST({BOUND} AS {casts.get(c.sql_type, c.sql_type)})" for c, _, _ in LEXICAL_FORMS]
        values = [None if value is None else SPARK.bindable(value) for _, value, _ in LEXICAL_FORMS]
        lexical = [
            SPARK.lexical(verbatim(cast), c).sql("spark") for cast, (c, _, _) in zip(typed, LEXICAL_FORMS, strict=True)
        ]
        repeated = [value for value, one in zip(values, lexical, strict=True) for _ in range(one.count(BOUND))]
        (row,) = database.rows(f"SELECT {', '.join(lexical)}", repeated)
        assert list(row) == [form for _, _, form in LEXICAL_FORMS]
        listed = f"WITH wanted AS {SPARK.value_list} SELECT v FROM wanted"
        assert [v for (v,) in database.rows(listed, (json.dumps(wanted),))] == wanted
        cells = SPARK.cells(
            "(SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y')", [("'number'", SPARK.text_of("t.a")), ("'text'", "t.b")]
        )
        assert set(database.rows(cells)) == {("number", "1"), ("number", "2"), ("text", "x"), ("text", "y")}
        encoded = SPARK.iri_safe(text_sql("a/b ä%~😀", SPARK)).sql("spark")
        assert list(database.rows(f"SELECT {encoded}")) == [(iri_safe("a/b ä%~😀"),)]


def test_transformations_make_what_python_makes(shop: Path) -> None:
    parameters = {"times": (Decimal("0.01"),), "scale": (2,), "before": (",",), "after": (", ",)}
    names = sorted(set(TRANSFORMATIONS) - {"field", "item", "day", "moment"})
    functions = [Transformed(name, Variable("a"), parameters.get(name, ())) for name in names]
    functions.append(Transformed("times", Variable("a"), (Decimal(1000),)))
    functions += DAY_FORMS
    texts = [*DAY_TEXTS, "2020-01-02", "0099-01-02", "2020-01-02 03:04:05", "12\n", "007", "-0.050", "Ünter", "a,b, c"]
    selected = ", ".join(transformed_sql(f, exp.column("v"), None, SPARK).sql("spark") for f in functions)
    with open_database(spark_url(shop / "lake")) as database:
        found = list(database.rows(f"WITH w AS {SPARK.value_list} SELECT v, {selected} FROM w", (json.dumps(texts),)))
        caged(f"WITH w AS (SELECT name AS v FROM customer) SELECT {selected} FROM w", database)  # as exports have it
    for text, *made in found:
        assert dict(zip(functions, made, strict=True)) == {f: transformed(f, text) for f in functions}, text
    for name in ("field", "item"):
        with pytest.raises(DatabaseError, match="has no SQL of ours"):
            transformed_sql(Transformed(name, Variable("a"), ("x",)), exp.column("v"), None, SPARK)


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.sampled_from(ODD_TEXTS),
    st.builds(lambda piece, times: piece * times, st.text(st.characters(codec="utf-8"), min_size=1), st.just(20_000)),
)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "number": (pa.decimal128(20, 6), st.decimals(Decimal(-(10**13)), Decimal(10**13), places=6)),
    "plain": (pa.decimal128(9, 0), st.integers(-(10**8), 10**8).map(Decimal)),
    "real": (pa.float64(), st.integers(-(10**9), 10**9).map(lambda number: number / 1000)),
    "huge": (pa.float64(), st.sampled_from([1e30, -1.5e300, float("nan"), float("inf"), -float("inf"), 0.0, 2.0])),
    "single": (
        pa.float32(),
        st.builds(lambda n, power: n * 10.0**power, st.integers(-999_999, 999_999), st.integers(-9, 9)),
    ),
    "wide": (pa.decimal128(38, 10), st.decimals(Decimal(-(10**27)), Decimal(10**27), places=10)),
    "any real": (pa.float64(), st.floats(-1e17, 1e17)),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates(date(1, 1, 2), date(9999, 12, 30))),
    "moment": (pa.timestamp("us"), MOMENTS),
    "instant": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))),
    "text": (pa.string(), TEXTS),
    "words": (pa.list_(pa.int32()), st.lists(st.integers(-5, 5), max_size=3)),
}
ROWS = st.lists(st.tuples(*(st.none() | values for _, values in COLUMNS.values())), min_size=20, max_size=60)


@settings(max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(rows=ROWS)
def test_every_type_has_the_lexical_forms_of_duckdb(rows: list[tuple[Any, ...]], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("lake")
    columns = [
        pa.array(values, kind) for values, (kind, _) in zip(zip(*rows, strict=True), COLUMNS.values(), strict=True)
    ]
    table = pa.table([pa.array(range(len(rows))), *columns], names=["n", *COLUMNS])
    pq.write_table(table, folder / "odd name.parquet")
    for url in (spark_url(folder), f"spark:{folder}?master=local[2]&keep=no"):  # interpreted, and compiled
        with open_database(f"parquet:{folder}") as one, open_database(url) as other:
            kinds = [[(c.name, c.kind) for c in database.schema.tables[0].columns] for database in (one, other)]
            assert kinds[0] == kinds[1]
            assert forms(one, "odd name") == forms(other, "odd name")


def test_values_come_as_python_and_arrow_have_them(tmp_path: Path) -> None:
    moment = datetime(2014, 5, 4, 10, 0, 0, 120000)
    values = [1, Decimal("12.300000"), True, date(2014, 5, 4), moment, moment.replace(tzinfo=UTC), 'it\'s "a" \\ \n b']
    times = [pa.timestamp("us"), pa.timestamp("us", "UTC")]
    kinds = [pa.int32(), pa.decimal128(13, 6), pa.bool_(), pa.date32(), *times, pa.string()]
    names = [f'c "{number}"' for number in range(len(values))]
    arrays = [pa.array([value, None], kind) for value, kind in zip(values, kinds, strict=True)]
    pq.write_table(pa.table(arrays, names=names), tmp_path / "t.parquet")
    with open_database(spark_url(tmp_path)) as database:
        assert list(database.rows("SELECT * FROM t ORDER BY 1 NULLS LAST")) == [tuple(values), (None,) * len(values)]
        assert database.arrow("SELECT * FROM t ORDER BY 1 NULLS LAST").read_all().to_pylist()[0] == dict(
            zip(names, values, strict=True)
        )


def test_rows_are_the_same_at_once_and_a_partition_at_a_time(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = (
        "SELECT joined, CAST(joined AS TIMESTAMP), CAST(joined AS TIMESTAMP_NTZ), CAST(id AS DECIMAL(9, 2)), vip, "
        "name, id / 4, named_struct('a', id, 'b', array(named_struct('c', name))), "
        "CASE WHEN id > 3 THEN array(id, NULL) END, CASE WHEN id > 3 THEN named_struct('e', id) END, id FROM customer"
    )
    with open_database(spark_url(shop / "lake")) as database:
        at_once = sorted(database.rows(sql), key=lambda row: row[-1])
        monkeypatch.setattr("pyspark.sql.classic.dataframe.DataFrame.toArrow", _too_much)
        assert sorted(database.rows(sql), key=lambda row: row[-1]) == at_once
    assert len(at_once) == 12
    assert at_once[2][7:10] == ((3, [("Ann 3",)]), None, None)
    assert at_once[3][7:10] == ((4, [("Ann 4",)]), [4, None], (4,))


def _too_much(_: Any) -> None:
    from pyspark.errors import PySparkException

    raise PySparkException("Total size of serialized results is bigger than spark.driver.maxResultSize (1024.0 MiB)")


def test_a_folder_of_csv_is_read_as_duckdb_reads_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        'id,code,name,born,seen,score,vip,empty\n1,007,"Ann ""A"", of\nX",2000-01-02,2020-01-02 03:04:05,1.5,true,\n'
        "2,012,Bob,2001-02-03,2020-01-02 03:04:06,2,false,\n3,014,\\N,\\N,2020-01-02 03:04:07,3,false,\n",
        "utf-8",
    )
    with open_database(f"csv:{tmp_path}") as one, open_database(spark_url(tmp_path)) as other:
        kinds = [[(c.name, c.kind) for c in database.schema.tables[0].columns] for database in (one, other)]
        assert kinds[0] == kinds[1]
        asked = "SELECT * FROM people ORDER BY id"
        assert list(one.rows(asked)) == list(other.rows(asked))


def test_structure_candidates_mapping_draft_and_triples_are_those_of_duckdb(shop: Path) -> None:
    found: list[dict[str, Any]] = []
    for number, url in enumerate((f"parquet:{shop / 'lake'}", spark_url(shop / "lake"))):
        with open_database(url) as database:
            options = ExtractOptions(positives=5)
            extracted = ruleminer.extract(database, shop / "shop.ttl", shop / "facts.csv", shop / f"{number}", options)
            proposed = ruleminer.propose(shop / f"{number}", database=database)
            drafted = ruleminer.draft(database, shop / "shop.ttl", shop / f"draft{number}")
            data, structure = extracted.dataset, read_structure(extracted.run.structure)
            facts = {f["fact"]: (f["predicate"], f["arg1"], f["arg2"], f["positive"]) for f in data.facts.to_pylist()}
            found.append(
                {
                    "tables": {
                        (t.name, t.primary_key, t.unique, t.foreign_keys, t.rows) for t in structure.schema.tables
                    },
                    "profile": structure.profile.to_json(),
                    "candidates": {(facts[c["fact"]], data.rule_texts[c["rule"]]) for c in data.candidates.to_pylist()},
                    "proposed": _told(proposed),
                    "drafted": _told(drafted),
                    "triples": set(ruleminer.materialise(proposed.mapping, database)),
                }
            )
            for form in ("nt", "parquet"):
                out = shop / f"triples{number}.{form}"
                written = ruleminer.write_triples(proposed.mapping, out, database=database, form=form)
                found[-1][form] = _read(out, form), written.triples, written.derived, written.rows
                assert sorted(path.name for path in out.iterdir()) == ["manifest.json", f"part-00000.{form}"]
    one, other = found
    assert one["tables"] == other["tables"]
    assert one["profile"] == other["profile"]
    assert one["candidates"] == other["candidates"]
    assert one["proposed"] == other["proposed"]
    assert one["drafted"] == other["drafted"]
    assert one["triples"] == other["triples"]
    assert (one["nt"], one["parquet"]) == (other["nt"], other["parquet"])
    assert len(one["triples"]) == one["nt"][1] == one["parquet"][1]
    assert len(one["candidates"]) > 10
    assert sum(bool(texts) for _, _, texts, _ in one["drafted"]) > 3
    assert len(one["triples"]) > 50


def test_shares_of_rows_are_exact(shop: Path) -> None:
    """The mean of 1.0 and 0.0 would be a decimal of five digits, and rules would be as probable as those say."""
    ends = {End(Place("orders", "number"), "1007"): 7 / 30, End(Place("customer", "id"), "5", ("joined",)): 5 / 12}
    with open_database(spark_url(shop / "lake")) as database:
        assert Derivations(database).shares_up_to(ends) == ends


def _read(folder: Path, form: str) -> set[Any]:
    if form == "nt":
        return set((folder / "part-00000.nt").read_text("utf-8").splitlines())
    return set(map(tuple, map(dict.values, pq.read_table(folder / "part-00000.parquet").to_pylist())))


def _told(delivery: Delivery) -> set[tuple[Any, ...]]:
    proposals = delivery.proposals.proposals
    return {(one.predicate, str(one.status), one.texts, one.certainty and round(one.certainty, 6)) for one in proposals}


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 1) INSERT INTO customer SELECT * FROM a",
        "SELECT TRANSFORM(id) USING 'cat' AS (x) FROM customer",
        "SELECT TRANSFORM(id) USING r'cat' AS (x) FROM customer",
        "SELECT * FROM parquet.`/etc/passwd`",
        "SELECT 1; SELECT 2",
        "DROP TABLE customer",
        "SELECT nothing FROM nowhere",
        "SELECT CAST('x' AS INT)",
    ],
)
def test_only_queries_are_run_and_errors_are_one_line(sql: str, shop: Path) -> None:
    with open_database(spark_url(shop / "lake")) as database, pytest.raises(DatabaseError) as refusal:
        list(database.rows(sql))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM customer",
        "SELECT input_file_name() FROM customer",
        "SELECT format_string('%900000000d', id) FROM customer",
        "SELECT format_string(name, id) FROM customer",
    ],
)
def test_strangers_may_not_call_java_see_files_or_fill_the_memory(sql: str, shop: Path) -> None:
    with open_database(spark_url(shop / "lake")) as database, pytest.raises(DatabaseError):
        caged(sql, database)


def test_what_takes_too_long_is_stopped(shop: Path) -> None:
    endless = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id + b.id < 0"
    url = spark_url(shop / "lake")
    with open_database(url, timeout=3, count_rows=False) as database, pytest.raises(DatabaseTimeoutError):
        list(database.rows(endless))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("spark:nowhere", "no such folder"),
        ("spark:.?colour=blue", "not colour"),
        ("spark:.?format=json", "must be one of parquet, csv"),
    ],
)
def test_a_url_that_cannot_be_meant_is_told(url: str, told: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseError, match=told):
        open_database(url)


@pytest.mark.parametrize(("said", "told"), [('openjdk version "11.0.2"', "is 11"), ('version "1.8.0_1"', "is 8")])
def test_an_old_java_is_told(said: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_problem().endswith(told)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert "none was found in JAVA_HOME" in java_problem()


def test_another_master_is_refused_in_every_thread(shop: Path) -> None:
    with open_database(f"spark:{shop}/lake"), ThreadPoolExecutor(1) as pool:
        opened = pool.submit(open_database, f"spark:{shop}/lake?master=local[7]")
        with pytest.raises(DatabaseError, match=r"not with spark\.master"):
            opened.result()


def _kill_java() -> None:
    from pyspark import SparkContext

    process = SparkContext._gateway.proc  # type: ignore[union-attr]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


# These come last: each must start another Java process.
def test_a_lost_session_is_opened_anew_by_the_next_statement(shop: Path) -> None:
    with open_database(spark_url(shop / "lake")) as database:
        _kill_java()
        with pytest.raises(ConnectionLostError, match="was lost; try again"):
            list(database.rows("SELECT count(*) FROM customer"))
        assert list(database.rows("SELECT count(*) FROM customer")) == [(12,)]


def _dies_once(run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], after: int) -> tuple[int, str]:
    """A command during which the Java process is killed, before so many statements and one: its code and its words."""
    asked: list[str] = []
    rows = Database.rows

    def dying(self: Database, sql: str, *more: Any) -> Any:
        asked.append(sql)
        if len(asked) == after + 1:
            _kill_java()
        return rows(self, sql, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "rows", dying)
        patched.setattr(patience, "TRIES", 1)  # a statement is asked again, otherwise, and nobody notices
        broken = run(*words)
    assert len(asked) > after, "the command had ended before"
    return broken.code, broken.err


def test_drafts_and_proposals_go_on_when_the_java_process_dies(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url = spark_url(shop / "lake")
    asked = ("--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "run", "--quiet")
    assert run("extract", "--db", url, *asked).code == 0
    rules = shop / "run" / "proposals" / "mapping.rules"
    proposing = ("propose-mappings", "run", "--quiet")
    code, told = _dies_once(run, monkeypatch, proposing, 3)
    assert code == 0, told  # what was lost is asked again
    assert "Traceback" not in told
    proposed = rules.read_text("utf-8")
    assert run(*proposing).code == 0
    assert rules.read_text("utf-8") == proposed
    drafting = ("draft", "--db", url, "--ontology", "shop.ttl", "--out", "drafted", "--quiet")
    code, told = _dies_once(run, monkeypatch, drafting, 3)
    assert code == 2, told
    assert told.splitlines()[-1].startswith("error: the connection to spark:")
    assert "Traceback" not in told
    assert not (shop / "drafted" / "proposals").exists()
    again = run(*drafting)
    assert again.code == 0, again.err
    assert (shop / "drafted" / "proposals" / "mapping.ttl").is_file()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_triples_of_a_lost_session_are_not_there(shop: Path) -> None:
    (shop / "m.ttl").write_text(
        '@prefix rr: <http://www.w3.org/ns/r2rml#> . <#C> rr:logicalTable [ rr:tableName "customer" ] ; '
        'rr:subjectMap [ rr:template "http://e/{id}" ; rr:class <http://e/C> ] .'
    )
    with open_database(spark_url(shop / "lake")) as database:
        assert database.schema.tables
        _kill_java()
        with pytest.raises(ConnectionLostError, match="was lost; try again"):
            ruleminer.write_triples(shop / "m.ttl", shop / "out", database=database)
        assert not list(shop.glob("*out*"))
        assert ruleminer.write_triples(shop / "m.ttl", shop / "out", database=database).triples == 12


def test_a_run_whose_java_process_dies_goes_on_when_started_again(
    shop: Path, run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = ("extract", "--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "run", "--quiet")
    words = (*asked, "--db", spark_url(shop / "lake"))
    scanned: list[str] = []
    incoming: Callable[..., Any] = cells.incoming

    def dying(work: Any, source: Any, query: Any, table: str) -> Any:
        scanned.append(table)
        if len(scanned) == 2:
            _kill_java()
        return incoming(work, source, query, table)

    with monkeypatch.context() as patched:
        patched.setattr(cells, "incoming", dying)
        patched.setattr(patience, "TRIES", 1)  # a statement is asked again, otherwise, and nobody notices
        broken = run(*words)
    assert broken.code == 2, broken.out
    assert broken.err.splitlines()[-1].startswith("error: the connection to spark:")
    assert "Traceback" not in broken.err
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not (shop / "run" / "dataset").exists()
    again = run(*words)
    assert again.code == 0, again.err
    assert (shop / "run" / "dataset" / "manifest.json").is_file()


def test_files_are_read_once(shop: Path) -> None:
    lake = shop / "lake"
    asked = "SELECT count(*), sum(id), max(name) FROM customer", "SELECT name FROM customer WHERE vip ORDER BY id"
    with open_database(spark_url(lake)) as database:
        before = [list(database.rows(sql)) for sql in asked]
        (lake / "customer.parquet").rename(shop / "elsewhere.parquet")
        assert [list(database.rows(sql)) for sql in asked] == before
    (shop / "elsewhere.parquet").rename(lake / "customer.parquet")
    with open_database(f"{spark_url(lake)}&keep=no") as database:
        assert [list(database.rows(sql)) for sql in asked] == before
        (lake / "customer.parquet").rename(shop / "elsewhere.parquet")
        with pytest.raises(DatabaseError):
            list(database.rows(asked[0]))


def test_nobody_gets_what_a_file_held_before(shop: Path) -> None:
    lake = shop / "lake"
    asked = "SELECT count(*) FROM customer"
    with open_database(spark_url(lake)) as first:
        assert list(first.rows(asked)) == [(12,)]
        duckdb.sql("SELECT range::INTEGER AS id FROM range(20)").write_parquet(str(shop / "new.parquet"))
        (shop / "new.parquet").replace(lake / "customer.parquet")
        for url in (spark_url(lake), f"{spark_url(lake)}&keep=no"):
            with open_database(url) as other:
                assert list(other.rows(asked)) == [(20,)]
        assert list(first.rows(asked)) == [(12,)]


def test_what_stays_with_spark_is_bounded(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in "abc"}
    for size, file in zip((30, 10, 20), files.values(), strict=True):
        file.write_bytes(bytes(size))
    tables = {name: [file] for name, file in files.items()}
    assert [small_tables(tables, most) for most in (-1, 9, 30, 59, 60)] == [
        set(),
        set(),
        {"b", "c"},
        {"b", "c"},
        {*"abc"},
    ]


@pytest.mark.parametrize(
    ("memory", "megabytes"), [({}, 1), ({"spark.driver.memory": "8g"}, 1), ({"spark.driver.memory": "64g"}, 8)]
)
def test_small_statements_take_small_pages_and_a_task_may_have_all_memory(
    memory: dict[str, str], megabytes: int
) -> None:
    """The 16 bytes are Java's: with them a page is one region of G1's, where a byte more would take two."""
    assert page_size(memory) == f"{megabytes * 2**20 - 16}b"


@pytest.mark.parametrize(
    ("more", "settings_of"),
    [
        ("", ("NO_CODEGEN", "1")),
        ("&spark.sql.shuffle.partitions=3", ("NO_CODEGEN", "3")),
        ("&keep=no", ("FALLBACK", "")),
    ],
)
def test_what_is_small_is_not_compiled_and_asked_in_one_task(
    more: str, settings_of: tuple[str, str], shop: Path
) -> None:
    with open_database(f"spark:{shop / 'lake'}?master=local[2]{more}") as database:
        assert isinstance(database._engine, Spark)
        session = database._engine._session()
        compiled, partitions = settings_of
        assert session.conf.get("spark.sql.codegen.factoryMode") == compiled
        assert partitions in ("", session.conf.get("spark.sql.shuffle.partitions"))
        assert bool(database.dialect.gathered) == (compiled == "NO_CODEGEN")


def test_a_word_that_keep_does_not_know_is_told(shop: Path) -> None:
    with pytest.raises(DatabaseError, match="keep is yes or no, not maybe"):
        open_database(f"{spark_url(shop / 'lake')}&keep=maybe")


@pytest.mark.parametrize(("more", "reads_again"), [("", True), ("&keep=yes", False)])
def test_a_table_of_a_catalogue_is_kept_where_that_is_asked_for(more: str, reads_again: bool, shop: Path) -> None:
    asked = 'SELECT count(*), max(name) FROM "kept_here"."customer"'
    url = f"spark:?master=local[2]&schema=kept_here&{QUICK}"
    with open_database(spark_url(shop / "lake")):  # starts Spark, if it is not there
        from pyspark.sql import SparkSession

        session = SparkSession._instantiatedSession
        assert session is not None
        session.sql("CREATE DATABASE kept_here")
    try:
        place = (shop / "lake" / "customer.parquet").as_uri()
        session.sql(f"CREATE TABLE kept_here.customer USING parquet LOCATION '{place}'")
        with open_database(url + more) as database:
            assert [table.name for table in database.schema.tables] == ["customer"]
            before = list(database.rows(asked))
            (shop / "lake" / "customer.parquet").rename(shop / "elsewhere.parquet")
            if reads_again:
                with pytest.raises(DatabaseError):
                    list(database.rows(asked))
            else:
                assert list(database.rows(asked)) == before == [(12, "Ann 9")]
        assert not session.catalog.isCached("kept_here.customer")  # what we kept goes when we do
    finally:
        session.sql("DROP DATABASE kept_here CASCADE")
