"""Small databases by statements, the same on every engine."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.sources.copy_database import copy_database
from tests.mariadb import copied_to_mariadb

ENGINES = ["duckdb", "sqlite", "postgres", "mysql"]


def database_of(folder: Path, *statements: str) -> str:
    """The URL of a DuckDB file that the statements made."""
    with duckdb.connect(folder / "w.duckdb") as connection:
        for statement in statements:
            connection.execute(statement)
    return f"duckdb:///{folder / 'w.duckdb'}"


def on_engine(engine: str, folder: Path, request: pytest.FixtureRequest, *statements: str) -> str:
    """The URL of the same database on an engine, by the engine's name."""
    url = database_of(folder, *statements)
    if engine == "duckdb":
        return url
    if engine == "mysql":
        return copied_to_mariadb(folder / "w.duckdb", request.getfixturevalue("empty_mariadb"))
    lite = f"sqlite:///{folder / 'w.sqlite'}"
    copied: str = request.getfixturevalue("empty_postgres") if engine == "postgres" else lite
    copy_database(folder / "w.duckdb", copied)
    return copied
