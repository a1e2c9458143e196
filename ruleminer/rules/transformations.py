"""The transformations of the rule language: how a value that is published differs from the one in the database.

    year(a)          2021-03-04 → 2021              number(a)         "012.50" → 12.5
    date(a)          2021-03-04 10:00:00 → 2021-03-04    scale(a, 2)       12.5 → "12.50"
    timestamp(a)     2021-03-04 → 2021-03-04 00:00:00    times(a, 0.01)    199 → 1.99
    day(a, "DMY")    "31.12.2021" → 2021-12-31           before(a, "@")    "me@host" → "me"
    moment(a, "seconds")  1640995199 → 2021-12-31 23:59:59
    boolean(a)       "Y", "no", "t", 0 → true, false
    trim, lower, upper                                   after(a, "@")     "me@host" → "host"
    field(a, "name") {"name": "me"} → "me"               item(a, 1)        ["me", "you"] → "me"
    encoded(a)       a value as R2RML puts it into an IRI: "São Paulo" → São%20Paulo
    escaped(a)       with all but ASCII escaped, too: S%C3%A3o%20Paulo
    plus(a)          the same with + for a blank: S%C3%A3o+Paulo

Each is a function of the value's lexical form (`lexical.py`), so that it means the same on every engine; a value that
it does not speak of has no result, and derives nothing. Here it is in plain Python; `transformation_sql.py` says it in
SQL, and tests hold one to the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from urllib.parse import quote

from ruleminer.rules.mapping import iri_safe
from ruleminer.rules.values import Kind, Transformed

_NUMBERS = frozenset((Kind.INTEGER, Kind.DECIMAL))
_TEXT = frozenset((Kind.TEXT,))
_ANY = frozenset(Kind)
TRUE = ("true", "t", "yes", "y", "1", "ja", "j", "oui", "si", "sim")
FALSE = ("false", "f", "no", "n", "0", "nein", "non", "nao")
"""What stands for a truth value in columns that have none, in small letters."""
WRITTEN = ("DMY", "MDY", "YMD", "seconds", "milliseconds")
"""How days and moments are written where no column of dates holds them; the last two count from 1970 on, in UTC."""
COUNTED = {"seconds": (9, 11), "milliseconds": (12, 14)}
"""How many digits a count since 1970 has: fewer are another number, or say that there is no such moment."""
SHORTEST_DAY = 8
"""Characters of a text that is read as a day or a moment, at least."""
FARTHEST_SHIFT = 6
"""A factor is a power of ten up to this one, or one by it."""
MOST_DECIMALS = 12
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a transformation takes and gives; `parameter` says what it wants besides the value, if anything."""

    takes: frozenset[Kind]
    gives: Kind
    apply: Callable[..., str | None]
    parameter: str | None = None
    choices: tuple[str, ...] = ()
    """The parameters that there are, where they are few."""


def transformed(function: Transformed, text: str) -> str | None:
    """The text that a value with this lexical form becomes, or None if it becomes nothing."""
    return TRANSFORMATIONS[function.name].apply(text, *function.parameters)


def result_kind(function: Transformed) -> Kind:
    """The kind of what a transformation makes."""
    return TRANSFORMATIONS[function.name].gives


def parameter_problem(name: str, parameters: tuple[object, ...]) -> str | None:
    """What is wrong with the parameters of a transformation, or None."""
    wanted = TRANSFORMATIONS[name].parameter
    if wanted is None:
        return f"{name} takes a variable and nothing else" if parameters else None
    if len(parameters) != 1 or not _FITS[wanted](parameters[0]):
        return f"{name} takes a variable and {wanted}"
    return None


def shift_of(factor: Decimal) -> int | None:
    """By how many places a factor moves the decimal point; None if it is no power of ten, or too great a one."""
    sign, digits, exponent = factor.normalize().as_tuple()
    plain = not sign and digits == (1,) and isinstance(exponent, int) and 0 < abs(exponent) <= FARTHEST_SHIFT
    return exponent if plain and isinstance(exponent, int) else None


def is_plain_number(text: str) -> bool:
    """Digits, perhaps with a sign before and one dot among them; ASCII only, no blanks."""
    whole, dot, fraction = text.removeprefix("-" if text.startswith("-") else "+").partition(".")
    digits = whole + (fraction if dot else "0")
    return bool(whole) and (not dot or bool(fraction)) and digits.isascii() and digits.isdigit()


