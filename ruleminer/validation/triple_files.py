"""A mapping's triples as files: N-Triples, N-Quads or Parquet, in parts, each triple once, in bounded memory.

Everything is written beside the folder that is asked for and renamed at the end: it is there whole or not at all, and
what a killed run left is cleared away by the next, which starts anew.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruleminer import notebook
from ruleminer.dataset import proposals_are_stale, read_dataset
from ruleminer.errors import InputError
from ruleminer.progress import Progress, silent
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database, using
from ruleminer.validation.distinct_lines import distinct_lines
from ruleminer.validation.materialise import all_readings, quad_batches, row_batches
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.r2rml_values import R2RMLMapping
from ruleminer.validation.row_terms import Counts, Reading, Row, Tally
from ruleminer.validation.spark_triples import write_by_executors
from ruleminer.validation.triple_parts import FORMS, TRIPLES_PER_PART, Parts
from ruleminer.validation.triple_workers import write_by_workers
from ruleminer.whole_files import swap, sweep_dead

MANIFEST = "manifest.json"
HELD = 32 * 2**20


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
    jobs: int = 1,
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
        return write_triples(mapping, database, out, form=form, force=force, jobs=jobs, progress=progress)


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
    jobs: int = 1,
    progress: Progress = silent,
) -> WrittenTriples:
    """Write the triples of a mapping into the folder `out`, which is new or, with `force`, replaced.

    `held` bounds the bytes of lines that are compared at once, in memory, by each of the `jobs` processes. A map that
    the database refuses is an error, and then nothing is written.
    """
    if form not in FORMS:
        raise InputError(f"‹form› must be one of {', '.join(FORMS)}, not {form!r}")
    _refuse_filled(out, force)
    if jobs < 1:
        raise InputError(f"‹jobs› must be at least 1, not {jobs}")
    started = time.perf_counter()
    tally, counts = Tally(), Counts()
    with _written(out) as staged:
        rows = row_batches(mapping, database, tally, progress=progress)
        if database.writes_in_parallel:
            if jobs > 1:
                raise InputError("‹jobs› are processes of ours; Spark has its own, as many as its master says")
            wanted = all_readings(mapping, database, progress)
            names, triples = write_by_executors(wanted, database, staged, form, per_part, tally, counts)
        elif jobs == 1:
            names, triples = _write(rows, staged, form, per_part, held, tally, counts)
        else:
            names, triples = write_by_workers(rows, staged, form, per_part, held, jobs, tally, counts)
        result = WrittenTriples(
            out,
            tuple(out / name for name in names),
            triples,
            counts.derived,
            tally.rows,
            time.perf_counter() - started,
            _notes(tally, counts, form),
        )
        (staged / MANIFEST).write_text(json.dumps(_manifest(mapping, database, result), indent=2) + "\n", "utf-8")
    return result


def _write(
    batches: Iterable[tuple[Reading, list[Row]]],
    staged: Path,
    form: str,
    per_part: int,
    held: int,
    tally: Tally,
    counts: Counts,
) -> tuple[list[str], int]:
    """Write the triples of rows into a folder; the names of the parts, and how many triples."""
    to_lines = FORMS[form][0]

    def lines() -> Iterator[list[bytes]]:
        for quads in quad_batches(batches, tally):
            counts.see(quads)
            yield to_lines(quads)

    with closing(Parts(staged, form, per_part)) as parts:
        for distinct in distinct_lines(lines(), staged, held):
            parts.write(distinct)
        parts.have_one()
    return parts.names, parts.triples


def _notes(tally: Tally, counts: Counts, form: str) -> tuple[str, ...]:
    notes = tally.notes
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
