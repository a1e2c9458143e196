"""The examples of a dataset with the rules that derive each, by predicate."""

from __future__ import annotations

from dataclasses import dataclass

from ruleminer.dataset import Dataset
from ruleminer.rules.body import Body
from ruleminer.rules.values import Place

Arguments = tuple[str, ...]
Spaces = tuple[Place | None, ...]
"""Of each argument of a fact: the key that it is a value of, if that is known; actor 105 is not customer 105."""


@dataclass(frozen=True)
class CandidateSet:
    """A fact and the rules that derive it, without their heads: those are whatever predicate it is an example of."""

    arguments: Arguments
    bodies: tuple[Body, ...]
    spaces: Spaces = ()


@dataclass(frozen=True)
class Known:
    """The facts of a predicate in a dataset."""

    positives: list[CandidateSet]
    negatives: list[CandidateSet]
    drawn: list[bool]  # of the negatives


def candidate_sets(dataset: Dataset) -> dict[str, Known]:
    """The facts of a dataset with their candidates, by predicate.

    Rules that derive no positive compete for nothing, and are told of counter-examples that somebody gave alone: one by
    its key may be that of an IRI.
    """
    facts = list(dataset.facts_with_rules())
    competing = {number for fact in facts if fact.positive or not fact.drawn for number in fact.rules}
    bodies = dataset.bodies(competing)
    sides: dict[str, Known] = {}
    for fact in facts:
        own = tuple(bodies[number] for number in fact.rules if number in competing)
        candidates = CandidateSet(fact.arguments, own, fact.spaces[: len(fact.arguments)])
        known = sides.setdefault(fact.predicate, Known([], [], []))
        if fact.positive:
            known.positives.append(candidates)
        else:
            known.negatives.append(candidates)
            known.drawn.append(fact.drawn)
    return dict(sorted(sides.items()))
