"""The structure of one database: keys, links, spaces and codes, declared or discovered, with the profile behind them.

Values alone do not tell what belongs together: 1 … 25 lies in every key. Keys and links do, and they are cheap to
learn. `Structure.schema` is the reflected schema with what was discovered in it, so whoever asks a table for its keys
and links is told of both; `evidence` tells which is which, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ruleminer.progress import Progress, silent
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.schema import ForeignKey, Schema, Table
from ruleminer.structure.keys import DiscoveredKey, with_keys
from ruleminer.structure.link_file import Ends, LinkWishes
from ruleminer.structure.links import DiscoveredLink, with_links
from ruleminer.structure.padding import with_padding
from ruleminer.structure.profile import ColumnProfile, Constants, Profile, profile_of
from ruleminer.structure.spaces import Space, spaces_of
from ruleminer.structure.words import words

FORMAT = 1
MOST_CODES = 32  # values that a column of codes may have
FEW_CODES = 12  # values up to which each of them may tell a kind of row
_CODE_KINDS = (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT)
_NAMES_ROWS = 0.75  # share of a column's texts that must differ for it to name rows
_SAME_NAMES = 0.3  # the same for a column that is called a name
_CALLED_NAMES = frozenset({"name", "title", "label", "username"})
_NO_NAMES = frozenset({"date", "time", "timestamp", "datetime", "url", "uri"})
_LONGEST_NAME = 80.0  # characters that a text may have, on average, to be what people call a thing


@dataclass(frozen=True)
class Structure:
    """What was learnt of a database, once."""

    schema: Schema
    profile: Profile
    keys: tuple[DiscoveredKey, ...] = ()
    links: tuple[DiscoveredLink, ...] = ()
    wishes: LinkWishes = field(default_factory=LinkWishes)
    discovers: bool = True  # whether links and keys that nobody declared were looked for

    @cached_property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces, each with all columns that name its kind of thing."""
        return spaces_of(self.schema)

    @cached_property
    def _space_by_place(self) -> Mapping[Place, Space]:
        return {place: space for space in self.spaces for place in space.places}

    def space(self, place: Place) -> Space | None:
        """The space that a column's values are keys in; None if it is neither a key nor a link."""
        return self._space_by_place.get(place)

    @cached_property
    def codes(self) -> frozenset[Place]:
        """The columns of few values that repeat and are neither keys nor links."""
        return frozenset(
            Place(table.name, column.name)
            for table in self.schema.tables
            for column in table.columns
            if column.kind in _CODE_KINDS
            and (table.name, column.name) not in self._space_by_place
            and _is_code(self.profile.column(table.name, column.name))
        )

    def chooses(self, place: Place) -> bool:
        """Whether a column has few values that repeat, be it a link: each may tell a kind of row."""
        return place in self.codes or (place in self._space_by_place and _is_code(self.profile.column(*place)))

    def kinds(self, table: str) -> dict[str, tuple[str, ...]]:
        """The codes of a table that have few values, each of which may tell a kind of row, with these as lexical forms.

        None are known of a column of which hardly a value stands twice.
        """
        return {
            place.column: tuple(sorted(form for form, _ in one.common))
            for place in sorted(self.codes)
            if place.table == table and (one := self.profile.column(*place)) is not None and one.distinct <= FEW_CODES
        }

    @cached_property
    def sparse(self) -> frozenset[Place]:
        """The columns that are NULL in some rows, but not in all: that one is filled may tell a kind of row."""
        return frozenset(
            Place(name, column)
            for name, table in self.profile.tables.items()
            for column, one in table.columns.items()
            if 0 < one.filled < table.rows
        )

    @cached_property
    def declared(self) -> Schema:
        """The schema without what was discovered in it or told by the user: as the database declares it.

        A declared link that the user takes away is missing here, too.
        """
        keys = {(key.table, key.columns) for key in self.keys}
        links = {(one.table, ForeignKey((one.column,), one.target, (one.referenced,))) for one in self.links}
        return replace(
            self.schema,
            tables=tuple(
                replace(
                    table,
                    columns=tuple(replace(column, padded=False) for column in table.columns),
                    primary_key=() if (table.name, table.primary_key) in keys else table.primary_key,
                    unique=tuple(
                        key
                        for key in table.unique
                        if key == table.primary_key or (table.name, key) not in keys  # declared, and chosen for it
                    ),
                    foreign_keys=tuple(key for key in table.foreign_keys if (table.name, key) not in links),
                )
                for table in self.schema.tables
            ),
        )

    def is_alias(self, table: Table, column: str) -> bool:
        """Whether a unique text is another name of the rows of a table, beside their key, and no link uses it."""
        space = self.space(Place(table.name, column))
        is_text = table.column(column).kind is Kind.TEXT and column in table.keys
        return is_text and table.own_key not in (None, column) and space is not None and len(space.places) == 1

    def short_texts(self, table: Table) -> tuple[str, ...]:
        """The columns of texts that may be what people call a thing, or a part of it; neither keys nor links."""
        return tuple(
            column.name
            for column in table.columns
            if column.kind is Kind.TEXT
            and ((table.name, column.name) not in self._space_by_place or self.is_alias(table, column.name))
            and (one := self.profile.column(table.name, column.name)) is not None
            and one.filled > 0
            and 2 < one.length <= _LONGEST_NAME
        )

    def naming_columns(self, table: Table) -> tuple[str, ...]:
        """The columns by which people call the rows of a table: short texts of which most stand once.

        Of a column that is called a name, fewer need to: two users may have the same. Nobody goes by a date or an
        address on the web, however different all of them are.
        """
        found = []
        for name in self.short_texts(table):
            one, last = self.profile.column(table.name, name), words(name)[-1:]
            least = _SAME_NAMES if _CALLED_NAMES.intersection(last) else _NAMES_ROWS
            if one and one.distinct >= least * one.filled and not _NO_NAMES.intersection(last):
                found.append(name)
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, for a run's files and for programs."""
        return {
            "format": FORMAT,
            "schema": self.schema.to_json(),
            "keys": [key.to_json() for key in self.keys],
            "links": [link.to_json() for link in self.links],
            "spaces": [{"name": s.name, "columns": [".".join(place) for place in s.places]} for s in self.spaces],
            "codes": sorted(".".join(place) for place in self.codes),
            "wishes": {
                "added": [[list(start), list(end)] for start, end in self.wishes.added],
                "forbidden": sorted([list(start), list(end)] for start, end in self.wishes.forbidden),
            },
            "discovers": self.discovers,
            "profile": self.profile.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Structure:
        """The structure that `to_json` wrote."""
        return cls(
            Schema.from_json(data["schema"]),
            Profile.from_json(data["profile"]),
            tuple(DiscoveredKey.from_json(key) for key in data["keys"]),
            tuple(DiscoveredLink.from_json(link) for link in data["links"]),
            LinkWishes(*(kind(_ends(one) for one in data["wishes"][name]) for name, kind in _WISHES)),
            data["discovers"],
        )


def learn_structure(
    database: Database,
    wishes: LinkWishes | None = None,
    *,
    discover: bool = True,
    draw: Constants | None = None,
    progress: Progress = silent,
) -> Structure:
    """Profile a database and find its keys and links; the user's word on links beats both.

    Without `discover` only what is declared counts, as in the paper's datasets. `draw` is filled on the way where that
    takes no further look at a table.
    """
    wishes = wishes or LinkWishes()
    profile = profile_of(database, progress, draw)
    counted = {name: table.counted for name, table in profile.tables.items()}
    tables = (replace(t, rows=counted.get(t.name)) if t.rows is None else t for t in database.schema.tables)
    schema = replace(database.schema, tables=tuple(tables))
    if not discover:
        return Structure(schema, profile, discovers=False)
    schema, keys = with_keys(schema, profile, database)
    schema, links = with_links(schema, profile, database, wishes)
    schema, profile = with_padding(schema, profile, database)
    return Structure(schema, profile, keys, links, wishes)


_WISHES: tuple[tuple[str, Any], ...] = (("added", tuple), ("forbidden", frozenset))


def _ends(pair: Sequence[Sequence[str]]) -> Ends:
    start, end = pair
    return Place(*start), Place(*end)


def _is_code(one: ColumnProfile | None) -> bool:
    return one is not None and 2 <= one.distinct <= min(MOST_CODES, one.filled - 1)
