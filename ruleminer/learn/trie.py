"""Candidate rules as a tree: one decoder pass over shared prefixes, with the mass outside the set exactly.

A trie has *nodes* (proper prefixes of the candidates, the root is the start token) and *leaves* (edges that
end the tree): an allowed candidate, complete with its end token, or the first token by which some forbidden
rule leaves the tree. All probability that is not in a leaf *leaks* at some node:

    1 = Σ_leaves p  +  Σ_nodes P(node) · (mass of tokens that are neither child nor leaf there)

so the complement of any set of leaves is a sum of positive terms and log(1 − Σp) never cancels.

`pack` lays the tries of many facts out in rows of equal length, in preorder: the ancestors of the node at i are
the j ≤ i whose subtree ends behind i. A trie longer than a row is cut, and each piece repeats the path to its
first node. Short ones share a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ruleminer.learn.tokens import Tokens

ALLOWED, FORBIDDEN = 1, 2  # labels are bits: a leaf may be in several sets
Ints = NDArray[np.int64]
TokenPath = tuple[int, ...]  # tokens from the root on; that of a whole rule ends with the end token


class PrefixTree(dict[int, "PrefixTree"]):
    """Sequences by their first token, and so on; a node without children ends a rule."""

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> PrefixTree:
        """The tree of whole rules (given without their end token)."""
        root = cls()
        for sequence in sequences:
            node = root
            for token in (*sequence, Tokens.EOS):
                node = node.setdefault(token, cls())
        return root

    def paths(self, start: TokenPath, levels: int) -> list[TokenPath]:
        """The paths under this node, cut off below some levels."""
        if not self or levels == 0:
            return [start]
        return [path for token, child in self.items() for path in child.paths((*start, token), levels - 1)]


def departures(paths: Iterable[TokenPath], tree: PrefixTree) -> list[TokenPath]:
    """Where the rules of `tree` leave the paths: each shortest prefix of one that is not a prefix of a path."""
    own = PrefixTree()
    for path in paths:
        node, seen = own, tree
        for token in path:
            if token not in seen:
                break
            node, seen = node.setdefault(token, PrefixTree()), seen[token]
    found: list[TokenPath] = []

    def walk(start: TokenPath, ours: PrefixTree, theirs: PrefixTree) -> None:
        for token, child in theirs.items():
            if token not in ours:
                found.append((*start, token))
            else:
                walk((*start, token), ours[token], child)

    walk((), own, tree)
    return found


@dataclass(frozen=True, eq=False)
class Trie:
    """The tree of one fact; nodes in preorder, node 0 is the root."""

    tokens: Ints  # (n,) the token that leads to the node
    parent: Ints  # (n,) −1 for the root
    depth: Ints  # (n,)
    end: Ints  # (n,) where the node's subtree ends
    leaf_node: Ints  # (k,) the node a leaf hangs on
    leaf_token: Ints  # (k,)
    leaf_label: Ints  # (k,) the sets it is in, as bits

    def __len__(self) -> int:
        return len(self.tokens)


def whole(sequence: Sequence[int]) -> TokenPath:
    """The path of a whole rule."""
    return (*sequence, Tokens.EOS)


def build_trie(labels: Mapping[TokenPath, int]) -> Trie:
    """The trie with these leaves, kept in this order. No path may be another's beginning."""
    order = sorted(enumerate(labels), key=lambda leaf: leaf[1])
    leaves = np.empty((3, len(labels)), dtype=np.int64)
    tokens, parent, depth, end = [Tokens.BOS], [-1], [0], [0]
    trail: list[int] = [0]  # the nodes from the root to the last path's end
    previous: TokenPath = ()
    for leaf, path in order:
        inner = path[:-1]
        shared = _shared_length(inner, previous)
        for node in trail[shared + 1 :]:
            end[node] = len(tokens)
        del trail[shared + 1 :]
        for token in inner[shared:]:
            tokens.append(token)
            parent.append(trail[-1])
            depth.append(len(trail))
            end.append(0)
            trail.append(len(tokens) - 1)
        leaves[:, leaf] = trail[-1], path[-1], labels[path]
        previous = inner
    for node in trail:
        end[node] = len(tokens)
    return Trie(*(np.array(values, dtype=np.int64) for values in (tokens, parent, depth, end)), *leaves)


def _shared_length(one: TokenPath, other: TokenPath) -> int:
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared


@dataclass(frozen=True, eq=False)
class Batch:
    """The inputs and tries of F facts in R rows of N places; T nodes, E edges (T − F inner ones, then leaves)."""

    inputs: Tensor  # (F, S) tokens of the facts
    tokens: Tensor  # (R, N)
    depth: Tensor  # (R, N)
    end: Tensor  # (R, N) where a place's subtree ends within the row
    place_fact: Tensor  # (R, N) which fact a place belongs to
    memory_fact: Tensor  # (R, G) the facts that share a row, −1 for none
    place_edge: Tensor  # (R, N) the edge that leads to the place, E for roots and padding
    node_place: Tensor  # (T,) where each node stands (its first copy), as index into R·N
    edge_node: Tensor  # (E,) the node an edge leaves from
    edge_token: Tensor  # (E,)
    fact_nodes: Tensor  # (F, M) the nodes of a fact, T for padding
    leaf_edge: Tensor  # (F, K) the leaves of a fact, E for padding
    leaf_label: Tensor  # (F, K) 0 for padding

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return Batch(**{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})

    @property
    def ancestors(self) -> Tensor:
        """(R, N, N) whether the place in the third axis is the one in the second or an ancestor of it."""
        place = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return (place <= place[:, None]) & (place[:, None] < self.end[:, None, :])


