"""Properties that the ontology calls inverse of each other are decided together: the surer decision, turned round.

Were the two decided apart, each would add to the other what it has too much.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from ruleminer.problem.ontology import Ontology, OntologyTerm
from ruleminer.proposals.claims import shape
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.pool import GUESS, rule_pool
from ruleminer.proposals.ranking import Ranker
from ruleminer.rules.canonical import canonical

_RATHER = 0.5  # the posterior from which a draft decides its inverse


def from_inverse(term: OntologyTerm, decisions: Mapping[str, Decision], ontology: Ontology) -> Decision | None:
    """The decision of an inverse that has examples, turned round; None if there is none."""
    for other in _inverses(term, ontology):
        known = decisions.get(other)
        if known is not None and known.measured.pool.positives and not known.word:
            return turned_decision(known, term.name, f"it is the inverse of {other}, which examples decide")
    return None


def _inverses(term: OntologyTerm, ontology: Ontology) -> list[str]:
    return [other.name for iri in ontology.inverses(term.iri) if (other := ontology.get(iri)) is not None]


def turned_decision(known: Decision, name: str, why: str) -> Decision:
    """The decision of a term, turned round, as that of its inverse."""
    rules = [canonical(replace(r, predicate=name, arguments=r.arguments[::-1])) for r in known.rules]
    chosen = list(known.chosen)
    measured = known.measured.only(chosen)
    measured = replace(measured, pool=rule_pool(name, rules, GUESS), coherence=None, reaches=None)
    ranking = replace(
        known.ranking,
        ranker=Ranker.JOINT,
        order=np.arange(len(rules)),
        posterior=known.ranking.posterior[chosen],
        log_prior=known.ranking.log_prior[chosen],
        log_likelihood=known.ranking.log_likelihood[chosen],
        chosen=tuple(range(len(rules))),
    )
    return Decision(measured, ranking, known.posterior, drafted=True, turned=(why,))


def as_inverses(drafted: Mapping[str, Decision], ontology: Ontology, answered: Collection[str]) -> dict[str, Decision]:
    """The drafts that others decide: of properties that the ontology calls inverse, the surest one has the word.

    It must be rather right. What the user spoke of stands for itself.
    """
    found: dict[str, Decision] = {}
    settled: set[str] = set()
    for name in sorted(drafted, key=lambda one: -drafted[one].posterior):
        settled.add(name)
        known = found.get(name, drafted[name])
        for partner in _inverses(ontology.find(name), ontology):
            own = drafted.get(partner)
            if own is None or partner in settled | found.keys() or partner in answered or known.posterior <= _RATHER:
                continue
            turned = turned_decision(known, partner, f"it is the inverse of {name}, which is surer")
            if {shape(rule) for rule in turned.rules} != {shape(rule) for rule in own.rules}:
                found[partner] = replace(turned, none=min(own.none, 1.0 - known.posterior), beliefs=own.beliefs)
    return found
