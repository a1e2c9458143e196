"""What the arguments of examples stand for: a key, a key of a table (`customer:17`), or what people call the thing.

Whoever reads examples reads them here: extraction, and whoever holds a mapping against them.

`AC/DC` picks one row of Artist by a column that names its rows, so it is read as that row's key. A name is read so only
where an entity is meant, and not where the text is a key or a link itself. Where the ontology allows a text as well,
the thing is meant if a link that is called like the property leads to where all its examples are names, and a class
that it may lead to has examples of its own: who publishes addresses as things does not mean a text by `address`. What
several rows or tables are called has several readings, in this order: first the table in which most examples of the
same argument stand. They compete, and the one whose rules derive most of the other examples is taken (`candidates.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ruleminer.errors import InputError
from ruleminer.extraction.entity_names import Choice, Names, rows_with_keys
from ruleminer.extraction.table_keys import key_of, may_be_name, no_key, of_table
from ruleminer.problem.facts import FactKey, fact_keys
from ruleminer.problem.ontology import Ontology, OntologyClass, PropertyKind
from ruleminer.rules.mapping import LOOKS_LIKE_IRI, iri_safe, looks_like_iri
from ruleminer.rules.values import Place
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import likeness

SPACES = ("space1", "space2")
"""Columns of facts: the number of the space that an argument is a key in, where that is known."""

_LONGEST = 200  # characters of a name that is looked up
_ID = re.compile(r"_?id$", re.IGNORECASE)  # at the end of a link's name
_CALLED = 0.9  # how alike a link's column and a property are that are called the same
_SEGMENT = re.compile(r"[^/#]+$")  # of an IRI

READ = ("said", "turn", "tables")
"""Columns of facts with several readings: which example it is, which reading of it and by which tables, from 0 on."""


KeyOf = tuple[str, tuple[str, ...]]
"""The one table that a key is told to be of, and the columns of that key."""

Readings = tuple[Choice | None, ...]
"""Of each argument of a fact: the row that it was read as; None where it stayed what it was."""


@dataclass(frozen=True, slots=True)
class Named:
    """An example whose arguments were read as names, with all readings, the likeliest first."""

    predicate: str
    texts: tuple[str | None, ...]
    readings: tuple[Readings, ...]


@dataclass(frozen=True, slots=True)
class Entities:
    """Examples with keys in place of names, each by its first reading; and what else some can be read as."""

    facts: pa.Table
    others: pa.Table  # all readings of facts that have several, with the columns of `facts` and `READ`
    named: Mapping[int, Named]  # by row of the examples
    keyed: Mapping[tuple[int, int], Choice] = field(default_factory=dict)  # `table:key`, by row and position
    hints: Mapping[str, str] = field(default_factory=dict)  # what to say of texts, if they stand nowhere
    compound: Mapping[str, KeyOf] = field(default_factory=dict)  # keys with a slash → whose they are
    bare: Sequence[Mapping[str, str]] = ()  # numbers among names of one table

    def meanings(self, row: int, positive: bool = True) -> tuple[Readings, ...]:
        """All readings of an example, or those that a counter-example denies; what `table:key` tells stands in all."""
        named = self.named.get(row)
        ways = named.readings if named is not None else ((None, None),)
        if not positive:
            ways = tuple(_of_likeliest(ways))
        keyed = (self.keyed.get((row, 1)), self.keyed.get((row, 2)))
        return tuple((one[0] or keyed[0], one[1] or keyed[1]) for one in ways)

    def told(self, chosen: Mapping[int, int]) -> dict[str, list[dict[str, object]]]:
        """Plain values: how names were read, and which of them could be read otherwise; `chosen` are turns by row."""
        asked: dict[tuple[str, int], set[str]] = {}
        read: dict[tuple[str, int, str], set[str]] = {}
        doubtful: dict[tuple[str, int, str], dict[str, object]] = {}
        for row, one in self.named.items():
            taken = one.readings[chosen.get(row, 0)]
            for place, (text, choice) in enumerate(zip(one.texts, taken, strict=True), 1):
                if text is None:
                    continue
                asked.setdefault((one.predicate, place), set()).add(text)
                if choice is None:
                    continue
                read.setdefault((one.predicate, place, f"{choice.table}.{choice.column}"), set()).add(text)
                others = dict.fromkeys(
                    str(other[place - 1] or text) for other in one.readings if other[place - 1] != choice
                )
                if others:
                    told = {"text": text, "read_as": str(choice), "others": list(others)}
                    doubtful[one.predicate, place, text] = {"predicate": one.predicate, "argument": place, **told}
        names: list[dict[str, object]] = [
            {
                "predicate": predicate,
                "argument": place,
                "read_as": where,
                "read": len(texts),
                "of": len(asked[predicate, place]),
            }
            for (predicate, place, where), texts in sorted(read.items())
        ]
        bare: list[dict[str, object]] = [dict(one) for one in self.bare]
        found = {"entities": names, "ambiguous": [doubtful[name] for name in sorted(doubtful)]}
        return {**found, "bare": bare} if bare else found


def with_spaces(facts: pa.Table) -> pa.Table:
    """The facts with columns for the spaces of their arguments, unknown if nobody has told."""
    for name in SPACES:
        if name not in facts.column_names:
            facts = facts.append_column(name, pa.nulls(facts.num_rows, pa.int32()))
    return facts


def read_entities(
    facts: pa.Table,
    structure: Structure,
    database: Database,
    ontology: Ontology | None,
    lines: Mapping[FactKey, str] | None = None,
) -> Entities:
    """The facts with keys in place of `table:key` and of names, and how names were read.

    A counter-example by a name that several rows of the likeliest table have is one for each of them. `lines` tell
    where facts stand, for what is wrong with them.
    """
    given = facts
    facts = with_spaces(facts)
    schema = structure.schema
    numbers = {place: number for number, space in enumerate(structure.spaces) for place in space.places}
    keyed: dict[tuple[int, int], Choice] = {}  # row and position
    asked: list[tuple[int, int, str, Choice]] = []  # behind a table's name, and may be a key or a name
    waiting: dict[tuple[str, int], list[tuple[int, str]]] = {}
    linked: dict[str, list[tuple[int, str]]] = {}  # objects that may be texts, of properties that a link is called like
    tables: dict[tuple[str, int], Counter[str]] = {}  # that examples tell themselves
    for position, row, predicate, text in _in_question(facts, ontology):
        told = of_table(text, schema)
        if told is not None:
            keyed[row, position] = choice = key_of(*told)
            if ontology is not None and may_be_name(choice, told[0]):
                asked.append((row, position, text, choice))
            elif not choice.columns:
                raise InputError(_where(given, row, lines) + no_key(text, *told))
            if len(choice.columns) < 2:
                tables.setdefault((predicate, position), Counter())[choice.table] += 1
        elif ontology is not None and _may_be_name(text) and is_entity(ontology, predicate, position):
            waiting.setdefault((predicate, position), []).append((row, text))
        elif ontology is not None and _may_be_name(text) and not _has_kinds(facts, row):
            linked.setdefault(predicate, []).append((row, text))
    led_to = _led_to(linked, facts, schema, ontology) if ontology is not None and linked else {}
    looked_up = {text for rows in waiting.values() for _, text in rows} | {choice.key for *_, choice in asked}
    looked_up |= {text for predicate in led_to for _, text in linked[predicate]}
    names = Names(structure, database, looked_up)
    choices: dict[int, dict[int, tuple[str, tuple[Choice | None, ...]]]] = {}  # row → position → text, what it may be
    for row, position, text, choice in asked:
        if found := names.of_table(choice):
            choices.setdefault(row, {})[position] = text, found
            del keyed[row, position]
        elif not choice.columns:
            raise InputError(_where(given, row, lines) + no_key(text, schema.table(choice.table), choice.key))
    for (predicate, position), rows in sorted(waiting.items()):
        read_as = names.read(predicate, [text for _, text in rows], tables.get((predicate, position), Counter()))
        if position == 2:
            subjects = {row: _own_key(facts["arg1"][row].as_py()) for row, _ in rows}
            read_as = _of_others(read_as, [(text, subjects[row]) for row, text in rows])
        for row, text in rows:
            choices.setdefault(row, {})[position] = text, read_as.get(text, ())

    for predicate, table in led_to.items():
        rows = linked[predicate]
        called = {text: names.of_table(Choice(table, "", text)) for _, text in rows}
        shown = [text for row, text in rows if facts["positive"][row].as_py()]
        if shown and all(called[text] for text in shown):
            for row, text in rows:
                choices.setdefault(row, {})[2] = text, called[text]

    def meant(choice: Choice) -> tuple[str, int | None]:
        """The key, and the number of its space; one of several columns is put together like an IRI, and has none."""
        single = Place(choice.table, choice.columns[0]) if len(choice.columns) == 1 else None
        return choice.key, None if single is None else numbers.get(single)

    predicates, holds = facts["predicate"], facts["positive"]
    named = {row: _named(predicates[row].as_py(), of_row) for row, of_row in sorted(choices.items())}
    read: dict[int, dict[int, tuple[str, int | None]]] = {1: {}, 2: {}}  # position → row → key and space
    for (row, position), choice in keyed.items():
        read[position][row] = meant(choice)
    for row, one in named.items():
        for position, taken in enumerate(one.readings[0], 1):
            if taken is not None:
                read[position][row] = meant(taken)
    for position, changed in read.items():
        facts = _of_same_things(_read_as(facts, position, changed), position, changed)
    several = {row: one.readings for row, one in named.items() if len(one.readings) > 1}
    positive = {row: holds[row].as_py() for row in several}
    others = _further(facts, _once(facts, {row: several[row] for row in several if positive[row]}, meant), meant)
    denied = {row: _of_likeliest(readings) for row, readings in several.items() if not positive[row]}
    if denied:
        facts = pa.concat_tables([facts, _further(facts, denied, meant).drop_columns(list(READ))])
    for position in (1, 2):
        facts = _as_iris(facts, position, {row for row in several if positive[row]})
    hints = names.hints(database) | _absent(keyed.values(), structure, database)
    return Entities(facts, others, named, keyed, hints, _compound(keyed, named), _among_names(given, named))


def _among_names(facts: pa.Table, named: Mapping[int, Named]) -> list[dict[str, str]]:
    """The first number of each argument whose other examples are all names of one table."""
    found = []
    predicates = facts["predicate"].to_pylist() if named else []
    for position in (1, 2):
        tables: dict[str, set[str]] = {}
        for one in named.values():
            if (choice := one.readings[0][position - 1]) is not None:
                tables.setdefault(one.predicate, set()).add(choice.table)
        numbers: dict[str, str] = {}
        rows = zip(predicates, facts[f"arg{position}"].to_pylist() if tables else (), strict=False)
        for row, (predicate, text) in enumerate(rows):
            if predicate in tables and row not in named and text is not None and text.isdecimal():
                numbers.setdefault(predicate, text)
        for predicate, text in sorted(numbers.items()):
            if len(tables[predicate]) == 1:
                found.append({"predicate": predicate, "text": text, "table": next(iter(tables[predicate]))})
    return found


def _has_kinds(facts: pa.Table, row: int) -> bool:
    """Whether who wrote a fact told things from texts, as RDF does: what is a text there is no name."""
    return any(facts[name][row].is_valid for name in ("kind1", "kind2"))


def _led_to(
    linked: Mapping[str, Sequence[tuple[int, str]]], facts: pa.Table, schema: Schema, ontology: Ontology
) -> dict[str, str]:
    """Of properties that may lead to a text: the one table that links called like them lead to.

    Only where a class of those that the property may lead to has examples: somebody publishes such things.
    """
    shown = {ontology.find(name).iri for name in facts["predicate"].unique().to_pylist()}
    found: dict[str, str] = {}
    for predicate in linked:
        term = ontology.find(predicate)
        ranges = () if isinstance(term, OntologyClass) else term.ranges
        if not any(isinstance(ontology.get(iri), OntologyClass) and iri in shown for iri in ranges):
            continue
        ends = {
            link.end.table
            for table in schema.tables
            for link in table.links
            if likeness(predicate, _ID.sub("", link.start.column)) >= _CALLED
        }
        if len(ends) == 1:
            found[predicate] = ends.pop()
    return found


def _compound(keyed: Mapping[tuple[int, int], Choice], named: Mapping[int, Named]) -> dict[str, KeyOf]:
    """The keys that read like those of several columns, and of which all examples tell the same table.

    That may have a key of one column: then no columns together spell it, of whatever table.
    """
    told = (choice for one in named.values() for reading in one.readings for choice in reading if choice is not None)
    tables: dict[str, set[KeyOf]] = {}
    for choice in (*keyed.values(), *told):
        if choice.columns and (len(choice.columns) > 1 or "/" in choice.key):
            tables.setdefault(choice.key, set()).add((choice.table, choice.columns))
    return {key: next(iter(some)) for key, some in sorted(tables.items()) if len(some) == 1}


def _where(facts: pa.Table, row: int, lines: Mapping[FactKey, str] | None) -> str:
    """Where an example stands, before what is wrong with it; nothing if nobody knows."""
    place = (lines or {}).get(next(fact_keys(facts.slice(row, 1))))
    return f"{place}: " if place else ""


def _absent(keyed: Iterable[Choice], structure: Structure, database: Database) -> dict[str, str]:
    """Of keys of several columns that no row of their table has: that; of others that read so, what they are not."""
    asked: dict[str, set[str]] = {}
    told = [choice for choice in keyed if "/" in choice.key]
    for choice in told:
        if len(choice.columns) > 1:
            asked.setdefault(choice.table, set()).add(choice.key)
    absent = {
        choice.key: f", and the key of {choice.table} has one column" for choice in told if len(choice.columns) == 1
    }
    for table, keys in sorted(asked.items()):
        there = rows_with_keys(database, structure.schema.table(table), keys)
        absent |= dict.fromkeys(keys - there if there is not None else (), f", and no such key in {table}")
    return absent


def _once(
    facts: pa.Table, several: Mapping[int, Sequence[Readings]], meant: Callable[[Choice], tuple[str, int | None]]
) -> dict[int, Sequence[Readings]]:
    """Of examples with the same readings, two spellings of one name, the first: it is one example."""
    columns = [facts[name] for name in ("predicate", "arg1", "arg2")]
    first: dict[object, int] = {}
    for row, readings in several.items():
        predicate, *given = (column[row].as_py() for column in columns)
        ways = frozenset(
            tuple(text if one is None else meant(one) for text, one in zip(given, reading, strict=True))
            for reading in readings
        )
        first.setdefault((predicate, ways), row)
    return {row: several[row] for row in first.values()}


def _as_iris(facts: pa.Table, position: int, doubtful: Set[int]) -> pa.Table:
    """The facts with IRIs in place of keys, where one example has the IRI of what another has the key of.

    `MusicGroup,1` and `MusicGroup,http://my.org/artist/1` are one example, and `MusicGroup,2` is of the same form. Rows
    with several readings tell nothing, and stay as they are: their readings are keys.
    """
    name, other = f"arg{position}", f"arg{3 - position}"
    is_iri = pc.match_substring_regex(facts[name], LOOKS_LIKE_IRI)
    terms = facts["predicate"]
    mixed = {*terms.filter(is_iri).unique().to_pylist()} & {*terms.filter(pc.invert(is_iri)).unique().to_pylist()}
    rows = dict(_rows_of(facts, mixed, (name, other, SPACES[position - 1])))
    filled = {row: one for row, one in rows.items() if one[1] is not None}
    iris = [one for one in filled.values() if looks_like_iri(one[1])]
    plain = {row: one for row, one in filled.items() if row not in doubtful and not looks_like_iri(one[1])}
    keys: dict[tuple[str, str, str | None], int | None] = {
        (predicate, text, beside): space for predicate, text, beside, space in plain.values()
    }
    starts: dict[str, set[str]] = {}
    shared: dict[str, set[tuple[str, int | None]]] = {}
    for predicate, iri, beside, _ in iris:
        last = _SEGMENT.search(iri)
        key = last.group() if last else ""
        starts.setdefault(predicate, set()).add(iri.removesuffix(key))
        if (twin := (predicate, unquote(key), beside)) in keys:
            shared.setdefault(predicate, set()).add((iri.removesuffix(key), keys[twin]))
    changed = {
        row: (next(iter(starts[predicate])) + iri_safe(text), None)
        for row, (predicate, text, _, space) in plain.items()
        if len(shared.get(predicate, ())) == 1
        and len(starts[predicate]) == 1
        and space in (None, next(iter(shared[predicate]))[1])
        and (space is not None or "/" not in text)  # which may be a key of several columns
    }
    return _read_as(facts, position, changed)


def _rows_of(
    facts: pa.Table, predicates: Collection[str], columns: Sequence[str]
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The rows of some predicates: number, predicate, and these columns. Of millions of facts few are looked at."""
    rows = pc.indices_nonzero(pc.is_in(facts["predicate"], pa.array(sorted(predicates), pa.string())))
    some = facts.select(["predicate", *columns]).take(rows)
    yield from zip(rows.to_pylist(), zip(*(column.to_pylist() for column in some.columns), strict=True), strict=True)


