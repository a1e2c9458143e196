"""The final softmax, at a trie's nodes: log-probabilities of the edges, and of what is on no edge.

As plain tensor code this takes some ten passes over (nodes × vocabulary); by hand it takes four, and the
largest logit off the edges is taken apart from them, so that a leak of e⁻¹⁰⁰⁰⁰ is as exact as one of ½.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def edge_log_probabilities(
    nodes: Tensor, embedding: Tensor, edge_node: Tensor, edge_token: Tensor
) -> tuple[Tensor, Tensor]:
    """Features (T, d), embedding (V, d) → log p of each edge (E,), log of the mass on no edge of each node (T,).

    No edge may stand twice.
    """
    edge, rest, total = _EdgeSoftmax.apply(nodes, embedding, edge_node, edge_token)  # type: ignore[no-untyped-call]
    return edge - total.index_select(0, edge_node), rest - total


class _EdgeSoftmax(torch.autograd.Function):
    """Logits of the edges (E,), logsumexp of the logits off the edges (T,), logsumexp of all (T,)."""

    @staticmethod
    def forward(
        ctx: Any, nodes: Tensor, embedding: Tensor, edge_node: Tensor, edge_token: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits = nodes @ embedding.T  # (T, V)
        edge = logits[edge_node, edge_token]  # (E,)
        logits[edge_node, edge_token] = -math.inf
        largest = logits.amax(-1)  # (T,)
        largest.masked_fill_(largest == -math.inf, 0.0)  # every token is an edge
        off_edge = logits.sub_(largest[:, None]).exp_()
        mass = off_edge.sum(-1)
        rest = largest + mass.log()
        peak = largest.scatter_reduce(0, edge_node, edge, "amax")
        sums = (rest - peak).exp_().index_add_(0, edge_node, (edge - peak[edge_node]).exp_())
        total = peak + sums.log()
        ctx.save_for_backward(nodes, embedding, edge_node, edge_token, off_edge, edge, largest, mass, total)
        return edge, rest, total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        nodes, embedding, edge_node, edge_token, off_edge, edge, largest, mass, total = ctx.saved_tensors
        d_edge, d_rest, d_total = gradients
        scale = d_total * (largest - total).exp() + torch.where(mass > 0, d_rest / mass, 0.0)
        d_logits = off_edge * scale[:, None]
        d_logits[edge_node, edge_token] = d_edge + d_total[edge_node] * (edge - total[edge_node]).exp()
        return d_logits @ embedding, d_logits.T @ nodes, None, None
