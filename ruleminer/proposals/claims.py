"""Rules that another predicate claims: the best rule of Person is no part of Document.

Examples given by mistake are mostly facts of another predicate, and look like a part of a union. A rule that is
the best one of an unrelated predicate (neither above nor below in the ontology), or that nothing tells from it,
is therefore no candidate for a union.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.body import Body

Winners = Mapping[str, Body]


def winners(measured: Mapping[str, Measured], ranker: Ranker, weights: PriorWeights) -> dict[str, Body]:
    """The body of each predicate's best single rule."""
    best = {predicate: rank(one, ranker, weights).chosen[0] for predicate, one in measured.items()}
    return {predicate: measured[predicate].pool.bodies[rule] for predicate, rule in best.items()}


def claimed(measured: Measured, best: Winners, ontology: Ontology) -> NDArray[np.bool_]:
    """Which rules of a pool other predicates claim."""
    pool = measured.pool
    place = {body: i for i, body in enumerate(pool.bodies)}
    taken = np.zeros(len(pool.rules), bool)
    own = ontology.find(pool.predicate).iri
    related = {own, *ontology.ancestors(own), *ontology.descendants(own)}
    for predicate, body in best.items():
        if body in place and ontology.find(predicate).iri not in related:
            i = place[body]
            taken |= (measured.sizes == measured.sizes[i]) & (pool.covers == pool.covers[i]).all(axis=1)
    return taken
