"""Query pairs: RODI's `.qpair` files, each one question asked twice, in SQL and in SPARQL.

The format is Java properties: `key=value`, a value goes on behind a line that ends in a backslash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import javaproperties

from ruleminer.errors import InputError
from ruleminer.problem.rdf import read_bytes

SUFFIX = ".qpair"
_KEYS = frozenset(
    {
        "name",
        "orderNum",
        "sql",
        "sparql",
        "categories",
        "entityIdCols",
        "entityIdVars",
        "disabled",
        "comment",
    }
)


@dataclass(frozen=True, slots=True)
class QueryPair:
    """One question in SQL and SPARQL; entity ids are the places of columns and variables that name entities."""

    stem: str
    name: str
    sql: str
    sparql: str
    categories: tuple[str, ...] = ()
    entity_id_columns: tuple[int, ...] = ()
    entity_id_variables: tuple[int, ...] = ()
    disabled: bool = False
    order: int = 0
    comment: str = ""


def read_pair(path: Path | str) -> QueryPair:
    """The pair in one file."""
    path = Path(path)
    values = _read_properties(path)
    for key in ("sql", "sparql"):
        if not values.get(key, "").strip():
            raise InputError(f"{path}: has no {key}")
    return QueryPair(
        stem=path.stem,
        name=values.get("name", "").strip() or path.stem,
        sql=values["sql"].strip(),
        sparql=values["sparql"].strip(),
        categories=_listed(values.get("categories", "")),
        entity_id_columns=_whole_numbers(values, "entityIdCols", path),
        entity_id_variables=_whole_numbers(values, "entityIdVars", path),
        disabled=_truth(values.get("disabled", "false"), path),
        order=next(iter(_whole_numbers(values, "orderNum", path)), 0),
        comment=values.get("comment", ""),
    )


def read_pairs(folder: Path | str) -> tuple[QueryPair, ...]:
    """All pairs of a folder, disabled ones included, in their own order."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise InputError(f"{folder}: has no {SUFFIX} files")
    return tuple(sorted(map(read_pair, paths), key=lambda pair: (pair.order, pair.stem)))


def pair_text(pair: QueryPair) -> str:
    """The text of a `.qpair` file; reading it gives the pair back."""
    values = {
        "name": pair.name,
        "orderNum": str(pair.order),
        "sql": pair.sql,
        "sparql": pair.sparql,
        "categories": ",".join(pair.categories),
        "entityIdCols": ",".join(map(str, pair.entity_id_columns)),
        "entityIdVars": ",".join(map(str, pair.entity_id_variables)),
        "disabled": "true" if pair.disabled else "",
        "comment": pair.comment,
    }
    return "\n".join(javaproperties.join_key_value(key, value) for key, value in values.items() if value) + "\n"


def _read_properties(path: Path) -> dict[str, str]:
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, key, value in _entries(_decoded(read_bytes(path)), path):
        if key in values:
            raise InputError(f"{path}, line {line}: {key} is given a second time (first on line {lines[key]})")
        if key not in _KEYS:
            raise InputError(f"{path}, line {line}: unknown key {key[:40]!r}; does the line before lack its backslash?")
        values[key], lines[key] = value, line
    return values


def _entries(text: str, path: Path) -> Iterator[tuple[int, str, str]]:
    line = 1
    entries = javaproperties.parse(StringIO(text))
    while True:
        try:
            entry = next(entries)
        except StopIteration:
            return
        except javaproperties.InvalidUEscapeError as problem:
            raise InputError(f"{path}, line {line}: broken escape {problem.escape}") from None
        if isinstance(entry, javaproperties.KeyValue):
            yield line, entry.key, entry.value
        line += entry.source.count("\n")


def _decoded(content: bytes) -> str:
    """Java said Latin-1 until version 9; the files in the wild are UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _whole_numbers(values: dict[str, str], key: str, path: Path) -> tuple[int, ...]:
    items = _listed(values.get(key, ""))
    if not all(item.isdecimal() for item in items):
        raise InputError(f"{path}: {key} must be whole numbers, not {values[key]!r}")
    return tuple(map(int, items))


def _truth(text: str, path: Path) -> bool:
    if text.strip().lower() not in ("", "true", "false"):
        raise InputError(f"{path}: disabled must be true or false, not {text!r}")
    return text.strip().lower() == "true"
