"""Columns in which what stands for nothing is a habit: an empty text, -1 among positive numbers, 9999-12-31.

A column that hardly repeats a value has no frequent ones in its profile: then the database is asked, once a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.expressions import column_of
from ruleminer.rules.literals import text_sql
from ruleminer.rules.values import Kind, Place
from ruleminer.structure.profile import ColumnProfile
from ruleminer.structure.structure import Structure

_OFTEN = 0.05  # share of the rows from which it is a habit; in fewer it is a slip of the data
_MANY = 10  # values of numbers beside which -1 is none of them: 1 and -1 are votes
_FAR = "9999-12-31"
_UTC = "+00"  # which an engine's own text of a moment may end in; no lexical form does
_MINUS_ONE = re.compile(r"-1([.]0+)?")


def often_nothing(places: Iterable[Place], derivations: Derivations) -> dict[Place, str]:
    """What stands for nothing in some columns, where it does so often; columns of links and keys are left out."""
    structure = derivations.structure
    found: dict[Place, str] = {}
    asked: dict[str, dict[Place, str]] = {}
    for place in sorted(set(places)):
        own = structure.profile.column(*place)
        text = None if own is None or structure.space(place) else _nothing_of(own, place, structure)
        if own is None or text is None:
            continue
        if not own.common:
            asked.setdefault(place.table, {})[place] = text
        elif dict(own.common).get(text, 0) >= _OFTEN * own.filled:
            found[place] = text
    for table, texts in asked.items():
        found |= _counted(table, texts, derivations)
    return found


def _nothing_of(own: ColumnProfile, place: Place, structure: Structure) -> str | None:
    """What would stand for nothing in a column, by its kind and its ends."""
    known = structure.schema.type_of(*place)
    if known.kind is Kind.TEXT:
        return None if known.is_array else ""
    if known.kind in (Kind.INTEGER, Kind.DECIMAL):
        is_most_frequent = not own.common or own.common[0][0] == "-1"
        return "-1" if _MINUS_ONE.fullmatch(own.low or "") and own.distinct > _MANY and is_most_frequent else None
    if known.kind in (Kind.DATE, Kind.TIMESTAMP):
        high = own.high or ""
        return high.removesuffix(_UTC) if high.startswith(_FAR) else None
    return None


def _counted(table: str, texts: Mapping[Place, str], derivations: Derivations) -> dict[Place, str]:
    """Those of a table's columns that have their text often; none where the database does not say."""
    structure, database = derivations.structure, derivations.database
    dialect = database.dialect
    forms = []
    for place, text in texts.items():
        known = structure.schema.type_of(*place)
        form = dialect.lexical(column_of("t", place.column), known).sql(dialect.name)
        forms.append(f"sum(CASE WHEN {form} = {text_sql(text, dialect).sql(dialect.name)} THEN 1 ELSE 0 END)")
    counts = derivations.one_row("columns", f"SELECT {', '.join(forms)} FROM {database.quoted(table)} AS t")
    found = {}
    for (place, text), count in zip(texts.items(), counts or (None,) * len(texts), strict=True):
        own = structure.profile.column(*place)
        if own is not None and (count or 0) >= max(1.0, _OFTEN * own.filled):
            found[place] = text
    return found
