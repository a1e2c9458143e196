"""One process at a time writes to a run; a lock that a killed process left is told and taken over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from ruleminer.errors import InputError, TakenOverWarning
from ruleminer.run import Run

_HOLD = """
import sys, time
from ruleminer.run import Run
with Run.of(sys.argv[1]).held("train"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_stage_is_refused_and_the_lock_goes_with_the_first(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    with run.held("extract"):
        told = f"is in use by `ruleminer extract`, process {os.getpid()}: "
        with pytest.raises(InputError, match=told), run.held("train"):
            pass
        assert (run.folder / ".lock").exists()
    assert not run.folder.exists(), "a stage that left nothing leaves nothing"


def test_of_many_that_begin_at_once_one_works(tmp_path: Path) -> None:
    together, done = threading.Barrier(8), threading.Semaphore(0)
    refused: list[InputError] = []

    def work() -> None:
        together.wait()
        try:
            with Run(tmp_path).held("draft"):
                done.acquire()
        except InputError as problem:
            refused.append(problem)
            if len(refused) == 7:
                done.release()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len(refused) == 7
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "nonsense", '{"pid": "x"}', "[]", "[" * 900])
def test_a_lock_that_names_no_process_is_taken(tmp_path: Path, content: str) -> None:
    (tmp_path / ".lock").write_text(content)
    with warnings.catch_warnings(action="error"), Run(tmp_path).held("review"):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()


@pytest.mark.live
def test_the_lock_of_a_killed_process_is_told_and_taken_over(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "held"
    with pytest.raises(InputError, match=f"`ruleminer train`, process {child.pid}"), Run(tmp_path).held("draft"):
        pass
    child.kill()
    child.wait()
    with pytest.warns(TakenOverWarning, match=f"process {child.pid}, which ended without"), Run(tmp_path).held("draft"):
        pass


def test_a_lock_that_is_a_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match="cannot be written"), Run(tmp_path / "run").held("train"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"
