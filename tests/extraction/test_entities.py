"""What the arguments of examples stand for: keys of tables, names, and texts that only look so."""

from __future__ import annotations

import sqlite3
from difflib import get_close_matches
from pathlib import Path

import duckdb
import psycopg2
import pytest

from ruleminer.dataset import read_dataset
from ruleminer.errors import InputError
from ruleminer.extraction.entities import read_entities, with_readings
from ruleminer.extraction.entity_names import closest
from ruleminer.extraction.pipeline import extract
from ruleminer.extraction.summary import doubtful_names, summarise
from ruleminer.problem.examples import read_csv_facts
from ruleminer.problem.facts import Fact, FactKey, fact_table
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import Structure, learn_structure
from tests.mariadb import run_in_mariadb

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
    found = read_entities(given, structure, database, ONTOLOGY).facts
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("albun:1", "facts.csv, line 2: Album: albun:1: no table albun; did you mean album?"),
        ("nosuch:2", "facts.csv, line 2: Album: nosuch:2: no table nosuch; there are album, band, track"),
    ],
)
def test_a_table_that_is_not_there_is_refused_with_the_nearest(
    text: str, why: str, music: Database, tmp_path: Path
) -> None:
    (tmp_path / "facts.csv").write_text(f"predicate,arg1,arg2\nAlbum,{text},\nAlbum,album:3,\n")
    lines: dict[FactKey, str] = {}
    facts = read_csv_facts(tmp_path / "facts.csv", ONTOLOGY, lines)
    with music, pytest.raises(InputError) as refused:
        extract(music, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY, lines=lines)
    assert str(refused.value) == why
    assert not (tmp_path / "run" / "dataset").exists()


def test_what_is_wrong_with_an_example_is_told(tmp_path: Path) -> None:
    """A name with a slip, a truth value in other words, a link that nobody knows of, a number among names."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE band (id INTEGER PRIMARY KEY, name VARCHAR);
            INSERT INTO band VALUES (100, 'The Ramblers'), (200, 'The Doves'), (300, 'The Hills'), (400, 'The Stones');
            CREATE TABLE album (id INTEGER PRIMARY KEY, live CHAR(1), owner INTEGER);
            INSERT INTO album SELECT i, ['Y', 'N'][1 + i % 2], 7 * i FROM range(1, 60) r(i);
            UPDATE album SET owner = 300 WHERE id = 5;
            """
        )
    given = [("Band", "The Ramlbers"), ("Band", "The Doves"), ("Band", "200"), ("title", "5", "yes")]
    facts = fact_table(
        Fact(name, tuple(arguments), (None,) * len(arguments))
        for name, *arguments in [*given, ("by", "album:5", "band:300")]
    )
    with open_database(str(tmp_path / "shop.duckdb")) as database:
        structure = learn_structure(database, discover=False)
        extract(database, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY, structure=structure)
    summary = summarise(tmp_path / "run")
    told = {gap.fact: gap.reason for gap in summary.gaps if gap.positive}
    assert told["The Ramlbers"] == "no such value in any column; did you mean The Ramblers?"
    assert told["5, yes"] == "no such value in any column; what is true or false is written true or false"
    assert told["album:5, band:300"].endswith(
        "; the examples join album.owner to band.id: if that is a link, say so in a file of links"
    )
    assert summary.manifest["bare"] == [{"predicate": "Band", "text": "200", "table": "band"}]


LINKED = Ontology(
    (OntologyClass(EX + "Home", "Home"), OntologyClass(EX + "Person", "Person")),
    (Property(EX + "home", "home", PropertyKind.EITHER, ranges=(EX + "Home", EX + "Text")),),
)


