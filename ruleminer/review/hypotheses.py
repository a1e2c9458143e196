"""What may be meant by a term, and how far each is believed: the rules of its pool, the chosen union, or nothing.

That nothing is meant is a hypothesis where no example was given: the less a name speaks for any rule, the more it is
believed before anything is asked, and every answer that a fact does not hold speaks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ruleminer.proposals.decision import NAMED, Decision
from ruleminer.proposals.evidence import log_spared
from ruleminer.proposals.joint import Belief
from ruleminer.proposals.ranking import Ranker
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule

MOST = 40  # hypotheses of a term that are told apart
_LEAST = 0.002  # share below which one is not worth a question
_ABSENT, _TEMPERED = 0.5, 0.3  # what is believed of it then, at most, and the power of what is against the best
_TINY = 1e-12  # that a probability is taken for
_LEAST_DOUBT, _MOST_DOUBT = 0.02, 0.8  # that a term without examples has no rule, however well or badly names fit


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Rules that may be meant together, none for "nothing here"; and how far that is believed."""

    rules: tuple[Rule, ...]
    share: float


def hypotheses_of(decision: Decision, tempered: bool = False) -> tuple[Hypothesis, ...]:
    """The hypotheses of a term, the most believed first; their shares add up to 1. One, if the user keeps its rules.

    With `tempered`, the network is not believed all that it says before the user has said anything: it learnt from
    databases that we made, in which things go by fewer names than in a user's. That the database has nothing of the
    term is half believed, and what is against its best rule counts for more; of a term of several kinds of things
    each is doubted until something was said of it, for what is meant of one kind need not be meant of another.
    """
    if decision.word:
        return (Hypothesis(decision.rules, 1.0),)
    if decision.beliefs:
        return _believed(decision, tempered)
    ranking, pool = decision.ranking, decision.measured.pool
    shares = np.nan_to_num(np.asarray(ranking.posterior, float))
    if ranking.ranker is Ranker.COVERAGE:  # shares of examples: they do not add up
        shares = shares / max(shares.sum(), 1e-9)
    found: list[tuple[tuple[Rule, ...], float]] = [
        ((pool.rules[int(i)],), float(shares[i])) for i in ranking.order[:MOST]
    ]
    if len(ranking.chosen) > 1:
        found.append((decision.rules, ranking.chosen_posterior))
    nothing = _nothing(decision)
    total = sum(share for _, share in found) or 1.0
    some = [Hypothesis(rules, (1.0 - nothing) * share / total) for rules, share in found]
    some.append(Hypothesis((), nothing))
    kept = sorted((one for one in some if one.share >= _LEAST), key=lambda one: -one.share)[:MOST]
    return _whole(kept)


def _whole(some: Sequence[Hypothesis]) -> tuple[Hypothesis, ...]:
    whole = sum(one.share for one in some) or 1.0
    return tuple(Hypothesis(one.rules, one.share / whole) for one in some)


def _believed(decision: Decision, tempered: bool) -> tuple[Hypothesis, ...]:
    """What the network believes with the user's answers, of all parts of a term together.

    The best is that each part is as it is most believed to be; the others are what differs from it in one part. What
    derives the same is one hypothesis. A rule that answers speak against is still one: an answer may be a slip.
    """
    by_part = [_of_part(belief, decision.measured.pool.predicate) for belief in decision.beliefs]
    best = [max(range(len(some)), key=lambda place: some[place].share) for some in by_part]
    if tempered and not any(some[place].rules for some, place in zip(by_part, best, strict=True)):
        return _unknown(decision)
    chosen = [some[place].rules for some, place in zip(by_part, best, strict=True)]
    others: list[Hypothesis] = []
    narrower: list[Hypothesis] = []
    for number, (some, belief) in enumerate(zip(by_part, decision.beliefs, strict=True)):
        beside = [*chosen[:number], *chosen[number + 1 :]]
        is_doubted = tempered and any(beside) and _is_unasked(chosen[number], belief)
        for place, one in enumerate(some):
            odds = one.share / some[best[number]].share
            if place != best[number] and not one.rules and is_doubted:
                narrower.append(Hypothesis(_joined(beside), odds**_TEMPERED))
            elif place != best[number]:
                others.append(Hypothesis(_joined([one.rules, *beside]), odds))
    if tempered and not len(decision.beliefs[0].answers.holds):
        others = _louder(others)
    found = [Hypothesis(_joined(chosen), 1.0), *narrower, *others]
    found = sorted(found, key=lambda one: -one.share)[:MOST]
    return _whole([one for one in _whole(found) if one.share >= _LEAST])


