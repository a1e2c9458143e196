"""The one statement per table that asks a source for the rows that matter.

What is asked for, the facts' arguments, goes along as bound parameters: a JSON array for each family of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ruleminer.extract.catalog import SourceColumn
from ruleminer.rules.sql import Query, as_text, identifier, lexical_sql
from ruleminer.rules.values import Kind

# Names that no table of a user has.
WANTED, REACHED = "ruleminer_wanted", "ruleminer_reached"
_WIDE = 200  # columns
_RESULT = "\0"  # between the common table expressions and what is selected


@dataclass(frozen=True, slots=True)
class Wanted:
    """What makes a row matter: one of the `values`, or at least `needed` of those `reached`; JSON arrays by family."""

    values: Mapping[Kind, str]
    reached: Mapping[Kind, str] = field(default_factory=dict)
    needed: int = 2


def has_raw(column: SourceColumn) -> bool:
    """Whether the engine's own text of a value can differ from its lexical form."""
    return column.type.kind is Kind.DECIMAL


def rows_query(
    table: str,
    columns: Sequence[SourceColumn],
    dialect: str,
    wanted: Wanted,
) -> Query | None:
    """The scan of one table for the rows that matter; None if it cannot have any.

    Columns come as `k<id>`, the lexical form, and for decimals `r<id>`, the engine's own text.
    """
    selected, holds, touches = list[exp.Expr](), list[exp.Expr](), list[exp.Expr]()
    for column in columns:
        place = exp.Column(this=identifier(column.name), table=exp.to_identifier("t"))
        key, name = lexical_sql(place, column.type, dialect), str(column.family)
        selected.append(exp.alias_(key, f"k{column.id}"))
        if has_raw(column):
            selected.append(exp.alias_(as_text(place), f"r{column.id}"))
        if column.family in wanted.values:
            holds.append(_one_of(key, f"{WANTED}_{name}"))
            if has_raw(column):
                holds.append(_one_of(as_text(place), f"{WANTED}_{name}"))
        if column.family in wanted.reached:
            touches.append(
                exp.case().when(_one_of(key, f"{REACHED}_{name}"), exp.Literal.number(1)).else_(exp.Literal.number(0))
            )
    if len(touches) >= wanted.needed:
        holds.append(exp.GTE(this=_balanced(touches, exp.Add), expression=exp.Literal.number(wanted.needed)))
    if not holds:
        return None
    lists = {f"{WANTED}_{name}": array for name, array in wanted.values.items()}
    lists |= {f"{REACHED}_{name}": array for name, array in wanted.reached.items()}
    statement = exp.select(*selected).from_(exp.alias_(exp.Table(this=identifier(table)), "t", table=True))
    if dialect == "duckdb" and len(columns) > _WIDE:
        sql = _wide(statement.sql(dialect), columns, wanted)
    else:
        sql = f"{_RESULT}{statement.where(_balanced(holds, exp.Or)).sql(dialect)}"
    if dialect == "postgres":
        sql = sql.replace("%", "%%")
    used = [name for name in lists if f"FROM {name})" in sql or f"JOIN {name} " in sql]
    ctes = ", ".join(f"{name} AS {_LIST[dialect]}" for name in used)
    return Query(f"WITH {ctes}{sql.replace(_RESULT, ' ')}", tuple(lists[name] for name in used))


def _wide(scan: str, columns: Sequence[SourceColumn], wanted: Wanted) -> str:
    """DuckDB cannot have as many `IN (SELECT …)` as a wide table has columns: its cells are looked up as rows."""

    def cells(lists: Mapping[Kind, str], prefix: str) -> list[str]:
        found = []
        for name in lists:
            keys = [f"k{c.id}" for c in columns if c.family is name]
            keys += [f"r{c.id}" for c in columns if c.family is name and has_raw(c) and prefix == WANTED]
            if keys:
                rows = f"SELECT n, unnest([{', '.join(keys)}]) AS v FROM ruleminer_numbered"
                found.append(f"SELECT n FROM ({rows}) SEMI JOIN {prefix}_{name} USING (v)")
        return found

    conditions = [f"n IN ({query})" for query in cells(wanted.values, WANTED)]
    if touching := cells(wanted.reached, REACHED):
        conditions.append(
            f"n IN (SELECT n FROM ({' UNION ALL '.join(touching)}) GROUP BY n HAVING count(*) >= {wanted.needed})"
        )
    numbered = f", ruleminer_numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS n FROM ({scan}))"
    return f"{numbered} {_RESULT}SELECT * EXCLUDE (n) FROM ruleminer_numbered WHERE {' OR '.join(conditions)}"


_LIST = {
    "duckdb": """(SELECT unnest(from_json(?, '["VARCHAR"]')) AS v)""",
    "postgres": "MATERIALIZED (SELECT json_array_elements_text(CAST(%s AS JSON)) AS v)",
    "sqlite": "(SELECT value AS v FROM json_each(?))",
}


def _balanced(parts: Sequence[exp.Expr], operator: type[exp.Binary]) -> exp.Expr:
    """The parts joined two by two: a table may have more columns than an engine's expressions may be deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = _balanced(parts[:middle], operator), _balanced(parts[middle:], operator)
    return exp.paren(operator(this=left, expression=right), copy=False)


def _one_of(value: exp.Expression, name: str) -> exp.Expression:
    return exp.In(this=value.copy(), query=exp.Subquery(this=exp.select("v").from_(name)))
