"""Kinds that a code tells: counter-examples, and classes that cannot have the same rows, ask for a condition."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from rdflib import Graph

from ruleminer import api
from ruleminer.problem.ontology import Ontology, ontology_of
from ruleminer.rules.printer import rule_text

PREFIXES = (
    "@prefix : <http://lab#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
)
CLASSES = (
    ":Agent a owl:Class . :Keeper a owl:Class ; rdfs:subClassOf :Agent . "
    ":Digger a owl:Class ; rdfs:subClassOf :Agent . :Risky a owl:Class . :Film a owl:Class . :Stone a owl:Class . "
    ":LeafTrack a owl:Class ; rdfs:subClassOf :Track . :Track a owl:Class . :Goods a owl:Class . "
    ":until a owl:DatatypeProperty ; rdfs:domain :Agent ; rdfs:range xsd:date ."
)
DISJOINT = ":Keeper owl:disjointWith :Goods ."


def ontology(more: str = "") -> Ontology:
    return ontology_of(Graph().parse(data=PREFIXES + CLASSES + more, format="turtle"))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("apart") / "lab.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE party (id INTEGER PRIMARY KEY, sort VARCHAR, shift INTEGER, ended DATE);
            INSERT INTO party SELECT i, ['S', 'T', 'V'][1 + i % 3], i % 2,
                IF(i % 4 = 0, DATE '2020-01-01' + CAST(i AS INTEGER), DATE '9999-12-31') FROM range(101, 161) r(i);
            CREATE TABLE medium (id INTEGER PRIMARY KEY, label VARCHAR);
            INSERT INTO medium VALUES (1, 'paper'), (2, 'MPEG audio file'), (3, 'stone'), (4, 'sheet'), (5, 'leaf');
            CREATE TABLE track (id INTEGER PRIMARY KEY, medium_id INTEGER REFERENCES medium(id), hazard VARCHAR);
            INSERT INTO track SELECT i, 1 + (i // 5) % 5, ['FL', 'TX', 'NO', 'CO', NULL][1 + i % 5]
            FROM range(1001, 1061) r(i);
            """
        )
    return f"duckdb:///{path}"


def table_of(facts: Sequence[tuple[object, ...]], denied: Sequence[tuple[object, ...]] = ()) -> dict[str, list[str]]:
    """Examples and counter-examples as a table."""
    rows = [
        (*map(str, fact), *([""] * (3 - len(fact))), label)
        for facts_, label in ((facts, "+"), (denied, "-"))
        for fact in facts_
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(("predicate", "arg1", "arg2", "label"))}


def proposed(
    database: str,
    out: Path,
    facts: Sequence[tuple[object, ...]],
    denied: Sequence[tuple[object, ...]] = (),
    more: str = "",
) -> tuple[dict[str, list[str]], str]:
    """The bodies of the rules of each term that has examples, and the notes."""
    api.extract(database, ontology(more), table_of(facts, denied), out)
    delivery = api.propose(out)
    rules = {
        one.predicate: [rule_text(rule).partition(" <- ")[2] for rule in one.proposed_rules]
        for one in delivery.proposals.proposals
        if one.positives
    }
    return rules, "\n".join(delivery.proposals.notes)


def test_kinds_beside_each_other_are_told_apart_by_a_code_that_nothing_is_called_like(
    database: str, tmp_path: Path
) -> None:
    facts = [("Keeper", 102), ("Keeper", 105), ("Digger", 103), ("Digger", 106)]
    rules, notes = proposed(database, tmp_path / "run", facts)
    assert rules == {"Keeper": ['party(id: x, sort: "S")'], "Digger": ['party(id: x, sort: "T")']}
    assert "Keeper: sort of party tells its examples from those of Digger, which would have the same rows" in notes


def test_kinds_are_told_apart_whether_they_are_shown_by_keys_or_by_iris(database: str, tmp_path: Path) -> None:
    iri, spelt = "http://lab/party/{}", ', x = "http://lab/party/" ++ a'
    facts: list[tuple[object, ...]] = [("Keeper", iri.format(102)), ("Keeper", iri.format(105))]
    facts += [("Digger", "party:103"), ("Digger", 106)]
    rules, notes = proposed(database, tmp_path / "run", facts)
    assert rules == {"Keeper": ['party(id: a, sort: "S")' + spelt], "Digger": ['party(id: x, sort: "T")']}
    assert "Keeper: sort of party tells its examples from those of Digger" in notes
    facts = [("Keeper", iri.format(n)) for n in (102, 111, 120)] + [("Agent", n) for n in (103, 104, 106, 109)]
    rules, _ = proposed(database, tmp_path / "above", facts)
    assert rules == {"Keeper": ['party(id: a, sort: "S")' + spelt], "Agent": ["party(id: x)"]}


