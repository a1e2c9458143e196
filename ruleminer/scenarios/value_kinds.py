"""Kinds of values: what a person's name, a price or a date looks like, as SQL over a draw.

Each kind is SQL for a value, given columns or expressions for a draw `h` (see draws.py) and for a unique number
`n`. Word lists are DuckDB variables, so that a long list stands in no statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from ruleminer.rules.values import Kind
from ruleminer.scenarios.domain import Attribute
from ruleminer.scenarios.vocabulary import vocabulary, word_list

_ACCENTS = str.maketrans("øØłŁıß", "oOlLis")


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value; those that share a `group` are drawn together for an entity (a name and an e-mail)."""

    sql_type: str
    kind: Kind
    sql: Callable[[str, str], str]
    group: str = ""
    distinct: int = 1
    """How many draws in a row give different values, so that one entity may have as many."""


def value_sql(attribute: Attribute, draw: str, number: str) -> str:
    """SQL for a value of a datatype property."""
    if attribute.value == "choice":
        return choice_sql(attribute.choices, draw)
    if attribute.value == "code":
        return code_sql(code_prefix(attribute.name), number)
    return VALUE_KINDS[attribute.value].sql(draw, number)


def distinct_values(attribute: Attribute) -> int:
    """How many different values an entity may have of a property."""
    return len(attribute.choices) if attribute.value == "choice" else VALUE_KINDS[attribute.value].distinct


def code_prefix(name: str) -> str:
    """Two or three capitals for the codes of a property or class."""
    capitals = "".join(character for character in name[:1].upper() + name[1:] if character.isupper())
    return (capitals if len(capitals) > 1 else name[:3].upper())[:3]


def pick_sql(words: str, draw: str) -> str:
    """SQL for a word of a list of the vocabulary."""
    return f"getvariable('rm_{words}')[1 + {draw} % {len(_lists()[words])}]"


def choice_sql(choices: tuple[str, ...], draw: str) -> str:
    """SQL for one of some texts."""
    quoted = ", ".join("'" + choice.replace("'", "''") + "'" for choice in choices)
    return f"[{quoted}][1 + {draw} % {len(choices)}]"


def code_sql(prefix: str, number: str, width: int = 5) -> str:
    """SQL for a code such as `INV-00042`, unique if the number is; longer numbers are not cut."""
    digits = f"CAST({number} AS VARCHAR)"
    return f"'{prefix}-' || lpad({digits}, CAST(greatest({width}, length({digits})) AS INTEGER), '0')"


def lexical_text_sql(value: str, kind: Kind) -> str:
    """SQL for the lexical form of a value, as facts have it (docs/architecture.md, "Values and their kinds")."""
    text = f"CAST({value} AS VARCHAR)"
    return f"rtrim(rtrim({text}, '0'), '.')" if kind is Kind.DECIMAL else text


def list_variables() -> Iterator[tuple[str, list[str]]]:
    """The DuckDB variables that the SQL of values needs, with their lists."""
    yield from ((f"rm_{name}", words) for name, words in _lists().items())


@cache
def _lists() -> dict[str, list[str]]:
    lists: dict[str, list[str]] = dict(vocabulary()["values"])
    lists["first_slugs"] = [_slug(name) for name in word_list("first_names")]
    lists["last_slugs"] = [_slug(name) for name in word_list("last_names")]
    lists["capital_qualities"] = [word.capitalize() for word in word_list("qualities")]
    return lists


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.translate(_ACCENTS))
    return re.sub(r"[^a-z]", "", plain.lower())


def _text(sql: Callable[[str, str], str], group: str = "") -> ValueKind:
    return ValueKind("VARCHAR", Kind.TEXT, sql, group)


def _word(words: str) -> ValueKind:
    return ValueKind("VARCHAR", Kind.TEXT, lambda h, n: pick_sql(words, h), distinct=len(word_list(words)))


def _integer(least: int, count: int) -> ValueKind:
    return ValueKind("INTEGER", Kind.INTEGER, lambda h, n: f"CAST({least} + {h} % {count} AS INTEGER)")


def _decimal(digits: int, scale: int, least: int, count: int) -> ValueKind:
    """Decimals from `least`, in units of the last place."""
    step, sql_type = f"0.{1:0{scale}d}", f"DECIMAL({digits},{scale})"
    whole = f"DECIMAL({digits},0)"
    return ValueKind(
        sql_type, Kind.DECIMAL, lambda h, n: f"CAST(CAST({least} + {h} % {count} AS {whole}) * {step} AS {sql_type})"
    )