def _own_key(text: str) -> str:
    """What may be the key in a subject: of `customer:17` and of an IRI, what stands last."""
    return re.split(r"[/#:]", text)[-1].strip()


def _of_others(
    found: Mapping[str, tuple[Choice | None, ...]], rows: Sequence[tuple[str, str]]
) -> dict[str, tuple[Choice | None, ...]]:
    """What objects may be, without tables in which two columns make them the names of the very subjects, row by row.

    Nothing is related to itself by its own name: `contact(103, "Carine Schmitt")` tells the text in its row.
    """
    itself: dict[str, list[bool]] = {}
    for text, subject in rows:
        choices = [choice for choice in found.get(text, ()) if choice is not None]
        for table in {choice.table for choice in choices if choice.in_two}:
            keys = {choice.key for choice in choices if choice.table == table}
            itself.setdefault(table, []).append(subject in keys)
    left_out = {table for table, same in itself.items() if all(same)}
    return {
        text: tuple(one for one in some if one is None or one.table not in left_out) for text, some in found.items()
    }


def _of_same_things(facts: pa.Table, position: int, read: Mapping[int, tuple[str, int | None]]) -> pa.Table:
    """The facts with the space of a bare key where another example of the same term names the same key of one space.

    `MusicGroup,1` beside `MusicGroup,AC/DC` is the same example twice.
    """
    spaces: dict[tuple[str, str], set[int]] = {}
    for row, (key, space) in read.items():
        if space is not None:
            spaces.setdefault((facts["predicate"][row].as_py(), key), set()).add(space)
    columns = (f"arg{position}", SPACES[position - 1])
    same = {
        row: (text, next(iter(found)))
        for row, (predicate, text, space) in _rows_of(facts, {predicate for predicate, _ in spaces}, columns)
        if space is None and len(found := spaces.get((predicate, text), ())) == 1
    }
    return _read_as(facts, position, same)


