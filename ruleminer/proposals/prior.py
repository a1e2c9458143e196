"""What speaks for a rule before any example: how short it is, and how well its names and structure fit.

Description length is the cost, in nats, of choosing the rule among all of its kind: which tables, which of their
columns, which of a column's values. It is what keeps the size principle honest: a filter on a name that one row has
makes the extension tiny, but had as many values to choose from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, PropertyKind, local_name
from ruleminer.proposals.fixed_text import Named
from ruleminer.proposals.names import iri_words, name_fit, telling_names
from ruleminer.proposals.no_values import stands_for_none
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.mapping import is_absolute
from ruleminer.rules.transformations import TRANSFORMATIONS
from ruleminer.rules.values import Atom, Concat, Constant, Empty, Place, Rule, Transformed, Variable
from ruleminer.sources.schema import Column, Schema, Table
from ruleminer.structure.words import NameIndex, best_likeness, words

UNLINKED = 1.5  # nats for a join that no foreign key explains
RESTRICTED = 4.0  # nats for those rows of a table that a link leads to, or that fill a column: mostly all are meant
REFLEXIVE = 8.0  # nats for a thing that is related to itself: numbers alone make one of any two tables
SHARED = 2.0  # nats for a class in a table of parts: it has its key from another, and is called after that
_CALLED_FOR = 0.8  # likeness of a term to a column or value, from which its name calls for a condition on it
_CHARACTERS, _NUMBERS = 16, 8  # how many a parameter of a transformation is chosen from
VIEWED = 2.0  # nats for a table that is a view: what it shows lies in the tables behind it, and more


@dataclass(frozen=True, slots=True)
class PriorWeights:
    """How much each reason counts, in nats. The names' share fades as examples come in."""

    length: float = 1.1
    names: float = 7.0
    ends: float = 2.0  # names of the domain and range at a property's two ends
    keys: float = 2.0  # entities stand in keys, values elsewhere
    spelled: float = 6.0  # the words of an IRI name the table that fills it in: …/album/{}
    fade: float = 60.0  # examples after which names weigh half


@dataclass(frozen=True, slots=True)
class Prior:
    """The parts of a rule's log prior; higher is better."""

    length: float  # its description length, as cost
    names: float  # 0 to 1
    ends: float
    keys: float
    spelled: float = 0.0  # 0 to 1; 0 where no argument is an IRI
    conditions: int = 0  # on constants, or on being linked to, that no name calls for
    whole: bool = False  # all rows of a table under its own key, or one whole column of them

    def total(self, weights: PriorWeights, examples: int) -> float:
        """The log prior, up to a constant."""
        lasting = -weights.length * self.length + weights.keys * self.keys + weights.spelled * self.spelled
        share = 1.0 / (1.0 + examples / weights.fade)
        return lasting + share * (weights.names * self.names + weights.ends * self.ends)


