"""The next question: the fact whose answer is expected to tell most of what is meant.

Facts that could be asked are those in which the likely hypotheses of a term differ; the database finds them, by one
EXCEPT for each two hypotheses. A user answers right but for a share ε of slips, so the answer to "does f hold?" has

    p(yes | h) = 1 − ε  if h derives f,  ε  otherwise

and what it tells is the entropy of the hypotheses less the expected entropy once it is known. Where three hypotheses or
more have a row of their own, "which of these?" tells more than yes or no.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruleminer.errors import DatabaseError
from ruleminer.proposals.decide import Decision
from ruleminer.proposals.derivations import Fact
from ruleminer.proposals.replay import Replay
from ruleminer.review.hypotheses import Hypothesis, entropy, hypotheses_of
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule

SLIPS = 0.03
WORTH = 0.1  # bits that an answer must be expected to tell, for the question to be asked
_ROWS = 3  # facts that are taken of each difference
_FRESH = 6  # terms that the database is asked about for one question
_OPTIONS = 4  # rows to choose from
_DEARER = 1.25  # what a choice must tell, in units of a yes or no, to be worth the reading

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """A fact that holds or does not; or several, of which one holds or none."""

    term: str
    facts: tuple[Fact, ...]
    information: float  # bits that the answer is expected to tell
    hypotheses: tuple[Hypothesis, ...]
    derived_by: tuple[tuple[int, ...], ...]  # for each fact: the hypotheses that derive it, by place

    @property
    def is_choice(self) -> bool:
        """Whether it asks which of several rows."""
        return len(self.facts) > 1


@dataclass(frozen=True, slots=True)
class NoQuestion:
    """Nothing is worth asking, and why."""

    reason: str


class _Doubt(NamedTuple):
    bits: float
    term: str
    hypotheses: tuple[Hypothesis, ...]
    meant: float  # how far it is believed that any of their rules is


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
    ) -> Question | NoQuestion:
        """The question that tells most, of the terms that are in doubt; or why there is none.

        Bits count as far as a rule is believed to be meant at all: which of many wrong ones is the least wrong, where
        the database knows nothing of a term, is nothing that a mapping gains by. And where all was denied so far, other
        terms come first: what is meant may well be no rule of the pool.
        """
        doubts = []
        for term, decision in decisions.items():
            some = hypotheses_of(decision)
            bits = entropy([one.share for one in some])
            if bits >= worth:
                meant = sum(one.share for one in some if one.rules)
                doubts.append(_Doubt(bits, term, some, meant * 0.5 ** _rounds_denied(decision)))
        best: Question | None = None
        gain, most, fresh = 0.0, 0.0, 0
        for bits, term, some, meant in sorted(doubts, key=lambda one: (-one.bits * one.meant, one.term)):
            if best is not None and min(bits, math.log2(_OPTIONS + 1)) * meant <= gain:
                break
            if not all(pair in self._known or pair in self.replay.unanswered for pair in _pairs(some)):
                if fresh >= _FRESH and best is not None:
                    continue
                fresh += 1
            question = self.about(term, some, answered.get(term, frozenset()))
            if question is not None:
                most = max(most, question.information)
                if question.information >= worth and question.information * meant > gain:
                    best, gain = question, question.information * meant
        late = any(pair in self.replay.unanswered for doubt in doubts for pair in _pairs(doubt.hypotheses))
        return best or NoQuestion(_why(len(decisions), len(doubts), most, late))

    def about(self, term: str, some: Sequence[Hypothesis], answered: Set[Fact]) -> Question | None:
        """The best question on one term; None if its hypotheses differ in no fact that was not asked before."""
        found = self.differences(some)
        shares = np.array([one.share for one in some])
        open_ = [i for i, fact in enumerate(found.facts) if fact not in answered]
        if not open_:
            return None
        told = [(information(shares, found.derives[:, i], self.slips), -i) for i in open_]
        bits, place = max(told)
        best = self._question(term, some, found, (-place,), bits)
        own = self._own_rows(shares, found.derives, open_)
        if len(own) >= 3:
            bits = choice_information(shares, found.derives[:, own], self.slips)
            if bits > _DEARER * best.information:
                best = self._question(term, some, found, tuple(own), bits)
        return best

    def differences(self, some: Sequence[Hypothesis]) -> Differences:
        """The facts in which these hypotheses differ: of each two, some that only one of them derives."""
        facts: dict[Fact, None] = {}
        for pair, (these, those) in _pairs(some).items():
            if pair not in self._known and pair not in self.replay.unanswered:
                found = self._difference(these, those)
                if found is None:
                    self.replay.unanswered.add(pair)
                else:
                    self._known[pair] = found
            facts |= dict.fromkeys(self._known.get(pair, ()))
        asked = [(place, rule) for place, one in enumerate(some) for rule in one.rules]
        self.replay.ask_ahead([(rule, list(facts)) for _, rule in asked])
        derives = np.zeros((len(some), len(facts)), bool)
        for place, rule in asked:
            derives[place] |= np.array(self.replay.derived(rule, list(facts)), bool)
        return Differences(tuple(facts), derives)

    def _difference(self, these: Sequence[Rule], those: Sequence[Rule]) -> list[Fact] | None:
        """Some facts of these that are none of those; an empty text in one is nothing to ask for. None if not told."""
        derivations = self.replay.measure.derivations
        try:
            if not these:
                return []
            rows = derivations.difference(these, those, _ROWS) if those else derivations.sample(these, _ROWS)
        except DatabaseError:  # a time limit: other facts may tell them apart
            return None
        return [fact for row in rows if all(fact := tuple(map(str, row)))]

    @staticmethod
    def _own_rows(shares: Floats, derives: NDArray[np.bool_], open_: Sequence[int]) -> list[int]:
        """For the likeliest hypotheses, a fact that each alone derives among those that matter."""
        matter = shares >= 0.02
        alone: list[int] = []
        for place in np.argsort(-shares, kind="stable").tolist():
            own = [i for i in open_ if derives[place, i] and int(derives[matter, i].sum()) == 1]
            if matter[place] and own and len(alone) < _OPTIONS:
                alone.append(own[0])
        return alone

    @staticmethod
    def _question(
        term: str, some: Sequence[Hypothesis], found: Differences, places: tuple[int, ...], bits: float
    ) -> Question:
        by = tuple(tuple(np.flatnonzero(found.derives[:, i]).tolist()) for i in places)
        return Question(term, tuple(found.facts[i] for i in places), bits, tuple(some), by)


def information(shares: Floats, derives: NDArray[np.bool_], slips: float = SLIPS) -> float:
    """The bits that the answer to one fact is expected to tell of which hypothesis is meant."""
    yes = np.where(derives, 1.0 - slips, slips)
    return _mutual(shares, np.stack([yes, 1.0 - yes], axis=1))


def choice_information(shares: Floats, derives: NDArray[np.bool_], slips: float = SLIPS) -> float:
    """The same for a choice of facts, which are the columns; the last answer is "none of them"."""
    fits = np.concatenate([derives.astype(float), np.asarray(~derives.any(axis=1), float)[:, None]], axis=1)
    right = fits / fits.sum(axis=1, keepdims=True)
    return _mutual(shares, (1.0 - slips) * right + slips / right.shape[1])


def _mutual(shares: Floats, answers: Floats) -> float:
    """The mutual information of hypotheses and answers; `answers` has p(answer | hypothesis) in its rows."""
    both = shares[:, None] * answers
    total = both.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(both > 0.0, both * np.log2(both / (shares[:, None] * total[None, :])), 0.0)
    return float(max(0.0, parts.sum()))


def _pairs(
    some: Sequence[Hypothesis],
) -> dict[tuple[frozenset[Body], frozenset[Body]], tuple[Sequence[Rule], Sequence[Rule]]]:
    """Whose differences are looked at: the first and each other, and the next few and each other, either way."""
    near = min(len(some), 4)
    places = [(0, other) for other in range(1, len(some))]
    places += [(one, other) for one in range(1, near) for other in range(one + 1, near)]
    keys = [frozenset(map(Body, one.rules)) for one in some]
    return {
        (keys[i], keys[j]): (some[i].rules, some[j].rules)
        for one, other in places
        for i, j in ((one, other), (other, one))
    }


def _rounds_denied(decision: Decision) -> int:
    """How many questions on a term were answered with no, where none was answered with yes."""
    pool = decision.measured.pool
    return 0 if pool.positives else math.ceil(int((~pool.drawn).sum()) / _OPTIONS)


def _why(terms: int, doubts: int, most: float, late: bool) -> str:
    if not doubts:
        return f"of all {terms} terms that rules are in question for, each is as good as decided"
    rest = "1 term is" if doubts == 1 else f"{doubts} terms are"
    if late:
        return f"{rest} in doubt, but the database could not tell in time in which facts all rules in question differ"
    if most == 0.0:
        return f"{rest} in doubt, but the rules in question derive the same facts, or differ in none not asked before"
    return f"{rest} in doubt, but no answer would be expected to tell more than {most:.2f} bits"
