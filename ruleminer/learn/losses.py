"""Losses for outputs of which several are allowed: one family, for classifiers and for sequence models.

Notation: pᵢ the model's probabilities, s = Σ pᵢ over the k allowed outputs (of m), rᵢ = pᵢ/s, z the logits.
A bar marks a factor that carries no gradient.

| loss        | value                                              | target qᵢ of an allowed output | paper    |
|-------------|----------------------------------------------------|--------------------------------|----------|
| nll         | −log s                                             | rᵢ                             | NLL      |
| rc          | −½ Σ r̄ᵢ log pᵢ                                     | rᵢ/2                           | RC       |
| merit(β)    | −Σ w̄ᵢ log pᵢ,  w ∝ pᵢ^β                            | wᵢ                             | β-merit  |
| uniform     | −Σ log pᵢ                                          | 1                              | U        |
| libra       | (1−s̄) · (log(1−s) − 1/k Σ log pᵢ)                  | pᵢ + (1−s)/k                   | Def. 4.9 |
| libra-plain | log(1−s) − 1/k Σ log pᵢ                            | pᵢ/(1−s) + 1/k                 | Def. 4.9 |
| lws(β)      | Σ w̄ᵢ σ(−zᵢ) + β Σ_disallowed w̄ᵢ σ(zᵢ)              | needs all outputs              | LW       |
| sag         | 1/(m−k) Σ_disallowed log pᵢ − 1/k Σ log pᵢ + c|z|² | needs all outputs              | Sag      |

The first six have the gradient of the cross-entropy −Σ q̄ᵢ log pᵢ. They are computed from log pᵢ and from
log(1−s), which the caller gives exactly (`of_logits`; the leaks of a trie), so that values and gradients are
right from s = 1e-30 to s = 1 − 1e-30, with no epsilon and no clamp. All return one value per sample; a
sample without allowed outputs costs nothing, and neither does libra where nothing is disallowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ruleminer.errors import InputError


@dataclass(frozen=True)
class Outputs:
    """What a model says about the outputs of a batch of samples, of any leading shape."""

    log_p: Tensor  # (..., n) log pᵢ; entries that are not allowed are ignored
    allowed: Tensor  # (..., n) bool
    log_rest: Tensor  # (...) log(1 − s), exact
    logits: Tensor | None = None  # (..., m) if all outputs are in sight (n = m)


def of_logits(logits: Tensor, allowed: Tensor) -> Outputs:
    """The outputs of a classifier: logits (..., m) and a mask of the same shape (or one that broadcasts)."""
    allowed = allowed.to(torch.bool).expand_as(logits)
    log_rest = logits.masked_fill(allowed, -math.inf).logsumexp(-1) - logits.logsumexp(-1)
    return Outputs(logits.log_softmax(-1), allowed, log_rest, logits)


def nll(outputs: Outputs) -> Tensor:
    """−log s: maximum marginal likelihood; the largest allowed output takes all."""
    return -_log_allowed(outputs)


def rc(outputs: Outputs) -> Tensor:
    """−½ Σ r̄ᵢ log pᵢ, which is ½ nll plus ½ the entropy of r (a constant for the gradient)."""
    r = _log_ratios(outputs).detach()
    entropy = -_sum_allowed(r.exp() * r, outputs)
    return 0.5 * (entropy - _log_allowed(outputs))


def merit(outputs: Outputs, beta: float = 0.5) -> Tensor:
    """−Σ w̄ᵢ log pᵢ with w ∝ pᵢ^β: nll's gradient at β = 1, 1/k of uniform's at β = 0."""
    log_r = _log_ratios(outputs)
    weight = (beta * log_r.detach()).masked_fill(~outputs.allowed, -math.inf).softmax(-1).nan_to_num()
    return -_log_allowed(outputs) - _sum_allowed(weight * log_r, outputs)


def uniform(outputs: Outputs) -> Tensor:
    """−Σ log pᵢ over the allowed outputs."""
    k = outputs.allowed.sum(-1)
    return -k * _log_allowed(outputs) - _sum_allowed(_log_ratios(outputs), outputs)


def libra(outputs: Outputs, weighted: bool = True) -> Tensor:
    """log(1−s) − 1/k Σ log pᵢ: keeps the ratios of allowed outputs. The weight (1−s̄) lets it come to rest."""
    k = outputs.allowed.sum(-1)
    settled = (k == 0) | (outputs.log_rest == -math.inf)  # nothing allowed, or nothing left to move
    log_rest = outputs.log_rest.masked_fill(settled, 0.0)
    value = log_rest - _sum_allowed(outputs.log_p, outputs) / k.clamp(min=1)
    if weighted:
        value = log_rest.detach().exp() * value
    return value.masked_fill(settled, 0.0)


def libra_plain(outputs: Outputs) -> Tensor:
    """Libra without the vanishing weight: gradient −1/k on allowed logits, whatever s."""
    return libra(outputs, weighted=False)


def lws(outputs: Outputs, beta: float = 1.0) -> Tensor:
    """Σ w̄ᵢ σ(−zᵢ) + β Σ_disallowed w̄ᵢ σ(zᵢ); w is the softmax within allowed and within disallowed."""
    z, allowed = _all_logits(outputs), outputs.allowed
    within = z.detach().masked_fill(~allowed, -math.inf).softmax(-1).nan_to_num()
    outside = z.detach().masked_fill(allowed, -math.inf).softmax(-1).nan_to_num()
    return (within * torch.sigmoid(-z) + beta * outside * torch.sigmoid(z)).sum(-1)


def sag(outputs: Outputs, logit_penalty: float = 0.01) -> Tensor:
    """mean log p of the disallowed − mean log p of the allowed + c·Σ z²: keeps ratios on both sides.

    The normaliser cancels between the two means, so they are taken of the logits themselves.
    """
    z, allowed = _all_logits(outputs), outputs.allowed
    k, rest = allowed.sum(-1).clamp(min=1), (~allowed).sum(-1).clamp(min=1)
    means = z.masked_fill(allowed, 0.0).sum(-1) / rest - z.masked_fill(~allowed, 0.0).sum(-1) / k
    one_sided = allowed.all(-1) | ~allowed.any(-1)
    return means.masked_fill(one_sided, 0.0) + logit_penalty * z.square().sum(-1)


def forbidden_mass(log_rest: Tensor) -> Tensor:
    """−log(1 − Σ p⁻) of forbidden outputs whose exact complement is `log_rest`; never below 0."""
    return -log_rest


def paper_negatives(losses: Tensor, floor: float = 10.0) -> Tensor:
    """The paper's term for forbidden sets, Σ −L over the last axis, each bounded below by −`floor`.

    −L falls without end as the forbidden mass vanishes; once L passes the floor (for libra: forbidden
    sequences of e⁻¹⁰ on geometric average) a set has no more pull.
    """
    return -losses.clamp(max=floor).sum(-1)


@dataclass(frozen=True)
class Loss:
    """A loss by its name; `needs_all_outputs` tells that a sequence model cannot use it."""

    name: str
    function: Callable[[Outputs], Tensor]
    needs_all_outputs: bool = False
    default_beta: float | None = None

    def __call__(self, outputs: Outputs) -> Tensor:
        return self.function(outputs)


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("nll", nll),
        Loss("uniform", uniform),
        Loss("merit", merit, default_beta=0.5),
        Loss("rc", rc),
        Loss("lws", lws, needs_all_outputs=True, default_beta=1.0),
        Loss("libra", libra),
        Loss("libra-plain", libra_plain),
        Loss("sag", sag, needs_all_outputs=True),
    )
}


def loss_named(text: str) -> Loss:
    """The loss that `text` names: `libra`, `nll`, ...; `merit:0.25` sets β, as does the paper's `merit(0.25)`."""
    number = r"(\d+(?:\.\d+)?)"
    match = re.fullmatch(rf"([a-z-]+)(?::{number}|\({number}\))?", text)
    loss = LOSSES.get(match[1]) if match else None
    if loss is None or match is None:
        raise InputError(f"unknown loss {text!r}; known are {', '.join(LOSSES)}")
    beta = match[2] or match[3]
    if beta is None:
        return loss
    if loss.default_beta is None:
        raise InputError(f"loss {match[1]!r} has no β; write its name alone")
    return Loss(text, partial(loss.function, beta=float(beta)), loss.needs_all_outputs)  # type: ignore[call-arg]