def _is_unasked(rules: Sequence[Rule], belief: Belief) -> bool:
    """Whether nothing was said yet of any fact that the rules of a part derive."""
    return bool(rules) and not any(Body(rule) in belief.answers.derives for rule in rules)


def _louder(others: Sequence[Hypothesis]) -> list[Hypothesis]:
    """What is against the best hypothesis, whose share is 1, tempered: all of it together.

    Which of the others is meant, the network tells as before: tempered one by one, the many that it hardly believes in
    would leave nothing to the one that it does, and of that no row would be shown.
    """
    together = sum(one.share for one in others) or 1.0
    more = max(1.0, together ** (_TEMPERED - 1.0))
    return [Hypothesis(one.rules, more * one.share) for one in others]


def _unknown(decision: Decision) -> tuple[Hypothesis, ...]:
    """What may be meant by a term of which the network believes that there is nothing: that, or any rule.

    Before any answer nothing has the share `_ABSENT`, and rules have the rest, by what the network believes of each,
    tempered; what answers say of them counts in full.
    """
    name = decision.measured.pool.predicate
    weights: dict[tuple[Rule, ...], tuple[float, float]] = {}  # of rules: before the answers, and what these make of it
    unsaid = 1.0
    for belief in decision.beliefs:
        none, *each = belief.answers.log_likelihood(belief.bodies).tolist()
        said = {body.of(name): one for body, one in zip(belief.bodies, each, strict=True)}
        unsaid = math.exp(none)
        for one in _of_part(belief, name):
            if one.rules:
                heard = said[one.rules[0]]
                odds = math.log(one.share) - heard - math.log(max(belief.none, _TINY)) + none
                weight = math.exp(_TEMPERED * odds)
                weights[one.rules] = max((weight, weight * math.exp(heard)), weights.get(one.rules, (0.0, 0.0)))
    before = sum(weight for weight, _ in weights.values()) or 1.0
    found = [Hypothesis(rules, (1.0 - _ABSENT) * after / before) for rules, (_, after) in weights.items()]
    found = sorted([*found, Hypothesis((), _ABSENT * unsaid)], key=lambda one: -one.share)[:MOST]
    return _whole([one for one in _whole(found) if one.share >= _LEAST])


def _joined(parts: Iterable[tuple[Rule, ...]]) -> tuple[Rule, ...]:
    """The rules of parts, each once."""
    return tuple(dict.fromkeys(rule for part in parts for rule in part))


def _of_part(belief: Belief, name: str) -> list[Hypothesis]:
    shares: dict[int, float] = {}
    best: dict[int, int] = {}
    for place in np.argsort(-belief.probabilities, kind="stable").tolist():
        group = int(belief.same[place])
        best.setdefault(group, place)
        shares[group] = shares.get(group, 0.0) + float(belief.probabilities[place])
    found = [Hypothesis((belief.bodies[best[group]].of(name),), share) for group, share in shares.items()]
    found.append(Hypothesis((), belief.none))
    return [Hypothesis(one.rules, max(one.share, _TINY)) for one in found]


def doubt(decision: Decision) -> float:
    """The entropy of a term's hypotheses, in bits, as far as rules that derive the same were not found out yet."""
    return entropy([one.share for one in hypotheses_of(decision)])


def entropy(shares: list[float]) -> float:
    """In bits."""
    return -sum(share * math.log2(share) for share in shares if share > 0.0)


def _nothing(decision: Decision) -> float:
    """How far it is believed that no rule of the pool is meant."""
    if decision.drafted:  # the network believes it so far
        return decision.none
    measured, ranking = decision.measured, decision.ranking
    pool = measured.pool
    if pool.given.any():
        return 0.0
    # Even where a guess is just well enough named to be proposed; names of what the user denied call for nothing.
    spared = ~np.asarray(pool.hits[:, ~pool.drawn].any(axis=1))
    names = max((prior.names for prior, yes in zip(measured.priors, spared, strict=True) if yes), default=0.0)
    named = math.pow(names, math.log(0.5) / math.log(NAMED))
    before = min(_MOST_DOUBT, max(_LEAST_DOUBT, 1.0 - named))
    asked, denied = len(pool.positives), int((~pool.drawn).sum())
    if not asked + denied:
        return before
    # What the answers say of all rules together, beside what they say if no fact holds at all.
    scores = np.asarray(ranking.log_prior, float)
    some = float(logsumexp(scores + ranking.log_likelihood) - logsumexp(scores))
    none = float(log_spared(np.array([float(asked)]), asked)[0] + log_spared(np.array([0.0]), denied)[0])
    odds = math.log(before) - math.log1p(-min(before, 1.0 - 1e-9)) + none - some
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, odds))))
