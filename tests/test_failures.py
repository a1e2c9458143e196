"""One door for errors: whatever is raised below the command line becomes one line and an exit code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ruleminer.cli.failures import told_error
from ruleminer.errors import InputError
from tests.command_line import Run


def told(error: BaseException) -> tuple[int, str]:
    return told_error(
        error, ["ruleminer", "inspect", "postgresql://me:s3cret@host/db"], lambda name, value: f"--{name}"
    )


def test_what_the_user_can_mend_is_exit_code_two() -> None:
    assert told(InputError("no ‹ontology›")) == (2, "no --ontology")
    assert told(OSError(28, "No space left on device", "run/x")) == (2, "run/x: No space left on device")
    assert told(MemoryError())[0] == 2
    assert told(RecursionError("maximum recursion depth exceeded"))[0] == 2


def test_a_mistake_of_ours_says_where_its_traceback_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("postgresql://me:s3cret@host/db?pwd=hidden")

    monkeypatch.setattr("ruleminer.extraction.summary.summarise", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("dataset", "show", "run")
    assert result.code == 70
    assert len(result.err.strip().splitlines()) == 1
    kept = Path(re.search(r"kept in (\S+\.txt)", result.err)[1])  # type: ignore[index]
    report = kept.read_text()
    assert "KeyError" in report
    assert "s3cret" not in report + result.err
    assert "hidden" not in report + result.err
    assert kept.stat().st_mode & 0o077 == 0


def test_results_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "a.duckdb").execute("CREATE TABLE t (i INTEGER)").close()
    code = "from ruleminer.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "inspect", str(tmp_path / "a.duckdb"), "-q"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == ["error: No space left on device"]


@pytest.mark.parametrize("out", ["x" * 300, "file/below", "file"])
def test_a_run_folder_that_cannot_be_is_one_line(run: Run, tmp_path: Path, out: str) -> None:
    duckdb.connect(tmp_path / "a.duckdb").execute(
        "CREATE TABLE t (i INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)"
    ).close()
    (tmp_path / "file").write_text("")
    (tmp_path / "o.ttl").write_text("<http://x/T> a <http://www.w3.org/2002/07/owl#Class> .")
    (tmp_path / "f.csv").write_text("predicate,arg1\nT,1\n")
    for words in (("extract", "--examples", "f.csv"), ("draft",)):
        result = run(*words, "--db", "a.duckdb", "--ontology", "o.ttl", "--out", out, "-q")
        assert result.code == 2
        assert result.err.strip().splitlines()[-1].startswith("error: "), result.err
        assert "Traceback" not in result.err
