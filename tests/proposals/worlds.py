"""What the tests of ranking share: pools written down by hand, as lists of what each rule derives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.pool import pool_of
from ruleminer.proposals.prior import Prior
from ruleminer.proposals.ranking import Measured
from ruleminer.proposals.unions import UnionSize
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule

NAMESPACE = "http://world#"


class Made(NamedTuple):
    """A rule's facts in a made-up world, and what speaks for it beforehand."""

    text: str
    facts: frozenset[str]
    length: float = 5.0
    names: float = 0.5
    conditions: int = 0
    whole: bool = False


def made(text: str, facts: Sequence[object] | range, **known: Any) -> Made:
    return Made(text, frozenset(map(str, facts)), **known)


def measured(
    rules: Sequence[Made],
    positives: Sequence[object],
    negatives: Sequence[object] = (),
    *,
    rows: int = 1000,
    drawn: Sequence[bool] | None = None,
    lift: Sequence[float] | None = None,
    noise: bool = True,
) -> Measured:
    """The pool of a class with these examples, which may be wrong; rules that derive no positive are not in it."""
    predicate = parse_rule(rules[0].text).predicate

    def candidates(fact: object) -> CandidateSet:
        parsed = [parse_rule(rule.text) for rule in rules if str(fact) in rule.facts]
        return CandidateSet((str(fact),), tuple(map(Body, parsed)))

    pool = pool_of(predicate, [candidates(f) for f in positives], [candidates(f) for f in negatives], drawn)
    by_body = {Body(parse_rule(rule.text)): rule for rule in rules}
    kept = [by_body[body] for body in pool.bodies]
    return Measured(
        pool,
        np.array([float(len(rule.facts)) for rule in kept]),
        tuple(Prior(rule.length, rule.names, 0.0, 1.0, conditions=rule.conditions, whole=rule.whole) for rule in kept),
        None,
        rows,
        None if lift is None else np.array([dict(zip(rules, lift, strict=True))[rule] for rule in kept], float),
        noise=noise,
    )


def sizes_of_unions(rules: Sequence[Made], one: Measured) -> UnionSize:
    """What the database would answer."""
    facts = {Body(parse_rule(rule.text)): rule.facts for rule in rules}
    return lambda union: len(frozenset().union(*(facts[one.pool.bodies[i]] for i in union)))


def ontology_of_classes(parents: Mapping[str, str | None]) -> Ontology:
    """Classes by name, each with its parent."""
    return Ontology(
        tuple(
            OntologyClass(NAMESPACE + name, name, parents=(NAMESPACE + parent,) if parent else ())
            for name, parent in parents.items()
        ),
        (),
    )
