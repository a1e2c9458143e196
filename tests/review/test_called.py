"""What people call the things in a fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.proposals.derivations import Derivations
from ruleminer.review.called import names_of, told_fact
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.structure.worlds import ENGINES, on_engine

_COLUMNS = {
    "mail and names": ("email VARCHAR, first_name VARCHAR, last_name VARCHAR", "Ann Lee"),
    "mail and name": ("email VARCHAR, nickname VARCHAR, display_name VARCHAR", "Lee"),
    "mail alone": ("email VARCHAR, town VARCHAR, country VARCHAR", "ann@example.org"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("columns", _COLUMNS)
def test_people_go_by_their_names_and_not_by_their_addresses(
    columns: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    made, called = _COLUMNS[columns]
    people = [("ann@example.org", "Ann", "Lee"), ("bob@example.org", "Bob", "Roe"), ("bea@example.org", "Bob", "Ray"),
              ("cid@example.org", "Ann", "Fox")]  # fmt: skip
    rows = ", ".join(str((number, *one)) for number, one in enumerate(people, start=1))
    world = (f"CREATE TABLE member (id INTEGER PRIMARY KEY, {made})", f"INSERT INTO member VALUES {rows}")
    with open_database(on_engine(engine, tmp_path, request, *world)) as database:
        structure = learn_structure(database)
        derivations = Derivations(database, structure)
        found = names_of([("member:1",)], [parse_rule("P(x) <- member(id: x)")], derivations, structure)
    assert told_fact("P", ("member:1",), found) == f"P(member:1 “{called}”)"
