"""Extraction from end to end: the paper's example, odd input, and runs that are cut short."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from rdflib import Graph

from ruleminer.dataset import read_dataset
from ruleminer.errors import ConnectionLostError, InputError
from ruleminer.extraction import pipeline
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.sampling import Negatives, sample_facts
from ruleminer.extraction.summary import summarise
from ruleminer.problem.facts import Fact, fact_table, predicate_facts, united
from ruleminer.problem.ontology import ontology_of
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.parser import parse_templates
from ruleminer.rules.templates import Template
from ruleminer.rules.values import Kind, Place
from ruleminer.run import Run
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.files import read_structure
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import Structure, learn_structure
from ruleminer.terminal import dataset_line

GIVEN = ExtractOptions(positives=None, negatives=Negatives.NONE)


def database_of(path: Path, *statements: str) -> str:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return f"duckdb:///{path}"


def unary(predicate: str, *arguments: str, positive: bool = True, kind: Kind | None = None) -> list[Fact]:
    return [Fact(predicate, (argument,), (kind,), positive) for argument in arguments]


def candidate_sets(run: Path) -> dict[str, set[str]]:
    dataset = read_dataset(run)
    texts = dataset.rules["text"].to_pylist()
    facts = dataset.facts.to_pylist()
    sets: dict[str, set[str]] = {
        f"{f['predicate']}({', '.join(a for a in (f['arg1'], f['arg2']) if a is not None)})": set() for f in facts
    }
    names = list(sets)
    for fact, rule in zip(*(dataset.candidates[c].to_pylist() for c in ("fact", "rule")), strict=True):
        sets[names[fact]].add(texts[rule])
    return sets


def templates(*files: str) -> tuple[Template, ...]:
    return read_templates(files=files or ["classes", "properties"])


PAPER = templates("paper/classes", "paper/properties")


def test_the_papers_running_example_gives_its_seven_rules_and_four_sets(tmp_path: Path) -> None:
    url = database_of(
        tmp_path / "p.duckdb",
        "CREATE TABLE Person (name VARCHAR, age INTEGER, type INTEGER)",
        "INSERT INTO Person VALUES ('alice', 45, 1), ('bob', 34, 1), ('joe', 23, 2), ('lola', 12, 2)",
    )
    facts = unary("Author", "alice", "bob") + unary("Author", "joe", "lola", positive=False)
    with open_database(url) as database:
        structure = learn_structure(database, discover=False)
        extract(database, fact_table(facts), templates("paper/classes"), tmp_path / "run", GIVEN, structure=structure)
    r0, r1, r2, r3, r4, r5, r6 = (
        f"Author(x) <- Person(name: x{more})"
        for more in ("", ", type: 1", ", age: 45", ", age: 34", ", type: 2", ", age: 23", ", age: 12")
    )
    assert candidate_sets(tmp_path / "run") == {
        "Author(alice)": {r0, r1, r2},
        "Author(bob)": {r0, r1, r3},
        "Author(joe)": {r0, r4, r5},
        "Author(lola)": {r0, r4, r6},
    }
    assert read_dataset(tmp_path / "run").rules.num_rows == 7


def test_facts_that_nothing_explains_are_kept_with_the_reason(tmp_path: Path) -> None:
    url = database_of(
        tmp_path / "p.duckdb",
        "CREATE TABLE t (a INTEGER, b VARCHAR)",
        "INSERT INTO t VALUES (1, 'x'), (NULL, '1')",
        "CREATE TABLE empty (c VARCHAR)",
    )
    facts = [
        *unary("P", "nowhere"),
        *unary("P", "x", kind=Kind.INTEGER),
        Fact("q", ("1", "nothing"), (None, None)),
        Fact("q", ("x", "x"), (Kind.TEXT, Kind.TEXT)),
        *unary("P", "1", kind=Kind.INTEGER),
    ]
    with open_database(url) as database:
        extract(database, fact_table(facts), PAPER, tmp_path / "run", GIVEN)
    gaps = {(gap.predicate, gap.reason): (gap.facts, gap.example) for gap in summarise(tmp_path / "run").gaps}
    assert gaps == {
        ("P", "no such value in any column"): (1, "nowhere"),
        ("P", "wrong type: it stands in the database as text, not as integer"): (1, "x"),
        ("q", "no such value in any column"): (1, "nothing"),
        ("q", "its values stand in the database, but no template leads from one to the other"): (1, "x, x"),
    }
    assert candidate_sets(tmp_path / "run")["P(1)"] == {"P(x) <- t(a: x)", 'P(x) <- t(a: x, b: "x")'}


def test_the_same_fact_twice_counts_once_and_as_both_signs_twice(tmp_path: Path) -> None:
    url = database_of(tmp_path / "p.duckdb", "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    facts = unary("P", "1", "1") + unary("P", "1", positive=False) + unary("Q", "1")
    with open_database(url) as database:
        extract(database, fact_table(facts), templates(), tmp_path / "run", GIVEN)
    dataset = read_dataset(tmp_path / "run")
    assert [(f["predicate"], f["positive"]) for f in dataset.facts.to_pylist()] == [
        ("P", True),
        ("P", False),
        ("Q", True),
    ]
    assert dataset.candidates.num_rows == 3


def test_long_strings_and_two_thousand_columns(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    columns = ", ".join(f"c{number} INTEGER" for number in range(1999))
    url = database_of(
        tmp_path / "wide.duckdb",
        f"CREATE TABLE wide (id VARCHAR, {columns})",
        f"INSERT INTO wide SELECT '{long}', {', '.join(map(str, range(1999)))}",
    )
    with open_database(url) as database:
        options = ExtractOptions(positives=None, negatives=Negatives.NONE, max_candidates=500, exhaustive=True)
        facts = fact_table(unary("P", long) + unary("P", "7"))
        extract(database, facts, templates("paper/classes"), tmp_path / "run", options)
    dataset = read_dataset(tmp_path / "run")
    assert dataset.manifest["cut"] == {"facts": 2, "candidates": 2 * (2000 - 500)}
    kept = set(dataset.candidates["rule"].to_pylist())
    assert len(kept) <= 1000
    assert "P(x) <- wide(id: x)" in dataset.rules["text"].to_pylist()


def small_world(tmp_path: Path) -> str:
    return database_of(
        tmp_path / "w.duckdb",
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR, author BOOLEAN)",
        "INSERT INTO person SELECT i, 'n' || i, i % 3 = 0 FROM range(300) t(i)",
        "CREATE TABLE paper (id INTEGER PRIMARY KEY, author INTEGER)",
        "INSERT INTO paper SELECT 1000 + i, 3 * i FROM range(100) t(i)",
    )


def world_facts() -> pa.Table:
    wrote = [Fact("wrote", (str(3 * i), str(1000 + i)), (Kind.INTEGER, Kind.INTEGER)) for i in range(100)]
    return fact_table(unary("Author", *(str(3 * i) for i in range(100)), kind=Kind.INTEGER) + wrote)


@pytest.mark.parametrize("negatives", [Negatives.UNIFORM, Negatives.REALISTIC])
def test_samples_are_seeded_and_negatives_are_never_positives(negatives: Negatives, tmp_path: Path) -> None:
    facts = world_facts()
    positives = {(f["predicate"], f["arg1"], f["arg2"]) for f in facts.to_pylist()}
    drawn = []
    for run, seed in (("one", 1), ("same", 1), ("other", 2)):
        with open_database(small_world(tmp_path) if run == "one" else f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
            options = ExtractOptions(positives=20, negatives=negatives, seed=seed)
            extract(database, facts, templates(), tmp_path / run, options)
        drawn.append(read_dataset(tmp_path / run).facts)
    rows = drawn[0].to_pylist()
    for predicate in ("Author", "wrote"):
        ours = [row for row in rows if row["predicate"] == predicate]
        assert sum(row["positive"] for row in ours) == 20
        assert 15 <= sum(not row["positive"] for row in ours) <= 20  # few constants make few negatives
        for row in ours:
            assert ((predicate, row["arg1"], row["arg2"]) in positives) == row["positive"]
            assert row["kind1"] == "integer"
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    if negatives is Negatives.REALISTIC:
        constants = {argument for row in facts.to_pylist() for argument in (row["arg1"], row["arg2"])}
        assert {row["arg1"] for row in rows} <= constants


def test_the_same_seed_draws_the_same_dataset_from_postgres(tmp_path: Path, postgres_url: str) -> None:
    import psycopg2

    with psycopg2.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.execute(
            """DROP SCHEMA IF EXISTS w CASCADE; CREATE SCHEMA w; SET search_path = w;
            CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR, author BOOLEAN);
            INSERT INTO person SELECT i, 'n' || i, i % 3 = 0 FROM generate_series(0, 299) i;
            CREATE TABLE paper (id INTEGER PRIMARY KEY, author INTEGER);
            INSERT INTO paper SELECT 1000 + i, 3 * i FROM generate_series(0, 99) i"""
        )
    connection.close()
    options = ExtractOptions(positives=30, seed=3)
    for run, url, schema in (("duck", small_world(tmp_path), None), ("pg", postgres_url, "w")):
        with open_database(url, schema=schema) as database:
            extract(database, world_facts(), read_templates(), tmp_path / run, options)
    duck, pg = read_dataset(tmp_path / "duck"), read_dataset(tmp_path / "pg")
    assert (duck.facts, duck.rules, duck.candidates) == (pg.facts, pg.rules, pg.candidates)


def test_a_dataset_is_not_replaced_without_being_told(tmp_path: Path) -> None:
    with open_database(small_world(tmp_path)) as database:
        extract(database, world_facts(), templates("classes"), tmp_path / "run", GIVEN)
        again = extract(database, world_facts(), templates("classes"), tmp_path / "run", GIVEN)
        assert again == Run(tmp_path / "run").dataset, "the same dataset is there already, and that is fine"
        with pytest.raises(InputError, match="force=True replaces it"):
            extract(database, world_facts(), templates("properties"), tmp_path / "run", GIVEN)
        extract(database, world_facts(), templates("classes"), tmp_path / "run", GIVEN, force=True)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"dataset", "structure.json"}


class Dropping:
    """A database whose connection is lost on every other statement, in the middle of the answer if there is one."""

    def __init__(self, database: Database) -> None:
        self.database, self.calls = database, 0
        self.dialect, self.schema, self.safe_url = database.dialect, database.schema, database.safe_url
        self.own_dialect, self.origin = database.dialect, None
        self.memory_limit = database.memory_limit

    def arrow(self, sql: str, parameters: object = ()) -> pa.RecordBatchReader:
        self.calls += 1
        reader = self.database.arrow(sql, parameters)
        if self.calls % 2 == 0:
            return reader

        def broken() -> object:
            yield from list(reader)[:1]
            raise ConnectionLostError("the server closed the connection")

        return pa.RecordBatchReader.from_batches(reader.schema, broken())

    def rows(self, sql: str, parameters: object = None) -> Iterator[tuple[object, ...]]:
        self.calls += 1
        if self.calls % 2 == 0:
            return self.database.rows(sql, parameters)  # type: ignore[arg-type]
        raise ConnectionLostError("the server closed the connection")

    def quoted(self, table: str) -> str:
        return self.database.quoted(table)


def test_a_lost_connection_is_taken_up_again_with_the_same_result(tmp_path: Path) -> None:
    with open_database(small_world(tmp_path)) as database:
        extract(database, world_facts(), templates(), tmp_path / "calm", GIVEN)
        extract(Dropping(database), world_facts(), templates(), tmp_path / "rough", GIVEN)  # type: ignore[arg-type]
    calm, rough = read_dataset(tmp_path / "calm"), read_dataset(tmp_path / "rough")
    assert (calm.facts, calm.rules, calm.candidates) == (rough.facts, rough.rules, rough.candidates)


def test_rows_that_do_not_fit_into_memory_say_what_they_would_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch_cells = pipeline.fetch_cells

    def too_many(work: duckdb.DuckDBPyConnection, *given: Any, **more: Any) -> None:
        fetch_cells(work, *given, **more)
        work.begin()  # it may happen in the middle of something
        raise duckdb.OutOfMemoryException("no room")

    monkeypatch.setattr(pipeline, "fetch_cells", too_many)
    with open_database(small_world(tmp_path)) as database:
        with pytest.raises(InputError, match=r"do not fit into memory, 2GB,.* 400 rows with 1,100 values"):
            extract(database, world_facts(), templates(), tmp_path / "run", ExtractOptions(negatives=Negatives.NONE))
        monkeypatch.undo()
        extract(database, world_facts(), templates(), tmp_path / "run", ExtractOptions(negatives=Negatives.NONE))


def test_extraction_from_sqlite_with_all_defaults(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "w.sqlite")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, flag BOOLEAN, price DECIMAL(8,2))")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, None, None), (2, 1, 2.5), (3, 0, 7)])
    connection.commit()
    connection.close()
    facts = fact_table(unary("P", "1", "2", kind=Kind.INTEGER))
    with open_database(f"sqlite:///{tmp_path / 'w.sqlite'}") as database:
        extract(database, facts, templates("paper/classes"), tmp_path / "run", ExtractOptions())
    sets = candidate_sets(tmp_path / "run")
    assert sets["P(1)"] == {"P(x) <- t(id: x)"}, "NULL is no value"
    assert sets["P(2)"] == {f"P(x) <- t(id: x{more})" for more in ("", ", flag: true", ", price: 2.5")}


def test_texts_full_of_slashes_and_odd_numbers_do_no_harm(tmp_path: Path) -> None:
    url = database_of(
        tmp_path / "p.duckdb",
        "CREATE TABLE t (id VARCHAR, size DOUBLE)",
        f"INSERT INTO t VALUES ('{'/a' * 300}', 1e30), ('x', 'NaN'), ('{'/b' * 70}', 0.5)",
    )
    facts = fact_table(unary("P", "/a" * 300, "/b" * 70, "x"))
    with open_database(url) as database:
        extract(database, facts, read_templates(), tmp_path / "run", GIVEN)
    assert all("P(x) <- t(id: x)" in rules for rules in candidate_sets(tmp_path / "run").values())


def kinds_of_wells(folder: Path) -> str:
    """Wells of three kinds, told by a code, with a column of too many values to be one."""
    return database_of(
        folder / "wells.duckdb",
        "CREATE TABLE well (id INTEGER PRIMARY KEY, kind VARCHAR, dry BOOLEAN, depth INTEGER)",
        "INSERT INTO well SELECT i, ['OIL', 'GAS', 'WATER'][1 + i % 3], i % 2 = 0, 1000 + i FROM range(60) t(i)",
    )


def wells(predicate: str, numbers: Iterable[int], positive: bool = True) -> list[Fact]:
    return unary(predicate, *(f"http://x/well/{i}" for i in numbers), positive=positive)


def test_where_rules_are_too_wide_they_are_refined_by_codes_and_nowhere_else(tmp_path: Path) -> None:
    facts = wells("Well", [1, 2, 3]) + wells("Well", [77], positive=False)
    facts += wells("OilWell", [0, 3, 6]) + wells("OilWell", [1, 2], positive=False)
    with open_database(kinds_of_wells(tmp_path)) as database:
        extract(database, fact_table(facts), templates("iris"), tmp_path / "run", GIVEN)
        extract(database, fact_table(facts), templates("iris")[:4], tmp_path / "plain", GIVEN)
    sets, plain = candidate_sets(tmp_path / "run"), candidate_sets(tmp_path / "plain")
    iri = ', x = "http://x/well/" ++ a'
    for number, kind, dry in ((0, "OIL", "true"), (3, "OIL", "false"), (1, "GAS", "false"), (2, "WATER", "true")):
        codes = {f"OilWell(x) <- well(id: a, {code}){iri}" for code in (f'kind: "{kind}"', f"dry: {dry}")}
        name = f"OilWell(http://x/well/{number})"
        assert sets[name] == plain[name] | codes
        assert plain[name] == {f"OilWell(x) <- well(id: a){iri}"}
    assert {name: rules for name, rules in sets.items() if name.startswith("Well")} == {
        name: rules for name, rules in plain.items() if name.startswith("Well")
    }


def test_a_run_stopped_among_refinements_refines_what_the_others_left(tmp_path: Path) -> None:
    """The second refining template must not take the first one's rules for the plain ones."""
    chosen = tuple(
        parse_templates(
            """
            plain:         ?H(x) <- ?T(?*: a...), x = concat(a...)
            refine coded:  ?H(x) <- ?T(?*: a..., ?D@code: ?k), x = concat(a...)
            refine twice:  ?H(x) <- ?T(?*: a..., ?D@code: ?k, ?E@code: ?l), x = concat(a...)
            """
        )
    )
    facts = fact_table(wells("OilWell", [0, 3, 6]) + wells("OilWell", [1, 2], positive=False))

    def stopping(stage: str, what: str, done: int, total: int) -> None:
        if what == "twice":
            raise KeyboardInterrupt

    with open_database(kinds_of_wells(tmp_path)) as database:
        with pytest.raises(KeyboardInterrupt):
            extract(database, facts, chosen, tmp_path / "run", GIVEN, progress=stopping)
        extract(database, facts, chosen, tmp_path / "run", GIVEN)
        extract(database, facts, chosen, tmp_path / "whole", GIVEN)
    assert candidate_sets(tmp_path / "run") == candidate_sets(tmp_path / "whole")
    both = 'OilWell(x) <- well(id: a, kind: "OIL", dry: true), x = "http://x/well/" ++ a'
    assert both in candidate_sets(tmp_path / "run")["OilWell(http://x/well/0)"]


