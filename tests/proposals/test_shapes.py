"""Several shapes of one class's IRIs become a union, with the condition that tells them apart."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer import api
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.parser import parse_rule, parse_rules
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from tests.validation.engines import filled_database

from .exported import our_triples

NS = "http://e.org/"
ONTOLOGY = f"@prefix : <{NS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Item a owl:Class ."
SQL = "CREATE TABLE item (id INTEGER PRIMARY KEY, shop VARCHAR(9), dept VARCHAR(9), number INTEGER);" + "".join(
    f"INSERT INTO item VALUES ({n}, '{'abc'[n % 3]}{n % 7}', {'NULL' if n % 2 else repr('d' + str(n % 5))}, {100 + n});"
    for n in range(60)
)


def iri(shop: str, dept: str | None, number: int) -> str:
    return f"http://h/shop/{shop}/" + (f"dept/{dept}/" if dept else "") + f"item/{number}"


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_a_column_may_be_asked_to_be_empty(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else ""
    rule = parse_rule("Item(x) <- item(id: x, dept: null)")
    assert rule_text(rule) == "Item(x) <- item(id: x, dept: null)"
    with filled_database(engine, SQL, tmp_path, url) as database:
        assert Derivations(database).derived(rule) == {(str(n),) for n in range(60) if n % 2}
        assert Derivations(database).size(rule) == 30


def test_shapes_are_a_union_and_told_apart(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute(SQL)
        rows = connection.execute("SELECT shop, dept, number FROM item ORDER BY id").fetchall()
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    examples = [("Item", iri(*row)) for row in rows[3:60:5]]
    api.extract(f"duckdb:///{tmp_path / 'w.duckdb'}", tmp_path / "o.ttl", examples, tmp_path / "run")
    api.propose(tmp_path / "run")
    rules = list(parse_rules((tmp_path / "run" / "proposals" / "mapping.rules").read_text("utf-8")))
    expected = {(iri(*row),) for row in rows}
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        derivations = Derivations(database)
        assert set().union(*(derivations.derived(rule) for rule in rules)) == expected, list(map(rule_text, rules))
        made = our_triples(tmp_path / "run" / "proposals" / "mapping.ttl", database)
    assert {subject.strip("<>") for subject, _, _ in made} == {one for (one,) in expected}
