"""Files as views of a Spark session: Parquet, and CSV with the types that its texts have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ruleminer.errors import DatabaseError
from ruleminer.sources.engines.folder import NO_VALUE, SUFFIXES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession

_GLOBBED = re.compile(r"([\[\]{}*?\\])")
_READINGS = {  # of a column of CSV, in the order in which they are tried, with how such texts look
    "boolean": "(?i)^(true|false)$",
    "bigint": "^[+-]?(0|[1-9][0-9]*)$",
    "double": "^[+-]?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$",
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp_ntz": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?$",
}


_OPENED = count()


def make_view(session: SparkSession, kind: str, files: list[Path], name: str) -> DataFrame:
    """Let a name stand for what some files hold.

    Sessions of a process share what Spark keeps of equal plans, by the files' names: an option that nothing reads
    makes each plan our own, so that nobody gets what a file held when another session read it.
    """
    places = [_GLOBBED.sub(r"\\\1", str(file.resolve())) for file in files]
    # Sub-folders called column=value are no columns to the other engines, either.
    reader = session.read.option("recursiveFileLookup", "true").option("ruleminer.opened", next(_OPENED))
    if kind == "parquet":
        frame = reader.option("mergeSchema", "true").parquet(*places)
    else:
        frame = _typed(_texts(reader, places))
    frame.createOrReplaceTempView(f"`{name.replace('`', '``')}`")
    return frame


def small_tables(tables: Mapping[str, list[Path]], most: int) -> set[str]:
    """The smallest tables, as many as have no more than so many bytes together."""
    sizes = {name: sum(file.stat().st_size for file in files) for name, files in tables.items()}
    found, left = set(), most
    for name in sorted(sizes, key=lambda one: (sizes[one], one)):
        left -= sizes[name]
        if left < 0:
            break
        found.add(name)
    return found


def _texts(reader: DataFrameReader, places: list[str]) -> DataFrame:
    """CSV files as they stand, those with other columns, too; the first line has the names."""
    separators = {"\t" if re.search(r"[.]tsv([.]gz)?$", place.lower()) else "," for place in places}
    if len(separators) > 1:
        raise DatabaseError("its files are separated by commas and by tabs")
    options = {"header": "true", "inferSchema": "false", "multiLine": "true", "quote": '"', "escape": '"'}
    reader = reader.options(**options, sep=separators.pop())
    frames = [reader.csv(place) for place in places]
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    return whole.replace(NO_VALUE, None)


def _typed(frame: DataFrame) -> DataFrame:
    """Texts as what all of them in a column can be read as; a number with a leading zero (007) is a code."""
    from pyspark.sql import functions as f

    def fits(column: str, pattern: str, sql_type: str) -> Column:
        value = f.col(_quoted(column))
        return f.count(value) == f.count(f.when(value.rlike(pattern) & value.try_cast(sql_type).isNotNull(), 1))

    asked = [fits(column, pattern, sql_type) for column in frame.columns for sql_type, pattern in _READINGS.items()]
    filled = [f.count(f.col(_quoted(column))) > 0 for column in frame.columns]
    answer = list(frame.agg(*(one.alias(f"a{n}") for n, one in enumerate([*filled, *asked]))).first() or ())
    selected = []
    for number, column in enumerate(frame.columns):
        start = len(filled) + number * len(_READINGS)
        readings = zip(_READINGS, answer[start : start + len(_READINGS)], strict=True)
        sql_type = next((name for name, fit in readings if fit and answer[number]), "string")
        selected.append(f.col(_quoted(column)).cast(sql_type).alias(column))
    return frame.select(*selected)


def _quoted(column: str) -> str:
    return f"`{column.replace('`', '``')}`"


def format_of(folder: Path, wanted: str | None) -> str:
    """Of which kind the files of a folder are."""
    if wanted is not None:
        if wanted not in SUFFIXES:
            raise DatabaseError(f"{folder}: the format must be one of {', '.join(SUFFIXES)}, not {wanted!r}")
        return wanted
    names = [path.name.lower() for path in folder.rglob("*")]
    kinds = [kind for kind, suffixes in SUFFIXES.items() if any(name.endswith(suffixes) for name in names)]
    if len(kinds) > 1:
        raise DatabaseError(f"{folder} has files of several kinds: say which with format={' or format='.join(kinds)}")
    return kinds[0] if kinds else "parquet"
