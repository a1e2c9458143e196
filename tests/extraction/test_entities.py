"""What the arguments of examples stand for: keys of tables, names, and texts that only look so."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import InputError
from ruleminer.extraction.entities import read_entities
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import Structure, learn_structure

EX = "http://example.org/"
ONTOLOGY = Ontology(
    (OntologyClass(EX + "Album", "Album"), OntologyClass(EX + "Band", "Band")),
    (
        Property(EX + "by", "by", PropertyKind.OBJECT, domains=(EX + "Album",), ranges=(EX + "Band",)),
        Property(EX + "title", "title", PropertyKind.DATATYPE, domains=(EX + "Album",)),
    ),
)


@pytest.fixture
def music(tmp_path: Path) -> Database:
    with duckdb.connect(tmp_path / "music.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE band (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE album (id INTEGER PRIMARY KEY, title VARCHAR, band_id INTEGER REFERENCES band(id));
            CREATE TABLE track (album_id INTEGER, number INTEGER, PRIMARY KEY (album_id, number));
            INSERT INTO band VALUES (1, 'AC/DC'), (2, 'Accept'), (3, 'Aerosmith');
            INSERT INTO album VALUES (1, 'album: One', 1), (2, 'Two', 2), (3, 'Three', 1);
            INSERT INTO track VALUES (1, 1), (1, 2), (2, 1);
            """
        )
    return open_database(str(tmp_path / "music.duckdb"))


def read(database: Database, *facts: tuple[str, ...]) -> tuple[Structure, list[tuple[object, ...]]]:
    structure = learn_structure(database)
    given = fact_table(Fact(name, arguments, (None,) * len(arguments)) for name, *arguments in facts)  # type: ignore[misc]
    found, _ = read_entities(given, structure, database, ONTOLOGY)
    names = [None if n is None else structure.spaces[n].name for n in found["space2"].to_pylist()]
    firsts = [None if n is None else structure.spaces[n].name for n in found["space1"].to_pylist()]
    return structure, list(zip(found["arg1"].to_pylist(), firsts, found["arg2"].to_pylist(), names, strict=True))


def test_a_key_of_a_table_and_a_name_are_read_as_entities(music: Database) -> None:
    with music:
        _, rows = read(music, ("by", "ALBUM:1", "AC/DC"), ("by", "album:2", "Accept"))
    assert rows == [("1", "album", "1", "band"), ("2", "album", "2", "band")]


def test_a_value_that_looks_like_a_key_of_a_table_stays_a_value(music: Database) -> None:
    with music:
        _, rows = read(music, ("title", "1", "album: One"))
    assert rows == [("1", None, "album: One", None)]


def test_a_key_of_several_columns_needs_all_of_them(music: Database) -> None:
    with music:
        _, rows = read(music, ("Album", "track:1/2"))
        assert rows == [("1/2", None, None, None)]
        with pytest.raises(InputError, match="several columns; write track:album_id/number"):
            read(music, ("Album", "track:5"))


def test_a_mistyped_table_is_told(music: Database) -> None:
    with music, pytest.raises(InputError, match="albun:1: the database has no table albun; did you mean album"):
        read(music, ("Album", "albun:1"))
