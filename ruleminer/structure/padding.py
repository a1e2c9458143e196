"""Texts that blanks fill up, as those of a CHAR: read without the blanks in all columns that links join, or in none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Schema, Table, quote_identifier
from ruleminer.structure.profile import ColumnProfile, Profile
from ruleminer.structure.spaces import Partition
from ruleminer.structure.unanswered import tell_unanswered


def with_padding(schema: Schema, profile: Profile, database: Database) -> tuple[Schema, Profile]:
    """Both with a mark on the columns that everybody reads without blanks, as the profile's values then are.

    A column of padded texts is one, and so is all that links join it with, whatever its own texts look like. Where a
    key would lose values by that, or it cannot be told, all are read as they stand.
    """
    padded = [
        Place(name, column)
        for name, table in profile.tables.items()
        for column, one in table.columns.items()
        if one.padded
    ]
    if not padded:
        return schema, profile
    joined: Partition[Place] = Partition()
    members = dict.fromkeys(padded)
    for start, end in _joins(schema):
        joined.join(end, start)
        members |= {start: None, end: None}
    distinct: dict[Place, int] = {}
    for group in joined.groups(members):
        if not set(group).isdisjoint(padded):
            distinct |= _values_left(group, schema, profile, database)
    return replace(schema, tables=tuple(_marked(table, distinct) for table in schema.tables)), _read(profile, distinct)


def values_without_blanks(place: Place, database: Database) -> int | None:
    """How many different texts a column has without the blanks at their ends; None if that is not answered."""
    value = database.dialect.unpadded(database.dialect.text_of(quote_identifier(place.column)))
    sql = f"SELECT count(DISTINCT {value}) FROM {database.quoted(place.table)}"
    try:
        ((count,),) = patiently(lambda: list(database.rows(sql)))
    except ConnectionLostError:
        raise
    except DatabaseError as error:
        tell_unanswered(place.table, "padded texts", error)
        return None
    return int(count)


def _joins(schema: Schema) -> Iterator[tuple[Place, Place]]:
    """The ends of all links, those of several columns one by one."""
    for table in schema.tables:
        for key in table.foreign_keys:
            for own, other in zip(key.columns, key.referenced, strict=False):  # SQLite lets a key lead to no column
                yield Place(table.name, own), Place(key.table, other)


def _values_left(group: Sequence[Place], schema: Schema, profile: Profile, database: Database) -> Mapping[Place, int]:
    """How many values each of these columns has without blanks; nothing if one of them must keep its blanks."""
    ends = {end for _, end in _joins(schema)}
    found: dict[Place, int] = {}
    for place in group:
        table, one = schema.table(place.table), profile.column(*place)
        if one is None or not _is_text(table.type_of(place.column)):
            return {}
        count = one.distinct if one.padded or not one.filled else values_without_blanks(place, database)
        tells_rows = place in ends or any(place.column in key for key in (table.primary_key, *table.unique))
        if count is None or (tells_rows and count != one.distinct):
            return {}
        found[place] = count
    return found


def _is_text(kind: ColumnType) -> bool:
    return kind.kind is Kind.TEXT and kind.is_text


def _marked(table: Table, padded: Mapping[Place, int]) -> Table:
    columns = tuple(replace(c, padded=Place(table.name, c.name) in padded) for c in table.columns)
    return table if columns == table.columns else replace(table, columns=columns)


def _read(profile: Profile, distinct: Mapping[Place, int]) -> Profile:
    """The profile of the columns as they are read."""

    def read(one: ColumnProfile, count: int | None) -> ColumnProfile:
        if count is None:
            return replace(one, padded=False) if one.padded else one
        common: Counter[str] = Counter()
        for form, rows in one.common:
            common[form.rstrip(" ")] += rows
        frequent = tuple((form.rstrip(" "), rows) for form, rows in one.frequent)
        return replace(one, distinct=count, common=tuple(common.most_common()), padded=True, frequent=frequent)

    tables = {}
    for name, table in profile.tables.items():
        columns = {column: read(one, distinct.get(Place(name, column))) for column, one in table.columns.items()}
        tables[name] = replace(table, columns=columns)
    return replace(profile, tables=tables)
