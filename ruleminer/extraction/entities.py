"""What the arguments of examples stand for: a key, a key of a table (`customer:17`), or what people call the thing.

`AC/DC` picks one row of Artist by a column that names its rows, so it is read as that row's key. A name is read so only
where an entity is meant, and not where the text is a key or a link itself. All examples of one argument are read
by the table in which most of them name one row each, and those that it leaves by the next: a term may have several.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ruleminer.errors import ConnectionLostError, DatabaseError, InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, PropertyKind
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Table, nearest, quote_identifier
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import likeness

SPACES = ("space1", "space2")
"""Columns of facts: the number of the space that an argument is a key in, where that is known."""

_LONGEST = 200  # characters of a name that is looked up
_WORD, _CLOSE = re.compile(r"\w+"), 0.8  # what a table's name may look like, and one that is mistyped


@dataclass(frozen=True, slots=True)
class Reading:
    """How the examples of one argument were read: as names in a column, of how many, and what else they could be."""

    predicate: str
    position: int
    table: str
    column: str
    read: int
    of: int
    others: tuple[str, ...] = ()  # tables in which as many of them name a row

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "predicate": self.predicate,
            "argument": self.position,
            "read_as": f"{self.table}.{self.column}",
            "read": self.read,
            "of": self.of,
            "others": list(self.others),
        }


def with_spaces(facts: pa.Table) -> pa.Table:
    """The facts with columns for the spaces of their arguments, unknown if nobody has told."""
    for name in SPACES:
        if name not in facts.column_names:
            facts = facts.append_column(name, pa.nulls(facts.num_rows, pa.int32()))
    return facts


def read_entities(
    facts: pa.Table, structure: Structure, database: Database, ontology: Ontology | None
) -> tuple[pa.Table, tuple[Reading, ...]]:
    """The facts with keys in place of `table:key` and of names, and how names were read."""
    facts = with_spaces(facts)
    numbers = {place: number for number, space in enumerate(structure.spaces) for place in space.places}
    read: dict[int, dict[int, tuple[str, int | None]]] = {1: {}, 2: {}}  # position → row → key and space
    waiting: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for position, row, predicate, text in _in_question(facts, ontology):
        told = _of_table(text, structure)
        if told is not None:
            read[position][row] = told[0], None if told[1] is None else numbers.get(told[1])
        elif ontology is not None and _may_be_name(text) and _is_entity(ontology, predicate, position):
            waiting.setdefault((predicate, position), []).append((row, text))
    readings = []
    names = _Names(structure, database, {text for rows in waiting.values() for _, text in rows})
    for (predicate, position), rows in sorted(waiting.items()):
        keys: dict[str, tuple[str, int | None]] = {}
        for reading, found in names.read(predicate, position, [text for _, text in rows]):
            readings.append(reading)
            key_column = Place(reading.table, structure.schema.table(reading.table).own_key or "")
            keys |= {text: (key, numbers.get(key_column)) for text, key in found.items()}
        read[position] |= {row: keys[text] for row, text in rows if text in keys}
    for position, changed in read.items():
        if changed:
            facts = _changed(facts, f"arg{position}", {row: key for row, (key, _) in changed.items()})
            facts = _changed(facts, SPACES[position - 1], {row: space for row, (_, space) in changed.items()})
            untyped = [row for row, (_, space) in changed.items() if space is not None]
            facts = _changed(facts, f"kind{position}", dict.fromkeys(untyped))
    return facts, tuple(readings)


def _in_question(facts: pa.Table, ontology: Ontology | None) -> Iterator[tuple[int, int, str, str]]:
    """The arguments (position, row, predicate, text) that may be a name or `table:key`: neither IRIs nor numbers."""
    known = facts["predicate"].unique().to_pylist()
    for position in (1, 2):
        entities = [name for name in known if ontology is None or _may_be_entity(ontology, name, position)]
        texts = facts[f"arg{position}"]
        as_they_are = pc.match_substring_regex(texts, r"^([^:]*://.*|-?\d+(\.\d+)?)$")
        asked = pc.and_(pc.invert(as_they_are), pc.is_in(facts["predicate"], pa.array(entities, pa.string())))
        rows = pc.indices_nonzero(pc.fill_null(asked, False))
        some = facts.select(["predicate", f"arg{position}"]).take(rows)
        told = zip(rows.to_pylist(), some["predicate"].to_pylist(), some[f"arg{position}"].to_pylist(), strict=True)
        yield from ((position, row, predicate, text) for row, predicate, text in told)


def _changed(facts: pa.Table, name: str, values: Mapping[int, str | int | None]) -> pa.Table:
    """The facts with other values in some rows of a column."""
    column = facts[name].to_pylist()
    for row, value in values.items():
        column[row] = value
    return facts.set_column(facts.column_names.index(name), name, pa.array(column, facts.schema.field(name).type))


def _of_table(text: str, structure: Structure) -> tuple[str, Place | None] | None:
    """`customer:17` as the key 17 of the table customer; None if the text does not look so.

    A key of several columns, `line:17/3`, is put together like an IRI, and belongs to no space of single columns.
    """
    name, colon, key = text.partition(":")
    if not colon or not key or key.startswith("//"):
        return None
    tables = structure.schema.tables
    wanted = name.strip()
    near = [table for table in tables if table.name.lower() == wanted.lower()]
    table = next((table for table in near if table.name == wanted), near[0] if len(near) == 1 else None)
    if table is None:
        close = difflib.get_close_matches(wanted.lower(), [one.name.lower() for one in tables], n=1, cutoff=_CLOSE)
        if close and _WORD.fullmatch(wanted):
            raise InputError(f"{text}: the database has no table {wanted}{nearest(wanted, [t.name for t in tables])}")
        return None
    own = table.own_key
    if own is None and not table.primary_key:
        raise InputError(f"{text}: the table {table.name} has no key to look {key} up by")
    if own is None and key.count("/") != len(table.primary_key) - 1:
        columns = "/".join(table.primary_key)
        raise InputError(f"{text}: the key of {table.name} has several columns; write {table.name}:{columns}")
    return key.strip(), None if own is None else Place(table.name, own)


def _may_be_entity(ontology: Ontology, predicate: str, place: int) -> bool:
    term = ontology.find(predicate)
    return isinstance(term, OntologyClass) or place == 1 or term.kind is not PropertyKind.DATATYPE


def _is_entity(ontology: Ontology, predicate: str, place: int) -> bool:
    term = ontology.find(predicate)
    if isinstance(term, OntologyClass) or place == 1 or term.kind is PropertyKind.OBJECT:
        return True
    return _only_classes(ontology, predicate)


def _only_classes(ontology: Ontology, predicate: str) -> bool:
    """Whether all that a property is declared to lead to are classes, though it may lead to a text as well."""
    term = ontology.find(predicate)
    ranges = () if isinstance(term, OntologyClass) else term.ranges
    return bool(ranges) and all(isinstance(ontology.get(iri), OntologyClass) for iri in ranges)


def _may_be_name(text: str) -> bool:
    is_number = text.removeprefix("-").replace(".", "", 1).isdecimal()
    return 0 < len(text) <= _LONGEST and not is_number and "://" not in text


class _Names:
    """Which rows the texts of examples name, asked once for all of them: a statement for each column of names."""

    def __init__(self, structure: Structure, database: Database, texts: Iterable[str]) -> None:
        self._structure = structure
        self._texts = sorted(texts)
        self._keys: set[str] = set()  # texts that are keys or links themselves
        self._found: dict[tuple[str, str], dict[str, list[str]]] = {}  # table and column → name → keys of its rows
        if not self._texts:
            return
        for table in structure.schema.tables:
            own = table.own_key
            naming = structure.naming_columns(table) if own else ()
            texts = [column.name for column in table.columns if column.kind is Kind.TEXT]
            linking = [name for name in texts if structure.space(Place(table.name, name))]
            for column in (*naming, *linking):
                rows = self._asked(database, table, column, column if column in linking else own or column)
                if column in linking:
                    self._keys.update(rows)
                elif rows:
                    self._found[table.name, column] = rows

    def _asked(self, database: Database, table: Table, column: str, key: str) -> dict[str, list[str]]:
        value, own = (database.dialect.text_of(quote_identifier(name)) for name in (column, key))
        sql = (
            f"WITH ruleminer_names AS {database.dialect.value_list} SELECT DISTINCT {value}, {own} "
            f"FROM {database.quoted(table.name)} WHERE {value} IN (SELECT v FROM ruleminer_names)"
        )
        found: dict[str, list[str]] = {}
        try:
            for name, one in patiently(lambda: list(database.rows(sql, (json.dumps(self._texts),)))):
                found.setdefault(name, []).append(one)
        except ConnectionLostError:
            raise
        except DatabaseError:  # a column that cannot be asked names nothing
            return {}
        return found

    def read(self, predicate: str, place: int, texts: Sequence[str]) -> Iterator[tuple[Reading, Mapping[str, str]]]:
        """How the texts of one argument are read, with their keys, table by table: what one leaves, another may name.

        Nothing is read as a name if most of the texts are keys already.
        """
        wanted = set(texts)
        if len(wanted & self._keys) * 2 > len(wanted):
            return
        left = set(wanted)
        while left:
            named = {
                where: {text: rows[text][0] for text in left if len(rows.get(text, ())) == 1}
                for where, rows in self._found.items()
            }
            most = max(map(len, named.values()), default=0)
            if not most:
                return
            best = [where for where, keys in named.items() if len(keys) == most]
            table, column = max(best, key=lambda where: (likeness(predicate, where[0]), -best.index(where)))
            others = tuple(sorted({other for other, _ in best} - {table}))
            yield Reading(predicate, place, table, column, most, len(wanted), others), named[table, column]
            left -= named[table, column].keys()
