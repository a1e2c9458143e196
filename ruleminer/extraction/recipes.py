"""The paper's datasets by recipe: small files that say which scenarios, templates and samples."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.extraction.pipeline import ExtractOptions
from ruleminer.extraction.sampling import Negatives

_RECIPES = Path(__file__).parent / "recipes"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make some datasets: one per scenario, from folders of that name."""

    name: str
    scenarios: tuple[str, ...]
    templates: tuple[str, ...]
    predicates: tuple[str, ...]  # empty: all
    options: ExtractOptions


def recipe_names() -> list[str]:
    """The recipes there are."""
    return sorted(path.stem for path in _RECIPES.glob("*.toml"))


def read_recipe(name: str, seed: int = 0) -> Recipe:
    """A recipe by name."""
    path = _RECIPES / f"{name}.toml"
    if not path.is_file():
        raise InputError(f"no recipe {name!r}; there are {', '.join(recipe_names())}")
    content = tomllib.loads(path.read_text("utf-8"))
    options = replace(
        ExtractOptions(seed=seed),
        positives=content["positives"],
        negatives=Negatives(content["negatives"]),
        max_candidates=content["max_candidates"],
        exhaustive=True,
        transformations=False,
    )
    return Recipe(
        name,
        tuple(content["scenarios"]),
        tuple(content["templates"]),
        tuple(content.get("predicates", ())),
        options,
    )