def test_kinds_that_nobody_declares_disjoint_are_not_told_apart_by_chance(tmp_path: Path) -> None:
    """Of five columns at random some part two examples from two others."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        codes = ", ".join(f"(hash(i, {n}) % 2)::INTEGER AS c{n}" for n in range(5))
        connection.execute(f"CREATE TABLE party AS SELECT i::INTEGER AS id, {codes} FROM range(101, 161) r(i)")
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
        ends = connection.execute("SELECT list(id ORDER BY id) FROM party GROUP BY c0 ORDER BY c0").fetchall()
    facts = [(kind, n) for kind, (ids,) in zip(("Keeper", "Digger"), ends, strict=True) for n in ids[:2]]
    rules, notes = proposed(f"duckdb:///{tmp_path / 'party.duckdb'}", tmp_path / "run", facts)
    assert rules == {"Keeper": ["party(id: x)"], "Digger": ["party(id: x)"]}
    assert "no code tells their examples apart" in notes
    facts = [(kind, n) for kind, (ids,) in zip(("Keeper", "Digger"), ends, strict=True) for n in ids[:6]]
    rules, _ = proposed(f"duckdb:///{tmp_path / 'party.duckdb'}", tmp_path / "more", facts)
    assert rules == {"Keeper": ["party(id: x, c0: 0)"], "Digger": ["party(id: x, c0: 1)"]}


def test_things_of_other_tables_with_the_same_keys_are_no_counter_examples(database: str, tmp_path: Path) -> None:
    facts = [("Keeper", 102), ("Keeper", 103), ("Keeper", 104), ("Goods", 1002), ("Goods", 1003)]
    rules, notes = proposed(database, tmp_path / "run", facts, more=DISJOINT)
    assert rules == {"Keeper": ["party(id: x)"], "Goods": ["track(id: x)"]}
    assert "same" not in notes


def test_disjoint_classes_that_nothing_tells_apart_are_told(database: str, tmp_path: Path) -> None:
    facts = [("Keeper", 102), ("Keeper", 103), ("Keeper", 104), ("Goods", 105), ("Goods", 106), ("Goods", 107)]
    rules, notes = proposed(database, tmp_path / "run", facts, more=DISJOINT)
    assert rules == {"Keeper": ["party(id: x)"], "Goods": ["party(id: x)"]}
    assert "Keeper gets the same things as Goods, and no code tells their examples apart: give more" in notes


def test_an_example_of_two_disjoint_classes_is_told(database: str, tmp_path: Path) -> None:
    facts = [("Keeper", "party:102"), ("Keeper", "party:105"), ("Goods", "party:103"), ("Goods", "party:105")]
    _, notes = proposed(database, tmp_path / "run", facts, more=DISJOINT)
    assert "party:105 is an example of Goods and of Keeper, which are declared disjoint" in notes
    _, notes = proposed(database, tmp_path / "other", facts)
    assert "disjoint" not in notes


def test_examples_of_disjoint_classes_may_tell_their_table_or_not(database: str, tmp_path: Path) -> None:
    facts = [("Keeper", "party:102"), ("Keeper", 105), ("Goods", "party:103"), ("Goods", 105)]
    rules, _ = proposed(database, tmp_path / "run", facts, [("Keeper", "party:109")], more=DISJOINT)
    assert rules["Keeper"] == ['party(id: x, sort: "S")']


def test_counter_examples_leave_out_the_values_of_a_code(database: str, tmp_path: Path) -> None:
    """Examples of three codes, and counter-examples of the fourth and of none."""
    rules, _ = proposed(
        database,
        tmp_path / "run",
        [("Risky", 1005), ("Risky", 1006), ("Risky", 1008)],
        [("Risky", 1007), ("Risky", 1009)],
    )
    assert rules == {"Risky": ['track(id: x, hazard: c1), c1 <> "NO"']}


def test_a_link_to_few_things_may_choose_where_counter_examples_ask_for_it(database: str, tmp_path: Path) -> None:
    facts = [("Film", f"http://lab/film/{n}") for n in (1010, 1012, 1036)]
    denied = [("Film", f"http://lab/film/{n}") for n in (1001, 1007, 1020)]
    rules, _ = proposed(database, tmp_path / "run", facts, denied)
    assert rules == {"Film": ['track(id: a, medium_id: 3), x = "http://lab/film/" ++ a']}


def test_a_value_that_stands_for_none_is_left_out_though_nobody_denies_it(database: str, tmp_path: Path) -> None:
    facts = [("until", 104, "2020-04-14"), ("until", 108, "2020-04-18")]
    rules, _ = proposed(database, tmp_path / "run", facts)
    assert rules == {"until": ["party(id: x, ended: y), y <> 9999-12-31"]}


def test_a_value_that_a_counter_example_denies_is_denied_in_all_rows(database: str, tmp_path: Path) -> None:
    facts, denied = [("until", 104, "2020-04-14"), ("until", 108, "2020-04-18")], [("until", 103, "9999-12-31")]
    rules, _ = proposed(database, tmp_path / "run", facts, denied)
    assert rules == {"until": ["party(id: x, ended: y), y <> 9999-12-31"]}


@pytest.mark.parametrize(
    ("term", "keys", "body"),
    [
        ("LeafTrack", (1020, 1022), 'track(id: x, medium_id: c1), medium(id: c1, label: "leaf")'),
        ("Stone", (1010, 1036), 'track(id: x, medium_id: c1), medium(id: c1, label: "stone")'),
        ("Film", (1010, 1036), "track(id: x)"),  # nothing is called so
    ],
)
def test_a_kind_is_told_by_the_name_of_what_a_link_leads_to(
    term: str, keys: tuple[int, ...], body: str, database: str, tmp_path: Path
) -> None:
    rules, _ = proposed(database, tmp_path / "run", [(term, key) for key in keys])
    assert rules == {term: [body]}


@pytest.mark.parametrize(
    ("table", "note"),
    [("leaf_track", "but leaf_track is called like LeafTrack"), ("item", "but rows with the same code follow each")],
)
def test_examples_of_a_class_above_narrow_no_class_by_the_order_of_rows(table: str, note: str, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "items.duckdb") as connection:
        connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, code INTEGER)")
        connection.execute(f"INSERT INTO {table} SELECT i, 1 + i // 20 FROM range(1, 80) r(i)")
    facts = [("LeafTrack", f"{table}:{n}") for n in (1, 2, 3, 4)]
    facts += [("Track", f"{table}:{n}") for n in (31, 45, 51, 62)]
    rules, notes = proposed(f"duckdb:///{tmp_path / 'items.duckdb'}", tmp_path / "run", facts)
    assert rules["LeafTrack"] == [f"{table}(id: x)"]
    assert note in notes


def test_each_code_of_the_kinds_beside_is_looked_at_alone(tmp_path: Path) -> None:
    """That no example of Digger is risky is no wonder where hardly anything is."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE party AS SELECT i::INTEGER AS id, ['S', 'T', 'V'][1 + i % 3] AS sort,
                (i % 12 = 0)::INTEGER AS risky FROM range(101, 161) r(i)
            """
        )
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
    kinds = ":Risky rdfs:subClassOf :Agent . :Keeper owl:disjointWith :Digger ."
    facts = [("Keeper", 105), ("Keeper", 111), ("Keeper", 114), ("Digger", 103), ("Digger", 106), ("Digger", 109)]
    facts += [("Risky", 108), ("Risky", 120), ("Risky", 132)]
    rules, _ = proposed(f"duckdb:///{tmp_path / 'party.duckdb'}", tmp_path / "run", facts, more=kinds)
    assert rules == {
        "Keeper": ['party(id: x, sort: "S")'],
        "Digger": ['party(id: x, sort: "T")'],
        "Risky": ["party(id: x, risky: 1)"],
    }


def test_one_example_that_has_not_the_code_that_its_class_is_called_like_is_told(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            "CREATE TABLE party AS SELECT i::INTEGER AS id, ['1-KEEPER', '2-OTHER', '3-NONE'][1 + i % 3] AS sort "
            "FROM range(101, 161) r(i)"
        )
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
    facts = [("Keeper", 102), ("Keeper", 105), ("Keeper", 106), ("Agent", 101), ("Agent", 103), ("Agent", 104)]
    api.extract(f"duckdb:///{tmp_path / 'party.duckdb'}", ontology(), table_of(facts), tmp_path / "run")
    proposals = api.propose(tmp_path / "run").proposals
    [keeper] = [one for one in proposals.proposals if one.predicate == "Keeper"]
    assert [rule_text(rule) for rule in keeper.proposed_rules] == ["Keeper(x) <- party(id: x)"]
    assert keeper.certainty <= 0.5
    told = "2 of its 3 examples share 1-KEEPER, sort of party, which is called like it: if only such are meant, take"
    assert f"Keeper gets all rows of Agent; {told} Keeper(106) out" in "\n".join(proposals.notes)


def test_that_few_examples_avoid_some_values_tells_no_kind(tmp_path: Path) -> None:
    """Three keepers are called neither Gisela nor Ralf, as two diggers are: that is how first names are."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE party AS SELECT i::INTEGER AS id,
                ['Anna', 'Ben', 'Eva', 'Gisela', 'Jan', 'Ralf', 'Tom', 'Uwe'][1 + i % 8] AS vname
            FROM range(104, 168) r(i)
            """
        )
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
    facts = [("Keeper", 104), ("Keeper", 105), ("Keeper", 110), ("Digger", 107), ("Digger", 109)]
    url = f"duckdb:///{tmp_path / 'party.duckdb'}"
    rules, notes = proposed(url, tmp_path / "run", facts, more=":Keeper owl:disjointWith :Digger .")
    assert rules == {"Keeper": ["party(id: x)"], "Digger": ["party(id: x)"]}
    assert "Keeper gets the same things as Digger, and no code tells their examples apart: give more" in notes


def test_what_all_of_a_disjoint_kind_have_is_left_out_of_the_other(tmp_path: Path) -> None:
    """Seven that are cancelled and seven that are not: that is no accident, though hardly any are."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            "CREATE TABLE party AS SELECT i::INTEGER AS id, "
            "CASE WHEN i % 10 = 0 THEN 'X' ELSE chr(65 + (i % 3)::INTEGER) END AS status FROM range(101, 301) r(i)"
        )
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
    facts = [("Keeper", 110 + 10 * n) for n in range(7)] + [("Digger", 112 + 7 * n) for n in (0, 1, 2, 3, 5, 6, 7)]
    facts = [(kind, n) for kind, n in facts if kind == "Keeper" or n % 10]
    url = f"duckdb:///{tmp_path / 'party.duckdb'}"
    rules, _ = proposed(url, tmp_path / "run", facts, more=":Keeper owl:disjointWith :Digger .")
    assert rules == {
        "Keeper": ['party(id: x, status: "X")'],
        "Digger": ['party(id: x, status: c1), c1 <> "X"'],
    }


