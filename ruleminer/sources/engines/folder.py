"""A folder of Parquet or CSV files as a database: each file, or sub-folder of files, is a table.

DuckDB reads them, and may reach that folder and nothing else. Parquet stays where it is; CSV is read once, when the
folder is opened, for every query would have to parse it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from ruleminer.errors import DatabaseError, printable
from ruleminer.sources.engines.duckdb import CATALOG, DuckDB, plain_connection
from ruleminer.sources.engines.engine import one_line
from ruleminer.sources.schema import quote_identifier

SUFFIXES = {"parquet": (".parquet", ".pq"), "csv": (".csv", ".tsv", ".csv.gz", ".tsv.gz")}
_TYPES = "['BOOLEAN', 'BIGINT', 'DOUBLE', 'DATE', 'TIMESTAMP', 'VARCHAR']"
_DATES = "dateformat = '%Y-%m-%d'"  # 03/04/2020 may be in March or in April
NO_VALUE = r"\N"  # how Hive, MySQL and PostgreSQL write NULL into files; empty texts are none either
_NUMBERS = ("BIGINT", "DOUBLE")


def open_folder(kind: str, folder: Path, timeout: float) -> DuckDB:
    """The files of a folder, opened for reading."""
    if not folder.is_dir():
        raise DatabaseError(f"no such folder: {folder}")
    return DuckDB(folder, timeout, lambda spill: _connected(kind, folder, spill), is_limited=False)


def _connected(kind: str, folder: Path, spill: Path) -> duckdb.DuckDBPyConnection:
    connection = plain_connection({"temp_directory": str(spill)})
    try:
        connection.execute(f"ATTACH ':memory:' AS {CATALOG}")
        connection.execute(f"USE {CATALOG}")
        connection.execute(f"SET allowed_directories = [{_literal(str(folder.resolve()) + '/')}]")
        connection.execute("SET enable_external_access = false")
        for name, files in file_tables(kind, folder).items():
            try:
                _make(connection, kind, name, files)
            except duckdb.Error as error:
                raise DatabaseError(f"{files[0]}: cannot be read: {one_line(error)}") from None
    except BaseException:
        connection.close()
        raise
    return connection


def file_tables(kind: str, folder: Path) -> dict[str, list[Path]]:
    """The files of each table, by name."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if _is_set_aside(path, folder):
            continue
        if path.is_dir():
            inside = (file for file in path.rglob("*") if not _is_set_aside(file, folder))
            files = sorted(file for file in inside if _suffix(kind, file) and file.is_file())
            if files:
                _add(found, path.name, files)
        elif suffix := _suffix(kind, path):
            _add(found, path.name.removesuffix(path.name[-len(suffix) :]), [path])
    if not found:
        raise DatabaseError(f"{folder} has no files {', '.join('*' + suffix for suffix in SUFFIXES[kind])}")
    return found


def _is_set_aside(path: Path, folder: Path) -> bool:
    """Whether a file is hidden or a writer's own (`_temporary/`, `_delta_log/`, `.part`): Spark and Hive skip these."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _suffix(kind: str, path: Path) -> str:
    fitting = (suffix for suffix in SUFFIXES[kind] if path.name.lower().endswith(suffix))
    return max(fitting, key=len, default="")


def _add(found: dict[str, list[Path]], name: str, files: list[Path]) -> None:
    twin = next((known for known in found if known.casefold() == name.casefold()), None)
    if twin is not None:
        raise DatabaseError(f"{files[0]} and {found[twin][0]} would both be table {printable(name)}: rename one")
    found[name] = files


def _make(connection: duckdb.DuckDBPyConnection, kind: str, name: str, files: list[Path]) -> None:
    listed = f"[{', '.join(_literal(str(file.resolve())) for file in files)}]"
    if kind == "parquet":
        source = f"read_parquet({listed}, union_by_name = true, hive_partitioning = false)"
        connection.execute(f"CREATE VIEW {quote_identifier(name)} AS SELECT * FROM {source}")
        return
    nulls = f"nullstr = ['', {_literal(NO_VALUE)}]"
    options = f"header = true, union_by_name = true, {_DATES}, {nulls}, sample_size = -1"
    typed = f"read_csv({listed}, {options}, auto_type_candidates = {_TYPES})"
    described = connection.execute(f"DESCRIBE SELECT * FROM {typed}").fetchall()
    numbers = [column for column, sql_type, *_ in described if sql_type in _NUMBERS]
    texts = list(_with_leading_zeros(connection, f"read_csv({listed}, {options}, all_varchar = true)", numbers))
    if texts:
        kept = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in texts)
        typed = f"read_csv({listed}, {options}, auto_type_candidates = {_TYPES}, types = {{{kept}}})"
    connection.execute(f"CREATE TABLE {quote_identifier(name)} AS SELECT * FROM {typed}")


def _with_leading_zeros(connection: duckdb.DuckDBPyConnection, source: str, numbers: list[str]) -> Iterator[str]:
    """The columns of numbers that are codes: 007 is not 7."""
    if not numbers:
        return
    asked = ", ".join(f"bool_or(regexp_matches({quote_identifier(column)}, '^[+-]?0[0-9]'))" for column in numbers)
    answer = connection.execute(f"SELECT {asked} FROM {source}").fetchone()
    yield from (column for column, is_code in zip(numbers, answer or (), strict=True) if is_code)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
