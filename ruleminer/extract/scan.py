"""The one statement per table that asks a source for the rows that matter.

What is asked for, the facts' arguments, goes along as bound parameters: a JSON array for each family of values.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ruleminer.extract.catalog import SourceColumn
from ruleminer.rules.sql import Query, as_text, identifier, lexical_sql
from ruleminer.rules.values import Kind

_WIDE = 200  # columns
_RESULT = "\0"  # between the common table expressions and what is selected


def has_raw(column: SourceColumn) -> bool:
    """Whether the engine's own text of a value can differ from its lexical form."""
    return column.type.kind is Kind.DECIMAL


def rows_query(
    table: str,
    columns: Sequence[SourceColumn],
    dialect: str,
    wanted: dict[Kind, str],
    reached: dict[Kind, str] | None = None,
) -> Query | None:
    """The scan of one table for the rows that hold a wanted value, or two of those already reached.

    Columns come as `k<id>`, the lexical form, and for decimals `r<id>`, the engine's own text.
    """
    selected, holds, touches = list[exp.Expr](), list[exp.Expr](), list[exp.Expr]()
    for column in columns:
        place = exp.Column(this=identifier(column.name), table=exp.to_identifier("t"))
        key, name = lexical_sql(place, column.type, dialect), str(column.family)
        selected.append(exp.alias_(key, f"k{column.id}"))
        if has_raw(column):
            selected.append(exp.alias_(as_text(place), f"r{column.id}"))
        if column.family in wanted:
            holds.append(_one_of(key, f"wanted_{name}"))
            if has_raw(column):
                holds.append(_one_of(as_text(place), f"wanted_{name}"))
        if reached and column.family in reached:
            touches.append(
                exp.case().when(_one_of(key, f"reached_{name}"), exp.Literal.number(1)).else_(exp.Literal.number(0))
            )
    if len(touches) > 1:
        holds.append(exp.GTE(this=_balanced(touches, exp.Add), expression=exp.Literal.number(2)))
    if not holds:
        return None
    lists = {f"wanted_{name}": array for name, array in wanted.items()}
    lists |= {f"reached_{name}": array for name, array in (reached or {}).items()}
    statement = exp.select(*selected).from_(exp.alias_(exp.Table(this=identifier(table)), "t", table=True))
    if dialect == "duckdb" and len(columns) > _WIDE:
        sql = _wide(statement.sql(dialect), columns, wanted, reached or {})
    else:
        sql = f"{_RESULT}{statement.where(_balanced(holds, exp.Or)).sql(dialect)}"
    if dialect == "postgres":
        sql = sql.replace("%", "%%")
    used = [name for name in lists if f"FROM {name})" in sql or f"JOIN {name} " in sql]
    ctes = ", ".join(f"{name} AS {_LIST[dialect]}" for name in used)
    return Query(f"WITH {ctes}{sql.replace(_RESULT, ' ')}", tuple(lists[name] for name in used))


def _wide(scan: str, columns: Sequence[SourceColumn], wanted: dict[Kind, str], reached: dict[Kind, str]) -> str:
    """DuckDB cannot have as many `IN (SELECT …)` as a wide table has columns: its cells are looked up as rows."""

    def cells(lists: dict[Kind, str], prefix: str) -> list[str]:
        found = []
        for name in lists:
            keys = [f"k{c.id}" for c in columns if c.family is name]
            keys += [f"r{c.id}" for c in columns if c.family is name and has_raw(c) and prefix == "wanted"]
            if keys:
                rows = f"SELECT n, unnest([{', '.join(keys)}]) AS v FROM numbered"
                found.append(f"SELECT n FROM ({rows}) SEMI JOIN {prefix}_{name} USING (v)")
        return found

    conditions = [f"n IN ({query})" for query in cells(wanted, "wanted")]
    if touching := cells(reached, "reached"):
        conditions.append(f"n IN (SELECT n FROM ({' UNION ALL '.join(touching)}) GROUP BY n HAVING count(*) > 1)")
    numbered = f", numbered AS MATERIALIZED (SELECT *, row_number() OVER () AS n FROM ({scan}))"
    return f"{numbered} {_RESULT}SELECT * EXCLUDE (n) FROM numbered WHERE {' OR '.join(conditions)}"


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
