"""One review of a run at a time: a file with the number of the process, taken over where that process is gone."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ruleminer.errors import InputError


@contextmanager
def reviewing(path: Path) -> Iterator[None]:
    """Hold the lock while a review goes on; one line if another process holds it."""
    mark = json.dumps({"pid": os.getpid(), "started": _started(os.getpid())})
    # A file that is whole before it has the lock's name: nobody ever sees a lock that names no process yet.
    own = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        own.write_text(mark, "utf-8")
        _take(path, own)
    except OSError as problem:
        raise InputError(f"{path}: cannot be written ({problem.strerror})") from None
    finally:
        _remove(own)
    try:
        yield
    finally:
        if _text(path) == mark:
            _remove(path)


def _take(path: Path, own: Path) -> None:
    """Give our file the lock's name, in one step; refused if a living process has it."""
    while True:
        try:
            os.link(own, path)
            return
        except FileExistsError:
            holder = _holder(path)
            if holder is not None:
                told = f"{path.parent} is under review by process {holder} already: end that first"
                raise InputError(f"{told}, or remove {path} if it is none of ours") from None
            _remove(path)


def _holder(path: Path) -> int | None:
    """The living process that a lock names; None if it is gone, or its number was given to another."""
    try:
        told = json.loads(_text(path))
        pid, started = int(told["pid"]), told["started"]
        os.kill(pid, 0)
    except PermissionError:
        return pid
    except (ValueError, KeyError, TypeError, OSError):
        return None
    return pid if started in (None, _started(pid)) else None


def _started(pid: int) -> str | None:
    """When a process was started, in the kernel's own count, where that can be known: numbers are used again."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
