"""A decision told to a reviewer: the proposal, what speaks for it, what lost against it and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ruleminer.errors import DatabaseError
from ruleminer.problem.ontology import OntologyClass, OntologyTerm
from ruleminer.proposals.calibration import confidence
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.proposal import (
    Calibration,
    Proposal,
    RankerChoice,
    RuleEvidence,
    Status,
    shown_certainty,
    within_examples,
)
from ruleminer.proposals.ranking import Measured, Ranker, model_is_heard
from ruleminer.rules.sql import rule_sql
from ruleminer.rules.values import Rule

_ALTERNATIVES, _SAMPLE, _COUNTER_EXAMPLES = 6, 5, 5
_THINKABLE = 0.02  # the probability from which a rule of a draft is shown


def explain(
    decision: Decision,
    term: OntologyTerm,
    derivations: Derivations,
    *,
    by_ranker: Sequence[Decision] = (),
    calibration: Calibration | None = None,
    reason: str = "",
) -> Proposal:
    """The proposal for a term: what was decided, and why.

    `by_ranker` are the decisions of all rankers, to stand side by side. A choice without examples is a guess, and
    `reason` says why there are none.
    """
    pool = decision.measured.pool
    chosen = list(decision.chosen)
    covered = np.asarray(pool.covers[chosen].any(axis=0))
    hit = np.asarray(pool.hits[chosen].any(axis=0))
    return replace(
        nothing(term, reason),
        status=Status.PROPOSED if pool.positives or decision.word else Status.GUESSED,
        positives=len(pool.positives),
        negatives=int((~pool.drawn).sum()),
        sampled=int(pool.drawn.sum()),
        sampled_hit=int(hit[pool.drawn].sum()),
        pooled=len(pool.rules),
        posterior=decision.posterior,
        confidence=confidence_of(decision, calibration),
        rules=tuple(_evidence(decision, derivations, i) for i in chosen),
        alternatives=tuple(_evidence(decision, derivations, i) for i in _alternatives(decision)),
        choices=tuple(_choice(one, derivations) for one in by_ranker or [decision]),
        derives=derivations.union_size(decision.rules),
        sample=_sample(derivations, decision.rules),
        missed=tuple(f for f, yes in zip(pool.positives, covered, strict=True) if not yes)[:_COUNTER_EXAMPLES],
        hit=tuple(f for f, yes in zip(pool.negatives, hit & ~pool.drawn, strict=True) if yes)[:_COUNTER_EXAMPLES],
        none=decision.none if decision.reasons or decision.none else None,
        reasons=decision.reasons,
        derived=int(covered.sum()),
        denied=int((hit & ~pool.drawn).sum()),
    )


def confidence_of(decision: Decision, calibration: Calibration | None) -> float | None:
    """How sure the choice is, as far as held-out examples tell; the user's own is certain."""
    if decision.word:
        return 1.0
    if decision.drafted:  # the network's probabilities were learnt as such
        return decision.posterior
    sure = confidence(calibration, decision.posterior)
    return None if sure is None else within_examples(sure, *counts_of(decision))


def certainty_of(decision: Decision, calibration: Calibration | None) -> float:
    """The one figure that is shown of a proposed choice."""
    return shown_certainty(confidence_of(decision, calibration), decision.posterior, *counts_of(decision))


def counts_of(decision: Decision) -> tuple[int, int, int]:
    """Positives that a choice derives, all positives, and the user's negatives that it derives."""
    pool, chosen = decision.measured.pool, list(decision.chosen)
    hit = np.asarray(pool.hits[chosen].any(axis=0)) & ~pool.drawn
    return int(pool.covers[chosen].any(axis=0).sum()), len(pool.positives), int(hit.sum())


def _alternatives(decision: Decision) -> tuple[int, ...]:
    """The rules that a reviewer sees beside the choice; of a draft, those that are not out of the question."""
    rivals = decision.rivals[:_ALTERNATIVES]
    if decision.measured.pool.positives or decision.ranking.ranker is not Ranker.JOINT:
        return rivals
    return tuple(i for i in rivals if decision.ranking.posterior[i] >= _THINKABLE)


def ask_ahead(decisions: Iterable[Decision], derivations: Derivations) -> None:
    """Ask for all that explaining these decisions will ask for, many at a time."""
    unions: list[Sequence[Rule]] = []
    for decision in decisions:
        rivals = [decision.measured.pool.rules[i] for i in _alternatives(decision)]
        unions += [decision.rules, *((*decision.rules, rival) for rival in rivals)]
    derivations.union_sizes(unions)


def nothing(term: OntologyTerm, reason: str) -> Proposal:
    """No proposal, and why."""
    return Proposal(
        predicate=term.name,
        iri=term.iri,
        kind=kind_of_term(term),
        label=next(iter(term.labels), ""),
        status=Status.NOTHING,
        reason=reason,
        positives=0,
        negatives=0,
        pooled=0,
        posterior=0.0,
        confidence=None,
        rules=(),
        alternatives=(),
        choices=(),
        derives=None,
        sample=(),
        missed=(),
        hit=(),
    )