def pack(inputs: Sequence[Sequence[int]], tries: Sequence[Trie], row_length: int = 128) -> Batch:
    """Facts and their tries as one batch; rows hold `row_length` places, more only if a path is longer."""
    deepest = max(int(trie.depth.max()) for trie in tries)
    row_length = max(row_length, deepest + 8)
    sizes = [len(trie) for trie in tries]
    first_node = np.cumsum([0, *sizes])  # of each fact among all T nodes
    first_leaf = np.cumsum([0, *(len(trie.leaf_node) for trie in tries)])
    inner = int(first_node[-1]) - len(tries)
    edges = inner + int(first_leaf[-1])

    rows = _rows(tries, row_length)
    width = max(sum(piece.length for piece in row) for row in rows)
    shape = (len(rows), width)
    tokens, depth = np.full(shape, Tokens.PAD), np.zeros(shape, dtype=np.int64)
    end = np.broadcast_to(np.arange(1, width + 1), shape).copy()
    place_fact, place_edge = np.zeros(shape, dtype=np.int64), np.full(shape, edges)
    memory_fact = np.full((len(rows), max(len({p.fact for p in row}) for row in rows)), -1)
    node_place = np.empty(int(first_node[-1]), dtype=np.int64)
    for r, row in enumerate(rows):
        facts = list(dict.fromkeys(piece.fact for piece in row))
        memory_fact[r, : len(facts)] = facts
        place_fact[r] = facts[0]
        start = 0
        for piece in row:
            trie, nodes = tries[piece.fact], np.concatenate([piece.path, np.arange(piece.first, piece.last)])
            span = slice(start, start + len(nodes))
            tokens[r, span], depth[r, span] = trie.tokens[nodes], trie.depth[nodes]
            within = np.minimum(trie.end[nodes], piece.last) - piece.first + len(piece.path)
            end[r, span] = start + within
            place_fact[r, span] = piece.fact
            # Node v > 0 of fact f is reached by inner edge (first_node[f] + v) − f − 1: roots have none.
            edge = first_node[piece.fact] - piece.fact - 1 + nodes
            place_edge[r, span] = np.where(nodes > 0, edge, edges)
            own = start + len(piece.path)
            places = np.arange(own, own + piece.last - piece.first) + r * width
            node_place[first_node[piece.fact] + np.arange(piece.first, piece.last)] = places
            start += len(nodes)

    edge_node = [trie.parent[1:] + first for trie, first in zip(tries, first_node, strict=False)]
    edge_node += [trie.leaf_node + first for trie, first in zip(tries, first_node, strict=False)]
    edge_token = [trie.tokens[1:] for trie in tries] + [trie.leaf_token for trie in tries]
    leaves = [np.arange(inner + a, inner + b) for a, b in pairwise(first_leaf)]
    arrays = (
        _padded(inputs, Tokens.PAD),
        *(tokens, depth, end, place_fact, memory_fact, place_edge, node_place),
        *(np.concatenate(edge_node), np.concatenate(edge_token)),
        _padded([np.arange(a, b) for a, b in pairwise(first_node)], int(first_node[-1])),
        _padded(leaves, edges),
        _padded([trie.leaf_label for trie in tries], 0),
    )
    return Batch(*(torch.from_numpy(np.ascontiguousarray(array)) for array in arrays))


@dataclass(frozen=True)
class _Piece:
    """The nodes [first, last) of a fact's trie, and the path of ancestors that goes before them."""

    fact: int
    path: Ints
    first: int
    last: int

    @property
    def length(self) -> int:
        return len(self.path) + self.last - self.first


def _rows(tries: Sequence[Trie], length: int) -> list[list[_Piece]]:
    """Pieces of all tries, longest first, each in the first row that has room."""
    pieces = [piece for fact, trie in enumerate(tries) for piece in _pieces(fact, trie, length)]
    rows: list[list[_Piece]] = []
    room: list[int] = []
    for piece in sorted(pieces, key=lambda piece: -piece.length):
        row = next((r for r, free in enumerate(room) if free >= piece.length), len(rows))
        if row == len(rows):
            rows.append([])
            room.append(length)
        rows[row].append(piece)
        room[row] -= piece.length
    return rows


def _pieces(fact: int, trie: Trie, length: int) -> Iterable[_Piece]:
    first = 0
    while first < len(trie):
        path: list[int] = []
        node = int(trie.parent[first])
        while node >= 0:
            path.append(node)
            node = int(trie.parent[node])
        last = min(len(trie), first + length - len(path))
        yield _Piece(fact, np.array(path[::-1], dtype=np.int64), first, last)
        first = last


def _padded(rows: Sequence[Sequence[int] | Ints], fill: int) -> Ints:
    width = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), max(width, 1)), fill)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded
