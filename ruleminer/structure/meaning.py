"""What words mean: vectors of names, in which author lies near writer and staff near employee.

The vectors are those that the package wordllama carries (MIT licence, 16 MB, static: a row for each piece of a word).
It need not be there: without it names are compared by their letters and as words of one kind (`lexicon.py`), and
whoever decides says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruleminer.structure.words import SAYS_LITTLE, words

Floats = NDArray[np.float32]

PACKAGE = "wordllama"
_TOKENS, _VECTORS = "tokenizers/l2_supercat_tokenizer_config.json", "weights/l2_supercat_256.safetensors"


class Meaning:
    """Vectors of names, of length one; a name without words has the zero vector."""

    def __init__(self, tokens: Any, vectors: Floats) -> None:
        self._tokens, self._vectors = tokens, vectors
        self._known: dict[str, Floats] = {}

    def vectors(self, names: Sequence[str]) -> Floats:
        """A row for each name: (names, dimension)."""
        if not names:
            return np.zeros((0, self._vectors.shape[1]), np.float32)
        return np.stack([self._vector(name) for name in names])

    def _vector(self, name: str) -> Floats:
        if name not in self._known:
            own = words(name)
            spoken = " ".join([word for word in own if word not in SAYS_LITTLE] or own)
            pieces = self._tokens.encode(spoken, add_special_tokens=False).ids if spoken else []
            mean = self._vectors[pieces].mean(axis=0) if pieces else np.zeros(self._vectors.shape[1], np.float32)
            length = float(np.linalg.norm(mean))
            self._known[name] = mean / length if length else mean
        return self._known[name]


@cache
def meaning() -> Meaning | None:
    """The vectors of the installed package; None if it is not there."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations or find_spec("tokenizers") is None:
        return None
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    home = Path(found.submodule_search_locations[0])
    if not ((home / _TOKENS).is_file() and (home / _VECTORS).is_file()):
        return None
    (vectors,) = load_file(home / _VECTORS).values()
    return Meaning(Tokenizer.from_file(str(home / _TOKENS)), vectors.astype(np.float32))
