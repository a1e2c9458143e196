"""Columns that tell kinds of rows apart: flags, and codes of few values."""

from __future__ import annotations

from ruleminer.problem.schema import Column, Table
from ruleminer.propose.extensions import Extensions
from ruleminer.rules.values import Constant, Kind

FEW = 12  # values that make a column a code


def key_columns(table: Table) -> list[str]:
    """The columns that are, alone, a key."""
    return list(dict.fromkeys(key[0] for key in (table.primary_key, *table.unique) if len(key) == 1))


def link_columns(table: Table) -> dict[str, tuple[str, str]]:
    """The columns that are, alone, a foreign key, with the table and column that each leads to."""
    single = (key for key in table.foreign_keys if len(key.columns) == len(key.referenced) == 1)
    return {key.columns[0]: (key.table, key.referenced[0]) for key in single}


def code_columns(table: Table, extensions: Extensions) -> list[Column]:
    """The columns with few values, fewer than rows."""
    taken = {*key_columns(table), *link_columns(table)}
    columns = [c for c in table.columns if c.name not in taken and c.kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)]
    counts = extensions.distinct((table.name, column.name) for column in columns)
    found = []
    for column in columns:
        count = counts[table.name, column.name]
        if (1 < count <= FEW or (column.kind is Kind.BOOLEAN and count)) and (table.rows or 0) > count:
            found.append(column)
    return found


def constant_of(column: Column, value: object) -> Constant | None:
    """The value as a constant of the column's kind; SQLite keeps anything in any column."""
    if column.kind is Kind.TEXT:
        return Constant(Kind.TEXT, str(value))
    if not isinstance(value, int):
        return None
    return Constant.of(bool(value) if column.kind is Kind.BOOLEAN else value)
