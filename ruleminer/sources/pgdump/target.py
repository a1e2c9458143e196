"""What a database that takes in a dump must do."""

from __future__ import annotations

from typing import Protocol

from ruleminer.errors import DatabaseError
from ruleminer.sources.pgdump.rows import Rows


class Target(Protocol):
    """A database being filled. Its tables are there; leaving its context without an error makes all of it final."""

    def fill(self, rows: Rows) -> int:
        """Add the rows to their table, and say how many they were."""

    def finish(self) -> list[str]:
        """Once all rows are in: check the keys, make the views, and say which views there are."""


def occupied(place: str, schema: str, can_replace: bool) -> DatabaseError:
    """The error of a schema that has tables already."""
    advice = "‹replace=True› replaces it, or load into another" if can_replace else "load into another"
    return DatabaseError(f"schema {schema!r} of {place} has tables already: {advice}")
