"""Examples that are first rows speak neither for a small table nor for what the first rows share, whatever the key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import pool_of
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.proposals.reach import End, ends_of, known_share
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import Structure, learn_structure
from tests.mariadb import run_in_mariadb
from tests.proposals.worlds import ontology_of_classes

ONTOLOGY = ontology_of_classes({"Thing": None})


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Derivations, Structure]]:
    path = tmp_path_factory.mktemp("reach") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "CREATE TABLE item (code VARCHAR PRIMARY KEY, scale VARCHAR)",
            "INSERT INTO item SELECT format('S{:02d}_{:03d}', i // 10, i), '1:' || (i // 10) FROM range(10, 210) r(i)",
            "CREATE TABLE room (number INTEGER PRIMARY KEY, floor INTEGER)",
            "INSERT INTO room SELECT 1000 * f + 7 * n, f FROM range(1, 10) a(f), range(12) b(n)",
            "CREATE TABLE bill (id INTEGER PRIMARY KEY)",
            "INSERT INTO bill SELECT i FROM range(1, 301) r(i)",
            "CREATE TABLE line (bill INTEGER REFERENCES bill (id), item VARCHAR, PRIMARY KEY (bill, item))",
            "INSERT INTO line SELECT i // 3 + 1, format('S{:02d}_{:03d}', i // 10 % 20 + 1, i) FROM range(900) r(i)",
        ):
            connection.execute(statement)
    with open_database(f"duckdb:///{path}") as database:
        structure = learn_structure(database)
        yield Derivations(database, structure), structure


def measured(shop: tuple[Derivations, Structure], examples: list[str], *texts: str) -> Measured:
    """The pool of rules that derive all of these examples."""
    derivations, structure = shop
    rules = [parse_rule(f"Thing(x) <- {text}") for text in texts]
    pool = pool_of("Thing", [CandidateSet((one,), tuple(map(Body, rules))) for one in examples], [])
    found = Measure(ONTOLOGY, derivations, structure=structure).measured(pool)
    assert found is not None
    return found


def reach(found: Measured, text: str) -> float:
    assert found.reaches is not None
    return float(found.reaches[found.pool.bodies.index(Body(parse_rule(f"Thing(x) <- {text}")))])


@pytest.mark.parametrize(
    ("whole", "part", "examples"),
    [
        ("item(code: x)", 'item(code: x, scale: "1:1")', [f"S01_{i:03d}" for i in range(10, 15)]),
        ("room(number: x)", "room(number: x, floor: 1)", [str(1000 + 7 * i) for i in range(5)]),
    ],
)
def test_first_rows_by_texts_and_by_scattered_numbers_do_not_pay_for_what_they_share(
    shop: tuple[Derivations, Structure], whole: str, part: str, examples: list[str]
) -> None:
    found = measured(shop, examples, whole, part)
    assert reach(found, whole) == pytest.approx(5.0)
    best = rank(found, Ranker.EVIDENCE).chosen[0]
    assert found.pool.bodies[best] == Body(parse_rule(f"Thing(x) <- {whole}"))


def test_scattered_examples_that_share_a_code_still_pay_for_it(shop: tuple[Derivations, Structure]) -> None:
    whole, part = "room(number: x)", "room(number: x, floor: 9)"
    found = measured(shop, [str(9000 + 7 * i) for i in (0, 3, 6, 8, 11)], whole, part)
    assert reach(found, whole) == pytest.approx(108.0)
    best = rank(found, Ranker.EVIDENCE).chosen[0]
    assert found.pool.bodies[best] == Body(parse_rule(f"Thing(x) <- {part}"))


def test_of_a_compound_key_each_column_is_looked_at(shop: tuple[Derivations, Structure]) -> None:
    _, structure = shop
    rule = parse_rule('Thing(x) <- line(bill: a, item: b), x = "http://e.x/line/" ++ a ++ "/" ++ b')
    facts = [("http://e.x/line/1/S01_000",), ("http://e.x/line/2/S01_004",)]
    ends = ends_of(rule, facts, structure)
    assert ends == [End(Place("line", "bill"), "2"), End(Place("line", "item"), "S01_004")]
    assert known_share(ends[0], structure) == pytest.approx(2 / 300)  # close together: nothing is asked


def test_each_share_is_asked_once(shop: tuple[Derivations, Structure]) -> None:
    derivations, _ = shop
    end = End(Place("item", "code"), "S01_014")
    assert derivations.shares_up_to([end]) == {end: pytest.approx(5 / 200)}
    asked = derivations.statements["shares of rows"]
    derivations.shares_up_to([end])
    assert derivations.statements["shares of rows"] == asked


def test_first_rows_of_those_that_fill_a_column_are_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "goods.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE good (id INTEGER PRIMARY KEY, made BOOLEAN, weight INTEGER)")  # weights from 500 on
        work.execute("INSERT INTO good SELECT i, i % 50 > 5, CASE WHEN i > 500 THEN 7 * i END FROM range(1, 1001) r(i)")
    with open_database(path) as database:
        structure = learn_structure(database)
        derivations = Derivations(database, structure)
        rule = parse_rule("weight(x, y) <- good(id: x, weight: y)")
        (end,) = ends_of(rule, [(str(i), str(7 * i)) for i in range(501, 506)], structure)
        assert end == End(Place("good", "id"), "505", ("weight",))
        assert known_share(end, structure) is None  # the ids are close together, but few of them count
        assert derivations.shares_up_to([end]) == {end: pytest.approx(5 / 500)}


def test_shares_of_rows_are_exact_on_mariadb(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, "CREATE TABLE good (id INTEGER); INSERT INTO good SELECT seq FROM seq_1_to_30")
    end = End(Place("good", "id"), "7")
    with open_database(empty_mariadb) as database:
        assert Derivations(database).shares_up_to([end]) == {end: 7 / 30}


def test_of_an_empty_column_no_share_is_known(tmp_path: Path) -> None:
    path = tmp_path / "goods.duckdb"
    with duckdb.connect(path) as work:
        work.execute("CREATE TABLE good (id INTEGER)")
    with open_database(path) as database:
        assert Derivations(database).shares_up_to([End(Place("good", "id"), "7")]) == {}
