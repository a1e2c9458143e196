"""Which database takes in a dump."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy.engine import URL

from ruleminer.errors import DatabaseError
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.into_duckdb import into_duckdb
from ruleminer.sources.pgdump.into_mysql import into_mysql
from ruleminer.sources.pgdump.into_postgresql import into_postgresql
from ruleminer.sources.pgdump.into_sqlite import into_sqlite
from ruleminer.sources.pgdump.target import Target


def target_of(place: URL, declared: Declarations, replace: bool) -> AbstractContextManager[Target]:
    """Where the tables go: a schema of a server, or a file."""
    if place.drivername == "postgresql":
        return into_postgresql(place, declared, replace)
    if place.drivername == "mysql":
        return into_mysql(place, declared, replace)
    if place.drivername not in ("duckdb", "sqlite"):
        raise DatabaseError(f"a folder of {place.drivername} files is only read: load into DuckDB, SQLite or a server")
    into_file = into_sqlite if place.drivername == "sqlite" else into_duckdb
    return into_file(Path(place.database or ""), declared, replace)
