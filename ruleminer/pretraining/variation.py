"""What a problem looks like in one pass: examples drawn or none, some of them wrong, axioms forgotten, no vectors.

So one set of weights serves a draft from nothing and a hundred examples, full ontologies and bare ones.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np

from ruleminer.learn.decision_problem import Problem, Relation
from ruleminer.proposals.evidence import EVIDENCE_FEATURES, evidence_features, log_likelihood, universe_size
from ruleminer.proposals.hypotheses import FEATURES

_COLUMN = {name: number for number, name in enumerate(FEATURES)}
_BY_MEANING = [number for name, number in _COLUMN.items() if "meaning" in name or name.startswith("looks")]
_EVIDENCE = [_COLUMN[name] for name in EVIDENCE_FEATURES]
_OF_DOMAIN = [number for name, number in _COLUMN.items() if ": domain " in name]
_FROM_DOMAIN, _TO_DOMAIN = (Relation.DOMAIN, Relation.DOMAIN_KIN), (Relation.DOMAIN_OF, Relation.DOMAIN_OF_KIN)
_PART = _COLUMN["part"]  # of a vocabulary for everybody, whose ends say little
_BY_TERM = ("is_class", "there", "features", "subject", "object", "body", "turned", "value", "called", "right",
            "judged", "sizes", "derives", "samples")  # fmt: skip
_COUNTS = (1, 1, 2, 2, 3, 5, 5, 10, 20)


def varied(problem: Problem, generator: Random) -> Problem:
    """A problem as it is met in one pass."""
    found = problem
    if generator.random() < 0.2:
        found = without_meaning(found)
    if generator.random() < 0.25 and len(found.edges):
        heard = np.array([generator.random() >= 0.3 for _ in range(len(found.edges))], bool)
        found = replace(found, edges=found.edges[heard])
    for_everybody = bool(found.features[..., _PART].any())
    if not for_everybody and generator.random() < 0.5:
        found = without_strangers(found, generator, generator.choice((0.7, 0.9, 1.0)))
    if generator.random() < (0.4 if for_everybody else 0.15):
        found = with_strange_domains(found, generator, generator.choice((0.1, 0.3, 0.6) if for_everybody else (0.1,)))
    if generator.random() < 0.4:
        share = generator.choice((0.3, 0.6, 1.0))
        wrong = generator.choice((0.0, 0.0, 0.0, 0.1, 0.3))
        found = with_examples(found, generator, generator.choice(_COUNTS), share, wrong)
    return found


def without_strangers(problem: Problem, generator: Random, share: float) -> Problem:
    """The problem without most of the terms that the data have not: an ontology that was made for these data."""
    strange = problem.right[:, 0] & problem.judged
    kept = np.array([not one or generator.random() >= share for one in strange.tolist()], bool)
    if kept.all() or not kept.any():
        return problem
    number = np.cumsum(kept) - 1
    edges = problem.edges[kept[problem.edges[:, :2]].all(axis=1)]
    edges = np.column_stack([number[edges[:, 0]], number[edges[:, 1]], edges[:, 2]])
    by_term = {name: getattr(problem, name)[kept] for name in _BY_TERM}
    return replace(problem, edges=edges, **by_term)


def with_strange_domains(problem: Problem, generator: Random, share: float) -> Problem:
    """The problem where some properties are told to start at any class: where a vocabulary has an address with a town,
    the data have a customer with one.
    """
    classes = np.flatnonzero(problem.is_class).tolist()
    moved = [term for term in np.flatnonzero(~problem.is_class).tolist() if generator.random() < share]
    if not classes or not moved:
        return problem
    features, edges = problem.features.copy(), problem.edges.copy()
    features[np.ix_(moved, range(features.shape[1]), _OF_DOMAIN)] = 0.0
    to = {term: generator.choice(classes) for term in moved}
    for place, (receiver, sender, relation) in enumerate(edges.tolist()):
        if relation in _FROM_DOMAIN and receiver in to:
            edges[place, 1] = to[receiver]
        elif relation in _TO_DOMAIN and sender in to:
            edges[place, 0] = to[sender]
    return replace(problem, features=features, edges=edges)


def bare(problem: Problem, generator: Random) -> Problem:
    """The problem as it is: no example of any term."""
    return problem


def without_meaning(problem: Problem) -> Problem:
    """The problem where nobody knows what words mean."""
    features = problem.features.copy()
    features[..., _BY_MEANING] = 0.0
    return replace(problem, features=features)


def with_examples(problem: Problem, generator: Random, count: int, share: float, wrong: float) -> Problem:
    """The problem with about so many examples of a share of its terms, some of them facts of others."""
    features = problem.features.copy()
    there = problem.there.copy()
    for term in range(len(there)):
        true, others = problem.samples[term].tolist()
        if not true or generator.random() >= share:
            continue
        own = generator.sample(range(true), min(true, max(1, round(count * (1 - wrong)))))
        astray = generator.sample(range(true, true + others), min(others, round(count * wrong)))
        drawn = problem.derives[term][:, [*own, *astray]]
        total = drawn.shape[1]
        covered = drawn.sum(axis=1).astype(float)
        sizes = problem.sizes[term].astype(float)
        likelihood = log_likelihood(covered, total, sizes, universe_size(sizes, total, problem.rows))
        likelihood[covered == 0] = -np.inf
        best = likelihood[1:].max(initial=-np.inf)
        if best == -np.inf:
            continue
        there[term] &= (covered > 0) | (np.arange(len(covered)) == 0)
        features[term][:, _EVIDENCE] = evidence_features(total, covered[1:] / total, likelihood[1:] - best)
    right = problem.right & there
    return replace(problem, features=features, there=there, right=right, judged=problem.judged & right.any(axis=1))
