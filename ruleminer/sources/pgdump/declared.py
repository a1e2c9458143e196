"""Tables, keys and views as a dump declares them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot import exp

from ruleminer.rules.values import Kind
from ruleminer.sources.schema import kind_of_type

Name = tuple[str, str]  # schema and table, as the dump spells them
Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DumpColumn:
    """A column as declared, `sql_type` in PostgreSQL's words."""

    name: str
    sql_type: str
    nullable: bool

    @property
    def kind(self) -> Kind:
        """The kind of value the column holds."""
        return kind_of_type(self.sql_type)

    @property
    def base_type(self) -> str:
        """The type without its arguments, in the parser's words (INT, VARCHAR, TIMESTAMPTZ, …)."""
        return self.sql_type.split("(")[0].strip().upper()

    @property
    def is_padded(self) -> bool:
        """Whether the type is char(n), whose values PostgreSQL fills up with blanks that do not count."""
        return self.base_type in ("CHAR", "BPCHAR", "NCHAR")

    @property
    def digits(self) -> tuple[int, int] | None:
        """Precision and scale of a numeric that has them; None for one without bounds."""
        numbers = [int(number) for number in re.findall(r"\d+", self.sql_type)]
        return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


@dataclass(frozen=True, slots=True)
class DumpForeignKey:
    """A foreign key; `valid` unless the dump itself says that nobody checked the rows (NOT VALID)."""

    columns: Columns
    table: Name
    referenced: Columns
    valid: bool


@dataclass(slots=True)
class DumpTable:
    """A table of the dump, and the schema of the target it goes to."""

    schema: str
    name: str
    columns: tuple[DumpColumn, ...]
    primary_key: Columns = ()
    unique: list[Columns] = field(default_factory=list)
    foreign_keys: list[DumpForeignKey] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DumpView:
    """A view; every table in its query is written with its schema (the dump's)."""

    schema: str
    name: str
    create: exp.Create
