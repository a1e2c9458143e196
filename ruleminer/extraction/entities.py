"""What the arguments of examples stand for: a key, a key of a table (`customer:17`), or what people call the thing.

`AC/DC` picks one row of Artist by a column that names its rows, so it is read as that row's key. A name is read so only
where an entity is meant, and not where the text is a key or a link itself. What several rows or tables are called has
several readings, in this order: first the table in which most examples of the same argument stand. They compete, and
the one whose rules derive most of the other examples is taken (`candidates.py`).
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

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
_CUT = re.compile(r",? ")  # between the parts of a name
_WORD, _CLOSE = re.compile(r"\w+"), 0.8  # what a table's name may look like, and one that is mistyped


MOST_READINGS = 8
"""Rows that one name is taken for."""

READ = ("said", "turn", "tables")
"""Columns of facts with several readings: which example it is, which reading of it and by which tables, from 0 on."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that a name may stand for."""

    table: str
    column: str  # or columns, by which it is called so
    key: str
    in_two: bool = False  # whether it is called so by two columns

    def __str__(self) -> str:
        return f"{self.table}:{self.key}"


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
                others = dict.fromkeys(str(other[place - 1]) for other in one.readings if other[place - 1] != choice)
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
        return {"entities": names, "ambiguous": [doubtful[name] for name in sorted(doubtful)]}


def with_spaces(facts: pa.Table) -> pa.Table:
    """The facts with columns for the spaces of their arguments, unknown if nobody has told."""
    for name in SPACES:
        if name not in facts.column_names:
            facts = facts.append_column(name, pa.nulls(facts.num_rows, pa.int32()))
    return facts


def read_entities(facts: pa.Table, structure: Structure, database: Database, ontology: Ontology | None) -> Entities:
    """The facts with keys in place of `table:key` and of names, and how names were read.

    A counter-example by a name that several rows of the likeliest table have is one for each of them.
    """
    facts = with_spaces(facts)
    numbers = {place: number for number, space in enumerate(structure.spaces) for place in space.places}
    read: dict[int, dict[int, tuple[str, int | None]]] = {1: {}, 2: {}}  # position → row → key and space
    waiting: dict[tuple[str, int], list[tuple[int, str]]] = {}
    tables: dict[tuple[str, int], Counter[str]] = {}  # that examples tell themselves
    for position, row, predicate, text in _in_question(facts, ontology):
        told = _of_table(text, structure)
        if told is not None:
            read[position][row] = told[0], None if told[1] is None else numbers.get(told[1])
            if told[1] is not None:
                tables.setdefault((predicate, position), Counter())[told[1].table] += 1
        elif ontology is not None and _may_be_name(text) and _is_entity(ontology, predicate, position):
            waiting.setdefault((predicate, position), []).append((row, text))
    names = _Names(structure, database, {text for rows in waiting.values() for _, text in rows})
    choices: dict[int, dict[int, tuple[str, tuple[Choice, ...]]]] = {}  # row → position → text and what it may be
    for (predicate, position), rows in sorted(waiting.items()):
        found = names.read(predicate, [text for _, text in rows], tables.get((predicate, position), Counter()))
        if position == 2:
            subjects = {row: _own_key(facts["arg1"][row].as_py()) for row, _ in rows}
            found = _of_others(found, [(text, subjects[row]) for row, text in rows])
        for row, text in rows:
            choices.setdefault(row, {})[position] = text, found.get(text, ())

    def meant(choice: Choice) -> tuple[str, int | None]:
        own = structure.schema.table(choice.table).own_key or ""
        return choice.key, numbers.get(Place(choice.table, own))

    predicates, positive = facts["predicate"].to_pylist(), facts["positive"].to_pylist()
    named = {row: _named(predicates[row], of_row) for row, of_row in sorted(choices.items())}
    for row, one in named.items():
        for position, choice in enumerate(one.readings[0], 1):
            if choice is not None:
                read[position][row] = meant(choice)
    for position, changed in read.items():
        facts = _of_same_things(_read_as(facts, position, changed), position, changed)
    several = {row: one.readings for row, one in named.items() if len(one.readings) > 1}
    others = _further(facts, {row: several[row] for row in several if positive[row]}, meant)
    denied = {row: _of_likeliest(readings) for row, readings in several.items() if not positive[row]}
    if denied:
        facts = pa.concat_tables([facts, _further(facts, denied, meant).drop_columns(list(READ))])
    return Entities(facts, others, named)


def _own_key(text: str) -> str:
    """What may be the key in a subject: of `customer:17` and of an IRI, what stands last."""
    return re.split(r"[/#:]", text)[-1].strip()


