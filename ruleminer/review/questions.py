"""The next question: the fact whose answer is expected to tell most of what is meant.

Facts that could be asked are some of each likely hypothesis of a term, and some that one of two derives and the other
does not: the database finds those by EXCEPT, unless the two speak of different kinds of things. Entities are written
with their tables (`proposals/entity_texts.py`): rows of different tables are different facts. A user answers right but
for a share ε of slips, so the answer to "does f hold?" has

    p(yes | h) = 1 − ε  if h derives f,  ε  otherwise

and what it tells is the entropy of the hypotheses less the expected entropy once it is known. "Which of these?" of rows
that different hypotheses derive tells more than yes or no; it is asked where that is worth the reading. Where too many
rules come into question to show a row of each, the user is asked to name a fact: a choice of all rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruleminer.problem.decisions import Said
from ruleminer.proposals.answers import SLIPS
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Fact
from ruleminer.proposals.replay import Replay
from ruleminer.review.hypotheses import Hypothesis, entropy, hypotheses_of
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule

WORTH = 0.1  # bits that an answer must be expected to tell, for the question to be asked
_ROWS = 2  # facts that are taken of each hypothesis, and of each difference
_LEADING, _NEAR = 12, 5  # hypotheses whose facts may be asked for, and that are told from each other two by two
_WEIGHED, _ANSWERS = 3, 3  # questions, and answers to each, whose bearing on other terms is worked out
_FRESH = 6  # terms that the database is asked about for one question
MOST_ROWS = 7  # to choose from: with "none" and "cannot be told" as many as there are digits
_BIT = 0.1  # what a bit counts beside the probability that the right hypothesis is chosen
_AGAIN = 0.5  # what counts of a question on a term for each fact of it that is known to hold
_ROOM = 2  # terms for each table and column, up to which a term that no name speaks for is asked about
_DEARER = 1.25  # what a choice must tell, in units of a yes or no, to be worth the reading
_ROW_MORE = 0.08  # bits that a row must add to a choice
_UNTHOUGHT = 0.75  # how far it is believed of a term that the network never thought of that nothing is here
_SHOWN = 0.75  # how far a rule is believed from which a row of it is shown, and no fact asked for
_TYPED = 1.5  # what a fact that the user names must be worth, in units of one that is shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A fact that holds or does not; several, of which one holds or none; or without any: which does the user know?"""

    term: str
    facts: tuple[Fact, ...]
    information: float  # bits that the answer is expected to tell
    hypotheses: tuple[Hypothesis, ...]
    derived_by: tuple[tuple[int, ...], ...]  # for each fact: the hypotheses that derive it, by place
    named: bool = False  # whether the user named the fact, and is asked which thing they mean
    gain: float = 0.0  # how much likelier the answer is expected to make it that the right hypothesis is chosen

    @property
    def is_choice(self) -> bool:
        """Whether it asks which of several rows."""
        return len(self.facts) > 1

    @property
    def is_open(self) -> bool:
        """Whether the user is to name a fact."""
        return not self.facts

    @property
    def worth(self) -> float:
        """What the answer is expected to add to a right choice, and a little for each bit."""
        return self.gain + _BIT * self.information


@dataclass(frozen=True, slots=True)
class NoQuestion:
    """Nothing is worth asking, and why."""

    reason: str


class Doubt(NamedTuple):
    """What may be meant by a term, where that is open."""

    bits: float
    term: str
    hypotheses: tuple[Hypothesis, ...]
    weight: float  # what counts of a question with rows of the term
    may_name: bool  # whether the user may be asked to name a fact, which counts in full

    @property
    def promise(self) -> float:
        """What a question can be worth at most."""
        missing = 1.0 - self.hypotheses[0].share
        return (1.0 if self.may_name else self.weight) * (missing + _BIT * self.bits)


@dataclass(frozen=True)
class Differences:
    """The facts in which some hypotheses differ, and which derives which."""

    facts: tuple[Fact, ...]
    derives: NDArray[np.bool_]  # (hypotheses, facts)


