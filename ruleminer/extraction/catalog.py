"""The source's columns with the numbers that extraction knows them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ruleminer.rules.columns import ColumnType
from ruleminer.rules.lexical import family
from ruleminer.rules.values import Kind, Place
from ruleminer.structure.profile import ColumnProfile, Constants
from ruleminer.structure.structure import Structure


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
    is_code: bool
    is_sparse: bool  # NULL in some rows, but not in all
    space: int | None  # the number of the space that its values are keys in
    distinct: int = 0  # values, as far as they were counted
    span: tuple[int, int] | None = None  # the least and the greatest, of whole numbers
    values: tuple[str, ...] = ()  # lexical forms of all its values, where they are few and known
    common: tuple[str, ...] = ()  # lexical forms of the values that very many rows hold

    @property
    def family(self) -> Kind:
        """What its values can be equal to."""
        return family(self.type.kind)


@dataclass(frozen=True)
class Catalog:
    """All columns of the source, in the schema's order.

    `rows` tells how many each table has, if somebody counted; in more than `common_rows` of them a value is common.
    """

    columns: list[SourceColumn]
    rows: Mapping[str, int] = field(default_factory=dict)
    common_rows: int | None = None
    constants: Constants | None = None  # drawn already
    views: frozenset[str] = frozenset()  # tables that are made anew whenever somebody looks at them
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


def catalog_of(structure: Structure, common: int | None = None) -> Catalog:
    """The catalogue of a database's structure; a value that stands in more than `common` rows of a column is common."""
    numbers = {place: number for number, space in enumerate(structure.spaces) for place in space.places}
    columns: list[SourceColumn] = []
    for table_id, table in enumerate(structure.schema.tables):
        keys, links = table.keys, table.link_ends
        for column in table.columns:
            place = Place(table.name, column.name)
            profile = structure.profile.column(*place)
            columns.append(
                SourceColumn(
                    id=len(columns),
                    table_id=table_id,
                    table=table.name,
                    name=column.name,
                    type=table.type_of(column.name),
                    is_key=column.name in keys,
                    is_link=column.name in links,
                    is_code=place in structure.codes,
                    is_sparse=place in structure.sparse,
                    space=numbers.get(place),
                    distinct=profile.distinct if profile is not None else 0,
                    span=profile.span if profile is not None and column.kind is Kind.INTEGER else None,
                    values=profile.all_values if profile is not None else (),
                    common=() if common is None else _common(profile, common),
                )
            )
    counted = {name: table.rows for name, table in structure.profile.tables.items() if not table.trouble}
    views = frozenset(table.name for table in structure.schema.tables if table.is_view)
    return Catalog(columns, counted, common, structure.profile.constants, views)


def _common(profile: ColumnProfile | None, most: int) -> tuple[str, ...]:
    known = () if profile is None else (*profile.common, *profile.frequent)
    return tuple(form for form, rows in known if rows > most)