def _of_others(
    found: Mapping[str, tuple[Choice, ...]], rows: Sequence[tuple[str, str]]
) -> dict[str, tuple[Choice, ...]]:
    """What objects may be, without tables in which two columns make them the names of the very subjects, row by row.

    Nothing is related to itself by its own name: `contact(103, "Carine Schmitt")` tells the text in its row.
    """
    itself: dict[str, list[bool]] = {}
    for text, subject in rows:
        for table in {choice.table for choice in found.get(text, ()) if choice.in_two}:
            keys = {choice.key for choice in found[text] if choice.table == table}
            itself.setdefault(table, []).append(subject in keys)
    left_out = {table for table, same in itself.items() if all(same)}
    return {text: tuple(one for one in some if one.table not in left_out) for text, some in found.items()}


def _of_same_things(facts: pa.Table, position: int, read: Mapping[int, tuple[str, int | None]]) -> pa.Table:
    """The facts with the space of a bare key where another example of the same term names the same key of one space.

    `MusicGroup,1` beside `MusicGroup,AC/DC` is the same example twice.
    """
    predicates = facts["predicate"].to_pylist() if read else []
    spaces: dict[tuple[str, str], set[int]] = {}
    for row, (key, space) in read.items():
        if space is not None:
            spaces.setdefault((predicates[row], key), set()).add(space)
    if not spaces:
        return facts
    texts, known = facts[f"arg{position}"].to_pylist(), facts[SPACES[position - 1]].to_pylist()
    same = {
        row: (text, next(iter(found)))
        for row, (text, space) in enumerate(zip(texts, known, strict=True))
        if space is None and len(found := spaces.get((predicates[row], text), ())) == 1
    }
    return _read_as(facts, position, same)