@dataclass
class Questions:
    """Finds questions in one database; what was found of some hypotheses is remembered."""

    replay: Replay
    slips: float = SLIPS
    _known: dict[tuple[frozenset[Body], frozenset[Body]], list[Fact]] = field(default_factory=dict)

    def next(
        self,
        decisions: Mapping[str, Decision],
        answered: Mapping[str, Set[Fact]],
        worth: float = WORTH,
        unthought: Iterable[str] = (),
    ) -> Question | NoQuestion:
        """The question that is worth most, of the terms that are in doubt; or why there is none.

        `unthought` are terms without a decision: what they are called is like nothing here, so only the user can tell.

        It is worth what it adds to the probability that the right hypothesis is chosen, and a little for each bit:
        an answer may well tell much and change nothing, or nothing yet. Each term has its turn: a question on one that
        was asked about before counts for less, since what is meant by it may be no rule of the pool.
        """
        doubts = self.doubts(decisions, worth)
        found = [(one.worth, one) for one in map(self._of_unthought, unthought) if one is not None]
        most, fresh = 0.0, 0
        for doubt in sorted(doubts, key=lambda one: (-one.promise, one.term)):
            enough = sorted((gain for gain, _ in found), reverse=True)[:_WEIGHED]
            if len(enough) == _WEIGHED and doubt.promise <= enough[-1]:
                break
            some = doubt.hypotheses
            if not all(pair in self._known or pair in self.replay.derived.unanswered for pair in self._pairs(some)):
                if fresh >= _FRESH and found:
                    continue
                fresh += 1
            question = self.about(doubt.term, some, answered.get(doubt.term, frozenset()), may_name=doubt.may_name)
            if question is not None:
                most = max(most, question.information)
                if question.information >= worth:
                    found.append((question.worth * (1.0 if question.is_open else doubt.weight), question))
        late = any(pair in self.replay.derived.unanswered for doubt in doubts for pair in self._pairs(doubt.hypotheses))
        if not found:
            return NoQuestion(_why(len(decisions), len(doubts), most, late))
        found = sorted(found, key=lambda one: -one[0])[:_WEIGHED]
        return max(found, key=lambda one: one[0] + _BIT * self._of_others(one[1], decisions.get(one[1].term)))[1]

    def doubts(self, decisions: Mapping[str, Decision], worth: float = WORTH) -> list[Doubt]:
        """The terms that are in doubt: of which a question might tell enough to be asked."""
        found = []
        for term, decision in decisions.items():
            some = hypotheses_of(decision, self.is_roomy)
            bits = entropy([one.share for one in some])
            if bits >= worth:
                found.append(Doubt(bits, term, some, self._weight(term), self._may_be_named(decision)))
        return found

    def _of_unthought(self, term: str) -> Question | None:
        """Which fact of a term without a decision does the user know? None where they said something of it."""
        if term in self.replay.terms:
            return None
        shares = np.array([_UNTHOUGHT, 1.0 - _UNTHOUGHT])
        answers = answers_of(np.array([[False], [True]]), self.slips)
        gain = chosen_right(shares, answers) - float(shares.max())
        return Question(term, (), _mutual(shares, answers), (), (), gain=gain)

    @cached_property
    def is_roomy(self) -> bool:
        """Whether the database may have something of most terms: a vocabulary much larger is mostly not there."""
        measure = self.replay.measure
        tables = measure.derivations.structure.schema.tables
        return len(measure.ontology.terms) <= _ROOM * sum(1 + len(table.columns) for table in tables)

    def _weight(self, term: str) -> float:
        """What counts of a question with rows, by what was said of the term: half after each yes, less after each no.

        What is meant may be no rule of the pool; a fact that the user names tells that, too.
        """
        said = list(self.replay.said.facts.get(term, {}).values())
        yes = said.count(Said.HOLDS)
        return float(_AGAIN**yes / math.sqrt(1 + len(said) - yes))

    def _may_be_named(self, decision: Decision) -> bool:
        """Whether the user may know a fact of a term: none is known yet, and they did not say that they know none."""
        pool = decision.measured.pool
        return not pool.positives and pool.predicate not in self.replay.said.unnamed

    def _of_others(self, question: Question, decision: Decision | None) -> float:
        """The bits that an answer is expected to tell of other terms, where the network hears of it."""
        if decision is None or len(decision.beliefs) != 1 or question.is_open:
            return 0.0
        (belief,) = decision.beliefs
        place = {body: number for number, body in enumerate(belief.bodies, start=1)}
        derives = np.zeros((1 + len(belief.bodies), len(question.facts)), bool)
        for number, by in enumerate(question.derived_by):
            for hypothesis in by:
                for rule in question.hypotheses[hypothesis].rules:
                    if (at := place.get(Body(rule))) is not None:  # and with it what derives the same
                        same = np.flatnonzero(belief.same == belief.same[at - 1]) + 1
                        derives[same, number] = True
        shares = np.concatenate([[belief.none], belief.probabilities])
        answers = answers_of(derives, self.slips)  # (hypotheses, answers)
        likely = shares @ answers
        told = np.argsort(-likely)[:_ANSWERS]
        return belief.told_of_others(answers[:, told].T, likely[told] / likely[told].sum())

    def about(
        self, term: str, some: Sequence[Hypothesis], answered: Set[Fact], *, may_name: bool = False
    ) -> Question | None:
        """The best question on one term; None if its hypotheses differ in no fact that was not asked before.

        With `may_name`, that may be which fact the user knows.
        """
        found = self.differences(some)
        shares = np.array([one.share for one in some])
        open_ = [i for i, fact in enumerate(found.facts) if fact not in answered]
        best = None
        if open_:
            told = [(information(shares, found.derives[:, i], self.slips), -i) for i in open_]
            bits, place = max(told)
            best = self._question(term, some, found, (-place,), bits)
            rows, bits = self._choice(shares, found.derives, open_, -place)
            if len(rows) > 1 and bits > _DEARER * best.information:
                best = self._question(term, some, found, tuple(rows), bits)
        if may_name and (best is None or not some[0].rules or some[0].share < _SHOWN):
            named = self._naming(term, some, found)
            if best is None or named.worth > _TYPED * best.worth:
                best = named
        return best

    def _naming(self, term: str, some: Sequence[Hypothesis], found: Differences) -> Question:
        """Which fact does the user know? One of those that were found, or one of a rule that none was found of."""
        shares = np.array([one.share for one in some])
        unseen = np.flatnonzero(~found.derives.any(axis=1))
        answers = answers_of(
            np.concatenate([found.derives, np.eye(len(some), dtype=bool)[:, unseen]], axis=1), self.slips
        )
        gain = chosen_right(shares, answers) - float(shares.max())
        return Question(term, (), _mutual(shares, answers), tuple(some), (), gain=gain)

    def _choice(
        self, shares: Floats, derives: NDArray[np.bool_], open_: Sequence[int], first: int
    ) -> tuple[list[int], float]:
        """Rows to choose from, each of which adds most to what the answer is expected to tell; the likeliest first."""
        rows, bits = [first], 0.0
        while len(rows) < MOST_ROWS:
            told = [
                (choice_information(shares, derives[:, [*rows, i]], self.slips), -i) for i in open_ if i not in rows
            ]
            more, place = max(told, default=(0.0, 0))
            if more < bits + _ROW_MORE:
                break
            rows, bits = [*rows, -place], more
        return sorted(rows, key=lambda i: (-float(shares @ derives[:, i]), i)), bits

    def differences(self, some: Sequence[Hypothesis]) -> Differences:
        """The facts in which these hypotheses differ: some of each, and of each two some that only one derives."""
        pairs = self._pairs(some)
        fresh = [pair for pair in pairs if pair not in self._known and pair not in self.replay.derived.unanswered]
        derivations = self.replay.measure.derivations
        for pair, rows in zip(fresh, derivations.differences([pairs[one] for one in fresh], _ROWS), strict=True):
            if rows is None:  # a time limit: other facts may tell them apart
                self.replay.derived.unanswered[pair] = ""
            else:
                self._known[pair] = self._written(pairs[pair][0], rows)
        facts = dict.fromkeys(fact for pair in pairs for fact in self._known.get(pair, ()))
        asked = [(place, Body(rule)) for place, one in enumerate(some) for rule in one.rules]
        self.replay.derived.ask([(body, list(facts)) for _, body in asked])
        derives = np.zeros((len(some), len(facts)), bool)
        for place, body in asked:
            derives[place] |= np.array(self.replay.derived.by(body, list(facts)), bool)
        return Differences(tuple(facts), derives)

    def _pairs(
        self, some: Sequence[Hypothesis]
    ) -> dict[tuple[frozenset[Body], frozenset[Body]], tuple[Sequence[Rule], Sequence[Rule]]]:
        """Whose facts are looked at: of each that leads, and of each two of the same things what only one derives."""
        led = [one for one in some if one.rules][:_LEADING]
        keys = [frozenset(map(Body, one.rules)) for one in led]
        found: dict[tuple[frozenset[Body], frozenset[Body]], tuple[Sequence[Rule], Sequence[Rule]]] = {
            (frozenset([Body(one.rules[0])]), frozenset()): (one.rules[:1], ()) for one in led
        }
        places = [(0, other) for other in range(1, len(led))]
        places += [(one, other) for one in range(1, _NEAR) for other in range(one + 1, min(len(led), _NEAR))]
        for one, other in places:
            if self._may_meet(led[one].rules, led[other].rules):
                for i, j in ((one, other), (other, one)):
                    found[keys[i], keys[j]] = led[i].rules, led[j].rules
        return found

    def _may_meet(self, these: Sequence[Rule], those: Sequence[Rule]) -> bool:
        """Whether some rule of these speaks of the same kinds of things as one of those."""
        spaces = self.replay.measure.derivations.texts.spaces
        return any(
            all(not a or not b or not set(a).isdisjoint(b) for a, b in zip(spaces(one), spaces(other), strict=True))
            for one in map(Body, these)
            for other in map(Body, those)
        )

    def _written(self, rules: Sequence[Rule], rows: Sequence[Fact]) -> list[Fact]:
        """Facts that the rules derive, as they are asked; an empty or blank text is nothing to ask for."""
        texts = self.replay.measure.derivations.texts
        facts = [fact for fact in (tuple(map(str, row)) for row in rows) if all(map(str.strip, fact))]
        if len(rules) == 1:
            return [texts.written(Body(rules[0]), fact) for fact in facts]
        return [
            texts.written(body, fact)
            for body in map(Body, rules)
            for fact, yes in zip(facts, self.replay.derived.by(body, facts), strict=True)
            if yes
        ]

    @staticmethod
    def _question(
        term: str, some: Sequence[Hypothesis], found: Differences, places: tuple[int, ...], bits: float
    ) -> Question:
        by = tuple(tuple(np.flatnonzero(found.derives[:, i]).tolist()) for i in places)
        shares = np.array([one.share for one in some])
        gain = chosen_right(shares, answers_of(found.derives[:, places], SLIPS)) - float(shares.max())
        return Question(term, tuple(found.facts[i] for i in places), bits, tuple(some), by, gain=gain)


