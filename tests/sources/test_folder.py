"""Folders of Parquet and CSV files are read as databases, and nothing else on the machine is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import DatabaseError
from ruleminer.rules.dialects import DUCKDB
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.command_line import Run


def shop(folder: Path, suffix: str) -> str:
    """Customers in one file, orders in a sub-folder of two."""
    (folder / "order").mkdir(parents=True)
    with duckdb.connect() as connection:
        tables = {
            "customer": "SELECT i AS id, 'name ' || i AS name, DATE '2020-01-01' + CAST(i AS INTEGER) AS since "
            "FROM range(1, 41) r(i)",
            "order/one": "SELECT i + 1000 AS id, i % 40 + 1 AS customer_id, i / 4 AS total FROM range(0, 100) r(i)",
            "order/two": "SELECT i + 1000 AS id, i % 40 + 1 AS customer_id, i / 4 AS total FROM range(100, 150) r(i)",
        }
        for name, sql in tables.items():
            place = f"{folder}/{name}.{suffix}".replace("'", "''")
            connection.execute(f"COPY ({sql}) TO '{place}'")
    return f"{suffix}:{folder}"


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_are_tables_whose_keys_and_links_are_discovered(suffix: str, tmp_path: Path) -> None:
    with open_database(shop(tmp_path / "it's a shop", suffix)) as database:
        assert database.dialect is DUCKDB
        assert [(table.name, table.rows, table.is_view) for table in database.schema.tables] == [
            ("customer", 40, False),
            ("order", 150, False),
        ]
        assert [(c.name, c.kind.value) for c in database.schema.table("customer").columns] == [
            ("id", "integer"),
            ("name", "text"),
            ("since", "date"),
        ]
        structure = learn_structure(database)
        assert structure.schema.table("customer").own_key == "id"
        assert [(tuple(link.start), tuple(link.end)) for link in structure.schema.links] == [
            (("order", "customer_id"), ("customer", "id"))
        ]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_what_writers_leave_beside_their_files_is_no_part_of_a_table(suffix: str, tmp_path: Path) -> None:
    url = shop(tmp_path, suffix)
    half = (tmp_path / "order" / f"one.{suffix}").read_bytes()
    for place in ("_temporary/0/part", ".staging/part", "_part", ".part", "year/.part"):
        path = tmp_path / "order" / f"{place}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(half)
    with open_database(url) as database:
        assert database.schema.table("order").rows == 150


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_only_the_folder_is_read_and_nothing_written(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    url = shop(tmp_path / "shop", suffix)
    before = sorted(path.name for path in (tmp_path / "shop").rglob("*"))
    with open_database(url, trust=True) as database:
        for sql in (
            f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
            f"SELECT * FROM read_csv('{tmp_path}/shop/../secret.csv')",
            f"COPY (SELECT 1) TO '{tmp_path}/shop/evil.csv'",
            f"WITH a AS (SELECT 1) SELECT * FROM a; COPY (SELECT 1) TO '{tmp_path}/shop/evil.csv'",
            "DROP VIEW customer",
            "SET allowed_directories = ['/']",
        ):
            with pytest.raises(DatabaseError):
                list(database.rows(sql))
            with pytest.raises(DatabaseError):
                database.arrow(sql).read_all()
        assert list(database.rows("SELECT count(*) FROM customer")) == [(40,)]
    assert sorted(path.name for path in (tmp_path / "shop").rglob("*")) == before


def test_codes_with_leading_zeros_stay_texts_and_ambiguous_dates_too(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("code,n,day,odd\n007,1,2020-01-02,03/04/2020\n012,2.5,,04/05/2020\n")
    with open_database(f"csv:{tmp_path}") as database:
        kinds = [(c.name, c.kind.value) for c in database.schema.table("c").columns]
        assert kinds == [("code", "text"), ("n", "decimal"), ("day", "date"), ("odd", "text")]
        assert list(database.rows("SELECT code, odd FROM c ORDER BY code")) == [
            ("007", "03/04/2020"),
            ("012", "04/05/2020"),
        ]


def test_a_backslash_and_an_n_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("id\tdied\tname\n1\t\\N\tAnn\n2\t1999\t\\N\n")
    with open_database(f"csv:{tmp_path}") as database:
        assert [(c.name, c.kind.value) for c in database.schema.table("p").columns][1] == ("died", "integer")
        assert list(database.rows("SELECT * FROM p ORDER BY id")) == [(1, None, "Ann"), (2, 1999, None)]


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.parquet").write_bytes(b"no parquet")
    (tmp_path / "twins" / "A").mkdir(parents=True)
    for name in ("a.csv", "A/b.csv"):
        (tmp_path / "twins" / name).write_text("x\n1\n")
    for url, told in (
        (f"parquet:{tmp_path}/none", "no such folder"),
        (f"parquet:{tmp_path}/empty", r"has no files \*.parquet, \*.pq"),
        (f"parquet:{tmp_path}/broken", "x.parquet: cannot be read"),
        (f"csv:{tmp_path}/twins", "would both be table"),
    ):
        with pytest.raises(DatabaseError, match=told) as caught:
            open_database(url)
        assert "\n" not in str(caught.value)


def test_a_folder_goes_through_extraction_and_proposals(run: Run, tmp_path: Path) -> None:
    url = shop(tmp_path / "shop", "parquet")
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        ":Customer a owl:Class . :name a owl:DatatypeProperty .\n"
    )
    facts = "".join(f"Customer,{i}\n" for i in range(1, 6)) + "".join(f"name,{i},name {i}\n" for i in range(1, 6))
    (tmp_path / "f.csv").write_text("predicate,arg1,arg2\n" + facts.replace("\n", ",\n", 5))
    result = run("extract", "--db", url, "--ontology", "o.ttl", "--examples", "f.csv", "--out", "run", "-q")
    assert result.code == 0, result.err
    result = run("propose-mappings", "run", "-q")
    assert result.code == 0, result.err
    mapping = (tmp_path / "run" / "proposals" / "mapping.rules").read_text()
    assert "Customer(x) <- customer(id: x)" in mapping
    assert "customer(id: x, name: y)" in mapping
