"""Rules that another predicate claims: the best rule of Person is no part of Document.

Examples given by mistake are mostly facts of another predicate, and look like a part of a union. A rule that is
the best one of an unrelated predicate (neither above nor below in the ontology), or that nothing tells from it,
is therefore no candidate for a union. Nor is one whose things are all rows of a class that is declared disjoint from
what is meant: no harbour is a ship, so no place is part of what a voyage is sailed by. Nor one of a property whose
inverse has examples of its own, none of which asks for it, though some would by chance. That is how one wrong example
is known; what several examples ask for, and the best rule does not derive, is a part whatever is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.body import Body
from ruleminer.rules.canonical import canonical
from ruleminer.rules.values import Place, Rule, Variable
from ruleminer.structure.structure import Structure

_CHANCE = 1 / 3  # that no example of the inverse is of a part, up to which it is taken to be none

Winners = Mapping[str, Body]
Home = tuple[Place, str]
"""The key of a space, and how it is spelt into an IRI; the key itself is spelt by nothing."""


def winners(measured: Mapping[str, Measured], ranker: Ranker, weights: PriorWeights) -> dict[str, Body]:
    """The body of each predicate's best single rule."""
    best = {predicate: rank(one, ranker, weights).chosen[0] for predicate, one in measured.items()}
    return {predicate: measured[predicate].pool.bodies[rule] for predicate, rule in best.items()}


def claimed(measured: Measured, best: Winners, ontology: Ontology) -> NDArray[np.bool_]:
    """Which rules of a pool other predicates claim."""
    pool = measured.pool
    place = {body: i for i, body in enumerate(pool.bodies)}
    taken = np.zeros(len(pool.rules), bool)
    own = ontology.find(pool.predicate).iri
    related = {own, *ontology.ancestors(own), *ontology.descendants(own)}
    for predicate, body in best.items():
        if body in place and ontology.find(predicate).iri not in related:
            i = place[body]
            taken |= (measured.sizes == measured.sizes[i]) & (pool.covers == pool.covers[i]).all(axis=1)
    return taken


@dataclass(frozen=True)
class Misplaced:
    """Which rules of a term the other terms speak against: by where disjoint classes live, and by its inverse."""

    measured: Mapping[str, Measured]
    best: Winners
    ontology: Ontology
    structure: Structure

    @cached_property
    def _known(self) -> dict[tuple[str, ...], set[Home]]:
        return {}

    @cached_property
    def _homes(self) -> dict[str, Home]:
        """Where the things of classes live whose best rule takes all rows of a table."""
        homes: dict[str, Home] = {}
        for name, body in self.best.items():
            term, rule = self.ontology.find(name), body.of(name)
            if isinstance(term, OntologyClass) and (home := home_of(rule, 0, self.structure)) is not None:
                place = self.measured[name].pool.bodies.index(body)
                if self.measured[name].priors[place].whole:
                    homes[term.iri] = home
        return homes

    def rules(self, name: str) -> NDArray[np.bool_]:
        """Which rules of a term's pool these are; those that begin no worse than its best rule are none."""
        pool, term = self.measured[name].pool, self.ontology.find(name)
        found = self._of_inverse(name, term)
        for place, declared in enumerate(_ends(term) if self.ontology.tells_classes_apart else ()):
            own = space_of(self.best[name].of(name), place, self.structure)
            foreign = {home for home in self._foreign(declared) if home[0] != own}
            if foreign:
                found |= np.array([self._is_in(rule, place, foreign) for rule in pool.rules], bool)
        return found & ~self._asked_for(name)

    def _asked_for(self, name: str) -> NDArray[np.bool_]:
        """The rules that several examples ask for which the best rule does not derive."""
        pool = self.measured[name].pool
        left = ~pool.covers[pool.bodies.index(self.best[name])]
        asked: NDArray[np.bool_] = pool.covers[:, left].sum(axis=1) > 1
        return asked

    def _is_in(self, rule: Rule, place: int, homes: set[Home]) -> bool:
        """Whether an argument of a rule is of one of these, spelt so, or one of both not at all."""
        home = home_of(rule, place, self.structure)
        return home is not None and any(
            home[0] == space and (home[1] == spelt or not home[1] or not spelt) for space, spelt in homes
        )

    def _foreign(self, declared: tuple[str, ...]) -> set[Home]:
        """The homes of classes that are disjoint from all that an end may be, and of none that it may be."""
        if not declared:
            return set()
        if declared not in self._known:
            sides: tuple[set[Home], set[Home]] = set(), set()
            for iri, home in self._homes.items():
                sides[all(self.ontology.are_disjoint(iri, one) for one in declared)].add(home)
            own = {space for space, _ in sides[False]}
            self._known[declared] = {home for home in sides[True] if home[0] not in own}
        return self._known[declared]

    def _of_inverse(self, name: str, term: OntologyTerm) -> NDArray[np.bool_]:
        """The rules other than the best that no example of the inverse asks for, if its best is the same turned.

        Of two rules that are as large, an example of the inverse is of one as likely as of the other.
        """
        pool, sizes = self.measured[name].pool, self.measured[name].sizes
        largest = sizes[pool.bodies.index(self.best[name])]
        shares = sizes / np.maximum(1, sizes + largest)
        nothing = np.zeros(len(pool.rules), bool)
        for iri in self.ontology.inverses(term.iri) if not isinstance(term, OntologyClass) else ():
            other = self.ontology.get(iri)
            if other is None or other.name not in self.best or other.name == name:
                continue
            theirs = self.measured[other.name].pool
            places = {shape(rule): i for i, rule in enumerate(theirs.rules)}
            best = places.get(_turned(self.best[name].of(name)))
            if best is None or theirs.bodies[best] != self.best[other.name]:
                continue
            asked = (theirs.covers & ~theirs.covers[best]).any(axis=1)
            turned = [places.get(_turned(rule)) for rule in pool.rules]
            silent = [
                body != self.best[name] and (i is None or not asked[i])
                for body, i in zip(pool.bodies, turned, strict=True)
            ]
            found: NDArray[np.bool_] = np.array(silent, bool) & ((1 - shares) ** len(theirs.positives) <= _CHANCE)
            return found
        return nothing


def _ends(term: OntologyTerm) -> tuple[tuple[str, ...], ...]:
    return ((term.iri,),) if isinstance(term, OntologyClass) else (term.domains, term.ranges)


def _turned(rule: Rule) -> object:
    return shape(canonical(replace(rule, arguments=rule.arguments[::-1])))


def shape(rule: Rule) -> object:
    """The rule whatever its predicate and the order of its columns."""
    atoms = frozenset((atom.table, frozenset(atom.columns)) for atom in rule.body)
    return rule.arguments, atoms, frozenset(rule.definitions), frozenset(rule.exclusions)


def space_of(rule: Rule, place: int, structure: Structure) -> Place | None:
    """The key of the space that an argument of a rule is of; None for a value, or a key of several columns."""
    argument = rule.arguments[place]
    if len(rule.variables_of(argument)) != 1:
        return None
    return next((space.key for one in rule.places_of(argument) if (space := structure.space(one)) is not None), None)


def home_of(rule: Rule, place: int, structure: Structure) -> Home | None:
    """The same, and how it is spelt."""
    space = space_of(rule, place, structure)
    return None if space is None else (space, _spelling(rule, rule.arguments[place]))


def _spelling(rule: Rule, argument: Variable) -> str:
    concat = rule.definition_of(argument)
    return "" if concat is None else "".join(part if isinstance(part, str) else "{}" for part in concat.parts)
