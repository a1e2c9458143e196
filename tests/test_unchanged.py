"""Datasets and mappings of RODI's scenarios are, to the byte, what they were.

`fixtures/unchanged.json` holds a hash of each table and file. The paper's datasets ("recipe cmt") are those of version
0.1.0. What is made of two whole scenarios was taken anew for 0.2.0, whose templates join within spaces, whose entities
are named by them, and which takes examples at their word: it guards against changes that nobody meant. A change that is
meant says so in the changelog, and replaces the hashes. One dataset of the paper is tried each time; all of them with
RULEMINER_ALL=1.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ruleminer.extraction import request
from ruleminer.extraction.recipes import read_recipe
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings

EXPECTED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "fixtures" / "unchanged.json").read_text("utf-8")
)
ALL = bool(os.environ.get("RULEMINER_ALL"))
SCENARIOS = ("cmt_renamed", "conference_nofks")
PAPER = list(EXPECTED["recipe cmt"]) if ALL else ["cmt_renamed"]

pytestmark = [pytest.mark.data, pytest.mark.slow]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def table_hashes(dataset: Path) -> dict[str, str]:
    """Of the content, for a Parquet file's bytes also depend on who wrote it."""
    names = ("facts", "rules", "candidates", "unexplained")
    tables = {name: pq.read_table(dataset / f"{name}.parquet") for name in names}
    return {name: digest(repr([c.to_pylist() for c in table.columns]).encode()) for name, table in tables.items()}


@pytest.fixture(autouse=True)
def real(real_data: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEMINER_DATA", str(real_data))
    monkeypatch.setenv("RULEMINER_CACHE", str(tmp_path_factory.getbasetemp() / "unchanged"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_dataset_and_the_mapping_of_a_scenario(name: str, real_data: Path, tmp_path: Path) -> None:
    expected = EXPECTED["scenarios"][name]
    extract_datasets(ExtractRequest(out=tmp_path, scenario=real_data / "rodi" / name, positives=20))
    assert table_hashes(tmp_path / "dataset") == expected["dataset"]
    # From examples alone: what the network makes of other terms changes with its weights.
    proposed = propose_mappings(ProposeRequest(tmp_path, out=tmp_path / "mapping", ranker="evidence"))
    found = {path.name: digest(path.read_bytes()) for path in proposed.files if path.name in expected["mapping"]}
    assert found == expected["mapping"]


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_dataset(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "read_recipe", lambda *asked: replace(read_recipe(*asked), scenarios=(name,)))
    [folder] = extract_datasets(ExtractRequest(out=tmp_path, recipe="cmt"))
    assert table_hashes(folder) == EXPECTED["recipe cmt"][name]
