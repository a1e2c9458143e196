"""How good a model is on facts it has not seen: P_pos, P_neg and H@k as the paper defines them.

P_pos   mass of the rules that derive the fact (paper, Section 6: Σ yᵢ pᵢ), forbidden ones among them included
P_neg   mass of all rules forbidden by some negative fact of any split, for this fact, whatever their head
H@k     share of facts for which the k most probable rules (beam 10) include one that derives the fact (positive),
        or a forbidden one (negative)

P_neg sums over thousands of rules per fact. They are one tree, and a prefix has at least the mass of all rules under
it: a branch is followed only while its prefix has more than 1e-6, the rest is counted as if it were all forbidden.
`p_neg` is thus an upper bound, `p_neg_slack` how far above it can be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.learn import model_files
from ruleminer.learn.batches import pass_batches
from ruleminer.learn.decoding import beam_search
from ruleminer.learn.examples import SPLITS, Example, SplitExamples, examples_of
from ruleminer.learn.grammar import constraint
from ruleminer.learn.training import choose_device, set_threads
from ruleminer.learn.transformer import Transformer
from ruleminer.learn.trie import ALLOWED, FORBIDDEN, PrefixTree, TokenPath, build_trie, departures, pack
from ruleminer.run import Run, RunLike
from ruleminer.whole_files import write_whole

BEAM = 10
HITS = (1, 5, 10)
_OPEN = 4  # the bit of a prefix under which there are forbidden rules
_FOLLOW = 1e-6
_LEVELS = 3  # to follow at once; with more, far more is scored than has any mass
_PLACES = 10_000  # of tries in a batch
_BEAM_FACTS = 64  # at once


def evaluate_run(
    run: RunLike,
    split: str = "test",
    device: str = "auto",
    threads: int | None = None,
    constrained: bool = False,
) -> dict[str, Any]:
    """The metrics of RUN's model on one split of its facts; also written to RUN/model/evaluation-SPLIT.json."""
    if split not in SPLITS:
        raise InputError(f"unknown split {split!r}; known are {', '.join(SPLITS)}")
    set_threads(threads)
    saved = model_files.load_model(run, choose_device(device))
    dataset = read_dataset(run)
    if saved.config["dataset"] != model_files.dataset_hash(dataset.folder):
        raise InputError(f"the dataset of {run} has changed since the model was trained: train it anew")
    options = saved.config["options"]
    examples = examples_of(dataset, options["seed"], options["longest_input"], tokens=saved.tokens)
    facts = examples.positives[split]
    if not facts:
        raise InputError(f"the {split} split of {run} has no facts: too few examples to hold any out")
    longest = options["longest_rule"]
    forbidden = examples.forbidden(*SPLITS)
    masses = rule_masses(saved.model, examples, facts, forbidden, longest)
    accepts = None
    if constrained:
        arity = {f["predicate"]: 1 + (f["arg2"] is not None) for f in dataset.facts.to_pylist()}
        tests = {p: constraint(saved.tokens, dataset.schema, p, arity[p]) for p in {e.predicate for e in facts}}
        accepts = [tests[example.predicate] for example in facts]
    hits = hit_rates(saved.model, examples, facts, forbidden, longest, accepts)
    result: dict[str, Any] = {**masses, **hits, **ceilings(examples, facts, forbidden, longest)}
    result |= {"split": split, "facts": len(facts), "beam": BEAM, "constrained": constrained}
    name = f"evaluation-{split}.json"
    write_whole(Run.of(run).model / name, json.dumps(result, indent=2) + "\n")
    return result


