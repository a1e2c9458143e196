"""Layouts as values: the tables a domain is stored in, what fills them, and where each predicate is found.

Tables and columns have symbolic names here (`Person`, `ID`, `a:fullName`); names.py gives them the ones that the
database has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from ruleminer.rules.values import Constant
from ruleminer.scenarios.domain import Notion

Wording = tuple[Notion, ...]
"""The notions a name is put together from: `Department` and `name` for a copy of the department's name."""


class Role(Enum):
    """What a column is there for, as far as people name columns by it."""

    KEY = auto()
    """The table's own key."""
    END = auto()
    """One end of a link table, or the owner in a table of values."""
    REFERENCE = auto()
    """A link from the row to another table."""
    VALUE = auto()
    FLAG = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `sql` computes it over the table's source. `of` is the class that a key or reference is of."""

    id: str
    wording: Wording
    role: Role
    sql_type: str
    sql: str
    required: bool = False
    of: Notion | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key; it leads to the key of the other table."""

    columns: tuple[str, ...]
    table: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `source` is what stands behind FROM, and `where` the condition on it.

    A table of pairs is named by its link, or by what stands at its `ends`.
    """

    id: str
    wording: Wording
    columns: tuple[Column, ...]
    source: str
    where: str = "true"
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    ends: Wording = ()

    def column(self, name: str) -> Column:
        """The column of this symbolic name."""
        return next(column for column in self.columns if column.id == name)

    def has(self, name: str) -> bool:
        """Whether there is a column of this symbolic name."""
        return any(column.id == name for column in self.columns)


@dataclass(frozen=True, slots=True)
class Home:
    """Where facts are found: the columns of the subject's key, those of the object or value, and a condition."""

    table: str
    subject: tuple[str, ...]
    object: tuple[str, ...] = ()
    when: tuple[tuple[str, Constant], ...] = ()


@dataclass(frozen=True)
class Layout:
    """All tables, and the homes of classes, of links, and of attributes by property and class."""

    tables: dict[str, Table]
    classes: dict[str, tuple[Home, ...]]
    links: dict[str, tuple[Home, ...]]
    attributes: dict[tuple[str, str], tuple[Home, ...]]
    naturals: dict[str, Home] = field(default_factory=dict)
    """For a class with a natural code: the table with its key and the code."""

    def with_table(self, table: Table) -> Layout:
        """The layout with a table added or replaced."""
        return replace(self, tables={**self.tables, table.id: table})

    def without_table(self, name: str) -> Layout:
        """The layout without a table, and without the references to it."""
        tables = {
            table.id: replace(table, references=tuple(r for r in table.references if r.table != name))
            for table in self.tables.values()
            if table.id != name
        }
        return replace(self, tables=tables)

    def moved(self, source: str, target: str, columns: dict[str, str] | None = None) -> Layout:
        """The layout with all homes in one table looked for in another; columns may change their names."""
        renamed = columns or {}

        def move(homes: tuple[Home, ...]) -> tuple[Home, ...]:
            return tuple(moved_home(home) for home in homes)

        def moved_home(home: Home) -> Home:
            if home.table != source:
                return home
            return Home(
                target,
                tuple(renamed.get(column, column) for column in home.subject),
                tuple(renamed.get(column, column) for column in home.object),
                home.when,
            )

        return replace(
            self,
            classes={name: move(homes) for name, homes in self.classes.items()},
            links={name: move(homes) for name, homes in self.links.items()},
            attributes={name: move(homes) for name, homes in self.attributes.items()},
            naturals={name: moved_home(home) for name, home in self.naturals.items()},
        )

    def homes(self) -> Iterator[Home]:
        """All homes of all predicates."""
        for group in (*self.classes.values(), *self.links.values(), *self.attributes.values()):
            yield from group
        yield from self.naturals.values()
