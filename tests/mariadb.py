"""A MariaDB database filled for a test: by statements, or with the tables of a DuckDB file."""

from __future__ import annotations

from pathlib import Path

from pymysql.constants import CLIENT
from sqlalchemy.engine import make_url

from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.engines.mysql import connect


def run_in_mariadb(url: str, sql: str) -> None:
    """Run statements, with names in double quotes."""
    with connect(make_url(url), client_flag=CLIENT.MULTI_STATEMENTS) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ANSI_QUOTES', time_zone = '+00:00'")
        cursor.execute(sql)
        while cursor.nextset():
            pass


def copied_to_mariadb(file: Path, url: str) -> str:
    """The tables of a DuckDB file in the database of the URL."""
    copy_database(file, url, schema=make_url(url).database)
    return url
