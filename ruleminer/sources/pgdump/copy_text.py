"""PostgreSQL's COPY text format: lines to fields and back, and whole batches to Arrow."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_NAMED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_TO_ESCAPE = {ord(b): "\\" + a for a, b in zip("bfnrtv\\", "\b\f\n\r\t\v\\", strict=True)}
_NULL = b"\\N"
_BATCH_BYTES = 4 << 20


def copy_fields(line: bytes) -> list[str | None]:
    r"""The fields of a line: `\N` is NULL, escapes are what they stand for.

    >>> copy_fields(b"1\t\\N\ta\\tb\\\\\t\n")
    ['1', None, 'a\tb\\', '']
    """
    line = line.rstrip(b"\n").removesuffix(b"\r")
    fields = line.split(b"\t")
    return [None if field == _NULL else _unescaped(field).decode() for field in fields]


def copy_line(fields: Iterable[str | None]) -> bytes:
    """The line that stands for these fields."""
    return b"\t".join(_NULL if f is None else f.translate(_TO_ESCAPE).encode() for f in fields) + b"\n"


def copy_batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines in batches of bounded size."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def copy_table(lines: Sequence[bytes], names: Sequence[str]) -> pa.Table:
    """The lines as Arrow columns of text; a `ValueError` tells the first line (from 0) that does not fit.

    Tabs and line ends inside a field are escaped, so Arrow's CSV parser can cut the fields, ten times faster than we.
    """
    data = b"".join(lines)
    if b"\r" not in data and not data.startswith(BOM_UTF8):  # which mean more to Arrow than to COPY
        try:
            table = _arrow_csv(data, names)
            return pa.table([_unescaped_column(column) for column in table.columns], names=table.column_names)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            pass  # the careful way below says which line is wrong
    columns: list[list[str | None]] = [[] for _ in names]
    for number, line in enumerate(lines):
        try:
            fields = copy_fields(line)
        except UnicodeDecodeError:
            raise ValueError(number, "the text is not UTF-8") from None
        if len(fields) != len(names):
            raise ValueError(number, f"{len(fields)} fields where {len(names)} are expected")
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
    return pa.table([pa.array(column, pa.string()) for column in columns], names=list(names))


def _arrow_csv(data: bytes, names: Sequence[str]) -> pa.Table:
    return pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(column_names=list(names), block_size=len(data) + 1, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=["\\N"], strings_can_be_null=True
        ),
    )


def _unescaped_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    escaped = pc.fill_null(pc.match_substring(column, "\\"), False)
    if not pc.any(escaped).as_py():
        return column
    values = [_unescaped(value.encode()).decode() for value in column.filter(escaped).to_pylist()]
    return pc.replace_with_mask(column.combine_chunks(), escaped.combine_chunks(), pa.array(values, pa.string()))


def _unescaped(field: bytes) -> bytes:
    return _ESCAPE.sub(_meaning, field) if b"\\" in field else field


def _meaning(escape: re.Match[bytes]) -> bytes:
    text = escape[1]
    if text[:1] == b"x" and len(text) > 1:
        return bytes([int(text[1:], 16)])
    if text.isdigit() and text[:1] < b"8":
        return bytes([int(text, 8) & 0xFF])
    return _NAMED.get(text, text)