def _named(predicate: str, of_row: Mapping[int, tuple[str, tuple[Choice | None, ...]]]) -> Named:
    """An example with the combinations of what its arguments may be."""
    ways = [of_row[place][1] or (None,) if place in of_row else (None,) for place in (1, 2)]
    texts = tuple(of_row[place][0] if place in of_row else None for place in (1, 2))
    return Named(predicate, texts, tuple(product(*ways)))


def _of_likeliest(readings: Sequence[Readings]) -> list[Readings]:
    return [one for one in readings if _tables(one) == _tables(readings[0])]


def _further(
    facts: pa.Table,
    readings: Mapping[int, Sequence[Readings]],
    meant: Callable[[Choice], tuple[str, int | None]],
) -> pa.Table:
    """Some of the facts, once for each reading."""
    rows = [(row, turn, one) for row, ways in readings.items() for turn, one in enumerate(ways)]
    found = facts.take(pa.array([row for row, _, _ in rows], pa.int64()))
    for position in (1, 2):
        changed = {at: meant(one[position - 1]) for at, (_, _, one) in enumerate(rows) if one[position - 1] is not None}  # type: ignore[arg-type]
        found = _read_as(found, position, changed)
    orders: dict[int, dict[tuple[str | None, ...], int]] = {}
    for row, _, one in rows:
        orders.setdefault(row, {}).setdefault(_tables(one), len(orders[row]))
    columns = [row for row, _, _ in rows], [turn for _, turn, _ in rows], [orders[r][_tables(o)] for r, _, o in rows]
    for name, column in zip(READ, columns, strict=True):
        found = found.append_column(name, pa.array(column, pa.int32()))
    return found


