"""A mapping's triples as files: N-Triples, N-Quads or Parquet, in parts, each triple once, in bounded memory.

Everything is written beside the folder that is asked for and renamed at the end: it is there whole or not at all, and
what a killed run left is cleared away by the next, which starts anew.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ruleminer import notebook
from ruleminer.dataset import proposals_are_stale, read_dataset
from ruleminer.errors import InputError
from ruleminer.progress import Progress, silent
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database, using
from ruleminer.validation.distinct_lines import distinct_lines
from ruleminer.validation.materialise import Quad, Tally, materialise
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.r2rml_values import R2RMLMapping
from ruleminer.whole_files import swap, sweep_dead

MANIFEST = "manifest.json"
HELD = 32 * 2**20
TRIPLES_PER_PART = 1_000_000
_ROWS_PER_GROUP = 100_000
_SCHEMA = pa.schema([(name, pa.string()) for name in ("subject", "predicate", "object", "graph")])


@dataclass(frozen=True, slots=True)
class WrittenTriples:
    """What was written: `triples` without repeats, of `derived` that the rows of the source made."""

    folder: Path
    files: tuple[Path, ...]
    triples: int
    derived: int
    rows: int
    seconds: float
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        told = f"{self.triples:,} triples from {self.rows:,} rows in {self.folder}"
        return notebook.lines([told, *self.notes])


def materialise_files(
    place: RunLike,
    out: Path,
    *,
    db: str | Path | Database | None = None,
    schema: str | None = None,
    form: str = "nt",
    force: bool = False,
    timeout: float = 300.0,
    trust: bool = False,
    progress: Progress = silent,
) -> WrittenTriples:
    """Write the triples of an R2RML mapping, or of the one that a run proposes, into the folder `out`.

    Without `db` a run's are those of the database that it was made from.
    """
    _refuse_filled(out, force)
    mapping = read_r2rml(mapping_file(place))
    if db is None:
        db, known = _source_of(place)
        schema = schema or known
    with using(db, schema=schema, timeout=timeout, count_rows=False, trust=trust) as database:
        return write_triples(mapping, database, out, form=form, force=force, progress=progress)


def mapping_file(place: RunLike) -> Path:
    """The R2RML file that is meant: this one, or that of a run's proposals."""
    path = Path(place)
    if not path.is_dir():
        return path
    proposed = Run.of(path).proposals / "mapping.ttl"
    if not proposed.is_file():
        raise InputError(f"{path} has no proposals: run ruleminer propose-mappings or draft first, or name a mapping")
    if proposals_are_stale(Run.of(path)):
        told = f"the proposals in {path} are older than its dataset: run ruleminer propose-mappings {path} first"
        raise InputError(f"{told}, or name {proposed} if you mean it")
    return proposed


def _source_of(place: RunLike) -> tuple[str, str | None]:
    if not Path(place).is_dir():
        raise InputError(f"{place} does not say which database it is for: name it with ‹database›")
    source = read_dataset(place).manifest["source"]
    return source["url"], source["schema"]


def write_triples(
    mapping: R2RMLMapping,
    database: Database,
    out: Path,
    *,
    form: str = "nt",
    force: bool = False,
    held: int = HELD,
    per_part: int = TRIPLES_PER_PART,
    progress: Progress = silent,
) -> WrittenTriples:
    """Write the triples of a mapping into the folder `out`, which is new or, with `force`, replaced.

    `held` bounds the bytes of lines that are compared at once, in memory. A map that the database refuses is an error,
    and then nothing is written.
    """
    if form not in FORMS:
        raise InputError(f"‹form› must be one of {', '.join(FORMS)}, not {form!r}")
    _refuse_filled(out, force)
    started = time.perf_counter()
    tally, counts = Tally(), _Counts()
    quads = counts.over(materialise(mapping, database, tally, progress=progress))
    with _written(out) as staged:
        with closing(_Parts(staged, form, per_part)) as parts:
            for lines in distinct_lines(map(FORMS[form][0], quads), staged, held):
                parts.write(lines)
        result = WrittenTriples(
            out,
            tuple(out / name for name in parts.names),
            parts.triples,
            counts.derived,
            tally.rows,
            time.perf_counter() - started,
            _notes(tally, counts, form),
        )
        (staged / MANIFEST).write_text(json.dumps(_manifest(mapping, database, result), indent=2) + "\n", "utf-8")
    return result


