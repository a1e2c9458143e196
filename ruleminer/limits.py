"""How much of a file that others wrote is read at once (docs/security.md); RULEMINER_MAX_MB allows more."""

from __future__ import annotations

import os

from ruleminer.errors import InputError

_VARIABLE = "RULEMINER_MAX_MB"
_MEGABYTES = 100.0
RAISED = f"set {_VARIABLE} to allow more"


def largest_read() -> int:
    """Bytes of an ontology, a mapping, a query pair, or a line of a dump; entities of XML count as what they become."""
    said = os.environ.get(_VARIABLE)
    try:
        size = int(float(said or _MEGABYTES) * 1_000_000)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise InputError(f"{_VARIABLE} must be a number of megabytes above 0, not {said!r}")
    return size


def megabytes(size: int) -> str:
    """A size, as it is told."""
    return f"{size / 1_000_000:g} MB"
