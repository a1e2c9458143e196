"""The rows behind a fact, as people need to see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ruleminer.errors import DatabaseError
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.rules.body import Body
from ruleminer.rules.dialects import BOUND
from ruleminer.rules.expressions import as_text, column_of, identifier
from ruleminer.rules.sql import BodySql, argument_sql
from ruleminer.rules.values import Atom, Rule, Scalar, Variable
from ruleminer.sources.schema import Column, quote_identifier

_COLUMNS = 14  # of a table that are shown


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its columns by name, None for NULL; which of them the fact stands in."""

    table: str
    cells: tuple[tuple[str, str | None], ...]
    marked: frozenset[str]


def rows_behind(rule: Rule, fact: Fact, derivations: Derivations) -> tuple[Row, ...]:
    """The rows, one of each table of the rule, that a fact is derived from; the first if there are several."""
    database = derivations.database
    fact = derivations.texts.read(Body(rule), fact) or fact
    values: list[Scalar | float] = []

    def bound(value: Scalar) -> exp.Expression:
        values.append(database.dialect.bindable(value))
        return exp.Var(this=BOUND)

    try:
        body = BodySql(rule, database.dialect, derivations.structure.schema.type_of, bound)
        selected: list[exp.Expr] = [
            exp.alias_(argument_sql(body, argument), identifier(f"a{place}"))
            for place, argument in enumerate(rule.arguments)
        ]
        shown = [
            (number, atom, column.name)
            for number, atom in enumerate(rule.body, start=1)
            for column in _shown_columns(atom, derivations)
        ]
        selected += [
            exp.alias_(as_text(column_of(f"t{number}", name)), identifier(f"c{place}"))
            for place, (number, _, name) in enumerate(shown)
        ]
        sql = body.select(*selected, join_on=False).sql(database.dialect.name)
        text = database.dialect.text_of(BOUND)
        same = " AND ".join(f"e.{quote_identifier(f'a{place}')} = {text}" for place in range(len(fact)))
        found = list(database.rows(f"SELECT * FROM ({sql}) AS e WHERE {same} LIMIT 1", (*values, *fact)))
    except DatabaseError:
        return ()
    if not found:
        return ()
    cells = found[0][len(rule.arguments) :]
    wanted = {variable for argument in rule.arguments for variable in rule.variables_of(argument)}
    rows = []
    for number, atom in enumerate(rule.body, start=1):
        own = [(name, cell) for (at, _, name), cell in zip(shown, cells, strict=True) if at == number]
        marked = {column for column, term in atom.columns if not isinstance(term, Variable) or term in wanted}
        told = tuple((name, None if cell is None else str(cell)) for name, cell in own)
        rows.append(Row(atom.table, told, frozenset(marked)))
    return tuple(rows)


def rows_shown(rules: Sequence[Rule], fact: Fact, derivations: Derivations) -> tuple[Row, ...]:
    """The rows behind a fact by one of the rules that derive it, the row of the thing that it is about among them.

    A rule may take a customer from their orders: people know the customer by the row of their own.
    """
    told = derivations.texts.told(fact[0])
    own = told[0].table if told is not None else None
    best = min(rules, key=lambda rule: own not in {atom.table for atom in rule.body}, default=None)
    rows = rows_behind(best, fact, derivations) if best is not None else ()
    if told is None or any(row.table == own for row in rows):
        return rows
    return (*rows_behind(derivations.texts.itself(told[0]), (told[1],), derivations), *rows)


def _shown_columns(atom: Atom, derivations: Derivations) -> list[Column]:
    """The columns that the rule names, and as many others as there is room for, in the table's order."""
    columns = derivations.database.schema.table(atom.table).columns
    named = {column for column, _ in atom.columns}
    room = max(0, _COLUMNS - len(named))
    others = [column.name for column in columns if column.name not in named][:room]
    return [column for column in columns if column.name in named or column.name in others]
