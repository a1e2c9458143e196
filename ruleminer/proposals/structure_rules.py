"""The rules that a database offers by its structure alone, whatever term they may be meant for.

Classes: keys and links of tables, and the rows of a key that a code picks out, that fill a column, or that stand in a
sub-class table. Properties: two columns of a row, one of them naming entities, perhaps picked out by a code or kept to
a sub-class; and what lies one link further. Rows that only several columns together name, and that say more than which
things they join, are things of their own. They are made once for a database: a term adds its name only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ruleminer.rules.body import Body
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Atom, Concat, Constant, Place, Rule, Term, Variable
from ruleminer.sources.schema import Schema, Table
from ruleminer.structure.structure import FEW_CODES, MOST_CODES, Structure

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("a")
_LONGEST_KEY = 3  # columns of a key that name things
_MOST_KINDS = 60  # code-picked variants of one property and table; beyond, a code is no role


@dataclass(frozen=True)
class Shapes:
    """Bodies of rules, without repeats: for classes, for properties that lead to entities, for those to values."""

    classes: tuple[Body, ...]
    objects: tuple[Body, ...]
    values: tuple[Body, ...]


def shapes_of(structure: Structure) -> Shapes:
    """All shapes of a database; tables without rows and columns without values offer none."""
    offered = [_Offered(table, structure) for table in structure.schema.tables if _rows(table, structure)]
    by_name = {one.table.name: one for one in offered}
    subs = _sub_tables(by_name)
    return Shapes(
        _bodies(rule for one in offered for rule in _classes(one, subs)),
        _bodies(rule for one in offered for rule in _properties(one, by_name, subs, to_entities=True)),
        _bodies(rule for one in offered for rule in _properties(one, by_name, subs, to_entities=False)),
    )


class _Offered:
    """A table with what its shapes are made of."""

    def __init__(self, table: Table, structure: Structure) -> None:
        self.table, self.structure = table, structure
        profile = structure.profile.tables[table.name]
        self.rows = profile.rows
        self.filled = {
            column.name: one.filled
            for column in table.columns
            if (one := profile.columns.get(column.name)) is not None and one.filled
        }
        self.keys = tuple(key for key in table.keys if key in self.filled)
        self.links = {name: end for name, end in table.link_ends.items() if name in self.filled}
        self.entities = tuple(dict.fromkeys((*self.keys, *self.links))) or tuple(self.filled)[:1]
        # Where rows repeat an entity, as in tables that hold several things, what its rows say is its own all the same.
        shared = tuple(column for column in table.primary_key if column in self.entities)
        self.owners = self.keys[:1] or shared
        self.columns = tuple(self.filled)
        self.codes = tuple(self._codes())
        self.meant = tuple(self._meant())
        self.compound = self._compound()

    def _compound(self) -> tuple[str, ...]:
        """The columns that only together name a row which is a thing of its own; none if there are no such."""
        key = self.table.primary_key
        joins_only = all(column in self.links for column in (*key, *self.columns))
        fits = 2 <= len(key) <= _LONGEST_KEY and not joins_only
        return key if fits and all(column in self.filled for column in key) else ()

    def _codes(self) -> Iterator[tuple[str, Constant]]:
        kinds = self.structure.kinds(self.table.name)
        for column in self.table.columns:
            for text in kinds.get(column.name, ()):
                if (constant := constant_of(text, column.kind)) is not None:
                    yield column.name, constant

    def _meant(self) -> Iterator[tuple[str, Constant]]:
        """Codes whose meaning a small table tells: what leads to a few things, and to which of them."""
        profile = self.structure.profile.tables
        for name, end in self.links.items():
            column, target = profile[self.table.name].columns[name], profile.get(end.table)
            few = target is not None and target.rows <= MOST_CODES and column.distinct <= FEW_CODES
            if few and name not in self.keys and end.table != self.table.name:
                for text, _ in column.common:
                    constant = constant_of(text, self.table.column(name).kind)
                    if constant is not None:
                        yield name, constant


def _rows(table: Table, structure: Structure) -> int:
    known = structure.profile.tables.get(table.name)
    return known.rows if known is not None and known.columns else 0


def _sub_tables(offered: dict[str, _Offered]) -> dict[str, list[Place]]:
    """For each table the keys of others that are links to its own: its sub-class tables."""
    found: dict[str, list[Place]] = {}
    for one in offered.values():
        for key in one.keys:
            end = one.links.get(key)
            if end is not None and end.table != one.table.name and end.table in offered:
                found.setdefault(end.table, []).append(Place(one.table.name, key))
    return found


def _classes(one: _Offered, subs: dict[str, list[Place]]) -> Iterator[Rule]:
    name = one.table.name
    for column in one.entities:
        yield _class(Atom(name, ((column, _X),)))
    for key in one.owners:
        for column, constant in (*one.codes, *one.meant):
            if column != key:
                yield _class(Atom(name, ((key, _X), (column, constant))))
        for column in one.columns:
            if column != key and one.filled[column] < one.rows:
                yield _class(Atom(name, ((key, _X), (column, _Z))))

    if one.compound:
        yield _together((one.compound,), name)


def _properties(
    one: _Offered, offered: dict[str, _Offered], subs: dict[str, list[Place]], *, to_entities: bool
) -> Iterator[Rule]:
    name = one.table.name
    for x in one.entities:
        ys = [y for y in (one.entities if to_entities else one.columns) if y != x]
        for y in ys:
            yield _property(Atom(name, ((x, _X), (y, _Y))))
        narrow = [(column, constant) for column, constant in one.codes if to_entities or x in one.owners]
        if len(narrow) * len(ys) <= _MOST_KINDS * len(one.columns):
            for column, constant in narrow:
                for y in ys:
                    if y != column:
                        yield _property(Atom(name, ((x, _X), (y, _Y), (column, constant))))
        if x in one.owners:
            for sub in subs.get(name, ()):
                for y in ys:
                    yield _property(Atom(name, ((x, _X), (y, _Y))), Atom(sub.table, ((sub.column, _X),)))
        yield from _across(one, x, offered, to_entities)
    if not to_entities:
        for own in one.keys:  # a flight's code is what it goes by, and may be told of it
            yield Rule("_", (_X, _X), (Atom(name, ((own, _X),)),))
    for y in (one.entities if to_entities else one.columns) if one.compound else ():
        yield _together((one.compound, (y,)), name)
    for link in _compound_links(one.table, one.structure.schema) if to_entities else ():
        for key in (one.compound, *((x,) for x in one.entities)):
            if key and key != link:
                yield _together((key, link), name)


def _compound_links(table: Table, schema: Schema) -> Iterator[tuple[str, ...]]:
    """The columns that together lead to a row of another table, in the order of its key."""
    for link in table.foreign_keys:
        if 2 <= len(link.columns) <= _LONGEST_KEY and link.table in schema:
            ends = dict(zip(link.referenced, link.columns, strict=True))
            key = schema.table(link.table).primary_key
            if {*key} == {*ends}:
                yield tuple(ends[column] for column in key)


def _together(arguments: tuple[tuple[str, ...], ...], table: str) -> Rule:
    """A rule of one row, each argument of one column or put together from several."""
    heads = (_X, _Y)[: len(arguments)]
    held: dict[str, Variable] = {}
    for head, columns in zip(heads, arguments, strict=True):
        if len(columns) == 1:
            held[columns[0]] = head
    for column in dict.fromkeys(column for columns in arguments for column in columns):
        held.setdefault(column, Variable(f"a{len(held) + 1}"))
    atom: tuple[tuple[str, Term], ...] = tuple(held.items())
    definitions = tuple(
        (head, Concat(tuple(part for column in columns for part in ("/", held[column]))[1:]))
        for head, columns in zip(heads, arguments, strict=True)
        if len(columns) > 1
    )
    return Rule("_", heads, (Atom(table, atom),), definitions)


def _across(one: _Offered, x: str, offered: dict[str, _Offered], to_entities: bool) -> Iterator[Rule]:
    """What the rows say that a link leads to."""
    if x not in one.keys:
        return
    for link, end in one.links.items():
        target = offered.get(end.table)
        if link == x and target is not None and not to_entities and end.column in target.keys:
            for y in target.columns:  # a sub-class table's row has what its super-class's row says
                if y != end.column:
                    first = Atom(one.table.name, ((x, _X),))
                    yield _property(first, Atom(end.table, ((end.column, _X), (y, _Y))))
        if link == x or target is None:
            continue
        for y in target.entities if to_entities else target.columns:
            if y != end.column:
                first = Atom(one.table.name, ((x, _X), (link, _Z)))
                yield _property(first, Atom(end.table, ((end.column, _Z), (y, _Y))))


def _class(*body: Atom) -> Rule:
    return Rule("_", (_X,), body)


def _property(*body: Atom) -> Rule:
    return Rule("_", (_X, _Y), body)


def _bodies(rules: Iterator[Rule]) -> tuple[Body, ...]:
    return tuple(dict.fromkeys(map(Body, rules)))
