"""Template → SQL: all candidates of all facts for one template, over `cell`.

The relations that statements speak of (see `cells.py`, `fact_relations.py` and `iri_spelling.py`):

    fact(fact, predicate, arity, arg1, arg2)   argument(fact, pos, val, space)  the facts, what they are about
    cell(row, col, val, raw, space)            spelled(iri, row, term, cols)    the rows, and IRIs made of them
    place(col, val, space)                     spelling(iri, term, cols)        where values stand at all, IRIs alone
    argument_cell, argument_place              those of both that hold an argument
    contradicted(predicate)                    whose rules so far are too wide: see `candidates.py`
    unsettled(predicate), formed, spelled_text     arguments in other forms: see `published.py`

A cell of the database is one row of `cell`, so a place `?C: x` of a template is one alias of `cell`; places of the
same atom share the row, places of the same variable share the value, and the space if they join atoms.

Each atom is a relation of its own (`atom0`, `atom1`, …): the facts, which columns its places can be, and the values of
the variables that it shares with other atoms, each combination once. Atoms are joined by fact and value, so that a
value which many rows hold multiplies nothing. An atom of one place only asks whether the value stands in some column.

One atom comes first, that of the rarer argument; of the others only what the values so far lead to is looked at
(`reached`): from those values, or from the fact's argument where fewer rows hold it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from ruleminer.errors import InputError
from ruleminer.extraction.catalog import Catalog
from ruleminer.extraction.published import POSITION
from ruleminer.rules.lexical import family, lexical_form
from ruleminer.rules.templates import AtomPattern, Restriction, Slot, Spread, Template
from ruleminer.rules.values import Concat, Constant, Variable

FACTS = "fact_now"
"""The facts that are asked about, one of those with the same arguments: all, or where memory is short a few.

`lead` is the rarer argument, `rows1` and `rows2` tell in how many cells each stands.
"""


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the statement's result, after `fact`: what a candidate rule is made of."""

    name: str
    what: str  # "column", "value", "term" or "form"
    atom: int
    place: int  # the column of the atom, for a term the definition, for a form the argument