def _sum_allowed(values: Tensor, outputs: Outputs) -> Tensor:
    return values.masked_fill(~outputs.allowed, 0.0).sum(-1)


def _log_sum(outputs: Outputs) -> Tensor:
    """log s by direct summation; 0 for a sample without allowed outputs."""
    none = ~outputs.allowed.any(-1, keepdim=True)
    log_p = outputs.log_p.masked_fill(~outputs.allowed, -math.inf).masked_fill(none, 0.0)
    return log_p.logsumexp(-1).masked_fill(none.squeeze(-1), 0.0)


def _log_ratios(outputs: Outputs) -> Tensor:
    """log rᵢ of the allowed outputs, 0 elsewhere."""
    ratios = outputs.log_p.masked_fill(~outputs.allowed, 0.0) - _log_sum(outputs).unsqueeze(-1)
    return ratios.masked_fill(~outputs.allowed, 0.0)


def _log_allowed(outputs: Outputs) -> Tensor:
    """log s, right to the last digit at both ends: from 1 − s where s > ½, from the sum elsewhere."""
    mostly = outputs.log_rest < -math.log(2.0)
    from_rest = torch.log1p(-outputs.log_rest.masked_fill(~mostly, -1.0).exp())
    return torch.where(mostly, from_rest, _log_sum(outputs))


def _all_logits(outputs: Outputs) -> Tensor:
    if outputs.logits is None:
        raise InputError("this loss needs the logits of all outputs: it is for classifiers only")
    return outputs.logits
