"""How far into a rule's extension its examples reach.

The size principle takes examples for a random draw from all that a rule derives. People take the first rows, by
whatever key a table has: a draw from the whole would then speak for the smallest table that has such rows, or for a
condition that the first rows share (all products S10_… are of the scale 1:10). So the examples may as well be a draw
from the beginning: as much of the extension as lies up to the greatest key that they name. Where keys that lie close
together are numbers, the profile tells how much that is; else the database is asked for the share of rows up to that
key, of those that fill the rule's columns: the first product that has a weight may be the five hundredth. Of a compound
key each column is tried. Where examples are scattered, the beginning is the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from ruleminer.rules.transformations import IN_IRIS
from ruleminer.rules.values import Kind, Place, Rule, Transformed, Variable
from ruleminer.structure.structure import Structure

_DENSE = 0.95  # share of the numbers between the least and the greatest key that must be keys
_MOST_ROWS = 1_000_000  # of a table that is asked for the share of its rows up to a key
_WHOLE = re.compile(r"-?\d{1,18}")

Fact = tuple[str, ...]


class End(NamedTuple):
    """The greatest value that examples name of a column that names things, in rows that fill some other columns."""

    place: Place
    value: str
    filled: tuple[str, ...] = ()


def reach_of(facts: Iterable[Fact], size: float, shares: Iterable[float]) -> float:
    """How many facts a rule derives up to the ends that these facts of it reach, by the shares of rows up to them."""
    return min(size, max(min(shares, default=1.0) * size, float(len(set(facts)))))


def ends_of(rule: Rule, facts: Sequence[Fact], structure: Structure) -> list[End]:
    """How far facts of a rule reach into the columns that name their things."""
    found: list[End] = []
    for number, argument in enumerate(rule.arguments):
        naming = list(_naming(rule, argument, structure))
        values = _values(rule, argument, [fact[number] for fact in facts]) if naming and facts else None
        for variable, place in naming if values is not None else ():
            known = (values or {})[variable]
            if structure.schema.type_of(*place).kind is Kind.TEXT:
                found.append(End(place, max(known), _sparse(rule, variable, place, structure)))
            elif all(map(_WHOLE.fullmatch, known)):
                found.append(End(place, max(known, key=int), _sparse(rule, variable, place, structure)))
    return found


def _sparse(rule: Rule, variable: Variable, place: Place, structure: Structure) -> tuple[str, ...]:
    """The columns that a rule asks to be filled in the row that names a thing, and that some rows leave empty."""
    profiled = structure.profile.tables.get(place.table)
    if profiled is None:
        return ()
    (atom,) = [one for one in rule.body if one.table == place.table and (place.column, variable) in one.columns][:1]
    others = (name for name, term in atom.columns if isinstance(term, Variable) and name != place.column)
    return tuple(sorted(name for name in others if (one := profiled.columns.get(name)) and one.filled < profiled.rows))


def known_share(end: End, structure: Structure) -> float | None:
    """The share of a column's values up to an end, if the profile tells it: numbers that lie close together."""
    profile = structure.profile.column(*end.place)
    if structure.schema.type_of(*end.place).kind is not Kind.INTEGER or profile is None or profile.span is None:
        return None
    if end.filled:
        return None
    low, high = profile.span
    if profile.distinct < _DENSE * (high - low + 1):
        return None
    return min(1.0, max(1, int(end.value) - low + 1) / max(1, high - low + 1))


def can_be_asked(end: End, structure: Structure) -> bool:
    """Whether the share of rows up to an end is worth a look at all of them."""
    known = structure.profile.tables.get(end.place.table)
    return known is not None and not known.trouble and known.rows <= _MOST_ROWS


def shares_of(ends: Iterable[End], structure: Structure, asked: Mapping[End, float]) -> list[float]:
    """The shares of rows up to these ends, as far as they are known."""
    told = (asked[end] if end in asked else known_share(end, structure) for end in ends)
    return [share for share in told if share is not None]


def _naming(rule: Rule, argument: Variable, structure: Structure) -> Iterator[tuple[Variable, Place]]:
    """The variables of an argument whose columns name things, alone or as a part of a compound key or link."""
    variables = rule.variables_of(argument)
    for variable in dict.fromkeys(variables):
        place = rule.places_of(variable)[0]
        if place not in structure.schema:
            continue
        table = structure.schema.table(place.table)
        compound = [key for key in (table.primary_key, *(link.columns for link in table.foreign_keys)) if len(key) > 1]
        if structure.space(place) is None and not any(place.column in key for key in compound):
            continue
        if structure.schema.type_of(*place).kind in (Kind.INTEGER, Kind.TEXT):
            yield variable, place


def _values(rule: Rule, argument: Variable, texts: Sequence[str]) -> dict[Variable, list[str]] | None:
    """What of an argument's texts comes from each variable of it; None where that cannot be told."""
    concat = rule.definition_of(argument)
    if concat is None:
        return {argument: list(texts)}
    if any(part.name not in IN_IRIS for part in concat.transformations):
        return None
    pattern = re.compile("".join(re.escape(p) if isinstance(p, str) else "(.+?)" for p in concat.parts), re.DOTALL)
    matches = [match.groups() for text in texts if (match := pattern.fullmatch(text))]
    if len(matches) < len(texts):
        return None
    filled = [part for part in concat.parts if not isinstance(part, str)]
    found: dict[Variable, list[str]] = {}
    for part, values in zip(filled, zip(*matches, strict=True), strict=True):
        if isinstance(part, Transformed):
            found[part.variable] = [unquote_plus(value) if part.name == "plus" else unquote(value) for value in values]
        else:
            found[part] = list(values)
    return found
