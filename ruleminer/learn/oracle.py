"""Candidates scored one by one, padded: slow and plain, what the trie is held against in tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Transformer
from ruleminer.learn.trie import Path


def score_alone(model: Transformer, inputs: Sequence[Sequence[int]], paths: Sequence[Sequence[Path]]) -> list[Tensor]:
    """For each fact, the log-probability of each of its paths, by teacher forcing on one row per path."""
    facts = pad_sequence([torch.tensor(i) for i in inputs], batch_first=True, padding_value=Tokens.PAD)
    memory, real = model.encode(facts)
    owner = torch.tensor([fact for fact, own in enumerate(paths) for _ in own])
    flat = [torch.tensor(path) for own in paths for path in own]
    targets = pad_sequence(flat, batch_first=True, padding_value=Tokens.PAD)  # (C, L)
    starts = torch.full_like(targets[:, :1], Tokens.BOS)
    x = model.embedding(torch.cat([starts, targets[:, :-1]], 1)) + model.rule_position.weight[: targets.shape[1]]
    causal = torch.ones(targets.shape[1], targets.shape[1], dtype=torch.bool).tril()
    for block in model.decoder_blocks:
        keys, values = block.memory(memory[owner])
        x, _ = block(x, causal, keys, values, real[owner][:, None, None, :])
    log_p = (model.output_norm(x) @ model.embedding.weight.T).log_softmax(-1)
    padding = torch.arange(targets.shape[1]) >= torch.tensor([len(path) for path in flat])[:, None]
    chosen = log_p.gather(-1, targets[..., None]).squeeze(-1).masked_fill(padding, 0.0)
    return list(chosen.sum(-1).split([len(own) for own in paths]))
