"""What terms tell each other of where their things live: what has a byArtist is an album, so albums are its subjects.

A term with few examples may fit many tables, all numbered from 1. But classes are the ends of properties, and a
property's values mostly tell its table. So terms pass on in which space they believe each end to be, along the
ontology's domains and ranges, for some rounds: a class hears from the properties that it is an end of, a property from
the classes of its ends. What a rule's spaces gain or lose by it is a part of its prior.

A class hears from those below it as well: captains live where employees do. And what is 1 in two classes that are
declared disjoint is two things, so each would rather live where the other is not believed to be: one after the other,
the surest first, which minds nobody. (Did all at once, they would flee together from where all were.)

Where examples are IRIs, `…/store/1` and `…/staff/1` are two things, whatever column the number comes from: a space that
is spelt in one way says nothing of what is spelt in another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, repeat

import numpy as np

from ruleminer.problem.ontology import Ontology, OntologyClass, Property
from ruleminer.proposals.claims import Home, home_of
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.mapping import looks_like_iri
from ruleminer.rules.values import Place, Rule
from ruleminer.structure.structure import Structure

ROUNDS = 5
WEIGHT = 2.0  # nats for each e-fold by which one space is believed more than another
_DOUBT = 0.03  # belief that every space keeps
_KIN = 0.7  # what an end says of a class above or below the one it is declared to be

Belief = Mapping[Home, float]
End = tuple[str, int]
"""A property and which of its arguments: 0 or 1; of a class, 0."""


def coherent(
    measured: Mapping[str, Measured],
    ranker: Ranker,
    weights: PriorWeights,
    ontology: Ontology,
    structure: Structure,
) -> dict[str, Measured]:
    """The same pools, with what the other terms say of each rule."""
    current = dict(measured)
    if ranker is Ranker.COVERAGE:
        return current
    classes = {name: one for name, one in measured.items() if isinstance(ontology.find(name), OntologyClass)}
    fits = _fits(ontology, [name for name in measured if name not in classes], list(classes))
    apart = _apart(classes, ontology)
    if not fits and not apart:
        return current
    voices = _voices(fits)
    for _ in range(ROUNDS):
        beliefs = {name: _beliefs(one, ranker, weights, structure) for name, one in current.items()}
        heard = _heard(beliefs, fits)
        current = {name: _told(measured[name], heard, name, structure, voices) for name in measured}
        homes = {name: _beliefs(current[name], ranker, weights, structure)[0] for name in apart}
        taken: dict[str, Belief] = {}
        for name in sorted(apart, key=lambda one: (-max(homes[one].values(), default=0.0), one)):
            if others := [taken[other] for other in apart[name] if other in taken]:
                current[name] = _avoiding(current[name], others, structure)
                homes[name] = _beliefs(current[name], ranker, weights, structure)[0]
            taken[name] = homes[name]
    return current


def _fits(ontology: Ontology, properties: Sequence[str], classes: Sequence[str]) -> dict[End, dict[str, float]]:
    """For each end of a property that is declared to be of some classes: those in question, and how well they fit.

    Classes that nobody gave an example of stand between properties as well: what they share, they tell each other.
    """
    iris = {ontology.find(name).iri: name for name in classes}
    related = {iri: {*ontology.ancestors(iri), *ontology.descendants(iri)} for iri in iris}
    fits: dict[End, dict[str, float]] = {}
    for name in properties:
        term = ontology.find(name)
        assert isinstance(term, Property)
        for place, declared in enumerate((term.domains, term.ranges)):
            named = [iri for iri in declared if isinstance(ontology.get(iri), OntologyClass)]
            found = {iris.get(iri, iri): 1.0 for iri in named}
            found |= {iris[iri]: _KIN for iri in iris if iris[iri] not in found and related[iri] & set(named)}
            if found:
                fits[name, place] = found
    for iri, name in iris.items():
        if above := {iris[other]: _KIN for other in ontology.ancestors(iri) if other in iris and other != iri}:
            fits[name, 0] = above
    return fits


def _apart(classes: Mapping[str, Measured], ontology: Ontology) -> dict[str, list[str]]:
    """Of each class: those declared disjoint from it that have an example of the same key, its space not told."""
    if not ontology.tells_classes_apart:
        return {}
    bare = {
        name: {
            fact
            for fact, told in zip(one.pool.positives, one.pool.spaces or repeat(()), strict=False)
            if not any(told) and not looks_like_iri(fact[0])
        }
        for name, one in classes.items()
    }
    found: dict[str, list[str]] = {}
    for one, other in permutations(sorted(name for name, facts in bare.items() if facts), 2):
        if bare[one] & bare[other] and ontology.are_disjoint(ontology.find(one).iri, ontology.find(other).iri):
            found.setdefault(one, []).append(other)
    return found


def _avoiding(measured: Measured, others: Sequence[Belief], structure: Structure) -> Measured:
    """The pool with what its rules lose where others are believed to live, in nats."""
    gains = np.zeros(len(measured.pool.rules)) if measured.coherence is None else measured.coherence.copy()
    for said in map(_Said, others):
        for i, rule in enumerate(measured.pool.rules):
            home = _spaces(rule, structure)[0]
            if home is not None:
                gains[i] += WEIGHT * math.log(max(_DOUBT, 1.0 - said.of(home)))
    return replace(measured, coherence=gains)


def _beliefs(measured: Measured, ranker: Ranker, weights: PriorWeights, structure: Structure) -> tuple[Belief, ...]:
    """For each argument: how far it is believed to have entities of each space, alone or among others."""
    sizes = measured.sizes
    # What the rules of a union share is left out: here it matters whether a part is one, not how large all are.
    ranking = rank(measured, ranker, weights, union_size=lambda union: int(sizes[list(union)].sum()))
    found: list[dict[Home, float]] = [defaultdict(float) for _ in measured.pool.rules[0].arguments]
    hypotheses: list[tuple[tuple[int, ...], float]] = [
        ((i,), share) for i, share in enumerate(ranking.posterior.tolist())
    ]
    if len(ranking.chosen) > 1:
        hypotheses.append((ranking.chosen, ranking.chosen_posterior))
    spaces = [_spaces(rule, structure) for rule in measured.pool.rules]
    for rules, share in hypotheses:
        for place, belief in enumerate(found):
            for space in {space for i in rules if (space := spaces[i][place]) is not None}:
                belief[space] += share
    return tuple(found)


def _spaces(rule: Rule, structure: Structure) -> list[Home | None]:
    return [home_of(rule, place, structure) for place in range(len(rule.arguments))]


class _Said:
    """What a belief says of spaces, spelt or not: where one of two is not spelt, they may be the same."""

    def __init__(self, belief: Belief) -> None:
        self._belief = belief
        self._spaces: dict[Place, float] = defaultdict(float)
        for (space, _), share in belief.items():
            self._spaces[space] += share

    def of(self, home: Home) -> float:
        space, spelt = home
        if not spelt:
            return self._spaces.get(space, 0.0)
        return self._belief.get(home, 0.0) + self._belief.get((space, ""), 0.0)


def _heard(
    beliefs: Mapping[str, tuple[Belief, ...]], fits: Mapping[End, Mapping[str, float]]
) -> dict[End, dict[Home, float]]:
    """What each end hears of the spaces: a class from its properties, a property from its classes."""
    says: dict[str, dict[End, dict[Home, float]]] = defaultdict(dict)  # class → what each end says of it
    homes = {name: _Said(own[0]) for name, own in beliefs.items()}
    for (name, place), classes in fits.items():
        for space, belief in beliefs[name][place].items():
            # An end that may be of several classes speaks most to those that are believed to live there.
            claims = {
                one: fit * (_DOUBT + (homes[one].of(space) if one in homes else 0.0)) for one, fit in classes.items()
            }
            for one, claim in claims.items():
                says[one].setdefault((name, place), {})[space] = belief * claim / sum(claims.values())
    heard: dict[End, dict[Home, float]] = {}
    for one, ends in says.items():
        if one in beliefs:
            heard[one, 0] = _sum(ends.values())
    for (name, place), classes in fits.items():
        told: dict[Home, float] = defaultdict(float)
        for one, fit in classes.items():
            others = _sum(said for end, said in says[one].items() if end != (name, place))
            own = beliefs[one][0] if one in beliefs else {}
            for space in {*others, *own}:
                told[space] = max(told[space], fit * max(own.get(space, 0.0), min(1.0, others.get(space, 0.0))))
        heard[name, place] = _sum([told, heard[name, place]]) if (name, place) in heard else told
    return heard


def _sum(beliefs: Iterable[Belief]) -> dict[Home, float]:
    total: dict[Home, float] = defaultdict(float)
    for belief in beliefs:
        for space, share in belief.items():
            total[space] += share
    return total


def _voices(fits: Mapping[End, Mapping[str, float]]) -> dict[End, float]:
    """How directly each end is spoken of: by what it is declared to be, or only by kin, which says less."""
    voices: dict[End, float] = {}
    for end, classes in fits.items():
        voices[end] = max(voices.get(end, 0.0), *classes.values())
        for one, fit in classes.items():
            voices[one, 0] = max(voices.get((one, 0), 0.0), fit)
    return voices


def _told(
    measured: Measured, heard: Mapping[End, Belief], name: str, structure: Structure, voices: Mapping[End, float]
) -> Measured:
    """The pool with what was heard of the spaces of each rule's arguments, in nats."""
    gains = np.zeros(len(measured.pool.rules))
    for place in range(len(measured.pool.rules[0].arguments)):
        belief = heard.get((name, place))
        if not belief or sum(belief.values()) < _DOUBT:
            continue
        heard_of = _Said(belief)
        most = max(map(heard_of.of, belief))
        for i, rule in enumerate(measured.pool.rules):
            space = _spaces(rule, structure)[place]
            said = heard_of.of(space) if space is not None else 0.0
            gains[i] += voices.get((name, place), 1.0) * WEIGHT * math.log((_DOUBT + said) / (_DOUBT + most))
    return replace(measured, coherence=gains)
