"""One trial of the mapping study: some examples of each predicate, a proposal by each ranker, and how right it is.

The measure is the mapping itself: the chosen rules, run on the database, against all true facts, examples left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.decide import decide
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.guesses import guesses
from ruleminer.proposals.hypotheses import World as Hypotheses
from ruleminer.proposals.joint import Joint
from ruleminer.proposals.measure import Measure, Scorer, asked_model
from ruleminer.proposals.pool import GUESS, Pool, pool_of, rule_pool
from ruleminer.proposals.ranking import Measured, Ranker, voice
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule
from ruleminer.structure.meaning import meaning
from ruleminer.structure.structure import learn_structure

Facts = frozenset[tuple[str, ...]]
ExamplesByTerm = Mapping[str, Sequence[CandidateSet]]  # of each predicate


@dataclass(frozen=True)
class World:
    """A scenario to try on: what is true, and the candidates of some facts of each predicate."""

    ontology: Ontology
    truth: Mapping[str, Facts]
    known: ExamplesByTerm


@dataclass(frozen=True)
class Contender:
    """A ranker in a trial, and the model it asks, if any: one that is there, or one that learns from the examples."""

    name: str
    ranker: Ranker
    scorer: Scorer | None = None
    learn: Callable[[ExamplesByTerm], Scorer] | None = None


COVERAGE, EVIDENCE, JOINT = (
    Contender(str(ranker), ranker) for ranker in (Ranker.COVERAGE, Ranker.EVIDENCE, Ranker.JOINT)
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How right a proposal for one predicate is."""

    predicate: str
    rules: tuple[Rule, ...]
    precision: float
    recall: float
    f1: float
    exact: bool
    why: str  # if it is not exact


class Trials:
    """Runs trials on one world; derivations are computed once."""

    def __init__(self, world: World, measure: Measure, ceilings: bool = True) -> None:
        """Without `ceilings`, nobody asks whether any single rule is right: with thousands of rules that takes long."""
        self.world, self.measure, self.ceilings = world, measure, ceilings
        self._derived: dict[Body, Facts] = {}
        self._ceilings: dict[str, float] = {}
        self._guesses: dict[str, Pool] = {}
        self._network: Joint | None = None

    def run(self, examples: int, wrong: float, seed: int, contenders: Sequence[Contender]) -> dict[str, list[Outcome]]:
        """Draw examples of every predicate, a share of them wrong (facts of other predicates), and propose."""
        drawn: dict[str, list[CandidateSet]] = {}
        measured: dict[str, Measured] = {}
        for predicate in sorted(self.world.truth):
            dice = random.Random(f"{seed}-{examples}-{wrong}-{predicate}")
            drawn[predicate] = self._drawn(predicate, examples, wrong, dice)
            pool = self._pool(predicate, drawn[predicate])
            one = self.measure.measured(pool) if pool.rules else None
            if one is not None:
                measured[predicate] = replace(one, noise=wrong > 0.0)
        return {one.name: list(self._outcomes(one, drawn, measured)) for one in contenders}

    def _outcomes(
        self, contender: Contender, drawn: ExamplesByTerm, measured: Mapping[str, Measured]
    ) -> Iterator[Outcome]:
        ranker = contender.ranker
        heard = {name: one for name, one in measured.items() if voice(one, len(one.pool.positives)) > 0.0}
        scorer = contender.learn(drawn) if contender.learn and heard else contender.scorer
        if scorer is not None:  # where a model would not be heard, it need not be asked
            asked = {name: asked_model(one, scorer, self.measure.others(name)) for name, one in heard.items()}
            measured = {**measured, **asked}
        if ranker is Ranker.COVERAGE:  # without examples it has nothing to count
            measured = {name: one for name, one in measured.items() if one.pool.positives}
        decisions = decide(
            measured,
            ranker,
            self.measure.weights,
            self.world.ontology,
            self._union_size,
            self.measure.structure,
            self._joint() if ranker is Ranker.JOINT else None,
        )
        for predicate, examples in drawn.items():
            chosen = decisions[predicate].rules if predicate in decisions else ()
            yield self._outcome(predicate, chosen, examples)

    def _joint(self) -> Joint:
        """The network that we ship, over this world; made once."""
        if self._network is None:
            database = self.measure.derivations.database
            derivations = Derivations(database, self.measure.structure or learn_structure(database))
            self._network = Joint(Hypotheses(derivations, meaning()), self.world.ontology)
        return self._network

    def ceiling(self, predicate: str) -> float:
        """The best F1 that one rule among the candidates of all known facts reaches."""
        if predicate not in self._ceilings:
            truth = self.world.truth[predicate]
            pool = pool_of(predicate, self.world.known[predicate])
            sizes = self.measure.derivations.sizes(pool.rules, pool.bodies)
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
            self._guesses[predicate] = rule_pool(predicate, guesses(term, self.measure.derivations), GUESS)
        return self._guesses[predicate]

    def _union_size(self, rules: Sequence[Rule]) -> int:
        return len(self._union(rules))

    def _union(self, rules: Sequence[Rule]) -> Facts:
        return frozenset[tuple[str, ...]]().union(*map(self._extension, rules))

    def _extension(self, rule: Rule, body: Body | None = None) -> Facts:
        body = body or Body(rule)
        if body not in self._derived:
            self._derived[body] = frozenset(self.measure.derivations.derived(rule))
        return self._derived[body]

    def _outcome(self, predicate: str, chosen: Sequence[Rule], examples: Sequence[CandidateSet]) -> Outcome:
        truth, left_out = self.world.truth[predicate], {fact.arguments for fact in examples}
        derived = self._union(chosen)
        ours, theirs = derived - left_out, truth - left_out
        both = len(ours & theirs)
        precision = both / len(ours) if ours else float(not theirs)
        recall = both / len(theirs) if theirs else 1.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        exact = derived == truth
        why = "" if exact else self._why(predicate, chosen, derived, examples)
        return Outcome(predicate, tuple(chosen), precision, recall, f1, exact, why)

    def _why(self, predicate: str, chosen: Sequence[Rule], derived: Facts, examples: Sequence[CandidateSet]) -> str:
        truth = self.world.truth[predicate]
        if not chosen:
            return "no rule"
        if self.ceilings and self.ceiling(predicate) < 1.0:
            return "no single rule of the templates is right"
        if all(fact.arguments in derived for fact in examples if fact.arguments in truth):
            return "derives all right examples, as the true rule does"
        return "misses right examples"
