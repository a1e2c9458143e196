"""The command line as a user meets it: what it prints, and one clear line for each mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from ruleminer import __version__
from tests.command_line import Run


def shop(folder: Path) -> Path:
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR, vip BOOLEAN)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer (id))")
        connection.execute("INSERT INTO customer VALUES (1, 'Ann', true), (2, 'Bob', false), (3, 'Cy', true)")
        connection.execute("INSERT INTO orders VALUES (10, 1), (11, 3)")
    return path


def ontology(folder: Path) -> Path:
    path = folder / "shop.ttl"
    path.write_text(
        """@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :GoodCustomer a owl:Class . :orderedBy a owl:ObjectProperty . :name a owl:DatatypeProperty ."""
    )
    return path


def facts(folder: Path) -> Path:
    path = folder / "facts.csv"
    path.write_text("predicate,arg1,arg2\nGoodCustomer,1,\nGoodCustomer,3,\norderedBy,10,1\norderedBy,11,3\n")
    return path


def test_help_tells_every_command_and_how_to_start(run: Run) -> None:
    result = run("--help")
    assert result.code == 0
    for command in ("inspect", "scenario", "extract", "dataset", "train", "evaluate", "demo", "ruleminer demo"):
        assert command in result.out
    assert run("extract", "-h").out.count("Example")


def test_help_shows_the_defaults_that_the_library_has(run: Run) -> None:
    from ruleminer.extraction.pipeline import ExtractOptions
    from ruleminer.learn.options import TrainOptions
    from ruleminer.proposals.model_rules import DEFAULT_RANKER

    found, learnt = ExtractOptions(), TrainOptions()
    expected = {
        "extract": {"positives": found.positives, "negatives": found.negatives, "memory": found.memory,
                    "max-candidates": found.max_candidates, "seed": found.seed},
        "train": {"loss": learnt.loss, "size": learnt.size, "learning-rate": learnt.learning_rate,
                  "longest-rule": learnt.longest_rule, "negatives": learnt.negatives, "precision": learnt.precision,
                  "updates": f"at least {learnt.least_updates}, in at least {learnt.passes} passes over the data"},
        "propose-mappings": {"ranker": DEFAULT_RANKER},
    }  # fmt: skip
    for command, options in expected.items():
        shown = " ".join(run(command, "--help").out.replace("│", " ").split())
        for option, default in options.items():
            assert re.search(rf"--{option} (?:(?! --).)*\[default: \(?{re.escape(str(default))}\)?\]", shown), option


def test_bench_has_real_commands_and_runs_what_else_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ruleminer.bench.runner import BenchRun
    from ruleminer.bench.units import BenchOptions

    asked: list[tuple[str, str]] = []

    def run_bench(name: str, options: BenchOptions, *_: object) -> BenchRun:
        asked.append((name, options.scale))
        return BenchRun(Path("somewhere"), [], [], ())

    monkeypatch.setattr("ruleminer.bench.runner.run_bench", run_bench)
    for words in (("cmt", "--scale", "smoke"), ("--scale", "smoke", "cmt"), ("run", "cmt", "--scale", "smoke")):
        assert run("bench", *words).code == 0
    assert asked == [("cmt", "smoke")] * 3
    assert json.loads(run("bench", "list", "--json").out)[0]["name"] == "dynamics"
    assert "no bench has left its" in run("bench", "report", "nowhere").err
    assert "list" in run("bench", "--help").out


def test_version(run: Run) -> None:
    assert run("--version").out == f"ruleminer {__version__}\n"


def test_inspect_shows_a_database_and_an_ontology(run: Run, tmp_path: Path) -> None:
    result = run("inspect", f"duckdb:///{shop(tmp_path)}", "--ontology", str(ontology(tmp_path)))
    assert result.code == 0
    assert re.search(r"orders\.customer +│ customer\.id +│ declared", result.out)
    assert "vip" in result.out
    assert "GoodCustomer" in result.out
    as_json = json.loads(run("inspect", str(tmp_path / "shop.duckdb"), "--json").out)
    assert [table["name"] for table in as_json["database"]["tables"]] == ["customer", "orders"]


def loose(folder: Path) -> Path:
    """A database that declares neither keys nor links."""
    path = folder / "loose.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE team AS SELECT 1000 + i * 7 AS id, 'Team ' || i AS name FROM range(30) t(i)")
        connection.execute(
            "CREATE TABLE player AS SELECT i AS nr, 1000 + i % 30 * 7 AS team_id, i % 3 AS state, "
            "i % 5 AS shirt FROM range(1, 91) t(i)"
        )
    return path


def test_inspect_tells_what_nobody_declared_and_why(run: Run, tmp_path: Path) -> None:
    loose(tmp_path)
    shown = run("inspect", "loose.duckdb", "--picture", "loose.svg", "--quiet")
    assert shown.code == 0, shown.err
    assert re.search(r"player\.team_id +│ team\.id +│ discovered: all its values lie there, its name fits", shown.out)
    assert "id (discovered: 30 rows, as many values)" in shown.out
    assert re.search(r"player\.state +│ 0 \(30\), 1 \(30\), 2 \(30\)", shown.out)
    assert "discovered: all its values" in (tmp_path / "loose.svg").read_text("utf-8")
    structure = json.loads(run("inspect", "loose.duckdb", "--json").out)["structure"]
    assert structure["foreign_keys"][0]["declared"] is False
    assert structure["code_values"]["player.state"] == [["0", 30], ["1", 30], ["2", 30]]
    assert structure["named_by"] == {"team": ["name"]}


def test_inspect_takes_the_users_word_on_links(run: Run, tmp_path: Path) -> None:
    loose(tmp_path)
    (tmp_path / "links.txt").write_text("not player.team_id -> team.id\nplayer.shirt -> player.nr\n")
    told = json.loads(run("inspect", "loose.duckdb", "--links", "links.txt", "--json").out)
    ends = [(link["table"], link["columns"], link["why"]) for link in told["structure"]["foreign_keys"]]
    assert ends == [("player", ["shirt"], "the user says so")]
    assert told["structure"]["links"][0]["score"] is None, "JSON knows no infinity"


def test_inspect_tells_of_a_table_that_cannot_be_profiled(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ruleminer.errors import DatabaseTimeoutError
    from ruleminer.structure import profile

    def late(*of: object) -> object:
        raise DatabaseTimeoutError("no answer within 1 s")

    loose(tmp_path)
    monkeypatch.setattr(profile, "_profiled", late)
    shown = run("inspect", "loose.duckdb", "--quiet")
    assert shown.code == 0
    assert "team" in shown.out
    assert "known by its rows alone: team, for no answer within 1 s" in shown.err


def test_extract_from_a_live_database_and_show_the_dataset(run: Run, tmp_path: Path) -> None:
    words = ("extract", "--db", f"duckdb:///{shop(tmp_path)}", "--ontology", str(ontology(tmp_path)))
    result = run(*words, "--examples", str(facts(tmp_path)), "--out", "run", "--negatives", "none")
    assert result.code == 0, result.err
    assert "2 predicates, 4 positives, 0 negatives" in result.out
    shown = run("dataset", "show", "run")
    assert "orderedBy(x, y) <- orders(id: x, customer: y)" in shown.out
    summary = json.loads(run("dataset", "show", "run", "--json").out)
    rules = [rule["text"] for rule in summary["predicates"][0]["rules"]]
    assert "GoodCustomer(x) <- customer(id: x, vip: true)" in rules
    assert summary["manifest"]["options"]["negatives"] == "none"


def test_a_generated_scenario_can_be_loaded_elsewhere_and_extracted(run: Run, tmp_path: Path) -> None:
    assert run("scenario", "generate", "--kind", "renaming", "--size", "300", "--seed", "5", "made").code == 0
    loaded = run("scenario", "load", "made", "--db", "sqlite:///copy.sqlite")
    assert loaded.code == 0, loaded.err
    assert "tables" in run("inspect", "sqlite:///copy.sqlite").out
    result = run("extract", "--scenario", "made", "--out", "run", "--positives", "3", "--quiet")
    assert result.code == 0, result.err
    assert (tmp_path / "run" / "dataset" / "manifest.json").is_file()


MISTAKES = {
    "missing file": (["inspect", "duckdb:///nowhere.duckdb"], "no such database file: nowhere.duckdb"),
    "not a database": (["inspect", "shop.ttl"], "shop.ttl is not a database"),
    "no such table": (["inspect", "shop.duckdb", "--include", "custmer"], "no table 'custmer'"),
    "unknown engine": (["inspect", "oracle://x"], "Oracle cannot be read yet"),
    "broken ontology": (["inspect", "shop.duckdb", "--ontology", "broken.ttl"], "broken.ttl"),
    "wrong password": (["inspect", "postgresql://me:s3cret@127.0.0.1:1/db"], "127.0.0.1"),
    "password in a DSN": (["inspect", "host=h password=s3cret"], "cannot read the database URL"),
    "nothing to inspect": (["inspect"], "nothing to inspect"),
    "a picture of nothing": (["inspect", "--ontology", "shop.ttl", "--picture", "x.svg"], "go with a database"),
    "odd picture": (["inspect", "shop.duckdb", "--picture", "shop.gif"], "*.svg or *.png"),
    "picture nowhere": (["inspect", "shop.duckdb", "--picture", "no/shop.svg"], "there is no folder no"),
    "links nowhere": (["inspect", "shop.duckdb", "--links", "no.txt"], "cannot read links from no.txt"),
    "odd memory": (
        ["extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "run",
         "--memory", "lots"],
        "--memory must be a size",
    ),
    "no source": (["extract", "--out", "run"], "say where the facts come from"),
    "no examples": (["extract", "--db", "shop.duckdb", "--out", "run"], "--db needs --ontology and"),
    "unknown negatives": (
        ["extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "run",
         "--negatives", "some"],
        "--negatives must be one of uniform, realistic, none",
    ),
    "broken templates": (
        ["extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "facts.csv", "--out", "run",
         "--templates", "broken.rules"],
        "broken.rules:1:8: nothing binds variable y of the head",
    ),
    "unknown predicate": (
        ["extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "odd.csv", "--out", "run"],
        "GoodCustmer",
    ),
    "unknown recipe": (["extract", "--recipe", "nope", "--out", "run"], "no recipe 'nope'; there are cmt, npd, npd-20"),
    "no dataset": (["dataset", "show", "empty"], "no dataset in empty"),
    "train without a dataset": (["train", "empty"], "no dataset in empty"),
    "unknown loss": (["train", "empty", "--loss", "nope"], "nope"),
    "a size for a model that has one": (["train", "empty", "--from", "x", "--size", "tiny"], "keeps its size"),
    "evaluate without a model": (["evaluate", "empty"], "empty"),
    "unknown kind": (["scenario", "generate", "--kind", "odd", "made"], "odd"),
    "no scenario": (["scenario", "load", "empty", "--db", "duckdb:///new.duckdb"], "empty"),
    "broken pair": (
        ["extract", "--db", "shop.duckdb", "--ontology", "shop.ttl", "--examples", "broken.qpair", "--out", "run"],
        "broken.qpair",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_clear_line_and_leaves_nothing(
    run: Run, tmp_path: Path, words: list[str], line: str
) -> None:
    shop(tmp_path)
    ontology(tmp_path)
    facts(tmp_path)
    (tmp_path / "broken.ttl").write_text("@prefix : <http://x#> .\n:A a :B ;;; oops")
    (tmp_path / "broken.rules").write_text("wrong: ?H(x, y) <- ?T(?C: x)")
    (tmp_path / "odd.csv").write_text("predicate,arg1,arg2\nGoodCustmer,1,\n")
    (tmp_path / "broken.qpair").write_text("sql=SELECT 1\\u00zz\n")
    (tmp_path / "empty").mkdir()
    before = set(tmp_path.rglob("*"))
    result = run(*words)
    assert result.code == 2, result
    assert line in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert "Traceback" not in result.err
    assert "s3cret" not in result.err + result.out
    assert set(tmp_path.rglob("*")) == before
