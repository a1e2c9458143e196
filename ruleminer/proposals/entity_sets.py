"""Sets of entities that rules speak of, and how far one lies in another: the whole of it, by one statement per space.

A set is a column that names entities, or the rows of a key that a code picks out or that fill some column. For each
space every value is marked with the sets that it lies in, and the marks are counted; from these counts follow all
shares. However many rules there are, there are no more statements than spaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.literals import constant_sql
from ruleminer.rules.values import Constant, Place, Rule, Variable
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.spaces import compound_root
from ruleminer.structure.structure import Structure

Floats = NDArray[np.float32]

_BITS = 40  # marks that one number holds: a sum of them is exact on all engines
_MOST_MARKS = 20_000  # different combinations that are read; the rarest beyond are left out


@dataclass(frozen=True, slots=True)
class EntitySet:
    """The values of a column, or of a key where another column of the row holds a value (this one, or any)."""

    place: Place
    where: str | None = None
    value: Constant | None = None


NOTHING = EntitySet(Place("", ""))
"""No entities at all: the set of a rule that is not there, and of an argument that is a value."""


def entity_set(rule: Rule, argument: Variable, structure: Structure) -> EntitySet:
    """The set that an argument of a rule ranges over, as near as sets of this kind come to it."""
    variables = rule.variables_of(argument)
    if len(variables) > 1:  # all rows that a key of several columns names
        root = compound_root([rule.places_of(variable)[0] for variable in variables], structure.schema)
        return EntitySet(Place(root[0].table, ",".join(sorted(place.column for place in root))))
    if not variables:
        return NOTHING
    smallest: tuple[int, EntitySet] | None = None
    for atom in rule.body:
        for column in atom.columns_of(*variables):
            own = EntitySet(Place(atom.table, column))
            profile = structure.profile.tables.get(atom.table)
            known = profile.columns.get(column) if profile else None
            count = known.distinct if known else 0
            table = structure.schema.table(atom.table)
            if profile and (column in table.keys or column in table.primary_key):
                for other, term in atom.columns:
                    if isinstance(term, Constant):
                        own, count = EntitySet(own.place, other, term), count // 2
                        break
                    beside = profile.columns.get(other)
                    if other != column and beside is not None and beside.filled < profile.rows:
                        own, count = EntitySet(own.place, other), min(count, beside.filled)
            if smallest is None or count < smallest[0]:
                smallest = count, own
    return NOTHING if smallest is None else smallest[1]


Overlaps = dict[tuple[EntitySet, ...], NDArray[np.float64] | None]
"""How many values each two sets of a space share; None if the database refuses."""


def shares(
    sets: Sequence[EntitySet], structure: Structure, database: Database, known: Overlaps | None = None
) -> Floats:
    """How much of each set lies in each other: (sets, sets), row in column; 0 where two are of different spaces.

    Of a space whose sets are `known` nothing is asked, in whatever order they come.
    """
    known = {} if known is None else known
    inside = np.zeros((len(sets), len(sets)), np.float32)
    by_space: dict[Place, list[int]] = {}
    for number, one in enumerate(sets):
        if one is not NOTHING:
            inside[number, number] = 1.0
            space = structure.space(one.place)
            if space is not None:
                by_space.setdefault(space.key, []).append(number)
    for members in by_space.values():
        if len(members) > 1:
            members.sort(key=lambda number: _order(sets[number]))
            own = tuple(sets[number] for number in members)
            if own not in known:
                known[own] = _overlap(own, structure, database)
            overlap = known[own]
            if overlap is not None:
                size = np.maximum(np.diag(overlap), 1.0)
                inside[np.ix_(members, members)] = overlap / size[:, None]
    return inside


def _order(one: EntitySet) -> tuple[str, ...]:
    return (*one.place, one.where or "", repr(one.value))


def _overlap(sets: Sequence[EntitySet], structure: Structure, database: Database) -> NDArray[np.float64] | None:
    """How many values each two sets share; None if the database refuses."""
    words = -(-len(sets) // _BITS)
    parts = list(_marked(sets, words, structure, database))
    sums = ", ".join(f"SUM(w{n}) AS w{n}" for n in range(words))
    names = ", ".join(f"w{n}" for n in range(words))
    sql = (
        f"SELECT {names}, count(*) AS c FROM "
        f"(SELECT v, {sums} FROM ({' UNION ALL '.join(parts)}) AS m GROUP BY v) AS s "
        f"GROUP BY {names} ORDER BY c DESC, {names} LIMIT {_MOST_MARKS}"
    )
    try:
        rows = patiently(lambda: list(database.rows(sql)))
    except ConnectionLostError:
        raise
    except DatabaseError:
        return None
    marks = np.zeros((len(rows), len(sets)))
    for number, row in enumerate(rows):
        for word in range(words):
            bits = int(row[word] or 0)
            for bit in range(min(_BITS, len(sets) - word * _BITS)):
                marks[number, word * _BITS + bit] = bits >> bit & 1
    counts = np.array([float(row[words]) for row in rows])
    return np.asarray(marks.T @ (marks * counts[:, None]))


def _marked(sets: Sequence[EntitySet], words: int, structure: Structure, database: Database) -> Iterable[str]:
    """For each column one SELECT of its values, each once, with the marks of the sets that it lies in."""
    numbered = sorted(enumerate(sets), key=lambda pair: pair[1].place)
    for place, group in groupby(numbered, key=lambda pair: pair[1].place):
        column = quote_identifier(place.column)
        marks: list[list[str]] = [[] for _ in range(words)]
        for number, one in group:
            word, bit = divmod(number, _BITS)
            marks[word].append(_mark(one, 1 << bit, structure, database))
        whole = database.dialect.whole_type
        text = database.dialect.text_of(column)
        if structure.schema.type_of(*place).padded:
            text = database.dialect.unpadded(text)
        is_key = place.column in structure.schema.table(place.table).keys
        if not is_key:  # a value is marked if any of its rows is
            marks = [[f"MAX({mark})" for mark in some] for some in marks]
        values = ", ".join(f"CAST({' + '.join(some) or '0'} AS {whole}) AS w{n}" for n, some in enumerate(marks))
        grouped = "" if is_key else f" GROUP BY {text}"
        yield f"SELECT {text} AS v, {values} FROM {database.quoted(place.table)} WHERE {column} IS NOT NULL{grouped}"


def _mark(one: EntitySet, bit: int, structure: Structure, database: Database) -> str:
    if one.where is None:
        return str(bit)
    other = quote_identifier(one.where)
    if one.value is None:
        return f"CASE WHEN {other} IS NOT NULL THEN {bit} ELSE 0 END"
    literal = constant_sql(one.value, database.dialect).sql(database.dialect.name)
    if structure.schema.type_of(one.place.table, one.where).padded:
        other = database.dialect.unpadded(other)
    return f"CASE WHEN {other} = {literal} THEN {bit} ELSE 0 END"
