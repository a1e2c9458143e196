"""The same things by key and by IRI: what one rule derives, as another spells it."""

from __future__ import annotations

import duckdb
import pytest

from ruleminer.proposals.as_spelt import as_spelt
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import Structure, learn_structure

KEY = "A(x) <- depot(code: x)"
IRI = 'A(x) <- depot(code: a), x = "http://a.org/depot/" ++ encoded(a)'
OTHER = 'B(x) <- depot(code: c, town: z), x = "http://b.org/" ++ c ++ "#it"'
LINE = 'A(x) <- line(depot: a, number: b), x = a ++ "/" ++ b'
LINE_IRI = 'A(x) <- line(depot: a, number: b), x = "http://a.org/line/" ++ b ++ "/of/" ++ a'


@pytest.fixture(scope="module")
def structure(tmp_path_factory: pytest.TempPathFactory) -> Structure:
    path = tmp_path_factory.mktemp("spelt") / "w.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE depot (code VARCHAR PRIMARY KEY, town VARCHAR);
            INSERT INTO depot VALUES ('K 1', 'Kiel'), ('P2', 'Plön');
            CREATE TABLE line (depot VARCHAR, number INTEGER, PRIMARY KEY (depot, number));
            INSERT INTO line VALUES ('P2', 1), ('P2', 2);
            """
        )
    with open_database(f"duckdb:///{path}") as database:
        return learn_structure(database)


@pytest.mark.parametrize(
    ("by", "like", "thing", "wanted"),
    [
        (KEY, IRI, "K 1", ["http://a.org/depot/K%201"]),
        (IRI, KEY, "http://a.org/depot/K%201", ["K 1"]),
        (IRI, OTHER, "http://a.org/depot/P2", ["http://b.org/P2#it"]),
        (LINE, LINE_IRI, "P2/1", ["http://a.org/line/1/of/P2"]),
        (LINE_IRI, LINE, "http://a.org/line/1/of/P2", ["P2/1"]),
        (LINE, LINE, "P2/1", ["P2/1"]),
        (IRI, KEY, "http://elsewhere.org/1", []),  # what the rule does not derive is no thing of its
        (LINE, KEY, "P2/1", []),  # and lines are no depots
    ],
)
def test_things_are_spelt_as_another_rule_does(
    by: str, like: str, thing: str, wanted: list[str], structure: Structure
) -> None:
    assert as_spelt([thing], parse_rule(by), parse_rule(like), structure) == wanted
