"""Which columns hold codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ruleminer.errors import ConnectionLostError
from ruleminer.extract.arguments import load_facts
from ruleminer.extract.catalog import catalog_of
from ruleminer.extract.cells import create_tables, fetch_cells
from ruleminer.extract.codes import code_columns
from ruleminer.problem.database import Database, open_database
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.template_files import read_templates

COLUMNS = {
    "id": "i",
    "one": "'same'",
    "two": "i % 2 = 0",
    "thirty_two": "i % 32",
    "thirty_three": "i % 33",
    'odd "%s name': "'k' || i % 3",
    "sparse": "CASE WHEN i < 5 THEN i END",  # each value once
    "rare": "CASE WHEN i < 5 THEN i % 2 END",
    "fraction": "CAST(i % 2 AS DOUBLE)",
    "day": "DATE '2014-05-01' + CAST(i % 2 AS INTEGER)",
    "place": "i % 2",  # a link
}
CODES = {"two", "thirty_two", 'odd "%s name', "rare"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def world(path: Path) -> str:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE place (id BIGINT PRIMARY KEY)")
        connection.execute("INSERT INTO place VALUES (0), (1)")
        selected = ", ".join(f"{value} AS {quoted(name)}" for name, value in COLUMNS.items())
        rows = connection.sql(f"SELECT {selected} FROM range(66) t(i)")
        types = dict(zip(rows.columns, rows.types, strict=True))
        columns = ", ".join(f"{quoted(name)} {types[name]}" for name in COLUMNS)
        connection.execute(
            f"CREATE TABLE thing ({columns}, PRIMARY KEY (id), FOREIGN KEY (place) REFERENCES place (id))"
        )
        connection.execute(f"INSERT INTO thing SELECT {selected} FROM range(66) t(i)")
        connection.execute("CREATE TABLE elsewhere AS SELECT i + 1000 AS n, 500 + i % 2 AS kind FROM range(9) t(i)")
    return f"duckdb:///{path}"


class Watched:
    """A source that counts its questions, and loses the connection on some of them."""

    def __init__(self, database: Database, lost: int = 0) -> None:
        self.database, self.dialect, self.asked, self.lost = database, database.dialect, list[str](), lost

    def arrow(self, sql: str, params: Sequence[object] | None = None) -> pa.RecordBatchReader:
        self.asked.append(sql)
        if len(self.asked) <= self.lost:
            raise ConnectionLostError("the server closed the connection")
        return self.database.arrow(sql, params)


def found_codes(url: str, lost: int = 0) -> tuple[set[str], int]:
    """The names of the columns found, with all rows of `thing` brought over, and the number of questions."""
    facts = [Fact("Thing", (str(i),), (None,)) for i in range(66)]
    with open_database(url) as database, duckdb.connect() as work:
        catalog = catalog_of(database.schema)
        create_tables(work, catalog)
        load_facts(work, fact_table(facts))
        fetch_cells(work, database, catalog, read_templates(files=["classes"]))
        source = Watched(database, lost)
        codes = code_columns(work, source, catalog)
        asked = len(source.asked)
        assert code_columns(work, source, catalog) == codes
        assert len(source.asked) == asked, "what was found is kept"
    return {catalog.columns[code].name for code in codes}, asked


def test_codes_have_few_values_and_repeat_them(tmp_path: Path) -> None:
    codes, asked = found_codes(world(tmp_path / "w.duckdb"))
    assert codes == CODES
    assert asked == 1, "the table elsewhere has no row that matters"


@pytest.mark.parametrize("lost", [1, 2])
def test_a_lost_connection_is_tried_again(lost: int, tmp_path: Path) -> None:
    codes, asked = found_codes(world(tmp_path / "w.duckdb"), lost)
    assert (codes, asked) == (CODES, lost + 1)


def test_a_connection_lost_for_good_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLostError, match="closed the connection"):
        found_codes(world(tmp_path / "w.duckdb"), lost=3)