@pytest.fixture
def gone(tmp_path: Path) -> str:
    """Parties of three sorts, every seventh of which is gone."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            "CREATE TABLE party AS SELECT i::INTEGER AS id, ['S', 'T', 'V'][1 + i % 3] AS sort, "
            "(i % 7 = 0)::INTEGER AS gone, 'n' || i AS title FROM range(101, 241) r(i)"
        )
        connection.execute("ALTER TABLE party ADD PRIMARY KEY (id)")
    return f"duckdb:///{tmp_path / 'party.duckdb'}"


def test_a_code_that_a_counter_example_asks_for_hides_none_that_tells_kinds_apart(gone: str, tmp_path: Path) -> None:
    facts = [("Keeper", 102), ("Keeper", 108), ("Keeper", 117), ("Digger", 103), ("Digger", 121)]
    rules, notes = proposed(gone, tmp_path / "run", facts, [("Keeper", 112)])
    assert rules["Digger"] == ['party(id: x, sort: "T")']
    assert "Digger: sort of party tells" in notes
    assert "no code" not in notes


@pytest.mark.parametrize(
    ("shown", "more"),
    [
        ([("Digger", 103), ("Digger", 121)], ""),
        ([("title", 103, "n103"), ("title", 107, "n107")], ":title a owl:DatatypeProperty ; rdfs:domain :Agent ."),
    ],
)
def test_a_class_has_what_is_of_those_below_it_and_of_its_properties(
    shown: list[tuple[object, ...]], more: str, gone: str, tmp_path: Path
) -> None:
    """Three agents of one sort, and a counter-example of another that is gone: of two codes one leaves others out."""
    facts = [("Agent", 102), ("Agent", 108), ("Agent", 117)]
    rules, _ = proposed(gone, tmp_path / "alone", facts, [("Agent", 112)])
    assert rules == {"Agent": ['party(id: x, sort: "S")']}
    rules, _ = proposed(gone, tmp_path / "run", [*facts, *shown], [("Agent", 112)], more)
    assert rules["Agent"] == ["party(id: x, gone: 0)"]


def test_many_examples_of_a_class_speak_louder_than_one_of_a_class_below(gone: str, tmp_path: Path) -> None:
    facts = [("Agent", n) for n in (102, 108, 111, 114, 117, 120, 123, 129, 132, 135)]
    rules, notes = proposed(gone, tmp_path / "run", [*facts, ("Digger", 103)], [("Agent", 112)])
    assert rules["Agent"] == ['party(id: x, sort: "S")']
    assert "Agent lacks Digger(103), which is below it: no rule has the examples of both" in notes


def test_the_code_is_told_that_examples_would_share_least_often_by_chance(gone: str, tmp_path: Path) -> None:
    """None of them is gone, as of most; all are of one sort of three. Rows that are denied nothing tell of neither."""
    facts = [("LeafTrack", n) for n in (102, 108)] + [("Track", n) for n in (103, 104, 111)]
    rules, notes = proposed(gone, tmp_path / "run", facts)
    assert rules["LeafTrack"] == ["party(id: x)"]
    assert "LeafTrack gets all rows of Track; its examples share sort of party" in notes


def test_that_no_example_says_nothing_is_told_where_other_rows_do(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "bill.duckdb") as connection:
        connection.execute(
            "CREATE TABLE bill AS SELECT i::INTEGER AS id, IF(i % 6 = 0, 0, 1000 + i // 4)::INTEGER AS paid "
            "FROM range(101, 241) r(i)"
        )
        connection.execute("ALTER TABLE bill ADD PRIMARY KEY (id)")
    url, above = f"duckdb:///{tmp_path / 'bill.duckdb'}", [("Track", 102), ("Track", 104), ("Track", 105)]
    rules, notes = proposed(url, tmp_path / "run", [*above, *(("LeafTrack", n) for n in (103, 106, 107))])
    assert rules == {"Track": ["bill(id: x)"], "LeafTrack": ["bill(id: x)"]}
    assert "LeafTrack gets all rows of Track; no example of it has 0 in paid of bill, as some rows do" in notes
    _, notes = proposed(url, tmp_path / "all", [*above, *(("LeafTrack", n) for n in (103, 106, 108))])
    assert "paid" not in notes


def test_an_example_that_a_class_beside_has_is_told_and_the_choice_doubted(tmp_path: Path) -> None:
    """Three people and a firm are no keepers: all parties would be."""
    with duckdb.connect(tmp_path / "party.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE party AS SELECT i::INTEGER AS id, 'n' || i AS title FROM range(101, 241) r(i);
            ALTER TABLE party ADD PRIMARY KEY (id);
            CREATE TABLE human (id INTEGER PRIMARY KEY REFERENCES party(id), born DATE);
            INSERT INTO human SELECT id, DATE '1980-01-01' + id FROM party WHERE id < 200;
            CREATE TABLE firm (id INTEGER PRIMARY KEY REFERENCES party(id), vat VARCHAR);
            INSERT INTO firm SELECT id, 'DE' || id FROM party WHERE id >= 200;
            """
        )
    facts = [("Keeper", f"party:{n}") for n in (120, 150, 171, 220)]
    facts += [("Digger", f"firm:{n}") for n in (203, 211, 230)] + [("Agent", f"party:{n}") for n in (110, 222)]
    url, kinds = f"duckdb:///{tmp_path / 'party.duckdb'}", ontology(":Keeper owl:disjointWith :Digger .")
    api.extract(url, kinds, table_of(facts), tmp_path / "run")
    proposals = api.propose(tmp_path / "run").proposals
    by_name = {one.predicate: one for one in proposals.proposals}
    assert by_name["Keeper"].certainty <= 0.5
    assert by_name["Digger"].certainty > 0.8
    told = (
        "its other 3 examples are all of human(id: x), and Keeper(220) is of Digger: if that is a mistake, take it out"
    )
    assert f"Keeper gets the same things as Digger; {told}" in "\n".join(proposals.notes)
