"""Texts with errors in them, and SQL that means harm: an answer or one line, and soon."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from ruleminer.sources.database import open_database
from tests.faults.hostile import check_statement, statements
from tests.faults.mutations import check_input, mutated, parsers
from tests.sources.test_foreign_sql import DDL


@pytest.mark.parametrize("name", parsers(Path("/tmp")))
def test_a_text_with_errors_is_told_soon(tmp_path: Path, name: str) -> None:
    parse, good, weight = parsers(tmp_path)[name]
    rng = random.Random(name)
    for _ in range(20 * weight):
        assert check_input(parse, mutated(rng.choice(good), rng)) == ""


@pytest.mark.parametrize("sql", ["SELECT 1 FROM a " + "LEFT JOIN " * 60 + "b", "SELECT 1 FROM a " + "JOIN b " * 60])
def test_joins_that_wait_for_their_on_do_not_take_for_ever(tmp_path: Path, sql: str) -> None:
    assert check_input(parsers(tmp_path)["pair sql"][0], sql) == ""


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_hostile_sql_is_refused_in_every_disguise(tmp_path: Path, engine: str) -> None:
    if engine == "duckdb":
        with duckdb.connect(tmp_path / "a") as duck:
            duck.execute(DDL)
    else:
        with closing(sqlite3.connect(tmp_path / "a")) as lite:
            lite.executescript(DDL)
    with open_database(tmp_path / "a") as database:
        passed = [told for sql in list(statements(engine))[::5] if (told := check_statement(database, sql))]
    assert passed == []
