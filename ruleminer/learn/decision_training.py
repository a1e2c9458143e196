"""Teaching the decision network: problems whose answers are known, and a loss over the hypotheses that are right.

All hypotheses with the right extension are allowed, so the losses are those of `losses.py`; each round's beliefs are
judged, the last ones most. What is drawn afresh for each pass (examples, noise, axioms forgotten) is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor

from ruleminer.learn.decision_network import ROUNDS, DecisionNetwork, Tensors, tensors_of
from ruleminer.learn.decision_problem import Problem
from ruleminer.learn.losses import libra, nll, of_logits, rc, uniform

Vary = Callable[[Problem, Random], Problem]
"""A problem as it is met in one pass."""

LOSSES = {"libra": libra, "nll": nll, "rc": rc, "uniform": uniform}
_LEAST = 1e-9  # that a probability is taken for
_SCALED = 100  # problems by which features are scaled
_LEAST_SCALE, _UNHEARD = 0.05, 1e9
_EARLY = 0.3  # what a round before the last weighs in the loss


@dataclass(frozen=True, slots=True)
class DecisionOptions:
    """How the network is taught."""

    loss: str = "libra"
    passes: int = 6
    batch: int = 4  # problems between two updates
    learning_rate: float = 4e-3
    weight_decay: float = 1e-2
    width: int = 32
    rounds: int = ROUNDS
    messages: bool = True
    dropped: float = 0.25  # features that are not heard at a time: what one tells is not to rest on another
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How right a network is on some problems: terms judged, and the shares of right choices."""

    terms: int
    right: float
    right_of_mapped: float  # among terms that the data have, none not being a choice
    none_found: float  # among terms that the data have not
    precision: float  # among rules that are at least as probable as `taken`
    recall: float  # of terms that the data have: such a rule, and right
    log_loss: float  # of what is right, in nats: how honest the probabilities are


def train_network(
    problems: Sequence[Problem],
    vary: Vary,
    options: DecisionOptions,
    told: Callable[[int, float], None] = lambda done, loss: None,
) -> DecisionNetwork:
    """The network that has learnt from the problems; the same for the same seed."""
    torch.manual_seed(options.seed)
    generator = Random(options.seed)
    features = problems[0].features.shape[-1]
    network = DecisionNetwork(features, options.width, options.rounds, options.messages, options.dropped)
    _fit_scale(network, [vary(problem, generator) for problem in problems[:_SCALED]])
    optimiser = torch.optim.AdamW(network.parameters(), options.learning_rate, weight_decay=options.weight_decay)
    steps = options.passes * math.ceil(len(problems) / options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.learning_rate, total_steps=steps, pct_start=0.1)
    for number in range(options.passes):
        order = generator.sample(range(len(problems)), len(problems))
        total = 0.0
        for start in range(0, len(order), options.batch):
            optimiser.zero_grad()
            some = order[start : start + options.batch]
            for place in some:
                loss = problem_loss(network, tensors_of(vary(problems[place], generator)), options.loss) / len(some)
                loss.backward()  # type: ignore[no-untyped-call]
                total += float(loss.detach()) * len(some)
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
        told(number + 1, total / len(order))
    return network.eval()


def problem_loss(network: DecisionNetwork, problem: Tensors, loss: str) -> Tensor:
    """The mean loss of the judged terms, over all rounds."""
    rounds = network(problem)
    weights = [_EARLY] * (len(rounds) - 1) + [1.0]
    judged = problem.judged
    allowed = problem.right[judged]
    values = [LOSSES[loss](of_logits(logits[judged], allowed)).mean() for logits in rounds]
    return torch.stack([weight * value for weight, value in zip(weights, values, strict=True)]).sum() / sum(weights)


@torch.no_grad()
def judge(
    network: Callable[[Tensors], list[Tensor]],
    problems: Sequence[Problem],
    vary: Vary,
    seed: int = 0,
    taken: float = 0.25,
) -> Verdict:
    """How right the network is."""
    generator = Random(seed)
    right, mapped, none, took, recalled, losses = [], [], [], [], [], []
    for problem in problems:
        tensors = tensors_of(vary(problem, generator))
        logits = network(tensors)[-1]
        best, rule = logits.argmax(-1), logits[:, 1:].argmax(-1) + 1
        belief = logits.softmax(-1)
        for term in np.flatnonzero(problem.judged).tolist():
            allowed = problem.right[term]
            right.append(bool(allowed[best[term]]))
            is_taken, rule_is_right = float(belief[term, rule[term]]) >= taken, bool(allowed[rule[term]])
            losses.append(-math.log(max(_LEAST, float(belief[term, torch.from_numpy(allowed)].sum()))))
            if is_taken:
                took.append(rule_is_right)
            if allowed[0]:
                none.append(right[-1])
            else:
                mapped.append(rule_is_right)
                recalled.append(is_taken and rule_is_right)
    return Verdict(len(right), _mean(right), _mean(mapped), _mean(none), _mean(took), _mean(recalled), _mean(losses))


def _fit_scale(network: DecisionNetwork, problems: Sequence[Problem]) -> None:
    """Features in deviations from their means; what never varies has nothing to teach, and is never heard."""
    rows = np.concatenate([problem.features[problem.there] for problem in problems])
    deviation = rows.std(axis=0)
    network.mean.copy_(torch.from_numpy(rows.mean(axis=0)))
    network.scale.copy_(torch.from_numpy(np.where(deviation > 0, np.maximum(deviation, _LEAST_SCALE), _UNHEARD)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
