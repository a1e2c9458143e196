"""Links that nobody declared: columns whose values lie in a key, where that is no accident.

1 … 25 lies in every key that is counted from 1, and says nothing; 300 numbers scattered between 1 and 100,000 that all
lie in a key of as many say a lot. So the inclusion is weighed by how surprising it is (`surprise.py`), and beside it
count the name of the column, how much of the key it uses, and whether it looks like a measure. Only pairs that could
pass are looked at. Where two keys fit alike and no name tells which is meant, neither is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table, quote_identifier
from ruleminer.structure.fitting import INCLUDED, Keys, span
from ruleminer.structure.link_file import Ends, LinkWishes
from ruleminer.structure.nothing import counts, nothing_of, without_nothing
from ruleminer.structure.padding import values_without_blanks
from ruleminer.structure.profile import ColumnProfile, Profile
from ruleminer.structure.spaces import Partition
from ruleminer.structure.surprise import is_counter, surprise
from ruleminer.structure.unanswered import tell_unanswered
from ruleminer.structure.words import SAYS_LITTLE, likeness, words

ENOUGH = 2.6  # score from which a link is believed
_NAME, _SURPRISE, _USE = 4.0, 4.5, 1.0  # what a perfect name, a great surprise and a fully used key are worth
_GREAT = 15.0  # nats from which a surprise is as great as it gets
_MEASURE, _OWN_TABLE, _RELATION, _OWN_NAME, _PAIRS = -3.0, 3.0, 1.0, -3.0, 1.0
_OTHER_KIND, _STRANGE = -1.0, 0.3  # for a column that is named as the key of something, and less like the target
_MARGIN = 0.5  # by which the best of several keys must be better
_NAMED = 0.8  # from which a name tells where a column leads
_SAME = 0.8  # share of the columns that tables of one kind have in common
_DOUBT = 1.0  # what a closer look at the values may add to a score
_LOCAL = 50_000  # values up to which two columns are compared here, not in the database
_KINDS = (Kind.INTEGER, Kind.TEXT)
_RUN_TOGETHER = 5  # letters of a word that may be another with id behind it: grid, valid and solid are words
_LONGEST = 60.0  # characters a text key may have, on average

# fmt: off
_IDENTIFYING = frozenset({
    "id", "key", "code", "no", "nr", "num", "number", "ref", "fk", "pk", "uuid", "guid", "oid", "uid", "rec", "record",
    "identifier", "ident", "index", "idx", "pos", "serial",
})
_MEASURES = frozenset({
    "quantity", "qty", "amount", "count", "total", "price", "cost", "rate", "year", "month", "day", "age", "size",
    "length", "height", "width", "weight", "duration", "minute", "second", "percent", "score", "rank", "level",
    "version", "stock", "balance", "salary", "points", "position", "sequence", "view", "views", "hits", "likes",
    "clicks", "downloads", "reputation",
})
_WITHIN = frozenset({
    "parent", "manager", "supervisor", "boss", "report", "superior", "superordinate", "predecessor", "successor",
    "previous", "next", "leader", "chief", "head", "mentor", "replaced", "origin", "reply",
})
_ROLES = frozenset({
    "rep", "representative", "salesperson", "seller", "agent", "clerk", "cashier", "manager", "supervisor", "assistant",
    "owner", "author", "creator", "editor", "reviewer", "approver", "assignee", "operator", "technician", "driver",
    "teacher", "instructor", "lecturer", "advisor", "adviser", "coach", "doctor", "physician", "nurse", "engineer",
    "grader", "examiner", "tutor", "trainer", "sender", "recipient", "borrower", "buyer", "uploader",
})
_PEOPLE = frozenset({"employee", "staff", "personnel", "worker", "person", "people", "user", "member"})
_RELATING = frozenset({"by", "of", "to", "from", "in", "at", "on", "for", "with", "during"})
# fmt: on


@dataclass(frozen=True, slots=True)
class DiscoveredLink:
    """A link that the data show or the user told of, with what speaks for it."""

    table: str
    column: str
    target: str
    referenced: str
    score: float
    evidence: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "from": f"{self.table}.{self.column}",
            "to": f"{self.target}.{self.referenced}",
            "score": round(self.score, 2) if math.isfinite(self.score) else None,
            "evidence": list(self.evidence),
            "ends": [self.table, self.column, self.target, self.referenced],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DiscoveredLink:
        """The link that `to_json` wrote."""
        table, column, target, referenced = data["ends"]
        score = math.inf if data["score"] is None else data["score"]
        return cls(table, column, target, referenced, score, tuple(data["evidence"]))


def with_links(
    schema: Schema, profile: Profile, database: Database, wishes: LinkWishes
) -> tuple[Schema, tuple[DiscoveredLink, ...]]:
    """The schema with the links that the data show and the user adds, without those that the user forbids."""
    kept = {
        table.name: tuple(key for key in table.foreign_keys if not is_forbidden(table, key, wishes))
        for table in schema.tables
    }
    schema = replace(schema, tables=tuple(replace(t, foreign_keys=kept[t.name]) for t in schema.tables))
    known: set[Ends] = set(schema.links)
    added = [ends for ends in dict.fromkeys(wishes.added) if ends not in known]
    told = [DiscoveredLink(*start, *end, math.inf, ("the user says so",)) for start, end in added]
    found = _chosen(_discovered(schema, profile, database, known.union(added), wishes), schema)
    links = (*told, *found)
    more: dict[str, list[ForeignKey]] = {}
    for link in links:
        more.setdefault(link.table, []).append(ForeignKey((link.column,), link.target, (link.referenced,)))
    return (
        replace(
            schema,
            tables=tuple(replace(t, foreign_keys=(*t.foreign_keys, *more.get(t.name, ()))) for t in schema.tables),
        ),
        links,
    )


def is_forbidden(table: Table, key: ForeignKey, wishes: LinkWishes) -> bool:
    """Whether the user takes a declared foreign key away."""
    ends: list[Ends] = [
        (Place(table.name, own), Place(key.table, other))
        for own, other in zip(key.columns, key.referenced, strict=False)  # SQLite lets a key lead to no column
    ]
    return any(pair in wishes.forbidden for pair in ends)


def _discovered(
    schema: Schema, profile: Profile, database: Database, known: set[Ends], wishes: LinkWishes
) -> Iterator[DiscoveredLink]:
    """All links that pass, several for a column perhaps; none for a column that has one, none that turns one round."""
    taken = {start for start, _ in known}
    keys, values = Keys(schema, profile), _Values(database, profile)
    for table in schema.tables:
        for column in table.columns:
            is_parent = _is_parents_key(column, table, schema)
            own = profile.column(table.name, column.name)
            place = Place(table.name, column.name)
            if own is None or not own.filled or place in taken or not _may_be_key(column, own):
                continue
            fitting, is_key = keys.fitting(column, own), column.name in table.keys
            numbers_rows = (
                bool(fitting) and is_key and column.kind is Kind.INTEGER and is_counter(span(own), own.distinct)
            )
            if numbers_rows and not _telling(column.name):
                continue  # it numbers its own rows, and lies in every longer key
            for target, key, there in fitting:
                end = Place(target.name, key.name)
                is_count = counts(own, there) and not _WITHIN.intersection(words(column.name))
                leading = own if column.kind is not Kind.INTEGER or is_count else without_nothing(own, there)
                if (
                    end == place
                    or (target.is_view and not table.is_view)  # a view shows what a table holds, not the other way
                    or (place, end) in wishes.forbidden
                    or (end, place) in known
                    or (column.kind is Kind.INTEGER and span(leading)[0] < span(there)[0])  # it counts from 0 on
                ):
                    continue
                name = _name_says(table, column, target, key, is_parent)
                if numbers_rows and (name < _NAMED or _are_sisters(column, table, target)):
                    continue
                weighed = partial(_weighed, table, column, target, leading, there, name, is_key)
                score, _ = weighed(_surprise(column, leading, there, None, is_key))
                if score < ENOUGH - _DOUBT:
                    continue
                nothing = nothing_of(own, there) if leading is not own else None
                share = values.share(place, end, without=int(nothing is not None))
                shock = _surprise(column, leading, there, values.beside(end, leading), is_key)
                score, evidence = weighed(shock)
                if share >= INCLUDED and score >= ENOUGH - _MARGIN:
                    whole = "all its values" if nothing is None else f"all its values but {nothing}"
                    told = f"{whole} lie there" if share == 1.0 else f"{share:.1%} of its values lie there"
                    yield DiscoveredLink(table.name, column.name, target.name, key.name, score, (told, *evidence))


def _chosen(links: Iterator[DiscoveredLink], schema: Schema) -> list[DiscoveredLink]:
    """The best link of each column; two keys that lie in each other are linked one way only."""
    best: dict[Place, DiscoveredLink] = {}
    rivals: dict[Place, list[DiscoveredLink]] = {}
    for link in sorted(links, key=lambda one: (-one.score, one.target, one.referenced, one.table, one.column)):
        start, end = Place(link.table, link.column), Place(link.target, link.referenced)
        back = best.get(end)
        if start in best:
            rivals.setdefault(start, []).append(link)
        elif back is None or (back.target, back.referenced) != start:
            best[start] = link
    kinds: Partition[Place] = Partition()
    for start, end in schema.links:
        kinds.join(end, start)
    for start, link in best.items():
        kinds.join(Place(link.target, link.referenced), start)

    def is_clear(start: Place, link: DiscoveredLink) -> bool:
        end = Place(link.target, link.referenced)
        near = [one for one in rivals.get(start, ()) if link.score - one.score < _MARGIN]
        if _is_named(link):
            near = [one for one in near if _is_named(one)]
        return all(kinds.of(Place(one.target, one.referenced)) == kinds.of(end) for one in near)

    return sorted(
        (link for start, link in best.items() if link.score >= ENOUGH and is_clear(start, link)),
        key=lambda link: (link.table, link.column),
    )


def _is_named(link: DiscoveredLink) -> bool:
    return _name_evidence(link.table, link.column, link.target, link.referenced) >= _NAMED


def _may_be_key(column: Column, own: ColumnProfile) -> bool:
    return column.kind in _KINDS and own.length <= _LONGEST


def _is_parents_key(column: Column, table: Table, schema: Schema) -> bool:
    """Whether a column is called as the key of a parent, and no other table is one of parents."""
    said = set(words(column.name))
    others = (other for other in schema.tables if other.name != table.name)
    return "parent" in said and bool(said & _IDENTIFYING) and not any("parent" in words(one.name) for one in others)


def _weighed(
    table: Table,
    column: Column,
    target: Table,
    own: ColumnProfile,
    there: ColumnProfile,
    name: float,
    is_key: bool,
    surprise: float,
) -> tuple[float, tuple[str, ...]]:
    """What speaks for a link if all values are included, as a score and in words."""
    said = set(words(column.name))
    use = own.distinct / max(1, there.distinct)
    weight = 1.0 if surprise > 0 else 1.0 - name  # a name that fits needs no help from the values
    score = _NAME * name + _SURPRISE * weight * max(-_GREAT, min(surprise, _GREAT)) / _GREAT + _USE * use
    evidence = []
    if name >= 0.5:
        evidence.append(f"its name fits ({name:.0%})")
    if surprise >= 3.0:
        evidence.append("that is no accident" if surprise >= _GREAT else "that is hardly an accident")
    else:
        evidence.append("but so do most small numbers")
    evidence.append(f"{use:.0%} of the keys are used")
    if links_pairs(table):
        score += _PAIRS
        evidence.append("it stands in a table that says which belong together")
    elif said & _MEASURES and not said & _IDENTIFYING:
        score += _MEASURE
        evidence.append("it is named like a measure")
    elif name < _STRANGE and (meant := _kind_named(column.name)) and not meant & (_ROLES | _WITHIN | _RELATING):
        score += _OTHER_KIND
        evidence.append("but it is named as the key of something else")
    if table.name == target.name and said & _WITHIN:
        score += _OWN_TABLE
        evidence.append("it is named like a relation between rows of one table")
    if words(column.name)[-1:] and words(column.name)[-1] in _RELATING:
        score += _RELATION
        evidence.append("it is named like a relation")
    if is_key and name < _NAMED and _telling(column.name) and _telling(column.name) == _telling(table.name):
        score += _OWN_NAME  # payment.payment_id numbers payments, whatever else has as many
    return score, tuple(evidence)


def _are_sisters(column: Column, table: Table, other: Table) -> bool:
    """Whether two tables have the same columns, as one for each year has: each numbers rows of its own.

    A column that is called more like the other table than like its own leads there all the same.
    """
    ours, theirs = ({one.name.casefold() for one in some.columns} for some in (table, other))
    alike = len(ours) > 2 and len(ours & theirs) >= _SAME * max(len(ours), len(theirs))
    called = " ".join(_telling(column.name))
    return alike and table.name != other.name and likeness(called, other.name) <= likeness(called, table.name)


def links_pairs(table: Table) -> bool:
    """Whether a table says nothing but which two things belong together: two columns that are a key only together."""
    whole = {column.name for column in table.columns}
    return len(whole) == 2 and any(set(key) == whole for key in (table.primary_key, *table.unique))


def _name_says(table: Table, column: Column, target: Table, key: Column, is_parent: bool) -> float:
    """How much a column's name says that it leads to a key, which may be that of its own table."""
    name = _name_evidence(table.name, column.name, target.name, key.name)
    if table.name == target.name and not set(words(column.name)) & _WITHIN:
        return 0.3 * name  # Exam.examOf is something of an exam, not an exam
    if table.name == target.name and is_parent and key.name == target.own_key:
        return max(name, _NAMED)  # the parent's id of a post is that of a post
    return name