def _tables(reading: Readings) -> tuple[str | None, ...]:
    return tuple(None if choice is None else choice.table for choice in reading)


def with_readings(facts: pa.Table, others: pa.Table) -> pa.Table:
    """A sample of the facts with all readings of those in it that have several.

    What another example says without doubt is no reading of this one but that very example, and stands once.
    """
    kept = [name for name in facts.column_names if name in others.column_names]
    given = facts.select(kept).to_pylist() if others.num_rows else []
    known = {tuple(fact.values()) for fact in given}
    told = others.select([*kept, *READ]).to_pylist()
    sampled = {fact["said"] for fact in told if fact["turn"] == 0 and tuple(fact[name] for name in kept) in known}
    readings = [fact for fact in told if fact["said"] in sampled]
    firsts = {tuple(fact[name] for name in kept) for fact in readings if fact["turn"] == 0}
    plain = [tuple(fact.values()) not in firsts for fact in given] if firsts else [True] * facts.num_rows
    certain = known - firsts
    added = [f for f in readings if f["turn"] == 0 or tuple(f[name] for name in kept) not in certain]
    facts = facts.filter(pa.array(plain, pa.bool_()))
    for name in READ:
        facts = facts.append_column(name, pa.nulls(facts.num_rows, pa.int32()))
    return pa.concat_tables([facts, pa.Table.from_pylist(added, facts.schema)])


