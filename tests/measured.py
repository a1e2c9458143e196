"""The command line in a process of its own, with its seconds, also those of the processor, and its peak memory."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
# A child inherits the peak of getrusage from who started it; Linux tells that of the program alone as well.
_PROGRAM = """
import atexit, pathlib, resource, sys

note = pathlib.Path(sys.argv.pop(1))

def tell():
    status = pathlib.Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    own = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    peak = own[0] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    note.write_text(str(peak / 1024))

atexit.register(tell)
from ruleminer.cli import main
sys.argv[0] = "ruleminer"
main()
"""


class Measured(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float
    processor_seconds: float
    peak_mb: float


def start(note: Path, *words: object) -> subprocess.Popen[str]:
    """A command under way; it leaves its peak memory in the file `note`."""
    command = [sys.executable, "-c", _PROGRAM, str(note), *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "COLUMNS": "200"}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=note.parent,
        env=environment,
        preexec_fn=_hear_interrupts,
    )


def _hear_interrupts() -> None:
    """A shell starts what runs in the background deaf to Ctrl-C, and all that this starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def measured(folder: Path, *words: object, patience: float = 900) -> Measured:
    """A command run to its end in a folder; one that takes longer than so many seconds is killed."""
    note = folder / "peak"
    started, used = time.perf_counter(), _processor_seconds()
    process = start(note, *words)
    try:
        out, err = process.communicate(timeout=patience)
    finally:
        process.kill()
    took, used = time.perf_counter() - started, _processor_seconds() - used
    return Measured(process.returncode, out, err, took, used, float(note.read_text()))


def _processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