def test_a_text_is_the_thing_that_a_link_called_like_the_property_leads_to(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "homes.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE home (id INTEGER PRIMARY KEY, street VARCHAR);
            CREATE TABLE person (id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES home(id));
            INSERT INTO home SELECT 10 * i, i || ' Main Street' FROM range(1, 9) r(i);
            INSERT INTO person SELECT i, 10 * (1 + i % 8) FROM range(1, 30) r(i);
            """
        )
    stated = [("home", ("1", "2 Main Street")), ("home", ("2", "3 Main Street"))]
    with open_database(str(tmp_path / "homes.duckdb")) as database:
        structure = learn_structure(database)

        def objects(
            *more: tuple[str, tuple[str, ...]], kind: Kind | None = None, denied: tuple[Fact, ...] = ()
        ) -> list[str | None]:
            given = [Fact(name, texts, (kind, None)[: len(texts)]) for name, texts in (*stated, *more)]
            facts = fact_table((*given, *denied))
            return [
                text for text in read_entities(facts, structure, database, LINKED).facts["arg2"].to_pylist() if text
            ]

        assert objects(("Home", ("1 Main Street",))) == ["20", "30"]
        assert objects(("Person", ("1",))) == ["2 Main Street", "3 Main Street"], "nobody publishes homes"
        assert objects(("Home", ("10",)), ("home", ("3", "elsewhere")))[:2] == ["2 Main Street", "3 Main Street"]
        denied = Fact("home", ("1", "elsewhere"), (None, None), False)
        assert objects(("Home", ("10",)), denied=(denied,))[:2] == ["20", "30"], "what is denied tells nothing of it"
        assert objects(("Home", ("10",)), kind=Kind.TEXT) == ["2 Main Street", "3 Main Street"], "as RDF says"


def test_a_text_that_looks_like_a_key_of_a_table_may_stand_in_a_column(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "genes.duckdb") as connection:
        connection.execute("CREATE TABLE annotation (id INTEGER PRIMARY KEY, gene VARCHAR, score DOUBLE)")
        connection.execute("INSERT INTO annotation SELECT i, 'HGNC:' || (i % 5), i / 7 FROM range(1, 40) t(i)")
        connection.execute("UPDATE annotation SET gene = 'annotations:6' WHERE id = 6")  # nearly a table's name
    texts = ("HGNC:2", "HGNC:3", "annotations:6")
    facts = fact_table(Fact("Band", (text,), (None,)) for text in texts)
    with open_database(str(tmp_path / "genes.duckdb")) as database:
        extract(database, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
        facts = fact_table(
            [
                *(Fact("Band", (text,), (None,)) for text in (*texts, "HGNC:99999", "Annotations: a survey")),
                *(Fact("Band", (text,), (None,), False) for text in ("HGNC:77777", "nosuch:1")),
            ]
        )
        extract(database, facts, read_templates(), tmp_path / "more", ontology=ONTOLOGY)
    assert "Band(x) <- annotation(gene: x)" in read_dataset(tmp_path / "run").rule_texts.values()
    assert not [gap for gap in summarise(tmp_path / "run").gaps if gap.positive]
    gaps = [gap.fact for gap in summarise(tmp_path / "more").gaps if gap.positive]
    assert sorted(gaps) == ["Annotations: a survey", "HGNC:99999"], "this database lacks them"


def test_a_name_may_stand_behind_its_table(library: Database) -> None:
    """Lists and kinds have Shows; the table tells which, and of two lists the other readings stay."""
    with library:
        structure = learn_structure(library)
        given = fact_table(Fact("Band", (name,), (None,)) for name in ("kind:Shows", "list:Shows", "Person:Alan Kay"))
        read = read_entities(given, structure, library, ONTOLOGY)
    keys = zip(read.facts["arg1"].to_pylist(), read.facts["space1"].to_pylist(), strict=True)
    assert [(key, structure.spaces[n].name) for key, n in keys] == [("12", "kind"), ("3", "list"), ("43", "person")]
    assert [(one["arg1"], one["turn"]) for one in read.others.to_pylist()] == [("3", 0), ("4", 1)]


def test_a_text_key_behind_its_table_is_a_key_before_it_is_a_name(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "bands.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE label (code VARCHAR PRIMARY KEY, name VARCHAR);
            CREATE TABLE band (id INTEGER PRIMARY KEY, label VARCHAR REFERENCES label (code));
            INSERT INTO label VALUES ('ATL', 'Atlantic'), ('EMI', 'ATL'), ('VRG', 'Virgin');
            INSERT INTO band VALUES (21, 'ATL'), (22, 'EMI'), (23, 'VRG');
            """
        )
    with open_database(str(tmp_path / "bands.duckdb")) as database:
        _, rows = read(database, ("Band", "label:ATL"), ("Band", "label:Virgin"))
    assert [row[:2] for row in rows] == [("ATL", "label"), ("VRG", "label")]


