"""Fixtures of validation: a database by engine and SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ruleminer.sources.database import Database
from tests.validation.engines import Filled, filled_database


@pytest.fixture
def filled(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Filled]:
    """Call with an engine and SQL statements; PostgreSQL is started only when it is asked for."""
    with ExitStack() as stack:

        def fill(engine: str, sql: str) -> Database:
            url = request.getfixturevalue("postgres_url") if engine == "postgres" else ""
            return stack.enter_context(filled_database(engine, sql, tmp_path, url))

        yield fill
