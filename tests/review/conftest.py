"""Runs to review: the generated scenarios of the proposals, and a session on one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.session import ReviewSession, open_review
from tests.proposals.conftest import Extracted, cli, library, own_library, workshop

__all__ = ["cli", "library", "own_library", "workshop"]


_TABLES = """
CREATE TABLE kiln (id INTEGER PRIMARY KEY, label VARCHAR);
CREATE TABLE glaze (id INTEGER PRIMARY KEY, label VARCHAR, since TIMESTAMP);
CREATE TABLE pot (id INTEGER PRIMARY KEY, glaze INTEGER REFERENCES glaze(id), kiln INTEGER REFERENCES kiln(id));
INSERT INTO kiln SELECT i, CASE WHEN i = 3 THEN 'twin' ELSE 'kiln ' || i END FROM range(1, 9) t(i);
INSERT INTO glaze SELECT i, CASE WHEN i = 5 THEN 'twin' ELSE 'glaze, ' || i END,
    TIMESTAMP '2021-01-01 00:00:00' + INTERVAL (i) DAY FROM range(1, 15) t(i);
INSERT INTO pot SELECT i, 1 + i % 14, 1 + i % 8 FROM range(1, 41) t(i);
"""
VOCABULARY = """
@prefix : <http://e/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Zorgle a owl:Class . :Pot a owl:Class .
:blipped a owl:ObjectProperty . :zeit a owl:DatatypeProperty .
"""  # fmt: skip


@pytest.fixture
def session(own_library: Extracted) -> Iterator[ReviewSession]:
    """A review of the small library, with eight examples of each term."""
    with open_review(ProposeRequest(run=own_library.run)) as opened:
        yield opened


@pytest.fixture(scope="module")
def pottery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without examples, with two terms that no name here is like."""
    folder = tmp_path_factory.mktemp("pottery")
    with duckdb.connect(str(folder / "pottery.duckdb")) as connection:
        connection.execute(_TABLES)
    (folder / "v.ttl").write_text(VOCABULARY)
    draft_mapping(DraftRequest(str(folder / "pottery.duckdb"), folder / "v.ttl", folder / "run"))
    return folder / "run"


@pytest.fixture
def potters(pottery: Path) -> Iterator[ReviewSession]:
    """A review of it in which nothing was said."""
    (pottery / "decisions.csv").unlink(missing_ok=True)
    with open_review(ProposeRequest(run=pottery)) as opened:
        yield opened
