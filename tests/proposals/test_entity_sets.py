"""Shares of sets: what one statement per space tells is what looking at every value tells, on every engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruleminer.proposals.entity_sets import NOTHING, EntitySet, entity_set, shares
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Constant, Place
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import Structure, learn_structure
from tests.structure.worlds import ENGINES, on_engine

WORLD = (
    "CREATE TABLE person (id INTEGER PRIMARY KEY, kind VARCHAR, boss INTEGER REFERENCES person(id), active BOOLEAN)",
    "CREATE TABLE author (id INTEGER PRIMARY KEY REFERENCES person(id))",
    'CREATE TABLE "pa per" (nr INTEGER PRIMARY KEY, "wr""iter" INTEGER REFERENCES person(id))',
    "INSERT INTO person VALUES (1, 'a', NULL, true)",
    "INSERT INTO person VALUES (2, 'b', 1, false), (3, 'o''b', 1, true)",
    "INSERT INTO person VALUES (4, 'b', 3, NULL), (5, 'b', 3, true)",
    "INSERT INTO author VALUES (1), (2), (4)",
    'INSERT INTO "pa per" VALUES (1, 2), (2, 2), (3, 5), (4, NULL)',
    "CREATE TABLE part (id INTEGER REFERENCES person(id), nr INTEGER, kind VARCHAR, PRIMARY KEY (id, nr))",
    "INSERT INTO part VALUES (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'b'), (3, 1, 'a'), (3, 2, 'a')",
)
SETS = (
    NOTHING,
    EntitySet(Place("person", "id")),
    EntitySet(Place("person", "id"), "kind", Constant.of("b")),
    EntitySet(Place("person", "id"), "kind", Constant.of("o'b")),
    EntitySet(Place("person", "id"), "active", Constant.of(True)),
    EntitySet(Place("person", "id"), "boss"),
    EntitySet(Place("person", "boss")),
    EntitySet(Place("author", "id")),
    EntitySet(Place("pa per", 'wr"iter')),
    EntitySet(Place("pa per", "nr")),
    EntitySet(Place("part", "id"), "kind", Constant.of("a")),
    EntitySet(Place("part", "id"), "kind", Constant.of("b")),
    EntitySet(Place("part", "id")),
)


def members(one: EntitySet, database: Database) -> set[object]:
    """The values of a set, row by row."""
    if one is NOTHING:
        return set()
    names = [column.name for column in database.schema.table(one.place.table).columns]
    rows = [
        dict(zip(names, row, strict=True)) for row in database.rows(f"SELECT * FROM {database.quoted(one.place.table)}")
    ]
    if one.where is not None:
        wanted = one.value.value if one.value else None
        rows = [r for r in rows if r[one.where] is not None and (wanted is None or r[one.where] == wanted)]
    return {row[one.place.column] for row in rows} - {None}


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_are_those_of_the_values(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with open_database(on_engine(engine, tmp_path, request, *WORLD)) as database:
        structure = learn_structure(database)
        found = shares(SETS, structure, database)
        for i, one in enumerate(SETS):
            for j, other in enumerate(SETS):
                own, theirs = members(one, database), members(other, database)
                space, beside = structure.space(one.place), structure.space(other.place)
                if not own or space is None or space != beside:
                    expected = float(i == j and one is not NOTHING)
                else:
                    expected = len(own & theirs) / len(own)
                assert found[i, j] == pytest.approx(expected), (one, other)


def test_many_sets_need_several_numbers_for_their_marks(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    codes = 60
    statements = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, code INTEGER)",
        f"INSERT INTO t SELECT i, i % {codes} FROM range(180) r(i)",
    )
    sets = [EntitySet(Place("t", "id")), *(EntitySet(Place("t", "id"), "code", Constant.of(c)) for c in range(codes))]
    with open_database(on_engine("duckdb", tmp_path, request, *statements)) as database:
        found = shares(sets, learn_structure(database), database)
    expected = np.eye(codes + 1)
    expected[0, 1:], expected[1:, 0] = 1 / codes, 1.0
    assert np.allclose(found, expected)


def test_the_set_of_an_argument_is_the_narrowest_that_its_rule_names(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with open_database(on_engine("duckdb", tmp_path, request, *WORLD)) as database:
        structure = learn_structure(database)

    def of(text: str, argument: int = 0, structure: Structure = structure) -> EntitySet:
        rule = parse_rule(text)
        return entity_set(rule, rule.arguments[argument], structure)

    assert of("P(x) <- person(id: x)") == EntitySet(Place("person", "id"))
    assert of('P(x) <- person(id: x, kind: "b")') == EntitySet(Place("person", "id"), "kind", Constant.of("b"))
    assert of("p(x, y) <- person(id: x, boss: y)") == EntitySet(Place("person", "id"), "boss")
    assert of("p(x, y) <- person(id: x, boss: y)", 1) == EntitySet(Place("person", "boss"))
    assert of("p(x, y) <- person(id: x, kind: y), author(id: x)") == EntitySet(Place("author", "id"))
