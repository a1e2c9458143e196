"""How numbers and names are written in the report."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

_MINUS = "\N{MINUS SIGN}"
_BLANK = "\N{NO-BREAK SPACE}"
_LONGEST_VALUE = 240
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})  # controls, marks of direction, private use, unassigned


def count(value: int | None) -> str:
    """A whole number; a dash for what could not be asked.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,}"


def share(value: float | None) -> str:
    """A probability in percent, never rounded to a certainty that it is not.

    >>> share(0.5), share(0.99999), share(1.0), share(None)
    ('50.0\\xa0%', '>\\xa099.9\\xa0%', '100\\xa0%', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value in (0.0, 1.0):
        return f"{value * 100:.0f}{_BLANK}%"
    if value > 0.9995:
        return f">{_BLANK}99.9{_BLANK}%"
    if value < 0.0005:
        return f"<{_BLANK}0.1{_BLANK}%"
    return f"{value * 100:.1f}{_BLANK}%"


def number(value: float | None, digits: int = 2) -> str:
    """A number with a proper minus sign.

    >>> number(-1.5), number(float("-inf")), number(None)
    ('−1.50', '−∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    text = "∞" if math.isinf(value) else f"{abs(value):,.{digits}f}"
    return f"{_MINUS}{text}" if value < 0 else text


def clip(value: str | None, longest: int = _LONGEST_VALUE) -> str:
    """A value of the database, cut where nobody would read on."""
    if value is None:
        return "NULL"
    return value if len(value) <= longest else f"{value[:longest]}…"


def source_lines(source: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What is known of the database, as names and texts; what is not known is left out."""
    lines = []
    for name, value in source.items():
        if isinstance(value, int) and not isinstance(value, bool):
            lines.append((name, count(value)))
        elif value not in (None, "", [], (), {}):
            lines.append((name, str(value)))
    return tuple(lines)


def is_plain(text: str) -> bool:
    """Whether text shows as it is: printable ASCII and line breaks."""
    return text.isascii() and all(character.isprintable() or character in "\t\n" for character in text)


def characters(text: str) -> Iterator[tuple[str, str]]:
    """Runs of text; a character that cannot be seen, or turns the direction of others, alone and with its code.

    >>> list(characters("a\\u202eb"))
    [('a', ''), ('\\u202e', 'U+202E'), ('b', '')]
    """
    run = ""
    for character in text:
        if character in "\t\n" or unicodedata.category(character) not in _UNSEEN:
            run += character
            continue
        if run:
            yield run, ""
            run = ""
        # HTML has no place for C0 controls; each has a picture.
        shown = chr(0x2400 + ord(character)) if ord(character) < 0x20 else character
        yield shown, f"U+{ord(character):04X}"
    if run:
        yield run, ""
