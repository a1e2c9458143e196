"""Candidates scored one by one, padded: slow and plain, what the trie is held against in tests and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Transformer
from ruleminer.learn.trie import TokenPath


def score_alone(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    paths: Sequence[Sequence[TokenPath]],
    rows_at_once: int | None = None,
) -> list[Tensor]:
    """For each fact, the log-probability of each of its paths, by teacher forcing on one row per path.

    With `rows_at_once` the rows are sorted by length and padded in groups, which is as good as padding gets.
    """
    facts = pad_sequence([torch.tensor(i) for i in inputs], batch_first=True, padding_value=Tokens.PAD)
    memory, real = model.encode(facts)
    rows = [(fact, path) for fact, own in enumerate(paths) for path in own]
    order = range(len(rows)) if rows_at_once is None else sorted(range(len(rows)), key=lambda i: len(rows[i][1]))
    groups = [list(order)[i : i + (rows_at_once or len(rows))] for i in range(0, len(rows), rows_at_once or len(rows))]
    scored = [_score(model, memory, real, [rows[i] for i in group]) for group in groups]
    back = torch.tensor([i for group in groups for i in group]).argsort()
    return list(torch.split(torch.cat(scored)[back], [len(own) for own in paths]))


def _score(model: Transformer, memory: Tensor, real: Tensor, rows: Sequence[tuple[int, TokenPath]]) -> Tensor:
    owner = torch.tensor([fact for fact, _ in rows])
    targets = pad_sequence([torch.tensor(path) for _, path in rows], batch_first=True, padding_value=Tokens.PAD)
    starts = torch.full_like(targets[:, :1], Tokens.BOS)  # targets are (C, L)
    x = model.embedding(torch.cat([starts, targets[:, :-1]], 1)) + model.rule_position.weight[: targets.shape[1]]
    causal = torch.ones(targets.shape[1], targets.shape[1], dtype=torch.bool).tril()
    for block in model.decoder_blocks:
        keys, values = block.memory(memory[owner])
        x, _ = block(x, causal, keys, values, real[owner][:, None, None, :])
    log_p = (model.output_norm(x) @ model.embedding.weight.T).log_softmax(-1)
    padding = torch.arange(targets.shape[1]) >= torch.tensor([len(path) for _, path in rows])[:, None]
    chosen: Tensor = log_p.gather(-1, targets[..., None]).squeeze(-1)
    return chosen.masked_fill(padding, 0.0).sum(-1)