@pytest.fixture
def library(tmp_path: Path) -> Database:
    """Lists and kinds share names, two lists are called the same, and people have theirs in two columns."""
    with duckdb.connect(tmp_path / "library.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE kind (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE list (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE band (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE album (id INTEGER PRIMARY KEY, title VARCHAR, band_id INTEGER REFERENCES band(id));
            CREATE TABLE person (id INTEGER PRIMARY KEY, given VARCHAR, family VARCHAR, city VARCHAR);
            INSERT INTO kind VALUES (11, 'Rock'), (12, 'Shows'), (13, 'Jazz');
            INSERT INTO list VALUES (1, 'Music'), (2, 'Films'), (3, 'Shows'), (4, 'Shows'), (5, 'Books'), (6, 'Talks'),
                                    (7, 'Plays'), (8, 'Walks');
            INSERT INTO band VALUES (21, 'Cream'), (22, 'Traffic'), (23, 'Yes');
            INSERT INTO album VALUES (31, 'Best of', 22), (32, 'Fragile', 23), (33, 'Best of', 21), (34, 'Goodbye', 21),
                                     (35, 'Mr. Fantasy', 22), (36, 'Relayer', 23), (37, 'Drama', 23), (38, 'Torch', 22);
            INSERT INTO person VALUES (41, 'Ada', 'Byron King', 'London'), (42, 'Alan', 'Turing', 'London'),
                                      (43, 'Alan', 'Kay', 'Ada'), (44, 'Grace', 'Hopper', 'New York'),
                                      (45, 'Grace', 'Hopper', 'Bath');
            """
        )
    return open_database(str(tmp_path / "library.duckdb"))


def test_a_name_is_read_by_the_table_of_the_other_examples_though_it_stands_there_twice(library: Database) -> None:
    with library:
        structure = learn_structure(library)
        given = fact_table(Fact("Band", (name,), (None,)) for name in ("Shows", "Films", "Books"))
        read = read_entities(given, structure, library, ONTOLOGY)
    assert read.facts["arg1"].to_pylist() == ["3", "2", "5"]
    assert {structure.spaces[n].name for n in read.facts["space1"].to_pylist()} == {"list"}
    assert [(one["arg1"], one["turn"]) for one in read.others.to_pylist()] == [("3", 0), ("4", 1), ("12", 2)]
    told = read.told({})["ambiguous"]
    assert told == [
        {"predicate": "Band", "argument": 1, "text": "Shows", "read_as": "list:3", "others": ["list:4", "kind:12"]}
    ]


def test_an_example_by_key_tells_the_table_of_names(library: Database) -> None:
    with library:
        _, rows = read(library, ("Band", "kind:11"), ("Band", "Shows"), ("Album", "Shows"), ("Album", "list:1"))
    assert [row[:2] for row in rows] == [("11", "kind"), ("12", "kind"), ("3", "list"), ("1", "list")]


def test_first_and_last_name_in_two_columns_name_a_row(library: Database) -> None:
    with library:
        _, rows = read(library, ("Band", "Ada Byron King"), ("Band", "Hopper, Grace"), ("Band", "Alan Hopper"))
    assert [row[:2] for row in rows] == [("41", "person"), ("44", "person"), ("Alan Hopper", None)]


def test_a_counter_example_by_a_name_denies_all_rows_of_it(library: Database) -> None:
    with library:
        structure = learn_structure(library)
        facts = [Fact("Band", (name,), (None,), name != "Shows") for name in ("Films", "Shows", "Books")]
        read = read_entities(fact_table(facts), structure, library, ONTOLOGY)
    denied = [one["arg1"] for one in read.facts.to_pylist() if not one["positive"]]
    assert (sorted(set(denied)), read.others.num_rows) == (["3", "4"], 0)


def test_of_several_readings_the_one_is_taken_whose_rules_derive_the_other_examples(
    library: Database, tmp_path: Path
) -> None:
    """Two albums are called so; the band tells which is meant."""
    facts = fact_table(
        Fact("by", arguments, (None, None))
        for arguments in (("Best of", "Cream"), ("Fragile", "Yes"), ("Mr. Fantasy", "Traffic"), ("Torch", "Traffic"))
    )
    with library:
        extract(library, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
    dataset = read_dataset(tmp_path / "run")
    positives = [one["arg1"] for one in dataset.facts.to_pylist() if one["positive"]]
    assert sorted(positives) == ["32", "33", "35", "38"]
    assert not [one for one in dataset.facts.to_pylist() if one["positive"] is None]
    told = {"predicate": "by", "argument": 1, "text": "Best of", "read_as": "album:33", "others": ["album:31"]}
    assert dataset.manifest["ambiguous"] == [told]
    assert "Best of is read as album:33, and could be album:31" in doubtful_names(dataset.manifest)[0]


def test_a_thing_that_is_given_by_key_and_by_name_is_one_example(library: Database, tmp_path: Path) -> None:
    with library:
        facts = fact_table(Fact("Band", (name,), (None,)) for name in ("22", "Traffic", "band:22", "21", "kind:11"))
        extract(library, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
    positives = [one["arg1"] for one in read_dataset(tmp_path / "run").facts.to_pylist() if one["positive"]]
    assert sorted(positives) == ["11", "21", "22"]


def positives(folder: Path) -> list[str]:
    return sorted(one["arg1"] for one in read_dataset(folder).facts.to_pylist() if one["positive"])


def test_two_spellings_of_one_name_are_one_example_whatever_it_means(library: Database, tmp_path: Path) -> None:
    """Two people are called so; one of them must not become a fact for each spelling."""
    with library:
        names = ("Grace Hopper", "Hopper, Grace", "Alan Kay")
        facts = fact_table(Fact("Band", (name,), (None,)) for name in names)
        extract(library, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
    assert positives(tmp_path / "run") == ["43", "44"]


def test_what_is_said_without_doubt_is_not_lost_to_a_name_that_may_mean_it(library: Database, tmp_path: Path) -> None:
    with library:
        facts = fact_table(Fact("Band", (name,), (None,)) for name in ("list:4", "list:3", "list:1", "Shows"))
        extract(library, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
    assert positives(tmp_path / "run") == ["1", "3", "4"]


def test_a_thing_that_is_given_by_key_and_by_iri_is_one_example(library: Database, tmp_path: Path) -> None:
    with library:
        facts = fact_table(Fact("Band", (name,), (None,)) for name in ("22", f"{EX}band/22", "21", f"{EX}band/23"))
        extract(library, facts, read_templates(), tmp_path / "run", ontology=ONTOLOGY)
    assert positives(tmp_path / "run") == [f"{EX}band/{key}" for key in (21, 22, 23)]


def test_a_name_of_several_rows_keeps_its_readings_beside_an_example_by_iri(library: Database) -> None:
    with library:
        structure = learn_structure(library)
        facts = fact_table(Fact("Band", (name,), (None,)) for name in ("Shows", "Films", f"{EX}list/2"))
        found = read_entities(facts, structure, library, ONTOLOGY)
    assert found.facts["arg1"].to_pylist() == ["3", f"{EX}list/2", f"{EX}list/2"]
    told = with_readings(found.facts, found.others).to_pylist()
    assert [one["arg1"] for one in told if one["turn"] is not None] == ["3", "4", "12"]


def test_a_key_that_becomes_an_iri_is_encoded_for_it(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "bands.duckdb") as connection:
        connection.execute("CREATE TABLE band (code VARCHAR PRIMARY KEY)")
        connection.execute("INSERT INTO band VALUES ('AC/DC'), ('Guns & Roses'), ('Motörhead')")
    with open_database(str(tmp_path / "bands.duckdb")) as database:
        names = ("band:AC/DC", f"{EX}AC%2FDC", "band:Guns & Roses", "band:Motörhead")
        _, rows = read(database, *(("Band", name) for name in names))
    keys = ("AC%2FDC", "AC%2FDC", "Guns%20%26%20Roses", "Motörhead")
    assert [row[0] for row in rows] == [EX + key for key in keys]


def test_a_unique_name_is_a_name_and_a_unique_code_that_links_use_is_a_key(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "bands.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE label (code VARCHAR UNIQUE, number INTEGER PRIMARY KEY);
            CREATE TABLE band (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE, label VARCHAR REFERENCES label (code));
            INSERT INTO label VALUES ('ATL', 1), ('EMI', 2);
            INSERT INTO band VALUES (21, 'Cream', 'ATL'), (22, 'Traffic', 'EMI'), (23, 'Yes', 'ATL');
            """
        )
    with open_database(str(tmp_path / "bands.duckdb")) as database:
        _, rows = read(database, ("by", "EMI", "Yes"), ("by", "ATL", "Cream"))
    assert rows == [("EMI", None, "23", "band"), ("ATL", None, "21", "band")]


