"""One trial of the mapping study: some examples of each predicate, a proposal by each ranker, and how right it is.

The measure is the mapping itself: the chosen rules, run on the database, against all true facts, examples left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleminer.problem.ontology import Ontology
from ruleminer.propose.claims import claimed, winners
from ruleminer.propose.extensions import body_of
from ruleminer.propose.guesses import guesses
from ruleminer.propose.judge import Judge, Scorer, asked_model
from ruleminer.propose.pool import GUESS, CandidateSet, Pool, pool_of, rule_pool
from ruleminer.propose.ranking import Judged, Ranker, UnionSize, rank, voice
from ruleminer.rules.values import Rule

Facts = frozenset[tuple[str, ...]]
Examples = Mapping[str, Sequence[CandidateSet]]  # of each predicate


@dataclass(frozen=True)
class World:
    """A scenario to try on: what is true, and the candidates of some facts of each predicate."""

    ontology: Ontology
    truth: Mapping[str, Facts]
    known: Examples


@dataclass(frozen=True)
class Contender:
    """A ranker in a trial, and the model it asks, if any: one that is there, or one that learns from the examples."""

    name: str
    ranker: Ranker
    scorer: Scorer | None = None
    learn: Callable[[Examples], Scorer] | None = None


COVERAGE, EVIDENCE = (Contender(str(ranker), ranker) for ranker in (Ranker.COVERAGE, Ranker.EVIDENCE))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How right a proposal for one predicate is."""

    predicate: str
    rules: tuple[str, ...]
    precision: float
    recall: float
    f1: float
    exact: bool
    why: str  # if it is not exact


class Trials:
    """Runs trials on one world; extensions are computed once."""

    def __init__(self, world: World, judge: Judge, ceilings: bool = True) -> None:
        """Without `ceilings`, nobody asks whether any single rule is right: with thousands of rules that takes long."""
        self.world, self.judge, self.ceilings = world, judge, ceilings
        self._derived: dict[str, Facts] = {}
        self._ceilings: dict[str, float] = {}
        self._guesses: dict[str, Pool] = {}

    def run(self, examples: int, wrong: float, seed: int, contenders: Sequence[Contender]) -> dict[str, list[Outcome]]:
        """Draw examples of every predicate, a share of them wrong (facts of other predicates), and propose."""
        drawn: dict[str, list[CandidateSet]] = {}
        judged: dict[str, Judged] = {}
        for predicate in sorted(self.world.truth):
            dice = random.Random(f"{seed}-{examples}-{wrong}-{predicate}")
            drawn[predicate] = self._drawn(predicate, examples, wrong, dice)
            pool = self._pool(predicate, drawn[predicate])
            one = self.judge.judged(pool) if pool.rules else None
            if one is not None:
                judged[predicate] = one
        return {one.name: list(self._outcomes(one, drawn, judged)) for one in contenders}

    def _outcomes(self, contender: Contender, drawn: Examples, judged: Mapping[str, Judged]) -> Iterator[Outcome]:
        weights, ontology, ranker = self.judge.weights, self.world.ontology, contender.ranker
        heard = {name: one for name, one in judged.items() if voice(one, len(one.pool.positives)) > 0.0}
        scorer = contender.learn(drawn) if contender.learn and heard else contender.scorer
        if scorer is not None:  # where a model would not be heard, it need not be asked
            asked = {name: asked_model(one, scorer, self.judge.others(name)) for name, one in heard.items()}
            judged = {**judged, **asked}
        best = winners(judged, ranker, weights)
        for predicate, examples in drawn.items():
            chosen: list[Rule] = []
            if predicate in judged and (examples or ranker is not Ranker.COVERAGE):
                one = judged[predicate]
                ranking = rank(
                    one,
                    ranker,
                    weights,
                    union_size=self._union_size(one.pool),
                    claimed=claimed(one, best, ontology),
                )
                chosen = [one.pool.rules[i] for i in ranking.chosen]
            yield self._outcome(predicate, chosen, examples)

    def ceiling(self, predicate: str) -> float:
        """The best F1 that one rule among the candidates of all known facts reaches."""
        if predicate not in self._ceilings:
            truth = self.world.truth[predicate]
            pool = pool_of(predicate, self.world.known[predicate])
            sizes = self.judge.extensions.sizes(pool.rules, pool.bodies)
            best = 0.0
            for rule, body, size in zip(pool.rules, pool.bodies, sizes, strict=True):
                # No rule of this size can do better, so most need not be run.
                if size and 2 * min(size, len(truth)) / (size + len(truth)) > best:
                    derived = self._extension(rule, body)
                    best = max(best, 2 * len(derived & truth) / (len(derived) + len(truth)))
            self._ceilings[predicate] = best
        return self._ceilings[predicate]

    def _drawn(self, predicate: str, examples: int, wrong: float, dice: random.Random) -> list[CandidateSet]:
        own = list(self.world.known[predicate])
        right = dice.sample(own, min(len(own), round(examples * (1 - wrong))))
        if not wrong:
            return right
        places = len(next(iter(self.world.truth[predicate])))
        others = [
            fact
            for other, facts in sorted(self.world.known.items())
            if other != predicate
            for fact in facts
            if len(fact.arguments) == places and fact.arguments not in self.world.truth[predicate]
        ]
        astray = dice.sample(others, min(len(others), round(len(right) * wrong / (1 - wrong))))
        return [*right, *astray]

    def _pool(self, predicate: str, facts: Sequence[CandidateSet]) -> Pool:
        if facts:
            return pool_of(predicate, facts)
        if predicate not in self._guesses:
            term = self.world.ontology.find(predicate)
            self._guesses[predicate] = rule_pool(predicate, guesses(term, self.judge.extensions), GUESS)
        return self._guesses[predicate]

    def _union_size(self, pool: Pool) -> UnionSize:
        def size(rules: Sequence[int]) -> int:
            return len(frozenset().union(*(self._extension(pool.rules[i], pool.bodies[i]) for i in rules)))

        return size

    def _extension(self, rule: Rule, body: str | None = None) -> Facts:
        body = body or body_of(rule)
        if body not in self._derived:
            self._derived[body] = frozenset(self.judge.extensions.derived(rule))
        return self._derived[body]

    def _outcome(self, predicate: str, chosen: Sequence[Rule], examples: Sequence[CandidateSet]) -> Outcome:
        truth, left_out = self.world.truth[predicate], {fact.arguments for fact in examples}
        derived = frozenset[tuple[str, ...]]().union(*map(self._extension, chosen))
        ours, theirs = derived - left_out, truth - left_out
        both = len(ours & theirs)
        precision = both / len(ours) if ours else float(not theirs)
        recall = both / len(theirs) if theirs else 1.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        exact = derived == truth
        why = "" if exact else self._why(predicate, chosen, derived, examples)
        texts = tuple(body_of(replace(rule, predicate=predicate)) for rule in chosen)
        return Outcome(predicate, texts, precision, recall, f1, exact, why)

    def _why(self, predicate: str, chosen: Sequence[Rule], derived: Facts, examples: Sequence[CandidateSet]) -> str:
        truth = self.world.truth[predicate]
        if not chosen:
            return "no rule"
        if self.ceilings and self.ceiling(predicate) < 1.0:
            return "no single rule of the templates is right"
        if all(fact.arguments in derived for fact in examples if fact.arguments in truth):
            return "derives all right examples, as the true rule does"
        return "misses right examples"
