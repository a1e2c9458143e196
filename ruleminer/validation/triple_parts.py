"""The formats of triples: a quad as a line, lines as the parts of a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ruleminer.validation.row_terms import Quad

TRIPLES_PER_PART = 1_000_000
_ROWS_PER_GROUP = 100_000
QUAD_COLUMNS = ("subject", "predicate", "object", "graph")
_SCHEMA = pa.schema([(name, pa.string()) for name in QUAD_COLUMNS])


# A line is what is compared, so it has all that makes a triple another one, and ends as lines of files do.
def _n_triples(quads: Iterable[Quad]) -> list[bytes]:
    return [f"{subject} {predicate} {value} .\n".encode() for subject, predicate, value, _ in quads]


def _n_quads(quads: Iterable[Quad]) -> list[bytes]:
    return [f"{' '.join(quad if quad[3] else quad[:3])} .\n".encode() for quad in quads]


def _fields(quads: Iterable[Quad]) -> list[bytes]:
    """Terms have no tabs: literals escape them, and no IRI has one."""
    return [("\t".join(quad) + "\n").encode() for quad in quads]


class _Texts:
    """A part of N-Triples or N-Quads."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("wb")

    def write(self, lines: Sequence[bytes]) -> None:
        self._file.write(b"".join(lines))

    def close(self) -> None:
        self._file.close()


class _Rows:
    """A part of Parquet: the terms as N-Triples writes them, the default graph as NULL."""

    def __init__(self, file: Path) -> None:
        self._writer = pq.ParquetWriter(file, _SCHEMA, compression="zstd")

    def write(self, lines: Sequence[bytes]) -> None:
        for start in range(0, len(lines), _ROWS_PER_GROUP):
            fields = [line[:-1].decode().split("\t") for line in lines[start : start + _ROWS_PER_GROUP]]
            subjects, predicates, objects, graphs = zip(*fields, strict=True)
            columns = (subjects, predicates, objects, tuple(graph or None for graph in graphs))
            self._writer.write_table(pa.table([pa.array(c, pa.string()) for c in columns], schema=_SCHEMA))

    def close(self) -> None:
        self._writer.close()


FORMS: dict[str, tuple[Callable[[Iterable[Quad]], list[bytes]], Callable[[Path], _Texts | _Rows]]] = {
    "nt": (_n_triples, _Texts),
    "nq": (_n_quads, _Texts),
    "parquet": (_fields, _Rows),
}
"""For each format, which is also how its files' names end: quads as lines, and a part."""


def part_name(number: int, form: str) -> str:
    """How the files of a folder are called."""
    return f"part-{number:05}.{form}"


class Parts:
    """Lines to files, so many in each but the last."""

    def __init__(self, folder: Path, form: str, per_part: int) -> None:
        self.folder, self.form, self.per_part = folder, form, per_part
        self.names: list[str] = []
        self.triples = 0
        self._part: _Texts | _Rows | None = None

    def write(self, lines: Sequence[bytes]) -> None:
        while lines:
            room = self.per_part * len(self.names) - self.triples
            part = self._opened() if not room or self._part is None else self._part
            some = lines[: room or self.per_part]
            part.write(some)
            self.triples += len(some)
            lines = lines[len(some) :]

    def close(self) -> None:
        if self._part is not None:
            self._part.close()

    def have_one(self) -> None:
        """See that there is a part, be it empty."""
        if not self.names:
            self._opened()

    def _opened(self) -> _Texts | _Rows:
        self.close()
        self.names.append(part_name(len(self.names), self.form))
        self._part = FORMS[self.form][1](self.folder / self.names[-1])
        return self._part
