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

EXTRACTED, MODEL, GUESS = "extraction", "model", "guess"


@dataclass(frozen=True)
class Pool:
    """Rules of one predicate, and which of its examples each derives."""

    predicate: str
    positives: tuple[Arguments, ...]
    negatives: tuple[Arguments, ...]
    drawn: Bools  # which negatives nobody gave: extraction drew them
    rules: tuple[Rule, ...]
    origin: tuple[str, ...]  # where each rule comes from
    covers: Bools  # (rules, positives)
    hits: Bools  # (rules, negatives)

    def only(self, keep: Sequence[int]) -> Pool:
        """The pool with these rules only."""
        return replace(
            self,
            rules=tuple(self.rules[i] for i in keep),
            origin=tuple(self.origin[i] for i in keep),
            covers=self.covers[list(keep)],
            hits=self.hits[list(keep)],
        )


@dataclass(frozen=True)
class CandidateSet:
    """A fact and the bodies of the rules that derive it; the head is whatever predicate it is an example of."""

    arguments: Arguments
    rules: tuple[Rule, ...]


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
        for rule in one.rules:
            key = body_of(rule)
            if key not in place:
                place[key] = len(rules)
                rules.append(rule if rule.predicate == predicate else replace(rule, predicate=predicate))
    covers = np.zeros((len(rules), len(positives)), bool)
    hits = np.zeros((len(rules), len(negatives)), bool)
    for matrix, facts in ((covers, positives), (hits, negatives)):
        for column, one in enumerate(facts):
            for rule in one.rules:
                row = place.get(body_of(rule))
                if row is not None:
                    matrix[row, column] = True
    return Pool(
        predicate,
        tuple(one.arguments for one in positives),
        tuple(one.arguments for one in negatives),
        np.array(drawn if drawn is not None else [False] * len(negatives), bool),
        tuple(rules),
        (EXTRACTED,) * len(rules),
        covers,
        hits,
    )


def dataset_pools(dataset: Dataset) -> dict[str, Pool]:
    """The pools of all predicates of a dataset."""
    texts = dataset.rules["text"].to_pylist()
    parsed: dict[int, Rule] = {}
    by_fact: dict[int, list[int]] = defaultdict(list)
    for fact, rule in zip(dataset.candidates["fact"].to_pylist(), dataset.candidates["rule"].to_pylist(), strict=True):
        by_fact[fact].append(rule)
    sides: dict[str, tuple[list[CandidateSet], list[CandidateSet], list[bool]]] = {}
    has_origin = "drawn" in dataset.facts.column_names
    for fact in dataset.facts.to_pylist():
        for rule in by_fact[fact["fact"]]:
            if rule not in parsed:
                parsed[rule] = parse_rule(texts[rule])
        arguments = tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None)
        found = CandidateSet(arguments, tuple(parsed[rule] for rule in by_fact[fact["fact"]]))
        positives, negatives, drawn = sides.setdefault(fact["predicate"], ([], [], []))
        if fact["positive"]:
            positives.append(found)
        else:
            negatives.append(found)
            drawn.append(fact["drawn"] if has_origin else True)
    return {predicate: pool_of(predicate, *facts) for predicate, facts in sorted(sides.items()) if facts[0]}


def with_rules(pool: Pool, texts: Iterable[str], origin: str, extensions: Extensions) -> Pool:
    """The pool with more rules, whose examples the database is asked for; texts that are no rules are left out."""
    known = {body_of(rule) for rule in pool.rules}
    rules: list[Rule] = []
    covers: list[list[bool]] = []
    hits: list[list[bool]] = []
    for text in texts:
        try:
            rule = parse_rule(text)
        except RuleminerError:
            continue
        if rule.predicate != pool.predicate or body_of(rule) in known:
            continue
        known.add(body_of(rule))
        derived = extensions.covered(rule, [*pool.positives, *pool.negatives])
        if derived is not None:
            rules.append(rule)
            covers.append(derived[: len(pool.positives)])
            hits.append(derived[len(pool.positives) :])
    if not rules:
        return pool
    return replace(
        pool,
        rules=(*pool.rules, *rules),
        origin=(*pool.origin, *([origin] * len(rules))),
        covers=np.concatenate([pool.covers, np.array(covers, bool).reshape(len(rules), -1)]),
        hits=np.concatenate([pool.hits, np.array(hits, bool).reshape(len(rules), -1)]),
    )


def unusable(pools: Mapping[str, Pool], extensions: Extensions) -> dict[str, str]:
    """The reasons for which the live database refuses rules, with the text of one such rule each."""
    reasons: dict[str, str] = {}
    for pool in pools.values():
        for rule in pool.rules:
            reason = extensions.refusal(rule)
            if reason:
                reasons.setdefault(reason, body_of(rule))
    return reasons