def _named(predicate: str, of_row: Mapping[int, tuple[str, tuple[Choice, ...]]]) -> Named:
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
    """A sample of the facts with all readings of those in it that have several."""
    kept = [name for name in facts.column_names if name in others.column_names]
    known = {tuple(fact.values()) for fact in facts.to_pylist()} if others.num_rows else set()
    told = others.select([*kept, *READ]).to_pylist()
    sampled = {fact["said"] for fact in told if fact["turn"] == 0 and tuple(fact[name] for name in kept) in known}
    added = [
        fact
        for fact in told
        if fact["said"] in sampled and (fact["turn"] == 0 or tuple(fact[name] for name in kept) not in known)
    ]
    firsts = {tuple(fact[name] for name in kept): fact["said"] for fact in added if fact["turn"] == 0}
    said = [firsts.get(tuple(fact.values())) for fact in facts.to_pylist()] if firsts else [None] * facts.num_rows
    facts = facts.append_column(READ[0], pa.array(said, pa.int32()))
    for name in READ[1:]:
        facts = facts.append_column(name, pa.array([None if one is None else 0 for one in said], pa.int32()))
    return pa.concat_tables([facts, pa.Table.from_pylist([f for f in added if f["turn"]], facts.schema)])


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
    if own is None and key.count("/") != len(table.primary_key) - 1:
        own = next(iter(table.keys), None)  # beside a primary key of several columns
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
    """Which rows the texts of examples name, asked once for all of them.

    One statement for each column of names; and where that leaves texts of several words, one for each table that may
    hold their parts in two columns, as first and last names are.
    """

    def __init__(self, structure: Structure, database: Database, texts: Iterable[str]) -> None:
        self._texts = sorted(texts)
        self._keys: set[str] = set()  # texts that are keys or links themselves
        self._found: dict[tuple[str, str], dict[str, list[str]]] = {}  # table and column → name → keys of its rows
        self._in_two: set[tuple[str, str]] = set()  # those of `_found` that are two columns
        if not self._texts:
            return
        for table in structure.schema.tables:
            own = table.own_key
            naming = structure.naming_columns(table) if own else ()
            linking = [
                column.name
                for column in table.columns
                if column.kind is Kind.TEXT
                and structure.space(Place(table.name, column.name))
                and not structure.is_alias(table, column.name)
            ]
            for column in (*naming, *linking):
                rows = self._asked(database, table, column, column if column in linking else own or column)
                if column in linking:
                    self._keys.update(rows)
                elif rows:
                    self._found[table.name, column] = rows
        self._views = {table.name for table in structure.schema.tables if table.is_view}
        tables = (rows for (table, _), rows in self._found.items() if table not in self._views)
        known = self._keys.union(*tables)
        if any(_CUT.search(text) for text in self._texts if text not in known):
            for table in structure.schema.tables:
                self._find_in_two(database, table, structure)

    def _asked(self, database: Database, table: Table, column: str, key: str) -> dict[str, list[str]]:
        value, own = (database.dialect.text_of(quote_identifier(name)) for name in (column, key))
        sql = (
            f"WITH ruleminer_names AS {database.dialect.value_list} SELECT v, k FROM ("
            f"SELECT v, k, row_number() OVER (PARTITION BY v ORDER BY o) AS place FROM ("
            f"SELECT DISTINCT {value} AS v, {own} AS k, {quote_identifier(key)} AS o "
            f"FROM {database.quoted(table.name)} WHERE {value} IN (SELECT v FROM ruleminer_names)) AS d) AS e "
            f"WHERE place <= {MOST_READINGS} ORDER BY v, place"
        )
        found: dict[str, list[str]] = {}
        for name, one in _rows(database, sql, self._texts):
            found.setdefault(name, []).append(one)
        return found

    def _find_in_two(self, database: Database, table: Table, structure: Structure) -> None:
        """Names whose two parts stand in two columns of a row, with a blank or a comma between."""
        columns = structure.short_texts(table)
        if table.own_key is None or len(columns) < 2:
            return
        cuts = ((text, cut) for text in self._texts for cut in _CUT.finditer(text))
        parts = sorted({part for text, cut in cuts for part in (text[: cut.start()], text[cut.end() :])})
        values = [database.dialect.text_of(quote_identifier(column)) for column in columns]
        held = " + ".join(f"CASE WHEN {one} IN (SELECT v FROM ruleminer_names) THEN 1 ELSE 0 END" for one in values)
        key = quote_identifier(table.own_key)
        sql = (
            f"WITH ruleminer_names AS {database.dialect.value_list} SELECT {database.dialect.text_of(key)}, "
            f"{', '.join(values)} FROM {database.quoted(table.name)} WHERE {held} >= 2 ORDER BY {key}"
        )
        wanted = set(self._texts)

        def made(row: Sequence[str | None]) -> Iterator[tuple[str, str]]:
            """The columns of a row that make a name that is asked for, and that name."""
            for (first, one), (second, other) in permutations(zip(columns, row, strict=True), 2):
                for mark in (" ", ", "):
                    if one and other and f"{one}{mark}{other}" in wanted:
                        yield f"{first} + {second}", f"{one}{mark}{other}"

        # Common words may stand in very many rows: only those that make a name are kept.
        for own, *row in _rows(database, sql, parts, lambda found: any(made(found[1:]))):
            for place, name in made(row):
                self._in_two.add((table.name, place))
                keys = self._found.setdefault((table.name, place), {}).setdefault(name, [])
                if len(keys) < MOST_READINGS:
                    keys.append(own)

    def read(self, predicate: str, texts: Sequence[str], told: Counter[str]) -> dict[str, tuple[Choice, ...]]:
        """What each text of one argument may be, the likeliest first; `told` are tables that other examples name.

        The likeliest table is that in which most of the examples stand, one that is no view, then that in which most
        stand once. Nothing is read as a name if most of the texts are keys already.
        """
        wanted = set(texts)
        if len(wanted & self._keys) * 2 > len(wanted):
            return {}

        def rank(where: tuple[str, str]) -> tuple[float, ...]:
            rows = self._found[where]
            standing = [text for text in wanted if text in rows]
            once = sum(len(rows[text]) == 1 for text in standing)
            view = where[0] in self._views
            return -(len(standing) + told[where[0]]), view, -once, -likeness(predicate, where[0])

        found: dict[str, dict[tuple[str, str], Choice]] = {}
        for table, column in sorted(self._found, key=rank):
            for text in wanted & self._found[table, column].keys():
                for key in self._found[table, column][text]:
                    found.setdefault(text, {}).setdefault(
                        (table, key), Choice(table, column, key, (table, column) in self._in_two)
                    )
        return {text: tuple(ways.values())[:MOST_READINGS] for text, ways in found.items()}


def _rows(
    database: Database,
    sql: str,
    texts: Sequence[str],
    is_wanted: Callable[[tuple[str, ...]], bool] = lambda row: True,
) -> list[tuple[str, ...]]:
    """The answer to a statement with texts bound to it; a table that cannot be asked names nothing."""
    try:
        return patiently(lambda: [row for row in database.rows(sql, (json.dumps(texts),)) if is_wanted(row)])
    except ConnectionLostError:
        raise
    except DatabaseError:
        return []
