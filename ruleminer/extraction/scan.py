"""The one statement per table that asks a source for the rows that matter.

What is asked for, the facts' arguments, goes along as bound parameters: a JSON array for each family of values, and in
later passes one for each space. Numbers are compared as numbers: a scan may bring a row too many, but it must be fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from sqlglot import exp

from ruleminer.extraction.catalog import SourceColumn
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import as_text, column_of, identifier
from ruleminer.rules.sql import Query
from ruleminer.rules.values import Kind

# Names that no table of a user has.
WANTED, REACHED, COMMON = "ruleminer_wanted", "ruleminer_reached", "ruleminer_common"
_LISTED = 40  # values of a column that a statement names one by one
_WIDE = 200  # columns
_WHOLE = re.compile(r"-?\d{1,19}")
_LEAST, _GREATEST = -(2**63), 2**63 - 1
_BEYOND = ("hugeint", "uhugeint", "ubigint", "bigint unsigned", "unsigned big int")  # types that hold greater ones
_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What makes a row matter: one of the `values`, or at least `needed` of those `reached`; JSON arrays by label.

    Labels are families, and for what is reached spaces, too (`space_label`). A value that is common in a column is not
    looked for there, nor is a row reached by such values alone, nor is one of a table in which fewer columns than
    `joints` have a space. With `follow`, a row whose key is reached matters on its own.
    """

    values: Mapping[Kind, str]
    reached: Mapping[str, str] = field(default_factory=dict)
    needed: int = 2
    joints: int = 0
    follow: bool = False


def space_label(space: int) -> str:
    """What the values reached in a space go by."""
    return f"space{space}"


def has_raw(column: SourceColumn) -> bool:
    """Whether the engine's own text of a value can differ from its lexical form."""
    return column.type.kind is Kind.DECIMAL


def reaches_further(columns: Sequence[SourceColumn], wanted: Wanted) -> bool:
    """Whether a table can have rows that matter for what was reached alone."""
    touched = [column for column in columns if any(label in wanted.reached for label in _labels(column))]
    return _joins(columns, len(touched), wanted) or (wanted.follow and any(column.is_key for column in touched))


def _joins(columns: Sequence[SourceColumn], touched: int, wanted: Wanted) -> bool:
    """Whether rows of a table may lead from one to another of those that were reached."""
    return touched >= wanted.needed and sum(column.space is not None for column in columns) >= wanted.joints


def rows_query(
    table: str, columns: Sequence[SourceColumn], dialect: Dialect, wanted: Wanted | None, most: int | None = None
) -> Query | None:
    """The scan of one table for the rows that matter, at most so many; None if it cannot have any.
    All rows matter if nothing is wanted in particular.

    Columns come as `k<id>`, the lexical form, and for decimals `r<id>`, the engine's own text.
    """
    lists = _Lists(wanted or Wanted({}), dialect)
    selected, holds = list[exp.Expr](), list[exp.Expr]()
    touches, telling = list[exp.Expr](), list[exp.Expr]()
    for column in columns:
        place = column_of("t", column.name)
        selected.append(exp.alias_(dialect.lexical(place, column.type), f"k{column.id}"))
        if has_raw(column):
            selected.append(exp.alias_(as_text(place), f"r{column.id}"))
        if wanted is None:
            continue
        if (wanted_here := lists.wanted(column)) is not None:
            holds.append(wanted_here)
        labels = [label for label in _labels(column) if label in wanted.reached]
        if labels:
            inside = exp.or_(*(lists.holds(column, REACHED, label) for label in labels))
            touches.append(exp.case().when(inside, exp.Literal.number(1)).else_(exp.Literal.number(0)))
            telling.append(_uncommon(exp.paren(inside.copy()), column, lists))
            if wanted.follow and column.is_key:
                holds.append(exp.paren(inside.copy()))
    statement = exp.select(*selected).from_(exp.alias_(exp.Table(this=identifier(table)), "t", table=True))
    if wanted is None:
        return Query(statement.sql(dialect.name), ())
    if _joins(columns, len(touches), wanted):
        enough = exp.GTE(this=_balanced(touches, exp.Add), expression=exp.Literal.number(wanted.needed))
        by_some = any(column.common for column in columns)
        holds.append(exp.paren(exp.and_(enough, _balanced(telling, exp.Or))) if by_some else enough)
    if not holds:
        return None
    relations = []
    if dialect.rows_by_cell and len(columns) > _WIDE:
        values, reached = _lookups(wanted.values, WANTED, columns), _lookups(wanted.reached, REACHED, columns)
        further, query = dialect.rows_by_cell(statement.sql(dialect.name), values, reached, wanted.needed)
        relations.append(further)
        lists = _Lists(wanted, dialect)
        for relation, _ in (*values, *reached):
            lists.use(relation, None)
    else:
        query = statement.where(_balanced(holds, exp.Or)).sql(dialect.name)
    relations = [*(f"{name} AS {body}" for name, (body, _) in lists.used.items()), *relations]
    arrays = tuple(array for _, array in lists.used.values() if array is not None)
    limit = "" if most is None else f" LIMIT {most}"
    known = f"WITH {', '.join(relations)} " if relations else ""
    return Query(f"{known}{query}{limit}", arrays)


