"""What people write where there is nothing to write: 9999-12-31, -1, n/a."""

from __future__ import annotations

import re
from datetime import date

from ruleminer.rules.values import Scalar

_WORDS = frozenset({"", "-", "--", "?", "n/a", "na", "n.a.", "none", "null", "nil", "unknown", "not available", "tbd"})
_DAYS = frozenset({(1, 1, 1), (1753, 1, 1), (1900, 1, 1), (1970, 1, 1), (2999, 12, 31)})
_NINES = re.compile(r"-(?:1|9+)|9{3,}")


def stands_for_none(value: Scalar) -> bool:
    """Whether a value is one of those that stand for no value wherever they stand."""
    if isinstance(value, bool):
        return False
    if isinstance(value, date):  # a moment is one, too
        return value.year == 9999 or (value.year, value.month, value.day) in _DAYS
    if isinstance(value, str):
        return value.strip().casefold() in _WORDS
    return _NINES.fullmatch(str(value).removesuffix(".0")) is not None