def _date(first: str, days: int) -> ValueKind:
    return ValueKind("DATE", Kind.DATE, lambda h, n: f"DATE '{first}' + CAST({h} % {days} AS INTEGER)")


def _first_name(h: str, n: str) -> str:
    return pick_sql("first_names", h)


def _last_name(h: str, n: str) -> str:
    return pick_sql("last_names", f"{h} // 97")


def _email(h: str, n: str) -> str:
    first, last = pick_sql("first_slugs", h), pick_sql("last_slugs", f"{h} // 97")
    return f"{first} || '.' || {last} || {n} || '@' || {pick_sql('mail_hosts', f'{h} // 9409')}"


def _title(h: str, n: str) -> str:
    words = (
        pick_sql("capital_qualities", h),
        pick_sql("subjects", f"{h} // 79"),
        pick_sql("joints", f"{h} // 8137"),
        pick_sql("subjects", f"{h} // 89507"),
    )
    return " || ' ' || ".join(words)


def _remark(h: str, n: str) -> str:
    return f"{pick_sql('openers', h)} || '; ' || {pick_sql('closers', f'{h} // 29')} || '.'"


def _organisation(h: str, n: str) -> str:
    words = ("company_words", h), ("company_words", f"{h} // 61"), ("company_forms", f"{h} // 3721")
    return " || ' ' || ".join(pick_sql(*word) for word in words)


def _address(h: str, n: str) -> str:
    return f"CAST(1 + {h} % 199 AS VARCHAR) || ' ' || {pick_sql('streets', f'{h} // 199')}"


def _url(h: str, n: str) -> str:
    host, page = pick_sql("web_hosts", h), pick_sql("subjects", f"{h} // 7")
    return f"'https://' || {host} || '/' || {page} || '/' || {n}"


def _phone(h: str, n: str) -> str:
    return f"'+' || (30 + {h} % 60) || ' ' || (1000000 + {h} // 60 % 9000000)"


def _isbn(h: str, n: str) -> str:
    return f"'978-' || ({h} % 10) || '-' || (10000 + {h} // 11 % 90000) || '-' || (100 + {h} // 7919 % 900) || '-X'"


def _timestamp(h: str, n: str) -> str:
    return f"TIMESTAMP '2008-01-01 00:00:00' + to_seconds({h} % 536000000)"


VALUE_KINDS: dict[str, ValueKind] = {
    "person-name": _text(lambda h, n: f"{_first_name(h, n)} || ' ' || {_last_name(h, n)}", "person"),
    "first-name": _text(_first_name, "person"),
    "last-name": _text(_last_name, "person"),
    "email": _text(_email, "person"),
    "title": _text(_title),
    "short-text": _text(_remark),
    "organisation-name": _text(_organisation),
    "street-address": _text(_address),
    "postcode": _text(lambda h, n: f"lpad(CAST({h} % 100000 AS VARCHAR), 5, '0')"),
    "url": _text(_url),
    "phone": ValueKind("VARCHAR", Kind.TEXT, _phone, distinct=60),
    "isbn": _text(_isbn),
    "code": _text(lambda h, n: n),  # value_sql adds what depends on the property
    "city": _word("cities"),
    "country": _word("countries"),
    "country-code": _word("country_codes"),
    "language": _word("languages"),
    "subject": _word("subjects"),
    "colour": _word("colours"),
    "gender": _word("genders"),
    "unit": _word("units"),
    "status": _word("statuses"),
    "currency": _word("currencies"),
    "integer": _integer(1, 900),
    "small-integer": _integer(0, 21),
    "big-integer": _integer(1000, 5_000_000),
    "year": _integer(1950, 76),
    "money": ValueKind(
        "DECIMAL(12,2)",
        Kind.DECIMAL,
        lambda h, n: f"CAST(CAST({h} % 100000 * 5 AS DECIMAL(12,0)) * 0.01 AS DECIMAL(12,2))",
    ),
    "score": _decimal(4, 1, 0, 51),
    "measure": _decimal(9, 3, 1, 400_000),
    "latitude": _decimal(9, 6, -65_000_000, 135_000_001),
    "longitude": _decimal(9, 6, -180_000_000, 360_000_001),
    "boolean": ValueKind("BOOLEAN", Kind.BOOLEAN, lambda h, n: f"{h} % 7 < 3"),
    "date": _date("1996-01-01", 11_000),
    "birth-date": _date("1938-01-01", 25_000),
    "timestamp": ValueKind("TIMESTAMP", Kind.TIMESTAMP, _timestamp),
    "choice": _text(lambda h, n: h),  # likewise
}