def test_templates_that_only_refine_are_refused(tmp_path: Path) -> None:
    refining = [template for template in templates("iris") if template.refines]
    with open_database(kinds_of_wells(tmp_path)) as database, pytest.raises(InputError, match="none to refine"):
        extract(database, fact_table(wells("Well", [1])), refining, tmp_path / "run", GIVEN)
    assert not (tmp_path / "run").exists()


def test_what_no_code_can_narrow_is_told(tmp_path: Path) -> None:
    url = database_of(
        tmp_path / "d.duckdb", "CREATE TABLE well AS SELECT i AS id, 1000 + i AS depth FROM range(60) t(i)"
    )
    facts = wells("OilWell", [0, 3, 6]) + wells("OilWell", [1, 2], positive=False)
    with open_database(url) as database:
        folder = extract(database, fact_table(facts), templates("iris"), tmp_path / "run", GIVEN)
    manifest = read_dataset(tmp_path / "run").manifest
    assert (manifest["refined"], manifest["too_wide"]) == ([], ["OilWell"])
    assert "too wide (all rules of some example derive a counter-example, too): OilWell" in dataset_line(
        folder, summarise(tmp_path / "run")
    )


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("t: ?H(x) <- wel(id: x)", "template t: the database has no table wel"),
        ("t: ?H(x) <- well(knd: x)", "template t: table well has no column knd"),
        ("t: ?H(x) <- ?T(?C: x, knd: ?k)", "template t: the database has no column knd"),
        ("t: Oilwel(x) <- ?T(?C: x)", "template t: there is no example of Oilwel"),
    ],
)
def test_templates_that_name_what_is_not_there_are_refused(template: str, message: str, tmp_path: Path) -> None:
    with open_database(kinds_of_wells(tmp_path)) as database, pytest.raises(InputError) as caught:
        extract(database, fact_table(unary("OilWell", "1")), tuple(parse_templates(template)), tmp_path / "run", GIVEN)
    assert str(caught.value) == message
    assert not (tmp_path / "run").exists()


