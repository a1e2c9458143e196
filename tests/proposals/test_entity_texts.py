"""An entity is asked for with its table: artist 1 is not album 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

MUSIC = """
CREATE TABLE artist (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE album (id INTEGER PRIMARY KEY, title VARCHAR, artist INTEGER REFERENCES artist(id));
CREATE TABLE band (artist INTEGER PRIMARY KEY REFERENCES artist(id), members INTEGER);
INSERT INTO artist SELECT i, 'Artist ' || i FROM range(1, 31) t(i);
INSERT INTO album SELECT i, 'Album ' || i, 1 + i % 30 FROM range(1, 61) t(i);
INSERT INTO band SELECT i, 3 FROM range(1, 11) t(i);
"""


@pytest.fixture
def music(tmp_path: Path) -> Iterator[Derivations]:
    with duckdb.connect(str(tmp_path / "music.duckdb")) as connection:
        connection.execute(MUSIC)
    with open_database(str(tmp_path / "music.duckdb")) as database:
        yield Derivations(database, learn_structure(database))


def body(text: str) -> Body:
    return Body(parse_rule(text))


def test_an_entity_is_written_with_the_table_of_its_space_and_a_value_as_it_is(music: Derivations) -> None:
    assert music.texts.written(body("A(x) <- artist(id: x)"), ("1",)) == ("artist:1",)
    assert music.texts.written(body("A(x) <- band(artist: x)"), ("1",)) == ("artist:1",), "the same kind of thing"
    assert music.texts.written(body("a(x, y) <- album(id: x, artist: y)"), ("7", "8")) == ("album:7", "artist:8")
    assert music.texts.written(body("a(x, y) <- album(id: x, title: y)"), ("7", "artist:8")) == ("album:7", "artist:8")


def test_only_a_rule_of_its_space_reads_an_entity(music: Derivations) -> None:
    read = music.texts.read
    assert read(body("A(x) <- artist(id: x)"), ("artist:1",)) == ("1",)
    assert read(body("A(x) <- band(artist: x)"), ("band:1",)) == ("1",)
    assert read(body("A(x) <- album(id: x)"), ("artist:1",)) is None
    assert read(body("A(x) <- album(id: x)"), ("1",)) == ("1",), "a bare key may be any"
    assert read(body("a(x, y) <- album(id: x, title: y)"), ("album:1", "artist:1")) == ("1", "artist:1"), "a value"
    assert read(body("A(x) <- album(id: x)"), ("nothing:1",)) == ("nothing:1",), "no table of that name"
    assert read(body("A(x) <- album(id: x)"), ("1", "2")) is None
