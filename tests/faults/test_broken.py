"""Files of a run that are not what they should be, and links in the place of temporary ones."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.faults.broken import LINKS, READERS, check_broken, check_link, spoilt
from tests.faults.world import World

SHOW, RESUME, EVALUATE, PROPOSE, REVIEW, EXPORT, DIFF, _, EXTRACT, TRAIN = READERS


@pytest.mark.parametrize(
    ("file", "kind", "words"),
    [
        ("run/dataset/facts.parquet", "other columns", SHOW),
        ("run/dataset/facts.parquet", "cut", RESUME),
        ("run/dataset/manifest.json", "list", PROPOSE),
        ("run/dataset/manifest.json", "deep", SHOW),
        ("run/dataset/ontology.json", "list", PROPOSE),
        ("run/structure.json", "deep", PROPOSE),
        ("run/model/metrics.jsonl", "noise", RESUME),
        ("run/model/metrics.jsonl", "deep", PROPOSE),
        ("run/model/tokens.model", "empty", EVALUATE),
        ("run/model/tokens.model", "noise", RESUME),
        ("run/model/config.json", "list", EVALUATE),
        ("run/model/checkpoint.safetensors", "swapped", RESUME),
        ("run/model/checkpoint.safetensors", "cut", RESUME),
        ("facts.csv", "null", EXTRACT),
        ("shop.ttl", "deep", EXTRACT),
        ("shop.duckdb", "cut", EXTRACT),
    ],
)
def test_a_broken_file_is_one_line(world: World, tmp_path: Path, file: str, kind: str, words: tuple[str, ...]) -> None:
    place = tmp_path / "here"
    shutil.copytree(world.after("train"), place)
    other = (place / "run" / "model" / "model.safetensors").read_bytes()
    content = spoilt(kind, (place / file).read_bytes(), other, random.Random(1))
    assert check_broken(place, place / file, content, words) == ""


@pytest.mark.parametrize("name", LINKS)
def test_a_link_in_the_place_of_a_temporary_name_is_not_followed(world: World, tmp_path: Path, name: str) -> None:
    place = tmp_path / "here"
    shutil.copytree(world.after("train"), place)
    words = TRAIN if "model" in name or "training" in name else PROPOSE if "propos" in name else EXTRACT
    assert check_link(place, name, words) == ""
