"""The words of vocabulary.toml: what values are made of, what random domains are named by, and their synonyms."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def vocabulary() -> dict[str, Any]:
    """The tables of vocabulary.toml."""
    return tomllib.loads(files(__package__).joinpath("domains", "vocabulary.toml").read_text("utf-8"))


def word_list(name: str) -> list[str]:
    """One of the lists that values are made of."""
    words: list[str] = vocabulary()["values"][name]
    return words


def word_synonyms(word: str) -> tuple[str, ...]:
    """Other words for a word, in lower case."""
    return tuple(vocabulary()["synonyms"].get(word.lower(), ()))