def test_without_negatives_nothing_is_refined(tmp_path: Path) -> None:
    """And where the structure is known, the source is asked for the rows and for nothing else."""
    facts = fact_table(wells("OilWell", [0, 3]))
    with open_database(kinds_of_wells(tmp_path)) as database:
        dying, structure = Dying(database, 1), learn_structure(database)  # the one scan for rows
        extract(dying, facts, templates("iris"), tmp_path / "run", GIVEN, structure=structure)  # type: ignore[arg-type]
    assert read_dataset(tmp_path / "run").manifest["refined"] == []


def test_a_source_in_this_process_has_a_share_of_the_memory_while_the_search_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database_of(tmp_path / "p.duckdb", "CREATE TABLE p (id INTEGER PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)")
    limits: list[str] = []
    with open_database(url) as database:

        def limit() -> str:
            return str(next(database.rows("SELECT current_setting('memory_limit')"))[0])

        def learnt(*given: Any, **more: Any) -> Structure:
            limits.append(limit())
            return learn_structure(*given, **more)

        def sampled(*given: Any, **more: Any) -> pa.Table:
            limits.append(limit())
            return sample_facts(*given, **more)

        monkeypatch.setattr(pipeline, "learn_structure", learnt)
        monkeypatch.setattr(pipeline, "sample_facts", sampled)
        before = limit()
        extract(database, fact_table(unary("P", "1")), templates("classes"), tmp_path / "run", ExtractOptions())
        assert [before, *limits, limit()] == ["3.7 GiB", "1.8 GiB", "476.8 MiB", "3.7 GiB"]


