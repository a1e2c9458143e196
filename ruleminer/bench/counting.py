"""The counting ranker, which learns nothing: the rule shared by most training facts of a predicate and by no negative.

It is the baseline of the rule-learning benches. With `by_shape` it counts within the facts of one predicate whose
arguments look alike (`…/licence/21/licensee/5` and `…/licence/7/licensee/9` do).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ruleminer.dataset import Dataset
from ruleminer.learn.examples import SPLITS, Example, SplitExamples

_HITS = (1, 5)
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CUT = re.compile(r"[/#]")

Group = tuple[str, ...]
"""What facts are counted together: those of a predicate, or of a predicate and a shape."""


@dataclass(frozen=True)
class CountingResult:
    """The ranker's metrics as those of a model that gives all its mass to the first rule."""

    p_pos: float
    p_neg: float
    hits: Mapping[str, float]  # hit_pos_1, hit_pos_5, hit_neg_1, hit_neg_5
    p_neg_derives: float  # the part of p_neg that is a forbidden rule which derives the fact


def shape(argument: str) -> str:
    """An IRI with each piece that holds a digit taken out; other values have no shape."""
    if not _IRI.match(argument):
        return ""
    return "/".join("*" if any(map(str.isdigit, piece)) else piece for piece in _CUT.split(argument))


def predicate_groups(dataset: Dataset) -> dict[int, Group]:
    """Each fact's predicate."""
    return {f["fact"]: (f["predicate"],) for f in dataset.facts.select(["fact", "predicate"]).to_pylist()}


def shape_groups(dataset: Dataset) -> dict[int, Group]:
    """Each fact's predicate and the shapes of its arguments."""
    facts = dataset.facts.select(["fact", "predicate", "arg1", "arg2"]).to_pylist()
    return {f["fact"]: (f["predicate"], shape(f["arg1"]), shape(f["arg2"] or "")) for f in facts}


def ranking(
    positives: Sequence[Example], forbidden: set[int], group: Callable[[Example], Group], length: Mapping[int, int]
) -> dict[Group, list[int]]:
    """Per group its rules, the most shared first; of equally shared ones the shorter, then the first by number."""
    counts: dict[Group, Counter[int]] = {}
    for example in positives:
        own = counts.setdefault(group(example), Counter())
        own.update(rule for rule in example.candidates if rule not in forbidden)
    return {
        name: sorted(own, key=lambda rule: (-own[rule], length[rule], rule))[: max(_HITS)]
        for name, own in counts.items()
    }


def counting_result(examples: SplitExamples, groups: Mapping[int, Group], split: str = "test") -> CountingResult:
    """Rank by the training facts, measure on a split; a group that training has not seen gets its predicate's rules."""
    known = examples.forbidden("train")
    length = {rule: len(path) for rule, path in examples.rules.items()}
    train = examples.positives["train"]
    ranked = ranking(train, known, lambda example: groups[example.fact], length)
    fallback = ranking(train, known, lambda example: (example.predicate,), length)
    forbidden = examples.forbidden(*SPLITS)
    facts = examples.positives[split]
    counts: Counter[str] = Counter()
    for example in facts:
        rules = ranked.get(groups[example.fact]) or fallback.get((example.predicate,), [])
        good = set(example.candidates)
        for k in _HITS:
            counts[f"hit_pos_{k}"] += not good.isdisjoint(rules[:k])
            counts[f"hit_neg_{k}"] += not forbidden.isdisjoint(rules[:k])
        counts["derives"] += not (good & forbidden).isdisjoint(rules[:1])
    share = {name: counts[name] / len(facts) for name in counts}
    hits = {f"hit_{sign}_{k}": share[f"hit_{sign}_{k}"] for sign in ("pos", "neg") for k in _HITS}
    return CountingResult(hits["hit_pos_1"], hits["hit_neg_1"], hits, share["derives"])
