"""What people write where there is nothing to write: 9999-12-31, -1, n/a."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal

from ruleminer.rules.values import Scalar

_WORDS = frozenset({"", "-", "--", "?", "n/a", "na", "n.a.", "none", "null", "nil", "unknown", "not available", "tbd"})
_DAYS = frozenset({"0001-01-01", "1753-01-01", "1900-01-01", "1970-01-01", "2999-12-31"})
_FAR = re.compile(r"9999-\d\d-\d\d|\d\d[./]\d\d[./]9999")
_NINES = re.compile(r"-(?:1|9+)|9{3,}")


def stands_for_none(value: Scalar) -> bool:
    """Whether a value is one of those that stand for no value wherever they stand; a text may be a day or a number."""
    if isinstance(value, bool):
        return False
    if isinstance(value, date):  # a moment is one, too
        text = value.isoformat()[:10]
    elif isinstance(value, Decimal):
        text = f"{value.normalize():f}"
    else:
        text = str(value).strip().casefold()
    return text in _WORDS or text in _DAYS or any(known.fullmatch(text) for known in (_FAR, _NINES))
