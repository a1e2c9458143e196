"""What a code says of a rule: yes or no, its place among the codes, and how these compare with a class's siblings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.code_features import CODE_FEATURES, NO_CODE, Code, Listed, codes_of, listed
from ruleminer.proposals.structure_rules import shapes_of
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import Structure, learn_structure
from tests.structure.worlds import on_engine

WORLD = (
    "CREATE TABLE paper (id INTEGER PRIMARY KEY, type INTEGER, is_open BOOLEAN, done INTEGER, paid VARCHAR, "
    "mood VARCHAR)",
    "INSERT INTO paper SELECT i, i % 4 * 10, i % 3 = 0, i % 2, CASE WHEN i % 5 = 0 THEN 'Y' ELSE 'N' END, "
    "['glad', 'no', 'sad'][1 + i % 3] FROM range(120) r(i)",
    "CREATE TABLE stay (id INTEGER, guest INTEGER REFERENCES paper(id), kind INTEGER, PRIMARY KEY (id, guest))",
    "INSERT INTO stay SELECT i // 2, i, i % 3 FROM range(120) r(i)",
)


@pytest.fixture
def structure(tmp_path: Path, request: pytest.FixtureRequest) -> Structure:
    with open_database(on_engine("duckdb", tmp_path, request, *WORLD)) as database:
        return learn_structure(database)


def code(text: str, structure: Structure) -> Code:
    return codes_of(parse_rule(f"A(x) <- paper(id: x, {text})"), structure)


def test_a_flag_says_yes_or_no(structure: Structure) -> None:
    for yes, no in (("is_open: true", "is_open: false"), ("done: 1", "done: 0"), ('paid: "Y"', 'paid: "N"')):
        assert code(yes, structure).says == 1.0
        assert code(no, structure).says == -1.0
    assert code('mood: "no"', structure).says == 0.0, "one of three moods is no answer"


def test_a_number_has_its_place_among_the_codes_but_zero(structure: Structure) -> None:
    found = [code(f"type: {number}", structure) for number in (10, 20, 30)]
    assert [(one.place, one.of, one.number) for one in found] == [(0, 3, True), (1, 3, True), (2, 3, True)]
    assert code("type: 0", structure).zero
    assert found[0].called == 1.0
    assert found[0].share == pytest.approx(0.25)
    assert codes_of(parse_rule("A(x) <- paper(id: x)"), structure) is NO_CODE
    assert len(NO_CODE.features()) == len(CODE_FEATURES)


def test_codes_are_numbered_as_classes_are_listed() -> None:
    names = ("Poster", "Abstract", "Talk")
    top = OntologyClass("http://e/Paper", "Paper")
    ontology = Ontology((top, *(OntologyClass(f"http://e/{n}", n, parents=(top.iri,)) for n in names)), ())
    places = listed(ontology)
    assert [places[f"http://e/{name}"] for name in names] == [Listed(1, 3), Listed(0, 3), Listed(2, 3)]
    assert top.iri not in places
    second = Code(number=True, place=1, of=3)
    assert second.among(places["http://e/Poster"])[0] == 1.0
    assert second.among(places["http://e/Talk"])[0] == 0.0
    assert second.among(None) == (0.0, 0.0, 0.0)
    assert Code(says=1.0, of=2).among(places["http://e/Talk"])[0] == 0.0, "a flag is no number in a list"


def test_a_table_that_repeats_its_things_offers_its_codes(structure: Structure) -> None:
    offered = {rule_text(body.of("A")) for body in shapes_of(structure).classes}
    assert "A(x) <- stay(guest: x, kind: 1)" in offered
