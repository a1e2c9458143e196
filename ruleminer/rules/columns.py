"""What SQL must know of a column to read its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruleminer.rules.values import Kind

_FLOATS = ("float", "double", "real")
_OPAQUE = ("bytea", "blob", "binary", "varbinary", "image")
_TEXTS = ("char", "text", "clob", "string")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """What SQL for a column depends on: its kind, its type in the words of its database, and whether it has NULLs.

    The texts of a `padded` column are filled up with blanks to one length, as a CHAR is; the blanks mean nothing.
    """

    kind: Kind
    sql_type: str
    nullable: bool = True
    padded: bool = False

    @property
    def is_float(self) -> bool:
        return self.sql_type.lower().startswith(_FLOATS)

    @property
    def is_text(self) -> bool:
        return not self.is_array and any(word in self.sql_type.lower() for word in _TEXTS)

    @property
    def is_opaque(self) -> bool:
        """Whether it holds bytes, which are no constants: they are neither counted nor drawn."""
        return self.sql_type.lower().startswith(_OPAQUE)

    @property
    def is_array(self) -> bool:
        return self.sql_type.endswith("]")

    @property
    def has_zone(self) -> bool:
        return "with time zone" in self.sql_type.lower() or "timestamptz" in self.sql_type.lower()


TypeOf = Callable[[str, str], ColumnType]
"""The type of a column, by the names of its table and itself."""