def _read_as(facts: pa.Table, position: int, changed: Mapping[int, tuple[str, int | None]]) -> pa.Table:
    """The facts with keys in place of some arguments, by row; what is a key of a space has no kind of its own."""
    if not changed:
        return facts
    facts = _changed(facts, f"arg{position}", {row: key for row, (key, _) in changed.items()})
    facts = _changed(facts, SPACES[position - 1], {row: space for row, (_, space) in changed.items()})
    untyped = [row for row, (_, space) in changed.items() if space is not None]
    return _changed(facts, f"kind{position}", dict.fromkeys(untyped))


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
    column, number = facts[name], facts.column_names.index(name)
    places = np.arange(len(column))
    places[list(values)] = len(column) + np.arange(len(values))  # the new values stand behind the old ones
    both = pa.chunked_array([*column.chunks, pa.array(list(values.values()), column.type)], column.type)
    return facts.set_column(number, name, both.take(pa.array(places)))


def _may_be_entity(ontology: Ontology, predicate: str, place: int) -> bool:
    term = ontology.find(predicate)
    return isinstance(term, OntologyClass) or place == 1 or term.kind is not PropertyKind.DATATYPE


def is_entity(ontology: Ontology, predicate: str, place: int) -> bool:
    """Whether an argument of a term is a thing, whatever else it may be."""
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
    return 0 < len(text) <= _LONGEST and not is_number and not looks_like_iri(text)
