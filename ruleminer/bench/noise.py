"""Label sets made from true labels: the paper's noise models, which know the true label and nothing of the input."""

from __future__ import annotations

import torch
from torch import Tensor

from ruleminer.errors import InputError

# Row 0 of each noise matrix of the appendix: label j becomes a distractor of true label 0 with this probability.
# Row i is row 0 turned by i places (checked against the printed matrices in the tests).
CASES: dict[int, tuple[float, ...]] = {
    1: (1, 0.5, 0, 0, 0, 0, 0, 0, 0, 0),
    2: (1, 0.3, 0, 0, 0, 0, 0, 0, 0, 0.3),
    3: (1, 0.5, 0.3, 0.1, 0, 0, 0, 0.1, 0.3, 0.5),
    4: (1, 0.2, 0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2),
    5: (1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.7, 0.6, 0.9, 0.9),
}


def noise_matrix(case: int) -> Tensor:
    """(10, 10): M[i, j] is the probability that j is allowed where i is true."""
    if case not in CASES:
        raise InputError(f"unknown noise case {case}; known are {', '.join(map(str, CASES))}")
    row = torch.tensor(CASES[case])
    return torch.stack([row.roll(i) for i in range(len(row))])


def by_matrix(truth: Tensor, matrix: Tensor, generator: torch.Generator) -> Tensor:
    """(n, m) label sets: each label by its own coin; the true one always."""
    allowed = torch.rand(len(truth), matrix.shape[1], generator=generator) < matrix[truth]
    allowed[torch.arange(len(truth)), truth] = True
    return allowed


def by_pool(truth: Tensor, labels: int, pool: float, occurrence: float, generator: torch.Generator) -> Tensor:
    """(n, m) label sets by a distractor pool of `pool`·m labels per true label, itself included.

    Each distractor of the pool is in the label set of exactly `occurrence` of the samples with that true label
    (rounded), drawn anew for each distractor.
    """
    for name, fraction in (("pool", pool), ("occurrence", occurrence)):
        if not 0 < fraction <= 1:
            raise InputError(f"the distractor {name} fraction must lie in (0, 1], not {fraction}")
    allowed = torch.zeros(len(truth), labels, dtype=torch.bool)
    allowed[torch.arange(len(truth)), truth] = True
    others = max(0, round(labels * pool) - 1)
    for label in range(labels):
        members = (truth == label).nonzero()[:, 0]
        order = torch.randperm(labels - 1, generator=generator)[:others]
        distractors = order + (order >= label)  # skip the label itself
        hits = round(len(members) * occurrence)
        for distractor in distractors.tolist():
            chosen = torch.randperm(len(members), generator=generator)[:hits]
            allowed[members[chosen], distractor] = True
    return allowed
