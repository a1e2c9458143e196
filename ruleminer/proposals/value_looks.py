"""What the values of columns look like: e-mail addresses, dates, names of people, codes; and what one would call them.

Where names are opaque, values still speak. A look is a share of sampled values; each look goes by some words, so that
a term's words can be held against it wherever vectors of meaning are at hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.transformations import FALSE, TRUE
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.structure import Structure

Floats = NDArray[np.float32]

_TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email address", re.compile(r"\S+@\S+\.\w+")),
    ("web page url", re.compile(r"(https?|ftp)://\S+|www\.\S+")),
    ("date time", re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")),
    ("phone number", re.compile(r"[+(]?\d[\d ()/-]{6,}\d")),
    ("number", re.compile(r"-?\d+([.,]\d+)?")),
    ("code abbreviation", re.compile(r"[A-Z]{1,4}")),
    ("reference code number", re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w./-]{3,24}")),
    ("person full name", re.compile(r"[^\W\d_][\w'.-]*( (van|de|da|der|von|di|la))?( [^\W\d_][\w'.-]*){1,2}")),
    ("name city country", re.compile(r"[^\W\d_]*[A-ZÀ-Þ][\w'-]{2,}")),
    ("keyword status", re.compile(r"[a-zß-ÿ-]{2,20}")),
    ("street address", re.compile(r"(\d+\w?,? \D.*|\D+ \d+\w?)")),
    ("description text", re.compile(r"(\S+\s+){4,}.*", re.DOTALL)),
    ("title", re.compile(r"(\S+\s+){2,7}\S+")),
)
_KINDS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("number count quantity", (Kind.INTEGER,)),
    ("price amount rate", (Kind.DECIMAL,)),
    ("flag yes no", (Kind.BOOLEAN,)),
    ("date time", (Kind.DATE, Kind.TIMESTAMP)),
)
LOOKS = (*(name for name, _ in _TEXTS), *(name for name, _ in _KINDS))
"""The words that each look goes by."""

_SAMPLE = 60
_DATE, _NUMBER = (next(n for n, (name, _) in enumerate(_TEXTS) if name == wanted) for wanted in ("date time", "number"))
_MOSTLY = 0.9


def looks_of(structure: Structure, database: Database) -> Mapping[Place, Floats]:
    """For each column with values: how many of a sample have each look, as a share; one statement for a table."""
    found: dict[Place, Floats] = {}
    for table in structure.schema.tables:
        profile = structure.profile.tables.get(table.name)
        if profile is None or not profile.rows:
            continue
        texts = []
        for column in table.columns:
            one = profile.columns.get(column.name)
            if one is None or not one.filled:
                continue
            look = np.zeros(len(LOOKS), np.float32)
            for number, (_, kinds) in enumerate(_KINDS, start=len(_TEXTS)):
                look[number] = column.kind in kinds
            found[Place(table.name, column.name)] = look
            if column.kind is Kind.TEXT:
                texts.append(column.name)
        for name, values in _sampled(database, table.name, texts).items():
            found[Place(table.name, name)] += text_look(values)
    return found


def spoken_kinds(structure: Structure, looks: Mapping[Place, Floats]) -> Mapping[Place, Kind]:
    """What the values of each column are, whatever its type: days and numbers may be kept as texts, truth as 1."""
    found: dict[Place, Kind] = {}
    for place, look in looks.items():
        kind = structure.schema.type_of(*place).kind
        one = structure.profile.column(*place)
        values = one.all_values if one is not None and one.distinct == 2 else ()
        if values and {text.strip(" ").casefold() for text in values} <= {*TRUE, *FALSE}:
            kind = Kind.BOOLEAN
        elif kind is Kind.TEXT and look[_DATE] >= _MOSTLY:
            kind = Kind.DATE
        elif kind is Kind.TEXT and look[_NUMBER] >= _MOSTLY:
            kind = Kind.DECIMAL
        found[place] = Kind.DATE if kind is Kind.TIMESTAMP else kind
    return found


def text_look(values: list[str]) -> Floats:
    """The share of some texts that have each look; the first that fits a text counts."""
    look = np.zeros(len(LOOKS), np.float32)
    for value in values:
        for number, (_, pattern) in enumerate(_TEXTS):
            if pattern.fullmatch(value.strip()):
                look[number] += 1.0
                break
    return look / np.float32(max(1, len(values)))


def _sampled(database: Database, table: str, columns: list[str]) -> dict[str, list[str]]:
    """Some values of each column; none where the database refuses, for a look is no more than a hint."""
    if not columns:
        return {}
    shown = ", ".join(database.dialect.text_of(quote_identifier(name)) for name in columns)
    sql = f"SELECT {shown} FROM {database.quoted(table)} LIMIT {_SAMPLE}"
    try:
        rows = patiently(lambda: list(database.rows(sql)))
    except ConnectionLostError:
        raise
    except DatabaseError:
        return {}
    return {
        name: [str(row[number])[:200] for row in rows if row[number] not in (None, "")]
        for number, name in enumerate(columns)
    }
