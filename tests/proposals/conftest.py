"""Runs to propose for: generated scenarios, extracted; and the command line as a user meets it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from ruleminer import demo
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.scenarios.generate import generate_scenario
from tests.command_line import Run as Cli
from tests.command_line import runner

# Small enough to propose for it in about a second.
_LIBRARY = """
name = "library"
namespace = "http://library.example/ontology#"

[classes.Person]
size = 60
subclasses = "overlapping"

[classes.Author]
parent = "Person"
share = 0.5

[classes.Book]
size = 50

[attributes.fullName]
of = "Person"
value = "person-name"

[attributes.title]
of = "Book"
value = "title"

[links.writtenBy]
from = "Book"
to = "Author"
"""


class Extracted(NamedTuple):
    """A generated scenario and a run with its dataset."""

    scenario: Path
    run: Path

    @property
    def database(self) -> Path:
        return self.scenario / "database.duckdb"


def _extracted(folder: Path, domain: Path, rows: int, positives: int) -> Extracted:
    made = Extracted(folder / "scenario", folder / "run")
    generate_scenario(made.scenario, domain=str(domain), kind="restructuring", size=rows, seed=0)
    extract_datasets(ExtractRequest(out=made.run, scenario=made.scenario, positives=positives, seed=0))
    return made


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    """The demo's scenario, smaller. Shared: write somewhere else."""
    return _extracted(tmp_path_factory.mktemp("workshop"), demo.DOMAIN, 150, 10)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    """Six predicates. Shared: write somewhere else."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "library.toml").write_text(_LIBRARY, "utf-8")
    return _extracted(folder, folder / "library.toml", 100, 8)


@pytest.fixture
def own_library(library: Extracted, tmp_path: Path) -> Extracted:
    """The same in a place of one's own, to change."""
    shutil.copytree(library.scenario, tmp_path / "scenario")
    shutil.copytree(library.run, tmp_path / "run")
    return Extracted(tmp_path / "scenario", tmp_path / "run")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command and catch what it says."""
    return runner(capsys, monkeypatch, None)
