"""The real dumps: RODI's scenarios and NPD, the same on DuckDB and PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ruleminer.sources.database import open_database
from ruleminer.sources.dump import load_dump
from tests.sources.test_database import without_types

pytestmark = pytest.mark.data

SIZES = {  # tables, rows, foreign keys
    "cmt_denormalized": (30, 5762, 39),
    "cmt_mixed": (32, 5386, 52),
    "cmt_naive": (48, 9123, 69),
    "cmt_naive_ci": (48, 9123, 69),
    "cmt_renamed": (48, 9123, 69),
    "cmt_structured": (32, 5386, 52),
    "cmt_structured_ci": (32, 5386, 52),
    "conference_mixed": (30, 6270, 47),
    "conference_naive": (66, 12508, 83),
    "conference_naive_ci": (66, 12508, 83),
    "conference_nofks": (30, 6270, 0),
    "conference_renamed": (66, 12508, 83),
    "conference_structured": (30, 6270, 47),
    "conference_structured_ci": (30, 6270, 47),
    "npd": (70, 257784, 0),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_real_dump_is_the_same_on_duckdb_and_postgresql(
    name: str, real_data: Path, rodi_duckdb: Callable[[str], str], empty_postgres: str
) -> None:
    folder = real_data / "rodi" / name
    path = next(folder / dump for dump in ("dump.sql", "dump.sql.gz") if (folder / dump).exists())
    loaded = load_dump(path, empty_postgres)
    assert loaded.schemas == (name,)
    with open_database(rodi_duckdb(name)) as duck, open_database(empty_postgres) as postgres:
        tables = duck.schema.tables
        keys = sum(len(table.foreign_keys) for table in tables)
        assert (len(tables), sum(table.rows or 0 for table in tables), keys) == SIZES[name]
        assert without_types(duck.schema) == without_types(postgres.schema)
        assert loaded.rows == SIZES[name][1]
        for table in tables:
            if (table.rows or 0) < 20_000:
                sql = "SELECT * FROM {}".format
                assert Counter(duck.rows(sql(duck.quoted(table.name)))) == Counter(
                    postgres.rows(sql(postgres.quoted(table.name)))
                )


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    """Ten times the rows take about the same memory; a dump held in memory would add several hundred MB."""
    program = (
        "import resource, sys; from pathlib import Path; from ruleminer.sources.dump import load_dump; "
        "print(load_dump(Path(sys.argv[1]), sys.argv[2]).rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for rows in (60_000, 600_000):
        path = tmp_path / f"{rows}.sql"
        with path.open("w") as file:
            file.write(
                "CREATE TABLE t (id integer NOT NULL, note text, n numeric(9,2));\nCOPY t (id, note, n) FROM stdin;\n"
            )
            file.writelines(
                f"{row}\tsome \\\\ {row * 7919 % 1000003} {'text' * 30}\t{row % 1000}.25\n" for row in range(rows)
            )
            file.write("\\.\nALTER TABLE ONLY t ADD CONSTRAINT k PRIMARY KEY (id);\n")
        url = f"duckdb:///{tmp_path}/{rows}.duckdb"
        done = subprocess.run([sys.executable, "-c", program, path, url], check=True, capture_output=True, text=True)
        loaded, kilobytes = map(int, done.stdout.split())
        assert loaded == rows
        peaks.append(kilobytes / 1024)
    assert peaks[1] - peaks[0] < 120, f"MB at each size: {peaks}"
