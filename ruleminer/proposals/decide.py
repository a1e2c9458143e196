"""Which rule, or union of rules, is meant by each term: the one place where that is decided.

All terms are decided together, for one bears on another: the best rule of a term is no part of an unrelated term's
union (`claims.py`). Commands, reports and the mapping study take their choice from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.answers import Answers
from ruleminer.proposals.claims import Misplaced, claimed, winners
from ruleminer.proposals.coherence import coherent
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.inverses import as_inverses, from_inverse
from ruleminer.proposals.pool import GUESS, Pool, body_pool
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, Ranking, rank, shared_posterior
from ruleminer.proposals.slips import Slip, without_slips
from ruleminer.proposals.unions import UnionSize
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule
from ruleminer.structure.structure import Structure

if TYPE_CHECKING:
    from ruleminer.proposals.joint import Belief, Joint

RulesSize = Callable[[Sequence[Rule]], int | None]
"""How many facts some rules derive together; None if that cannot be asked."""

_CONTESTED = 0.5  # of the posterior, where a class gets all rows of another though its examples speak for fewer
_SHOWN = 12  # rules of a term that the network's decision keeps
_LEAST = 1e-12  # that a probability is taken for


def decide(
    measured: Mapping[str, Measured],
    ranker: Ranker,
    weights: PriorWeights,
    ontology: Ontology,
    union_size: RulesSize,
    structure: Structure | None = None,
    joint: Joint | None = None,
) -> dict[str, Decision]:
    """The decision for each term, by name. With the `structure`, terms tell each other where their things live.

    Only terms with examples claim rules. Without examples coverage has nothing to count: evidence decides there.
    With `joint`, all other terms of the ontology are decided by the network; pools without examples are not asked for.
    """
    if joint is not None:
        measured = {term: one for term, one in measured.items() if one.pool.positives}
    if ranker is Ranker.JOINT:
        ranker = Ranker.EVIDENCE  # decides where there are examples
    exemplified = {term: one for term, one in measured.items() if one.pool.positives}
    slips: Mapping[str, Slip] = {}
    if structure is not None:
        alone = without_slips(
            exemplified, ranker, weights, lambda pools: coherent(pools, ranker, weights, ontology, structure)
        )
        whole = {name: replace(one, coherence=alone.measured[name].coherence) for name, one in exemplified.items()}
        exemplified, slips, measured = dict(alone.measured), alone.slips, {**measured, **whole}
    best = winners(exemplified, ranker, weights)
    misplaced = Misplaced(exemplified, best, ontology, structure) if structure is not None else None
    decisions: dict[str, Decision] = {}
    for term, one in measured.items():
        if not one.pool.positives:  # nothing to join rules for, and nothing that tells rules of one size apart
            ranking = rank(one, Ranker.EVIDENCE if ranker is Ranker.COVERAGE else ranker, weights)
            decisions[term] = Decision(one, ranking, ranking.chosen_posterior)
            continue
        ranking = rank(
            one,
            ranker,
            weights,
            union_size=_by_place(union_size, one.pool),
            claimed=claimed(one, best, ontology) | (misplaced.rules(term) if misplaced else False),
        )
        decisions[term] = _with_doubts(one, ranking, slips.get(term))
    drafted: dict[str, Decision] = {}
    for term, beliefs in (joint.beliefs(measured) if joint is not None else {}).items():
        if joint is not None and term not in decisions:
            told = None if term in joint.answers else from_inverse(ontology.find(term), decisions, ontology)
            if (decision := told or _drafted(beliefs, joint)) is not None:
                drafted[term] = decision
    if joint is not None:
        drafted |= as_inverses(drafted, ontology, joint.answers)
    return {**decisions, **drafted}


def _with_doubts(measured: Measured, ranking: Ranking, slip: Slip | None) -> Decision:
    """The choice, unless it rests on a slip: then what the other examples speak for."""
    sure = shared_posterior(measured, ranking)
    if slip is not None:
        ranking, sure = replace(ranking, chosen=(slip.rule,)), sure * slip.doubt
    if measured.contested and not measured.pool.rules[ranking.chosen[0]].constants:
        sure *= _CONTESTED
    return Decision(measured, ranking, sure, slip=slip)


def _drafted(beliefs: Sequence[Belief], joint: Joint) -> Decision | None:
    """What the network decides of a term without examples; None if there is no rule at all.

    The most probable rule is chosen that the user's answers allow; of a term with parts, that of each part which is
    more probable than not. Facts that hold and that these do not derive are derived by further rules.
    """
    answers = beliefs[0].answers
    most = 1 if all(belief.is_hopeless for belief in beliefs) and not len(answers.holds) else None
    ranked = [(belief, [p for p in _best_first(belief)[:most] if not answers.is_refused(belief.bodies[p])])
              for belief in beliefs]  # fmt: skip
    ranked = [(belief, places) for belief, places in ranked if places]
    if not ranked:
        return None
    believed = [(belief, places) for belief, places in ranked if belief.shared > 0.5]
    likely = believed or [max(ranked, key=lambda pair: pair[0].shared)]
    wanted = list(dict.fromkeys(belief.bodies[places[0]] for belief, places in likely))
    posterior: dict[Body, tuple[float, float, float]] = {}  # by rule: with what others say, alone, and its size
    for belief, places in ranked:
        for place in places:
            one = belief.probabilities[place], belief.alone[place], belief.sizes[place]
            posterior[belief.bodies[place]] = max(one, posterior.get(belief.bodies[place], one))
    best_first = sorted(posterior, key=lambda body: -posterior[body][0])
    fitting = _deriving(wanted, len(beliefs) > 1 and bool(believed), best_first, answers, joint)
    if not fitting and answers.named is not None and (answers.named & answers.holds).any():
        return None  # no rule in question derives any fact that the user knows of
    wanted = fitting or wanted
    bodies = sorted(posterior, key=lambda body: (body not in wanted, -posterior[body][0]))[: max(_SHOWN, len(wanted))]
    together, alone, sizes = (np.array([posterior[body][n] for body in bodies]) for n in range(3))
    name = beliefs[0].term.name
    pool = body_pool(name, bodies, GUESS)
    measured = Measured(pool, sizes, joint.priors(pool), None, joint.world.rows)
    before = np.log(np.maximum(alone, _LEAST))
    sure = _sure([belief for belief, _ in likely], wanted)
    ranking = Ranking(
        Ranker.JOINT,
        np.arange(len(bodies)),
        together,
        before,
        np.log(np.maximum(together, _LEAST)) - before,
        tuple(range(len(wanted))),
        sure,
    )
    none = min(belief.none for belief in beliefs)
    return Decision(measured, ranking, sure, "", none, True, tuple(beliefs), tuple(belief for belief, _ in likely))


def _deriving(wanted: list[Body], parted: bool, ranked: Sequence[Body], answers: Answers, joint: Joint) -> list[Body]:
    """The chosen rules, so that facts that hold are derived: others in their place, or beside those of other parts.

    What a property leads to are things or values: where all that hold are of one sort, no part is of the other.
    """
    if not answers.holds.any():
        return wanted
    known = set(ranked)
    derived = {body: own & answers.holds for body, own in answers.derives.items() if body in known}
    kept = wanted if parted else [body for body in wanted if body in derived and derived[body].any()]
    left = answers.holds.copy()
    for body in kept:
        left &= ~derived.get(body, np.zeros_like(left))
    while left.any():
        best = max((body for body in ranked if body in derived), key=lambda body: int((derived[body] & left).sum()),
                   default=None)  # fmt: skip
        if best is None or not (derived[best] & left).any():
            break
        kept = [*kept, best]
        left &= ~derived[best]
    spaces = joint.world.derivations.texts.spaces
    sorts = {tuple(map(bool, spaces(body)[1:])) for body in kept if body in derived and derived[body].any()}
    fit = [body for body in kept if len(sorts) != 1 or tuple(map(bool, spaces(body)[1:])) in sorts]
    return fit or kept


def _sure(likely: Sequence[Belief], wanted: Sequence[Body]) -> float:
    """The probability of the choice and of what nothing tells from it: of its least sure part."""
    found = []
    for belief in likely:
        own = [place for place, body in enumerate(belief.bodies) if body in wanted]
        same = np.isin(belief.same, belief.same[own])
        found.append(belief.settled * min(1.0, float(belief.probabilities[same].sum())))
    return min(found)


def _best_first(belief: Belief) -> list[int]:
    found: list[int] = np.argsort(-belief.probabilities, kind="stable").tolist()
    return found


def _by_place(union_size: RulesSize, pool: Pool) -> UnionSize:
    return lambda places: union_size([pool.rules[i] for i in places])
