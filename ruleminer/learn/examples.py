"""A run's dataset as learning sees it: facts and rules in tokens, split by fact, with what is forbidden.

Positives and negatives are split 70/15/15 by fact, within each predicate, so that a predicate with few facts is
learnt from too. A rule among the candidates of a negative fact is forbidden for every input: it leaves the allowed
sets, and where a forbidden rule of the same head leaves a fact's trie, its first token is marked, so that
training can keep the mass down there (at no cost: no node is added).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.errors import InputError
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.trie import ALLOWED, FORBIDDEN, PrefixTree, TokenPath, Trie, build_trie, departures, whole
from ruleminer.run import RunLike

SPLITS = ("train", "validation", "test")
_SHARES = (0.70, 0.85)


@dataclass(frozen=True)
class Example:
    """A fact and the rules that derive it."""

    fact: int
    predicate: str
    tokens: tuple[int, ...]
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class SplitExamples:
    """All facts that have candidates, by split."""

    tokens: Tokens
    rules: dict[int, TokenPath]  # each rule's tokens, complete with the end token
    positives: dict[str, list[Example]]
    negatives: dict[str, list[Example]]
    without_candidates: int  # positive facts that no rule derives

    def forbidden(self, *splits: str) -> set[int]:
        """The rules that derive some negative fact of these splits."""
        return {rule for split in splits for example in self.negatives[split] for rule in example.candidates}

    def head_trees(self, forbidden: Iterable[int]) -> dict[str, PrefixTree]:
        """The forbidden rules of each predicate as one tree."""
        heads: dict[str, list[TokenPath]] = {}
        predicate = {rule: e.predicate for split in SPLITS for e in self.negatives[split] for rule in e.candidates}
        for rule in sorted(forbidden):
            heads.setdefault(predicate[rule], []).append(self.rules[rule][:-1])
        return {head: PrefixTree.of(sequences) for head, sequences in heads.items()}


def fact_text(predicate: str, arguments: Sequence[str]) -> str:
    """A fact as the model reads it."""
    return f"{predicate}({', '.join(arguments)})"


def load_examples(
    run: RunLike, seed: int, longest_input: int, vocabulary: int = 1024, tokens: Tokens | None = None
) -> SplitExamples:
    """The examples of a run's dataset; a vocabulary is trained on its text unless one is given."""
    return examples_of(read_dataset(run), seed, longest_input, vocabulary, tokens)


def examples_of(
    dataset: Dataset, seed: int, longest_input: int, vocabulary: int = 1024, tokens: Tokens | None = None
) -> SplitExamples:
    """The examples of a dataset in memory."""
    rules, facts = dataset.rule_texts, list(dataset.facts_with_rules())
    texts = [fact_text(fact.predicate, fact.arguments) for fact in facts]
    tokens = tokens or Tokens.trained_on([*rules.values(), *texts], vocabulary)
    sides: dict[bool, list[Example]] = {True: [], False: []}
    for fact, text in zip(facts, texts, strict=True):
        if fact.rules:
            encoded = tuple(tokens.encode(text)[:longest_input])
            sides[fact.positive].append(Example(fact.number, fact.predicate, encoded, fact.rules))
    if not sides[True]:
        raise InputError(f"no positive fact in {dataset.folder} has a candidate rule: there is nothing to learn from")
    return SplitExamples(
        tokens,
        {rule: whole(tokens.encode(text)) for rule, text in rules.items()},
        split(sides[True], seed),
        split(sides[False], seed + 1),
        sum(fact.positive for fact in facts) - len(sides[True]),
    )


def split(examples: Sequence[Example], seed: int) -> dict[str, list[Example]]:
    """Train, validation and test, 70/15/15 within each predicate, shuffled by the seed."""
    generator = np.random.default_rng(seed)
    parts: dict[str, list[Example]] = {name: [] for name in SPLITS}
    by_predicate: dict[str, list[Example]] = {}
    for example in examples:
        by_predicate.setdefault(example.predicate, []).append(example)
    for predicate in sorted(by_predicate):
        own = by_predicate[predicate]
        own = [own[i] for i in generator.permutation(len(own))]
        first, second = (round(share * len(own)) for share in _SHARES)
        first = max(first, 1)
        for name, part in zip(SPLITS, (own[:first], own[first:second], own[max(first, second) :]), strict=True):
            parts[name].extend(part)
    return parts


@dataclass(frozen=True)
class TrainingSet:
    """Facts with their tries, ready to batch."""

    inputs: list[tuple[int, ...]]
    tries: list[Trie]
    left_out: int  # candidates longer than the limit
    emptied: int  # facts none of whose candidates is allowed (and short enough)

    def __len__(self) -> int:
        return len(self.tries)


def training_set(
    examples: SplitExamples, part: Sequence[Example], forbidden: set[int], longest_rule: int, mark: bool
) -> TrainingSet:
    """The tries of the allowed rules; with `mark`, where forbidden rules of the same head leave them."""
    trees = examples.head_trees(forbidden) if mark else {}
    inputs: list[tuple[int, ...]] = []
    tries: list[Trie] = []
    left_out = emptied = 0
    for example in part:
        paths = [examples.rules[rule] for rule in example.candidates if rule not in forbidden]
        short = [path for path in paths if len(path) <= longest_rule]
        left_out += len(paths) - len(short)
        if not short:
            emptied += 1
            continue
        left = departures(short, trees[example.predicate]) if example.predicate in trees else []
        inputs.append(example.tokens)
        tries.append(build_trie({**dict.fromkeys(short, ALLOWED), **dict.fromkeys(left, FORBIDDEN)}))
    return TrainingSet(inputs, tries, left_out, emptied)