@torch.no_grad()
def rule_masses(
    model: Transformer, examples: SplitExamples, facts: Sequence[Example], forbidden: set[int], longest: int
) -> dict[str, float]:
    """P_pos and P_neg, averaged over the facts."""
    device = model.embedding.weight.device
    paths = {rule: examples.rules[rule] for rule in forbidden if len(examples.rules[rule]) <= longest}
    tree = PrefixTree.of(path[:-1] for path in paths.values())
    leaves: list[dict[TokenPath, int]] = []
    for example in facts:
        own = {rule: examples.rules[rule] for rule in example.candidates if len(examples.rules[rule]) <= longest}
        labels = {path: ALLOWED | (FORBIDDEN if rule in forbidden else 0) for rule, path in own.items()}
        labels |= {path: _bit(tree, path) for path in departures(own.values(), tree)}
        leaves.append(labels)
    totals = [dict.fromkeys(("p_pos", "p_neg", "p_neg_slack"), 0.0) for _ in facts]
    todo = list(range(len(facts)))
    while todo:
        tries = {fact: build_trie(leaves[fact]) for fact in todo}
        for group in pass_batches([len(tries[fact]) for fact in todo], _PLACES, 0, 0):
            batch = [todo[i] for i in group]
            packed = pack([facts[i].tokens for i in batch], [tries[i] for i in batch], 64)
            scores = model(packed.to(device))
            columns = (scores.log_mass(ALLOWED).exp(), scores.log_mass(FORBIDDEN).exp(), scores.log_p.exp())
            for fact, p_pos, p_neg, masses in zip(batch, *(column.tolist() for column in columns), strict=True):
                leaves[fact], slack = _followed(leaves[fact], masses, tree)
                totals[fact]["p_pos"] += p_pos
                totals[fact]["p_neg"] += p_neg + slack
                totals[fact]["p_neg_slack"] += slack
        todo = [fact for fact in todo if leaves[fact]]
    return {name: sum(total[name] for total in totals) / len(facts) for name in totals[0]}


def _followed(
    labels: dict[TokenPath, int], masses: Sequence[float], tree: PrefixTree
) -> tuple[dict[TokenPath, int], float]:
    """What is under each prefix that has mass, still to be scored, and the mass of the other prefixes."""
    under: dict[TokenPath, int] = {}
    slack = 0.0
    for (path, bit), mass in zip(labels.items(), masses, strict=False):
        if bit == _OPEN and mass > _FOLLOW:
            under.update((longer, _bit(tree, longer)) for longer in _under(tree, path).paths(path, _LEVELS))
        elif bit == _OPEN:
            slack += mass
    return under, slack


def _under(tree: PrefixTree, path: TokenPath) -> PrefixTree:
    for token in path:
        tree = tree[token]
    return tree


def _bit(tree: PrefixTree, path: TokenPath) -> int:
    return _OPEN if _under(tree, path) else FORBIDDEN


def hit_rates(
    model: Transformer,
    examples: SplitExamples,
    facts: Sequence[Example],
    forbidden: set[int],
    longest: int,
    accepts: Sequence[Any] | None = None,
) -> dict[str, float]:
    """Positive and negative H@1, H@5 and H@10."""
    bad = {examples.rules[rule] for rule in forbidden}
    counts = {f"hit_{sign}_{k}": 0 for sign in ("pos", "neg") for k in HITS}
    for start in range(0, len(facts), _BEAM_FACTS):
        part = facts[start : start + _BEAM_FACTS]
        tests = accepts[start : start + _BEAM_FACTS] if accepts is not None else None
        best_of = beam_search(model, [example.tokens for example in part], longest, BEAM, tests)
        for example, hypotheses in zip(part, best_of, strict=True):
            good = {examples.rules[rule] for rule in example.candidates}
            for k in HITS:
                first = [hypothesis.path for hypothesis in hypotheses[:k]]
                counts[f"hit_pos_{k}"] += any(path in good for path in first)
                counts[f"hit_neg_{k}"] += any(path in bad for path in first)
    return {name: count / len(facts) for name, count in counts.items()}


def ceilings(
    examples: SplitExamples, facts: Sequence[Example], forbidden: set[int], longest: int
) -> Mapping[str, float]:
    """How good any model could be.

    `ceiling_pos`: share of facts that some rule derives which is neither forbidden nor too long.
    `ceiling_seen`: share of facts that such a rule derives which also derives a training fact.
    """
    seen = {rule for example in examples.positives["train"] for rule in example.candidates}
    fine = [{r for r in e.candidates if r not in forbidden and len(examples.rules[r]) <= longest} for e in facts]
    return {
        "ceiling_pos": sum(bool(rules) for rules in fine) / len(facts),
        "ceiling_seen": sum(bool(rules & seen) for rules in fine) / len(facts),
    }
