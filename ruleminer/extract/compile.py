"""Template → SQL: all candidates of all facts for one template, as one statement over `cell`.

The relations a statement speaks of (see `cells.py`, `arguments.py` and `spelling.py`):

    fact(fact, predicate, arity, arg1, arg2)   argument(fact, pos, val)        the facts, what they are about
    cell(row, col, val, raw)                   spelled(fact, pos, row, term, cols)   the rows, and IRIs made of them
    contradicted(predicate)                    whose rules so far are too wide: see `candidates.py`

A cell of the database is one row of `cell`, so a place `?C: x` of a template is one alias of `cell`; places of the
same atom share the row, places of the same variable share the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from ruleminer.errors import InputError
from ruleminer.extract.catalog import Catalog
from ruleminer.extract.inner_joins import anchors
from ruleminer.rules.lexical import family, lexical_form
from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Spread, Template
from ruleminer.rules.values import Concat, Constant, Variable


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the statement's result, after `fact`: what a candidate rule is made of."""

    name: str
    what: str  # "column", "value" or "term"
    atom: int
    place: int  # the column of the atom, or for a term the definition


@dataclass(frozen=True, slots=True)
class Compiled:
    """The statement for one template and what its columns mean. Its result holds each candidate once."""

    template: Template
    sql: str
    outputs: tuple[Output, ...]


def compile_template(template: Template, catalog: Catalog) -> Compiled:
    """The one statement that finds every candidate of every fact."""
    return _Compiler(template, catalog).compile()


