"""Which facts are learnt from: a sample that anybody can draw again, and negatives that are none of the positives."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ruleminer.extraction import sampling
from ruleminer.extraction.catalog import Catalog
from ruleminer.extraction.sampling import Negatives, sample_facts
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database, open_database

from .small_worlds import catalog_of_database, in_duckdb, on_engine, world

Drawn = list[tuple[str, str, str | None, bool]]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with open_database(in_duckdb(tmp_path / "world.duckdb", 0)) as database:
        yield database


def some_examples(count: int = 30) -> list[Fact]:
    numbers = [Fact("Author", (str(number),), (Kind.INTEGER,)) for number in range(100, 100 + count)]
    return numbers + [Fact("name", (str(number), f"n{number}"), (None, None)) for number in range(count)]


def sampled(examples: list[Fact] | pa.Table, database: Database, **options: Any) -> pa.Table:
    table = fact_table(examples) if isinstance(examples, list) else examples
    options = {"positives": None, "negatives": Negatives.NONE, "seed": 0, **options}
    with duckdb.connect() as work:
        return sample_facts(work, table, database, catalog_of_database(database), **options)


def drawn(examples: list[Fact] | pa.Table, database: Database, **options: Any) -> Drawn:
    table = sampled(examples, database, **options)
    return [tuple(row[name] for name in ("predicate", "arg1", "arg2", "positive")) for row in table.to_pylist()]


def given(facts: list[Fact]) -> Drawn:
    return [(f.predicate, f.arguments[0], f.arguments[1] if len(f.arguments) > 1 else None, f.positive) for f in facts]


def test_without_a_limit_all_are_taken(database: Database) -> None:
    assert sorted(drawn(some_examples(), database), key=repr) == sorted(given(some_examples()), key=repr)


def test_a_sample_has_so_many_of_each_predicate_and_each_once(database: Database) -> None:
    sample = drawn(some_examples(), database, positives=7)
    assert set(sample) <= set(given(some_examples()))
    assert len(sample) == len(set(sample))
    assert Counter(row[0] for row in sample) == {"Author": 7, "name": 7}


def test_the_order_of_the_examples_does_not_matter(database: Database) -> None:
    mixed = some_examples()
    random.Random(1).shuffle(mixed)
    options = {"positives": 7, "negatives": Negatives.UNIFORM}
    assert drawn(mixed + mixed[:5], database, **options) == drawn(some_examples(), database, **options)


def test_a_larger_sample_holds_the_smaller_one(database: Database) -> None:
    samples = [set(drawn(some_examples(), database, positives=size)) for size in (3, 7, 20)]
    assert samples[0] < samples[1] < samples[2]


def test_another_seed_is_another_sample(database: Database) -> None:
    samples = [frozenset(drawn(some_examples(), database, positives=7, seed=seed)) for seed in range(5)]
    assert len(set(samples)) == 5


def test_negatives_that_were_given_are_all_kept(database: Database) -> None:
    wrong = [Fact("Author", (str(number),), (Kind.INTEGER,), positive=False) for number in range(900, 920)]
    sample = drawn([*some_examples(), *wrong], database, positives=3)
    assert [row for row in sample if not row[3]] == sorted(given(wrong))


@pytest.mark.parametrize("negatives", [Negatives.UNIFORM, Negatives.REALISTIC])
@pytest.mark.parametrize("seed", range(3))
def test_for_each_positive_one_negative_at_most_and_never_a_positive(
    negatives: Negatives, seed: int, database: Database
) -> None:
    examples = some_examples()
    sample = drawn(examples, database, positives=5, negatives=negatives, seed=seed)
    wrong = [row for row in sample if not row[3]]
    assert wrong
    assert len(wrong) == len(set(wrong))
    for predicate, count in Counter(row[0] for row in wrong).items():
        assert count <= sum(row[0] == predicate and row[3] for row in sample)
    known = {row[:3] for row in given(examples)}  # also of those that were not drawn
    assert not known & {row[:3] for row in wrong}


def test_a_positive_written_otherwise_is_no_negative(database: Database) -> None:
    """The world has the prices 1, 2.5, 7 and 12.125, and whole numbers below 8."""
    forms = ["1.0", "2.500", "07", "+12.1250", *map(str, range(9))]
    examples = [Fact("cost", (form,), (Kind.DECIMAL,)) for form in forms]
    assert not [row for row in drawn(examples, database, negatives=Negatives.UNIFORM) if not row[3]]
    fewer = [fact for fact in examples if fact.arguments != ("2.500",)]
    assert ("cost", "2.5", None, False) in drawn(fewer, database, negatives=Negatives.UNIFORM)


def test_uniform_negatives_are_constants_of_the_database_of_the_same_family(database: Database) -> None:
    constants = {lexical_form(cell) for rows in world(0).values() for row in rows for cell in row if cell is not None}
    sample = drawn(some_examples(), database, negatives=Negatives.UNIFORM)
    for predicate, first, second, positive in sample:
        if not positive:
            assert first in constants
            assert first.replace(".", "").isdigit()
            assert second is None if predicate == "Author" else second in constants


def test_realistic_negatives_stand_in_positives_of_other_predicates(database: Database) -> None:
    people = [Fact("Author", (f"http://h/person/{number}",), (None,)) for number in range(20)]
    papers = [Fact("Paper", (f"http://h/paper/{number}",), (None,)) for number in range(20)]
    words = [Fact("Word", (f"w{number}",), (None,)) for number in range(20)]
    sample = drawn([*people, *papers, *words], database, negatives=Negatives.REALISTIC)
    wrong = {(row[0], str(row[1]).rsplit("/", 1)[0]) for row in sample if not row[3]}
    assert wrong == {("Author", "http://h/paper"), ("Paper", "http://h/person")}, "no entity is a word, no word an IRI"


def test_realistic_negatives_hold_nothing_that_stands_in_positives_of_their_own_predicate_alone(
    database: Database,
) -> None:
    wrote = [
        Fact("wrote", (f"http://h/person/{number}", f"http://h/paper/{number}"), (None, None)) for number in range(9)
    ]
    assert all(row[3] for row in drawn(wrote, database, negatives=Negatives.REALISTIC))
    others = [
        Fact("read", (f"http://h/person/{number}", f"http://h/book/{number}"), (None, None)) for number in range(9)
    ]
    wrong = [row for row in drawn([*wrote, *others], database, negatives=Negatives.REALISTIC) if not row[3]]
    assert wrong
    assert not [row for row in wrong if row[0] == "wrote" and "paper" in f"{row[1]}{row[2]}"]
    assert not [row for row in wrong if row[0] == "read" and "book" in f"{row[1]}{row[2]}"]


def test_a_drawn_negative_has_the_kind_of_its_place(database: Database) -> None:
    rows = sampled(some_examples(), database, negatives=Negatives.UNIFORM).to_pylist()
    kinds = {(row["predicate"], row["kind1"], row["kind2"]) for row in rows if not row["positive"]}
    assert kinds == {("Author", "integer", None), ("name", None, None)}


def test_query_pairs_take_turns(database: Database) -> None:
    numbers = [str(number) for number in range(42)]
    table = fact_table([Fact("P", (number,), (None,)) for number in numbers])
    table = table.set_column(
        table.column_names.index("origin"),
        "origin",
        pa.array(["few" if n in ("40", "41") else "many" for n in numbers]),
    )
    assert {"40", "41"} <= {row[1] for row in drawn(table, database, positives=4)}


@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mysql"])
@pytest.mark.parametrize("negatives", [Negatives.UNIFORM, Negatives.REALISTIC])
def test_every_engine_draws_the_same(
    engine: str, negatives: Negatives, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options = {"positives": 9, "negatives": negatives, "seed": 4}
    expected = drawn(some_examples(), database, **options)
    with open_database(on_engine(engine, 0, tmp_path, request)) as other:
        assert drawn(some_examples(), other, **options) == expected


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres", "mysql"])
def test_constants_that_cannot_be_drawn_are_left_early_and_the_same_ones_remain(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "POOL", 2)
    monkeypatch.setattr(sampling, "_MANY", 1)
    with open_database(on_engine(engine, 0, tmp_path, request)) as database:
        for table, columns in catalog_of_database(database).by_table.items():
            drawn_ones = []
            for counted in (0, 20):  # nobody counted; or so many that a fifth of them is above the bound
                known = [replace(column, distinct=counted) for column in columns]
                query = sampling.constants_query(table, known, database.dialect, 0)
                assert query is not None
                assert ("< 'ce9e8ccd'" in query.sql) == bool(counted)
                rows = database.arrow(query.sql, query.parameters).read_all()
                drawn_ones.append(set(zip(rows["family"].to_pylist(), rows["v"].to_pylist(), strict=True)))
            assert drawn_ones[1] <= drawn_ones[0]


def test_values_that_repeat_are_told_apart_before_their_md5s_are_made(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "codes.duckdb") as work:
        work.execute("CREATE TABLE many AS SELECT i % 100 AS a, i AS b FROM range(100000) r(i)")
    with open_database(tmp_path / "codes.duckdb") as database:
        (columns,) = catalog_of_database(database).by_table.values()
        query = sampling.constants_query("many", columns[:1], database.dialect, 0, {Kind.DECIMAL: 10**6}, 100_000)
        assert query is not None
        sql = f"EXPLAIN (FORMAT json) {database.dialect.bound(query.sql)}"
    with duckdb.connect(tmp_path / "codes.duckdb", read_only=True) as work:
        ((_, plan),) = work.execute(sql, query.parameters).fetchall()

    def steps(nodes: list[dict[str, Any]]) -> Iterator[str]:
        for node in nodes:
            yield f"{node['name']} {node['extra_info']}"
            yield from steps(node["children"])

    made = [step.split()[0] for step in steps(json.loads(plan)) if "md5" in step]
    assert "FILTER" in made
    assert "SEQ_SCAN" not in made  # that is done with all rows


@pytest.mark.parametrize("pool", [20_000, 300])
def test_the_source_is_not_asked_for_constants_that_the_profile_tells(
    pool: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "POOL", pool)
    with duckdb.connect(tmp_path / "told.duckdb") as work:
        work.execute("CREATE TABLE thing AS SELECT i AS id, 'n' || i AS name, i % 3 AS kind FROM range(7, 4000) r(i)")
        work.execute(
            "CREATE TABLE pair AS SELECT 7 + i * 37 % 3993 AS a, i * 17 AS b, i / 8 AS share FROM range(900) r(i)"
        )
    with open_database(tmp_path / "told.duckdb") as database:
        told = catalog_of_database(database)
        untold = Catalog([replace(c, span=None, values=(), distinct=0) for c in told.columns], told.rows)
        asked: list[str] = []
        arrow = database.arrow
        monkeypatch.setattr(database, "arrow", lambda sql, *rest: asked.append(sql) or arrow(sql, *rest))
        pools = []
        for catalog in (told, untold):
            facts = fact_table(some_examples())
            options = {"positives": None, "negatives": Negatives.UNIFORM, "seed": 3}
            with duckdb.connect() as work:
                pools.append(sample_facts(work, facts, database, catalog, **options).to_pylist())
    assert pools[0] == pools[1]
    assert [f't."{name}"' in " ".join(asked[:-2]) for name in ("id", "kind", "a")] == [False] * 3
    assert [f't."{name}"' in " ".join(asked[:-2]) for name in ("name", "b", "share")] == [True] * 3


def test_the_bound_lets_enough_constants_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 50)
    with duckdb.connect(tmp_path / "many.duckdb") as work:
        work.execute("CREATE TABLE many AS SELECT i AS id, 'n' || i AS name FROM range(2000) AS r(i)")
    with open_database(tmp_path / "many.duckdb") as database:
        (columns,) = catalog_of_database(database).by_table.values()
        drawn_ones = []
        for some in (columns, [replace(column, distinct=0) for column in columns]):
            query = sampling.constants_query("many", some, database.dialect, 0)
            assert query is not None
            drawn_ones.append(sorted(database.rows(query.sql, query.parameters)))
        assert drawn_ones[0] == drawn_ones[1]
        assert len(drawn_ones[0]) == 100


def test_columns_read_one_by_one_give_the_same_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 50)
    with duckdb.connect(tmp_path / "few.duckdb") as work:
        work.execute(
            "CREATE TABLE few AS SELECT i AS id, 'n' || i % 300 AS name, 'm' || i AS other, i % 7 / 8 AS share, "
            "date '2000-01-01' + CAST(i % 500 AS INTEGER) AS day FROM range(2000) AS r(i)"
        )
    with open_database(tmp_path / "few.duckdb") as database:
        catalog = catalog_of_database(database)
        (columns,) = catalog.by_table.values()
        most = {column.family: 500 if column.family is Kind.DATE else 2000 for column in columns}
        drawn_ones = []
        for reads_columns in (True, False):
            dialect = replace(database.dialect, reads_columns=reads_columns)
            query = sampling.constants_query("few", columns, dialect, 0, most, 2000)
            assert query is not None
            assert ('SELECT DISTINCT t."name"' in query.sql) == reads_columns
            drawn_ones.append(sorted(database.rows(query.sql, query.parameters)))
        view = sampling.constants_query("few", columns, database.dialect, 0, most)
        assert view is not None
        assert view.sql.count('FROM "few"') == 1  # it would be made for each of its columns
    assert drawn_ones[0] == drawn_ones[1]
    assert Counter(of for of, _ in drawn_ones[0]) == {"text": 50, "decimal": 50, "date": 50}


GREATEST = 2**63 - 1


@pytest.mark.parametrize(
    ("numbers", "sql_type"),
    [
        ([GREATEST], "BIGINT"),
        ([GREATEST - 1, GREATEST], "BIGINT"),
        ([-GREATEST - 1, -GREATEST], "BIGINT"),
        ([2**64 - 2, 2**64 - 1], "UBIGINT"),
        ([2**100, 2**100 + 1], "HUGEINT"),
    ],
)
def test_negatives_are_drawn_where_numbers_are_as_great_as_they_can_be(
    numbers: list[int], sql_type: str, tmp_path: Path
) -> None:
    with duckdb.connect(tmp_path / "great.duckdb") as work:
        work.execute("CREATE TABLE author AS SELECT i AS id FROM range(100, 200) AS r(i)")
        work.execute(f"CREATE TABLE great (n {sql_type})")
        work.executemany("INSERT INTO great VALUES (?)", [[str(number)] for number in numbers])
    with open_database(tmp_path / "great.duckdb") as database:
        asked = [column for column in catalog_of_database(database).columns if column.table == "great"]
        assert sampling.full_ranges(asked) == []
        rows = drawn(some_examples(60)[:60], database, negatives=Negatives.UNIFORM)
    assert len([row for row in rows if not row[3]]) > 0
