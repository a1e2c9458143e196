"""What the network hears of examples is what it learnt from."""

from __future__ import annotations

import numpy as np
import pytest

from ruleminer.problem.ontology import OntologyClass
from ruleminer.proposals.evidence import log_likelihood, universe_size
from ruleminer.proposals.joint import exemplified
from tests.proposals.worlds import made, measured


@pytest.mark.parametrize("noise", [False, True])
def test_the_network_hears_of_examples_with_noise_summed_out_as_it_learnt(noise: bool) -> None:
    rules = [made("C(x) <- a(id: x)", range(100)), made("C(x) <- b(id: x)", range(3)), made("C(x) <- c(id: x)", [0])]
    one = measured(rules, range(4), noise=noise)
    covered = one.pool.covers.sum(axis=1).astype(float)
    assert sorted(covered) == [1, 3, 4]
    learnt = log_likelihood(covered, 4, one.sizes, universe_size(one.sizes, 4, one.rows))  # as in pretraining/variation
    told = exemplified(OntologyClass("http://e/C", "C"), one)
    assert told.likelihood is not None
    assert np.allclose(told.likelihood, learnt - learnt.max(), atol=1e-4)
    assert told.examples == 4
