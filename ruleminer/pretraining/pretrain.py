"""`pretrain` from end to end: problems are made, the network learns from them, and is measured on what was held out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

import ruleminer
from ruleminer.errors import InputError
from ruleminer.learn.decision_files import NOTE, save_network
from ruleminer.learn.decision_network import DecisionNetwork
from ruleminer.learn.decision_problem import Problem
from ruleminer.learn.decision_training import LOSSES, DecisionOptions, Vary, judge, train_network
from ruleminer.pretraining.corpus import VERSION, make_corpus, make_held_out, read_corpus
from ruleminer.pretraining.variation import bare, varied, with_examples, without_meaning
from ruleminer.progress import Progress, Say, silent, unsaid
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.structure.meaning import PACKAGE, meaning

LEARNT = 32  # hypotheses of a term that are learnt from; deciding looks at more


@dataclass(frozen=True, slots=True)
class PretrainRequest:
    """The options of the command."""

    out: Path
    databases: int = 480
    held_out: int = 36
    options: DecisionOptions = field(default_factory=DecisionOptions)
    threads: int = 1
    processes: int = 1  # that make problems
    force: bool = False

    def __post_init__(self) -> None:
        if self.databases < 1 or self.held_out < 1:
            raise InputError("‹databases› and ‹held_out› must be at least 1")
        if self.processes < 1:
            raise InputError(f"‹processes› must be at least 1, not {self.processes}")
        if self.options.loss not in LOSSES:
            raise InputError(f"‹loss› must be one of {', '.join(LOSSES)}, not {self.options.loss!r}")
        if self.options.width < 1:
            raise InputError(f"‹width› must be at least 1, not {self.options.width}")
        if self.options.passes < 1:
            raise InputError(f"‹passes› must be at least 1, not {self.options.passes}")


@dataclass(frozen=True, slots=True)
class PretrainResult:
    """Where the network is, and how right it is on what was held out: shares of right choices."""

    folder: Path
    parameters: int
    problems: int
    terms: int
    seconds: float
    scores: Mapping[str, Mapping[str, float]]


def pretrain(request: PretrainRequest, progress: Progress = silent, say: Say = unsaid) -> PretrainResult:
    """Make the problems that are not there yet, teach a network, measure it, and write it to OUT."""
    if (request.out / NOTE).exists() and not request.force:
        raise InputError(f"{request.out} holds a network already: ‹force=True› makes it anew")
    known = meaning()
    if known is None:
        raise InputError(f"pretraining needs the package {PACKAGE}, so that names are learnt by meaning, too")
    started = time.perf_counter()
    corpus, held_out = request.out / "problems", request.out / "held-out"
    seeds = make_corpus(corpus, request.databases, known, progress, request.processes)
    others = make_held_out(held_out, request.held_out, known, progress, request.processes)
    torch.set_num_threads(request.threads)
    problems = list(read_corpus(corpus, seeds, LEARNT))
    passes = request.options.passes

    def told(done: int, loss: float) -> None:
        progress("learning", f"loss {loss:.3f}", done, passes)
        say(f"pass {done} of {passes}: loss {loss:.4f}")

    network = train_network(problems, varied, request.options, told)
    scores = measured(network, list(read_corpus(held_out, others)))
    seconds = time.perf_counter() - started
    note: dict[str, Any] = {
        "ruleminer": ruleminer.__version__,
        "options": asdict(request.options),
        "databases": request.databases,
        "seeds": {"learnt from": [seeds.start, seeds.stop - 1], "held out": [others.start, others.stop - 1]},
        "made_with": VERSION,
        "problems": len(problems),
        "terms": int(sum(problem.judged.sum() for problem in problems)),
        "held_out": scores,
    }
    save_network(network, request.out, FEATURES, note)
    parameters = sum(one.numel() for one in network.parameters())
    return PretrainResult(request.out, parameters, len(problems), note["terms"], seconds, scores)


def measured(network: DecisionNetwork, problems: list[Problem]) -> dict[str, dict[str, float]]:
    """How right a network is on some problems, by what it is given."""
    given: dict[str, Vary] = {
        "no example": bare,
        "no example, no meaning": lambda problem, generator: without_meaning(problem),
        **{f"{count} examples": partial(_exemplified, count=count, wrong=0.0) for count in (1, 2, 5)},
        "10 examples, 30 % wrong": partial(_exemplified, count=10, wrong=0.3),
    }
    return {name: asdict(judge(network, problems, vary)) for name, vary in given.items()}


def _exemplified(problem: Problem, generator: Random, *, count: int, wrong: float) -> Problem:
    return with_examples(problem, generator, count, 1.0, wrong)