def test_a_text_that_is_a_key_may_stay_it_though_something_else_is_called_so(tmp_path: Path) -> None:
    """CA is California, and the key of Canada."""
    with duckdb.connect(tmp_path / "states.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE country (code VARCHAR PRIMARY KEY, name VARCHAR);
            CREATE TABLE state (id INTEGER PRIMARY KEY, code VARCHAR, name VARCHAR, country VARCHAR REFERENCES country);
            INSERT INTO country VALUES ('CA', 'Canada'), ('US', 'United States'), ('FR', 'France');
            INSERT INTO state VALUES (1, 'ALB', 'Alberta', 'CA'), (2, 'AK', 'Alaska', 'US'),
                                     (3, 'CA', 'California', 'US');
            """
        )
    with open_database(str(tmp_path / "states.duckdb")) as database:
        facts = [("by", "Alberta", "CA"), ("by", "Alaska", "United States")]
        _, rows = read(database, *facts)
        assert rows == [("1", "state", "CA", None), ("2", "state", "US", "country")]
        extract(
            database,
            fact_table(Fact(name, (one, other), (None, None)) for name, one, other in facts),
            read_templates(),
            tmp_path / "run",
            ontology=ONTOLOGY,
        )
    kept = [one for one in read_dataset(tmp_path / "run").facts.to_pylist() if one["positive"]]
    assert sorted((one["arg1"], one["arg2"]) for one in kept) == [("1", "CA"), ("2", "US")]


def test_a_text_made_of_two_columns_of_the_subject_is_no_name_of_it(library: Database) -> None:
    contacts = [
        ("by", "41", "Ada Byron King"),
        ("by", f"{EX}person/42", "Alan Turing"),
        ("by", "person:44", "Grace Hopper"),
    ]
    with library:
        _, rows = read(library, *contacts)
        assert [row[2:] for row in rows] == [(text, None) for _, _, text in contacts]
        _, rows = read(library, *contacts, ("by", "album:31", "Alan Kay"))
    assert [row[2:] for row in rows] == [("41", "person"), ("42", "person"), ("44", "person"), ("43", "person")]


def test_a_table_comes_before_a_view_that_shows_its_names(tmp_path: Path) -> None:
    """The rule on the view would be the shorter one, and the view has whole names in one column."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE person (id INTEGER PRIMARY KEY, given VARCHAR, family VARCHAR);
            CREATE VIEW a_list AS SELECT id AS nr, given || ' ' || family AS name FROM person;
            INSERT INTO person VALUES (1, 'Ada', 'King'), (2, 'Alan', 'Turing'), (3, 'Alan', 'Kay');
            """
        )
    with open_database(str(tmp_path / "shop.duckdb")) as database:
        structure = learn_structure(database)
        facts = fact_table(Fact("Band", (name,), (None,)) for name in ("Ada King", "Alan Kay"))
        found = read_entities(facts, structure, database, ONTOLOGY)
    assert {structure.spaces[n].name for n in found.facts["space1"].to_pylist()} == {"person"}


LISTS = """
CREATE TABLE list (id INTEGER PRIMARY KEY, name VARCHAR(40));
CREATE TABLE person (id INTEGER PRIMARY KEY, given VARCHAR(40), family VARCHAR(40));
INSERT INTO list VALUES (1, 'Music'), (2, 'Films'), (3, 'Shows'), (4, 'Shows'), (5, 'Books'), (6, 'Talks'),
                        (7, 'Plays'), (8, 'Walks');
INSERT INTO person VALUES (41, 'Ada', 'Byron King'), (42, 'Alan', 'Turing'), (43, 'Alan', 'Kay'),
                          (44, 'Grace', 'Hopper');
"""


def read_lists(url: str) -> list[tuple[object, ...]]:
    with open_database(url) as database:
        names = ("Shows", "Films", "Books", "Ada Byron King", "Hopper, Grace")
        facts = fact_table(Fact("Band", (name,), (None,)) for name in names)
        found = read_entities(facts, learn_structure(database), database, ONTOLOGY)
    others = [one["arg1"] for one in found.others.to_pylist()]
    return [*found.facts["arg1"].to_pylist(), *others]


def test_names_are_read_alike_on_postgresql(empty_postgres: str) -> None:
    connection = psycopg2.connect(empty_postgres)
    with connection, connection.cursor() as cursor:
        cursor.execute(LISTS)
    connection.close()
    assert read_lists(empty_postgres) == ["3", "2", "5", "41", "44", "3", "4"]


def test_names_are_read_alike_on_mariadb(empty_mariadb: str) -> None:
    run_in_mariadb(empty_mariadb, LISTS)
    assert read_lists(empty_mariadb) == ["3", "2", "5", "41", "44", "3", "4"]


@pytest.fixture
def laboratory(tmp_path: Path) -> Database:
    with duckdb.connect(tmp_path / "laboratory.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE reagent (code VARCHAR PRIMARY KEY, label VARCHAR);
            CREATE TABLE run (project VARCHAR, number INTEGER, topic VARCHAR, started DATE,
                              PRIMARY KEY (project, number));
            CREATE TABLE used (project VARCHAR, number INTEGER, code VARCHAR REFERENCES reagent(code));
            INSERT INTO reagent VALUES ('ACE', 'Acetone'), ('BEN', 'Benzene'), ('ETH', 'Ethanol');
            INSERT INTO run SELECT p, n, p || ' part ' || n, DATE '2023-01-03' + CAST(n AS INTEGER)
            FROM (VALUES ('PX', 1), ('PX', 2), ('PX', 3), ('GEN', 1), ('GEN', 2), ('CAT', 1)) AS runs(p, n);
            INSERT INTO used SELECT project, number, 'ACE' FROM run;
            """
        )
    return open_database(str(tmp_path / "laboratory.duckdb"))


def _gaps(database: Database, out: Path, *facts: tuple[str, ...]) -> tuple[set[str], dict[str, str]]:
    """The rules that derive some example, and of each example without one the reason."""
    given = fact_table(Fact(name, arguments, (None,) * len(arguments)) for name, *arguments in facts)  # type: ignore[misc]
    extract(database, given, read_templates(), out, ontology=ONTOLOGY)
    summary = summarise(out, most_rules=1000)
    gaps = {gap.fact: gap.reason for gap in summary.gaps if gap.positive}
    return {rule.text for one in summary.predicates for rule in one.rules}, gaps


def test_rows_with_a_key_of_several_columns_go_by_their_names(laboratory: Database) -> None:
    with laboratory:
        _, rows = read(laboratory, ("Album", "PX part 2"), ("Album", "run:GEN part 1"), ("by", "PX part 1", "Acetone"))
        with pytest.raises(InputError, match="several columns; write run:project/number"):
            read(laboratory, ("Album", "run:PX-1"))
    assert rows == [("PX/2", None, None, None), ("GEN/1", None, None, None), ("PX/1", None, "ACE", "reagent")]


def test_a_key_of_several_columns_that_is_not_there_makes_no_rule(laboratory: Database, tmp_path: Path) -> None:
    with laboratory:
        rules, gaps = _gaps(laboratory, tmp_path / "run", ("Album", "run:PX/99"), ("Album", "PX/77"))
    assert not rules
    assert gaps == {
        "PX/99": "no such value in any column, and no such key in run",
        "PX/77": "no such value in any column",
    }


def test_a_number_that_is_no_key_of_its_table_is_told_so(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "music.duckdb") as connection:
        connection.execute("CREATE TABLE band (id INTEGER PRIMARY KEY); INSERT INTO band VALUES (1), (2)")
        connection.execute("CREATE TABLE album (id INTEGER PRIMARY KEY); INSERT INTO album VALUES (20), (30)")
    with open_database(str(tmp_path / "music.duckdb")) as database:
        _, gaps = _gaps(database, tmp_path / "run", ("Band", "band:20"))
    assert gaps == {"band:20": "it stands in the database, but not as a key of such a thing"}


def test_a_key_of_several_columns_may_be_written_with_blanks(laboratory: Database, tmp_path: Path) -> None:
    with laboratory:
        rules, gaps = _gaps(laboratory, tmp_path / "run", ("Album", "run:PX  / 1"), ("Album", "run:GEN/1"))
    assert 'Album(x) <- run(project: a, number: b), x = a ++ "/" ++ b' in rules
    assert not gaps
    assert not [rule for rule in rules if '++ "/1"' in rule]


def test_a_day_in_another_form_is_not_glued_together(laboratory: Database, tmp_path: Path) -> None:
    with laboratory:
        rules, gaps = _gaps(laboratory, tmp_path / "run", ("title", "run:PX/1", "4/1/2023"))
    assert not rules
    assert gaps == {"PX/1, 4/1/2023": "no such value in any column; a day is written as in 2023-12-31"}