class PriorOf:
    """Priors of rules about one ontology and schema."""

    def __init__(
        self,
        ontology: Ontology,
        schema: Schema,
        distinct: Mapping[Place, int],
        nothing: Mapping[Place, str] = MappingProxyType({}),
    ) -> None:
        """`nothing` tells what links say where they lead to nothing."""
        self.ontology, self.schema, self.distinct, self.nothing = ontology, schema, distinct, nothing
        self._tables = math.log(max(2, sum(1 for table in schema.tables if table.rows != 0)))
        self._keys, self._links = schema.keys, dict(schema.links)
        self._leads = {start: end.table for start, end in self._links.items() if start not in self._keys}
        self._views = {table.name for table in schema.tables if table.is_view}
        self._titles: dict[str, tuple[str, ...]] = {}
        self._calls: dict[str, tuple[str, ...]] = {}  # what codes of a predicate may say
        self._column_costs = {
            (table.name, column.name): cost for table in schema.tables for column, cost in self._costs(table)
        }

    @cached_property
    def _terms(self) -> NameIndex:
        return NameIndex(local_name(term.iri) for term in self.ontology.terms)

    def prior(self, rule: Rule) -> Prior:
        """The prior of one rule."""
        term = self.ontology.find(rule.predicate)
        return Prior(
            self.description_length(rule),
            self.names(rule),
            self._ends(term, rule),
            self._key_fit(term, rule),
            self._spelled_fit(rule),
            self._conditions(term, rule),
            self._is_whole(rule),
        )

    def naming(self, prior: Prior, named: Sequence[Named]) -> Prior:
        """The prior of a rule whose fixed text names such values: a condition each, paid for as any other."""
        chosen = [one for one in named if self._terms.best((one.text,)) < _CALLED_FOR]
        if not chosen:
            return prior
        cost = sum(
            self._column_costs.get(one.place, self._tables) + math.log(max(2, self.distinct.get(one.place, 2)))
            for one in chosen
        )
        return replace(prior, length=prior.length + cost, conditions=prior.conditions + len(chosen), whole=False)

    def restricted(self, prior: Prior) -> Prior:
        """The prior of a rule that tells of linked rows what their own table tells of all."""
        return replace(prior, length=prior.length + RESTRICTED, conditions=prior.conditions + 1)

    def names(self, rule: Rule) -> float:
        """How well the rule's names fit its predicate, from 0 to 1."""
        return name_fit(self._titles_of(self.ontology.find(rule.predicate)), rule, self._leads)

    def telling_names(self, rule: Rule) -> list[str]:
        """The names of a rule that `names` compares with its predicate."""
        return telling_names(rule, self._leads)

    def titles(self, term: OntologyTerm) -> tuple[str, ...]:
        """What a term goes by: its name and labels."""
        return self._titles_of(term)

    def is_called(self, predicate: str, code: Constant) -> bool:
        """Whether a term goes by a code: by all of its name, or by what it adds to its parents' (`FPSO` Facility)."""
        if not isinstance(code.value, str):
            return False
        if predicate not in self._calls:
            term = self.ontology.find(predicate)
            above = [self.ontology.get(iri) for iri in self.ontology.ancestors(term.iri) if iri != term.iri]
            common = {word for one in above if one for title in self._titles_of(one) for word in words(title)}
            titles = self._titles_of(term)
            own = (" ".join(word for word in words(title) if word not in common) for title in titles)
            self._calls[predicate] = (*titles, *(name for name in own if name))
        told = " ".join(word for word in words(code.value) if not word.isdecimal())  # URGENT of 1-URGENT
        return best_likeness(self._calls[predicate], (code.value, told)) >= _CALLED_FOR

    def description_length(self, rule: Rule) -> float:
        """The cost of writing the rule down, in nats."""
        cost = 0.0
        looked_up = [atom for atom in rule.body[1:] if self._is_called_there(rule.predicate, atom)]
        told = {variable for atom in looked_up for variable in atom.variables}
        for atom in rule.body:
            if atom in looked_up:  # the term tells the code, and the code its table and the link that leads there
                cost += math.log(2) + math.log(2)
                continue
            cost += self._tables + (VIEWED if atom.table in self._views else 0.0)
            for column, term in atom.columns:
                if term in told:
                    continue
                if isinstance(term, Constant) and self.is_called(rule.predicate, term):
                    cost += math.log(2) + math.log(2)  # the term tells the code, and the code its column
                    continue
                cost += self._column_costs.get((atom.table, column), self._tables)
                if isinstance(term, Empty):
                    cost += math.log(2)
                if isinstance(term, Constant):
                    cost += math.log(max(2, self.distinct.get(Place(atom.table, column), 2)))
        cost += math.log(2) * (len(rule.body) - 1) + UNLINKED * self._chance_joins(rule)
        for position, constant in rule.excluded:
            if self._is_nothing(position.place, constant):
                continue
            others = 2 if stands_for_none(constant.value) else max(2, self.distinct.get(position.place, 2))
            cost += math.log(2) + math.log(others)
        for _, concat in rule.definitions:
            cost += math.log(2) * len(concat.parts)
            cost += sum(map(transformation_cost, concat.transformations))
        meant = self.ontology.find(rule.predicate)
        cost += REFLEXIVE * self._relates_to_itself(meant, rule) + SHARED * self._is_of_a_part(meant, rule)
        return cost + RESTRICTED * (self._restricted(meant, rule) + self._only_filled(meant, rule))

    def _is_called_there(self, predicate: str, atom: Atom) -> bool:
        return any(isinstance(term, Constant) and self.is_called(predicate, term) for _, term in atom.columns)

    def _conditions(self, term: OntologyTerm, rule: Rule) -> int:
        """How many conditions choose among the rows of the rule that the term's names do not call for."""
        titles = self._titles_of(term)
        named = (
            best_likeness(titles, {position.place.column, lexical_form(constant.value)}) >= _CALLED_FOR
            or self.is_called(rule.predicate, constant)
            for position, constant in rule.constants
        )
        unnamed = self._only_filled(term, rule)
        unnamed += sum(1 for atom in _only_confirming(rule) if best_likeness(titles, atom) < _CALLED_FOR)
        unnamed += sum(
            not stands_for_none(constant.value) and not self._is_nothing(position.place, constant)
            for position, constant in rule.excluded
        )
        return sum(1 for called_for in named if not called_for) + unnamed + self._restricted(term, rule)

    def _is_nothing(self, place: Place, constant: Constant) -> bool:
        """Whether a value is what a column says where there is nothing."""
        return place in self.nothing and lexical_form(constant.value) == self.nothing[place]

    def _only_filled(self, term: OntologyTerm, rule: Rule) -> int:
        """How many columns must be filled, though they tell nothing and no name calls for them."""
        titles = self._titles_of(term)
        return sum(1 for place in _only_filled(rule) if best_likeness(titles, {place.column}) < _CALLED_FOR)

    def _relates_to_itself(self, term: OntologyTerm, rule: Rule) -> bool:
        """Whether a rule relates each thing to itself, though it is no key that leads to another table's: a passport
        has the number of its person, and both are two things.
        """
        if isinstance(term, OntologyClass) or term.kind is PropertyKind.DATATYPE or len(set(rule.arguments)) > 1:
            return False
        return not any(place in self._keys and place in self._links for place in rule.places_of(rule.arguments[0]))

    def _is_of_a_part(self, term: OntologyTerm, rule: Rule) -> bool:
        """Whether a class gets the rows of a table whose key leads to another's, which it is called after, as
        `film_rating(film: x)` does: those films that were rated. A sub-class has a name of its own.
        """
        if not isinstance(term, OntologyClass) or len(rule.body) != 1 or rule.definition_of(rule.arguments[0]):
            return False
        [place] = rule.places_of(rule.arguments[0])[:1]
        if place not in self._keys or place not in self._links:
            return False
        own, other = place.table, self._links[place].table
        fit, other_fit = (best_likeness(self._titles_of(term), {name}) for name in (own, other))
        return fit <= other_fit and fit < _CALLED_FOR and not {*words(own)}.isdisjoint(words(other))

    def _restricted(self, term: OntologyTerm, rule: Rule) -> bool:
        """Whether a rule takes, of a table's rows, those that some link leads to, and no name calls for that.

        A class does if its members stand in a link; a property if all that it tells does, so that a row of the table
        says nothing but that it is linked.
        """
        places = [place for argument in rule.arguments for place in rule.places_of(argument)]
        if any(place in self._keys for place in places) or self._is_key(rule, places):
            return False
        alone = isinstance(term, OntologyClass) and all(place in self._links for place in places)
        if not alone and not self._in_one_link(rule, places):
            return False
        names = {name for place in places for name in place}
        titles = self._titles_of(term)
        if best_likeness(titles, names) < _CALLED_FOR:
            return True
        # A column that is called like the table it leads to says what it names, not that only linked rows are meant.
        return best_likeness(titles, self._led_to(places)) >= _CALLED_FOR

    def _led_to(self, places: Sequence[Place]) -> set[str]:
        """The tables that links lead to from these columns, all of one table, link by link."""
        found: set[str] = set()
        waiting, seen = [frozenset(places)], set[frozenset[Place]]()
        while waiting:
            current = waiting.pop()
            tables = {place.table for place in current}
            if current in seen or len(tables) != 1 or not all(table in self.schema for table in tables):
                continue
            seen.add(current)
            columns = {place.column for place in current}
            for link in self.schema.table(tables.pop()).foreign_keys:
                if columns <= {*link.columns}:
                    found.add(link.table)
                    ends = dict(zip(link.columns, link.referenced, strict=True))
                    waiting.append(frozenset(Place(link.table, ends[column]) for column in columns))
        return found

    def _in_one_link(self, rule: Rule, places: Sequence[Place]) -> bool:
        """Whether a rule of one table has nothing but columns of one compound link."""
        columns = {place.column for place in places}
        if len(rule.body) != 1 or rule.body[0].table not in self.schema:
            return False
        links = self.schema.table(rule.body[0].table).foreign_keys
        return any(len(link.columns) > 1 and columns <= {*link.columns} for link in links)

    def _is_key(self, rule: Rule, places: Sequence[Place]) -> bool:
        """Whether a rule of one table has all columns of a key of it."""
        if len(rule.body) != 1 or rule.body[0].table not in self.schema:
            return False
        return _hold_a_key({place.column for place in places}, self.schema.table(rule.body[0].table))

    def _is_whole(self, rule: Rule) -> bool:
        if len(rule.body) != 1 or rule.constants or rule.exclusions or _only_filled(rule):
            return False
        places = rule.places_of(rule.arguments[0])
        return any(place in self._keys for place in places) or self._is_key(rule, places)

    def _chance_joins(self, rule: Rule) -> int:
        """Joins of columns that no foreign key relates: equal values may be chance there."""
        return sum(len({self._identity(position.place) for position in join}) - 1 for join in rule.joins)

    def _identity(self, place: Place) -> Place:
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

    def _titles_of(self, term: OntologyTerm) -> tuple[str, ...]:
        if term.iri not in self._titles:
            name = local_name(term.iri)
            self._titles[term.iri] = tuple(dict.fromkeys((name, *term.labels)))
        return self._titles[term.iri]

    def _spelled_fit(self, rule: Rule) -> float:
        """How well the words of IRIs name the tables and columns that fill them in, from 0 to 1."""
        fits = [
            best_likeness(iri_words(rule, argument), self._names_at(rule, argument))
            for argument in rule.arguments
            if (concat := rule.definition_of(argument)) is not None and concat.is_path
        ]
        return sum(fits) / len(fits) if fits else 0.0

    def _names_at(self, rule: Rule, argument: Variable) -> set[str]:
        """What the columns of an argument are called: by their tables, themselves, and where they lead."""
        names = set()
        for place in rule.places_of(argument):
            names |= {place.table, place.column, *([self._links[place].table] if place in self._links else [])}
        return names

    def _ends(self, term: OntologyTerm, rule: Rule) -> float:
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
        places = rule.places_of(argument)
        tables = {place.table for place in places}
        tables |= {self._links[place].table for place in places if place in self._links}
        return best_likeness(titles, tables)

    def _key_fit(self, term: OntologyTerm, rule: Rule) -> float:
        """1 if entities stand in keys or links and values do not, −1 if the other way round."""
        x = self._role(rule, rule.arguments[0])
        if isinstance(term, OntologyClass):
            return x
        y = self._role(rule, rule.arguments[1])
        if rule.variables_of(rule.arguments[0]) == rule.variables_of(rule.arguments[1]):
            return -1.0  # both ends made of the very same columns: a thing related to its own number
        if term.kind is PropertyKind.EITHER:
            return (x + abs(y)) / 2
        return (x + (y if term.kind is PropertyKind.OBJECT else -min(y, 0.5))) / 2

    def _role(self, rule: Rule, argument: Variable) -> float:
        """1 for a key, 0.4 for a link to one, −1 for a plain column; an IRI is at least as good as a link.

        A key of several columns has none twice, and if it is no IRI, `PX1/2`, none that is a key by itself: nobody
        writes it so. It is written in the order of the table's key.
        """
        concat = rule.definition_of(argument)
        spelled = concat is not None and concat.is_path
        places = rule.places_of(argument)
        columns = sum(not isinstance(part, str) for part in concat.parts) if concat is not None else 0
        if concat is not None and columns > len(set(concat.variables)):
            return -6.0
        if concat is not None and spelled and columns > 1 and not _is_iri(concat):
            if any(place in self._keys for place in places):
                return -2.0
            if not self._is_in_order(rule, concat):
                return 0.9
        if any(place in self._keys for place in places) or (spelled and self._is_compound_key(rule, argument, places)):
            return 1.0
        return 0.4 if spelled or any(place in self._links for place in places) else -1.0

    def _is_in_order(self, rule: Rule, concat: Concat) -> bool:
        """Whether the columns of a key stand in the order of their table's primary key, if they are those."""
        places = [rule.positions[variable][0].place for variable in concat.variables]
        tables = {place.table for place in places}
        own = (
            self.schema.table(places[0].table).primary_key
            if len(tables) == 1 and places[0].table in self.schema
            else ()
        )
        names = tuple(place.column for place in places)
        return {*names} != {*own} or names == own

    def _is_compound_key(self, rule: Rule, argument: Variable, places: Sequence[Place]) -> bool:
        """Whether an IRI's columns hold a key of their table; where none is known, any several columns may be one."""
        if len(rule.variables_of(argument)) == 1:
            return False
        tables = {place.table for place in places}
        known = [self.schema.table(name) for name in tables if name in self.schema]
        keyed = [table for table in known if table.primary_key or table.unique]
        columns = {(place.table, place.column) for place in places}
        return not keyed or any(
            _hold_a_key({name for own, name in columns if own == table.name}, table) for table in keyed
        )


