"""Rows of statements through a function of ours to files, in parallel: Spark's executors run it, and write.

What they write must lie where this process sees it: on this machine, or in a folder that all of them share. That is
checked, for a part that stayed elsewhere would be missing in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ruleminer.errors import DatabaseError
from ruleminer.sources.engines.engine import Through

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def write_distinct(
    session: SparkSession,
    statements: Sequence[tuple[DataFrame, Through]],
    columns: Sequence[str],
    folder: Path,
    form: str,
    per_file: int,
) -> tuple[list[Path], int, list[Any]]:
    """Write what becomes of all rows, each row of texts once: the files, how many rows, and what was told.

    The form is "text", for one column, or "parquet". What a task tells that is tried again is told again.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    told = session.sparkContext.accumulator([], _listed())
    schema = ", ".join(f"{column} string" for column in columns)
    frames = [frame.mapInArrow(_function(through, told), schema) for frame, through in statements]
    seen = Observation()
    bytes_of_line = f.sum(f.octet_length(f.col(columns[0])) + 1).alias("bytes")
    found = reduce(lambda one, other: one.union(other), frames).distinct()
    found = found.observe(seen, f.count(f.lit(1)).alias("rows"), bytes_of_line)
    writer = found.write.option("maxRecordsPerFile", per_file)
    if form == "text":
        writer.text(folder.resolve().as_uri())
    else:
        writer.option("compression", "zstd").parquet(folder.resolve().as_uri())
    files = sorted(folder.glob("part-*"))
    rows = int(seen.get["rows"])
    if form == "text":
        arrived = sum(file.stat().st_size for file in files) == int(seen.get["bytes"] or 0)
    else:
        arrived = sum(pq.read_metadata(file).num_rows for file in files) == rows
    if not arrived:
        raise DatabaseError(
            f"Spark's executors did not write to the {folder.parent.parent} of this machine: name a folder that all see"
        )
    return files, rows, list(told.value)


def _function(through: Through, told: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return through(batches, lambda one: told.add([one]))

    return run


def _listed() -> Any:
    from pyspark.accumulators import AccumulatorParam

    class Listed(AccumulatorParam[list[Any]]):
        """What tasks tell, one after the other."""

        def zero(self, value: list[Any]) -> list[Any]:
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 (Spark's name)
            value1.extend(value2)
            return value1

    return Listed()