def kind_of_term(term: OntologyTerm) -> str:
    """What a term is, in words."""
    return "class" if isinstance(term, OntologyClass) else f"{term.kind} property"


def _evidence(decision: Decision, derivations: Derivations, index: int) -> RuleEvidence:
    measured, ranking = decision.measured, decision.ranking
    pool, rule = measured.pool, measured.pool.rules[index]
    place = int(np.flatnonzero(ranking.order == index)[0])
    higher = [int(i) for i in ranking.order[:place]]
    alone = pool.covers[index] & ~pool.covers[higher].any(axis=0) if higher else pool.covers[index]
    size = int(measured.sizes[index])
    union = derivations.union_size(decision.rules)
    together = derivations.union_size([*decision.rules, rule]) if index not in decision.chosen else union
    shared = size + union - together if union is not None and together is not None else None
    derived = int(pool.covers[index].sum())
    model = None if measured.model is None else float(measured.model[index])
    return RuleEvidence(
        rule=rule,
        origin=pool.origin[index],
        posterior=float(ranking.posterior[index]),
        log_prior=float(ranking.log_prior[index]),
        log_likelihood=float(ranking.log_likelihood[index]),
        length=measured.priors[index].length,
        names=measured.priors[index].names,
        model_log_p=None if model is None or not np.isfinite(model) else model,
        model_lift=None if measured.lift is None else float(measured.lift[index]),
        derives=size,
        positives_derived=derived,
        positives_missed=len(pool.positives) - derived,
        negatives_hit=int(pool.hits[index][~pool.drawn].sum()),
        alone=int(alone.sum()),
        shared=shared,
        sql=rule_sql(rule, derivations.database.dialect),
        verdict=_verdict(decision, index, shared, union),
    )


def _verdict(decision: Decision, index: int, shared: int | None, union: int | None) -> str:
    """In words: why the rule was chosen, or what it lost by."""
    measured, chosen = decision.measured, decision.chosen
    pool = measured.pool
    if index in chosen and decision.word:
        return f"{decision.word} by the user"
    if index in decision.implied:
        return f"taken, though no example shows it: {decision.implied[index]}"
    if index in chosen:
        return "chosen" if len(chosen) == 1 else f"chosen, one of a union of {len(chosen)}"
    size, ours = int(measured.sizes[index]), pool.covers[index]
    theirs = pool.covers[list(chosen)].any(axis=0)
    lost, won = int((theirs & ~ours).sum()), int((ours & ~theirs).sum())
    given = pool.hits[:, ~pool.drawn]
    hits = int(given[index].sum()) - int(given[list(chosen)].any(axis=0).sum())
    if shared is not None and shared == size == union:
        return "derives the same facts" + (", and is longer" if _longer(measured, index, chosen) else "")
    reasons = []
    if lost:
        reasons.append(f"misses {_counted(lost, 'positive')} that the proposal derives")
    if won:
        reasons.append(f"derives {_counted(won, 'positive')} that the proposal misses")
    if hits > 0:
        reasons.append(f"hits {_counted(hits, 'negative')} more")
    if not lost and union is not None and size > union:
        reasons.append(f"derives {size:,} facts where {union:,} explain the examples")
    if not lost and not won and union is not None and size < union:
        reasons.append(f"derives only {size:,} of {union:,} facts, which the examples do not ask for")
    if _longer(measured, index, chosen):
        reasons.append("says more than it needs to")
    if measured.priors[index].names < measured.priors[chosen[0]].names - 0.05:
        reasons.append("its names fit less")
    if (
        model_is_heard(measured, decision.ranking.ranker)
        and measured.lift is not None
        and measured.lift[index] < measured.lift[chosen[0]] - 0.5
    ):
        reasons.append("the model finds it less likely for this predicate")
    return "; ".join(reasons) or "less probable before any example"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _longer(measured: Measured, index: int, chosen: tuple[int, ...]) -> bool:
    return measured.priors[index].length > sum(measured.priors[i].length for i in chosen) + 0.5


def _choice(decision: Decision, derivations: Derivations) -> RankerChoice:
    pool, chosen = decision.measured.pool, list(decision.chosen)
    return RankerChoice(
        str(decision.ranking.ranker),
        decision.rules,
        decision.posterior,
        derivations.union_size(decision.rules),
        int(pool.covers[chosen].any(axis=0).sum()),
        int(pool.hits[chosen][:, ~pool.drawn].any(axis=0).sum()),
    )


def _sample(derivations: Derivations, rules: Sequence[Rule]) -> tuple[tuple[str, ...], ...]:
    try:
        return tuple(tuple(map(str, row)) for row in derivations.sample(rules, _SAMPLE))
    except DatabaseError:
        return ()
