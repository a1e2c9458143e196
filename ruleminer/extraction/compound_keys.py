"""Keys of several columns that examples tell the table of: `bed:CARD/1` is spelt only where the key of a bed may stand.

CARD and 1 may stand in a row of any other table, too. The key of a bed stands in the columns of its own key, and in as
many columns of another table that are called the same, one by one, or hold keys of the same kinds of things. A day or a
time is nobody's: the `from_date` of a title is not that of a salary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import permutations, product
from math import perm

from ruleminer.extraction.catalog import Catalog, SourceColumn
from ruleminer.rules.values import Kind

_TIMES = (Kind.DATE, Kind.TIMESTAMP)
_MOST = 10_000  # ways to choose columns for a key that nobody declared

KeyColumns = Mapping[str, Sequence[Sequence[int]]]
"""By the text of a key: the columns that may spell it, by number, in the order of the key."""


def columns_of_keys(
    told: Mapping[str, tuple[str, Sequence[str]]], undeclared: Set[str], catalog: Catalog
) -> KeyColumns:
    """Where keys may stand of which the table is told, and the columns of its key; some tables declare none."""
    known: dict[tuple[str, tuple[str, ...]], list[list[int]]] = {}
    for table, columns in dict.fromkeys((table, tuple(columns)) for table, columns in told.values()):
        known[table, columns] = list(_places(table, columns, catalog))
        own, parts = [column.id for column in catalog.by_table[table]], max(2, len(columns))
        if table in undeclared and perm(len(own), parts) <= _MOST:
            known[table, columns] += [list(some) for some in permutations(own, parts)]
    return {text: known[table, tuple(columns)] for text, (table, columns) in told.items()}


def _places(table: str, key: Sequence[str], catalog: Catalog) -> Iterator[list[int]]:
    own = {column.name: column for column in catalog.by_table[table]}
    for columns in catalog.by_table.values():
        fitting = [[column.id for column in columns if _fits(column, own[name])] for name in key]
        yield from (list(some) for some in product(*fitting) if len(set(some)) == len(key))


def _fits(column: SourceColumn, part: SourceColumn) -> bool:
    """Whether a column may hold what a part of a key does."""
    if column.table == part.table:
        return column.id == part.id
    if part.space is not None:
        return column.space == part.space or column.name.lower() == part.name.lower()
    return part.type.kind not in _TIMES and column.name.lower() == part.name.lower()
