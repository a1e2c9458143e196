"""Triples made and written by the executors of a parallel engine: the same terms, by the same code, over there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from ruleminer.sources.database import Database
from ruleminer.sources.engines.engine import Tell
from ruleminer.validation.row_terms import ROWS_PER_BATCH, Counts, QuadMaker, Reading, Tally
from ruleminer.validation.triple_parts import FORMS, QUAD_COLUMNS, part_name


def write_by_executors(
    readings: list[Reading], database: Database, staged: Path, form: str, per_part: int, tally: Tally, counts: Counts
) -> tuple[list[str], int]:
    """Write the triples of readings into a folder; the names of the parts, and how many triples."""
    columns = QUAD_COLUMNS if form == "parquet" else ("line",)
    files, triples, told = database.write_distinct(
        [(reading.sql, partial(_made, reading=reading, form=form)) for reading in readings],
        columns,
        staged / "written",
        "parquet" if form == "parquet" else "text",
        per_part,
    )
    for one in told:
        assert isinstance(one, _Told)
        tally.add(one.tally)
        counts.add(one.counts)
    names = [part_name(number, form) for number in range(len(files))]
    for file, name in zip(files, names, strict=True):
        file.rename(staged / name)
    shutil.rmtree(staged / "written")
    return names, triples


@dataclass(frozen=True)
class _Told:
    """What one task saw."""

    tally: Tally
    counts: Counts


def _made(batches: Iterator[pa.RecordBatch], tell: Tell, *, reading: Reading, form: str) -> Iterator[pa.RecordBatch]:
    tally, counts = Tally(), Counts()
    maker = QuadMaker(reading, tally)
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_PER_BATCH):
            some = batch.slice(start, ROWS_PER_BATCH)
            quads = maker.quads(list(zip(*(column.to_pylist() for column in some.columns), strict=True)))
            counts.see(quads)
            if form == "parquet":
                subjects, predicates, objects, graphs = zip(*quads, strict=True) if quads else ((), (), (), ())
                made = [subjects, predicates, objects, [graph or None for graph in graphs]]
                yield pa.RecordBatch.from_arrays([pa.array(one, pa.string()) for one in made], list(QUAD_COLUMNS))
            else:
                lines = [line[:-1].decode() for line in FORMS[form][0](quads)]
                yield pa.RecordBatch.from_arrays([pa.array(lines, pa.string())], ["line"])
    tell(_Told(tally, counts))
