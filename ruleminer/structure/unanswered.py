"""What is told of a question that the database did not answer while its structure was learnt."""

from __future__ import annotations

import warnings

from ruleminer.errors import DatabaseError, UnansweredWarning


def tell_unanswered(table: str, wanted: str, error: DatabaseError) -> None:
    """Say once for each table what may be missing of the structure, and why; learning it goes on."""
    warnings.warn(f"{table}: {wanted} may be missing ({error})", UnansweredWarning, stacklevel=3)