class Dying:
    """A database that is gone for good after some statements."""

    def __init__(self, database: Database, statements: int) -> None:
        self.database, self.left = database, statements
        self.dialect, self.schema, self.safe_url = database.dialect, database.schema, database.safe_url
        self.own_dialect, self.origin = database.dialect, None
        self.memory_limit = database.memory_limit

    def arrow(self, sql: str, parameters: object = ()) -> pa.RecordBatchReader:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.database.arrow(sql, parameters)


@pytest.mark.parametrize("statements", range(1, 4))
def test_a_run_stopped_between_scans_ends_like_an_unbroken_one(statements: int, tmp_path: Path) -> None:
    """A link table between two joins takes two passes: two scans, and one of the only table that can have more."""
    url = database_of(
        tmp_path / "l.duckdb",
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR)",
        "CREATE TABLE wrote (person INTEGER, paper INTEGER)",
        "CREATE TABLE paper (id INTEGER PRIMARY KEY, title VARCHAR)",
        "INSERT INTO person SELECT i, 'n' || i FROM range(30) t(i)",
        "INSERT INTO paper SELECT 100 + i, 't' || i FROM range(30) t(i)",
        "INSERT INTO wrote SELECT i, 100 + i FROM range(30) t(i)",
    )
    facts = fact_table([Fact("authorOf", (f"n{i}", f"t{i}"), (None, None)) for i in range(5)])
    with open_database(url) as database:
        structure, dying = learn_structure(database), Dying(database, statements - 1)
        with pytest.raises(KeyboardInterrupt):
            extract(dying, facts, templates("joins"), tmp_path / "run", GIVEN, structure=structure)  # type: ignore[arg-type]
        extract(database, facts, templates("joins"), tmp_path / "run", GIVEN)
    link = "authorOf(x, y) <- person(name: x, id: a), wrote(person: a, paper: b), paper(id: b, title: y)"
    assert all(rules == {link} for rules in candidate_sets(tmp_path / "run").values())