def information(shares: Floats, derives: NDArray[np.bool_], slips: float = SLIPS) -> float:
    """The bits that the answer to one fact is expected to tell of which hypothesis is meant."""
    yes = np.where(derives, 1.0 - slips, slips)
    return _mutual(shares, np.stack([yes, 1.0 - yes], axis=1))


def choice_information(shares: Floats, derives: NDArray[np.bool_], slips: float = SLIPS) -> float:
    """The same for a choice of facts, which are the columns; the last answer is "none of them"."""
    return _mutual(shares, answers_of(derives, slips))


def answers_of(derives: NDArray[np.bool_], slips: float = SLIPS) -> Floats:
    """p(answer | hypothesis) of a choice of facts: of those that hold any, or none of them; and now and then a slip."""
    fits = np.concatenate([derives.astype(float), np.asarray(~derives.any(axis=1), float)[:, None]], axis=1)
    right = fits / fits.sum(axis=1, keepdims=True)
    return np.asarray((1.0 - slips) * right + slips / right.shape[1])


def chosen_right(shares: Floats, answers: Floats) -> float:
    """The probability that the most believed hypothesis is right, once the answer is known."""
    return float((shares[:, None] * answers).max(axis=0).sum())


def _mutual(shares: Floats, answers: Floats) -> float:
    """The mutual information of hypotheses and answers; `answers` has p(answer | hypothesis) in its rows."""
    both = shares[:, None] * answers
    total = both.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(both > 0.0, both * np.log2(both / (shares[:, None] * total[None, :])), 0.0)
    return float(max(0.0, parts.sum()))


def _why(terms: int, doubts: int, most: float, late: bool) -> str:
    if not doubts and terms < 2:
        return "it is as good as decided" if terms else "no rule is in question"
    if not doubts:
        return f"of all {terms} terms that rules are in question for, each is as good as decided"
    rest = "1 term is" if doubts == 1 else f"{doubts} terms are"
    if late:
        return f"{rest} in doubt, but the database could not tell in time in which facts all rules in question differ"
    if most == 0.0:
        return f"{rest} in doubt, but the rules in question derive the same facts, or differ in none not asked before"
    return f"{rest} in doubt, but no answer would be expected to tell more than {most:.2f} bits"
