"""Vectors of words in which synonyms, and things and their kinds, lie near each other: made once, from WordNet.

WordNet (Princeton University) is read where the vectors are made, and only there: it is no part of the project, and
what is kept is a row of small numbers for each word that people use. Words are related by the senses they share (the
first ones most), by the kinds that senses are of, and by what is derived from what; the vectors are the leading
singular ones of a few steps of a walk along these relations.

    python -m ruleminer.pretraining.lexicon WORDNET/dict ruleminer/structure
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags
from scipy.sparse.linalg import svds

from ruleminer.structure.lexicon import save_lexicon

WORDS, DIMENSIONS = 28_000, 96
_FILES = ("noun", "verb", "adj", "adv")
_POINTERS = {  # to what is above, to what is derived, to what is alike: what a step there weighs, and a step back
    **dict.fromkeys(("@",), (1.0, 0.2)),
    **dict.fromkeys(("+", "\\", "<"), (0.8, 0.8)),
    **dict.fromkeys(("&", "^", "$", ">"), (0.5, 0.5)),
}
_KEPT = 0.5  # of a step of the walk, what goes on to the next
_STEPS = 3

Synset = tuple[str, int]


def _synsets(folder: Path) -> Iterator[tuple[Synset, list[str], list[tuple[str, Synset]]]]:
    """Each synset with its words and its pointers."""
    for part in _FILES:
        for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
            if line.startswith(" "):  # the licence
                continue
            fields = line.partition(" | ")[0].split()
            count = int(fields[3], 16)
            words = [fields[4 + 2 * n].partition("(")[0].lower() for n in range(count)]
            start = 5 + 2 * count
            pointers = [
                (fields[at], (fields[at + 2].replace("s", "a"), int(fields[at + 1])))
                for at in range(start, start + 4 * int(fields[start - 1]), 4)
            ]
            yield (fields[2].replace("s", "a"), int(fields[0])), words, pointers


def _ranks(folder: Path) -> tuple[Mapping[tuple[str, Synset], int], Mapping[str, int]]:
    """Which sense of a word a synset is, the first one being 1; how often each word was met."""
    ranks: dict[tuple[str, Synset], int] = {}
    met: dict[str, int] = defaultdict(int)
    kinds = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
    for line in (folder / "index.sense").read_text("latin-1").splitlines():
        key, offset, number, count = line.split()
        word, _, rest = key.partition("%")
        ranks[word, (kinds[rest[0]], int(offset))] = int(number)
        met[word] += int(count) + 1
    return ranks, met


def word_vectors(folder: Path) -> tuple[list[str], np.ndarray]:
    """The most frequent words, in order of the alphabet, and a row of length one for each."""
    ranks, met = _ranks(folder)
    plain = [word for word in met if word.isascii() and word.isalpha() and len(word) > 1]
    words = sorted(sorted(plain, key=lambda word: (-met[word], len(word), word))[:WORDS])
    number = {word: place for place, word in enumerate(words)}
    place: dict[Synset, int] = {}
    rows: list[tuple[int, int, float]] = []  # word, synset, weight
    between: list[tuple[int, int, float]] = []  # synsets
    known = list(_synsets(folder))
    for synset, _, _ in known:
        place[synset] = len(place)
    for synset, members, pointers in known:
        for word in members:
            if word in number:
                rows.append((number[word], place[synset], 1.0 / ranks.get((word, synset), 9)))
        for symbol, other in pointers:
            if symbol in _POINTERS and other in place:
                forth, back = _POINTERS[symbol]
                between += [(place[synset], place[other], forth), (place[other], place[synset], back)]
    senses = _matrix(rows, (len(words), len(place)))
    senses = _shared(senses, 1)
    step = _shared(_matrix(between, (len(place), len(place))), 1)
    reached, now = senses, senses
    for _ in range(_STEPS):
        now = _KEPT * (now @ step)
        reached = reached + now
    common = np.asarray((reached > 0).sum(axis=0)).ravel()
    weighted = reached.sqrt() @ diags(np.log(len(words) / np.maximum(1, common)))
    start = np.ones(min(weighted.shape)) / np.sqrt(min(weighted.shape))
    left, values, _ = svds(weighted.tocsr(), k=DIMENSIONS, v0=start)
    vectors = left * np.sqrt(values)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return words, np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0).astype(np.float32)


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> csr_matrix:
    rows, columns, weights = zip(*entries, strict=True)
    return coo_matrix((weights, (rows, columns)), shape).tocsr()


def _shared(matrix: csr_matrix, axis: int) -> csr_matrix:
    """The matrix with rows that add up to one."""
    total = np.asarray(matrix.sum(axis=axis)).ravel()
    return (diags(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)) @ matrix).tocsr()


if __name__ == "__main__":
    save_lexicon(Path(sys.argv[2]), *word_vectors(Path(sys.argv[1])))