def _date(text: str) -> str | None:
    return text[:10] if _is_day(text) else None


def _is_day(text: str) -> bool:
    """An ordinary day of four-digit years; the engines write others each in its way."""
    return text[4:5] == "-" and text[7:8] == "-" and len(text) >= 10 and "BC" not in text


def _year(text: str) -> str | None:
    return (text[:4].lstrip("0") or "0") if _is_day(text) else None


def _timestamp(text: str) -> str | None:
    return f"{text[:10]} 00:00:00" if _is_day(text) else None


def _day(text: str, how: str) -> str | None:
    if how in COUNTED:
        moment = _counted_moment(text, how)
        return moment and moment[:10]
    if how == "YMD" and len(text) in (8, 14) and _are_digits(text):
        day = f"{text[:4]}-{text[4:6]}-{text[6:8]}"
        return day if _is_calendar_day(day) else None
    return _written_day(text, how) if text[10:11] in ("", " ", "T") else None


def _moment(text: str, how: str) -> str | None:
    if how in COUNTED:
        return _counted_moment(text, how)
    if how == "YMD" and len(text) == 14 and _are_digits(text):
        day, time = f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[8:10]}:{text[10:12]}:{text[12:]}"
        return f"{day} {time}" if _is_calendar_day(day) and _is_time(time) else None
    written, time = _written_day(text, how), text[11:] + (":00" if len(text) == 16 else "")
    return f"{written} {time}" if written and text[10:11] in (" ", "T") and _is_time(time) else None


def _written_day(text: str, how: str) -> str | None:
    """The day that the first ten characters are, whatever stands between its numbers."""
    year, month, day = {"DMY": (6, 3, 0), "MDY": (6, 0, 3), "YMD": (0, 5, 8)}[how]
    marks = (4, 7) if how == "YMD" else (2, 5)
    made = f"{text[year : year + 4]}-{text[month : month + 2]}-{text[day : day + 2]}"
    marked = all(text[mark : mark + 1] in ("/", ".", "-") for mark in marks)
    return made if marked and _is_calendar_day(made) else None


def _is_calendar_day(text: str) -> bool:
    numbers = text[:4], text[5:7], text[8:]
    if list(map(len, numbers)) != [4, 2, 2] or not _are_digits("".join(numbers)):
        return False
    try:
        date(*map(int, numbers))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    """Hours, minutes and seconds of a day."""
    parts = text.split(":")
    if list(map(len, parts)) != [2, 2, 2] or not _are_digits("".join(parts)):
        return False
    return parts[0] < "24" and max(parts[1:]) < "60"


def _counted_moment(text: str, how: str) -> str | None:
    least, most = COUNTED[how]
    if not (least <= len(text) <= most and _are_digits(text)):
        return None
    seconds, fraction = (text[:-3], text[-3:].rstrip("0")) if how == "milliseconds" else (text, "")
    moment = (_EPOCH + timedelta(seconds=int(seconds))).isoformat(" ")
    return f"{moment}.{fraction}" if fraction else moment


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _number(text: str) -> str | None:
    return _shifted(text.strip(" "), 0) if is_plain_number(text.strip(" ")) else None


def _shifted(text: str, places: int) -> str:
    """A plain number with its point moved, without zeros that do not count."""
    negative = text.startswith("-")
    whole, _, fraction = text.lstrip("+-").partition(".")
    if places > 0:
        padded = fraction + "0" * places
        whole, fraction = whole + padded[:places], padded[places:]
    elif places < 0:
        padded = "0" * -places + whole
        whole, fraction = padded[:places], padded[places:] + fraction
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return f"-{number}" if negative and number != "0" else number


def _times(text: str, factor: Decimal) -> str | None:
    places = shift_of(factor)
    assert places is not None
    return _shifted(text, places) if is_plain_number(text) else None


def _scale(text: str, decimals: int) -> str | None:
    """Never rounded: what needs more decimals has no such form."""
    if not is_plain_number(text):
        return None
    whole, _, fraction = text.partition(".")
    if len(fraction) > decimals:
        return None
    return f"{whole}.{fraction.ljust(decimals, '0')}" if decimals else whole


def _boolean(text: str) -> str | None:
    word = _lower(text.strip(" "))
    return "true" if word in TRUE else "false" if word in FALSE else None


