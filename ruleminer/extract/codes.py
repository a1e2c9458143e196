"""Which columns of the source hold codes: few values, that tell kinds of rows apart."""

from __future__ import annotations

from sqlglot import exp

from ruleminer.extract.catalog import Catalog
from ruleminer.extract.cells import Source
from ruleminer.rules.sql import as_text, identifier
from ruleminer.rules.values import Kind

MOST_VALUES = 32
_KINDS = (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)


def code_columns(source: Source, catalog: Catalog) -> frozenset[int]:
    """The ids of columns with at least two values, at most 32, and fewer than rows; no keys and no links.

    One statement per table counts them.
    """
    found: list[int] = []
    for table, columns in catalog.by_table.items():
        eligible = [c for c in columns if c.type.kind in _KINDS and not (c.is_key or c.is_link)]
        if eligible:
            counts = [exp.Count(this=exp.Distinct(expressions=[as_text(_place(c.name))])) for c in eligible]
            counted = [exp.alias_(count, f"n{c.id}") for c, count in zip(eligible, counts, strict=True)]
            rows = exp.alias_(exp.Count(this=exp.Star()), "n")
            query = exp.select(rows, *counted).from_(exp.Table(this=identifier(table)))
            total, *numbers = (int(c[0].as_py()) for c in source.arrow(query.sql(source.dialect)).read_all().columns)
            found += [c.id for c, n in zip(eligible, numbers, strict=True) if 2 <= n <= min(MOST_VALUES, total - 1)]
    return frozenset(found)


def _place(name: str) -> exp.Column:
    return exp.Column(this=identifier(name))
