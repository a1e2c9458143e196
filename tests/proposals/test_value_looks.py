"""The looks of values are the same on every engine."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.proposals.value_looks import LOOKS, looks_of, spoken_kinds
from ruleminer.rules.values import Kind, Place
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


def test_days_and_numbers_in_texts_and_truth_in_numbers_are_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "texts.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, day VARCHAR, n VARCHAR, said VARCHAR, paid INTEGER)"
        )
        connection.execute(
            "INSERT INTO t SELECT i, '2024-01-1' || i % 9 || 'T10:00', i / 7, 'n' || i, i % 2 FROM range(40) r(i)"
        )
    with open_database(f"duckdb:///{path}") as database:
        structure = learn_structure(database)
        found = spoken_kinds(structure, looks_of(structure, database))
    told = {place.column: kind for place, kind in found.items()}
    assert told == {"id": Kind.INTEGER, "day": Kind.DATE, "n": Kind.DECIMAL, "said": Kind.TEXT, "paid": Kind.BOOLEAN}
