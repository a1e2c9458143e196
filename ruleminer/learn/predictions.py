"""What a trained model believes of each predicate: the rules it gives most probability over some of its facts."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ruleminer.extract.dataset import read_dataset
from ruleminer.learn.decoding import beam_search
from ruleminer.learn.examples import Example, examples_of
from ruleminer.learn.model_files import load_model
from ruleminer.learn.training import choose_device, set_threads


@dataclass(frozen=True, slots=True)
class PredictedRule:
    """A rule of a predicate and its probability, averaged over the facts asked about."""

    predicate: str
    text: str
    probability: float


def predict_rules(
    run: Path, facts: int = 10, beam: int = 5, device: str = "auto", threads: int | None = None
) -> list[PredictedRule]:
    """The rules found by beam search for up to `facts` positives of each predicate, the most probable first."""
    set_threads(threads)
    saved = load_model(run, choose_device(device))
    options = saved.config["options"]
    examples = examples_of(read_dataset(run), options["seed"], options["longest_input"], tokens=saved.tokens)
    chosen: dict[str, list[Example]] = defaultdict(list)
    for split in ("test", "validation", "train"):  # facts the model has not seen come first
        for example in examples.positives.get(split, ()):
            if len(chosen[example.predicate]) < facts:
                chosen[example.predicate].append(example)
    predicted: list[PredictedRule] = []
    for predicate, some in sorted(chosen.items()):
        mass: dict[str, float] = defaultdict(float)
        for hypotheses in beam_search(saved.model, [e.tokens for e in some], options["longest_rule"], beam):
            for hypothesis in hypotheses:
                mass[saved.tokens.decode(hypothesis.path)] += math.exp(hypothesis.log_p) / len(some)
        ranked = sorted(mass.items(), key=lambda rule: (-rule[1], rule[0]))
        predicted += [PredictedRule(predicate, text, probability) for text, probability in ranked[:beam]]
    return predicted
