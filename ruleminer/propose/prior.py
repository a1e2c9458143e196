"""What speaks for a rule before any example: how short it is, and how well its names and structure fit.

Description length is the cost, in nats, of choosing the rule among all of its kind: which tables, which of their
columns, which of a column's values. It is what keeps the size principle honest: a filter on a name that one row has
makes the extension tiny, but had as many values to choose from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ruleminer.problem.ontology import Ontology, OntologyClass, PropertyKind, Term, local_name
from ruleminer.problem.schema import Column, Schema, Table
from ruleminer.propose.codes import key_columns, link_columns
from ruleminer.propose.names import best_likeness, name_fit
from ruleminer.rules.values import Atom, Constant, Rule, Variable

UNLINKED = 1.5  # nats for a join that no foreign key explains


@dataclass(frozen=True, slots=True)
class PriorWeights:
    """How much each reason counts, in nats. The names' share fades as examples come in."""

    length: float = 1.1
    names: float = 7.0
    ends: float = 2.0  # names of the domain and range at a property's two ends
    keys: float = 2.0  # entities stand in keys, values elsewhere
    fade: float = 60.0  # examples after which names weigh half


@dataclass(frozen=True, slots=True)
class Prior:
    """The parts of a rule's log prior; higher is better."""

    length: float  # its description length, as cost
    names: float  # 0 to 1
    ends: float
    keys: float

    def total(self, weights: PriorWeights, examples: int) -> float:
        """The log prior, up to a constant."""
        lasting = -weights.length * self.length + weights.keys * self.keys
        share = 1.0 / (1.0 + examples / weights.fade)
        return lasting + share * (weights.names * self.names + weights.ends * self.ends)


class PriorOf:
    """Priors of rules about one ontology and schema."""

    def __init__(self, ontology: Ontology, schema: Schema, distinct: Mapping[tuple[str, str], int]) -> None:
        self.ontology, self.schema, self.distinct = ontology, schema, distinct
        self._tables = math.log(max(2, sum(1 for table in schema.tables if table.rows != 0)))
        self._keys = {(table.name, column) for table in schema.tables for column in key_columns(table)}
        self._links = {(t.name, column): end for t in schema.tables for column, end in link_columns(t).items()}
        self._leads = {place: table for place, (table, _) in self._links.items() if place not in self._keys}
        self._titles: dict[str, tuple[str, ...]] = {}
        self._column_costs = {
            (table.name, column.name): cost for table in schema.tables for column, cost in self._costs(table)
        }

    def prior(self, rule: Rule) -> Prior:
        """The prior of one rule."""
        term = self.ontology.find(rule.predicate)
        return Prior(
            self.description_length(rule),
            name_fit(self._titles_of(term), rule, self._leads),
            self._ends(term, rule),
            self._key_fit(term, rule),
        )

    def description_length(self, rule: Rule) -> float:
        """The cost of writing the rule down, in nats."""
        cost = 0.0
        for atom in rule.body:
            cost += self._tables
            for column, term in atom.columns:
                cost += self._column_costs.get((atom.table, column), self._tables)
                if isinstance(term, Constant):
                    cost += math.log(max(2, self.distinct.get((atom.table, column), 2)))
        cost += math.log(2) * (len(rule.body) - 1) + UNLINKED * self._chance_joins(rule)
        for _, concat in rule.definitions:
            cost += math.log(2) * len(concat.parts)
        return cost

    def _chance_joins(self, rule: Rule) -> int:
        """Joins of columns that no foreign key relates: equal values may be chance there."""
        places: dict[Variable, list[tuple[str, str]]] = {}
        for atom in rule.body:
            for column, term in atom.columns:
                if isinstance(term, Variable):
                    places.setdefault(term, []).append((atom.table, column))
        return sum(len(set(map(self._identity, shared))) - 1 for shared in places.values())

    def _identity(self, place: tuple[str, str]) -> tuple[str, str]:
        """The key that a column leads to, link by link; itself if it is no link."""
        seen = {place}
        while place in self._links and self._links[place] not in seen:
            place = self._links[place]
            seen.add(place)
        return place

    def _costs(self, table: Table) -> Iterator[tuple[Column, float]]:
        """What it costs to choose a column: first whether one that names entities, then which."""
        naming = {c.name for c in table.columns if (table.name, c.name) in self._keys | self._links.keys()}
        for column in table.columns:
            among = len(naming) if column.name in naming else len(table.columns) - len(naming)
            yield column, math.log(2 * among)

    def _titles_of(self, term: Term) -> tuple[str, ...]:
        if term.iri not in self._titles:
            name = local_name(term.iri)
            self._titles[term.iri] = tuple(dict.fromkeys((name, *term.labels)))
        return self._titles[term.iri]

    def _ends(self, term: Term, rule: Rule) -> float:
        """How well the tables at a property's ends are named after its domain and range, from 0 to 1."""
        if isinstance(term, OntologyClass):
            return 0.0
        fits = [self._end_fit(term.domains, rule, rule.arguments[0])]
        if term.kind is PropertyKind.OBJECT:
            fits.append(self._end_fit(term.ranges, rule, rule.arguments[1]))
        return sum(fits) / len(fits)

    def _end_fit(self, classes: Sequence[str], rule: Rule, argument: Variable) -> float:
        titles: list[str] = []
        for iri in classes:
            found = self.ontology.get(iri)
            if found:
                titles += self._titles_of(found)
        tables = {atom.table for atom, _ in _places(rule, argument)}
        tables |= {self._links[place][0] for place in self._named(rule, argument) if place in self._links}
        return best_likeness(titles, tables)

    def _key_fit(self, term: Term, rule: Rule) -> float:
        """1 if entities stand in keys or links and values do not, −1 if the other way round."""
        x = self._role(rule, rule.arguments[0])
        if isinstance(term, OntologyClass):
            return x
        y = self._role(rule, rule.arguments[1])
        return (x + (y if term.kind is PropertyKind.OBJECT else -min(y, 0.5))) / 2

    def _role(self, rule: Rule, argument: Variable) -> float:
        """1 for a key, 0.4 for a link to one, −1 for a plain column; concatenations are IRIs, as good as keys."""
        if rule.definition_of(argument) is not None:
            return 1.0
        places = self._named(rule, argument)
        if any(place in self._keys for place in places):
            return 1.0
        return 0.4 if any(place in self._links for place in places) else -1.0

    def _named(self, rule: Rule, argument: Variable) -> list[tuple[str, str]]:
        return [(atom.table, column) for atom, column in _places(rule, argument)]


def _places(rule: Rule, argument: Variable) -> list[tuple[Atom, str]]:
    concat = rule.definition_of(argument)
    wanted = {argument} if concat is None else {part for part in concat.parts if isinstance(part, Variable)}
    return [(atom, column) for atom in rule.body for column, term in atom.columns if term in wanted]


def constant_places(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """The columns in which the rules choose a value."""
    return list(
        dict.fromkeys(
            (atom.table, column)
            for rule in rules
            for atom in rule.body
            for column, term in atom.columns
            if isinstance(term, Constant)
        )
    )
