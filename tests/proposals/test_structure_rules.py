"""What a database offers by its structure: rows that several columns name are things if they tell more than a link."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ruleminer.pretraining.extensions import Extensions
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import World
from ruleminer.proposals.rule_names import Group
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

TABLES = """
CREATE TABLE product (id INTEGER PRIMARY KEY, title VARCHAR);
CREATE TABLE invoice (id INTEGER PRIMARY KEY, day DATE);
CREATE TABLE line (invoice INTEGER REFERENCES invoice (id), product INTEGER REFERENCES product (id), quantity INTEGER,
                   PRIMARY KEY (invoice, product));
CREATE TABLE liked (invoice INTEGER REFERENCES invoice (id), product INTEGER REFERENCES product (id),
                    PRIMARY KEY (invoice, product));
CREATE TABLE complaint (id INTEGER PRIMARY KEY, of_product INTEGER, of_invoice INTEGER,
                        FOREIGN KEY (of_invoice, of_product) REFERENCES line (invoice, product));
INSERT INTO product SELECT range, 'title ' || range FROM range(100, 110);
INSERT INTO invoice SELECT range, DATE '2020-01-01' FROM range(1, 20);
INSERT INTO line SELECT invoice.id, product.id, product.id % 4 FROM invoice, product
    WHERE (invoice.id + product.id) % 3 = 0;
INSERT INTO liked SELECT invoice, product FROM line WHERE quantity = 1;
INSERT INTO complaint SELECT row_number() OVER (), product, invoice FROM line WHERE quantity = 2;
"""
LINE = 'C(x) <- line(invoice: a1, product: a2), x = a1 ++ "/" ++ a2'


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path = tmp_path_factory.mktemp("lines") / "lines.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES)
    with open_database(f"duckdb:///{path}") as database:
        yield World(Derivations(database, learn_structure(database)), None)


def body(text: str) -> Body:
    return Body(parse_rule(text))


def test_rows_that_say_more_than_they_join_are_things(world: World) -> None:
    assert body(LINE) in world.shapes.classes
    assert not any("liked" in one.text and one.rule.definitions for one in world.shapes.classes)
    assert body('p(x, y) <- line(quantity: y, invoice: a2, product: a3), x = a2 ++ "/" ++ a3') in world.shapes.values
    assert body('p(x, y) <- line(product: y, invoice: a2), x = a2 ++ "/" ++ y') in world.shapes.objects


def test_a_link_of_several_columns_leads_to_such_a_thing(world: World) -> None:
    text = 'p(x, y) <- complaint(id: x, of_invoice: a2, of_product: a3), y = a2 ++ "/" ++ a3'
    assert body(text) in world.shapes.objects
    names = world.names_of(parse_rule(text))
    assert names[Group.OBJECT_GOAL] == ["line"]
    assert world.names_of(parse_rule(LINE))[Group.SUBJECT_TABLE] == ["line"]


def test_such_things_are_a_kind_of_their_own(world: World) -> None:
    space = world.spaces[body(LINE)]
    assert space is not None
    assert (space.name, space.key.column) == ("line", "invoice,product")
    assert world.space_of(parse_rule(LINE)) == space


def test_their_facts_in_memory_are_those_of_the_database(world: World) -> None:
    asked = Extensions(world.derivations.database)
    made = [one for some in (world.shapes.classes, world.shapes.objects, world.shapes.values) for one in some]
    for one in (one for one in made if one.rule.definitions):
        assert asked.facts(one) == world.derivations.derived(one.of("_")), one
