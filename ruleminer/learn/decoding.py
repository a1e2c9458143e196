"""Beam search: the rules a model finds most probable for a fact, with cached keys, for many facts at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Transformer
from ruleminer.learn.trie import TokenPath

Accepts = Callable[[TokenPath], bool]
"""Whether a path (complete if it ends with the end token) is, or can become, one that is wanted."""


_HOPELESS = 20.0  # under a constraint, a continuation so far below one that is accepted is not looked for


@dataclass(frozen=True, order=True)
class Hypothesis:
    """A whole rule and its log-probability."""

    log_p: float
    path: TokenPath


@dataclass
class _Search:
    """The beam of one fact: `alive[i]` stands in the i-th of the fact's rows."""

    fact: int
    accepts: Accepts | None
    alive: list[Hypothesis] = field(default_factory=lambda: [Hypothesis(0.0, ())])
    finished: list[Hypothesis] = field(default_factory=list)

    def extend(self, scores: list[float], choices: list[int], vocabulary: int, beam: int) -> list[int] | None:
        """Take the best continuations; the rows they came from, or None if more choices are needed."""
        alive: list[Hypothesis] = []
        finished: list[Hypothesis] = []
        origins: list[int] = []
        hopeless = -math.inf
        for score, choice in zip(scores, choices, strict=True):
            if len(alive) == beam or score <= hopeless:
                break
            row, token = divmod(choice, vocabulary)
            path = (*self.alive[row].path, token)
            if self.accepts is not None:
                if not self.accepts(path):
                    continue
                hopeless = max(hopeless, score - _HOPELESS)
            if token == Tokens.EOS:
                finished.append(Hypothesis(score, path))
            else:
                alive.append(Hypothesis(score, path))
                origins.append(row)
        else:
            if len(choices) < len(self.alive) * vocabulary:
                return None
        self.alive = alive
        self.finished = sorted([*self.finished, *finished], reverse=True)[:beam]
        return origins

    def done(self, beam: int) -> bool:
        """No continuation can beat what is finished: probabilities only fall."""
        full = len(self.finished) == beam
        return not self.alive or (full and self.finished[-1].log_p >= self.alive[0].log_p)


@torch.no_grad()
def beam_search(
    model: Transformer,
    inputs: Sequence[Sequence[int]],
    longest: int,
    beam: int = 10,
    accepts: Sequence[Accepts] | None = None,
) -> list[list[Hypothesis]]:
    """For each fact, up to `beam` whole rules of at most `longest` tokens, the most probable first."""
    device = model.embedding.weight.device
    padded = pad_sequence([torch.tensor(i) for i in inputs], batch_first=True, padding_value=Tokens.PAD)
    memory, real = model.encode(padded.to(device))
    searches = [_Search(fact, accepts[fact] if accepts else None) for fact in range(len(inputs))]
    active = list(searches)
    rows = torch.arange(len(inputs), device=device)  # the fact of each row: as many rows as beams are alive
    keys_values = [block.memory(memory) for block in model.decoder_blocks]
    past: list[tuple[Tensor, Tensor]] | None = None
    last = torch.full((len(inputs),), Tokens.BOS, device=device)
    reach = torch.zeros(len(inputs), device=device, dtype=memory.dtype)
    for position in range(longest):
        x = (model.embedding(last) + model.rule_position.weight[position])[:, None]  # (rows, 1, d)
        fresh: list[tuple[Tensor, Tensor]] = []
        for i, block in enumerate(model.decoder_blocks):
            keys, values = (part[rows] for part in keys_values[i])
            mask = real[rows][:, None, None, :]
            x, now = block(x, None, keys, values, mask, past[i] if past else None)
            fresh.append(now)
        logits = model.output_norm(x[:, 0]) @ model.embedding.weight.T
        log_p = reach[:, None] + logits.log_softmax(-1)  # (rows, V)
        origins: list[int] = []
        going: list[_Search] = []
        offset = 0
        for search in active:
            count = len(search.alive)
            came_from = _extend(search, log_p[offset : offset + count].flatten(), logits.shape[1], beam)
            if not search.done(beam):
                going.append(search)
                origins.extend(offset + row for row in came_from)
            offset += count
        active = going
        if not active:
            break
        index = torch.tensor(origins, device=device)
        past = [(k[index], v[index]) for k, v in fresh]
        rows = rows[index]
        last = torch.tensor([h.path[-1] for s in active for h in s.alive], device=device)
        reach = torch.tensor([h.log_p for s in active for h in s.alive], device=device, dtype=memory.dtype)
    return [search.finished for search in searches]


def _extend(search: _Search, log_p: Tensor, vocabulary: int, beam: int) -> list[int]:
    """Extend a beam, looking at more and more continuations until enough of them are accepted."""
    look = 2 * beam
    while True:
        best = log_p.topk(min(look, len(log_p)))
        origins = search.extend(best.values.tolist(), best.indices.tolist(), vocabulary, beam)
        if origins is not None:
            return origins
        look *= 8
