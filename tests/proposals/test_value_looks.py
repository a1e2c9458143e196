"""The looks of values are the same on every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.proposals.value_looks import LOOKS, looks_of
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.structure.worlds import ENGINES, on_engine

WORLD = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, a VARCHAR, b VARCHAR)",
    "INSERT INTO person VALUES (1, 'ann@example.org', 'AB'), (2, 'bob@example.org', 'http://example.org')",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_look_is_the_share_of_values_that_have_it(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with open_database(on_engine(engine, tmp_path, request, *WORLD)) as database:
        found = looks_of(learn_structure(database), database)
    told = {column: dict(zip(LOOKS, found[Place("person", column)].tolist(), strict=False)) for column in ("a", "b")}
    assert told["a"]["email address"] == 1.0
    assert told["b"]["code abbreviation"] == told["b"]["web page url"] == 0.5
