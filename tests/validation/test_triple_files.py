"""A mapping's triples as files: those that validation makes, each once, whole or not at all, in bounded memory."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import duckdb
import psycopg2
import pyarrow.parquet as pq
import pytest
from pyoxigraph import Dataset

from ruleminer.scenarios import generate_scenario
from ruleminer.sources.database import open_database
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.row_terms import Quad
from ruleminer.validation.triple_files import FORMS, WrittenTriples, write_triples
from tests.command_line import Run
from tests.measured import measured, start
from tests.proposals.exported import exported
from tests.validation.engines import Filled, dataset, parsed, same

CASES = Path(__file__).parent / "cases"
PEOPLE = """@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix : <http://e/> .
:People rr:logicalTable [ rr:tableName "people" ] ;
  rr:subjectMap [ rr:template "http://e/person/{id}" ; rr:class :Person ] ;
  rr:predicateObjectMap [ rr:predicate :name ; rr:objectMap [ rr:column "name" ] ] ,
    [ rr:predicate :town ; rr:objectMap [ rr:column "town" ] ] .
:Towns rr:logicalTable [ rr:tableName "people" ] ;
  rr:subjectMap [ rr:template "http://e/town/{town}" ; rr:class :Town ] .
"""


def people(folder: Path, rows: int) -> Path:
    """A database of so many people in a hundred towns, and its mapping beside it."""
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, md5(range::VARCHAR) AS name, "
            f"'town \t' || range % 100 AS town FROM range({rows})"
        )
    (folder / "people.ttl").write_text(PEOPLE, "utf-8")
    return folder / "people.duckdb"


def read(written: WrittenTriples, form: str) -> Dataset:
    """What the files hold."""
    if form != "parquet":
        return parsed("".join(file.read_text("utf-8") for file in written.files))
    rows = [row for file in written.files for row in pq.read_table(file).to_pylist()]
    return dataset((row["subject"], row["predicate"], row["object"], row["graph"] or "") for row in rows)


def expected(quads: Iterable[Quad], form: str) -> Dataset:
    return dataset((s, p, o, "" if form == "nt" else g) for s, p, o, g in quads)


@pytest.mark.parametrize(
    ("engine", "form"), [*(("duckdb", form) for form in FORMS), ("sqlite", "nt"), ("postgres", "nt")]
)
@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_the_files_hold_what_validation_makes(
    case: str, engine: str, form: str, filled: Filled, tmp_path: Path
) -> None:
    database = filled(engine, (CASES / case / "resource.sql").read_text("utf-8"))
    mapping = read_r2rml(CASES / case / "mapping.ttl")
    quads = list(materialise(mapping, database))
    written = write_triples(mapping, database, tmp_path / "out", form=form, held=200, per_part=3)
    found, wanted = read(written, form), expected(quads, form)
    assert len(found) == len(wanted) == written.triples
    assert same(found, wanted)
    assert written.derived == len(quads)
    assert len(written.files) == -(-written.triples // 3)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {f.name for f in written.files} | {"manifest.json"}


@pytest.mark.parametrize("kind", ["cleaning", "restructuring", "denormalising"])
def test_a_generated_scenario_gives_all_its_facts(kind: str, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario"
    generate_scenario(scenario, domain="hospital", kind=kind, size=400, seed=2)
    with open_database(scenario / "database.duckdb") as database:
        exported(scenario / "mapping.rules", scenario / "ontology.ttl", database, tmp_path / "export")
        mapping = read_r2rml(tmp_path / "export" / "mapping.ttl")
        written = write_triples(mapping, database, tmp_path / "out", held=10_000)
        assert read(written, "nt") == expected(materialise(mapping, database), "nt")
    assert written.triples > 500


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    with open_database(people(tmp_path, 3000)) as database:
        mapping = read_r2rml(tmp_path / "people.ttl")
        one, other = (write_triples(mapping, database, tmp_path / name, held=50_000) for name in ("one", "other"))
    assert [file.read_bytes() for file in one.files] == [file.read_bytes() for file in other.files]
    assert (one.triples, one.derived) == (3 * 3000 + 100, 4 * 3000)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nt", "parquet"])
def test_several_processes_write_the_same_triples(form: str, tmp_path: Path) -> None:
    with open_database(people(tmp_path, 5000)) as database:
        mapping = read_r2rml(tmp_path / "people.ttl")
        alone = write_triples(mapping, database, tmp_path / "alone", form=form)
        one, other = (
            write_triples(mapping, database, tmp_path / name, form=form, held=9_000, per_part=2_000, jobs=2)
            for name in ("one", "other")
        )
    assert [file.read_bytes() for file in one.files] == [file.read_bytes() for file in other.files]
    assert (
        (one.triples, one.derived, one.rows) == (alone.triples, alone.derived, alone.rows) == (15_100, 20_000, 10_000)
    )
    assert len(one.files) >= 8
    assert {path.name for path in one.folder.iterdir()} == {file.name for file in one.files} | {"manifest.json"}
    assert read(one, form) == read(alone, form)


def test_a_script_that_asks_for_several_processes_runs_once(tmp_path: Path) -> None:
    """Workers are programs of their own, and do not import what asks for them."""
    people(tmp_path, 50)
    (tmp_path / "script.py").write_text(
        "import ruleminer\nprint('runs', flush=True)\n"
        "print(ruleminer.write_triples('people.ttl', 'out', database='people.duckdb', jobs=2).triples)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["runs", "200"], done.stderr


def test_several_processes_write_a_part_although_there_is_nothing(tmp_path: Path) -> None:
    with open_database(people(tmp_path, 0)) as database:
        written = write_triples(read_r2rml(tmp_path / "people.ttl"), database, tmp_path / "out", jobs=2)
    assert [file.read_bytes() for file in written.files] == [b""]


def test_bytes_of_a_server_go_to_other_processes(empty_postgres: str, tmp_path: Path) -> None:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE people (id int, name bytea, town text); INSERT INTO people VALUES (1, '\\x00ff', 'x')"
        )
    connection.close()
    (tmp_path / "people.ttl").write_text(PEOPLE, "utf-8")
    with open_database(empty_postgres) as database:
        written = write_triples(read_r2rml(tmp_path / "people.ttl"), database, tmp_path / "out", jobs=2)
    assert '"00FF"^^<http://www.w3.org/2001/XMLSchema#hexBinary>' in "".join(f.read_text() for f in written.files)


def test_a_number_that_is_none_of_any_kind_is_written(tmp_path: Path) -> None:
    """SQLite keeps any text in a column of decimals."""
    with sqlite3.connect(tmp_path / "people.sqlite") as connection:
        connection.execute("CREATE TABLE people (id INTEGER, name DECIMAL(9, 2), town TEXT)")
        connection.execute("INSERT INTO people VALUES (1, 'sNaN', 'x'), (2, '1.50', 'x')")
    connection.close()
    (tmp_path / "people.ttl").write_text(PEOPLE, "utf-8")
    with open_database(tmp_path / "people.sqlite") as database:
        written = write_triples(read_r2rml(tmp_path / "people.ttl"), database, tmp_path / "out")
    assert written.triples == 7


def workers_of(pid: int) -> list[int]:
    """The processes that make triples for another."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):
            if b"triple_workers" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def running(pid: int) -> bool:
    with suppress(OSError):
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("killed", ["reader", "worker"])
def test_processes_end_together_and_leave_nothing(killed: str, tmp_path: Path) -> None:
    words = ("materialise", "people.ttl", "--db", people(tmp_path, 400_000), "--out", "out", "--jobs", "2")
    process = start(tmp_path / "note", *words)
    workers: list[int] = []
    try:
        while not list(tmp_path.glob(".out.unfinished-*/worker-*/buckets/*")):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        workers = workers_of(process.pid)
        assert len(workers) == 2
        os.kill(process.pid if killed == "reader" else workers[0], signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
    deadline = time.monotonic() + 60
    while any(map(running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, workers))
    assert not (tmp_path / "out").exists()
    if killed == "worker":
        assert process.returncode == 2
        assert "a process that makes triples was ended from outside" in said
        assert not list(tmp_path.glob(".out.unfinished-*"))


def test_the_command_line_writes_a_runs_mapping(run: Run, tmp_path: Path) -> None:
    database = people(tmp_path, 10)
    done = run("materialise", "people.ttl", "--db", database, "--out", "out", "--json")
    told = json.loads(done.out)
    assert (done.code, told["triples"], told["rows"]) == (0, 40, 20)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["triples"] == 40
    again = run("materialise", "people.ttl", "--db", database, "--out", "out")
    assert (again.code, "--force replaces it" in again.err) == (2, True)
    replaced = run("materialise", "people.ttl", "--db", database, "--out", "out", "--force", "--format", "parquet")
    assert replaced.code == 0, replaced.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["manifest.json", "part-00000.parquet"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("people.ttl", "--out", "out"), "name it with --db"),
        (
            ("people.ttl", "--db", "people.duckdb", "--out", "out", "--format", "turtle"),
            "--format must be one of nt, nq",
        ),
        (("people.ttl", "--db", "people.duckdb", "--out", "out", "--jobs", "0"), "--jobs must be at least 1"),
        (("broken.ttl", "--db", "people.duckdb", "--out", "out", "--jobs", "2"), "no column city"),
        (("nothing.ttl", "--db", "people.duckdb", "--out", "out"), "nothing.ttl"),
        (("folder", "--db", "people.duckdb", "--out", "out"), "has no proposals"),
        (("people.ttl", "--db", "people.duckdb", "--out", "folder", "--force"), "no triples of ours"),
        (("people.ttl", "--db", "people.duckdb", "--out", "folder/dataset", "--force"), "no triples of ours"),
        (("broken.ttl", "--db", "people.duckdb", "--out", "out"), "no column city"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(
    words: tuple[str, ...], told: str, run: Run, tmp_path: Path
) -> None:
    people(tmp_path, 10)
    (tmp_path / "broken.ttl").write_text(PEOPLE.replace('"http://e/town/{town}"', '"http://e/town/{city}"'), "utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine", "utf-8")
    (tmp_path / "folder" / "dataset").mkdir()
    (tmp_path / "folder" / "dataset" / "manifest.json").write_text('{"format": 1}', "utf-8")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    done = run("materialise", *words, "--quiet")
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.live
def test_a_killed_run_leaves_nothing_and_the_next_clears_up(run: Run, tmp_path: Path) -> None:
    database = people(tmp_path, 200_000)
    process = start(tmp_path / "note", "materialise", "people.ttl", "--db", database, "--out", "out")
    try:
        while not list(tmp_path.glob(".out.unfinished-*/buckets-0/*")):
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.glob(".out.unfinished-*"))) == 1
    (tmp_path / "people.duckdb").unlink()
    done = run("materialise", "people.ttl", "--db", people(tmp_path, 100), "--out", "out")
    assert done.code == 0, done.err
    assert not list(tmp_path.glob(".out.unfinished-*"))


def test_memory_does_not_grow_with_the_triples(tmp_path: Path) -> None:
    def peak(rows: int) -> float:
        folder = tmp_path / str(rows)
        folder.mkdir()
        people(folder, rows)
        done = measured(folder, "materialise", "people.ttl", "--db", "people.duckdb", "--out", "out", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["triples"] == 3 * rows + 100
        return done.peak_mb

    # 200,000 people are 600,000 triples: 60 MB as text, several times as much as Python's objects.
    assert peak(200_000) - peak(100) < 170