def common_query(
    table: str, columns: Sequence[SourceColumn], dialect: Dialect, wanted: Wanted, most: int
) -> Query | None:
    """Which of the values that a scan looks for stand in more than so many rows of a column: (column, value)."""
    lists = _Lists(wanted, dialect)
    counts = []
    for column in columns:
        asked = [(WANTED, str(column.family))] if column.family in wanted.values else []
        asked += [(REACHED, label) for label in _labels(column) if label in wanted.reached]
        if asked and not column.is_key:
            form = dialect.lexical(column_of("t", column.name), column.type)
            counts.append(
                exp.select(exp.alias_(exp.Literal.number(column.id), "n"), exp.alias_(form, "v"))
                .from_(exp.alias_(exp.Table(this=identifier(table)), "t", table=True))
                .where(exp.or_(*(lists.holds(column, *one) for one in asked)))
                .group_by(form.copy())
                .having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(most)))
                .sql(dialect.name)
            )
    if not counts:
        return None
    relations = ", ".join(f"{name} AS {body}" for name, (body, _) in lists.used.items())
    arrays = tuple(array for _, array in lists.used.values() if array is not None)
    return Query(f"WITH {relations} {' UNION ALL '.join(counts)}", arrays)


class _Lists:
    """The lists of values that a statement speaks of, each with the relation that it becomes."""

    def __init__(self, wanted: Wanted, dialect: Dialect) -> None:
        self._dialect = dialect
        self._arrays = {f"{WANTED}_{name}": array for name, array in wanted.values.items()}
        self._arrays |= {f"{REACHED}_{name}": array for name, array in wanted.reached.items()}
        self._wanted: dict[str, frozenset[str]] = {}
        self.used: dict[str, tuple[str, str | None]] = {}  # relation → its body, and the list to bind to it

    def wanted(self, column: SourceColumn) -> exp.Expr | None:
        """The condition that a column's value is wanted and not common; None if there can be none.

        Where all values of a column are known, those that are wanted are named.
        """
        label = str(column.family)
        if (name := f"{WANTED}_{label}") not in self._arrays:
            return None
        if name not in self._wanted:
            self._wanted[name] = frozenset(json.loads(self._arrays[name]))
        asked = self._wanted[name]
        if column.values and not has_raw(column):
            known = frozenset(column.common)
            left = tuple(value for value in column.values if value in asked and value not in known)
            return self.among(column, left) if left else None
        found = self.holds(column, WANTED, label)
        common = tuple(value for value in column.common if value in asked)
        if len(common) > _LISTED:
            common = column.common  # one list for all that a statement asks
        return exp.paren(exp.and_(found, exp.not_(self.among(column, common)))) if common else found

    def holds(self, column: SourceColumn, prefix: str, label: str) -> exp.Expr:
        """The condition that a column's value is in the list of a label."""
        place: exp.Expression = column_of("t", column.name)
        sql_type = column.type.sql_type.lower()
        comparable = not column.type.is_float and sql_type not in _BEYOND  # a float's 3.1 is not the 3.1 of a list
        if column.family is Kind.DECIMAL and self._dialect.types_values and comparable:
            whole = column.type.kind is Kind.INTEGER
            if not whole:
                place = exp.cast(place, "double")
            return _one_of(place, self.use(f"{prefix}_{label}", "bigint" if whole else "double"))
        listed = self._dialect.listed_types.get(sql_type)
        if listed is not None:
            return _one_of(place, self.use(f"{prefix}_{label}", listed))
        inside = _one_of(self._dialect.lexical(place, column.type), self.use(f"{prefix}_{label}", None))
        if has_raw(column):
            inside = exp.paren(exp.or_(inside, _one_of(as_text(place), f"{prefix}_{label}")))
        return inside

    def among(self, column: SourceColumn, values: Sequence[str]) -> exp.Expr:
        """The condition that a column's value has one of some lexical forms."""
        form = self._dialect.lexical(column_of("t", column.name), column.type)
        if len(values) <= _LISTED:
            if column.type.kind is Kind.INTEGER and self._dialect.types_values and all(map(_WHOLE.fullmatch, values)):
                numbers = [exp.Literal.number(value) for value in values]
                return exp.In(this=column_of("t", column.name), expressions=numbers)
            return exp.In(this=form, expressions=[exp.Literal.string(value) for value in values])
        name = f"{COMMON}_{column.id}"
        self._arrays[name] = json.dumps(values)
        return _one_of(form, self.use(name, None))

    def use(self, name: str, sql_type: str | None) -> str:
        """The relation of a list as texts, or of the values of a type in it."""
        if sql_type is None:
            self.used[name] = (self._dialect.value_list, self._arrays[name])
            return name
        relation = f"{name}_{sql_type}"
        if relation not in self.used:
            admitted = [value for value in json.loads(self._arrays[name]) if _has_type(value, sql_type)]
            cast = exp.cast(exp.column("v"), sql_type).sql(self._dialect.name)
            self.used[f"{relation}_text"] = (self._dialect.value_list, json.dumps(admitted))
            self.used[relation] = (f"(SELECT {cast} AS v FROM {relation}_text)", None)
        return relation


