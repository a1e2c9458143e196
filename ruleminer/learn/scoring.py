"""A trained model in use: the probability of given rules for given facts, and the rules it would write itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ruleminer.learn.batches import pass_batches
from ruleminer.learn.decoding import beam_search
from ruleminer.learn.examples import fact_text
from ruleminer.learn.grammar import constraint
from ruleminer.learn.model_files import SavedModel, load_model
from ruleminer.learn.trie import ALLOWED, build_trie, pack, whole
from ruleminer.run import RunLike
from ruleminer.sources.schema import Schema

Fact = tuple[str, Sequence[str]]
"""A predicate and its one or two arguments."""

_PLACES = 10_000  # of tries in a batch


class RuleScorer:
    """p(rule | fact) by a trained model."""

    def __init__(self, saved: SavedModel) -> None:
        self.model, self.tokens = saved.model, saved.tokens
        self.longest_rule: int = saved.config["options"]["longest_rule"]
        self.longest_input: int = saved.config["options"]["longest_input"]

    @classmethod
    def of_run(cls, run: RunLike, device: torch.device | str = "cpu") -> RuleScorer:
        """The scorer of RUN/model."""
        return cls(load_model(run, device))

    @torch.no_grad()
    def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each fact, log p of each of its rule texts (whose head is the fact's predicate); −inf if too long."""
        inputs = [self._input(fact) for fact in facts]
        paths = [[whole(self.tokens.encode(text)) for text in texts] for texts in rules]
        short = [{p: ALLOWED for p in own if len(p) <= self.longest_rule} for own in paths]
        tries = [build_trie(own) for own in short]
        log_p: list[list[float]] = [[] for _ in facts]
        device = self.model.embedding.weight.device
        for batch in pass_batches([len(trie) for trie in tries], _PLACES, 0, 0):
            packed = pack([inputs[i] for i in batch], [tries[i] for i in batch], 64)
            for i, row in zip(batch, self.model(packed.to(device)).log_p.tolist(), strict=True):
                by_path = dict(zip(short[i], row, strict=False))
                log_p[i] = [by_path.get(path, -math.inf) for path in paths[i]]
        return log_p

    def rules_for(self, facts: Sequence[Fact], schema: Schema, beam: int = 10) -> list[list[tuple[str, float]]]:
        """For each fact, the rules of the schema that the model finds most probable, with log p."""
        tests = {
            key: constraint(self.tokens, schema, *key) for key in {(name, len(arguments)) for name, arguments in facts}
        }
        accepts = [tests[name, len(arguments)] for name, arguments in facts]
        best_of = beam_search(self.model, [self._input(f) for f in facts], self.longest_rule, beam, accepts)
        return [[(self.tokens.decode(h.path[:-1]), h.log_p) for h in hypotheses] for hypotheses in best_of]

    def _input(self, fact: Fact) -> list[int]:
        return self.tokens.encode(fact_text(*fact))[: self.longest_input]
