"""How often extraction reads a table of a live server, as the server counts it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg2
import pytest

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.extraction import at_hand, cells, sampling
from ruleminer.extraction.catalog import catalog_of
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.extraction.sampling import POOL, Negatives, sample_facts
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.progress import silent
from ruleminer.sources.database import open_database
from ruleminer.structure import profile as profile_module
from ruleminer.structure.profile import Constants, profile_of
from ruleminer.structure.structure import learn_structure

ONTOLOGY = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Person a owl:Class . :Paper a owl:Class . :wrote a owl:ObjectProperty . :name a owl:DatatypeProperty .
"""
TABLES = """
CREATE TABLE person (id int PRIMARY KEY, name text, town text, born date, active boolean, pay numeric(9, 2));
CREATE TABLE paper (id int PRIMARY KEY, title text, code text, scan bytea);
CREATE TABLE wrote (person int REFERENCES person, paper int REFERENCES paper, PRIMARY KEY (person, paper));
CREATE TABLE nothing (id int PRIMARY KEY, note text);
INSERT INTO person SELECT i, 'n' || i, 'town' || i % 7, date '1970-01-01' + i % 90, i % 2 = 0, i % 50
FROM generate_series(1, 3000) i;
INSERT INTO paper SELECT i, 'title ' || i, rpad('c' || i % 900, 6), CAST('scan ' || i AS bytea)
FROM generate_series(101, 2100) i;
INSERT INTO wrote SELECT 1 + i * 7 % 3000, 101 + i * 11 % 2000 FROM generate_series(1, 4000) i ON CONFLICT DO NOTHING;
"""
FACTS = "predicate,arg1,arg2\nPerson,2999,\nPaper,2003,\nwrote,2998,284\nname,2990,n2990\n"


@pytest.fixture
def source(empty_postgres: str) -> str:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(TABLES)
    connection.close()
    return empty_postgres


def scans(url: str) -> dict[str, int]:
    """How often each table was read, whole or through an index, as far as connections that have ended did."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT relname, seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables")
        found: dict[str, int] = dict(cursor.fetchall())
    connection.close()
    return found


def reads_of(source: str, folder: Path, ontology: str = ONTOLOGY, facts: str = FACTS) -> tuple[dict[str, int], Dataset]:
    """How often an extraction reads each table, and what comes of it."""
    (folder / "o.ttl").write_text(ontology)
    (folder / "facts.csv").write_text(facts)
    before = scans(source)
    request = ExtractRequest(out=folder / "run", db=source, ontology=folder / "o.ttl", examples=(folder / "facts.csv",))
    (dataset,) = extract_datasets(request)
    after = scans(source)
    return {table: after[table] - before[table] for table in after}, read_dataset(dataset)


def asked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no table is kept here, as if there were no room."""
    monkeypatch.setattr(at_hand, "_bytes", lambda database, tables: 10**15)


def same(one: Dataset, other: Dataset) -> bool:
    return one.rules.equals(other.rules) and one.candidates.equals(other.candidates) and one.facts.equals(other.facts)


def test_each_table_of_postgres_is_read_at_most_twice(source: str, tmp_path: Path) -> None:
    reads, found = reads_of(source, tmp_path)
    assert found.facts.num_rows == 8  # a negative for each positive was drawn, too
    assert found.candidates.num_rows > 0
    # Once to be kept here, whole, and small ones once for their profile; of no row there is nothing to tell.
    assert reads == {"person": 2, "paper": 2, "wrote": 2, "nothing": 1}


