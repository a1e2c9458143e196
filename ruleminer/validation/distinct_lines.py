"""Lines without repeats, in bounded memory: a set as long as that is small, then buckets on disk.

Which bucket a line goes to depends on its text only, so the same lines in the same order come out in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

_BITS = 6  # 64 buckets, each of which may be split into as many
BUCKETS = 1 << _BITS
_DEEPEST = 5  # all bits of the hash are used then
_WAITING = 4 * 2**20  # bytes that wait in memory, for all buckets together
_READ = 2**18  # bytes of a bucket that are read at once


def distinct_lines(
    batches: Iterable[Sequence[bytes]], scratch: Path, held: int, depth: int = 0
) -> Iterator[list[bytes]]:
    """The lines of all batches in other batches, each line once.

    Up to `held` bytes of lines, and one batch, are kept in memory (a set of them takes two to three times as much);
    the folder `scratch` has the rest, as long as it is needed.
    """
    known: dict[bytes, None] = {}
    size = 0
    rest = iter(batches)
    for lines in rest:
        new = [line for line in lines if line not in known]
        known.update(dict.fromkeys(new))
        size += sum(map(len, new))
        if size > held and depth < _DEEPEST:
            break
    else:
        yield list(known)
        return
    buckets = Buckets(scratch / f"buckets-{depth}", depth)
    buckets.add(list(known))
    known.clear()
    for lines in rest:
        buckets.add(lines)
    buckets.flush()
    for file in buckets.files:
        yield from distinct_in([file], scratch, held, depth + 1)
    buckets.folder.rmdir()


def distinct_in(files: Sequence[Path], scratch: Path, held: int, depth: int) -> Iterator[list[bytes]]:
    """The lines of one bucket, be it of several files, each once. The files are gone then."""
    yield from distinct_lines(_batches(files), scratch, held, depth)
    for file in files:
        file.unlink(missing_ok=True)


def _batches(files: Iterable[Path]) -> Iterator[list[bytes]]:
    for file in files:
        if file.exists():
            with file.open("rb") as spilled:
                while lines := spilled.readlines(_READ):
                    yield lines


class Buckets:
    """Files that lines go to by some bits of their hash."""

    def __init__(self, folder: Path, depth: int = 0) -> None:
        folder.mkdir()
        self.folder = folder
        self.files = [folder / f"{number:02}" for number in range(BUCKETS)]
        self._lines: list[list[bytes]] = [[] for _ in self.files]
        self._size = 0
        self._shift = _BITS * depth

    def add(self, lines: Iterable[bytes]) -> None:
        """Put lines where they belong."""
        buckets, shift, mask = self._lines, self._shift, BUCKETS - 1
        size = self._size
        for line in lines:
            buckets[crc32(line) >> shift & mask].append(line)
            size += len(line)
        self._size = size
        if size > _WAITING:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for file, lines in zip(self.files, self._lines, strict=True):
            if lines:
                with file.open("ab", buffering=0) as target:
                    target.write(b"".join(lines))
                lines.clear()
        self._size = 0
