"""The rules that compete for a predicate: those that derive some example of it, and those the model would write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ruleminer.errors import RuleminerError
from ruleminer.extract.dataset import Dataset
from ruleminer.propose.extensions import Extensions, body_of
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule

Bools = NDArray[np.bool_]
Arguments = tuple[str, ...]

EXTRACTED, MODEL, REFINED, GUESS = "extraction", "model", "refinement", "guess"


@dataclass(frozen=True)
class Pool:
    """Rules of one predicate, and which of its examples each derives."""

    predicate: str
    positives: tuple[Arguments, ...]
    negatives: tuple[Arguments, ...]
    drawn: Bools  # which negatives nobody gave: extraction drew them
    rules: tuple[Rule, ...]
    bodies: tuple[str, ...]  # the rules' texts without their head, which is what tells them apart
    origin: tuple[str, ...]  # where each rule comes from
    covers: Bools  # (rules, positives)
    hits: Bools  # (rules, negatives)

    def only(self, keep: Sequence[int]) -> Pool:
        """The pool with these rules only."""
        return replace(
            self,
            rules=tuple(self.rules[i] for i in keep),
            bodies=tuple(self.bodies[i] for i in keep),
            origin=tuple(self.origin[i] for i in keep),
            covers=self.covers[list(keep)],
            hits=self.hits[list(keep)],
        )


@dataclass(frozen=True)
class CandidateSet:
    """A fact and the rules that derive it, by body; the head is whatever predicate it is an example of."""

    arguments: Arguments
    rules: Mapping[str, Rule]


def pool_of(
    predicate: str,
    positives: Sequence[CandidateSet],
    negatives: Sequence[CandidateSet] = (),
    drawn: Sequence[bool] | None = None,
) -> Pool:
    """The pool of the rules that derive at least one positive."""
    place: dict[str, int] = {}
    rules: list[Rule] = []
    for one in positives:
        for body, rule in one.rules.items():
            if body not in place:
                place[body] = len(rules)
                rules.append(rule if rule.predicate == predicate else replace(rule, predicate=predicate))
    covers = np.zeros((len(rules), len(positives)), bool)
    hits = np.zeros((len(rules), len(negatives)), bool)
    for matrix, facts in ((covers, positives), (hits, negatives)):
        for column, one in enumerate(facts):
            for body in one.rules:
                row = place.get(body)
                if row is not None:
                    matrix[row, column] = True
    return Pool(
        predicate,
        tuple(one.arguments for one in positives),
        tuple(one.arguments for one in negatives),
        np.array(drawn if drawn is not None else [False] * len(negatives), bool),
        tuple(rules),
        tuple(place),
        (EXTRACTED,) * len(rules),
        covers,
        hits,
    )


@dataclass(frozen=True)
class Known:
    """The facts of a predicate in a dataset."""

    positives: list[CandidateSet]
    negatives: list[CandidateSet]
    drawn: list[bool]  # of the negatives


def dataset_pools(dataset: Dataset) -> dict[str, Pool]:
    """The pools of all predicates of a dataset."""
    return {
        predicate: pool_of(predicate, known.positives, known.negatives, known.drawn)
        for predicate, known in candidate_sets(dataset).items()
        if known.positives
    }


def candidate_sets(dataset: Dataset) -> dict[str, Known]:
    """The facts of a dataset with their candidates, by predicate."""
    texts = dataset.rules["text"].to_pylist()
    parsed: dict[int, tuple[str, Rule]] = {}
    by_fact: dict[int, list[int]] = defaultdict(list)
    for fact, rule in zip(dataset.candidates["fact"].to_pylist(), dataset.candidates["rule"].to_pylist(), strict=True):
        by_fact[fact].append(rule)
    sides: dict[str, Known] = {}
    has_origin = "drawn" in dataset.facts.column_names
    for fact in dataset.facts.to_pylist():
        for rule in by_fact[fact["fact"]]:
            if rule not in parsed:
                read = parse_rule(texts[rule])
                parsed[rule] = body_of(read), read
        arguments = tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None)
        found = CandidateSet(arguments, dict(parsed[rule] for rule in by_fact[fact["fact"]]))
        known = sides.setdefault(fact["predicate"], Known([], [], []))
        if fact["positive"]:
            known.positives.append(found)
        else:
            known.negatives.append(found)
            known.drawn.append(fact["drawn"] if has_origin else True)
    return dict(sorted(sides.items()))


def with_rules(pool: Pool, texts: Iterable[str], origin: str, extensions: Extensions) -> Pool:
    """The pool with more rules, whose examples the database is asked for; texts that are no rules are left out."""
    known = set(pool.bodies)
    rules: dict[str, Rule] = {}
    covers: list[list[bool]] = []
    hits: list[list[bool]] = []
    for text in texts:
        try:
            rule = parse_rule(text)
        except RuleminerError:
            continue
        body = body_of(rule)
        if rule.predicate != pool.predicate or body in known:
            continue
        known.add(body)
        derived = extensions.covered(rule, [*pool.positives, *pool.negatives])
        if derived is not None:
            rules[body] = rule
            covers.append(derived[: len(pool.positives)])
            hits.append(derived[len(pool.positives) :])
    if not rules:
        return pool
    return replace(
        pool,
        rules=(*pool.rules, *rules.values()),
        bodies=(*pool.bodies, *rules),
        origin=(*pool.origin, *([origin] * len(rules))),
        covers=np.concatenate([pool.covers, np.array(covers, bool).reshape(len(rules), -1)]),
        hits=np.concatenate([pool.hits, np.array(hits, bool).reshape(len(rules), -1)]),
    )


def rule_pool(predicate: str, rules: Sequence[Rule], origin: str) -> Pool:
    """A pool of rules without any example."""
    nothing = np.zeros((len(rules), 0), bool)
    bodies = tuple(map(body_of, rules))
    return Pool(predicate, (), (), np.zeros(0, bool), tuple(rules), bodies, (origin,) * len(rules), nothing, nothing)
