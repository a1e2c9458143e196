"""Files of strangers on the command line: query pairs, mappings, dumps and names that would do harm."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.sources.dump import load_dump
from tests.command_line import Run

ONTOLOGY = """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Person a owl:Class . :name a owl:DatatypeProperty .
"""
TABLES = """
CREATE TABLE person (id integer PRIMARY KEY, name text);
INSERT INTO person VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Eve');
CREATE FUNCTION wipe() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN DELETE FROM person; RETURN 1; END $$;
DROP ROLE IF EXISTS writer; CREATE ROLE writer LOGIN; GRANT ALL ON person TO writer;
"""
HONEST = "sql=SELECT id FROM person\nsparql=SELECT ?x WHERE {?x a <http://x.org/Person>}\n"
# One makes the session writable, the next calls a function of the user's own that deletes.
PAIRS = {
    "a.qpair": "sql=SELECT id FROM person WHERE set_config('default_transaction_read_only','off',false) IS NOT NULL\n",
    "b.qpair": "sql=SELECT id FROM person WHERE wipe() = 1\n",
    "c.qpair": "sql=SELECT id FROM person WHERE lo_create(4711) > 0\n",
    "d.qpair": HONEST,
}
SPARQL = "sparql=SELECT ?x WHERE {?x a <http://x.org/Person>}\n"
MAPPING = """@prefix rr: <http://www.w3.org/ns/r2rml#> .
<#m{number}> rr:logicalTable [ {table} ] ;
  rr:subjectMap [ rr:template "http://x.org/{{id}}" ; rr:class <http://x.org/Person> ] .
"""


def written(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def rows_left(url: str) -> tuple[int, int]:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM pg_largeobject_metadata)")
        return cursor.fetchone()  # type: ignore[return-value]


@pytest.fixture
def writer(empty_postgres: str) -> str:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(TABLES)
    return make_url(empty_postgres).set(username="writer").render_as_string(hide_password=False)


@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_query_pairs_write_nothing_even_with_trust(
    run: Run, tmp_path: Path, empty_postgres: str, writer: str, trust: tuple[str, ...]
) -> None:
    written(tmp_path, {"o.ttl": ONTOLOGY})
    written(tmp_path / "pairs", {k: v if "sparql" in v else v + SPARQL for k, v in PAIRS.items()})
    words = ("extract", "--db", writer, "--ontology", "o.ttl", "--examples", "pairs", "--out", "run", *trust)
    result = run(*words)
    assert result.code == 0, result.err
    assert "may write to its tables" in result.err
    assert rows_left(empty_postgres) == (3, 0)


def test_a_mapping_of_a_stranger_reads_the_tables_and_nothing_else(
    run: Run, tmp_path: Path, empty_postgres: str, writer: str
) -> None:
    hostile = [
        "rr:sqlQuery \"SELECT pg_read_file('/etc/passwd') AS id\"",
        'rr:sqlQuery "SELECT rolname AS id FROM pg_authid"',
        'rr:sqlQuery "SELECT wipe() AS id"',
        'rr:tableName "pg_catalog.pg_authid"',
    ]
    tables = ['rr:tableName "person"', *hostile]
    mapping = "".join(MAPPING.format(number=i, table=table) for i, table in enumerate(tables))
    written(tmp_path / "s", {"ontology.ttl": ONTOLOGY, "dump.sql": "", "m.ttl": mapping})
    written(tmp_path / "s" / "queries", {"p.qpair": HONEST})
    words = ("validate", "--scenario", "s", "--mapping", "s/m.ttl", "--db", empty_postgres, "--json")
    result = run(*words)
    assert result.code == 0, result.err
    assert result.out.count("refused, for it") == len(hostile)
    assert "root:" not in result.out
    assert '"triples": 3' in result.out
    assert rows_left(empty_postgres) == (3, 0)


def test_escape_sequences_in_names_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.execute('CREATE TABLE "\x1b[31mred\x07\u202e" ("\x1b]0;title\x07" integer PRIMARY KEY)')
    connection.close()
    for words in (("inspect", "a.sqlite"), ("inspect", "a.sqlite", "--include", "\x1b2J")):
        result = run(*words)
        assert not set("\x1b\x07\u202e") & set(result.out + result.err)
        assert "\\x1b" in result.out + result.err


def test_a_view_on_a_url_makes_the_loader_reach_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr("socket.socket.connect", no_network)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "d.sql").write_text(
        "CREATE TABLE public.t (i integer);\nCOPY public.t (i) FROM stdin;\n1\n\\.\n"
        "CREATE VIEW public.far AS SELECT * FROM read_csv('https://example.invalid/x.csv');\n"
        f"CREATE VIEW public.near AS SELECT * FROM read_csv('{tmp_path}/secret.csv');\n"
    )
    loaded = load_dump(tmp_path / "d.sql", f"duckdb:///{tmp_path}/d.duckdb")
    assert loaded.views == ()
    told = " ".join(skipped.what for skipped in loaded.skipped)
    assert "far" in told
    assert "near" in told
    assert "disabled" in told
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]


@pytest.mark.parametrize("failing", ["1 / (id - id)", "CAST(name AS integer)"])
def test_a_view_that_fails_while_it_is_read_is_one_line(
    run: Run, tmp_path: Path, empty_postgres: str, failing: str
) -> None:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(TABLES + f"CREATE VIEW broken AS SELECT id, {failing} AS bad FROM person")
    written(tmp_path, {"o.ttl": ONTOLOGY, "f.csv": "predicate,arg1\nPerson,1\nPerson,2\n"})
    result = run("extract", "--db", empty_postgres, "--ontology", "o.ttl", "--examples", "f.csv", "--out", "run", "-q")
    assert result.code == 2, result.err
    told = result.err.strip().splitlines()[-1]
    assert told.startswith("error: table broken cannot be read: ")
    assert told.endswith("leave it out with --exclude broken")
    assert "Traceback" not in result.err