@dataclass
class _Counts:
    """What passed by."""

    derived: int = 0
    in_graphs: int = 0

    def over(self, quads: Iterable[Quad]) -> Iterator[Quad]:
        for quad in quads:
            self.derived += 1
            if quad[3]:
                self.in_graphs += 1
            yield quad


def _notes(tally: Tally, counts: _Counts, form: str) -> tuple[str, ...]:
    notes = [f"{cause} ({count:,} rows)" for cause, count in tally.data_errors.most_common()]
    if counts.in_graphs and form == "nt":
        notes.append(
            f"{counts.in_graphs:,} triples of named graphs are without their graph; the formats nq and parquet keep it"
        )
    return tuple(notes)


def _manifest(mapping: R2RMLMapping, database: Database, result: WrittenTriples) -> dict[str, Any]:
    return {
        "mapping": mapping.source,
        "database": database.safe_url,
        "schema": database.schema_name,
        "files": [file.name for file in result.files],
        "triples": result.triples,
        "derived": result.derived,
        "rows": result.rows,
        "notes": list(result.notes),
    }


# A line is what is compared, so it has all that makes a triple another one, and ends as lines of files do.
def _n_triple(quad: Quad) -> bytes:
    return f"{quad[0]} {quad[1]} {quad[2]} .\n".encode()


def _n_quad(quad: Quad) -> bytes:
    subject, predicate, value, graph = quad
    return (f"{subject} {predicate} {value} {graph} .\n" if graph else f"{subject} {predicate} {value} .\n").encode()


def _fields(quad: Quad) -> bytes:
    """Terms have no tabs: literals escape them, and no IRI has one."""
    return ("\t".join(quad) + "\n").encode()


class _Texts:
    """A part of N-Triples or N-Quads."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("wb")

    def write(self, lines: Sequence[bytes]) -> None:
        self._file.writelines(lines)

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


FORMS: dict[str, tuple[Callable[[Quad], bytes], Callable[[Path], _Texts | _Rows]]] = {
    "nt": (_n_triple, _Texts),
    "nq": (_n_quad, _Texts),
    "parquet": (_fields, _Rows),
}
"""For each format, which is also how its files' names end: a quad as a line, and a part."""


class _Parts:
    """Lines to files, so many in each but the last; there is one, be it empty."""

    def __init__(self, folder: Path, form: str, per_part: int) -> None:
        self.folder, self.form, self.per_part = folder, form, per_part
        self.names: list[str] = []
        self.triples = 0
        self._open()

    def write(self, lines: Sequence[bytes]) -> None:
        while lines:
            room = self.per_part * len(self.names) - self.triples
            if not room:
                self._part.close()
                self._open()
                continue
            self._part.write(lines[:room])
            self.triples += min(room, len(lines))
            lines = lines[room:]

    def close(self) -> None:
        self._part.close()

    def _open(self) -> None:
        self.names.append(f"part-{len(self.names):05}.{self.form}")
        self._part = FORMS[self.form][1](self.folder / self.names[-1])


def _is_ours(manifest: Path) -> bool:
    """Whether a file is the manifest of triples: other folders have one of that name, a run's dataset among them."""
    try:
        told = json.loads(manifest.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and {"mapping", "files", "derived"} <= told.keys()


def _refuse_filled(out: Path, force: bool) -> None:
    """Only what was written here may be replaced, and only if the user says so."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not _is_ours(out / MANIFEST):
        raise InputError(f"{out} is there already, and no triples of ours: choose another folder")
    if not force:
        raise InputError(f"{out} is there already; ‹force=True› replaces it, or choose another folder")


@contextmanager
def _written(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place in the end, or is gone."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        sweep_dead(out.parent, f".{out.name}.unfinished-")
        staged = out.with_name(f".{out.name}.unfinished-{os.getpid()}")
        staged.mkdir()
        try:
            yield staged
            swap(staged, out)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from None