@pytest.mark.parametrize("case", ["undeclared links", "names", "many rows", "large", "views"])
def test_nothing_reads_a_table_of_postgres_more_than_twice(
    case: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = FACTS
    with psycopg2.connect(source) as connection, connection.cursor() as cursor:
        match case:
            case "undeclared links":  # of which each column is compared with keys; and compound keys are looked for
                cursor.execute(
                    """
                    CREATE TABLE review AS
                    SELECT i % 2900 + 1 AS person_id, 101 + i * 7 % 1900 AS paper_id, i % 3 AS mark
                    FROM generate_series(1, 4000) i;
                    CREATE TABLE bid AS SELECT i AS id, 3001 - i AS person_id, 100 + i % 1999 AS paper
                    FROM generate_series(1, 3000) i;
                    """
                )
                facts += "wrote,2997,2098\n"
            case "names":
                facts = "predicate,arg1,arg2\nPerson,n2999,\nPerson,n17,\nPaper,title 2003,\nwrote,n2998,title 284\n"
            case "many rows":
                monkeypatch.setattr(cells, "_MOST_FETCHED", 10)
            case "large":  # for one statement that tells all, and for a profile that the server tells
                monkeypatch.setattr(profile_of, "__defaults__", (silent, None, 0))
                monkeypatch.setattr(profile_module, "_MANY_ROWS", 100)
            case "views":
                cursor.execute(
                    "CREATE VIEW author AS SELECT p.*, w.paper FROM person p JOIN wrote w ON w.person = p.id"
                )
    connection.close()
    (tmp_path / "kept").mkdir()
    (tmp_path / "there").mkdir()
    reads, found = reads_of(source, tmp_path / "kept", facts=facts)
    assert max(reads.values()) <= 2, reads
    assert found.candidates.num_rows > 0
    asked_there(monkeypatch)
    more, expected = reads_of(source, tmp_path / "there", facts=facts)
    assert same(found, expected)
    assert max(more.values()) > 2, "the case is one in which a server that is asked each time reads a table again"


def test_what_one_statement_tells_is_what_several_do(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_database(source, count_rows=False) as database:
        at_once = profile_of(database)
        assert profile_of(database, read_once=0).to_json() == at_once.to_json()
        monkeypatch.setattr(database, "dialect", replace(database.dialect, reads_once=False))
        assert profile_of(database).to_json() == at_once.to_json()


def test_large_tables_are_asked_by_several_statements(empty_postgres: str) -> None:
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute("""
        CREATE TABLE small AS SELECT i AS id, i % 5 AS code FROM generate_series(1, 100) i;
        CREATE TABLE large AS SELECT i AS id, i % 5 AS code FROM generate_series(1, 9000) i;
        CREATE TABLE "In parts" (id int, code int) PARTITION BY RANGE (id);
        CREATE TABLE part PARTITION OF "In parts" DEFAULT;
        INSERT INTO "In parts" SELECT * FROM large;
        CREATE TABLE long AS SELECT string_agg(md5(CAST(i AS text)), '') AS text FROM generate_series(1, 9000) i;
        """)
    connection.close()
    constants = Constants(3, POOL)
    with open_database(empty_postgres) as database:
        profile = profile_of(database, draw=constants, read_once=100_000)
        assert constants.tables == {"small"}
        assert profile.tables["In parts"] == profile.tables["large"]


@pytest.mark.parametrize("bound", [0, 200_000])
def test_constants_of_large_tables_are_asked_for_and_are_the_same(
    bound: int, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = []
    monkeypatch.setattr(
        sampling, "_draw_negatives", lambda work, _: pools.append(work.sql("FROM pool ORDER BY ALL").fetchall())
    )
    examples = fact_table([Fact("name", (str(n), f"n{n}"), (None, None)) for n in range(1, 40)])
    with open_database(source) as database:
        structure = learn_structure(database)
        for read_once in (bound, 10**9):
            profile = profile_of(database, draw=Constants(3, POOL), read_once=read_once)
            catalog = catalog_of(replace(structure, profile=profile))
            options = {"positives": None, "negatives": Negatives.UNIFORM, "seed": 3}
            with duckdb.connect() as work:
                sample_facts(work, examples, database, catalog, **options)
            assert catalog.constants is not None
            assert len(catalog.constants.tables) == (3 if read_once == 10**9 else 0 if bound == 0 else 2)
    assert pools[0] == pools[1]


@pytest.mark.parametrize("pool", [POOL, 100])
def test_negatives_are_the_same_whenever_constants_are_drawn(
    pool: int, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "POOL", pool)
    wrote = [Fact("wrote", (str(n), str(n + 100)), (None, None)) for n in range(1, 40)]
    name = [Fact("name", (str(n), f"n{n}"), (None, None)) for n in range(1, 40)]
    examples = fact_table(wrote + name)
    drawn = []
    with open_database(source) as database:
        for draw in (Constants(3, pool), None):
            catalog = catalog_of(learn_structure(database, draw=draw))
            options = {"positives": None, "negatives": Negatives.UNIFORM, "seed": 3}
            with duckdb.connect() as work:
                drawn.append(sample_facts(work, examples, database, catalog, **options).to_pylist())
    assert drawn[0] == drawn[1]


def test_a_table_of_very_many_columns_is_read_once_for_its_profile(empty_postgres: str) -> None:
    columns = ", ".join(f"i % {n + 2} AS c{n}" if n % 2 else f"'t' || i % {n + 2} AS c{n}" for n in range(150))
    with psycopg2.connect(empty_postgres) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE wide AS SELECT {columns} FROM generate_series(1, 500) i")
    connection.close()
    before = scans(empty_postgres)["wide"]
    with open_database(empty_postgres, count_rows=False) as database:
        profile = profile_of(database)
    assert scans(empty_postgres)["wide"] - before == 1
    assert len(profile.tables["wide"].columns) == 150
    assert [profile.tables["wide"].columns[name].distinct for name in ("c0", "c149")] == [2, 151]
