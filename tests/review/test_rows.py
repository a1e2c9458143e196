"""The rows behind a fact are found on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.proposals.derivations import Derivations
from ruleminer.review.rows import rows_behind
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from tests.structure.worlds import ENGINES, on_engine

WORLD = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR)",
    "INSERT INTO person VALUES (1, 'Ann'), (2, 'Bob')",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_row_behind_a_fact_is_shown_whole(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with open_database(on_engine(engine, tmp_path, request, *WORLD)) as database:
        [row] = rows_behind(parse_rule("name(x, y) <- person(id: x, name: y)"), ("2", "Bob"), Derivations(database))
    assert row.table == "person"
    assert row.cells == (("id", "2"), ("name", "Bob"))
    assert row.marked == {"id", "name"}
