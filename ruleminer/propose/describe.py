"""A ranking told to a reviewer: the proposal, what speaks for it, what lost against it and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ruleminer.errors import DatabaseError
from ruleminer.problem.ontology import Ontology, OntologyClass, Term
from ruleminer.propose.calibration import confidence, shared_posterior
from ruleminer.propose.claims import Winners, claimed
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.judge import Judge
from ruleminer.propose.prior import PriorWeights
from ruleminer.propose.proposals import Calibration, Proposal, RankerChoice, RuleEvidence, Status
from ruleminer.propose.ranking import Judged, Ranker, Ranking, rank, voice
from ruleminer.rules.printer import rule_text
from ruleminer.rules.sql import rule_sql
from ruleminer.rules.values import Rule

_ALTERNATIVES, _SAMPLE, _COUNTER_EXAMPLES = 6, 5, 5
_NAMED = 0.8  # how well the names of a guess must fit
_SURE = 0.9  # the posterior from which a model's guess is shown where names are silent


def describe(
    judged: Judged,
    ranker: Ranker,
    weights: PriorWeights,
    ontology: Ontology,
    extensions: Extensions,
    calibration: Calibration | None,
    best: Mapping[Ranker, Winners],
) -> Proposal:
    """The proposal for a predicate with examples; `best` are the best single rules of all predicates."""
    pool = judged.pool

    def union_size(rules: Sequence[int]) -> int | None:
        return extensions.union_size([pool.rules[i] for i in rules])

    rankings = {
        name: rank(judged, name, weights, union_size=union_size, claimed=claimed(judged, best[name], ontology))
        for name in best
    }
    ranking = rankings[ranker]
    chosen = ranking.chosen
    rules = [pool.rules[i] for i in chosen]
    posterior = shared_posterior(judged, ranking)
    covered = np.asarray(pool.covers[list(chosen)].any(axis=0))
    hit = np.asarray(pool.hits[list(chosen)].any(axis=0))
    others = [int(i) for i in ranking.order if i not in chosen][:_ALTERNATIVES]
    return replace(
        nothing(ontology.find(pool.predicate), ""),
        status=Status.PROPOSED,
        positives=len(pool.positives),
        negatives=len(pool.negatives),
        pooled=len(pool.rules),
        posterior=posterior,
        confidence=_within(confidence(calibration, posterior), covered, hit[~pool.drawn]),
        rules=tuple(_evidence(judged, ranking, extensions, i, chosen) for i in chosen),
        alternatives=tuple(_evidence(judged, ranking, extensions, i, chosen) for i in others),
        choices=tuple(_choice(judged, one, extensions) for one in rankings.values()),
        derives=extensions.union_size(rules),
        sample=_sample(extensions, rules),
        missed=tuple(f for f, yes in zip(pool.positives, covered, strict=True) if not yes)[:_COUNTER_EXAMPLES],
        hit=tuple(f for f, yes in zip(pool.negatives, hit, strict=True) if yes)[:_COUNTER_EXAMPLES],
    )


def guessed(judged: Judged, term: Term, reason: str, ranker: Ranker, judge: Judge) -> Proposal:
    """The proposal for a predicate without examples; coverage has nothing to count there."""
    by = Ranker.EVIDENCE if ranker is Ranker.COVERAGE else ranker
    ranking = rank(judged, by, judge.weights)
    best = ranking.chosen
    # What neither a name speaks for, nor a model that is sure, is no guess at all.
    sure = _heard(judged, ranking) and ranking.chosen_posterior >= _SURE
    if judged.priors[best[0]].names < _NAMED and not sure:
        return nothing(term, reason)
    others = [int(i) for i in ranking.order[1 : 1 + _ALTERNATIVES]]
    extensions = judge.extensions
    rules = [judged.pool.rules[i] for i in best]
    return replace(
        nothing(term, reason),
        status=Status.GUESSED,
        pooled=len(judged.pool.rules),
        posterior=ranking.chosen_posterior,
        rules=tuple(_evidence(judged, ranking, extensions, i, best) for i in best),
        alternatives=tuple(_evidence(judged, ranking, extensions, i, best) for i in others),
        choices=(_choice(judged, ranking, extensions),),
        derives=extensions.union_size(rules),
        sample=_sample(extensions, rules),
    )


def nothing(term: Term, reason: str) -> Proposal:
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


def _within(confidence: float | None, covered: NDArray[np.bool_], hit: NDArray[np.bool_]) -> float | None:
    """No more than the share of the examples that the proposal derives: what it misses, it may miss elsewhere.

    And no more than the share of right ones among the given facts that it derives.
    """
    if confidence is None:
        return None
    derived = int(covered.sum())
    return min(confidence, (derived + 1) / (len(covered) + 1), (derived + 1) / (derived + int(hit.sum()) + 1))


def kind_of_term(term: Term) -> str:
    """What a term is, in words."""
    return "class" if isinstance(term, OntologyClass) else f"{term.kind} property"


def _evidence(
    judged: Judged, ranking: Ranking, extensions: Extensions, index: int, chosen: Sequence[int]
) -> RuleEvidence:
    pool, rule = judged.pool, judged.pool.rules[index]
    place = int(np.flatnonzero(ranking.order == index)[0])
    higher = [int(i) for i in ranking.order[:place]]
    alone = pool.covers[index] & ~pool.covers[higher].any(axis=0) if higher else pool.covers[index]
    others = [pool.rules[i] for i in chosen]
    size = int(judged.sizes[index])
    union = extensions.union_size(others)
    together = extensions.union_size([*others, rule]) if index not in chosen else union
    shared = size + union - together if union is not None and together is not None else None
    derived = int(pool.covers[index].sum())
    model = None if judged.model is None else float(judged.model[index])
    return RuleEvidence(
        text=rule_text(rule),
        origin=pool.origin[index],
        posterior=float(ranking.posterior[index]),
        log_prior=float(ranking.log_prior[index]),
        log_likelihood=float(ranking.log_likelihood[index]),
        length=judged.priors[index].length,
        names=judged.priors[index].names,
        model_log_p=None if model is None or not np.isfinite(model) else model,
        model_lift=None if judged.lift is None else float(judged.lift[index]),
        derives=size,
        positives_derived=derived,
        positives_missed=len(pool.positives) - derived,
        negatives_hit=int(pool.hits[index].sum()),
        alone=int(alone.sum()),
        shared=shared,
        sql=rule_sql(rule, extensions.database.dialect),
        verdict=_verdict(judged, ranking, index, tuple(chosen), shared, union),
    )


def _verdict(
    judged: Judged, ranking: Ranking, index: int, chosen: tuple[int, ...], shared: int | None, union: int | None
) -> str:
    """In words: why the rule was chosen, or what it lost by."""
    pool = judged.pool
    if index in chosen:
        return "chosen" if len(chosen) == 1 else f"chosen, one of a union of {len(chosen)}"
    size, ours = int(judged.sizes[index]), pool.covers[index]
    theirs = pool.covers[list(chosen)].any(axis=0)
    lost, won = int((theirs & ~ours).sum()), int((ours & ~theirs).sum())
    hits = int(pool.hits[index].sum()) - int(pool.hits[list(chosen)].any(axis=0).sum())
    if shared is not None and shared == size == union:
        return "derives the same facts" + (", and is longer" if _longer(judged, index, chosen) else "")
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
    if _longer(judged, index, chosen):
        reasons.append("says more than it needs to")
    if judged.priors[index].names < judged.priors[chosen[0]].names - 0.05:
        reasons.append("its names fit less")
    if _heard(judged, ranking) and judged.lift is not None and judged.lift[index] < judged.lift[chosen[0]] - 0.5:
        reasons.append("the model finds it less likely for this predicate")
    return "; ".join(reasons) or "less probable before any example"


def _heard(judged: Judged, ranking: Ranking) -> bool:
    """Whether a model had a say in the ranking."""
    return (
        ranking.ranker is Ranker.NEURAL and judged.lift is not None and voice(judged, len(judged.pool.positives)) > 0.0
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _longer(judged: Judged, index: int, chosen: tuple[int, ...]) -> bool:
    return judged.priors[index].length > sum(judged.priors[i].length for i in chosen) + 0.5


def _choice(judged: Judged, ranking: Ranking, extensions: Extensions) -> RankerChoice:
    pool, chosen = judged.pool, list(ranking.chosen)
    rules = [pool.rules[i] for i in chosen]
    return RankerChoice(
        str(ranking.ranker),
        tuple(rule_text(rule) for rule in rules),
        ranking.chosen_posterior,
        extensions.union_size(rules),
        int(pool.covers[chosen].any(axis=0).sum()),
        int(pool.hits[chosen].any(axis=0).sum()),
    )


def _sample(extensions: Extensions, rules: Sequence[Rule]) -> tuple[tuple[str, ...], ...]:
    try:
        return tuple(tuple(map(str, row)) for row in extensions.sample(rules, _SAMPLE))
    except DatabaseError:
        return ()
