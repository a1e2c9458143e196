"""Keys as values, and keys beside IRIs: album 1 by artist 1 is not its artist, but it is the thing of its IRI."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer import api
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.rules.printer import rule_text

TURTLE = (
    "@prefix : <http://lab#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . :Album a owl:Class . :Artist a owl:Class . "
    ":code a owl:DatatypeProperty . :by a owl:ObjectProperty ; rdfs:domain :Album ; rdfs:range :Artist ."
)


def ontology() -> Ontology:
    return ontology_of(Graph().parse(data=TURTLE, format="turtle"))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("keys") / "lab.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE artist (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE album (id INTEGER PRIMARY KEY, title VARCHAR, artist_id INTEGER REFERENCES artist(id));
            CREATE TABLE reagent (rcode VARCHAR PRIMARY KEY, label VARCHAR);
            INSERT INTO artist SELECT i, 'artist ' || i FROM range(1, 41) r(i);
            INSERT INTO album SELECT i, 'album ' || i, IF(i < 3, i, 1 + i % 40) FROM range(1, 61) r(i);
            INSERT INTO reagent SELECT 'R' || i, 'reagent ' || i FROM range(1, 31) r(i);
            """
        )
    return f"duckdb:///{path}"


@pytest.mark.parametrize(
    ("facts", "rule", "derives"),
    [
        ([("code", "R1", "R1"), ("code", "R7", "R7")], "code(x, x) <- reagent(rcode: x)", 30),
        ([("code", "reagent 1", "R1"), ("code", "reagent:R7", "R7")], "code(x, x) <- reagent(rcode: x)", 30),
        (
            [("code", "http://lab/R1", "R1"), ("code", "http://lab/R7", "R7")],
            'code(x, y) <- reagent(rcode: y), x = "http://lab/" ++ y',
            30,
        ),
        ([("by", "1", "1"), ("by", "2", "2")], "by(x, y) <- album(id: x, artist_id: y)", 60),
    ],
)
def test_a_key_may_be_a_value(
    facts: list[tuple[str, ...]], rule: str, derives: int, database: str, tmp_path: Path
) -> None:
    api.extract(database, ontology(), facts, tmp_path / "run")
    (one,) = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert [rule_text(rule) for rule in one.proposed_rules] == [rule]
    assert one.derives == derives
    if facts[0][0] == "code":
        text = (tmp_path / "run/proposals/mapping.ttl").read_text("utf-8")
        assert 'rr:column "\\"rcode\\"" ; rr:termType rr:Literal' in text


def test_things_of_several_tables_with_one_key_are_several_examples(database: str, tmp_path: Path) -> None:
    api.extract(database, ontology(), [("Artist", "artist:1"), ("Artist", "album:1")], tmp_path / "run")
    (one,) = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert one.positives == 2
    assert {rule.body[0].table for rule in one.proposed_rules} == {"artist", "album"}


def test_keys_names_and_iris_of_one_kind_give_one_rule(database: str, tmp_path: Path) -> None:
    """Before, all was derived twice: by key and by IRI."""
    facts = [("Artist", "1"), ("Artist", "artist 9"), ("Artist", "http://my.org/a/5"), ("Artist", "http://my.org/a/7")]
    facts += [("by", "http://my.org/d/5", "http://my.org/a/6"), ("by", "9", "10"), ("by", "http://my.org/d/11", "12")]
    facts += [("code", "http://my.org/r/R1", "reagent 1"), ("code", "R2", "reagent 2")]
    api.extract(database, ontology(), facts, tmp_path / "run")
    found = {one.predicate: one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives}
    assert {name: ([rule_text(rule) for rule in one.proposed_rules], one.derived) for name, one in found.items()} == {
        "Artist": (['Artist(x) <- artist(id: a), x = "http://my.org/a/" ++ a'], 4),
        "by": (
            ['by(x, y) <- album(id: a, artist_id: b), x = "http://my.org/d/" ++ a, y = "http://my.org/a/" ++ b'],
            3,
        ),
        "code": (['code(x, y) <- reagent(rcode: a, label: y), x = "http://my.org/r/" ++ a'], 2),
    }


def test_equal_keys_of_two_tables_are_two_examples(database: str, tmp_path: Path) -> None:
    facts = [("Artist", f"{table}:{key}") for table in ("album", "artist") for key in (1, 2, 3)]
    api.extract(database, ontology(), facts, tmp_path / "run")
    (one,) = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert one.positives == 6
    assert {rule_text(rule).partition(" <- ")[2] for rule in one.proposed_rules} == {"album(id: x)", "artist(id: x)"}


@pytest.mark.parametrize("denied", ["http://my.org/a/7", "7"])
def test_a_counter_example_by_its_key_is_one_of_its_iri(denied: str, database: str, tmp_path: Path) -> None:
    rows = [("Artist", "http://my.org/a/5", "+"), ("Artist", "http://my.org/a/6", "+"), ("Artist", denied, "-")]
    given = {name: [row[i] for row in rows] for i, name in enumerate(("predicate", "arg1", "label"))}
    api.extract(database, ontology(), given, tmp_path / "run")
    assert "derives 1 of your counter-examples" in "\n".join(api.propose(tmp_path / "run").proposals.notes)


@pytest.mark.parametrize("prefix", ["ex:record/", "record/", "info:lab/"])
def test_words_before_a_key_may_be_fixed_text(prefix: str, database: str, tmp_path: Path) -> None:
    api.extract(database, ontology(), [("Artist", f"{prefix}{key}") for key in (11, 12, 13)], tmp_path / "run")
    (one,) = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert f'x = "{prefix}" ++ a' in rule_text(one.proposed_rules[0])


def test_no_column_stands_twice_in_a_key_of_several(tmp_path: Path) -> None:
    """1/1 and 2/2 could be the first column, twice."""
    with duckdb.connect(tmp_path / "boxes.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE box (load INTEGER, number INTEGER, label VARCHAR, PRIMARY KEY (load, number));
            INSERT INTO box SELECT 1 + i // 2, 1 + i % 2, 'box ' || i FROM range(60) r(i);
            """
        )
    facts = [("code", "1/1", "box 0"), ("code", "2/2", "box 3")]
    api.extract(f"duckdb:///{tmp_path / 'boxes.duckdb'}", ontology(), facts, tmp_path / "run")
    (one,) = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert [rule_text(rule) for rule in one.proposed_rules] == [
        'code(x, y) <- box(load: a, number: b, label: y), x = a ++ "/" ++ b'
    ]
