"""Terms that cannot mean the same rows are told apart: of two that want them, the surer one has them.

A network that is asked once gives two classes the same belief where nothing tells which is which (`TYPE = 1`, `TYPE =
2`), and both take the first. So the choice of the surer one is taken as settled, the other is asked again without it,
and is as sure as both are together.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ruleminer.learn.decision_network import DecisionNetwork, Tensors
from ruleminer.learn.decision_problem import Relation

_MOST_TIMES = 12  # that the network is asked again
_LEAST = 0.05  # belief below which nobody is in the way


def settled_apart(network: DecisionNetwork, problem: Tensors) -> tuple[list[Tensor], Tensors, Tensor]:
    """The logits of all rounds, the problem without what others have, and how sure those are who have it: (T,)."""
    rounds = network(problem)
    sure = torch.ones(len(problem.there))
    receiver, sender, relation = problem.edges.T
    beside = torch.isin(relation, torch.tensor([int(Relation.SIBLING), int(Relation.DISJOINT)])) & (receiver < sender)
    pairs = torch.stack([receiver[beside], sender[beside]])  # (2, n)
    for _ in range(_MOST_TIMES if pairs.shape[1] else 0):
        belief = rounds[-1].softmax(-1)
        best = belief[:, 1:].max(-1) if belief.shape[1] > 1 else None
        if best is None:
            break
        wanted = problem.body.gather(1, 1 + best.indices[:, None]).squeeze(1)
        one, other = pairs
        clash = (wanted[one] == wanted[other]) & (torch.minimum(best.values[one], best.values[other]) >= _LEAST)
        if not clash.any():
            break
        there = problem.there.clone()
        for first, second in pairs[:, clash].T.tolist():
            winner, loser = (first, second) if best.values[first] >= best.values[second] else (second, first)
            if there[winner, 1 + best.indices[winner]]:  # else it has just given way to a third
                there[loser] &= problem.body[loser] != wanted[loser]
                sure[loser] *= best.values[winner]
        problem = replace(problem, there=there)
        rounds = network(problem)
    return rounds, problem, sure
