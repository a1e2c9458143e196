"""The true facts of a problem, read from its database; examples of them, drawn and written as people do.

A *part* of a term is one branch of its UNION, and in it the entities of one kind. Facts are compared with entities as
keys in spaces, whatever IRI they get, and values by lexical form without blanks at the end (a `char(20)` pads them).
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ruleminer.bench.real_problem import Problem
from ruleminer.errors import InputError
from ruleminer.rules.lexical import lexical_form, number_form
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Table, quote_identifier
from ruleminer.structure.spaces import compound_root
from ruleminer.structure.structure import Structure

DRAWS = ("people", "random")
FORMS = ("keys", "table:key", "iris", "names")
NAMESPACE = "http://example.org/"
_ENTITY = re.compile(re.escape(NAMESPACE) + r"([^/]+)/(.+)", re.DOTALL)
_NAMING = ("name", "title", "label")


class Entity(NamedTuple):
    """A key in a space, or in a kind that no space is known for."""

    space: str
    key: str


Row = tuple[str, ...]
Argument = Entity | str
Fact = tuple[Argument, ...]


class Truth:
    """The true facts of a problem, read from its open database."""

    def __init__(self, problem: Problem, database: Database, structure: Structure) -> None:
        self.problem, self.database, self.structure = problem, database, structure
        self._spaces: dict[str, str] = {}  # of kinds
        self._tables: dict[str, Table] = {}  # the table by whose keys a kind is known
        self._named: dict[str, Mapping[str, str]] = {}  # kind → key → what people call it
        self.orders: dict[tuple[Place, ...], tuple[Place, ...]] = {}  # of compound keys: how they are written
        self._weights: dict[str, int] = {}  # how sure the space of a kind is
        branches = {term: self._branches(term, sql) for term, sql in problem.sql.items()}
        for parts in branches.values():
            for select in (select for part in parts for select in part.find_all(exp.Select)):
                self._learn_kinds(select)
        self.parts = {  # of a term, its rows as they are written
            term: [rows for part in parts for rows in self._rows(part)] for term, parts in branches.items()
        }

    def facts(self, term: str, shown: Collection[Row] | None = None) -> frozenset[Fact]:
        """All true facts of a term, for comparing; with `shown`, of those parts that one of these rows is of."""
        parts = [part for part in self.parts[term] if shown is None or not set(part).isdisjoint(shown)]
        return frozenset(self.comparable(row) for part in parts for row in part)

    def comparable(self, row: Iterable[str]) -> Fact:
        """A fact with entities as keys in spaces."""
        return tuple(self.entity(text) or text.rstrip() for text in row)

    def entity(self, text: str) -> Entity | None:
        """The entity that an IRI names; None for a value."""
        match = _ENTITY.fullmatch(text)
        return Entity(self._spaces.get(match[1], match[1]), match[2]) if match else None

    def draw(self, term: str, examples: int, how: str, form: str, seed: int) -> list[tuple[str, ...]]:
        """So many facts of a term: at random, or as people do, the first of each part in turn and one at least."""
        parts = [
            [row for row in sorted(set(part), key=_in_order) if self._writable(row, form)] for part in self.parts[term]
        ]
        parts = [part for part in parts if part]
        if how == "random":
            rows = sorted({row for part in parts for row in part})
            return random.Random(f"{seed}-{term}").sample(rows, min(examples, len(rows)))
        drawn: dict[tuple[str, ...], None] = {}
        for turn in range(max(map(len, parts), default=0)):
            for part in parts:
                if len(drawn) < examples or turn == 0:
                    drawn |= dict.fromkeys(part[turn : turn + 1])
        return list(drawn)

    def written(self, row: Sequence[str], form: str) -> tuple[str, ...]:
        """A fact with its entities written in one of the forms; a thing without a name goes by its key."""
        return tuple(self._written(text, form) for text in row)

    def _written(self, text: str, form: str) -> str:
        match = _ENTITY.fullmatch(text)
        if match is None:
            return text.rstrip()
        kind, key = match.groups()
        if form == "iris":
            return text
        if form == "table:key" and kind in self._tables:
            return f"{self._tables[kind].name}:{key}"
        return self._names(kind).get(key, key) if form == "names" else key

    def _writable(self, row: Sequence[str], form: str) -> bool:
        """Whether nothing is empty and all that could have a name has one: a name that two share names neither."""
        if not all(text.strip() for text in row):
            return False
        entities = [match for match in map(_ENTITY.fullmatch, row) if match] if form == "names" else []
        return all(not (names := self._names(match[1])) or match[2] in names for match in entities)

    def _names(self, kind: str) -> Mapping[str, str]:
        """What people call the things of a kind, by key; nothing if its table has no column of names."""
        if kind not in self._named:
            self._named[kind] = self._asked_names(self._tables[kind]) if kind in self._tables else {}
        return self._named[kind]

    def _asked_names(self, table: Table) -> dict[str, str]:
        bare = _plain(table.name)
        wanted = (*_NAMING, bare, *(bare + word for word in _NAMING))
        if any("name" in _plain(column.name) for column in table.columns):  # who has a first name has a title of office
            wanted = tuple(word for word in wanted if "title" not in word)
        columns = [c.name for word in wanted for c in table.columns if _plain(c.name) == word and c.kind is Kind.TEXT]
        if not columns or table.own_key is None:
            return {}
        key, name = (f"CAST({quote_identifier(column)} AS text)" for column in (table.own_key, columns[0]))
        sql = f"SELECT min({key}), {name} FROM {self.database.quoted(table.name)} GROUP BY 2 HAVING count(*) = 1"
        return {key: name.rstrip() for key, name in self.database.rows(sql) if name and name.strip()}

    def _branches(self, term: str, sql: str) -> list[exp.Expr]:
        try:
            tree = sqlglot.parse_one(sql, dialect=self.database.dialect.name)
        except SqlglotError as error:
            raise InputError(f"{self.problem.folder}/truth.tsv: {term}: {str(error).splitlines()[0]}") from None
        parts: list[exp.Expr] = [tree]
        if tree.find(exp.With) is None and not tree.args.get("limit"):  # what holds for the whole cannot be taken apart
            while any(isinstance(part, exp.Union) for part in parts):
                sides = [(p.left, p.right) if isinstance(p, exp.Union) else (p,) for p in parts]
                parts = [side.unnest() for some in sides for side in some]
        return parts

    def _rows(self, part: exp.Expr) -> list[list[Row]]:
        """The rows of a branch, those with entities of other kinds apart."""
        found: dict[tuple[str, ...], list[Row]] = {}
        for values in self.database.rows(part.sql(dialect=self.database.dialect.name)):
            if None not in values:
                row = tuple(map(_text, values))
                kinds = tuple(match[1] if (match := _ENTITY.fullmatch(text)) else "" for text in row)
                found.setdefault(kinds, []).append(row)
        return list(found.values())

    def _learn_kinds(self, select: exp.Select) -> None:
        """Which spaces the entities of a query live in, by the columns that their keys come from."""
        tables = {node.alias_or_name.lower(): node.name.lower() for node in select.find_all(exp.Table)}
        known = {table.name.lower(): table for table in self.structure.schema.tables}
        for value in select.expressions:
            text = next((node.name for node in value.find_all(exp.Literal) if node.name.startswith(NAMESPACE)), None)
            if text is not None:
                places = [
                    [
                        Place(known[table].name, one.name)
                        for table in (
                            [tables[column.table.lower()]] if column.table.lower() in tables else tables.values()
                        )
                        if table in known
                        for one in known[table].columns
                        if one.name.lower() == column.name.lower()
                    ]
                    for column in value.find_all(exp.Column, bfs=False)  # as they are written
                ]
                if places and all(places):
                    self._learn_kind(text.removeprefix(NAMESPACE).partition("/")[0], places)

    def _learn_kind(self, kind: str, places: Sequence[Sequence[Place]]) -> None:
        """The space of a kind, by where each column of its key may stand; the word of a key counts most."""
        schema = self.structure.schema
        if len(places) > 1:
            written = compound_root([some[0] for some in places], schema)
            root = sorted(written)
            self.orders.setdefault(tuple(root), tuple(written))
            key, table = tuple(root), schema.table(root[0].table)
            weight = 1 + ({place.column for place in root} == {*table.primary_key})
        else:
            spaces = [space for place in places[0] if (space := self.structure.space(place)) is not None]
            key = (spaces[0].key if spaces else places[0][0],)
            table = schema.table(key[0].table)
            own = any(schema.table(place.table).own_key == place.column for place in places[0])
            weight = 0 if not spaces else 1 + own
        if weight > self._weights.get(kind, -1):
            self._weights[kind] = weight
            self._spaces[kind] = ",".join(".".join(place) for place in key)
            if weight:
                self._tables[kind] = table


def _in_order(row: Sequence[str]) -> list[tuple[tuple[int, int | str], ...]]:
    """Texts with their numbers as numbers, so that 2 comes before 10."""
    return [
        tuple((0, int(piece)) if piece.isdecimal() else (1, piece) for piece in re.split(r"(\d+)", text) if piece)
        for text in row
    ]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _text(value: object) -> str:
    if isinstance(value, float):  # a REAL that Python reads as a double is written as the database writes it
        single = float(np.float32(value)) == value
        return number_form(str(np.float32(value)) if single else repr(value))
    try:
        return lexical_form(value)  # type: ignore[arg-type]
    except TypeError:  # what rules read as text
        return str(value)