@dataclass
class _Compiler:
    template: Template
    catalog: Catalog
    conditions: list[str] = field(default_factory=list)
    placed: dict[str, tuple[str, str]] = field(default_factory=dict)  # alias → relation and ON, in order
    bound: dict[Variable, str] = field(default_factory=dict)  # variable → expression of its value id
    rows: dict[int, str] = field(default_factory=dict)  # atom → expression of its row id
    outputs: list[Output] = field(default_factory=list)

    def compile(self) -> Compiled:
        self.head()
        waiting = list(range(len(self.template.body)))
        while waiting:
            atom = next((number for number in waiting if self.reachable(number)), None)
            if atom is None:
                table = self.template.body[waiting[0]].table
                name = f"?{table.name}" if isinstance(table, Slot) else table
                raise InputError(
                    f"template {self.template.name}: the atom {name}(…) shares no variable with the head or the "
                    "other atoms; join it or leave it out"
                )
            waiting.remove(atom)
            self.atom(atom)
        self.fixed_concatenations()
        self.conditions += [*self.repeated_slots(), *self.redundant_atoms()]
        query = exp.select("f.fact", *(f"{self.selected(o)} AS {o.name}" for o in self.outputs)).distinct()
        query = query.from_("fact AS f")
        for alias, (relation, on) in self.placed.items():
            query = query.join(f"{relation} AS {alias}", on=on)
        query = query.where(*self.conditions)
        return Compiled(self.template, query.sql("duckdb"), tuple(self.outputs))

    def head(self) -> None:
        """The facts of the right arity and predicate, with what each argument is or is spelled by."""
        template = self.template
        self.conditions.append(f"f.arity = {len(template.arguments)}")
        if template.refines:
            self.conditions.append("f.predicate IN (SELECT predicate FROM contradicted)")
        if isinstance(template.predicate, str):
            self.conditions.append(f"f.predicate = {exp.Literal.string(template.predicate).sql('duckdb')}")
        definitions = dict(template.definitions)
        for position, variable in enumerate(template.arguments, start=1):
            definition = definitions.get(variable)
            if isinstance(definition, Spread):
                self.spelled(position, variable, definition)
            elif definition is None:
                alias = f"a{position}"
                self.placed[alias] = ("argument", f"{alias}.fact = f.fact AND {alias}.pos = {position}")
                if variable in self.bound:  # H(x, x)
                    self.conditions.append(f"{alias}.val = {self.bound[variable]}")
                self.bound.setdefault(variable, f"{alias}.val")

    def spelled(self, position: int, variable: Variable, spread: Spread) -> None:
        alias = f"s{position}"
        atom = next(number for number, a in enumerate(self.template.body) if spread in a.spreads)
        self.placed[alias] = ("spelled", f"{alias}.fact = f.fact AND {alias}.pos = {position}")
        if atom in self.rows:
            self.conditions.append(f"{alias}.row = {self.rows[atom]}")
        self.rows.setdefault(atom, f"{alias}.row")
        index = [defined for defined, _ in self.template.definitions].index(variable)
        self.outputs.append(Output(f"t{position}", "term", atom, index))
        for place, (_, term) in enumerate(self.template.body[atom].columns):
            if not isinstance(term, Variable):  # a column cannot hold a constant and a variable at once
                self.conditions.append(f"NOT list_contains({alias}.cols, {self.alias(atom, place)}.col)")

    def reachable(self, number: int) -> bool:
        """Whether an atom's row, the value of one of its variables, or what they make together is known already."""
        known = anchors(self.template) | set(self.bound)
        return number in self.rows or any(term in known for _, term in self.template.body[number].columns)

    def atom(self, number: int) -> None:
        atom = self.template.body[number]
        places = sorted(range(len(atom.columns)), key=lambda place: atom.columns[place][1] not in self.bound)
        for place in places:
            self.place(number, atom, place)
        if not atom.columns and isinstance(atom.table, str):
            ids = self.catalog.columns_of(atom.table)
            self.conditions.append(f"list_has_any({self.spread_alias(number)}.cols, [{_listed(ids)}])")

    def place(self, number: int, atom: AtomPattern, place: int) -> None:
        name, term = atom.columns[place]
        alias = self.alias(number, place)
        on = [f"{alias}.row = {self.rows[number]}"] if number in self.rows else []
        siblings = (self.alias(number, other) for other in range(len(atom.columns)) if other != place)
        on += [f"{alias}.col <> {sibling}.col" for sibling in siblings if sibling in self.placed]
        if isinstance(term, Variable):
            if term in self.bound:
                on.append(f"{alias}.val = {self.bound[term]}")
        elif isinstance(term, Constant):
            key = exp.Literal.string(lexical_form(term.value)).sql("duckdb")
            same = f"family = '{family(term.kind)}' AND key = {key}"
            on.append(f"{alias}.val = (SELECT val FROM value WHERE {same})")
        else:  # a slot: any constant, but no float, whose equality no engine promises
            if self.catalog.floats:
                on.append(f"{alias}.col NOT IN ({_listed(self.catalog.floats)})")
            self.outputs.append(Output(f"v{number}_{place}", "value", number, place))
        admitted = self.admitted(atom, name)
        if admitted is not None:
            on.append(f"{alias}.col IN ({_listed(admitted)})")
        self.placed[alias] = ("cell", " AND ".join(on) or "TRUE")
        self.outputs.append(Output(f"c{number}_{place}", "column", number, place))
        self.rows.setdefault(number, f"{alias}.row")
        if isinstance(term, Variable):
            self.bound.setdefault(term, f"{alias}.val")

    def admitted(self, atom: AtomPattern, name: str | Slot) -> list[int] | None:
        """The ids of the columns a place admits, or None for all of them."""
        columns = self.catalog.columns
        if isinstance(atom.table, str):
            columns = [column for column in columns if column.id in self.catalog.columns_of(str(atom.table))]
        if isinstance(name, str):
            columns = [column for column in columns if column.name == name]
        elif name.restriction is Restriction.KEY:
            columns = [column for column in columns if column.is_key]
        elif name.restriction is Restriction.LINK:
            columns = [column for column in columns if column.is_link]
        elif name.restriction is Restriction.CODE:
            columns = [column for column in columns if column.is_code]
        return None if columns is self.catalog.columns else [column.id for column in columns]

    def fixed_concatenations(self) -> None:
        """`x = "http://…/" ++ a`: the argument's text is what the row's texts make."""
        for variable, definition in self.template.definitions:
            if not isinstance(definition, Concat):
                continue
            parts = []
            for part in definition.parts:
                if isinstance(part, str):
                    parts.append(exp.Literal.string(part).sql("duckdb"))
                    continue
                alias = next(
                    self.alias(number, place)
                    for number, atom in enumerate(self.template.body)
                    for place, (_, term) in enumerate(atom.columns)
                    if term == part
                )
                value = f"{alias}_text"
                self.placed[value] = ("value", f"{value}.val = {alias}.val")
                parts.append(f"COALESCE({alias}.raw, {value}.key)")
            text = " || ".join(parts) or "''"
            for position, argument in enumerate(self.template.arguments, start=1):
                if argument == variable:
                    self.conditions.append(f"f.arg{position} = {text} AND f.plain{position}")

    def repeated_slots(self) -> Iterator[str]:
        """A slot that stands twice stands for the same name or constant."""
        seen: dict[str, str] = {}
        for number, atom in enumerate(self.template.body):
            places: list[tuple[object, str]] = [(atom.table, f"catalog_table({self.any_column(number)})")]
            for place, (name, term) in enumerate(atom.columns):
                alias = self.alias(number, place)
                places += [(name, f"catalog_name({alias}.col)"), (term, f"{alias}.val")]
            for slot, expression in places:
                if isinstance(slot, Slot):
                    first = seen.setdefault(slot.name, expression)
                    if first != expression:
                        yield f"{first} = {expression}"

    def redundant_atoms(self) -> Iterator[str]:
        """Drop the rule where an atom only repeats a part of another: same table, same columns, same terms."""
        body = self.template.body
        for i, atom in enumerate(body):
            for j, other in enumerate(body):
                if i == j or atom.spreads or not atom.columns:
                    continue
                repeats = [self.same_place(i, place, j, other) for place in range(len(atom.columns))]
                if all(repeats):
                    yield f"NOT ({' AND '.join(repeats)})"

    def same_place(self, i: int, place: int, j: int, other: AtomPattern) -> str:
        """The condition that a place of atom i holds the same column and term as one of atom j; '' if none can."""
        term = self.template.body[i].columns[place][1]
        alias = self.alias(i, place)
        choices = []
        for k, (_, candidate) in enumerate(other.columns):
            there = self.alias(j, k)
            if isinstance(term, Variable) or isinstance(candidate, Variable):
                if term == candidate:
                    choices.append(f"{alias}.col = {there}.col")
            else:
                choices.append(f"({alias}.col = {there}.col AND {alias}.val = {there}.val)")
        return f"({' OR '.join(choices)})" if choices else ""

    def any_column(self, atom: int) -> str:
        if self.template.body[atom].columns:
            return f"{self.alias(atom, 0)}.col"
        return f"{self.spread_alias(atom)}.cols[1]"

    def spread_alias(self, atom: int) -> str:
        spread = self.template.body[atom].spreads[0]
        variable = next(v for v, definition in self.template.definitions if definition == spread)
        return f"s{self.template.arguments.index(variable) + 1}"

    @staticmethod
    def alias(atom: int, place: int) -> str:
        return f"c{atom}_{place}"

    def selected(self, output: Output) -> str:
        if output.what == "term":
            return f"s{output.name[1:]}.term"
        alias = self.alias(output.atom, output.place)
        return f"{alias}.col" if output.what == "column" else f"{alias}.val"


def _listed(ids: list[int] | tuple[int, ...] | frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "NULL"
