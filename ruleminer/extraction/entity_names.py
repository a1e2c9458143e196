"""Which rows of which tables the texts of examples name: `AC/DC` is one row of Artist, by a column that names its rows.

Asked once for all texts: one statement for each column of names; and where that leaves texts of several words, one for
each table that may hold their parts in two columns, as first and last names are.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, permutations

from sqlglot import exp

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.expressions import identifier
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Table, quote_identifier
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import likeness

MOST_READINGS = 8
"""Rows that one name is taken for."""

_MOST_FOLDED = 1000  # texts that are also looked up in upper and lower case, for a hint
_MOST_MISSPELT, _LEAST_LETTERS, _CLOSE = 20, 4, 0.8  # texts to which a near name is looked for, and how near
_MOST_LOOKED_THROUGH = 10_000  # rows of a table for it
_ENDS, _MOST_COMPARED = 3, 1000  # letters that begin or end a near name alike, and names that a text is compared with
_CUT = re.compile(r",? ")  # between the parts of a name


@dataclass(frozen=True, slots=True)
class Choice:
    """A row that an argument may stand for."""

    table: str
    column: str  # or columns, by which it is called so; none where its key is given
    key: str
    columns: tuple[str, ...] = ()  # that the key is of
    in_two: bool = False  # whether it is called so by two columns

    def __str__(self) -> str:
        return f"{self.table}:{self.key}"


def key_columns(table: Table) -> tuple[str, ...]:
    """The columns that name the rows of a table: one, or those of its primary key; none if there is no key."""
    return table.primary_key if table.own_key is None else (table.own_key,)


def _filled(key: Sequence[str]) -> str:
    """That a row has a key: SQLite has primary keys with NULLs, and who has none cannot be meant."""
    return " AND ".join(f"{quote_identifier(name)} IS NOT NULL" for name in key)


def rows_with_keys(database: Database, table: Table, keys: Iterable[str]) -> set[str] | None:
    """Which of some keys of several columns, `PX1/2`, rows of a table have; None if that cannot be asked."""
    wanted = set(keys)
    own = [_text(database, table, name) for name in table.primary_key]
    held = " AND ".join(f"{one} IN (SELECT v FROM ruleminer_names)" for one in own)
    sql = (
        f"WITH ruleminer_names AS {database.dialect.value_list} SELECT {', '.join(own)} "
        f"FROM {database.quoted(table.name)} WHERE {held}"
    )
    parts = sorted({part for key in wanted for part in key.split("/")})
    try:
        return {"/".join(row) for row in _rows(database, sql, parts, lambda row: "/".join(row) in wanted)}
    except ConnectionLostError:
        raise
    except DatabaseError:
        return None


class Names:
    """Which rows some texts name."""

    def __init__(self, structure: Structure, database: Database, texts: Iterable[str]) -> None:
        given = set(texts)
        self._others = {text: _other_cases(text) for text in sorted(given)[:_MOST_FOLDED]}
        self._texts = sorted(given.union(*self._others.values()))
        self._structure = structure
        self._keys: set[str] = set()  # texts that are keys or links themselves
        self._own: dict[Place, dict[str, list[str]]] = {}  # the same by columns
        self._found: dict[tuple[str, str], dict[str, list[str]]] = {}  # table and column → name → keys of its rows
        self._in_two: set[tuple[str, str]] = set()  # those of `_found` that are two columns
        if not self._texts:
            return
        for table in structure.schema.tables:
            own = key_columns(table)
            naming = structure.naming_columns(table) if own else ()
            linking = [
                column.name
                for column in table.columns
                if column.kind is Kind.TEXT
                and structure.space(Place(table.name, column.name))
                and not structure.is_alias(table, column.name)
            ]
            for column in (*naming, *linking):
                rows = self._asked(database, table, column, (column,) if column in linking else own)
                if column in linking:
                    self._keys.update(rows)
                    self._own[Place(table.name, column)] = rows
                elif rows:
                    self._found[table.name, column] = rows
        self._views = {table.name for table in structure.schema.tables if table.is_view}
        tables = (rows for (table, _), rows in self._found.items() if table not in self._views)
        known = self._keys.union(*tables)
        if any(_CUT.search(text) for text in self._texts if text not in known):
            for table in structure.schema.tables:
                self._find_in_two(database, table, structure)

    def hints(self, database: Database) -> dict[str, str]:
        """Of texts that nothing is called: what is, but for upper and lower case or a few letters."""
        known = self._keys.union(*self._found.values())
        near = {
            text: next((other for other in others if other in known), None) for text, others in self._others.items()
        }
        unknown = [text for text in near if text not in known]
        misspelt = [text for text in unknown if near[text] is None and len(text) >= _LEAST_LETTERS][:_MOST_MISSPELT]
        near |= self._nearest(misspelt, database) if misspelt else {}
        return {text: f"; did you mean {near[text]}?" for text in unknown if near[text]}

    def _nearest(self, texts: Sequence[str], database: Database) -> dict[str, str | None]:
        """What is called nearly so, of the tables that are not too large to look through."""
        called: set[str] = set()
        for table in self._structure.schema.tables:
            if table.rows is None or table.rows > _MOST_LOOKED_THROUGH or len(called) > _MOST_LOOKED_THROUGH:
                continue
            for column in self._structure.naming_columns(table) if key_columns(table) else ():
                sql = f"SELECT DISTINCT {_text(database, table, column)} FROM {database.quoted(table.name)}"
                with suppress(DatabaseError):
                    called.update(row[0] for row in database.rows(sql) if row[0])
        folded = {name.casefold(): name for name in sorted(called)}
        close = {text: closest(text.casefold(), folded) for text in texts}
        return {text: folded[one] if one is not None else None for text, one in close.items()}

    def _asked(self, database: Database, table: Table, column: str, key: Sequence[str]) -> dict[str, list[str]]:
        value = _text(database, table, column)
        keys = [f"k{place}" for place in range(len(key))]
        order = [f"o{place}" for place in range(len(key))]
        made = [f"{_text(database, table, name)} AS {one}" for one, name in zip(keys, key, strict=True)]
        made += [f"{_ordered(database, table, name)} AS {one}" for one, name in zip(order, key, strict=True)]
        sql = (
            f"WITH ruleminer_names AS {database.dialect.value_list} SELECT v, {', '.join(keys)} FROM ("
            f"SELECT v, {', '.join(keys)}, row_number() OVER (PARTITION BY v ORDER BY {', '.join(order)}) AS place "
            f"FROM (SELECT DISTINCT {value} AS v, {', '.join(made)} "
            f"FROM {database.quoted(table.name)} AS t WHERE {value} IN (SELECT v FROM ruleminer_names)"
            f" AND {_filled(key)}) AS d) AS e "
            f"WHERE place <= {MOST_READINGS} ORDER BY v, place"
        )
        found: dict[str, list[str]] = {}
        for name, *own in _rows_if_any(database, sql, self._texts):
            found.setdefault(name, []).append("/".join(own))
        return found

    def of_table(self, given: Choice) -> tuple[Choice, ...]:
        """The rows of a table that are called what was taken for a key of it; none if it is one."""
        if given.columns and given.key in self._own.get(Place(given.table, given.columns[0]), ()):
            return ()
        found: dict[str, Choice] = {}
        for (table, column), rows in sorted(self._found.items()):
            for key in rows.get(given.key, ()) if table == given.table else ():
                found.setdefault(key, self._choice(table, column, key))
        return tuple(found.values())[:MOST_READINGS]

    def _choice(self, table: str, column: str, key: str) -> Choice:
        own = key_columns(self._structure.schema.table(table))
        return Choice(table, column, key, own, (table, column) in self._in_two)

    def _find_in_two(self, database: Database, table: Table, structure: Structure) -> None:
        """Names whose two parts stand in two columns of a row, with a blank or a comma between."""
        columns, key = structure.short_texts(table), key_columns(table)
        if not key or len(columns) < 2:
            return
        cuts = ((text, cut) for text in self._texts for cut in _CUT.finditer(text))
        parts = sorted({part for text, cut in cuts for part in (text[: cut.start()], text[cut.end() :])})
        values = [_text(database, table, column) for column in columns]
        held = " + ".join(f"CASE WHEN {one} IN (SELECT v FROM ruleminer_names) THEN 1 ELSE 0 END" for one in values)
        own = [_text(database, table, name) for name in key]
        sql = (
            f"WITH ruleminer_names AS {database.dialect.value_list} SELECT {', '.join((*own, *values))} "
            f"FROM {database.quoted(table.name)} AS t WHERE {held} >= 2 AND {_filled(key)} "
            f"ORDER BY {', '.join(_ordered(database, table, name) for name in key)}"
        )
        wanted = set(self._texts)

        def made(row: Sequence[str | None]) -> Iterator[tuple[str, str]]:
            """The columns of a row that make a name that is asked for, and that name."""
            for (first, one), (second, other) in permutations(zip(columns, row, strict=True), 2):
                for mark in (" ", ", "):
                    if one and other and f"{one}{mark}{other}" in wanted:
                        yield f"{first} + {second}", f"{one}{mark}{other}"

        # Common words may stand in very many rows: only those that make a name are kept.
        for row in _rows_if_any(database, sql, parts, lambda found: any(made(found[len(key) :]))):
            for place, name in made(row[len(key) :]):
                self._in_two.add((table.name, place))
                keys = self._found.setdefault((table.name, place), {}).setdefault(name, [])
                if len(keys) < MOST_READINGS:
                    keys.append("/".join(row[: len(key)]))

    def read(self, predicate: str, texts: Sequence[str], told: Counter[str]) -> dict[str, tuple[Choice | None, ...]]:
        """What each text of one argument may be, the likeliest first; `told` are tables that other examples name.

        The likeliest table is that in which most of the examples stand, one that is no view, then that in which most
        stand once. If most of the texts are keys already, the others are names only in a table whose keys these are;
        one that is a key may stay it.
        """
        wanted = set(texts)
        keys = wanted & self._keys
        tables = {table for table, _ in self._found}
        if len(keys) * 2 > len(wanted):
            wanted -= keys
            tables = {
                place.table
                for place, rows in self._own.items()
                if keys & rows.keys() and key_columns(self._structure.schema.table(place.table)) == (place.column,)
            }

        def rank(where: tuple[str, str]) -> tuple[float, ...]:
            rows = self._found[where]
            standing = [text for text in wanted if text in rows]
            once = sum(len(rows[text]) == 1 for text in standing)
            view = where[0] in self._views
            return -(len(standing) + told[where[0]]), view, -once, -likeness(predicate, where[0])

        found: dict[str, dict[tuple[str, str], Choice]] = {}
        for table, column in sorted((one for one in self._found if one[0] in tables), key=rank):
            for text in wanted & self._found[table, column].keys():
                for key in self._found[table, column][text]:
                    found.setdefault(text, {}).setdefault((table, key), self._choice(table, column, key))
        return {
            text: (*((None,) if text in self._keys else ()), *tuple(ways.values())[:MOST_READINGS])
            for text, ways in found.items()
        }


def closest(text: str, names: Iterable[str]) -> str | None:
    """The name nearest to a text, among those that are about as long and begin or end alike; few are compared."""
    ends = text[:_ENDS], text[-_ENDS:]
    alike = (name for name in names if abs(len(name) - len(text)) <= _ENDS and _begins_or_ends(name, *ends))
    found = difflib.get_close_matches(text, list(islice(alike, _MOST_COMPARED)), n=1, cutoff=_CLOSE)
    return found[0] if found else None


def _begins_or_ends(name: str, start: str, end: str) -> bool:
    return name.startswith(start) or name.endswith(end)


def _other_cases(text: str) -> tuple[str, ...]:
    cases = dict.fromkeys((text.upper(), text.lower(), text.capitalize(), text.title()))
    return tuple(case for case in cases if case != text)


def _text(database: Database, table: Table, column: str) -> str:
    """The text of a column, for looking names up: its lexical form if it is a text."""
    found = table.type_of(column)
    if found.kind is not Kind.TEXT:
        return database.dialect.text_of(quote_identifier(column))
    return str(database.dialect.lexical(exp.column(identifier(column)), found).sql(database.dialect.name))


def _ordered(database: Database, table: Table, column: str) -> str:
    """What rows of a table `t` are ordered by, to go by a column: a bare name may be that of what is selected."""
    return database.dialect.ordered(f"t.{quote_identifier(column)}", table.type_of(column))


def _rows(
    database: Database, sql: str, texts: Sequence[str], is_wanted: Callable[[tuple[str, ...]], bool]
) -> list[tuple[str, ...]]:
    """The answer to a statement with texts bound to it."""
    return patiently(lambda: [row for row in database.rows(sql, (json.dumps(texts),)) if is_wanted(row)])


def _rows_if_any(
    database: Database,
    sql: str,
    texts: Sequence[str],
    is_wanted: Callable[[tuple[str, ...]], bool] = lambda row: True,
) -> list[tuple[str, ...]]:
    """The same; a table that cannot be asked names nothing."""
    try:
        return _rows(database, sql, texts, is_wanted)
    except ConnectionLostError:
        raise
    except DatabaseError:
        return []
