"""A scan brings over the rows that matter, all of them and no others, on every engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ruleminer.extraction.oracle import Row, load_rows
from ruleminer.extraction.scan import Wanted, has_raw, rows_query
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database, open_database

from .small_worlds import catalog_of_database, in_duckdb, on_engine

ENGINES = ["duckdb", "sqlite", "postgres", "mysql"]
VALUES = {
    Kind.DECIMAL: ["3", "2.5", "99"],
    Kind.TEXT: ["it's", "7/12", "%s", 'a "quoted" \\ text', ""],
    Kind.DATE: ["2014-05-02"],
    Kind.BOOLEAN: ["true"],
}
Found = dict[str, list[tuple[str | None, ...]]]


def wanted(values: dict[Kind, list[str]], reached: dict[str, list[str]] | None = None, needed: int = 2) -> Wanted:
    arrays = [{kind: json.dumps(keys) for kind, keys in lists.items()} for lists in (values, reached or {})]
    return Wanted(*arrays, needed)


def scanned(database: Database, asked: Wanted) -> Found:
    """The lexical forms of the rows that the scans bring, by table."""
    found: Found = {}
    for table, columns in catalog_of_database(database).by_table.items():
        query = rows_query(table, columns, database.dialect, asked)
        if query is not None:
            rows = database.arrow(query.sql, query.parameters).read_all()
            keys = [rows[f"k{column.id}"].to_pylist() for column in columns]
            found[table] = sorted(zip(*keys, strict=True), key=repr)
    return {table: rows for table, rows in found.items() if rows}


def by_looking(database: Database, matters: Callable[[Row], bool]) -> Found:
    """The same by looking at every row."""
    catalog = catalog_of_database(database)
    found: Found = {}
    for row in load_rows(database, catalog):
        if matters(row):
            keys = tuple(row.values[c][1] if c in row.values else None for c in catalog.by_table[row.table])
            found.setdefault(row.table, []).append(keys)
    return {table: sorted(rows, key=repr) for table, rows in found.items()}


def holds(row: Row, values: dict[Kind, list[str]]) -> bool:
    written = [(column.family, row.texts[column]) for column in row.values if has_raw(column)]
    return any(key in values.get(kind, ()) for kind, key in [*row.values.values(), *written])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, 1])
def test_exactly_the_rows_with_a_wanted_value_come(
    engine: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with open_database(in_duckdb(tmp_path / "plain.duckdb", seed)) as plain:
        expected = by_looking(plain, lambda row: holds(row, VALUES))
    assert len(expected) > 2
    with open_database(on_engine(engine, seed, tmp_path, request)) as database:
        assert scanned(database, wanted(VALUES)) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("needed", [1, 2, 3])
def test_a_row_that_only_joins_others_must_touch_enough_of_them(
    engine: str, needed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    reached = {Kind.DECIMAL: ["1", "2", "3", "4"], Kind.TEXT: ["a", "b", "OIL"]}

    def matters(row: Row) -> bool:
        touched = sum(key in reached.get(kind, ()) for kind, key in row.values.values())
        return touched >= needed or holds(row, {Kind.TEXT: ["x y"]})

    with open_database(in_duckdb(tmp_path / "plain.duckdb", 2)) as plain:
        expected = by_looking(plain, matters)
    assert expected
    with open_database(on_engine(engine, 2, tmp_path, request)) as database:
        assert scanned(database, wanted({Kind.TEXT: ["x y"]}, reached, needed)) == expected


def test_a_table_without_a_column_of_the_family_is_not_asked(tmp_path: Path) -> None:
    with open_database(in_duckdb(tmp_path / "w.duckdb", 0)) as database:
        tables = catalog_of_database(database).by_table
        assert rows_query("empty", tables["empty"], database.dialect, wanted({Kind.DATE: ["2014-05-02"]})) is None
        assert rows_query("paper", tables["paper"], database.dialect, wanted({Kind.DATE: ["2014-05-02"]})) is not None
        touching = wanted({}, {Kind.DATE: ["2014-05-02"]})
        assert rows_query("paper", tables["paper"], database.dialect, touching) is None, "one column cannot touch two"


@pytest.mark.parametrize("engine", ENGINES)
def test_decimals_come_as_values_and_as_the_engine_writes_them(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """`2.500` is found as the number 2.5, and by an IRI that spells all its digits."""
    with open_database(on_engine(engine, 0, tmp_path, request)) as database:
        table = 'we ird "%;--'
        columns = catalog_of_database(database).by_table[table]
        price = next(column for column in columns if column.name == "price")
        texts = {"sqlite": "2.5"}.get(engine, "2.500")
        for asked in ("2.5", texts):
            query = rows_query(table, columns, database.dialect, wanted({Kind.DECIMAL: [asked]}))
            assert query is not None
            rows = database.arrow(query.sql, query.parameters).read_all()
            pairs = set(zip(rows[f"k{price.id}"].to_pylist(), rows[f"r{price.id}"].to_pylist(), strict=True))
            assert ("2.5", texts) in pairs


def test_a_table_of_many_columns_is_scanned_like_any_other(tmp_path: Path) -> None:
    """DuckDB has another statement for them."""
    wide, rows = 300, 40
    names = [f"c{number}" for number in range(wide)]
    with duckdb.connect(tmp_path / "wide.duckdb") as connection:
        connection.execute(f"CREATE TABLE wide ({', '.join(f'{name} INTEGER' for name in names)}, w DECIMAL(6,2))")
        for row in range(rows):
            cells = [None if (row + number) % 7 == 0 else row * wide + number for number in range(wide)]
            connection.execute(f"INSERT INTO wide VALUES ({', '.join('?' * wide)}, ?)", [*cells, row / 4])
    values = {Kind.DECIMAL: ["8", "3001", "11999", "2.50"]}
    reached = {Kind.DECIMAL: ["6002", "6003", "9100"]}

    def matters(row: Row) -> bool:
        touched = sum(key in reached[Kind.DECIMAL] for _, key in row.values.values())
        return holds(row, values) or touched >= 2

    with open_database(str(tmp_path / "wide.duckdb")) as database:
        expected = by_looking(database, matters)
        assert 3 < len(expected["wide"]) < rows
        assert scanned(database, wanted(values, reached)) == expected
