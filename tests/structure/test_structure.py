"""What was learnt of a database as a whole: which columns hold codes, which name rows, which space they are in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ruleminer.errors import ConnectionLostError
from ruleminer.rules.values import Place
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import Structure, learn_structure

from .worlds import ENGINES, database_of, on_engine

COLUMNS = {
    "id": ("BIGINT PRIMARY KEY", "i"),
    "one": ("VARCHAR", "'same'"),
    "two": ("BOOLEAN", "i % 2 = 0"),
    "thirty_two": ("BIGINT", "i % 32"),
    "thirty_three": ("BIGINT", "i % 33"),
    'odd "%s name': ("VARCHAR", "'k' || i % 3"),
    "sparse": ("BIGINT", "CASE WHEN i < 5 THEN i END"),  # each value once
    "rare": ("BIGINT", "CASE WHEN i < 5 THEN i % 2 END"),
    "fraction": ("DOUBLE", "CAST(i % 2 AS DOUBLE)"),
    "day": ("DATE", "DATE '2014-05-01' + CAST(i % 2 AS INTEGER)"),
    "place": ("BIGINT REFERENCES place (id)", "i % 2"),
}
CODES = {"two", "thirty_two", 'odd "%s name', "rare"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def things() -> list[str]:
    columns = ", ".join(f"{quoted(name)} {sql_type}" for name, (sql_type, _) in COLUMNS.items())
    return [
        "CREATE TABLE place (id BIGINT PRIMARY KEY)",
        "INSERT INTO place VALUES (0), (1)",
        f"CREATE TABLE thing ({columns})",
        f"INSERT INTO thing SELECT {', '.join(value for _, value in COLUMNS.values())} FROM range(66) t(i)",
        "CREATE TABLE elsewhere AS SELECT i + 1000 AS n, 500 + i % 2 AS kind FROM range(9) t(i)",
    ]


def learnt(url: str, discover: bool = True) -> Structure:
    with open_database(url) as database:
        return learn_structure(database, discover=discover)


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_have_few_values_and_repeat_them(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Neither keys nor links are codes, nor are dates and fractions."""
    structure = learnt(on_engine(engine, tmp_path, request, *things()))
    assert structure.codes == {("elsewhere", "kind")} | {("thing", name) for name in CODES}


def test_a_discovered_link_is_no_code(tmp_path: Path) -> None:
    statements = (
        "CREATE TABLE colour AS SELECT 1 + i AS id, 'c' || i AS label FROM range(5) t(i)",
        "CREATE TABLE car AS SELECT 100 + i AS id, 1 + i % 5 AS colour_id, i % 3 AS kind FROM range(60) t(i)",
    )
    url = database_of(tmp_path, *statements)
    assert learnt(url).codes == {("car", "kind")}
    assert learnt(url, discover=False).codes == {("car", "kind"), ("car", "colour_id")}


def test_a_column_is_in_the_space_of_the_key_it_leads_to(tmp_path: Path) -> None:
    structure = learnt(database_of(tmp_path, *things()))
    space = structure.space(Place("thing", "place"))
    assert space is not None
    assert (space.name, space.places) == ("place", (("place", "id"), ("thing", "place")))
    assert structure.space(Place("thing", "two")) is None


def test_people_call_rows_by_short_texts_that_mostly_stand_once(tmp_path: Path) -> None:
    url = database_of(
        tmp_path,
        "CREATE TABLE artist (code VARCHAR PRIMARY KEY, name VARCHAR, nearly VARCHAR, land VARCHAR, life VARCHAR, "
        "initial VARCHAR, empty VARCHAR, born BIGINT)",
        "INSERT INTO artist SELECT 'a' || i, 'The ' || i, 'No. ' || i % 90, 'land ' || i % 9, repeat('word', 25) || i, "
        "chr(CAST(40 + i AS INTEGER)), NULL, i FROM range(100) t(i)",
    )
    structure = learnt(url)
    assert structure.naming_columns(structure.schema.table("artist")) == ("name", "nearly")


class Losing:
    """A database that loses its connection on some statements in a row, as many times as are told."""

    def __init__(self, database: Database, lost: int, every: int) -> None:
        self.database, self.lost, self.every, self.asked = database, lost, every, 0
        self.schema, self.dialect = database.schema, database.dialect
        self.own_dialect, self.origin = database.dialect, None

    def quoted(self, table: str) -> str:
        return self.database.quoted(table)

    def rows(self, sql: str, params: None = None) -> Iterator[tuple[object, ...]]:
        self.asked += 1
        if self.asked % self.every < self.lost:
            raise ConnectionLostError("the server closed the connection")
        return self.database.rows(sql, params)


@pytest.mark.parametrize(("lost", "every"), [(1, 2), (2, 3)])
def test_a_lost_connection_is_tried_again(lost: int, every: int, tmp_path: Path) -> None:
    """By counts, compound keys and links alike."""
    url = database_of(
        tmp_path,
        *things(),
        "CREATE TABLE car AS SELECT 100 + i AS id, 1000 + i % 9 AS elsewhere FROM range(60) t(i)",
        "CREATE TABLE saw AS SELECT p AS person, q AS thing FROM range(9) r(p), range(8) s(q)",
    )
    with open_database(url) as database:
        calm = learn_structure(database)
        rough = learn_structure(Losing(database, lost, every))  # type: ignore[arg-type]
    assert any(len(key.columns) == 2 for key in calm.keys)
    assert calm.links
    assert rough.to_json() == calm.to_json()


def test_a_connection_lost_for_good_is_told(tmp_path: Path) -> None:
    with (
        open_database(database_of(tmp_path, *things())) as database,
        pytest.raises(ConnectionLostError, match="closed the connection"),
    ):
        learn_structure(Losing(database, lost=3, every=3))  # type: ignore[arg-type]


def test_learning_twice_gives_the_same(tmp_path: Path) -> None:
    url = database_of(tmp_path, *things())
    assert learnt(url).to_json() == learnt(url).to_json()
