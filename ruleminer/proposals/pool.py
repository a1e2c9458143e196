"""The rules that compete for a predicate: those that derive some example of it, and those the model would write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ruleminer.dataset import Dataset
from ruleminer.proposals.candidate_sets import Arguments, CandidateSet, Known, Spaces, candidate_sets
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.one_spelling import in_one_spelling
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule
from ruleminer.structure.structure import Structure

Bools = NDArray[np.bool_]
EXTRACTED, MODEL, REFINED, GUESS, IMPLIED = "extraction", "model", "refinement", "guess", "other terms"


@dataclass(frozen=True)
class Pool:
    """Rules of one predicate, and which of its examples each derives."""

    predicate: str
    positives: tuple[Arguments, ...]
    negatives: tuple[Arguments, ...]
    drawn: Bools  # which negatives nobody gave: extraction drew them
    rules: tuple[Rule, ...]
    bodies: tuple[Body, ...]  # of the rules, which is what tells them apart
    origin: tuple[str, ...]  # where each rule comes from
    covers: Bools  # (rules, positives)
    hits: Bools  # (rules, negatives)
    spaces: tuple[Spaces, ...] = ()  # of the positives and then of the negatives, where any is known
    asked: Bools | None = None  # which positives are answers to questions: we chose them, nobody drew them

    @property
    def given(self) -> Bools:
        """Which positives somebody drew from what is meant."""
        return np.ones(len(self.positives), bool) if self.asked is None else ~self.asked

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


def pool_of(
    predicate: str,
    positives: Sequence[CandidateSet],
    negatives: Sequence[CandidateSet] = (),
    drawn: Sequence[bool] | None = None,
) -> Pool:
    """The pool of the rules that derive at least one positive."""
    place: dict[Body, int] = {}
    for one in positives:
        for body in one.bodies:
            place.setdefault(body, len(place))
    covers = np.zeros((len(place), len(positives)), bool)
    hits = np.zeros((len(place), len(negatives)), bool)
    for matrix, facts in ((covers, positives), (hits, negatives)):
        for column, one in enumerate(facts):
            for body in one.bodies:
                row = place.get(body)
                if row is not None:
                    matrix[row, column] = True
    return Pool(
        predicate,
        tuple(one.arguments for one in positives),
        tuple(one.arguments for one in negatives),
        np.array(drawn if drawn is not None else [False] * len(negatives), bool),
        tuple(body.of(predicate) for body in place),
        tuple(place),
        (EXTRACTED,) * len(place),
        covers,
        hits,
        _spaces([*positives, *negatives]),
    )


def _spaces(facts: Sequence[CandidateSet]) -> tuple[Spaces, ...]:
    """The spaces of all arguments of all facts, if that of any is known."""
    if not any(any(one.spaces) for one in facts):
        return ()
    return tuple(one.spaces or (None,) * len(one.arguments) for one in facts)


def dataset_pools(dataset: Dataset) -> dict[str, Pool]:
    """The pools of all predicates of a dataset."""
    return {
        predicate: _pool(predicate, known) for predicate, known in candidate_sets(dataset).items() if known.positives
    }


def _pool(predicate: str, known: Known) -> Pool:
    """The pool of a predicate's facts, in one spelling: keys as IRIs where some are."""
    positives = _once(in_one_spelling(known.positives, known.positives))
    negatives = in_one_spelling(known.positives, known.negatives)
    return pool_of(predicate, positives, negatives, known.drawn)


def _once(facts: Iterable[CandidateSet]) -> list[CandidateSet]:
    """Each fact once, with all the rules that derive it in any spelling; `actor:1` and `customer:1` are two."""
    found: dict[tuple[Arguments, Spaces], CandidateSet] = {}
    for one in facts:
        same = found.setdefault((one.arguments, one.spaces), one)
        if same is not one:
            bodies = tuple(dict.fromkeys((*same.bodies, *one.bodies)))
            found[one.arguments, one.spaces] = CandidateSet(one.arguments, bodies, one.spaces)
    return list(found.values())


def with_rules(
    pools: Sequence[Pool], more: Sequence[Iterable[Rule]], origin: str, derivations: Derivations
) -> list[Pool]:
    """Each pool with more rules, whose examples the database is asked for."""
    fresh = [_unknown(pool, rules) for pool, rules in zip(pools, more, strict=True)]
    asked = [
        (rule, (*pool.positives, *pool.negatives))
        for pool, rules in zip(pools, fresh, strict=True)
        for rule in rules.values()
    ]
    answers = iter(derivations.coverage(asked))
    structure = derivations.structure
    return [
        extended(
            pool,
            [(body, rule, _of_its_spaces(pool, rule, next(answers), structure)) for body, rule in rules.items()],
            origin,
        )
        for pool, rules in zip(pools, fresh, strict=True)
    ]


def _of_its_spaces(pool: Pool, rule: Rule, derived: list[bool] | None, structure: Structure) -> list[bool] | None:
    """Which examples a rule derives that are things of the spaces from which it takes its arguments."""
    if derived is None or not pool.spaces:
        return derived
    own = [{space.key for place in rule.places_of(v) if (space := structure.space(place))} for v in rule.arguments]
    fits = (
        all(space is None or space in known for space, known in zip(spaces, own, strict=False))
        for spaces in pool.spaces
    )
    return [yes and fit for yes, fit in zip(derived, fits, strict=True)]


def _unknown(pool: Pool, more: Iterable[Rule]) -> dict[Body, Rule]:
    """The rules of the pool's predicate that it has not."""
    found: dict[Body, Rule] = {}
    known = set(pool.bodies)
    for rule in more:
        body = Body(rule)
        if rule.predicate == pool.predicate and body not in known:
            found.setdefault(body, rule)
    return found


def extended(pool: Pool, more: Sequence[tuple[Body, Rule, list[bool] | None]], origin: str) -> Pool:
    """The pool with rules that derive these examples; those that the database refuses stay out."""
    usable = [(body, rule, derived) for body, rule, derived in more if derived is not None]
    if not usable:
        return pool
    bodies, rules, derived = zip(*usable, strict=True)
    covers = np.array(derived, bool).reshape(len(usable), -1)
    return replace(
        pool,
        rules=(*pool.rules, *rules),
        bodies=(*pool.bodies, *bodies),
        origin=(*pool.origin, *([origin] * len(usable))),
        covers=np.concatenate([pool.covers, covers[:, : len(pool.positives)]]),
        hits=np.concatenate([pool.hits, covers[:, len(pool.positives) :]]),
    )


def rule_pool(predicate: str, rules: Sequence[Rule], origin: str) -> Pool:
    """A pool of rules without any example."""
    return _without_examples(predicate, tuple(rules), tuple(map(Body, rules)), origin)


def body_pool(predicate: str, bodies: Sequence[Body], origin: str) -> Pool:
    """The same of rules that are known by their bodies."""
    return _without_examples(predicate, tuple(body.of(predicate) for body in bodies), tuple(bodies), origin)


def _without_examples(predicate: str, rules: tuple[Rule, ...], bodies: tuple[Body, ...], origin: str) -> Pool:
    nothing = np.zeros((len(rules), 0), bool)
    return Pool(predicate, (), (), np.zeros(0, bool), rules, bodies, (origin,) * len(rules), nothing, nothing)
