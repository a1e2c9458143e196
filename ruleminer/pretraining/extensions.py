"""Facts of rules over a small database, worked out in memory: thousands of rules in a second.

Every table is read once, as lexical forms. Only rules of plain columns are known here, as structure offers them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ruleminer.rules.body import Body
from ruleminer.rules.expressions import column_of
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Atom, Concat, Constant, Empty, Variable
from ruleminer.sources.database import Database

Facts = frozenset[tuple[str, ...]]
Binding = dict[Variable, str]


class Extensions:
    """What rules derive from the tables as they are; each body is worked out once."""

    def __init__(self, database: Database) -> None:
        self._rows: dict[str, list[dict[str, str]]] = {}
        self._known: dict[Body, Facts] = {}
        self._found: dict[tuple[str, str], dict[str, list[dict[str, str]]]] = {}
        dialect = database.dialect
        for table in database.schema.tables:
            names = [column.name for column in table.columns]
            forms = [dialect.lexical(column_of("t", name), table.type_of(name)).sql(dialect.name) for name in names]
            rows = database.rows(f"SELECT {', '.join(forms)} FROM {database.quoted(table.name)} AS t")
            self._rows[table.name] = [
                {name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows
            ]

    def facts(self, body: Body) -> Facts:
        """All facts that a body derives."""
        if body not in self._known:
            rule = body.of("_")
            if rule.exclusions:  # structure offers no such rule
                raise ValueError(f"not a rule of plain columns: {body}")
            bindings: list[Binding] = [{}]
            for atom in rule.body:
                bindings = [wider for binding in bindings for wider in self._joined(atom, binding)]
            made = [(argument, rule.definition_of(argument)) for argument in rule.arguments]
            self._known[body] = frozenset(tuple(_text(argument, how, b) for argument, how in made) for b in bindings)
        return self._known[body]

    def _joined(self, atom: Atom, binding: Binding) -> Iterator[Binding]:
        for row in self._candidates(atom, binding):
            wider = dict(binding)
            for column, term in atom.columns:
                value = row.get(column)
                if isinstance(term, Empty):
                    if value is not None:
                        break
                    continue
                if value is None:
                    break
                if isinstance(term, Constant):
                    if value != lexical_form(term.value):
                        break
                elif not isinstance(term, Variable):  # structure offers no rule that asks for an empty one
                    raise ValueError(f"not a rule of plain columns: {atom}")
                elif wider.setdefault(term, value) != value:
                    break
            else:
                yield wider

    def _candidates(self, atom: Atom, binding: Binding) -> list[dict[str, str]]:
        for column, term in atom.columns:
            if isinstance(term, Variable) and term in binding:
                place = atom.table, column
                if place not in self._found:
                    index: dict[str, list[dict[str, str]]] = defaultdict(list)
                    for row in self._rows[atom.table]:
                        if column in row:
                            index[row[column]].append(row)
                    self._found[place] = index
                return self._found[place].get(binding[term], [])
        return self._rows[atom.table]


def _text(argument: Variable, definition: Concat | None, binding: Binding) -> str:
    if definition is None:
        return binding[argument]
    parts = definition.parts
    if definition.transformations:  # structure offers no such rule
        raise ValueError(f"not a rule of plain columns: {definition}")
    return "".join(binding[part] if isinstance(part, Variable) else str(part) for part in parts)
