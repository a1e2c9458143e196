"""The trie gives the numbers of candidate-by-candidate scoring, and the mass outside them exactly."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.learn.edges import edge_log_probabilities
from ruleminer.learn.losses import LOSSES, libra
from ruleminer.learn.oracle import score_alone
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Size, Transformer
from ruleminer.learn.trie import (
    ALLOWED,
    FORBIDDEN,
    PrefixTree,
    TokenPath,
    Trie,
    build_trie,
    departures,
    pack,
    whole,
)

SMALL = Size(width=16, layers=2, heads=2)


def model_of(vocabulary: int, longest: int = 40, dtype: torch.dtype = torch.float64) -> Transformer:
    torch.manual_seed(0)
    return Transformer(vocabulary, SMALL, longest_input=12, longest_rule=longest).to(dtype)


def trie_of(allowed: list[TokenPath], forbidden: list[TokenPath] | None = None) -> Trie:
    return build_trie({**dict.fromkeys(allowed, ALLOWED), **dict.fromkeys(forbidden or [], FORBIDDEN)})


def random_facts(
    seed: int, facts: int = 5, most: int = 12, longest: int = 12
) -> tuple[list[list[int]], list[list[TokenPath]], list[list[TokenPath]]]:
    """Inputs, allowed paths and forbidden paths (where they leave the allowed ones), with shared prefixes."""
    draw = random.Random(seed)
    inputs = [[draw.randrange(4, 20) for _ in range(draw.randrange(1, 12))] for _ in range(facts)]
    allowed, forbidden = [], []
    for _ in range(facts):
        sequences = {
            tuple(draw.choice((4, 5, 6)) for _ in range(draw.randrange(0, longest)))
            for _ in range(draw.randrange(1, most))
        }
        others = {tuple(draw.choice((4, 5, 7)) for _ in range(draw.randrange(0, longest))) for _ in range(4)}
        paths = [whole(sequence) for sequence in sorted(sequences)]
        draw.shuffle(paths)
        allowed.append(paths)
        forbidden.append(departures(paths, PrefixTree.of(others - sequences)))
    return inputs, allowed, forbidden


@pytest.mark.parametrize("row_length", [16, 40, 512])
def test_trie_log_probabilities_and_gradients_equal_scoring_each_alone(row_length: int) -> None:
    inputs, allowed, forbidden = random_facts(seed=1)
    model = model_of(20)
    batch = pack(inputs, [trie_of(a, f) for a, f in zip(allowed, forbidden, strict=True)], row_length)
    scores = model(batch)
    alone = score_alone(model, inputs, [a + f for a, f in zip(allowed, forbidden, strict=True)])
    for fact, expected in enumerate(alone):
        assert torch.allclose(scores.log_p[fact, : len(expected)], expected, rtol=0, atol=1e-10)
        label = [ALLOWED] * len(allowed[fact]) + [FORBIDDEN] * len(forbidden[fact])
        assert scores.label[fact, : len(label)].tolist() == label

    grouped = score_alone(model, inputs, [a + f for a, f in zip(allowed, forbidden, strict=True)], rows_at_once=3)
    assert all(torch.allclose(one, two, rtol=0, atol=1e-10) for one, two in zip(alone, grouped, strict=True))

    packed_loss = libra(scores.outputs(), weighted=False).sum()
    packed = torch.autograd.grad(packed_loss, list(model.parameters()), allow_unused=True)
    plain_loss = torch.zeros((), dtype=torch.float64)
    for log_p in score_alone(model, inputs, allowed):
        plain_loss += torch.log1p(-log_p.exp().sum()) - log_p.mean()
    plain = torch.autograd.grad(plain_loss, list(model.parameters()), allow_unused=True)
    assert packed_loss.item() == pytest.approx(plain_loss.item(), abs=1e-10)
    for one, other in zip(packed, plain, strict=True):
        if one is not None or other is not None:
            assert torch.allclose(one, other, rtol=0, atol=1e-10)


def test_float32_is_within_rounding_of_float64() -> None:
    inputs, allowed, forbidden = random_facts(seed=2, longest=30)
    batch = pack(inputs, [trie_of(a, f) for a, f in zip(allowed, forbidden, strict=True)], 64)
    exact = model_of(200)(batch).log_p
    single = model_of(200).float()(batch).log_p
    assert exact.min() < -100
    assert (exact - single).abs().max() < 3e-4


def test_leak_equals_brute_force_over_all_sequences_of_a_tiny_vocabulary() -> None:
    model = model_of(6)  # tokens 0..5; a sequence ends with the end token
    allowed = [whole(s) for s in ((4, 5), (4,), (5, 5, 4), (4, 4))]
    forbidden = [(5, 4), (0,)]
    scores = model(pack([[4, 5]], [trie_of(allowed, forbidden)], 32))
    longest = 4
    others = [t for t in range(6) if t != Tokens.EOS]
    outside: list[TokenPath] = []
    for length in range(longest + 1):  # all whole sequences, and all unfinished ones of the longest length
        for body in itertools.product(others, repeat=length):
            outside.append(whole(body) if length < longest else body)
    outside = [p for p in outside if p not in allowed and not any(p[: len(f)] == f for f in forbidden)]
    mass = score_alone(model, [[4, 5]], [outside])[0].exp().sum()
    assert mass.item() == pytest.approx(scores.log_leak.exp().item(), abs=1e-12)
    total = scores.log_leak.exp() + scores.log_p.exp().sum()
    assert total.item() == pytest.approx(1.0, abs=1e-12)
    rest = scores.outputs().log_rest.exp()
    assert rest.item() == pytest.approx(1 - scores.log_mass(ALLOWED).exp().item(), abs=1e-12)
    assert scores.log_rest(FORBIDDEN).exp().item() == pytest.approx(1 - scores.log_mass(FORBIDDEN).exp().item())


def test_edge_softmax_equals_plain_tensor_code_and_survives_extremes() -> None:
    torch.manual_seed(0)
    nodes = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    embedding = torch.randn(9, 3, dtype=torch.float64, requires_grad=True)
    edge_node = torch.tensor([0, 0, 1, 3, 3, 3, 6])
    edge_token = torch.tensor([1, 8, 0, 2, 3, 4, 5])
    for scale in (1.0, 300.0):
        edge, rest = edge_log_probabilities(scale * nodes, embedding, edge_node, edge_token)
        logits = scale * nodes @ embedding.T
        masked = logits.index_put((edge_node, edge_token), torch.tensor(-math.inf, dtype=torch.float64))
        plain_edge = logits.log_softmax(-1)[edge_node, edge_token]
        plain_rest = masked.logsumexp(-1) - logits.logsumexp(-1)
        assert torch.allclose(edge, plain_edge, rtol=1e-12, atol=1e-12)
        assert torch.allclose(rest, plain_rest, rtol=1e-12, atol=1e-12)
        weight = torch.randn(7, dtype=torch.float64)
        got = torch.autograd.grad((edge + 2 * rest[edge_node]) @ weight, (nodes, embedding), retain_graph=True)
        want = torch.autograd.grad((plain_edge + 2 * plain_rest[edge_node]) @ weight, (nodes, embedding))
        for one, other in zip(got, want, strict=True):
            assert torch.allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if not loss.needs_all_outputs])
def test_every_sequence_loss_has_finite_gradients_on_a_trie(name: str) -> None:
    inputs, allowed, forbidden = random_facts(seed=3)
    allowed[2], forbidden[2] = [], []  # a fact with no candidate left
    model = model_of(20, dtype=torch.float32)
    batch = pack(inputs, [trie_of(a, f) for a, f in zip(allowed, forbidden, strict=True)], 32)
    scores = model(batch)
    loss = LOSSES[name](scores.outputs())
    assert loss[2] == 0
    (loss.sum() - scores.log_rest(FORBIDDEN)[[0, 1, 3, 4]].sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_trie_of_two_thousand_candidates_is_cut_into_rows() -> None:
    draw = random.Random(0)
    paths = sorted({whole([draw.randrange(4, 14) for _ in range(draw.randrange(3, 8))]) for _ in range(2000)})
    trie = trie_of(paths)
    assert len(trie) > 2000
    batch = pack([[4]], [trie], row_length=64)
    assert batch.tokens.shape[1] <= 64
    model = model_of(16)
    with torch.no_grad():
        scores = model(batch)
        expected = score_alone(model, [[4]], [paths[::100]])[0]
    assert torch.allclose(scores.log_p[0, : len(paths) : 100], expected, rtol=0, atol=1e-10)


sequences = st.sets(st.lists(st.integers(4, 6), max_size=6).map(tuple), max_size=8)


@given(allowed=sequences, forbidden=sequences)
def test_departures_cover_every_forbidden_rule_and_no_allowed_one(
    allowed: set[tuple[int, ...]], forbidden: set[tuple[int, ...]]
) -> None:
    paths = [whole(sequence) for sequence in allowed]
    left = departures(paths, PrefixTree.of(forbidden - allowed))
    for sequence in forbidden - allowed:
        assert sum(whole(sequence)[: len(path)] == path for path in left) == 1
    for path, departure in itertools.product(paths, left):
        assert path[: len(departure)] != departure


@given(st.lists(sequences.filter(bool), min_size=1, max_size=5), st.integers(8, 40))
def test_every_node_sees_its_ancestors_and_nothing_else(facts: list[set[tuple[int, ...]]], row_length: int) -> None:
    tries = [trie_of([whole(s) for s in sorted(fact)]) for fact in facts]
    batch = pack([[4]] * len(tries), tries, row_length)
    ancestors = batch.ancestors
    width = batch.tokens.shape[1]
    place = 0
    for fact, trie in enumerate(tries):
        for node in range(len(trie)):
            row, column = divmod(int(batch.node_place[place]), width)
            seen = batch.tokens[row][ancestors[row, column]].tolist()
            expected, up = [], node
            while up >= 0:
                expected.insert(0, int(trie.tokens[up]))
                up = int(trie.parent[up])
            assert seen == expected
            assert batch.depth[row, column] == len(expected) - 1
            assert batch.place_fact[row, column] == fact
            place += 1
