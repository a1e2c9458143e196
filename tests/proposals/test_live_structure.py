"""A structure that was learnt before holds as long as the database declares the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.proposals.live_structure import live_structure
from ruleminer.rules.values import Place
from ruleminer.run import Run
from ruleminer.sources.database import open_database
from ruleminer.structure.files import write_structure
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import learn_structure

WISHES = LinkWishes(
    ((Place("visit", "second"), Place("place", "id")),), frozenset({(Place("visit", "first"), Place("place", "id"))})
)
PLACE = {"id": "INTEGER PRIMARY KEY", "code": "INTEGER", "name": "VARCHAR"}
VISIT = {"id": "INTEGER", "place_id": "INTEGER", "first": "INTEGER REFERENCES place (id)", "second": "INTEGER"}


def made(path: Path, place: dict[str, str], visit: dict[str, str]) -> str:
    path.unlink(missing_ok=True)
    with duckdb.connect(path) as work:
        for name, columns, row in (
            ("place", place, "i, 100 + i, 'place ' || i"),
            ("visit", visit, "i, 1 + i * 7 % 40, 1 + i % 2, 1 + i % 3"),
        ):
            work.execute(f"CREATE TABLE {name} ({', '.join(f'{one} {sql}' for one, sql in columns.items())})")
            work.execute(f"INSERT INTO {name} SELECT {row} FROM (SELECT unnest(range(1, 41)) AS i)")
    return f"duckdb:///{path}"


@pytest.mark.parametrize(
    ("place", "visit", "told"),
    [
        ({}, {}, ""),
        ({"code": "INTEGER UNIQUE"}, {}, "place declares other keys than at the extraction"),
        ({}, {"id": "INTEGER UNIQUE"}, "visit declares other keys than at the extraction"),
        ({}, {"place_id": "INTEGER REFERENCES place (id)"}, "visit declares other foreign keys than at the extraction"),
        ({}, {"first": "INTEGER"}, ""),  # the user had taken it away
        ({"name": "CHAR(4)"}, {"id": "BIGINT"}, "the columns of visit are other than those at the extraction"),
    ],
)
def test_what_the_database_declares_otherwise_is_told_and_learnt(
    tmp_path: Path, place: dict[str, str], visit: dict[str, str], told: str
) -> None:
    run = Run.of(tmp_path / "run")
    run.structure.parent.mkdir()
    with open_database(made(tmp_path / "before.duckdb", PLACE, VISIT)) as database:
        before = learn_structure(database, WISHES)
        assert [link.column for link in before.links] == ["second", "place_id"]
        assert [key.table for key in before.keys] == ["visit"]
        write_structure(before, run.structure)
    notes: list[str] = []
    with open_database(made(tmp_path / "after.duckdb", PLACE | place, VISIT | visit)) as database:
        after = live_structure(run, database, notes)
    assert notes == ([f"the structure of the database was learnt anew: {told}"] if told else [])
    assert after.wishes == WISHES
    assert bool(told) == (after.schema != before.schema)
