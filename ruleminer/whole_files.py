"""Files and folders that are written whole or not at all.

A file is written beside its place under a name of its own and renamed. A folder is made beside its place, and the two
change places in one step where the system can (Linux), else in two; a process that is killed between the two leaves
the old folder beside its place, and `settle` puts it back. What a killed process leaves is removed by the next one.

Nothing is written through a link that somebody put in the place of a temporary name.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ruleminer.errors import InputError

_PART = ".part"
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of renameat2(2)


def unwritable(place: Path, problem: OSError) -> InputError:
    """What is told when the system refuses to write somewhere."""
    return InputError(f"{place}: cannot be written ({problem.strerror or problem})")


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A new empty file beside `path`, which takes its place if nothing goes wrong while it is filled."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=_PART)
        os.close(handle)
        part = Path(name)
        try:
            yield part
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.chmod(0o644)
            part.replace(path)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise unwritable(path, problem) from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file; a text as UTF-8, with its own line ends."""
    with writing(path) as part:
        part.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def whole_folder(place: Path, ours: Callable[[str], bool] = lambda name: True) -> Iterator[Path]:
    """A fresh folder to write into, which takes the place of another, or of none, if nothing goes wrong.

    What is in the old one and not `ours` (files that the user put there) is in the new one, too. One process at a time.
    """
    fresh = fresh_folder(place)
    try:
        try:
            yield fresh
            _carry_over(place, fresh, ours)
            swap(fresh, place)
        finally:
            with suppress(OSError):
                remove(fresh)
    except OSError as problem:
        raise unwritable(place, problem) from None


def fresh_folder(place: Path) -> Path:
    """An empty folder beside a place, whatever lay there before."""
    fresh = place.with_name(f".{place.name}.fresh")
    try:
        settle(place)
        remove(fresh)
        fresh.mkdir(parents=True)
    except OSError as problem:
        raise unwritable(place, problem) from None
    return fresh


def swap(fresh: Path, place: Path) -> None:
    """Put a folder in the place of another, which is gone only when the fresh one is there."""
    old = _old(place)
    if not os.path.lexists(place):
        fresh.rename(place)
        return
    if _exchanged(fresh, place):
        remove(fresh)
        return
    remove(old)
    place.rename(old)
    fresh.rename(place)
    remove(old)


def settle(place: Path) -> None:
    """Put a folder back that a killed process had moved aside, or remove it where the new one is in its place."""
    old = _old(place)
    if is_aside(place):
        old.rename(place)
    elif os.path.lexists(old):
        remove(old)


def is_aside(place: Path) -> bool:
    """Whether a killed process had moved a folder aside, and nothing is in its place."""
    return _old(place).is_dir() and not _old(place).is_symlink() and not os.path.lexists(place)


def sweep(folder: Path) -> None:
    """Remove what killed processes left of files they were writing; for who alone may write there."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for place in folder.iterdir():
        if place.name.startswith(".") and place.name.endswith(_PART):
            with suppress(OSError):
                remove(place)


def sweep_dead(folder: Path, prefix: str) -> None:
    """Remove what processes that are gone left in a folder that many may write to: PREFIX, their number, whatever."""
    for place in folder.iterdir() if folder.is_dir() else ():
        owner = re.match(r"\d+", place.name.removeprefix(prefix)) if place.name.startswith(prefix) else None
        if owner and not _is_alive(int(owner[0])):
            with suppress(OSError):
                remove(place)


def _is_alive(process: int) -> bool:
    """Whether another process than ours has this number."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's
        return True
    return True


def remove(place: Path) -> None:
    """Remove a folder, a file, or a link but not what it leads to."""
    if place.is_symlink() or place.is_file():
        place.unlink(missing_ok=True)
    elif os.path.lexists(place):
        shutil.rmtree(place)


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")


def _carry_over(place: Path, fresh: Path, ours: Callable[[str], bool]) -> None:
    for one in place.iterdir() if place.is_dir() else ():
        if ours(one.name) or one.name.endswith(_PART) or os.path.lexists(fresh / one.name):
            continue
        if one.is_dir() and not one.is_symlink():
            shutil.copytree(one, fresh / one.name, symlinks=True)
        else:
            shutil.copy2(one, fresh / one.name, follow_symlinks=False)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two names have changed places, in one step; where that fails, two steps tell the reason or do."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
