"""A pair's SQL taken apart: its branches, the tables it reads, and which of their columns its joins make equal.

RODI writes PostgreSQL, so an unquoted name is lower-case; it is printed anew for the engine that runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

from ruleminer.errors import DatabaseError
from ruleminer.problem.pair_target import NoFacts
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.values import Kind
from ruleminer.sources.foreign_sql import LONGEST, parsed_statements
from ruleminer.sources.schema import Schema, Table

_ENTANGLED = ("with_", "group", "having", "limit", "offset", "qualify", "windows", "laterals", "pivots")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


class AliasedColumn(NamedTuple):
    """A column of a table in FROM, by the table's alias."""

    alias: str
    column: str


Entity = frozenset[AliasedColumn]
"""Columns that the joins make equal: one entity, seen from several tables."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One SELECT of a pair, without its COUNT and UNION: what it returns, and under which names."""

    select: exp.Select
    selected: tuple[exp.Expr, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sources:
    """What one SELECT reads: tables by alias, derived tables by alias, and the columns made equal by joins."""

    tables: Mapping[str, Table]
    derived: Mapping[str, Sources]
    projections: Mapping[str, exp.Select]
    equal: Mapping[AliasedColumn, Entity]

    def entity(self, place: AliasedColumn) -> Entity:
        """All columns that equal this one."""
        return self.equal.get(place, frozenset({place}))

    def place(self, column: exp.Expr) -> AliasedColumn | None:
        """Where a column is read, unless that is unknown or ambiguous."""
        if not isinstance(column, exp.Column):
            return None
        holders = [
            AliasedColumn(alias, name)
            for alias, table in self.tables.items()
            if column.table in ("", alias) and (name := _fit(column.name, (c.name for c in table.columns)))
        ]
        unambiguous = holders and all(place in self.entity(holders[0]) for place in holders)
        return holders[0] if unambiguous else None

    def single_keys(self) -> Iterator[AliasedColumn]:
        """The columns that alone are the key of their table."""
        for alias, table in self.tables.items():
            if key := table.own_key:
                yield AliasedColumn(alias, key)

    def type_of(self, expression: exp.Expr) -> ColumnType | None:
        """The type of an expression, as far as schema and syntax tell."""
        if isinstance(expression, exp.Paren):
            return self.type_of(expression.this)
        if isinstance(expression, exp.Column):
            return self._column_type(expression)
        if isinstance(expression, exp.Concat | exp.DPipe):
            return ColumnType(Kind.TEXT, "text")
        if isinstance(expression, exp.Literal) and not expression.is_string:
            return ColumnType(Kind.INTEGER if expression.is_int else Kind.DECIMAL, "numeric")
        if isinstance(expression, exp.Boolean):
            return ColumnType(Kind.BOOLEAN, "boolean")
        if isinstance(expression, exp.Add | exp.Sub | exp.Mul | exp.Div):
            sides = (self.type_of(expression.left), self.type_of(expression.right))
            if all(side and side.kind in (Kind.INTEGER, Kind.DECIMAL) for side in sides):
                is_float = any(side and side.is_float for side in sides)
                return ColumnType(Kind.DECIMAL, "double precision" if is_float else "numeric")
        return None

    def _column_type(self, column: exp.Column) -> ColumnType | None:
        if place := self.place(column):
            return self.tables[place.alias].type_of(place.column)
        for alias, select in self.projections.items():
            for projection in select.expressions:
                if column.table in ("", alias) and projection.alias_or_name == column.name:
                    return self.derived[alias].type_of(projection.unalias())
        return None


def parse_pair_sql(sql: str) -> exp.Expr | NoFacts:
    """The one query of a pair, its unquoted names in lower case; the caller may change it."""
    parsed = _parsed(sql)
    return parsed if isinstance(parsed, NoFacts) else parsed.copy()


@lru_cache(maxsize=1024)  # its facts, its rows and its causes are read one after the other
def _parsed(sql: str) -> exp.Expr | NoFacts:
    if len(sql) > LONGEST:
        return NoFacts(f"its SQL has more than {LONGEST:,} characters")
    try:
        statements = parsed_statements(sql, "postgres")
    except (SqlglotError, DatabaseError) as problem:
        return NoFacts(f"its SQL does not parse: {str(problem).splitlines()[0]}")
    except RecursionError:
        return NoFacts("its SQL is nested too deeply")
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return NoFacts("its SQL is not one SELECT")
    return normalize_identifiers(statements[0], dialect="postgres")


def branches(query: exp.Expr) -> tuple[Branch, ...] | NoFacts:
    """The SELECTs of a query, united or single, counted or not."""
    entangled = [part for part in _ENTANGLED if query.args.get(part)]
    if entangled:
        return NoFacts(f"its SQL has {entangled[0].rstrip('_').upper()}")
    if isinstance(query, exp.Subquery):
        return branches(query.this)
    if isinstance(query, exp.Union):
        sides = (branches(query.left), branches(query.right))
        found: tuple[Branch, ...] = ()
        for side in sides:
            if isinstance(side, NoFacts):
                return side
            found += side
        return found
    if not isinstance(query, exp.Select):
        return NoFacts(f"its SQL has {query.key.upper()}")
    distinct = query.args.get("distinct")
    if distinct and distinct.args.get("on"):
        return NoFacts("its SQL has DISTINCT ON")
    counts = [part for part in query.expressions if part.find(exp.AggFunc)]
    if not counts:
        return _plain_branch(query)
    count = query.expressions[0].unalias()
    if len(query.expressions) != 1 or not isinstance(count, exp.Count):
        return NoFacts("its SQL aggregates otherwise than by one COUNT")
    return _counted_branch(query, count)


def _plain_branch(select: exp.Select) -> tuple[Branch, ...] | NoFacts:
    if any(part.find(exp.Star) for part in select.expressions):
        return NoFacts("its SQL selects *")
    selected = tuple(part.unalias() for part in select.expressions)
    return (Branch(select, selected, tuple(part.alias_or_name for part in select.expressions)),)


def _counted_branch(select: exp.Select, count: exp.Count) -> tuple[Branch, ...] | NoFacts:
    counted = count.this.expressions if isinstance(count.this, exp.Distinct) else [count.this]
    if isinstance(counted[0], exp.Star):
        source = select.args["from_"].this if select.args.get("from_") else None
        if isinstance(source, exp.Subquery) and not select.args.get("joins") and not select.args.get("where"):
            return branches(source.this)
        return (Branch(select, (), ()),)
    return (Branch(select, tuple(counted), tuple(part.alias_or_name for part in counted)),)


def read_sources(select: exp.Select, schema: Schema) -> Sources | NoFacts:
    """The tables of a SELECT, found in the schema, with the equalities of its joins."""
    tables: dict[str, Table] = {}
    derived: dict[str, Sources] = {}
    projections: dict[str, exp.Select] = {}
    equalities: list[tuple[exp.Expr, exp.Expr]] = []
    pairs: list[tuple[AliasedColumn, AliasedColumn]] = []
    clauses: list[exp.Expr] = [select.args["from_"]] if select.args.get("from_") else []
    for clause in [*clauses, *(select.args.get("joins") or ())]:
        source, join = clause.this, clause if isinstance(clause, exp.Join) else None
        alias = source.alias_or_name
        if join is not None and join.side:
            return NoFacts(f"its SQL has a {join.side} JOIN, which may keep rows that are no facts")
        if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
            inner = read_sources(source.this, schema)
            if isinstance(inner, NoFacts):
                return inner
            derived[alias], projections[alias] = inner, source.this
            continue
        if not isinstance(source, exp.Table) or not source.name:
            return NoFacts("its SQL reads something other than tables")
        table = find_table(schema, source.name)
        if table is None:
            return NoFacts(f"the database has no table {source.name}")
        if join is not None:
            pairs += _shared_columns(join, alias, table, tables)
            equalities += _equalities(join.args.get("on"))
        tables[alias] = table
    where = select.args.get("where")
    equalities += _equalities(where.this if where else None)
    named = Sources(tables, derived, projections, {})
    for left, right in equalities:
        if (one := named.place(left)) and (other := named.place(right)):
            pairs.append((one, other))
    return Sources(tables, derived, projections, _closure(pairs))


def find_table(schema: Schema, name: str) -> Table | None:
    """The table of this name; in another case only where that is unambiguous."""
    fitting = _fit(name, (table.name for table in schema.tables))
    return next((table for table in schema.tables if table.name == fitting), None)


def engine_sql(query: exp.Expr, schema: Schema, dialect: Dialect) -> str:
    """A pair's query in the words of an engine."""
    if not dialect.types_values:
        query = _with_dates_as_kept(query.copy(), schema)
    return dialect.rephrased(query).sql(dialect.name, identify=True)


def _with_dates_as_kept(query: exp.Expr, schema: Schema) -> exp.Expr:
    """Where dates are kept as text, a text they are compared with must be written alike."""
    for select in list(query.find_all(exp.Select)):
        sources = read_sources(select, schema)
        if isinstance(sources, NoFacts):
            continue
        for comparison in select.find_all(*_COMPARISONS):
            for literal, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
                found = sources.type_of(other)
                if found and isinstance(literal, exp.Literal) and literal.is_string:
                    text = literal.name.replace("T", " ") if found.kind is Kind.TIMESTAMP else literal.name[:10]
                    if found.kind in (Kind.DATE, Kind.TIMESTAMP):
                        literal.replace(exp.Literal.string(text))
    return query


def _shared_columns(
    join: exp.Join, alias: str, table: Table, before: Mapping[str, Table]
) -> Iterator[tuple[AliasedColumn, AliasedColumn]]:
    """The equalities that NATURAL and USING mean."""
    if join.method == "NATURAL":
        wanted = [column.name for column in table.columns]
    else:
        wanted = [part.name for part in join.args.get("using") or ()]
    for name in wanted:
        here = _fit(name, (column.name for column in table.columns))
        for other, left in before.items():
            there = _fit(name, (column.name for column in left.columns))
            if here and there:
                yield AliasedColumn(other, there), AliasedColumn(alias, here)


def _equalities(condition: exp.Expr | None) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """The equations of columns that hold for every row: conjuncts only."""
    if isinstance(condition, exp.Paren):
        yield from _equalities(condition.this)
    elif isinstance(condition, exp.And):
        yield from _equalities(condition.left)
        yield from _equalities(condition.right)
    elif isinstance(condition, exp.EQ):
        yield condition.left, condition.right


def _closure(pairs: Iterable[tuple[AliasedColumn, AliasedColumn]]) -> dict[AliasedColumn, Entity]:
    equal: dict[AliasedColumn, Entity] = {}
    for one, other in pairs:
        merged = equal.get(one, frozenset({one})) | equal.get(other, frozenset({other}))
        equal.update(dict.fromkeys(merged, merged))
    return equal


def _fit(name: str, names: Iterable[str]) -> str | None:
    known = list(names)
    if name in known:
        return name
    alike = [other for other in known if other.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None