def test_a_text_in_other_letters_and_a_table_before_a_slash_are_told(laboratory: Database, tmp_path: Path) -> None:
    with laboratory:
        _, gaps = _gaps(laboratory, tmp_path / "run", ("Album", "ace"), ("Album", "benzene"), ("Band", "reagent/ETH"))
    nowhere = "no such value in any column"
    assert gaps == {
        "ace": f"{nowhere}; did you mean ACE?",
        "benzene": f"{nowhere}; did you mean Benzene?",
        "reagent/ETH": f"{nowhere}; a key of reagent is written reagent:ETH",
    }


def test_a_name_among_keys_is_read_in_their_table(laboratory: Database) -> None:
    with laboratory:
        _, rows = read(laboratory, ("by", "PX/1", "ACE"), ("by", "PX/1", "ETH"), ("by", "PX/2", "Benzene"))
    assert [row[2:] for row in rows] == [("ACE", None), ("ETH", None), ("BEN", "reagent")]


def test_a_key_of_several_columns_stands_where_those_of_its_table_do(tmp_path: Path) -> None:
    """CARD/1 and ONC/2 are beds; wards have these codes and floors, too, and 2/2 could be read either way round."""
    with duckdb.connect(tmp_path / "ward.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE ward (code VARCHAR PRIMARY KEY, floor INTEGER);
            CREATE TABLE bed (ward VARCHAR REFERENCES ward(code), number INTEGER, PRIMARY KEY (ward, number));
            CREATE TABLE stay (id INTEGER PRIMARY KEY, ward VARCHAR, number INTEGER,
                               FOREIGN KEY (ward, number) REFERENCES bed(ward, number));
            CREATE TABLE bill (id INTEGER PRIMARY KEY);
            CREATE TABLE line (bill INTEGER REFERENCES bill(id), line INTEGER, PRIMARY KEY (bill, line));
            INSERT INTO ward VALUES ('CARD', 1), ('ONC', 2), ('PED', 3);
            INSERT INTO bed SELECT w.code, n FROM ward w, range(1, 6) r(n);
            INSERT INTO stay SELECT n + 100, 'ONC', n FROM range(1, 6) r(n);
            INSERT INTO bill SELECT n FROM range(1, 6) r(n);
            INSERT INTO line SELECT b, n FROM range(1, 6) r(b), range(1, 4) q(n);
            """
        )
    with open_database(str(tmp_path / "ward.duckdb")) as database:
        beds, gaps = _gaps(database, tmp_path / "beds", ("Band", "bed:CARD/1"), ("Band", "bed:ONC/2"))
        lines, _ = _gaps(database, tmp_path / "lines", ("Album", "line:1/1"), ("Album", "line:2/2"))
        wards, none = _gaps(database, tmp_path / "wards", ("Band", "ward:CARD/1"), ("Band", "ward:ONC/2"))
    assert not wards, "a ward has a key of one column"
    told = "no such value in any column, and the key of ward has one column"
    assert none == {"ward:CARD/1": told}, "and as many others"
    spelt = {rule.partition(" <- ")[2] for rule in beds | lines}
    assert not gaps
    assert spelt == {
        'bed(ward: a, number: b), x = a ++ "/" ++ b',
        'stay(ward: a, number: b), x = a ++ "/" ++ b',
        'line(bill: a, line: b), x = a ++ "/" ++ b',
    }


def test_rows_without_a_key_are_called_nothing(tmp_path: Path) -> None:
    """SQLite has primary keys that are NULL."""
    with sqlite3.connect(tmp_path / "music.sqlite") as connection:
        connection.executescript(
            """
            CREATE TABLE band (id TEXT PRIMARY KEY, name TEXT);
            INSERT INTO band VALUES ('a', 'Acid Rain'), (NULL, 'Blue Rain'), ('c', 'Cold Rain');
            CREATE TABLE album (band TEXT, number INTEGER, title TEXT, PRIMARY KEY (band, number));
            INSERT INTO album VALUES ('a', 1, 'Dry'), (NULL, 2, 'Wet');
            """
        )
    connection.close()
    facts = fact_table(
        Fact(predicate, (name,), (None,))
        for predicate, name in (("Band", "Acid Rain"), ("Band", "Blue Rain"), ("Album", "Wet"))
    )
    with open_database(tmp_path / "music.sqlite") as database:
        found = read_entities(facts, learn_structure(database), database, ONTOLOGY)
    assert [row["arg1"] for row in found.facts.to_pylist()] == ["a", "Blue Rain", "Wet"]


def test_near_names_are_compared_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def matches(text: str, names: list[str], n: int, cutoff: float) -> list[str]:
        compared.append(len(names))
        return get_close_matches(text, names, n, cutoff)

    monkeypatch.setattr("ruleminer.extraction.entity_names.difflib.get_close_matches", matches)
    names = [f"{n:05} main street" for n in range(9000)]
    assert closest("00012 mian street", names) == "00012 main street"
    assert closest("northgate", [*names, "nrothgate"]) == "nrothgate"
    assert compared == [1000, 1]
