"""Parts that follow from other terms join what was decided, unless user, examples or database speak against them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ruleminer.proposals.decision import Decision
from ruleminer.proposals.implied_parts import ImpliedPart, implied_parts
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import IMPLIED, extended, with_rules
from ruleminer.proposals.ranking import Measured, likelihood_of
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule

_ROUNDS = 3  # in which one term's parts may bring another's
_UNLIKELY = 0.05  # the probability that no example is of a part, below which the part is not meant


@dataclass(frozen=True)
class ImpliedChoice:
    """What it takes to let such parts join: the database, what the user rejected, and what is known already."""

    measure: Measure
    rejected: Mapping[str, Collection[Body]]  # by term
    refusal: Callable[[Rule], str]  # why a rule cannot be proposed here
    with_rule: Callable[[str, Measured | None, Rule], Measured]
    known: dict[object, list[bool] | None]  # which examples a part derives; None where it cannot be run

    def joined(self, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
        """The decisions of terms with examples, with the parts that follow from those of other terms."""
        structure = self.measure.structure
        found = dict(decisions)
        for _ in range(_ROUNDS if structure is not None else 0):
            decided = {name: one.rules for name, one in found.items() if one.measured.pool.given.any()}
            widened: dict[str, Decision] = {}
            parts = list(implied_parts(decided, self.measure.ontology, self.measure.derivations.structure))
            for name, part in parts:
                together = [one.rule for other, one in parts if other == name and one.others] if part.others else []
                wider = self._widened(widened.get(name, found[name]), part, together)
                if wider is not None:
                    widened[name] = wider
            if not widened:
                break
            found |= widened
        return found

    def _widened(self, decision: Decision, part: ImpliedPart, together: Sequence[Rule]) -> Decision | None:
        """The decision with one more part; None if the user, the examples or the database speak against it.

        Examples do, the more there are that no such part derives: were it meant, some would probably be of it, or of
        those with which it stands and falls.
        """
        measured, body = decision.measured, Body(part.rule)
        pool = measured.pool
        if decision.word or measured.noise or body in self.rejected.get(pool.predicate, ()) or self.refusal(part.rule):
            return None
        if body in pool.bodies:
            place = pool.bodies.index(body)
        else:
            examples = (pool.predicate, body, pool.positives, pool.negatives, pool.spaces)
            if examples not in self.known:
                [wider] = with_rules([pool], [[part.rule]], IMPLIED, self.measure.derivations)
                is_wider = len(wider.rules) > len(pool.rules)
                self.known[examples] = [*wider.covers[-1], *wider.hits[-1]] if is_wider else None
            derived = self.known[examples]
            if derived is None:
                return None
            wider = extended(pool, [(body, part.rule, derived)], IMPLIED)
            measured = self.with_rule(pool.predicate, measured, part.rule)
            measured = replace(measured, pool=wider)
            place = len(pool.rules)
        pool = measured.pool
        if place in decision.chosen or pool.hits[place][~pool.drawn].any():
            return None
        derivations = self.measure.derivations
        shown = [pool.rules[one] for one in decision.chosen if one not in decision.implied]
        before, wider_size = (derivations.union_size(some) for some in (decision.rules, [*decision.rules, part.rule]))
        least, most = (derivations.union_size(some) for some in (shown, [*decision.rules, part.rule, *together]))
        if not wider_size or before is None or wider_size == before or not least or not most:
            return None
        unshown = int((~pool.covers[place] & pool.given).sum())
        if (least / most) ** unshown < _UNLIKELY:
            return None
        ranking = decision.ranking
        if place == len(ranking.posterior):
            weights = self.measure.weights
            ranking = replace(
                ranking,
                order=np.append(ranking.order, place),
                posterior=np.append(ranking.posterior, 0.0),
                log_prior=np.append(ranking.log_prior, measured.priors[place].total(weights, int(pool.given.sum()))),
                log_likelihood=np.append(ranking.log_likelihood, likelihood_of(measured)[place]),
            )
        ranking = replace(ranking, chosen=(*ranking.chosen, place))
        return replace(decision, measured=measured, ranking=ranking, implied={**decision.implied, place: part.why})
