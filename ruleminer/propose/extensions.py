"""What rules derive from the live database: how many facts, which of given ones, how many together.

Every question is one read-only statement (sizes: one for a batch of rules), asked once: rules with the same body have
the same extension, whatever their head. A rule the database refuses (a table that is gone or forbidden, a time
limit) has no extension but a reason. A statement that loses its connection is asked once more; when the database
does not come back, every question is refused, and what was asked before is still known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.problem.database import Database
from ruleminer.problem.engines.engine import Parameters
from ruleminer.problem.schema import quote_identifier
from ruleminer.propose.key_spaces import places_of
from ruleminer.rules.lexical import family, readings
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import ColumnType, Query, rule_query
from ruleminer.rules.values import Kind, Rule, Variable

_BATCH = 25  # rules whose sizes are asked for at once
_BINDABLE = 200  # values bound in one statement

Item = TypeVar("Item")


def body_of(rule: Rule) -> str:
    """What the extension depends on: the rule without its predicate."""
    return rule_text(replace(rule, predicate="_"))


class Extensions:
    """The extensions of rules in one database, remembered."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.lost: str | None = None  # why the database does not answer any more
        self._sizes: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._unions: dict[tuple[str, ...], int | None] = {}
        self._distinct: dict[tuple[str, str], int] = {}
        self._values: dict[tuple[str, str, int], list[object]] = {}

    @property
    def known_sizes(self) -> Mapping[str, int]:
        """What has been asked so far: the size of the extension of each body."""
        return self._sizes

    def recall(self, sizes: Mapping[str, int]) -> None:
        """Sizes that are known from before."""
        self._sizes.update(sizes)

    def query(self, rule: Rule) -> Query:
        """The statement whose rows are the rule's facts, as lexical forms."""

        def type_of(table: str, column: str) -> ColumnType:
            found = self.database.schema.table(table).column(column)
            return ColumnType(found.kind, found.sql_type)

        return rule_query(rule, self.database.dialect, type_of)

    def refusal(self, rule: Rule) -> str | None:
        """Why the rule cannot be run here, if it was tried and cannot."""
        return self._refused.get(body_of(rule))

    def size(self, rule: Rule) -> int | None:
        """How many facts the rule derives; None if the database refuses."""
        return self.sizes([rule])[0]

    def sizes(self, rules: Sequence[Rule], bodies: Sequence[str] | None = None) -> list[int | None]:
        """How many facts each rule derives; `bodies`, if at hand, spare us printing them."""
        keys = bodies or [body_of(rule) for rule in rules]
        asked = {
            key: rule
            for key, rule in zip(keys, rules, strict=True)
            if key not in self._sizes and key not in self._refused
        }
        for some in _chunks(list(asked.items()), _BATCH):
            self._ask_sizes(some)
        return [self._sizes.get(key) for key in keys]

    def union_size(self, rules: Sequence[Rule]) -> int | None:
        """How many facts the rules derive together."""
        if len(rules) == 1:
            return self.size(rules[0])
        key = tuple(sorted({body_of(rule) for rule in rules}))
        if key not in self._unions:
            try:
                query = self._union(rules)
                ((size,),) = self._rows(f"SELECT count(*) FROM ({query.sql}) AS e", query.parameters)
                self._unions[key] = int(size)
            except DatabaseError:  # a time limit, too, is waited for once only
                self._unions[key] = None
        return self._unions[key]

    def derived(self, rule: Rule) -> set[tuple[str, ...]]:
        """All facts of the rule."""
        query = self.query(rule)
        return set(self._rows(query.sql, query.parameters))

    def sample(self, rules: Sequence[Rule], limit: int) -> list[tuple[str, ...]]:
        """Some facts that the rules derive, the same ones each time."""
        query = self._union(rules)
        sql = f"SELECT * FROM ({query.sql}) AS e ORDER BY {self._order(rules[0])} LIMIT {int(limit)}"
        return self._rows(sql, query.parameters)

    def covered(self, rule: Rule, facts: Sequence[tuple[str, ...]]) -> list[bool] | None:
        """Which of these argument tuples the rule derives; None if the database refuses.

        An argument is read as the kind of the column that the rule takes it from: 5.00 is the number 5.
        """
        found: set[tuple[str, ...]] = set()
        try:
            query, kinds = self.query(rule), self._kinds(rule)
            forms = [_form(fact, kinds) for fact in facts]
            for wanted, values in self._choices(rule.arguments, [form for form in forms if form]):
                sql = f"SELECT * FROM ({query.sql}) AS e WHERE {wanted}"
                found.update(self._rows(sql, (*query.parameters, *values)))
        except DatabaseError as error:
            self._refused[body_of(rule)] = str(error)
            return None
        return [form in found for form in forms]

    def companions(self, rule: Rule, facts: Sequence[tuple[str, ...]]) -> set[tuple[tuple[str, ...], str]]:
        """For a rule with one argument more than the facts: the facts it derives, with each value of the last one."""
        found: set[tuple[tuple[str, ...], str]] = set()
        query, kinds = self.query(rule), self._kinds(rule)[:-1]
        forms = [form for fact in facts if (form := _form(fact, kinds))]
        for wanted, values in self._choices(rule.arguments[:-1], forms):
            sql = f"SELECT * FROM ({query.sql}) AS e WHERE {wanted}"
            found.update((row[:-1], row[-1]) for row in self._rows(sql, (*query.parameters, *values)))
        return found

    def _choices(
        self, arguments: Sequence[Variable], forms: Sequence[tuple[str, ...]]
    ) -> Iterator[tuple[str, list[str]]]:
        """Conditions on rows named e that choose these facts, some at a time, with the values to bind."""
        names = [quote_identifier(argument.name) for argument in arguments]
        mark = "%s" if self.database.dialect == "postgres" else "?"
        row = " AND ".join(f"e.{name} = CAST({mark} AS text)" for name in names)
        for some in _chunks(list(dict.fromkeys(forms)), _BINDABLE // len(names)):
            yield " OR ".join(f"({row})" for _ in some), [value for fact in some for value in fact]

    def distinct(self, columns: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """How many different values each (table, column) holds."""
        wanted: dict[str, list[str]] = {}
        columns = list(columns)
        for table, column in columns:
            if (table, column) not in self._distinct:
                wanted.setdefault(table, []).append(column)
        for table, names in wanted.items():
            counts = self._count_distinct(table, list(dict.fromkeys(names)))
            self._distinct.update({(table, name): count for name, count in counts.items()})
        return {place: self._distinct[place] for place in columns}

    def values(self, table: str, column: str, limit: int) -> list[object]:
        """The values of a column, in order; at most so many."""
        place = table, column, limit
        if place not in self._values:
            value = name = quote_identifier(column)
            if self.database.schema.table(table).column(column).kind is Kind.TEXT:  # json and the like have no order
                value = f"CAST({name} AS text)"
            sql = (
                f"SELECT DISTINCT {value} FROM {self.database.quoted(table)} WHERE {name} IS NOT NULL "
                f"ORDER BY 1 LIMIT {int(limit)}"
            )
            self._values[place] = [found for (found,) in self._rows(sql)]
        return self._values[place]

    def _count_distinct(self, table: str, columns: list[str]) -> dict[str, int]:
        counted = ", ".join(f"count(DISTINCT CAST({quote_identifier(name)} AS text))" for name in columns)
        try:
            ((*counts,),) = self._rows(f"SELECT {counted} FROM {self.database.quoted(table)}")
        except DatabaseError:  # nothing is known of it: as many values as rows, or one
            rows = self.database.schema.table(table).rows if table in self.database.schema else None
            return dict.fromkeys(columns, rows or 1)
        return dict(zip(columns, map(int, counts), strict=True))

    def _ask_sizes(self, some: Sequence[tuple[str, Rule]]) -> None:
        statements: list[str] = []
        values: list[object] = []
        ready: list[str] = []
        for key, rule in some:
            try:
                query = self.query(rule)
            except DatabaseError as error:
                self._refused[key] = str(error)
                continue
            statements.append(f"SELECT {len(ready)}, count(*) FROM ({query.sql}) AS e")
            values += query.parameters
            ready.append(key)
        if not ready:
            return
        try:
            for index, size in self._rows(" UNION ALL ".join(statements), tuple(values)):
                self._sizes[ready[index]] = int(size)
        except DatabaseError as error:
            if len(ready) == 1:
                self._refused[ready[0]] = str(error)
                return
            rules = dict(some)
            for key in ready:  # one of them is at fault, or all together take too long
                self._ask_sizes([(key, rules[key])])

    def _union(self, rules: Sequence[Rule]) -> Query:
        queries = [self.query(rule) for rule in rules]
        parts = (f"SELECT * FROM ({query.sql}) AS q{i}" for i, query in enumerate(queries))
        return Query(" UNION ".join(parts), tuple(value for query in queries for value in query.parameters))

    def _order(self, rule: Rule) -> str:
        """By character, as the other engines do; PostgreSQL would go by the language it was set up for."""
        collation = ' COLLATE "C"' if self.database.dialect == "postgres" else ""
        return ", ".join(quote_identifier(argument.name) + collation for argument in rule.arguments)

    def _kinds(self, rule: Rule) -> list[Kind]:
        """What the columns of the rule's arguments hold; concatenations are text."""
        schema = self.database.schema
        first = [(argument, places_of(rule, argument)[0]) for argument in rule.arguments]
        return [
            Kind.TEXT if rule.definition_of(argument) else schema.table(table).column(column).kind
            for argument, (table, column) in first
        ]

    def _rows(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        if self.lost is not None:
            raise DatabaseError(self.lost)
        try:
            return list(self.database.rows(sql, parameters))
        except ConnectionLostError as error:
            try:
                list(self.database.rows("SELECT 1"))
            except DatabaseError:
                self.lost = str(error).removesuffix("; try again")
                raise DatabaseError(self.lost) from None
        try:
            return list(self.database.rows(sql, parameters))
        except ConnectionLostError as error:  # it is this statement that breaks connections
            raise DatabaseError(f"{str(error).removesuffix('; try again')} twice by the same statement") from None


def _form(fact: Sequence[str], kinds: Sequence[Kind]) -> tuple[str, ...] | None:
    """The fact as columns of these kinds have it; None if they cannot hold it."""
    read = [dict(readings(text)).get(family(kind)) for text, kind in zip(fact, kinds, strict=True)]
    return None if None in read else tuple(map(str, read))


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
