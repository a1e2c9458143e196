"""Mistakes on the command line of propose-mappings: one clear line, exit code 2, nothing half-written."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from tests.proposals.conftest import Cli, Extracted

MISTAKES = {
    "no dataset": (["nowhere"], "nowhere: no such folder"),
    "no model": (["run", "--ranker", "neural"], "--ranker neural needs a model: train one in run first"),
    "unknown ranker": (["run", "--ranker", "best"], "must be one of coverage, evidence, neural, joint, not 'best'"),
    "IRI without a template": (["run", "--iri", "Person"], "Person"),
    "IRI of an unknown class": (["run", "--iri", "Persn=http://p/{}"], "no class or property Persn"),
    "IRI without a place": (["run", "--iri", "Person=http://p/"], "{}"),
    "no ontology": (["bare"], "has no ontology with it: give it with --ontology"),
    "missing ontology": (["run", "--ontology", "no.ttl"], "no.ttl"),
    "ontology of something else": (["run", "--ontology", "other.ttl"], "no class or property"),
    "missing database": (["run", "--db", "duckdb:///no.duckdb"], "no such database file: no.duckdb"),
    "another database": (["run", "--db", "duckdb:///other.duckdb"], "none of the 2 tables of the run is in duckdb:///"),
    "wrong password": (["run", "--db", "postgresql://me:s3cret@127.0.0.1:1/db"], "cannot connect to postgresql://me@"),
    "no such schema": (["run", "--schema", "lib"], "no schema 'lib'"),
    "no such table": (["run", "--include", "Bok"], "no table 'Bok'"),
    "no such scenario": (["run", "--scenario", "nowhere"], "nowhere: no such folder"),
    "unknown reasoning": (["run", "--scenario", "scenario", "--reasoning", "deep"], "no reasoning 'deep'"),
    "unknown device": (["run", "--device", "tpu"], "tpu"),
    "timeout of nothing": (["run", "--timeout", "0"], "more than 0 seconds"),
    "negative seed": (["run", "--seed", "-1"], "--seed"),
    "out is a file": (["run", "--out", "other.ttl"], "other.ttl is a file; choose a folder with --out"),
    "damaged dataset": (["damaged"], "is damaged"),
}  # fmt: skip


@pytest.fixture
def place(own_library: Extracted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run, and some things that are not what they should be."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(own_library.run, tmp_path / "bare")
    (tmp_path / "bare" / "dataset" / "ontology.json").unlink()
    shutil.copytree(own_library.run, tmp_path / "damaged")
    (tmp_path / "damaged" / "dataset" / "rules.parquet").write_bytes(b"PAR1")
    (tmp_path / "other.ttl").write_text(
        "@prefix : <http://x#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Volcano a owl:Class ."
    )
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE something (id INTEGER)")
    return tmp_path


@pytest.mark.parametrize(("words", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_clear_line_and_leaves_nothing(cli: Cli, place: Path, words: list[str], line: str) -> None:
    before = set(place.rglob("*"))
    result = cli("propose-mappings", "--quiet", *words)
    assert result.code == 2, result
    assert line in result.err
    assert len(result.err.strip().splitlines()) == 1, result.err
    assert "Traceback" not in result.err
    assert "s3cret" not in result.err + result.out
    assert result.out == ""
    assert set(place.rglob("*")) == before