def _name_evidence(table: str, column: str, target: str, key: str) -> float:
    """How much a column's name says that it leads to a key: `film_id`, `original_film` and `film` to film.id."""
    own = _telling(column)
    if not own:  # a bare id says what its table is called; a card payment is a payment
        ours, theirs = _telling(table), _telling(target)
        return 0.8 if theirs and ours[-len(theirs) :] == theirs else 0.5 * likeness(table, target)
    best = 0.0
    for goal in (_telling(target), _telling(key), _telling(target) + _telling(key)):
        if not goal:
            continue
        if own == goal:
            return 1.0
        if own[-len(goal) :] == goal:
            best = max(best, 0.9)
        elif own[: len(goal)] == goal:
            best = max(best, 0.6)
    if _ROLES.intersection(own) and _PEOPLE.intersection(words(target)):
        best = max(best, 0.7)  # a sales rep is an employee
    best = max(best, 0.9 * likeness(column, target))
    return max(best, 0.9 * likeness(column, key)) if _telling(key) else best


@lru_cache(maxsize=100_000)
def _kind_named(name: str) -> frozenset[str]:
    """What a column is named as the key of: territory, of `territory_id` and `territoryid`; nothing if of nothing."""
    *before, last = words(name) or ("",)
    if last in _IDENTIFYING:
        return frozenset(before).difference(SAYS_LITTLE, _IDENTIFYING)
    return frozenset({*before, last[:-2]}) if last.endswith("id") and len(last) > _RUN_TOGETHER else frozenset()