def _has_type(value: str, sql_type: str) -> bool:
    """Whether a text is a value of a type that lists are cast to."""
    if sql_type == "bigint":
        return _WHOLE.fullmatch(value) is not None and _LEAST <= int(value) <= _GREATEST
    if sql_type == "double":
        return _NUMBER.fullmatch(value) is not None
    try:
        date.fromisoformat(value) if sql_type == "date" else datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _labels(column: SourceColumn) -> Iterator[str]:
    yield str(column.family)
    if column.space is not None:
        yield space_label(column.space)


def _uncommon(condition: exp.Expr, column: SourceColumn, lists: _Lists) -> exp.Expr:
    """The condition, but for values that very many rows of the column hold."""
    if not column.common:
        return condition
    return exp.paren(exp.and_(condition, exp.not_(lists.among(column, column.common))))


def _lookups(
    lists: Mapping[Kind, str] | Mapping[str, str], prefix: str, columns: Sequence[SourceColumn]
) -> list[tuple[str, list[str]]]:
    """The relations of wanted values, with the selected columns of their labels."""
    found = []
    for name in lists:
        keys = [f"k{c.id}" for c in columns if name in _labels(c)]
        keys += [f"r{c.id}" for c in columns if name in _labels(c) and has_raw(c) and prefix == WANTED]
        if keys:
            found.append((f"{prefix}_{name}", keys))
    return found


def _balanced(parts: Sequence[exp.Expr], operator: type[exp.Binary]) -> exp.Expr:
    """The parts joined two by two: a table may have more columns than an engine's expressions may be deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = _balanced(parts[:middle], operator), _balanced(parts[middle:], operator)
    return exp.paren(operator(this=left, expression=right), copy=False)


def _one_of(value: exp.Expression, name: str) -> exp.Expr:
    return exp.In(this=value.copy(), query=exp.Subquery(this=exp.select("v").from_(name)))