def _lower(text: str) -> str:
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in text)


def _upper(text: str) -> str:
    return "".join(one.upper() if len(one.upper()) == 1 else one for one in text)


def _before(text: str, separator: str) -> str | None:
    head, found, _ = text.partition(separator)
    return head if found else None


def _after(text: str, separator: str) -> str | None:
    _, found, tail = text.partition(separator)
    return tail if found else None


def _field(text: str, name: str) -> str | None:
    value = _json(text)
    return _scalar(value.get(name)) if isinstance(value, dict) else None


def _item(text: str, number: int) -> str | None:
    value = _json(text)
    return _scalar(value[number - 1]) if isinstance(value, list) and number <= len(value) else None


def _json(text: str) -> object:
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=lambda word: json.loads("!"))
    except (ValueError, RecursionError):
        return None


def _scalar(value: object) -> str | None:
    """A JSON value that is a text, a truth value or a number; what lies deeper has no form of its own."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        text = format(value, "f") if isinstance(value, Decimal) else str(value)
        return _shifted(text, 0)
    return value if isinstance(value, str) else None


def _escaped(text: str) -> str:
    return quote(text, safe="")


def _plus(text: str) -> str:
    return quote(text, safe="").replace("%20", "+")


def _one_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _plain_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and not set(value) & set('"\\') and value.isprintable()


_FITS: Mapping[str, Callable[[object], bool]] = {
    "a text that separates": _one_text,
    "the name of a field, without quotes or backslashes": _plain_name,
    "a position, 1 or more": lambda value: type(value) is int and 1 <= value <= 1000,
    f"a number of decimals, 0 to {MOST_DECIMALS}": lambda value: type(value) is int and 0 <= value <= MOST_DECIMALS,
    "a power of ten, such as 0.01 or 100": lambda value: isinstance(value, Decimal) and shift_of(value) is not None,
    f"how it is written, one of {', '.join(WRITTEN)}": lambda value: value in WRITTEN,
}
_SEPARATOR, _NAME, _POSITION, _DECIMALS, _FACTOR, _WRITTEN = _FITS

TRANSFORMATIONS: Mapping[str, Transformation] = MappingProxyType(
    {
        "date": Transformation(frozenset((Kind.TIMESTAMP,)), Kind.DATE, _date),
        "year": Transformation(frozenset((Kind.DATE, Kind.TIMESTAMP)), Kind.INTEGER, _year),
        "timestamp": Transformation(frozenset((Kind.DATE,)), Kind.TIMESTAMP, _timestamp),
        "day": Transformation(_TEXT | _NUMBERS, Kind.DATE, _day, _WRITTEN, WRITTEN),
        "moment": Transformation(_TEXT | _NUMBERS, Kind.TIMESTAMP, _moment, _WRITTEN, WRITTEN),
        "boolean": Transformation(_TEXT | _NUMBERS, Kind.BOOLEAN, _boolean),
        "number": Transformation(_TEXT, Kind.DECIMAL, _number),
        "scale": Transformation(_NUMBERS, Kind.TEXT, _scale, _DECIMALS),
        "times": Transformation(_NUMBERS, Kind.DECIMAL, _times, _FACTOR),
        "trim": Transformation(_TEXT, Kind.TEXT, lambda text: text.strip(" ")),
        "lower": Transformation(_TEXT, Kind.TEXT, _lower),
        "upper": Transformation(_TEXT, Kind.TEXT, _upper),
        "before": Transformation(_TEXT, Kind.TEXT, _before, _SEPARATOR),
        "after": Transformation(_TEXT, Kind.TEXT, _after, _SEPARATOR),
        "field": Transformation(_TEXT, Kind.TEXT, _field, _NAME),
        "item": Transformation(_TEXT, Kind.TEXT, _item, _POSITION),
        "encoded": Transformation(_ANY, Kind.TEXT, iri_safe),
        "escaped": Transformation(_ANY, Kind.TEXT, _escaped),
        "plus": Transformation(_ANY, Kind.TEXT, _plus),
    }
)
IN_IRIS = ("encoded", "escaped", "plus")
"""The transformations that make a value a part of an IRI."""
TOTAL = frozenset(("trim", "lower", "upper", *IN_IRIS))
"""The transformations that make something of every value."""