@lru_cache(maxsize=100_000)
def _telling(name: str) -> tuple[str, ...]:
    """The words that say what is meant: that it is a number or a key of something tells nothing."""
    return tuple(word for word in words(name) if word not in SAYS_LITTLE and word not in _IDENTIFYING)


def _surprise(
    column: Column, own: ColumnProfile, there: ColumnProfile, beside: tuple[int, int] | None, is_key: bool
) -> float:
    """How improbable it is, in nats, that values of this look lie in the key by accident; less than 0 speaks against.

    `beside` counts the keys below the column's least value and above its greatest, if somebody looked.
    """
    if column.kind is Kind.TEXT:
        return own.distinct * (2.5 if own.length >= 3.0 else 0.8)
    return surprise(span(own), own.distinct, span(there), there.distinct, beside, is_key)


class _Values:
    """Which share of a column's values lies in a key, asked once for each column."""

    def __init__(self, database: Database, profile: Profile) -> None:
        self._database, self._profile = database, profile
        self._sets: dict[tuple[Place, bool], frozenset[Any]] = {}
        self._bare: dict[Place, int | None] = {}

    def share(self, place: Place, key: Place, without: int = 0) -> float:
        """`without` counts values of the column that no key is, and that say so."""
        own, there = (self._profile.column(*one) for one in (place, key))
        if own is None or there is None or not own.distinct:
            return 0.0
        try:
            bare = there.padded or (own.padded and self._bare_values(key) == there.distinct)
            if own.distinct <= _LOCAL and there.distinct <= _LOCAL:
                values, keys = (patiently(partial(self._values, one, bare)) for one in (place, key))
                return len(values & keys) / (len(values) - without) if len(values) > without else 0.0
            return patiently(partial(self._asked, place, key, bare, without))
        except ConnectionLostError:
            raise
        except DatabaseError as error:
            tell_unanswered(place[0], "links", error)
            return 0.0

    def beside(self, key: Place, own: ColumnProfile) -> tuple[int, int] | None:
        """How many keys lie below and above a column's values; None if the keys are not at hand."""
        keys = self._sets.get((key, False))
        if keys is None or own.low is None:
            return None
        low, high = span(own)
        return sum(value < low for value in keys), sum(value > high for value in keys)

    def _bare_values(self, key: Place) -> int | None:
        if key not in self._bare:
            self._bare[key] = values_without_blanks(key, self._database)
        return self._bare[key]

    def _values(self, place: Place, bare: bool) -> frozenset[Any]:
        if (place, bare) not in self._sets:
            value, table = self._value(place, bare), self._database.quoted(place[0])
            rows = self._database.rows(f"SELECT DISTINCT {value} FROM {table}")
            self._sets[place, bare] = frozenset(value for (value,) in rows if value is not None)
        return self._sets[place, bare]

    def _asked(self, place: Place, key: Place, bare: bool, without: int) -> float:
        start, end = self._database.quoted(place[0]), self._database.quoted(key[0])
        values = f"SELECT DISTINCT {self._value(place, bare)} AS v FROM {start}"
        keys = f"SELECT {self._value(key, bare)} AS k FROM {end}"
        ((total, inside),) = self._database.rows(
            f"SELECT count(v), count(k) FROM ({values}) AS a LEFT JOIN ({keys}) AS b ON v = k WHERE v IS NOT NULL"
        )
        return float(inside / (total - without)) if total > without else 0.0

    def _value(self, place: Place, bare: bool) -> str:
        name = quote_identifier(place[1])
        column_type = self._database.schema.type_of(*place)
        if column_type.kind is not Kind.TEXT:
            return self._database.dialect.number(name, column_type)
        text = self._database.dialect.text_of(name)
        return self._database.dialect.unpadded(text) if bare else text
