"""`ruleminer.toml`: what it may say, what of it a command takes, and what the command line keeps for itself."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from ruleminer.configuration import FILE, Configuration, configuration_text, read_configuration
from ruleminer.errors import InputError
from tests.command_line import Run

ONTOLOGY = """
@prefix : <http://shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Customer a owl:Class . :name a owl:DatatypeProperty .
"""
FACTS = "predicate,arg1,arg2\nCustomer,1,\nCustomer,2,\nname,1,Ann\nname,2,Bob\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database, an ontology and facts, in the folder in which commands run."""
    with sqlite3.connect(tmp_path / "shop.sqlite") as made:
        made.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        made.executemany("INSERT INTO customer VALUES (?, ?)", [(1, "Ann"), (2, "Bob"), (3, "Cy")])
        made.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
    made.close()
    (tmp_path / "shop.ttl").write_text(ONTOLOGY, "utf-8")
    (tmp_path / "facts.csv").write_text(FACTS, "utf-8")
    return tmp_path


SAID = Configuration(
    db="postgresql://reader:${DB_PASSWORD}@host/shop",
    schema='o"dd',
    include=("a*", "b"),
    ontology="shop.ttl",
    examples=("facts.csv", "more\\facts.csv"),
    run="run",
    base="http://e.x/",
    datatypes="database",
    iri={"Person": "http://e.x/p/{}", "a.b": "http://e.x/b/{}"},
)


@pytest.mark.parametrize("said", [SAID, Configuration()])
def test_what_init_writes_reads_back(said: Configuration, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(configuration_text(said), "utf-8")
    assert read_configuration(tmp_path / FILE) == said


def test_nothing_is_typed_twice(run: Run, shop: Path) -> None:
    written = run(
        "init", "--db", "shop.sqlite", "--ontology", "shop.ttl", "--examples", "facts.csv", "--run", "out",
        "--iri", "Customer=http://e.x/c/{}",
    )  # fmt: skip
    assert written.code == 0, written.err
    for command in (("inspect", "-q"), ("extract", "-q"), ("dataset", "show"), ("propose-mappings", "-q"), ("export",)):
        result = run(*command)
        assert result.code == 0, (command, result.err)
    assert "http://e.x/c/{" in (shop / "out" / "proposals" / "mapping.ttl").read_text("utf-8")
    checked = run("validate")
    assert checked.code == 0, checked.err + checked.out
    assert "2 of 2 predicates as the examples say" in checked.out


def test_a_draft_takes_run_and_datatypes_from_the_configuration(run: Run, shop: Path) -> None:
    (shop / FILE).write_text(
        'ontology = "shop.ttl"\nrun = "drafted"\ndatatypes = "database"\n[source]\ndb = "shop.sqlite"\n', "utf-8"
    )
    result = run("draft", "-q")
    assert result.code == 0, result.err
    told = json.loads((shop / "drafted" / "proposals" / "proposals.json").read_text("utf-8"))
    assert told["made_from"]["datatypes"] == "database"
    refused = run("draft", "-q", "--datatypes", "nobody", "--out", "other")
    assert refused.code == 2
    assert "nobody" in refused.err


def test_the_command_line_wins(run: Run, shop: Path) -> None:
    (shop / FILE).write_text('[source]\ndb = "nowhere.sqlite"\nexclude = ["nothing_like_it"]\n', "utf-8")
    assert run("inspect").code == 2
    result = run("inspect", "shop.sqlite", "-q")  # and what was said of another database is not said of this one
    assert result.code == 0, result.err
    assert "customer" in result.out
    (shop / FILE).write_text('[source]\ndb = "shop.sqlite"\nexclude = ["other"]\n', "utf-8")
    assert "other" not in run("inspect", "-q").out
    assert "other" in run("inspect", "-q", "--exclude", "customer").out


def test_files_are_found_from_the_folder_of_the_configuration(run: Run, shop: Path) -> None:
    (shop / "deep").mkdir()
    (shop / "deep" / "my.toml").write_text('ontology = "../shop.ttl"\n[source]\ndb = "../shop.sqlite"\n', "utf-8")
    for words in (("--config", "deep/my.toml", "inspect", "-q"), ("inspect", "-q", "--config=deep/my.toml")):
        result = run(*words)
        assert result.code == 0, result.err
        assert "customer" in result.out


def test_a_variable_of_the_environment_stands_in_the_url_only(
    run: Run, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / FILE).write_text('[source]\ndb = "${SHOP_URL}"\n', "utf-8")
    missing = run("inspect")
    assert missing.code == 2
    assert "source.db names ${SHOP_URL}, which the environment does not have" in missing.err
    monkeypatch.setenv("SHOP_URL", f"sqlite:///{shop}/shop.sqlite")
    assert run("inspect", "-q").code == 0


@pytest.mark.parametrize("password", ["p@ss", "a/b:c", "50%25?x#y", "plain"])
def test_a_password_may_have_any_sign(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_USER", "d\\me@home")
    monkeypatch.setenv("DB_PASSWORD", password)
    monkeypatch.setenv("DB_HOST", "host:5433")
    url = make_url(Configuration(db="postgresql://${DB_USER}:${DB_PASSWORD}@${DB_HOST}/shop").url())
    assert (url.username, url.password, url.host, url.port) == ("d\\me@home", password, "host", 5433)
    assert password not in url.render_as_string()
    url = make_url(Configuration(db="postgresql://me@host/shop?password=${DB_PASSWORD}").url())
    assert url.query["password"] == password


@pytest.mark.parametrize("url", ["postgresql://me:secret@host/db", "postgresql://me@host/db?password=secret"])
def test_a_password_is_refused_and_not_repeated(run: Run, shop: Path, url: str) -> None:
    (shop / FILE).write_text(f'[source]\ndb = "{url}"\n', "utf-8")
    for words in (("inspect",), ("init", "other.toml", "--db", url)):
        result = run(*words)
        assert result.code == 2
        assert "~/.pgpass" in result.err
        assert "secret" not in result.err
    assert not (shop / "other.toml").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('ontologi = "a"', "nobody knows the key ontologi; the nearest that is known is ontology"),
        ('db = "a"', "nobody knows the key db; the nearest that is known is source.db"),
        ('[source]\nshema = "a"', "nobody knows the key source.shema; the nearest that is known is source.schema"),
        ("run = 1", "run must be a text, not 1"),
        ("examples = [1]", "examples must be a text or a list of texts"),
        ("source = 1", "source must be a table"),
        ("run = ", "is no TOML"),
    ],
)
def test_what_nobody_knows_is_refused_by_name(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(InputError, match=FILE) as refused:
        read_configuration(tmp_path / FILE)
    assert told in str(refused.value)


def test_a_configuration_is_never_overwritten_without_a_word(run: Run, shop: Path) -> None:
    (shop / FILE).write_text("# mine\n", "utf-8")
    assert run("init").code == 2
    assert (shop / FILE).read_text("utf-8") == "# mine\n"
    assert run("init", "--force").code == 0


def test_help_says_what_comes_from_the_file(run: Run, shop: Path) -> None:
    (shop / FILE).write_text('run = "my_run"\n', "utf-8")
    assert "my_run, from ruleminer.toml" in " ".join(run("train", "--help").out.replace("│", " ").split())


def test_commands_with_a_source_of_their_own_take_nothing(run: Run, shop: Path) -> None:
    (shop / FILE).write_text("broken", "utf-8")
    assert run("bench", "list").code == 0
    assert run("--help").code == 0