KILLED = """
import sys, time
from pathlib import Path
from tests.extraction.test_pipeline import GIVEN, templates, world_facts
from ruleminer.extraction.pipeline import extract
from ruleminer.sources.database import open_database

def slowly(stage, what, done, total):
    print(stage, what, done, flush=True)
    if sys.argv[2] == "slow" and stage == "candidates" and done == 2:
        time.sleep(60)

folder = Path(sys.argv[1])
with open_database(f"duckdb:///{folder / 'w.duckdb'}") as database:
    extract(database, world_facts(), templates(), folder / "run", GIVEN, progress=slowly)
"""


@pytest.mark.live
def test_a_killed_run_leaves_no_dataset_and_finishes_when_run_again(tmp_path: Path) -> None:
    small_world(tmp_path)
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    project = Path(__file__).resolve().parents[2]
    with subprocess.Popen([*command, "slow"], stdout=subprocess.PIPE, text=True, cwd=project) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("candidates") and line.split()[-1] == "2":
                break
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGKILL)
    assert not Run(tmp_path / "run").dataset.exists()
    again = subprocess.run([*command, "fast"], capture_output=True, text=True, cwd=project, check=True)
    assert not [line for line in again.stdout.splitlines() if line.startswith("rows")], "rows were fetched again"
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        extract(database, world_facts(), templates(), tmp_path / "whole", GIVEN)
    killed, whole = read_dataset(tmp_path / "run"), read_dataset(tmp_path / "whole")
    assert (killed.facts, killed.rules, killed.candidates) == (whole.facts, whole.rules, whole.candidates)
    assert not (tmp_path / "run" / ".extract").exists()


