"""Lexical forms: the one text that stands for a value on every engine (docs/architecture.md, "Values")."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from ruleminer.rules.values import Constant, Kind, Scalar, kind_of

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ZONE = r"(?:Z|[+-](?:[01]\d|2[0-3])(?::[0-5]\d)?)"
_TIMESTAMP = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}[ T]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?{ZONE}?")


def lexical_form(value: Scalar) -> str:
    """The lexical form of a Python value.

    >>> lexical_form(Decimal("12.300000")), lexical_form(True), lexical_form(datetime(2014, 5, 4, 10))
    ('12.3', 'true', '2014-05-04 10:00:00')
    """
    match kind_of(value):
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.DECIMAL:
            return number_form(str(value))
        case Kind.TIMESTAMP:
            assert isinstance(value, datetime)
            return timestamp_form(value)
        case _:
            return str(value)


def number_form(text: str) -> str:
    """A number's text without sign +, leading zeros, or zeros behind the last decimal that counts."""
    if text.isascii() and text.isdigit():  # most are, and a Decimal is dear
        return text.lstrip("0") or "0"
    number = Decimal(text)
    if number == number.to_integral_value():
        return str(int(number))
    return format(number, "f").rstrip("0")  # normalize() would round to 28 digits


def timestamp_form(value: datetime) -> str:
    """A timestamp's text: in UTC if it has a zone, with a blank between date and time."""
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    text = value.isoformat(" ")
    return text.rstrip("0") if "." in text else text


def family(kind: Kind) -> Kind:
    """Integers and decimals are one family, numbers (named by DECIMAL); each other kind stands alone."""
    return Kind.DECIMAL if kind is Kind.INTEGER else kind


def constant_of(text: str, kind: Kind) -> Constant | None:
    """The constant of a kind with this lexical form, or None if the rule language has none.

    A database may hold what it has not: an infinite date, or, in SQLite, anything in any column.
    """
    try:
        value = _READ[kind](text)
    except (KeyError, ValueError, InvalidOperation):
        return None
    return None if isinstance(value, Decimal) and not value.is_finite() else Constant(kind, value)


def _integer(text: str) -> int:
    if not text.removeprefix("-").isdecimal():  # int() takes blanks and underscores, too
        raise ValueError(text)
    return int(text)


_READ: dict[Kind, Callable[[str], Scalar]] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: Decimal,
    Kind.BOOLEAN: {"true": True, "false": False}.__getitem__,
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
    Kind.TEXT: str,
}


def readings(text: str, kind: Kind | None = None) -> tuple[tuple[Kind, str], ...]:
    """All (family, lexical form) pairs that an argument's text admits; only those of `kind` if it is given.

    >>> readings("1400")
    ((<Kind.TEXT: 'text'>, '1400'), (<Kind.DECIMAL: 'decimal'>, '1400'))
    >>> readings("01053")  # a code, or a number as people write it
    ((<Kind.TEXT: 'text'>, '01053'), (<Kind.DECIMAL: 'decimal'>, '1053'))
    """
    found: list[tuple[Kind, str]] = [(Kind.TEXT, text)]
    if _NUMBER.fullmatch(text):
        found.append((Kind.DECIMAL, number_form(text)))
    elif text in ("true", "false"):
        found.append((Kind.BOOLEAN, text))
    elif _DATE.fullmatch(text) and _parses(date.fromisoformat, text):
        found.append((Kind.DATE, text))
    elif _TIMESTAMP.fullmatch(text) and _parses(_moment, text):
        found.append((Kind.TIMESTAMP, _moment(text)))
    if kind is None:
        return tuple(found)
    return tuple(reading for reading in found if reading[0] is family(kind))


def _moment(text: str) -> str:
    return timestamp_form(datetime.fromisoformat(text))


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, OverflowError):  # the latter where UTC would be in another era
        return False
    return True