def transformation_cost(part: Transformed) -> float:
    """The cost of choosing a transformation among all there are, and its parameter, in nats."""
    if choices := TRANSFORMATIONS[part.name].choices:
        return math.log(len(TRANSFORMATIONS)) + math.log(len(choices))
    return math.log(len(TRANSFORMATIONS)) + sum(
        math.log(_CHARACTERS) * len(one) if isinstance(one, str) else math.log(_NUMBERS) for one in part.parameters
    )


def _is_iri(concat: Concat) -> bool:
    first = concat.parts[0]
    return isinstance(first, str) and is_absolute(first)


def _hold_a_key(columns: Set[str], table: Table) -> bool:
    return any(key and columns >= {*key} for key in (table.primary_key, *table.unique))


def _only_filled(rule: Rule) -> list[Place]:
    """The columns of which the rule only asks that they are filled: their variable stands nowhere else."""
    head = {variable for argument in rule.arguments for variable in rule.variables_of(argument)}
    lone = (places for variable, places in rule.positions.items() if variable not in head)
    return [places[0].place for places in lone if len(places) == 1]


def _only_confirming(rule: Rule) -> list[set[str]]:
    """Of the tables of which a property only asks that an argument stands in them: their names and the column's."""
    if len(rule.arguments) < 2:
        return []
    ends = {variable for argument in rule.arguments for variable in rule.variables_of(argument)}
    alone = (atom for atom in rule.body if len(atom.columns) == 1 and len(rule.body) > 1)
    return [{atom.table, atom.columns[0][0]} for atom in alone if atom.columns[0][1] in ends]


def constant_places(rules: Sequence[Rule]) -> list[Place]:
    """The columns in which the rules choose a value, or exclude one."""
    return list(dict.fromkeys(position.place for rule in rules for position, _ in (*rule.constants, *rule.excluded)))