def test_a_damaged_dataset_is_refused(tmp_path: Path) -> None:
    with open_database(small_world(tmp_path)) as database:
        folder = extract(database, world_facts(), templates("classes"), tmp_path / "run", GIVEN)
    (folder / "rules.parquet").write_bytes(b"not parquet")
    with pytest.raises(InputError, match="damaged"):
        read_dataset(tmp_path / "run")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["source"]["url"].startswith("duckdb:///")
    with pytest.raises(InputError, match="no dataset in"):
        read_dataset(tmp_path)


def test_drawn_negatives_are_told_from_given_ones_and_the_ontology_comes_along(tmp_path: Path) -> None:
    turtle = "@prefix : <http://x/#> . :P a <http://www.w3.org/2002/07/owl#Class> ."
    ontology = ontology_of(Graph().parse(data=turtle, format="turtle"))
    url = database_of(tmp_path / "n.duckdb", "CREATE TABLE t AS SELECT i FROM range(50) AS r(i)")
    facts = fact_table(unary("P", "1", "3", "5") + unary("P", "2", positive=False))
    with open_database(url) as database:
        extract(database, facts, templates("classes"), tmp_path / "run", ExtractOptions(), ontology=ontology)
    dataset = read_dataset(tmp_path / "run")
    negatives = {row["arg1"]: row["drawn"] for row in dataset.facts.to_pylist() if not row["positive"]}
    assert negatives.pop("2") is False
    assert negatives
    assert all(negatives.values())
    assert dataset.ontology == ontology


