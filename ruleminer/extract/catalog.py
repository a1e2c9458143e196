"""The source's columns with the numbers that extraction knows them by."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from ruleminer.problem.schema import Schema, Table
from ruleminer.rules.lexical import family
from ruleminer.rules.sql import ColumnType
from ruleminer.rules.values import Kind


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of the source: `id` is unique over all tables."""

    id: int
    table_id: int
    table: str
    name: str
    type: ColumnType
    is_key: bool
    is_link: bool
    is_code: bool = False  # known once somebody has looked: see `codes.py`

    @property
    def family(self) -> Kind:
        """What its values can be equal to."""
        return family(self.type.kind)


@dataclass(frozen=True)
class Catalog:
    """All columns of the source, in the schema's order."""

    columns: list[SourceColumn]
    floats: list[int] = field(init=False)
    by_table: dict[str, list[SourceColumn]] = field(init=False)

    def __post_init__(self) -> None:
        by_table: dict[str, list[SourceColumn]] = {}
        for column in self.columns:
            by_table.setdefault(column.table, []).append(column)
        object.__setattr__(self, "by_table", by_table)
        object.__setattr__(self, "floats", [column.id for column in self.columns if column.type.is_float])

    def columns_of(self, table: str) -> list[int]:
        """The ids of a table's columns; none if there is no such table."""
        return [column.id for column in self.by_table.get(table, ())]

    def with_codes(self, codes: Set[int]) -> Catalog:
        """The same columns, and which of them hold codes."""
        return Catalog([replace(column, is_code=column.id in codes) for column in self.columns])


def catalog_of(schema: Schema) -> Catalog:
    """The catalogue of a reflected schema."""
    columns: list[SourceColumn] = []
    for table_id, table in enumerate(schema.tables):
        for column in table.columns:
            columns.append(
                SourceColumn(
                    id=len(columns),
                    table_id=table_id,
                    table=table.name,
                    name=column.name,
                    type=ColumnType(column.kind, column.sql_type),
                    is_key=_is_key(table, column.name),
                    is_link=any(foreign_key.columns == (column.name,) for foreign_key in table.foreign_keys),
                )
            )
    return Catalog(columns)


def _is_key(table: Table, column: str) -> bool:
    return table.primary_key == (column,) or (column,) in table.unique
