"""One process at a time writes to a run: a lock that the system gives back when its process ends, however it ends.

The file says who holds it. One that names a process which does not hold it any more was left by a kill: that is told,
and the lock is taken over.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ruleminer.errors import InputError, TakenOverWarning
from ruleminer.whole_files import unwritable


@contextmanager
def lock(path: Path, stage: str) -> Iterator[None]:
    """Hold the lock while a stage goes on; one line if another process, or another thread of this one, holds it."""
    made = not path.parent.exists()
    try:
        handle = _taken(path, stage)
    except OSError as problem:
        raise unwritable(path.parent, problem) from None
    try:
        yield
    finally:
        with suppress(OSError):
            if _is_there(path, handle):
                path.unlink()
            if made:
                path.parent.rmdir()  # of a stage that left nothing, nothing is left
        os.close(handle)


def _taken(path: Path, stage: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                told = f"{path.parent} is in use by {_holder(handle) or 'another process'}"
                raise InputError(f"{told}: let it end first, or choose another folder") from None
            if not _is_there(path, handle):  # its holder has just removed it
                os.close(handle)
                continue
            before = _holder(handle)
            os.ftruncate(handle, 0)
            mark = {"pid": os.getpid(), "host": socket.gethostname(), "stage": stage}
            os.pwrite(handle, json.dumps(mark).encode(), 0)
        except BaseException:
            with suppress(OSError):
                os.close(handle)
            raise
        if before:
            told = f"{path.parent} was in use by {before}, which ended without finishing; its lock is taken over"
            warnings.warn(told, TakenOverWarning, stacklevel=4)
        return handle


def _is_there(path: Path, handle: int) -> bool:
    """Whether the lock's name still stands for the file that we opened."""
    try:
        there, ours = path.lstat(), os.fstat(handle)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _holder(handle: int) -> str:
    """Who a lock names, in words; nothing if it names nobody."""
    try:
        told = json.loads(os.pread(handle, 1000, 0))
        pid, host, stage = int(told["pid"]), str(told["host"]), str(told["stage"])
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return ""
    elsewhere = "" if host == socket.gethostname() else f" on {host}"
    return f"`ruleminer {stage}`, process {pid}{elsewhere}"