def test_query_pairs_take_turns_so_that_a_small_one_is_heard(tmp_path: Path) -> None:
    url = database_of(tmp_path / "n.duckdb", "CREATE TABLE t AS SELECT i FROM range(50) AS r(i)")
    many = predicate_facts("P", pa.table({"arg1": [str(i) for i in range(40)]}), origin="Q1")
    few = predicate_facts("P", pa.table({"arg1": ["47", "48"]}), origin="Q2")
    options = ExtractOptions(positives=6, negatives=Negatives.NONE)
    with open_database(url) as database:
        extract(database, united([many, few]), templates("classes"), tmp_path / "run", options)
    chosen = read_dataset(tmp_path / "run").facts["arg1"].to_pylist()
    assert len(chosen) == 6
    assert {"47", "48"} <= set(chosen)


AUTHORS = LinkWishes(((Place("paper", "author"), Place("person", "id")),))


def test_what_was_learnt_of_the_database_is_kept_in_the_run(tmp_path: Path) -> None:
    with open_database(small_world(tmp_path)) as database:
        structure = learn_structure(database, AUTHORS)
        extract(database, world_facts(), templates("classes"), tmp_path / "run", GIVEN, structure=structure)
    kept = read_structure(Run(tmp_path / "run").structure)
    assert kept is not None
    assert kept.to_json() == structure.to_json()
    assert {(link.table, link.column) for link in kept.links} == {("paper", "author")}


def test_another_structure_is_another_dataset(tmp_path: Path) -> None:
    """A run that is there already was made under the links known then."""
    names = fact_table([Fact("authorName", (str(1000 + i), f"n{3 * i}"), (None, None)) for i in range(9)])
    with open_database(small_world(tmp_path)) as database:
        plain, linked = learn_structure(database, discover=False), learn_structure(database, AUTHORS)
        extract(database, names, templates("joins"), tmp_path / "run", GIVEN, structure=plain)
        assert not any(candidate_sets(tmp_path / "run").values()), "equal values alone join nothing"
        with pytest.raises(InputError, match="holds another dataset"):
            extract(database, names, templates("joins"), tmp_path / "run", GIVEN, structure=linked)
        extract(database, names, templates("joins"), tmp_path / "run", GIVEN, structure=linked, force=True)
    rule = "authorName(x, y) <- paper(id: x, author: a), person(id: a, name: y)"
    assert all(rule in rules for rules in candidate_sets(tmp_path / "run").values())


def test_a_dataset_of_data_that_changed_since_is_not_taken_for_the_new_one(tmp_path: Path) -> None:
    """The rows, counts and profile may all be the same: a value in the midst of many is another one."""
    path = tmp_path / "a.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO t SELECT i, 'n' || (1000 + i) FROM range(0, 500) r(i)")
    facts = fact_table([Fact("p", ("250", "n1250"), (Kind.INTEGER, Kind.TEXT))])
    shapes = templates("properties")
    with open_database(path) as database:
        old = extract(database, facts, shapes, tmp_path / "run", GIVEN)
        kept = {file.name: file.read_bytes() for file in old.iterdir()}
        extract(database, facts, shapes, tmp_path / "run", GIVEN)
    assert {file.name: file.read_bytes() for file in old.iterdir() if file.name != "times.json"} == {
        name: content for name, content in kept.items() if name != "times.json"
    }, "the same bytes each time"
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE t SET name = 'n1250b' WHERE id = 250")
    with open_database(path) as database:
        with pytest.raises(InputError, match="force=True replaces it"):
            extract(database, facts, shapes, tmp_path / "run", GIVEN)
        assert read_dataset(tmp_path / "run").rules.num_rows == 1
        extract(database, facts, shapes, tmp_path / "run", GIVEN, force=True)
    assert read_dataset(tmp_path / "run").rules.num_rows == 0
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"dataset", "structure.json"}
