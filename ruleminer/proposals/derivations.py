"""What rules derive from the live database: how many facts, which of given ones, how many together.

Every question is read-only and asked once: rules with the same body have the same extension, whatever their head. What
the profile of the database tells is not asked; the rest is asked for many rules at once (`bulk_sizes.py`,
`bulk_facts.py`), and for one alone only if it has a shape of its own or others fail with it. A rule the database
refuses (a table that is gone or forbidden, a time limit) has no extension but a reason. A statement that loses its
connection is asked again; when the database does not come back, every question is refused, and what was asked before
is still known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ruleminer.errors import ConnectionLostError, DatabaseError, StatementStoppedError
from ruleminer.proposals.bulk_facts import (
    Wanted,
    arguments_sought,
    column_questions,
    fact_questions,
    lone_question,
    union_query,
)
from ruleminer.proposals.bulk_sizes import BulkSizes
from ruleminer.proposals.column_sql import ColumnSql
from ruleminer.proposals.containment import is_contained, widenings
from ruleminer.proposals.entity_texts import EntityTexts
from ruleminer.proposals.frames import Reading, alike, reading_of
from ruleminer.proposals.reach import End
from ruleminer.rules.body import Body
from ruleminer.rules.dialects import BOUND
from ruleminer.rules.lexical import family, readings
from ruleminer.rules.sql import Query, rule_query
from ruleminer.rules.transformations import result_kind
from ruleminer.rules.values import Kind, Place, Rule, Variable
from ruleminer.sources.database import Database
from ruleminer.sources.engines.engine import Parameters
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.profile import empty_profile
from ruleminer.structure.structure import Structure

_BATCH = 25  # rules that are asked for at once, each by a statement of its own
_MOST_CELLS = 20_000_000  # that are looked through to leave rules out: beyond, an index may find facts sooner
_BINDABLE = 200  # values bound in one statement

Item = TypeVar("Item")
Fact = tuple[str, ...]


class Derivations:
    """The derivations of rules in one database, remembered."""

    def __init__(self, database: Database, structure: Structure | None = None) -> None:
        self.database = database
        self.structure = structure or Structure(database.schema, empty_profile(database.schema))
        self.texts = EntityTexts(self.structure)
        self.statements: Counter[str] = Counter()  # how many of each sort were asked
        self.watch: Callable[[int, int], None] = lambda done, total: None  # while sizes are asked
        self.lost: str | None = None  # why the database does not answer any more
        self._sizes: dict[Body, int] = {}
        self._refused: dict[Body, str] = {}
        self._unions: dict[frozenset[Body], int | None] = {}
        self._distinct: dict[Place, int] = {}
        self._shares: dict[End, float] = {}
        self._readings: dict[Body, Reading | None] = {}
        self._columns = ColumnSql(database, self.structure.schema)
        self._bulk = BulkSizes(self.structure, self._columns)

    @property
    def known_sizes(self) -> Mapping[Body, int]:
        """What has been asked so far: the size of the extension of each body."""
        return self._sizes

    def recall(self, sizes: Mapping[Body, int]) -> None:
        """Sizes that are known from before."""
        self._sizes.update(sizes)

    def query(self, rule: Rule) -> Query:
        """The statement whose rows are the rule's facts, as lexical forms."""
        return rule_query(rule, self.database.dialect, self.structure.schema.type_of)

    def refusal(self, rule: Rule) -> str | None:
        """Why the rule cannot be run here, if it was tried and cannot."""
        return self._refused.get(Body(rule))

    def size(self, rule: Rule) -> int | None:
        """How many facts the rule derives; None if the database refuses."""
        return self.sizes([rule])[0]

    def sizes(self, rules: Sequence[Rule], bodies: Sequence[Body] | None = None) -> list[int | None]:
        """How many facts each rule derives; `bodies`, if at hand, spare us making them."""
        keys = bodies or [Body(rule) for rule in rules]
        asked = {
            key: rule
            for key, rule in zip(keys, rules, strict=True)
            if key not in self._sizes and key not in self._refused
        }
        if asked:
            self._ask_in_bulk(asked)
        alone = [(key, rule) for key, rule in asked.items() if key not in self._sizes and key not in self._refused]
        for some in _chunks(alone, _BATCH):
            self._ask_alone(some)
        return [self._sizes.get(key) for key in keys]

    def union_size(self, rules: Sequence[Rule]) -> int | None:
        """How many facts the rules derive together."""
        return self.union_sizes([rules])[0]

    def union_sizes(self, unions: Sequence[Sequence[Rule]]) -> list[int | None]:
        """How many facts the rules of each union derive together. Things of several kinds are never the same."""
        by_kind = [self._by_kind(rules) for rules in unions]
        sizes = iter(self._sizes_of_one_kind([rules for kinds in by_kind for rules in kinds]))
        found = ([next(sizes) for _ in kinds] for kinds in by_kind)
        return [None if None in some else sum(size for size in some if size is not None) for some in found]

    def kind_of(self, rule: Rule) -> Hashable:
        """What a rule's subjects are told apart by: the text of their IRIs, or the space of their key."""
        subject = rule.arguments[0]
        concat = rule.definition_of(subject)
        if concat is not None:
            return tuple(part if isinstance(part, str) else None for part in concat.parts)
        places = rule.places_of(subject)
        return next((space.key for place in places if (space := self.structure.space(place))), None)

    def _by_kind(self, rules: Sequence[Rule]) -> list[list[Rule]]:
        kinds: dict[Hashable, list[Rule]] = {}
        for rule in rules:
            kinds.setdefault(self.kind_of(rule), []).append(rule)
        return list(kinds.values())

    def _sizes_of_one_kind(self, unions: Sequence[Sequence[Rule]]) -> list[int | None]:
        keys = [frozenset(map(Body, rules)) for rules in unions]
        asked: dict[frozenset[Body], Sequence[Rule]] = {}
        for key, rules in zip(keys, unions, strict=True):
            if key not in self._unions and key not in asked:
                widest = self._widest(rules)
                if len(widest) == 1:
                    self._unions[key] = self.size(widest[0])
                else:
                    asked[key] = widest
        for some in _chunks(list(asked.items()), _BATCH):
            self._ask_unions(some)
        return [self._unions[key] for key in keys]

    def derived(self, rule: Rule) -> set[tuple[str, ...]]:
        """All facts of the rule."""
        query = self.query(rule)
        return set(self._rows("facts of a rule", query.sql, query.parameters))

    def sample(self, rules: Sequence[Rule], limit: int) -> list[tuple[str, ...]]:
        """Some facts that the rules derive, the same ones each time."""
        query = self._some(rules, (), limit)
        return self._rows("samples", query.sql, query.parameters)

    def difference(self, these: Sequence[Rule], those: Sequence[Rule], limit: int) -> list[Fact]:
        """Some facts that these rules derive together and those do not, the same ones each time."""
        query = self._some(these, those, limit)
        return self._rows("differences", query.sql, query.parameters)

    def differences(
        self, asked: Sequence[tuple[Sequence[Rule], Sequence[Rule]]], limit: int
    ) -> list[list[Fact] | None]:
        """The same for many, by few statements; what nobody is taken from is a sample. None if the database refuses."""
        found: list[list[Fact] | None] = []
        for some in _chunks(asked, _BATCH):
            try:
                found += self._differences(some, limit)
            except DatabaseError:
                found += [self._difference_alone(these, those, limit) for these, those in some]
        return found

    def _differences(
        self, asked: Sequence[tuple[Sequence[Rule], Sequence[Rule]]], limit: int
    ) -> list[list[Fact] | None]:
        queries = [self._some(these, those, limit) for these, those in asked]
        arities = [len(these[0].arguments) for these, _ in asked]
        nothing = self.database.dialect.text_of("NULL")
        parts = []
        for number, (query, (these, _)) in enumerate(zip(queries, asked, strict=True)):
            cells = [f"e.{quote_identifier(name)}" for name in these[0].argument_names]
            cells += [nothing] * (max(arities) - len(cells))
            named = ", ".join(f"{cell} AS a{place}" for place, cell in enumerate(cells))
            parts.append(f"SELECT {number} AS n, {named} FROM ({query.sql}) AS e")
        sql = " UNION ALL ".join(f"SELECT * FROM ({part}) AS p{number}" for number, part in enumerate(parts))
        values = tuple(value for query in queries for value in query.parameters)
        found: list[list[Fact] | None] = [[] for _ in asked]
        for number, *cells in sorted(self._rows("differences", sql, values)):
            own = found[number]
            assert own is not None
            own.append(tuple(cells[: arities[number]]))
        return found

    def _difference_alone(self, these: Sequence[Rule], those: Sequence[Rule], limit: int) -> list[Fact] | None:
        try:
            return self.difference(these, those, limit) if those else self.sample(these, limit)
        except DatabaseError:
            return None

    def _some(self, these: Sequence[Rule], those: Sequence[Rule], limit: int) -> Query:
        """The first facts of these rules that are none of those, by character."""
        one = self._union(these)
        sql, values = f"SELECT * FROM ({one.sql}) AS e", one.parameters
        if those:
            other = self._union(those)
            sql = f"SELECT * FROM (SELECT * FROM ({one.sql}) AS these EXCEPT SELECT * FROM ({other.sql}) AS those) AS e"
            values = (*values, *other.parameters)
        return Query(f"{sql} ORDER BY {self._order(these[0])} LIMIT {int(limit)}", values)

    def covered(self, rule: Rule, facts: Sequence[Fact]) -> list[bool] | None:
        """Which of these argument tuples the rule derives; None if the database refuses.

        An argument is read as the kind of the column that the rule takes it from: 5.00 is the number 5.
        """
        return self.coverage([(rule, facts)])[0]

    def coverage(self, asked: Sequence[tuple[Rule, Sequence[Fact]]]) -> list[list[bool] | None]:
        """For each rule: which of the facts beside it the rule derives; None if the database refuses."""
        forms = [self._forms(rule, facts) for rule, facts in asked]
        found = self._found([(rule, own) for (rule, _), own in zip(asked, forms, strict=True)])
        sets = [None if rows is None else set(rows) for rows in found]
        return [
            None if own is None or derived is None else [form in derived for form in own]
            for own, derived in zip(forms, sets, strict=True)
        ]

    def companions(self, asked: Sequence[tuple[Rule, Sequence[Fact]]]) -> list[set[tuple[Fact, str]] | None]:
        """For each rule with one argument more than the facts beside it: those it derives, with each value of the last.

        None if the database refuses.
        """
        return [
            None if rows is None else {(row[:-1], row[-1]) for row in rows}
            for rows in self._found([(rule, self._forms(rule, facts)) for rule, facts in asked])
        ]

    def distinct(self, columns: Iterable[Place]) -> dict[Place, int]:
        """How many different values each column holds."""
        wanted: dict[str, list[str]] = {}
        columns = list(columns)
        for table, column in columns:
            known = self.structure.profile.column(table, column)
            if known is not None:
                self._distinct[Place(table, column)] = known.distinct
            elif Place(table, column) not in self._distinct:
                wanted.setdefault(table, []).append(column)
        for table, names in wanted.items():
            counts = self._count_distinct(table, list(dict.fromkeys(names)))
            self._distinct.update({Place(table, name): count for name, count in counts.items()})
        return {place: self._distinct[place] for place in columns}

    def shares_up_to(self, ends: Iterable[End]) -> dict[End, float]:
        """Of columns with a value each: the share of the filled rows whose value is no greater.

        Those that the database refuses are left out.
        """
        tables: dict[str, list[End]] = {}
        ends = list(ends)
        for end in ends:
            if end not in self._shares:
                tables.setdefault(end.place.table, []).append(end)
        for table, wanted in tables.items():
            for some in _chunks(wanted, _BINDABLE):
                self._ask_shares(table, some)
        return {end: self._shares[end] for end in ends if end in self._shares}

    def _ask_shares(self, table: str, ends: Sequence[End]) -> None:
        counted: list[str] = []
        for place, _, filled in ends:
            name, bound = quote_identifier(place.column), BOUND
            asked = " AND ".join(f"{quote_identifier(one)} IS NOT NULL" for one in (place.column, *filled))
            if self.structure.schema.type_of(*place).kind is Kind.TEXT:
                name, bound = self.database.dialect.text_of(name), self.database.dialect.text_of(BOUND)
                bound += self.database.dialect.by_character  # as Python compares them
            # Whole numbers: Spark and MySQL round means of decimals to five digits.
            counted += [
                f"count(CASE WHEN {asked} AND {name} <= {bound} THEN 1 END)",
                f"count(CASE WHEN {asked} THEN 1 END)",
            ]
        whole = (self.structure.schema.type_of(*end.place).kind is Kind.INTEGER for end in ends)
        values = [int(end.value) if is_whole else end.value for end, is_whole in zip(ends, whole, strict=True)]
        sql = f"SELECT {', '.join(counted)} FROM {self.database.quoted(table)}"
        try:
            ((*counts,),) = self._rows("shares of rows", sql, values)
        except DatabaseError:
            return
        told = zip(ends, counts[::2], counts[1::2], strict=True)
        self._shares.update({end: int(first) / int(filled) for end, first, filled in told if filled})

    def _count_distinct(self, table: str, columns: list[str]) -> dict[str, int]:
        counted = ", ".join(
            f"count(DISTINCT {self.database.dialect.text_of(quote_identifier(name))})" for name in columns
        )
        try:
            ((*counts,),) = self._rows("distinct values", f"SELECT {counted} FROM {self.database.quoted(table)}")
        except DatabaseError:  # nothing is known of it: as many values as rows, or one
            rows = self.database.schema.table(table).rows if table in self.database.schema else None
            return dict.fromkeys(columns, rows or 1)
        return dict(zip(columns, map(int, counts), strict=True))

    def _ask_in_bulk(self, asked: Mapping[Body, Rule]) -> None:
        """Learn the sizes of rules that share a frame with others, or that the profile tells."""
        bodies: dict[Reading, list[Body]] = {}
        for body, rule in asked.items():
            reading = self._reading(body, rule)
            if reading is not None:
                bodies.setdefault(reading, []).append(body)
        told = {reading: size for reading in bodies if (size := self._bulk.known(reading)) is not None}
        questions = list(self._bulk.questions([reading for reading in bodies if reading not in told]))
        for done, question in enumerate(questions):
            self.watch(done, len(questions))
            try:
                told |= question.sizes(self._rows("sizes of many rules", question.sql, question.parameters))
            except DatabaseError:  # one of them is at fault, or all together take too long: each is asked alone
                continue
            for reading in question.readings:
                self._sizes.update(dict.fromkeys(bodies[reading], told[reading]) if reading in told else {})
        for reading, size in told.items():
            self._sizes.update(dict.fromkeys(bodies[reading], size))

    def _ask_alone(self, some: Sequence[tuple[Body, Rule]]) -> None:
        statements: list[str] = []
        values: list[object] = []
        ready: list[Body] = []
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
            for index, size in self._rows("sizes rule by rule", " UNION ALL ".join(statements), tuple(values)):
                self._sizes[ready[index]] = int(size)
        except DatabaseError as error:
            if len(ready) == 1:
                self._refused[ready[0]] = str(error)
                return
            rules = dict(some)
            for key in ready:
                self._ask_alone([(key, rules[key])])

    def _ask_unions(self, some: Sequence[tuple[frozenset[Body], Sequence[Rule]]]) -> None:
        try:
            queries = [self._union_query(rules) for _, rules in some]
            parts = (f"SELECT {n}, count(*) FROM ({query.sql}) AS e{n}" for n, query in enumerate(queries))
            values = tuple(value for query in queries for value in query.parameters)
            for index, size in self._rows("unions", " UNION ALL ".join(parts), values):
                self._unions[some[index][0]] = int(size)
        except DatabaseError:  # a time limit, too, is waited for once only
            if len(some) == 1:
                self._unions[some[0][0]] = None
                return
            for one in some:
                self._ask_unions([one])

    def _union_query(self, rules: Sequence[Rule]) -> Query:
        found = [self._reading(Body(rule), rule) for rule in rules]
        shared = [reading for reading in found if reading is not None]
        return union_query(shared, self._columns) if len(shared) == len(found) else self._union(rules)

    def _widest(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules without those whose facts another derives, as far as their texts and sizes show."""
        kept: list[Rule] = []
        for rule in map(self._widened, rules):
            if not any(is_contained(rule, other, self._alike) for other in kept):
                kept = [other for other in kept if not is_contained(other, rule, self._alike)]
                kept.append(rule)
        return kept

    def _widened(self, rule: Rule) -> Rule:
        """The rule without the filters that hold back nothing: those without which it derives as many facts."""
        size = self._sizes.get(Body(rule))
        for wider in widenings(rule) if size is not None else ():
            if self._sizes.get(Body(wider)) == size:
                return self._widened(wider)
        return rule

    def _alike(self, one: Place, other: Place) -> bool:
        schema = self.structure.schema
        try:
            return alike(schema.type_of(*one), schema.type_of(*other))
        except DatabaseError:
            return False

    def _reading(self, body: Body, rule: Rule) -> Reading | None:
        if body not in self._readings:
            self._readings[body] = reading_of(rule, self.database.schema)
        return self._readings[body]

    def _forms(self, rule: Rule, facts: Sequence[Fact]) -> list[Fact | None] | None:
        """The facts as the rule's columns have them; None if it cannot be run here."""
        try:
            kinds = self._kinds(rule)
        except DatabaseError as error:
            self._refused[Body(rule)] = str(error)
            return None
        return [_form(fact, kinds) for fact in facts]

    def _found(self, asked: Sequence[tuple[Rule, Sequence[Fact | None] | None]]) -> list[list[Fact] | None]:
        """For each rule the facts that it derives of those beside it; None if the database refuses."""
        wanted: dict[Body, dict[Fact, None]] = {}
        rules = {Body(rule): rule for rule, _ in asked}
        keys = [Body(rule) for rule, _ in asked]
        for key, (_, own) in zip(keys, asked, strict=True):
            wanted.setdefault(key, {}).update((form, None) for form in own or () if form)
        found: dict[Body, list[Fact]] = {key: [] for key, forms in wanted.items() if not forms}
        shared = [
            (key, Wanted(reading, tuple(forms)))
            for key, forms in wanted.items()
            if forms and (reading := self._reading(key, rules[key]))
        ]
        shared, without = self._possible(shared)
        found.update({key: [] for key in without})
        place = {id(one): key for key, one in shared}
        for question in fact_questions([one for _, one in shared], self._columns):
            try:
                rows = self._rows("facts of many rules", question.sql, question.parameters)
            except DatabaseError:  # each is asked alone
                continue
            found.update(zip((place[id(one)] for one in question.wanted), question.found(rows), strict=True))
        for key, forms in wanted.items():
            if key not in found:
                try:
                    found[key] = self._found_alone(rules[key], list(forms))
                except DatabaseError as error:
                    self._refused[key] = str(error)
        return [_of(own, found.get(key)) for key, (_, own) in zip(keys, asked, strict=True)]

    def _possible(self, shared: list[tuple[Body, Wanted]]) -> tuple[list[tuple[Body, Wanted]], list[Body]]:
        """The rules whose columns hold the arguments of a few facts, where there are many rules; and the others."""
        held: set[Place] = set()
        questions = column_questions([one for _, one in shared], self._columns)
        if sum(self._cells(question.places) for question in questions) > _MOST_CELLS:
            return shared, []
        for question in questions:
            try:
                held |= question.held(self._rows("columns that hold facts", question.sql, question.parameters))
            except DatabaseError:  # then all are asked
                return shared, []
        if not questions:
            return shared, []
        left = [(key, one) for key, one in shared if held.issuperset(arguments_sought(one))]
        there = {key for key, _ in left}
        return left, [key for key, _ in shared if key not in there]

    def _cells(self, places: Sequence[Sequence[Place]]) -> int:
        """How many values these columns hold, by table."""
        profiles = self.structure.profile.tables
        return sum(len(own) * profiles[own[0].table].rows for own in places if own[0].table in profiles)

    def _found_alone(self, rule: Rule, forms: Sequence[Fact]) -> list[Fact]:
        names = [quote_identifier(name) for name in rule.argument_names[: len(forms[0])]]
        query = lone_question(self.query(rule), names, forms, self.database.dialect)
        wanted = set(forms)
        rows = self._rows("facts rule by rule", query.sql, query.parameters)
        return [row for row in rows if row[: len(names)] in wanted]

    def _union(self, rules: Sequence[Rule]) -> Query:
        queries = [self.query(rule) for rule in rules]
        parts = (f"SELECT * FROM ({query.sql}) AS q{i}" for i, query in enumerate(queries))
        return Query(" UNION ".join(parts), tuple(value for query in queries for value in query.parameters))

    def _order(self, rule: Rule) -> str:
        """By character: an engine may be set up to go by some language."""
        collation = self.database.dialect.by_character
        return ", ".join(quote_identifier(name) + collation for name in rule.argument_names)

    def _kinds(self, rule: Rule) -> list[Kind]:
        """What the columns of the rule's arguments hold, or what they are transformed into; concatenations are text."""
        return [self._kind(rule, argument) for argument in rule.arguments]

    def _kind(self, rule: Rule, argument: Variable) -> Kind:
        concat = rule.definition_of(argument)
        if concat is None:
            return self.structure.schema.type_of(*rule.places_of(argument)[0]).kind
        return Kind.TEXT if concat.only is None else result_kind(concat.only)

    def one_row(self, sort: str, sql: str) -> tuple[Any, ...] | None:
        """The one row that answers a question about columns; None where the database does not say."""
        try:
            (row,) = self._rows(sort, sql)
        except DatabaseError:
            return None
        return row

    def _rows(self, sort: str, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        self.statements[sort] += 1
        if self.lost is not None:
            raise DatabaseError(self.lost)
        try:
            return patiently(lambda: list(self.database.rows(sql, parameters)))
        except StatementStoppedError as error:  # the statement is not to blame, and the next would fare no better
            self.lost = str(error).removesuffix("; try again")
            raise DatabaseError(self.lost) from None
        except ConnectionLostError as error:
            reason = str(error).removesuffix("; try again")
        try:
            list(self.database.rows("SELECT 1"))
        except DatabaseError:
            self.lost = reason
            raise DatabaseError(reason) from None
        raise DatabaseError(f"{reason} each time by this statement")


def _form(fact: Fact, kinds: Sequence[Kind]) -> Fact | None:
    """The fact as columns of these kinds have it; None if they cannot hold it."""
    read = [dict(readings(text)).get(family(kind)) for text, kind in zip(fact, kinds, strict=False)]
    return None if None in read else tuple(map(str, read))


def _of(facts: Sequence[Fact | None] | None, rows: Sequence[Fact] | None) -> list[Fact] | None:
    """The rows that begin with one of the facts: others may have asked the same rule for theirs."""
    if facts is None or rows is None:
        return None
    wanted = {fact for fact in facts if fact}
    length = len(next(iter(wanted), ()))
    return [row for row in rows if row[:length] in wanted]


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
