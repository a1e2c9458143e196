"""Which words mean nearly the same, or one a kind of the other: salary and remuneration, employee and person.

A row of small numbers for each of the words that people use most, which comes with ruleminer. They were worked out from
WordNet's senses (`pretraining/lexicon.py`), of which nothing else is kept; words that it does not know are compared by
their letters only, elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from ruleminer.structure.words import SAYS_LITTLE, words

Floats = NDArray[np.float32]

FILE = "lexicon.safetensors"
_SCALE = 127.0


@dataclass(frozen=True)
class Names:
    """Some names: how many there are, which of them have words that are known, and the vectors of these, in order."""

    number: int
    filled: NDArray[np.int64]
    counts: NDArray[np.int64]  # words of each
    vectors: Floats  # (words, dimensions)


class Lexicon:
    """Words with their vectors, of length one."""

    def __init__(self, known: Sequence[str], vectors: Floats) -> None:
        self._place: Mapping[str, int] = {word: number for number, word in enumerate(known)}
        self._vectors = vectors
        self._names: dict[str, Floats] = {}

    def read(self, names: Sequence[str]) -> Names:
        """Names with the vectors of their words, to be compared with titles."""
        rows = [self._of(name) for name in names]
        filled = [number for number, one in enumerate(rows) if len(one)]
        counts = np.array([len(rows[number]) for number in filled], np.int64)
        together = np.concatenate(rows) if rows else np.zeros((0, self._vectors.shape[1]), np.float32)
        return Names(len(names), np.array(filled, np.int64), counts, together)

    def near(self, names: Names, titles: Sequence[str]) -> Floats:
        """How near each name is to the nearest of some titles, from 0 to 1: word by word, the mean of both ways."""
        found = np.zeros(names.number, np.float32)
        for title in titles:
            own = self._of(title)
            if len(own) and len(names.filled):
                alike = np.maximum(names.vectors @ own.T, 0.0)  # (words of all names, words of the title)
                starts = np.cumsum(names.counts) - names.counts
                there = np.maximum.reduceat(alike, starts, axis=0).mean(axis=1)
                back = np.add.reduceat(alike.max(axis=1), starts) / names.counts
                both = 2 * there * back / np.maximum(there + back, 1e-6)
                found[names.filled] = np.maximum(found[names.filled], both)
        return found

    def _of(self, name: str) -> Floats:
        """The vectors of a name's words, those that say little and those that nobody knows left out."""
        if name not in self._names:
            own = words(name)
            spoken = [word for word in own if word not in SAYS_LITTLE] or own
            places = [place for word in spoken if (place := self._of_word(word)) is not None]
            self._names[name] = self._vectors[places]
        return self._names[name]

    def _of_word(self, word: str) -> int | None:
        """The place of a word, or of what it is a form of: `posted`, `begins`, `ending`."""
        for ending, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) > 1:
                place = self._place.get(word[: len(word) - len(ending)] + instead)
                if place is not None:
                    return place
        return None


_ENDINGS = (("", ""), ("s", ""), ("es", ""), ("d", ""), ("ed", ""), ("ing", ""), ("ing", "e"))


@cache
def lexicon() -> Lexicon:
    """The words that the package carries."""
    known = load_file(Path(str(files("ruleminer") / "structure" / FILE)))
    vectors = known["vectors"].astype(np.float32) / np.float32(_SCALE)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return Lexicon(known["words"].tobytes().decode("ascii").split("\n"), vectors / np.maximum(length, 1e-6))


def save_lexicon(folder: Path, known: Sequence[str], vectors: Floats) -> None:
    """Write words and vectors, a byte for each number."""
    spoken = np.frombuffer("\n".join(known).encode("ascii"), np.uint8)
    widest = np.abs(vectors).max(axis=1, keepdims=True)
    small = np.rint(vectors / np.maximum(widest, 1e-6) * _SCALE).astype(np.int8)
    save_file({"words": spoken, "vectors": small}, folder / FILE)
