"""The model: an encoder of facts and a decoder of rules that reads a whole trie in one pass.

Pre-norm, one embedding for inputs, outputs and the final softmax. A place of the trie sees its ancestors; its
position is its depth. Keys and values of a fact are computed once per layer, however many rows it fills.

Shapes: F facts of S tokens, R rows of N places, G facts to a row, T nodes, E edges, V tokens, d features, h heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ruleminer.learn.edges import edge_log_probabilities
from ruleminer.learn.losses import Outputs
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.trie import ALLOWED, Batch


@dataclass(frozen=True)
class Size:
    """The dimensions of a model."""

    width: int
    layers: int  # in the encoder, and as many in the decoder
    heads: int


SIZES = {
    "tiny": Size(32, 1, 2),
    "small": Size(64, 2, 2),
    "paper-cmt": Size(128, 4, 4),
    "paper-npd": Size(32, 3, 4),
}


class Transformer(nn.Module):
    """p(rule | fact), token by token."""

    def __init__(self, vocabulary: int, size: Size, longest_input: int, longest_rule: int) -> None:
        super().__init__()
        d = size.width
        self.embedding = nn.Embedding(vocabulary, d)
        self.input_position = nn.Embedding(longest_input, d)
        self.rule_position = nn.Embedding(longest_rule + 1, d)
        self.encoder = nn.ModuleList(EncoderBlock(d, size.heads) for _ in range(size.layers))
        self.decoder = nn.ModuleList(DecoderBlock(d, size.heads) for _ in range(size.layers))
        self.memory_norm, self.output_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.apply(_initialise)
        for name, weight in self.named_parameters():
            if name.endswith("out.weight"):  # the sum of 2–3 branches per layer keeps the scale of one
                nn.init.normal_(weight, std=0.5 / math.sqrt(d * 2 * size.layers))

    @property
    def decoder_blocks(self) -> list[DecoderBlock]:
        """The decoder's layers, with their type."""
        return list(self.decoder)  # type: ignore[arg-type]

    def encode(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Facts (F, S) → memory (F, S, d), and which of its places are real (F, S)."""
        real = inputs != Tokens.PAD
        x = self.embedding(inputs) + self.input_position.weight[: inputs.shape[1]]
        for block in self.encoder:
            x = block(x, real[:, None, None, :])
        return self.memory_norm(x), real

    def forward(self, batch: Batch) -> Scores:
        """The log-probabilities of all leaves, and the mass that leaks."""
        memory, real = self.encode(batch.inputs)
        ancestors = batch.ancestors  # (R, N, N)
        groups = batch.memory_fact  # (R, G)
        mine = batch.place_fact[:, :, None, None] == groups[:, None, :, None]  # (R, N, G, 1)
        cross_mask = (mine & real[groups.clamp(min=0)][:, None]).flatten(2)  # (R, N, G·S)
        x = self.embedding(batch.tokens) + self.rule_position(batch.depth)
        for block in self.decoder_blocks:
            keys, values = (part[groups.clamp(min=0)].flatten(1, 2) for part in block.memory(memory))  # (R, G·S, d)
            x, _ = block(x, ancestors[:, None], keys, values, cross_mask[:, None])
        nodes = self.output_norm(x.flatten(0, 1).index_select(0, batch.node_place))  # (T, d)
        weight = self.embedding.weight
        with torch.autocast(weight.device.type, enabled=False):
            edge_log_p, leak = edge_log_probabilities(nodes.to(weight.dtype), weight, batch.edge_node, batch.edge_token)
        # log P(place) sums the edges on its path: those of its ancestors and its own.
        steps = functional.pad(edge_log_p, (0, 1))[batch.place_edge]  # (R, N)
        reach = torch.einsum("rij,rj->ri", ancestors.to(steps.dtype), steps).flatten()  # (R·N,)
        node_reach = reach.index_select(0, batch.node_place)  # (T,)
        leaf_log_p = edge_log_p + node_reach[batch.edge_node]  # (E,); read at leaves only
        log_leak = functional.pad(node_reach + leak, (0, 1), value=-math.inf)[batch.fact_nodes].logsumexp(-1)  # (F,)
        return Scores(functional.pad(leaf_log_p, (0, 1))[batch.leaf_edge], batch.leaf_label, log_leak)


@dataclass(frozen=True)
class Scores:
    """Where the probability of each fact's trie goes."""

    log_p: Tensor  # (F, K) of each leaf
    label: Tensor  # (F, K) the sets a leaf is in, as bits; 0 for padding
    log_leak: Tensor  # (F,) of all that is in no leaf

    def log_mass(self, bit: int) -> Tensor:
        """(F,) the log of the mass in leaves of a set, −inf where there are none."""
        return _logsumexp_where(self.log_p, self.label & bit != 0)

    def log_rest(self, bit: int) -> Tensor:
        """(F,) log(1 − mass in leaves of a set), as a sum of what is elsewhere."""
        elsewhere = _logsumexp_where(self.log_p, (self.label & bit == 0) & (self.label != 0))
        return torch.logaddexp(self.log_leak, elsewhere)

    def outputs(self, bit: int = ALLOWED) -> Outputs:
        """What a loss needs to know of a set of rules."""
        return Outputs(self.log_p, self.label & bit != 0, self.log_rest(bit))


class EncoderBlock(nn.Module):
    """Self-attention and a feed-forward layer."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.attention_out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.feed_forward = FeedForward(d)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        x = x + self.attention_out(attend(q, k, v, mask, self.heads))
        new: Tensor = x + self.feed_forward(self.norm2(x))
        return new


class DecoderBlock(nn.Module):
    """Self-attention over the ancestors, attention to the fact, and a feed-forward layer."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.attention_out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.cross_q, self.cross_kv, self.cross_out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.feed_forward = FeedForward(d)

    def memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the facts, (F, S, d) each."""
        keys, values = self.cross_kv(memory).chunk(2, dim=-1)
        return keys, values

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory_k: Tensor,
        memory_v: Tensor,
        memory_mask: Tensor,
        past: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The new features, and keys and values to hand back as `past` when decoding step by step."""
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        x = x + self.attention_out(attend(q, k, v, mask, self.heads))
        x = x + self.cross_out(attend(self.cross_q(self.norm2(x)), memory_k, memory_v, memory_mask, self.heads))
        return x + self.feed_forward(self.norm3(x)), (k, v)


class FeedForward(nn.Module):
    """Two linear layers, four times as wide in between."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.up, self.down_out = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_out(functional.gelu(self.up(x)))  # type: ignore[no-any-return]


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, heads: int) -> Tensor:
    """Attention of (B, Q, d) to (B, K, d) under a mask that broadcasts to (B, h, Q, K)."""
    q, k, v = (part.view(*part.shape[:2], heads, -1).transpose(1, 2) for part in (q, k, v))  # (B, h, ·, d/h)
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2)


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=1 / math.sqrt(module.in_features))
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=1 / math.sqrt(module.embedding_dim))


def _logsumexp_where(values: Tensor, where: Tensor) -> Tensor:
    """logsumexp over the last axis of the places that count; −inf, without gradient, if there are none."""
    some = where.any(-1)
    safe = values.masked_fill(~where, -math.inf).masked_fill(~some[:, None], 0.0)
    return safe.logsumexp(-1).masked_fill(~some, -math.inf)
