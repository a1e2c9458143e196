"""A role that is taken on for reading: what it may not read is not read, and a run keeps it."""

from __future__ import annotations

import warnings

import psycopg2
import pytest

from ruleminer.errors import DatabaseError, InputError
from ruleminer.sources.database import open_database, with_role
from tests.command_line import Run

TABLES = """
CREATE TABLE seen (id integer PRIMARY KEY); CREATE TABLE hidden (id integer PRIMARY KEY);
DROP ROLE IF EXISTS "odd reader"; CREATE ROLE "odd reader"; GRANT SELECT ON seen TO "odd reader";
"""


def test_every_session_takes_on_the_role(run: Run, empty_postgres: str) -> None:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(TABLES)
    url = with_role(empty_postgres, "odd reader")
    assert url is not None
    with warnings.catch_warnings(action="error"), open_database(url) as database:  # it may only read: no warning
        assert [table.name for table in database.schema.tables] == ["seen"]
        assert list(database.rows("SELECT current_user")) == [("odd reader",)]
        assert database.arrow("SELECT current_user::text AS me").read_all()["me"].to_pylist() == ["odd reader"]
        assert "role=odd+reader" in database.safe_url
        with pytest.raises(DatabaseError, match="permission denied"):
            list(database.rows("SELECT * FROM hidden"))
    result = run("inspect", empty_postgres, "--role", "odd reader", "--json")
    assert result.code == 0, result.err
    assert '"seen"' in result.out
    result = run("inspect", empty_postgres, "--role", "nobody")
    assert result.code == 2
    assert 'role "nobody" does not exist' in result.err


def test_a_role_needs_a_server() -> None:
    assert with_role("shop.duckdb", None) == "shop.duckdb"
    with pytest.raises(DatabaseError, match="a file has no roles"):
        with_role("sqlite:///shop.sqlite", "reader")
    with pytest.raises(InputError, match="role goes with"):
        with_role(None, "reader")
