"""Facts in batches of about equal work, in an order that the seed and the pass decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ruleminer.learn.examples import Example, SplitExamples, TrainingSet
from ruleminer.learn.trie import ALLOWED, Batch, TokenPath, Trie, build_trie, pack

PAPER_SETS = 50  # forbidden sets per update (paper, Section 5)
_FIRST_SET = 2  # their bits; with `paper` no leaf bears the mark FORBIDDEN


def pass_batches(sizes: Sequence[int], budget: int, seed: int, number: int) -> list[list[int]]:
    """A shuffled order of all facts, cut where the places of the tries reach the budget."""
    batches: list[list[int]] = [[]]
    filled = 0
    for fact in np.random.default_rng([seed, number]).permutation(len(sizes)).tolist():
        if batches[-1] and filled + sizes[fact] > budget:
            batches.append([])
            filled = 0
        batches[-1].append(fact)
        filled += sizes[fact]
    return batches


def plain_batch(data: TrainingSet, facts: Sequence[int], row_length: int) -> Batch:
    """The batch of some facts."""
    return pack([data.inputs[i] for i in facts], [data.tries[i] for i in facts], row_length)


@dataclass(frozen=True)
class PaperNegatives:
    """The candidate sets of negative facts, of which each update samples 50 (negatives `paper`).

    The paper takes one fact at a time and all 50 sets with it; in a batch of B facts each gets ⌈50/B⌉ of them, and
    the term is scaled up, so that it has the same expectation.
    """

    sets: list[list[TokenPath]]
    allowed: list[list[TokenPath]]  # of each training fact

    @classmethod
    def of(
        cls, examples: SplitExamples, negatives: Sequence[Example], data: TrainingSet, longest: int
    ) -> PaperNegatives:
        """The sets of the training negatives, without rules longer than the limit."""
        sets = [[p for p in (examples.rules[r] for r in e.candidates) if len(p) <= longest] for e in negatives]
        return cls([own for own in sets if own], [leaf_paths(trie) for trie in data.tries])

    def batch(
        self, data: TrainingSet, facts: Sequence[int], row_length: int, seed: Sequence[int]
    ) -> tuple[Batch, list[int]]:
        """The batch of some facts with sampled sets, and the bits of the sets (set j of each fact has bit j)."""
        draw = np.random.default_rng(seed)
        each = min(-(-PAPER_SETS // len(facts)), PAPER_SETS)
        bits = [_FIRST_SET << j for j in range(each)] if self.sets else []
        tries = []
        for fact in facts:
            labels = dict.fromkeys(self.allowed[fact], ALLOWED)
            for bit in bits:
                for path in self.sets[draw.integers(len(self.sets))]:
                    labels[path] = labels.get(path, 0) | bit
            tries.append(build_trie(labels))
        return pack([data.inputs[i] for i in facts], tries, row_length), bits


def leaf_paths(trie: Trie) -> list[TokenPath]:
    """The leaves of a trie as paths, in order."""
    paths: list[TokenPath] = []
    for node, token in zip(trie.leaf_node.tolist(), trie.leaf_token.tolist(), strict=True):
        path = [token]
        while node > 0:
            path.append(int(trie.tokens[node]))
            node = int(trie.parent[node])
        paths.append(tuple(reversed(path)))
    return paths
