"""RDF terms as N-Triples text: the natural mapping of SQL values, and strings made safe for IRIs and blank nodes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"

Lexical = tuple[str, str | None]
"""A value's text and its datatype; None stands for a plain string."""

# RFC 3987: iunreserved stays, all else is percent-encoded (R2RML 7.3, "IRI-safe").
_NOT_SAFE = re.compile(
    r"[^A-Za-z0-9\-._~\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) | 0xFFFD)}" for plane in range(1, 14))
    + "\U000e1000-\U000efffd"
    + "]"
)
_NO_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_TO_ESCAPE = re.compile(r'[\x00-\x1f\x7f"\\\ud800-\udfff]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NO_LABEL = re.compile(r"[^A-Za-z0-9]")


def natural(value: object) -> Lexical:
    """The natural RDF literal of a SQL value, in canonical form (R2RML 10.2).

    >>> natural(30.0), natural(Decimal("12.300")), natural(datetime(2014, 5, 4, 10))[0]
    (('3.0E1', 'double'), ('12.3', 'decimal'), '2014-05-04T10:00:00')
    """
    make = _NATURAL.get(type(value))
    return make(value) if make else (_other_text(value), None)


def iri_safe(text: str) -> str:
    """Text to put into an IRI: everything that has a meaning there is percent-encoded, letters of any script stay."""
    return _NOT_SAFE.sub(_percent, text)


def is_safe_in_iri(text: str) -> bool:
    """Whether `iri_safe` would leave the text as it is."""
    return _NOT_SAFE.search(text) is None


def is_absolute(iri: str) -> bool:
    """Whether a string starts like an absolute IRI."""
    return _SCHEME.match(iri) is not None


def is_iri(text: str) -> bool:
    """Whether a string can stand as an absolute IRI."""
    return is_absolute(text) and not _NO_IRI.search(text)


def fits_in_iri(text: str) -> bool:
    """Whether text has no character that no IRI may have."""
    return not _NO_IRI.search(text)


def iri(text: str) -> str:
    """An IRI as N-Triples."""
    return f"<{text}>"


def blank(text: str) -> str:
    """The blank node of a string: one node per string, whatever characters it has."""
    return "_:b" + _NO_LABEL.sub(lambda found: f"_{ord(found.group()):x}_", text)


def needs_escape(text: str) -> bool:
    """Whether a literal's text cannot stand as it is."""
    return _TO_ESCAPE.search(text) is not None


def literal(text: str, datatype: str | None = None, language: str | None = None) -> str:
    """A literal as N-Triples; `datatype` is a whole IRI."""
    if needs_escape(text):
        text = _TO_ESCAPE.sub(_escape, text)
    if language:
        return f'"{text}"@{language}'
    return f'"{text}"^^<{datatype}>' if datatype and datatype != f"{XSD}string" else f'"{text}"'


def double_form(value: float) -> str:
    """The canonical form of an xsd:double."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("INF" if value > 0 else "-INF")
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{exponent + len(digits) - 1 if value else 0}"


def _decimal_form(value: Decimal) -> str:
    if not value.is_finite():  # PostgreSQL's numeric has them, xsd:decimal has not
        return str(value)
    # normalize() would round to 28 digits.
    return str(int(value)) if value == value.to_integral_value() else format(value, "f").rstrip("0")


def _instant(value: datetime) -> str:
    zone = ""
    if value.tzinfo is not None:
        value, zone = value.astimezone(UTC).replace(tzinfo=None), "Z"
    text = value.isoformat("T")
    return (text.rstrip("0") if "." in text else text) + zone


_NATURAL: dict[type, Callable[[Any], Lexical]] = {
    str: lambda value: (value, None),
    int: lambda value: (str(value), "integer"),
    Decimal: lambda value: (_decimal_form(value), "decimal"),
    float: lambda value: (double_form(value), "double"),
    bool: lambda value: ("true" if value else "false", "boolean"),
    datetime: lambda value: (_instant(value), "dateTime"),
    date: lambda value: (value.isoformat(), "date"),
    time: lambda value: (value.isoformat(), "time"),
    bytes: lambda value: (value.hex().upper(), "hexBinary"),
    bytearray: lambda value: (value.hex().upper(), "hexBinary"),
    memoryview: lambda value: (value.hex().upper(), "hexBinary"),
}


def _other_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found.group().encode("utf-8", "surrogatepass"))


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if "\ud800" <= character <= "\udfff":  # half a character is none
        return "\\uFFFD"
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"
