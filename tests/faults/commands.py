"""Commands in processes of their own, begun by a fork of one that has imported everything: quick, and fit to be killed.

A process may be told to end itself, as by kill −9, just before its n-th step in the file system.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

KILLED = 137
_STEPS = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "ctypes.dlsym"}
_PRELOAD = [
    "tests.faults.commands", "ruleminer.cli", "ruleminer.api", "ruleminer.terminal", "ruleminer.review.review",
    "ruleminer.learn.training", "ruleminer.learn.metrics", "ruleminer.proposals.stage",
    "ruleminer.validation.own_facts", "matplotlib.pyplot",
]  # fmt: skip
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(_PRELOAD)


@dataclass(frozen=True)
class Ended:
    """How a command ended, what it said, and how many steps it took in the file system."""

    code: int
    out: str
    err: str
    steps: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether it ended as every command must: well, or in one line."""
        if "Traceback" in self.err or self.code not in (0, 2):
            return False
        last = ["", *self.err.rstrip().splitlines()][-1]
        return self.code == 0 or last.startswith(("error: ", "Error: ", "│", "╰"))


class Begun:
    """A command that runs."""

    def __init__(self, words: Sequence[str], folder: Path, kill_at: int = 0, largest_file: int | None = None) -> None:
        self._log = Path(tempfile.gettempdir()) / f"ruleminer-log-{uuid.uuid4().hex}"  # whatever befalls the folder
        self.process: BaseProcess = _forks.Process(
            target=_run, args=(list(words), str(folder), str(self._log), kill_at, largest_file)
        )
        self.process.start()

    def wait(self, seconds: float = 300.0) -> Ended:
        """Until it ends, and how it did."""
        self.process.join(seconds)
        is_late = self.process.is_alive()
        if is_late:
            self.process.kill()
            self.process.join()
        told = []
        for suffix in ("out", "err", "steps"):
            file = self._log.with_suffix(f".{suffix}")
            told.append(file.read_text("utf-8", "replace") if file.exists() else "")
            file.unlink(missing_ok=True)
        code = -99 if is_late else self.process.exitcode
        return Ended(-98 if code is None else code, told[0], told[1], int(told[2] or 0))


def command(words: Sequence[str], folder: Path, kill_at: int = 0, largest_file: int | None = None) -> Ended:
    """Run a command in a folder to its end."""
    return Begun(words, folder, kill_at, largest_file).wait()


def _run(words: list[str], folder: str, log: str, kill_at: int, largest_file: int | None) -> None:
    os.chdir(folder)
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(f"{log}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ |= {"RULEMINER_CACHE": f"{folder}/.cache", "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    steps = _Steps(folder, kill_at)
    sys.addaudithook(steps)
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    from ruleminer.cli import main

    sys.argv = ["ruleminer", *words]
    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    if largest_file is None:
        Path(f"{log}.steps").write_text(str(steps.count))
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


class _Steps:
    """Counts what is done to files, and ends the process before the one that was chosen."""

    def __init__(self, folder: str, kill_at: int) -> None:
        self.folder, self.kill_at, self.count = folder, kill_at, 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            is_writing = isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not is_writing or str(arguments[0]).startswith("/dev/") or "ruleminer-log-" in str(arguments[0]):
                return
        elif event not in _STEPS or (event == "ctypes.dlsym" and arguments[1] != "renameat2"):
            return
        self.count += 1
        if self.count == self.kill_at:
            os._exit(KILLED)
