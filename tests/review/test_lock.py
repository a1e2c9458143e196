"""One review of a run at a time; the lock of a process that is gone is taken over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.review.lock import reviewing

_HOLD = """
import sys, time
from pathlib import Path
from ruleminer.review.lock import reviewing
with reviewing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_review_is_refused_and_the_lock_goes_with_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with reviewing(path):
        with pytest.raises(InputError, match=f"under review by process {os.getpid()}"), reviewing(path):
            pass
        assert path.exists()
    assert not path.exists()


def test_of_many_that_begin_at_once_one_reviews(tmp_path: Path) -> None:
    together, held = threading.Barrier(8), threading.Semaphore(0)
    refused: list[InputError] = []

    def review() -> None:
        together.wait()
        try:
            with reviewing(tmp_path / "lock"):
                held.acquire()
        except InputError as problem:
            refused.append(problem)
            if len(refused) == 7:
                held.release()

    threads = [threading.Thread(target=review) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(refused) == 7
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "nonsense", '{"pid": "x"}', "[]"])
def test_a_lock_that_names_no_process_is_taken_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    with reviewing(tmp_path / "lock"):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


@pytest.mark.live
def test_the_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "lock")],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "held"
    with pytest.raises(InputError, match=str(child.pid)), reviewing(tmp_path / "lock"):
        pass
    child.kill()
    child.wait()
    with reviewing(tmp_path / "lock"):
        pass


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to tell processes of one number apart")
def test_a_number_that_another_process_has_now_is_no_holder(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(json.dumps({"pid": os.getpid(), "started": "1"}))
    with reviewing(tmp_path / "lock"):
        pass
