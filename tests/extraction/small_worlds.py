"""Small random databases in which values collide a lot, the same on every engine."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg2
import pytest

from ruleminer.extraction.catalog import Catalog, catalog_of
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import learn_structure
from tests.mariadb import copied_to_mariadb

# The first column of a table with a star is its key.
TABLES = {
    "Person*": {"id": "INTEGER", "name": "VARCHAR", "boss": "INTEGER", "is_author": "BOOLEAN", "born": "DATE"},
    'we ird "%;--*': {"k%s": "INTEGER", 'na"me': "VARCHAR", "price": "DECIMAL(8,3)", "select": "BOOLEAN"},
    "wrote": {"person": "INTEGER", "paper": "INTEGER", "at": "TIMESTAMP"},
    "paper*": {"id": "INTEGER", "title": "VARCHAR", "kind": "INTEGER", "block": "VARCHAR", "day": "DATE"},
    "empty": {"id": "INTEGER", "name": "VARCHAR"},
}
# What belongs together there; values that are equal elsewhere are so by accident.
LINKS = LinkWishes(
    (
        (("Person", "boss"), ("Person", "id")),
        (("wrote", "person"), ("Person", "id")),
        (("wrote", "paper"), ("paper", "id")),
        (("paper", "kind"), ('we ird "%;--', "k%s")),
    )
)
WORDS = ["a", "b", "7", "7/12", "OIL", "it's", "", "x y"]
CONSTANTS = [
    *WORDS, *map(str, range(9)), "true", "2014-05-02", "2.5", "12.125", "2014-05-01 10:30:00", "nowhere",
    "http://h/p/7", "http://h/p/7/12/k/3", "http://h/p/2.500/q", "http://h/OIL/4#b", "urn:x/5/2014-05-02",
]  # fmt: skip


def random_value(dice: random.Random, sql_type: str) -> object:
    """A random value of a type, or None."""
    if dice.random() < 0.15:
        return None
    match sql_type.split("(")[0]:
        case "INTEGER":
            return dice.randrange(8)
        case "VARCHAR":
            return dice.choice(WORDS)
        case "BOOLEAN":
            return dice.random() < 0.5
        case "DATE":
            return date(2014, 5, dice.randrange(1, 4))
        case "TIMESTAMP":
            return datetime(2014, 5, dice.randrange(1, 3), 10, 30)
        case _:
            return Decimal(dice.choice(["1", "2.5", "7", "12.125"]))


def world(seed: int, rows: int = 6) -> dict[str, list[list[object]]]:
    """The rows of each table."""
    dice = random.Random(seed)
    content: dict[str, list[list[object]]] = {}
    for table, columns in TABLES.items():
        content[table] = []
        for number in range(0 if table == "empty" else rows):
            row = [random_value(dice, sql_type) for sql_type in columns.values()]
            content[table].append([number, *row[1:]] if table.endswith("*") else row)
    return content


def quoted(name: str) -> str:
    return '"' + name.removesuffix("*").replace('"', '""') + '"'


def create_table(table: str) -> str:
    columns = [f"{quoted(name)} {sql_type}" for name, sql_type in TABLES[table].items()]
    if table.endswith("*"):
        columns[0] += " PRIMARY KEY"
    return f"CREATE TABLE {quoted(table)} ({', '.join(columns)})"


def in_duckdb(path: Path, seed: int) -> str:
    """The URL of a DuckDB file with the world in it."""
    with duckdb.connect(path) as connection:
        for table, rows in world(seed).items():
            connection.execute(create_table(table))
            for row in rows:
                connection.execute(f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(row))})", row)
    return f"duckdb:///{path}"


def in_postgres(url: str, schema: str, seed: int) -> str:
    """The URL of a PostgreSQL server with the world in a schema of its own."""
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path = {schema}")
        for table, rows in world(seed).items():
            cursor.execute(create_table(table))
            for row in rows:
                name = quoted(table).replace("%", "%%")
                cursor.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
    connection.close()
    return url


def in_sqlite(path: Path, seed: int) -> str:
    """The URL of a SQLite file with the world in it."""
    in_duckdb(path.with_suffix(".duckdb"), seed)
    copy_database(path.with_suffix(".duckdb"), f"sqlite:///{path}")
    return f"sqlite:///{path}"


def on_engine(engine: str, seed: int, folder: Path, request: pytest.FixtureRequest) -> str:
    """The URL of the world on an engine, by the engine's name."""
    if engine == "postgres":
        return in_postgres(request.getfixturevalue("empty_postgres"), "public", seed)
    if engine == "mysql":
        in_duckdb(folder / "w.duckdb", seed)
        return copied_to_mariadb(folder / "w.duckdb", request.getfixturevalue("empty_mariadb"))
    return in_duckdb(folder / "w.duckdb", seed) if engine == "duckdb" else in_sqlite(folder / "w.sqlite", seed)


def catalog_of_database(database: Database) -> Catalog:
    """The columns of a database as extraction numbers them."""
    return catalog_of(learn_structure(database, LINKS))
