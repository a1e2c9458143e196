"""Lines without repeats, in bounded memory: a set as long as that is small, then buckets on disk.

Which bucket a line goes to depends on its text only, so the same lines in the same order come out in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

_BITS = 6  # 64 buckets, each of which may be split into as many
_DEEPEST = 5  # all bits of the hash are used then
_WAITING = 4 * 2**20  # bytes that wait in memory, for all buckets together


def distinct_lines(lines: Iterable[bytes], scratch: Path, held: int, depth: int = 0) -> Iterator[list[bytes]]:
    """The lines in batches, each line once.

    Up to `held` bytes of lines are kept in memory (a set of them takes two to three times as much); the folder
    `scratch` has the rest, as long as it is needed.
    """
    known: dict[bytes, None] = {}
    size = 0
    rest = iter(lines)
    for line in rest:
        if line not in known:
            known[line] = None
            size += len(line)
            if size > held and depth < _DEEPEST:
                break
    else:
        yield list(known)
        return
    folder = scratch / f"buckets-{depth}"
    folder.mkdir()
    buckets = _Buckets(folder, depth)
    for line in known:
        buckets.add(line)
    known.clear()
    for line in rest:
        buckets.add(line)
    buckets.flush()
    for file in buckets.files:
        if file.exists():
            with file.open("rb") as spilled:
                yield from distinct_lines(spilled, scratch, held, depth + 1)
            file.unlink()
    folder.rmdir()


class _Buckets:
    """Files that lines go to by some bits of their hash."""

    def __init__(self, folder: Path, depth: int) -> None:
        self.files = [folder / f"{number:02}" for number in range(1 << _BITS)]
        self._lines: list[list[bytes]] = [[] for _ in self.files]
        self._size = 0
        self._shift = _BITS * depth

    def add(self, line: bytes) -> None:
        self._lines[crc32(line) >> self._shift & (1 << _BITS) - 1].append(line)
        self._size += len(line)
        if self._size > _WAITING:
            self.flush()

    def flush(self) -> None:
        for file, lines in zip(self.files, self._lines, strict=True):
            if lines:
                with file.open("ab") as target:
                    target.writelines(lines)
                lines.clear()
        self._size = 0
