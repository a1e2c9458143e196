"""Columns that tell kinds of rows apart: flags, and codes of few values."""

from __future__ import annotations

from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.schema import Column, Table

FEW = 12  # values that make a column a code


def code_columns(table: Table, derivations: Derivations) -> list[Column]:
    """The columns with few values, fewer than rows."""
    taken = {*table.keys, *table.link_ends}
    columns = [c for c in table.columns if c.name not in taken and c.kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)]
    counts = derivations.distinct(Place(table.name, column.name) for column in columns)
    found = []
    for column in columns:
        count = counts[Place(table.name, column.name)]
        if (1 < count <= FEW or (column.kind is Kind.BOOLEAN and count)) and (table.rows or 0) > count:
            found.append(column)
    return found