@dataclass(frozen=True, slots=True)
class AtomRelation:
    """The relation of one atom; `columns` tell what its rows say of a rule, `order` what else they hold.

    `reached` is the statement for what the atoms before it lead to, if it is asked for no more than that. `meets` are
    the relations that it shares variables with, each with the condition by which they are joined.
    """

    name: str
    reached: str | None
    sql: str
    of_facts: bool
    columns: tuple[str, ...]
    order: tuple[str, ...]
    meets: tuple[tuple[str, str], ...]

    @property
    def reached_name(self) -> str:
        """What its own statement calls that which the atoms before it lead to."""
        return f"reached_{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The statements for the facts with one `lead`, or for all facts.

    `atoms` are the relations that the statement joins, in order; none if it has one atom only.
    """

    lead: int | None
    atoms: tuple[AtomRelation, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """The statements for one template and what their columns mean. The result holds each candidate once."""

    template: Template
    plans: tuple[Plan, ...]
    outputs: tuple[Output, ...]
    published: bool = False

    @property
    def argument_columns(self) -> tuple[str, ...]:
        """The outputs for the columns in which the arguments stand, those of the first argument first."""
        body, arguments = self.template.body, self.template.arguments
        columns = [o for o in self.outputs if o.what == "column" and body[o.atom].columns[o.place][1] in arguments]
        return tuple(o.name for o in sorted(columns, key=lambda o: arguments.index(body[o.atom].columns[o.place][1])))


def compile_template(template: Template, catalog: Catalog, published: bool = False) -> Compiled:
    """The statements that find every candidate of every fact.

    With `published`, the second argument is looked for in other forms than the database has it in (`published.py`); the
    result then tells in `changed` whether that made a difference.
    """
    return _Compiler(template, catalog, published).compile()


@dataclass
class _Atom:
    """One atom on its way to a relation."""

    number: int
    pattern: AtomPattern
    joins: dict[str, tuple[str, str]] = field(default_factory=dict)  # alias → relation and ON, in order
    conditions: list[str] = field(default_factory=list)
    selected: dict[str, str] = field(default_factory=dict)  # column of the relation → expression
    shared: dict[Variable, str] = field(default_factory=dict)  # variable of other atoms, too → its alias
    within: dict[Variable, str] = field(default_factory=dict)  # and those that join within a space
    bound: dict[str, str] = field(default_factory=dict)  # alias of a place → that of the argument it holds
    row: str | None = None
    of_facts: bool = False

    def relation_of(self, alias: str) -> str:
        """The relation behind an alias; '' if there is none."""
        return self.joins.get(alias, ("", ""))[0]

    @property
    def arguments(self) -> list[str]:
        """The aliases of arguments as they are."""
        return [alias for alias in self.joins if self.relation_of(alias) == "argument"]

    @property
    def spelt(self) -> list[str]:
        """The aliases of arguments that the columns of a row make."""
        return [alias for alias in self.joins if self.relation_of(alias).startswith("spell")]

    @property
    def formed(self) -> list[str]:
        """The aliases of arguments in other forms."""
        return [alias for alias in self.joins if self.relation_of(alias) == "formed"]

    @property
    def told(self) -> int:
        """How many arguments tell its rows; forms, which very many values may have, do not count."""
        return len(self.arguments) + len(self.spelt)


@dataclass(frozen=True, slots=True)
class _Reached:
    """What the atoms before one lead to: the statement for it, how it meets the atom, and which variables it tells.

    `chooses` if it tells of each fact whether fewer rows hold those values (`near`) than hold its argument.
    """

    sql: str
    conditions: tuple[str, ...]
    variables: tuple[Variable, ...]
    chooses: bool


@dataclass
class _Compiler:
    template: Template
    catalog: Catalog
    published: bool = False
    outputs: list[Output] = field(default_factory=list)

    def compile(self) -> Compiled:
        atoms = [self.atom(number, pattern) for number, pattern in enumerate(self.template.body)]
        plans = tuple(self.plan(atoms, first, lead) for first, lead in self.leads(atoms))
        return Compiled(self.template, plans, tuple(self.outputs), self.published)

    def leads(self, atoms: list[_Atom]) -> list[tuple[_Atom, int | None]]:
        """The atoms to begin with: the one that tells most of a fact, or for each fact that of its rarer argument."""
        ends = {p: atom for atom in reversed(atoms) for p in (1, 2) if atom.relation_of(f"a{p}") == "argument"}
        if len(ends) == 2 and all(atom.told == 1 for atom in atoms if atom.of_facts):
            return [(ends[position], position) for position in (1, 2)]
        return [(max(atoms, key=lambda atom: (atom.told, bool(atom.spelt))), None)]

    def plan(self, atoms: list[_Atom], first: _Atom, lead: int | None) -> Plan:
        order = self.joined(atoms, first)
        relations = tuple(self.relation(atom, order[:place], atoms, lead) for place, atom in enumerate(order))
        selected = ["f.fact", *(f"atom{output.atom}.{output.name}" for output in self.outputs)]
        if self.published:
            selected += [f"atom{atom.number}.changed" for atom in atoms if "changed" in atom.selected]
        joins = []
        for place, atom in enumerate(order):
            of_fact = [f"atom{atom.number}.fact = f.fact"] if atom.of_facts else []
            on = " AND ".join([*of_fact, *self.shares(atom, order[:place])])
            joins.append(f"JOIN atom{atom.number} ON {on or 'true'}")
        conditions = [*self.facts(lead), *self.fixed_concatenations(), *self.repeated_slots(), *self.redundant_atoms()]
        sql = f"SELECT DISTINCT {', '.join(selected)} FROM {FACTS} f {' '.join(joins)} WHERE {_all_of(conditions)}"
        if len(relations) == 1:  # nothing is joined to it, so it need not be kept
            sql, relations = f"WITH {relations[0].name} AS ({relations[0].sql}) {sql}", ()
        return Plan(lead, relations, sql)

    def facts(self, lead: int | None) -> Iterator[str]:
        """The facts that the template speaks of."""
        template = self.template
        yield f"f.arity = {len(template.arguments)}"
        if lead is not None:
            yield f"f.lead = {lead}"
        meant = list(predicates_meant(template, self.published))
        if meant:
            yield f"f.fact IN (SELECT alike FROM fact WHERE {' AND '.join(meant)})"

    def atom(self, number: int, pattern: AtomPattern) -> _Atom:
        """What the facts and the rows tell of one atom."""
        atom = _Atom(number, pattern)
        variables = {term for _, term in pattern.columns if isinstance(term, Variable)}
        definitions = dict(self.template.definitions)
        for position, variable in enumerate(self.template.arguments, start=1):
            definition = definitions.get(variable)
            if isinstance(definition, Spread) and definition in pattern.spreads:
                self.spelled(atom, position, variable)
            elif definition is None and variable in variables:
                alias = f"a{position}"
                atom.of_facts = True
                relation = "formed" if self.in_other_form(position) else "argument"
                atom.joins[alias] = (relation, f"{alias}.fact = f.fact AND {alias}.pos = {position}")
                if relation == "formed":
                    self.output(atom, Output(f"form{position}", "form", atom.number, position), f"{alias}.form")
                    atom.selected["changed"] = f"{alias}.changed"
                if variable in atom.shared:  # H(x, x)
                    atom.conditions.append(f"{alias}.val = {atom.shared[variable]}.val")
                atom.shared.setdefault(variable, alias)
        places = range(len(pattern.columns))
        for place in sorted(places, key=lambda place: pattern.columns[place][1] not in atom.shared):
            self.place(atom, place)
        if not pattern.columns and isinstance(pattern.table, str):
            ids = self.catalog.columns_of(pattern.table)
            atom.conditions.append(f"list_has_any({self.spread_alias(number)}.cols, [{_listed(ids)}])")
        return atom

    def spelled(self, atom: _Atom, position: int, variable: Variable) -> None:
        alias = f"s{position}"
        atom.of_facts = True
        in_row = [f"{alias}.row = {atom.row}"] if atom.row else []
        if self.in_other_form(position):
            on = [f"{alias}.fact = f.fact AND {alias}.pos = {position}", *in_row]
            atom.joins[alias] = ("spelled_text", " AND ".join(on))
            atom.row = atom.row or f"{alias}.row"
            atom.selected["changed"] = "TRUE"
        elif len(atom.pattern.columns) + len(atom.pattern.spreads) == 1:
            atom.joins[alias] = ("spelling", f"{alias}.iri = f.iri{position}")
        else:
            atom.joins[alias] = ("spelled", " AND ".join([f"{alias}.iri = f.iri{position}", *in_row]))
            atom.row = atom.row or f"{alias}.row"
        index = [defined for defined, _ in self.template.definitions].index(variable)
        self.output(atom, Output(f"t{position}", "term", atom.number, index), f"{alias}.term")
        if not atom.pattern.columns:
            atom.selected["any_column"] = f"{alias}.cols[1]"
        for place, (_, term) in enumerate(atom.pattern.columns):
            if not isinstance(term, Variable):  # a column cannot hold a constant and a variable at once
                atom.conditions.append(f"NOT list_contains({alias}.cols, {_alias(atom.number, place)}.col)")

    def in_other_form(self, position: int) -> bool:
        return self.published and position == POSITION

    def place(self, atom: _Atom, place: int) -> None:
        name, term = atom.pattern.columns[place]
        alias = _alias(atom.number, place)
        on = [f"{alias}.row = {atom.row}"] if atom.row is not None else []
        siblings = (_alias(atom.number, other) for other in range(len(atom.pattern.columns)) if other != place)
        on += [f"{alias}.col <> {sibling}.col" for sibling in siblings if sibling in atom.joins]
        if isinstance(term, Variable):
            on += self.bound(atom, name, term, alias)
        elif isinstance(term, Constant):
            key = exp.Literal.string(lexical_form(term.value)).sql("duckdb")
            same = f"family = '{family(term.kind)}' AND key = {key}"
            on.append(f"{alias}.val = (SELECT val FROM value WHERE {same})")
        else:  # a slot: any constant, but no float, whose equality no engine promises
            if self.catalog.floats:
                on.append(f"{alias}.col NOT IN ({_listed(self.catalog.floats)})")
            self.output(atom, Output(f"v{atom.number}_{place}", "value", atom.number, place), f"{alias}.val")
        admitted = self.admitted(atom.pattern, name)
        if admitted is not None:
            on.append(f"{alias}.col IN ({_listed(admitted)})")
        text = self.in_a_text(term)
        alone = len(atom.pattern.columns) == 1 and not atom.pattern.spreads and not text
        is_argument = alias in atom.bound and atom.joins[atom.bound[alias]][0] == "argument"
        whole = "place" if alone else "cell"
        atom.joins[alias] = (f"argument_{whole}" if is_argument else whole, " AND ".join(on) or "TRUE")
        self.output(atom, Output(alias, "column", atom.number, place), f"{alias}.col")
        if not alone:
            atom.row = atom.row or f"{alias}.row"
        if text:
            atom.joins[f"{alias}_text"] = ("value", f"{alias}_text.val = {alias}.val")
            atom.selected.setdefault(f"text_{alias}", f"COALESCE({alias}.raw, {alias}_text.key)")

    def bound(self, atom: _Atom, name: str | Slot, variable: Variable, alias: str) -> Iterator[str]:
        """The value of a variable: that of the fact's argument, of another place of the atom, or any."""
        if variable in atom.shared:
            known = atom.shared[variable]
            yield f"{alias}.val = {known}.val"
            if known.startswith("a"):  # an argument may have been read as a thing of one kind
                atom.bound[alias] = known
                yield f"({known}.space IS NULL OR {known}.space = {alias}.space)"
        atom.shared.setdefault(variable, alias)
        if isinstance(name, Slot) and name.restriction is not Restriction.ANY:
            if variable in atom.within:
                yield f"{alias}.space = {atom.within[variable]}.space"
            elif self.joins_atoms(variable, atom.number):
                yield f"{alias}.space IS NOT NULL"
            atom.within.setdefault(variable, alias)

    def joins_atoms(self, variable: Variable, number: int) -> bool:
        """Whether a variable joins this atom to another one within a space."""
        return any(
            term == variable and isinstance(name, Slot) and name.restriction is not Restriction.ANY
            for other, atom in enumerate(self.template.body)
            if other != number
            for name, term in atom.columns
        )

    def output(self, atom: _Atom, output: Output, expression: str) -> None:
        self.outputs.append(output)
        atom.selected[output.name] = expression

    def in_a_text(self, term: object) -> bool:
        """Whether a fixed text is made with the engine's own text of a place's value."""
        concats = [definition for _, definition in self.template.definitions if isinstance(definition, Concat)]
        return any(term in concat.parts for concat in concats)

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
        elif name.restriction is Restriction.FILLED:
            columns = [column for column in columns if column.is_sparse]
        return None if columns is self.catalog.columns else [column.id for column in columns]

    def relation(self, atom: _Atom, known: list[_Atom], atoms: list[_Atom], lead: int | None) -> AtomRelation:
        """The atom's own statement. Its relations are joined as they are written, so their order counts."""
        others = {v for pattern in self.template.body if pattern is not atom.pattern for _, v in pattern.columns}
        selected = dict(atom.selected)
        for number, variable in enumerate(self.variables()):
            if variable in atom.shared and variable in others:
                selected[f"val{number}"] = f"{atom.shared[variable]}.val"
                if variable in atom.within:
                    selected[f"space{number}"] = f"{atom.within[variable]}.space"
        columns = (*(["fact"] if atom.of_facts else []), *atom.selected)
        order = tuple(name for name in selected if name not in atom.selected)
        conditions = [*atom.conditions, *(on for _, on in atom.joins.values())]
        if atom.of_facts:
            selected["fact"] = "f.fact"
            conditions += self.facts(lead)
        reached = self.reached(atom, known)
        selected_sql = ", ".join(f"{expression} AS {name}" for name, expression in selected.items())
        statements = []
        for aliases, chosen in self.orders(atom, reached):
            name = f"reached_atom{atom.number}"
            relations = {"f": FACTS, "r": name, "far": f"(SELECT DISTINCT fact FROM {name} WHERE NOT near)"}
            sources = [f"{relations.get(alias) or atom.joins[alias][0]} AS {alias}" for alias in aliases]
            where = _all_of([*conditions, *(reached.conditions if reached else ()), *chosen])
            statements.append(f"SELECT DISTINCT {selected_sql} FROM {' CROSS JOIN '.join(sources)} WHERE {where}")
        meets = []
        for other in atoms:
            if other is not atom and list(self.shares(atom, [other])):
                meets.append((f"atom{other.number}", _all_of(self.meets(atom, [other]))))
        sql = " UNION ALL ".join(statements)
        before = reached.sql if reached else None
        return AtomRelation(f"atom{atom.number}", before, sql, atom.of_facts, columns, order, tuple(meets))

    def reached(self, atom: _Atom, known: list[_Atom]) -> _Reached | None:
        """What the atoms before an atom lead to, of the variables that it shares with them and of the facts."""
        near = [other for other in known if list(self.shares(atom, [other]))]
        told = next((other for other in [*near, *known] if other.of_facts), None) if atom.of_facts else None
        path = near[:1]
        if told is not None and told not in near:  # the values come from between: from the facts, step by step, to them
            path = known if near and self.is_chain(known) else [told]
        elif told is not None:
            path = [told]
        if not path:
            return None
        selected = [f"atom{told.number}.fact AS fact"] if told else []
        met = ["r.fact = f.fact"] if told else []
        variables = []
        for number, variable in enumerate(self.variables()):
            source = next((other for other in path if variable in other.shared), None)
            if source is None or variable not in atom.shared:
                continue
            variables.append(variable)
            selected.append(f"atom{source.number}.val{number} AS val{number}")
            met.append(f"r.val{number} = {atom.shared[variable]}.val")
            if variable in source.within and variable in atom.within:
                selected.append(f"atom{source.number}.space{number} AS space{number}")
                met.append(f"r.space{number} = {atom.within[variable]}.space")
        if not selected:
            return None
        sql, chooses = f"SELECT DISTINCT {', '.join(selected)} FROM atom{path[0].number}", False
        for place, other in enumerate(path[1:], start=1):
            sql += f" JOIN atom{other.number} ON {_all_of(self.meets(other, path[:place]))}"
        if told and variables and atom.arguments and not self.is_known(atom, variables[0]):
            sql, chooses = self.chosen(atom, sql, variables[0], f"space{self.variables().index(variables[0])}"), True
        return _Reached(sql, tuple(met), tuple(variables), chooses)

    def is_chain(self, atoms: list[_Atom]) -> bool:
        """Whether each shares a variable with those before it, the first of which is of the facts."""
        return atoms[0].of_facts and all(list(self.shares(a, atoms[:place])) for place, a in enumerate(atoms) if place)

    def is_known(self, atom: _Atom, variable: Variable) -> bool:
        """Whether few rows hold a value of the variable for certain: it is an argument, or stands in keys."""
        names = [name for name, term in atom.pattern.columns if term == variable]
        keys = any(isinstance(name, Slot) and name.restriction is Restriction.KEY for name in names)
        return keys or variable in self.template.arguments

    def chosen(self, atom: _Atom, sql: str, variable: Variable, space: str) -> str:
        """What is reached, with a word on whether fewer rows hold its values than hold the fact's argument."""
        value = f"val{self.variables().index(variable)}"
        held, on = "value_rows", f"h.val = r.{value} AND h.space = r.{space}"
        if not re.search(rf" AS {space}\b", sql):
            held, on = "(SELECT val, sum(rows) AS rows FROM value_rows GROUP BY val)", f"h.val = r.{value}"
        rows = f"f.rows{atom.arguments[0][1:]}"
        return f"""SELECT r.*, coalesce(sum(h.rows) OVER (PARTITION BY r.fact), 0) <= {rows} AS near
                   FROM ({sql}) r JOIN {FACTS} f USING (fact) LEFT JOIN {held} h ON {on}"""

    def orders(self, atom: _Atom, reached: _Reached | None) -> Iterator[tuple[list[str], list[str]]]:
        """The orders in which an atom's relations are joined, each with what the facts fulfil that are joined so.

        Of two arguments the rarer one leads: a name finds its row at once, where a flag would bring all rows. Very many
        values may have a form that is asked for, so forms come last where anything else tells the row.
        """
        spelt, formed = atom.spelt, atom.formed
        last = formed if atom.arguments or spelt or reached else []
        leaders = [*atom.arguments, *(formed if not last else [])]
        places = [alias for alias in atom.joins if alias not in [*leaders, *spelt, *last]]
        known = {alias: leader for alias, leader in atom.bound.items() if alias in places}
        facts = ["f"] if atom.of_facts else []
        before = [] if reached is None else ["r"]
        if reached is not None and reached.variables:
            near = [atom.shared[variable] for variable in reached.variables if atom.shared[variable] in places]
            found = [*before, *facts, *near, *spelt]
            for leader in leaders:
                found += [leader, *(alias for alias in places if known.get(alias) == leader and alias not in found)]
            found += [*(alias for alias in places if alias not in found), *last]
            yield found, ["r.near"] if reached.chooses else []
            if not reached.chooses:
                return
        both = len(leaders) == 2 and not spelt
        for first in leaders if both else leaders[:1] or [""]:
            found = [*(["far"] if reached and reached.chooses else before), *facts, *spelt]
            for leader in sorted(leaders, key=lambda one: one != first):
                found += [leader, *(alias for alias in places if known.get(alias) == leader)]
            found += [*(alias for alias in places if alias not in found), *last]
            chosen = [f"f.lead = {first[1:]}"] if both else []
            if reached and reached.chooses:
                found, chosen = [*found, "r"], [*chosen, "far.fact = f.fact", "NOT r.near"]
            yield found, chosen

    def variables(self) -> list[Variable]:
        """All variables of the body, in order."""
        found = (term for atom in self.template.body for _, term in atom.columns if isinstance(term, Variable))
        return list(dict.fromkeys(found))

    def joined(self, atoms: list[_Atom], first: _Atom) -> list[_Atom]:
        """The atoms in an order in which each shares a variable with one before it, or meets the facts at least."""
        order: list[_Atom] = []
        waiting = sorted(atoms, key=lambda atom: (atom is not first, not atom.of_facts))
        while waiting:
            near = (a for a in waiting if list(self.shares(a, order)))  # or all rows of a fact would meet all others
            ready = next(near, None) or next((a for a in waiting if a.of_facts or self.texts(a)), None)
            if ready is None:
                table = waiting[0].pattern.table
                name = f"?{table.name}" if isinstance(table, Slot) else table
                raise InputError(
                    f"template {self.template.name}: the atom {name}(…) shares no variable with the head or the "
                    "other atoms; join it or leave it out"
                )
            order.append(ready)
            waiting.remove(ready)
        return order

    def texts(self, atom: _Atom) -> bool:
        """Whether the atom gives the first part of a fixed text, which the facts are known by."""
        concats = [definition for _, definition in self.template.definitions if isinstance(definition, Concat)]
        firsts = {next((part for part in concat.parts if isinstance(part, Variable)), None) for concat in concats}
        return any(term in firsts for _, term in atom.pattern.columns)

    def meets(self, atom: _Atom, before: list[_Atom]) -> Iterator[str]:
        """The conditions that join an atom's relation to those before it, by fact and by value."""
        other = next((one for one in before if one.of_facts), None)
        if atom.of_facts and other is not None:
            yield f"atom{atom.number}.fact = atom{other.number}.fact"
        yield from self.shares(atom, before)

    def shares(self, atom: _Atom, before: list[_Atom]) -> Iterator[str]:
        """The conditions by the variables that an atom shares with those before it."""
        for number, variable in enumerate(self.variables()):
            other = next((one for one in before if variable in one.shared), None)
            if variable not in atom.shared or other is None:
                continue
            yield f"atom{atom.number}.val{number} = atom{other.number}.val{number}"
            other = next((one for one in before if variable in one.within), None)
            if variable in atom.within and other is not None:
                yield f"atom{atom.number}.space{number} = atom{other.number}.space{number}"

    def fixed_concatenations(self) -> Iterator[str]:
        """`x = "http://…/" ++ a`: the argument's text is what the row's texts make."""
        for variable, definition in self.template.definitions:
            if not isinstance(definition, Concat):
                continue
            parts = []
            for part in definition.parts:
                if isinstance(part, str):
                    parts.append(exp.Literal.string(part).sql("duckdb"))
                    continue
                number, place = next(
                    (number, place)
                    for number, atom in enumerate(self.template.body)
                    for place, (_, term) in enumerate(atom.columns)
                    if term == part
                )
                parts.append(f"atom{number}.text_{_alias(number, place)}")
            text = " || ".join(parts) or "''"
            for position, argument in enumerate(self.template.arguments, start=1):
                if argument == variable:
                    yield f"f.arg{position} = {text} AND f.plain{position}"

    def repeated_slots(self) -> Iterator[str]:
        """A slot that stands twice stands for the same name or constant."""
        seen: dict[str, str] = {}
        for number, atom in enumerate(self.template.body):
            places: list[tuple[object, str]] = [(atom.table, f"catalog_table({self.any_column(number)})")]
            for place, (name, term) in enumerate(atom.columns):
                alias = _alias(number, place)
                places += [
                    (name, f"catalog_name(atom{number}.{alias})"),
                    (term, f"atom{number}.v{number}_{place}"),
                ]
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
        alias = f"atom{i}.{_alias(i, place)}"
        choices = []
        for k, (_, candidate) in enumerate(other.columns):
            there = f"atom{j}.{_alias(j, k)}"
            if isinstance(term, Variable) or isinstance(candidate, Variable):
                if term == candidate:
                    choices.append(f"{alias} = {there}")
            else:
                choices.append(f"({alias} = {there} AND {self.value(i, place)} = {self.value(j, k)})")
        return f"({' OR '.join(choices)})" if choices else ""

    def value(self, atom: int, place: int) -> str:
        """The number of the constant that a place holds, in words that both a slot and a fixed one have."""
        term = self.template.body[atom].columns[place][1]
        if isinstance(term, Slot):
            return f"atom{atom}.v{atom}_{place}"
        assert isinstance(term, Constant)
        key = exp.Literal.string(lexical_form(term.value)).sql("duckdb")
        return f"(SELECT val FROM value WHERE family = '{family(term.kind)}' AND key = {key})"

    def any_column(self, atom: int) -> str:
        return f"atom{atom}.{_alias(atom, 0) if self.template.body[atom].columns else 'any_column'}"

    def spread_alias(self, atom: int) -> str:
        spread = self.template.body[atom].spreads[0]
        variable = next(v for v, definition in self.template.definitions if definition == spread)
        return f"s{self.template.arguments.index(variable) + 1}"


def predicates_meant(template: Template, published: bool = False) -> Iterator[str]:
    """The conditions on a fact's predicate: one that the template names, one whose rules so far are too wide.

    With `published`, one that asks for values in other forms.
    """
    if published:
        yield "predicate IN (SELECT predicate FROM unsettled)"
    if template.refines:
        yield "predicate IN (SELECT predicate FROM contradicted)"
    if isinstance(template.predicate, str):
        yield f"predicate = {exp.Literal.string(template.predicate).sql('duckdb')}"


def _alias(atom: int, place: int) -> str:
    return f"c{atom}_{place}"


def _all_of(conditions: Iterable[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions) or "true"


def _listed(ids: list[int] | tuple[int, ...] | frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "NULL"
