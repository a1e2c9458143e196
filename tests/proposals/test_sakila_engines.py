"""Sakila on MariaDB and on PostgreSQL: the same candidates and the same mapping as on DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.sources.database import open_database
from ruleminer.sources.dump import load_dump

pytestmark = [pytest.mark.data, pytest.mark.slow]

# A value, an entity behind a link, one behind a link table, a boolean, a date, a decimal, a timestamp, an enum.
FACTS = {
    "Film": "SELECT film_id FROM film",
    "Customer": "SELECT customer_id FROM customer",
    "title": "SELECT film_id, title FROM film",
    "rating": "SELECT film_id, rating FROM film",
    "price": "SELECT film_id, rental_rate FROM film",
    "inLanguage": "SELECT film_id, language_id FROM film",
    "actor": "SELECT film_id, actor_id FROM film_actor",
    "isActive": "SELECT customer_id, activebool FROM customer",
    "since": "SELECT customer_id, create_date FROM customer",
    "city": "SELECT address_id, city FROM address JOIN city USING (city_id)",
}
CLASSES = ("Film", "Customer")
LINKS = ("inLanguage", "actor")


def ontology() -> str:
    lines = [f":{name} a owl:Class ." for name in CLASSES]
    for name in FACTS:
        if name not in CLASSES:
            lines.append(f":{name} a owl:{'Object' if name in LINKS else 'Datatype'}Property .")
    return "@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n" + "\n".join(lines)


@pytest.fixture(scope="module")
def sakila(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Sakila as a dump and in DuckDB, an ontology and ten examples of each predicate."""
    source = real_data / "real" / "sakila"
    if not source.is_dir():
        pytest.skip("no Sakila among the real data")
    folder = tmp_path_factory.mktemp("sakila")
    (folder / "sakila.sql").write_bytes((source / "schema.sql").read_bytes() + (source / "data.sql").read_bytes())
    load_dump(folder / "sakila.sql", f"duckdb:///{folder}/sakila.duckdb")
    (folder / "o.ttl").write_text(ontology())
    lines = ["predicate,arg1,arg2"]
    with duckdb.connect(f"{folder}/sakila.duckdb", read_only=True) as connection:
        known = connection.execute("SELECT schema_name FROM duckdb_tables() WHERE table_name = 'film'").fetchall()
        connection.execute(f"USE {known[0][0]}")
        for name, sql in FACTS.items():
            for row in connection.execute(f"SELECT * FROM ({sql}) ORDER BY ALL LIMIT 10 OFFSET 30").fetchall():
                lines.append(",".join([name, *(str(v).lower() if v is True else str(v) for v in row)]))
    (folder / "f.csv").write_text("\n".join(line + "," * (2 - line.count(",")) for line in lines) + "\n")
    return folder


def mapped(sakila: Path, url: str, schema: str | None, out: Path) -> tuple[set[str], str]:
    """The dataset's rules, and the mapping that is proposed."""
    with open_database(url, schema=schema, count_rows=False) as database:
        views = tuple(table.name for table in database.schema.tables if table.is_view)  # MariaDB's copy has none
    request = ExtractRequest(
        out=out, db=url, schema=schema, ontology=sakila / "o.ttl", examples=(sakila / "f.csv",), exclude=views
    )
    (dataset,) = extract_datasets(request)
    with duckdb.connect() as connection:
        rules = {str(row[1:]) for row in connection.execute(f"SELECT * FROM '{dataset}/rules.parquet'").fetchall()}
    delivery = propose_mappings(ProposeRequest(run=out, db=url, schema=schema, exclude=views))
    return rules, (delivery.folder / "mapping.rules").read_text()


@pytest.fixture(scope="module")
def expected(sakila: Path) -> tuple[set[str], str]:
    return mapped(sakila, f"duckdb:///{sakila}/sakila.duckdb", None, sakila / "duckdb")


def test_sakila_on_mariadb_gives_the_same_mapping(
    sakila: Path, expected: tuple[set[str], str], mariadb_url: str, tmp_path: Path
) -> None:
    load_dump(sakila / "sakila.sql", mariadb_url, schema="sakila_map", replace=True)
    rules, mapping = mapped(sakila, mariadb_url, "sakila_map", tmp_path / "run")
    assert rules ^ expected[0] == set()
    assert mapping == expected[1]


def test_sakila_on_postgresql_gives_the_same_mapping(
    sakila: Path, expected: tuple[set[str], str], empty_postgres: str, tmp_path: Path
) -> None:
    load_dump(sakila / "sakila.sql", empty_postgres, schema="sakila_map")
    # An array is JSON here and was loaded as text there, so its codes, and what they leave room for, are others.
    rules, mapping = mapped(sakila, empty_postgres, "sakila_map", tmp_path / "run")
    assert len(rules & expected[0]) > 0.9 * len(expected[0])
    assert mapping == expected[1]
