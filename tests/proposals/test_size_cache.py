"""A run of propose that was stopped does not ask again what it knew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.size_cache import SizeCache
from ruleminer.rules.parser import parse_rule
from ruleminer.run import Run
from ruleminer.sources.database import open_database

RULE = parse_rule("P(x) <- t(i: x)")


def world(path: Path, rows: int) -> str:
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT i FROM range({rows}) AS r(i)")
    return f"duckdb:///{path}"


def test_what_a_stopped_run_knew_is_not_asked_again(tmp_path: Path, monkeypatch: Any) -> None:
    url = world(tmp_path / "a.duckdb", 7)
    with open_database(url) as database:
        first = Derivations(database)
        memory = SizeCache(tmp_path, first)
        assert first.size(RULE) == 7
        memory.save(now=True)
    with open_database(url) as database:
        _ = database.schema
        second = Derivations(database)
        SizeCache(tmp_path, second)
        monkeypatch.setattr(database, "rows", lambda *_: never())
        assert second.size(RULE) == 7


def test_a_database_that_changed_is_asked_anew(tmp_path: Path) -> None:
    with open_database(world(tmp_path / "a.duckdb", 7)) as database:
        derivations = Derivations(database)
        memory = SizeCache(tmp_path, derivations)
        derivations.size(RULE)
        memory.save(now=True)
    with open_database(world(tmp_path / "a.duckdb", 9)) as database:
        derivations = Derivations(database)
        SizeCache(tmp_path, derivations)
        assert derivations.size(RULE) == 9


def test_a_file_that_was_cut_short_does_no_harm_and_a_finished_run_leaves_none(tmp_path: Path) -> None:
    Run(tmp_path).sizes.write_text('{"mark": ')
    with open_database(world(tmp_path / "a.duckdb", 3)) as database:
        derivations = Derivations(database)
        memory = SizeCache(tmp_path, derivations)
        assert derivations.size(RULE) == 3
        memory.save(now=True)
        memory.forget()
    assert not Run(tmp_path).sizes.exists()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with open_database(world(tmp_path / "a.duckdb", 3)) as database:
        memory = SizeCache(tmp_path / "file" / "run", Derivations(database))
        memory.save(now=True)
        memory.forget()


def never() -> Iterator[tuple[Any, ...]]:
    raise AssertionError("the database was asked")
