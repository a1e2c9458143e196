"""The bench on ordinary databases: a folder with a database and its truth, drawn from and compared with."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer.bench.real import Comparison, part_of
from ruleminer.bench.real_problem import problems_in
from ruleminer.bench.real_truth import Entity, Truth
from ruleminer.bench.runner import run_bench
from ruleminer.bench.units import BenchOptions
from ruleminer.errors import InputError
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.parser import parse_rule
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.command_line import Run

ONTOLOGY = """
@prefix : <https://schema.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:Thing a rdfs:Class . :Book a rdfs:Class ; rdfs:subClassOf :Thing . :Person a rdfs:Class ; rdfs:subClassOf :Thing .
:Other a rdfs:Class ; rdfs:subClassOf :Thing . :DataType a rdfs:Class . :Text a :DataType , rdfs:Class .
:author a rdf:Property ; :domainIncludes :Book ; :rangeIncludes :Person .
:name a rdf:Property ; :domainIncludes :Thing ; :rangeIncludes :Text .
:jobTitle a rdf:Property ; :domainIncludes :Person ; :rangeIncludes :Text .
:genre a rdf:Property ; :domainIncludes :Book ; :rangeIncludes :Text .
"""
TRUTH = """\
Book\tSELECT 'http://example.org/book/'||id FROM book
author\tSELECT 'http://example.org/book/'||id, 'http://example.org/writer/'||writer_id FROM book
genre\tSELECT 'http://example.org/book/'||b.id, k.word FROM book b JOIN kind k ON k.id = b.kind_id
jobTitle\tSELECT 'http://example.org/writer/'||id, title FROM writer
name\tSELECT 'http://example.org/book/'||id, title FROM book \
UNION SELECT 'http://example.org/writer/'||id, name FROM writer
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE writer(id INT PRIMARY KEY, name TEXT, title TEXT)")
        connection.execute("CREATE TABLE kind(id INT PRIMARY KEY, word TEXT)")
        connection.execute(
            "CREATE TABLE book(id INT PRIMARY KEY, title TEXT, writer_id INT REFERENCES writer, "
            "kind_id INT REFERENCES kind)"
        )
        connection.execute("INSERT INTO writer SELECT i, 'Writer ' || chr(64 + i::INT), ' ' FROM range(1, 13) t(i)")
        connection.execute("INSERT INTO kind VALUES (1, 'novel     '), (2, 'poems'), (3, 'plays')")
        connection.execute(
            "INSERT INTO book SELECT i, CASE WHEN i = 3 THEN 'Same' WHEN i = 4 THEN 'Same' ELSE 'Book no. ' || i END, "
            "1 + i * 7 % 12, 1 + i % 3 FROM range(1, 31) t(i)"
        )
    (folder / "truth.tsv").write_text(TRUTH, "utf-8")
    (folder / "ontology.ttl").write_text(ONTOLOGY, "utf-8")
    return folder


@pytest.fixture
def truth(shop: Path) -> Truth:
    (problem,) = problems_in(shop)
    database = open_database(problem.database())
    return Truth(problem, database, learn_structure(database))


def test_people_take_the_first_rows_of_each_part(truth: Truth) -> None:
    drawn = truth.draw("name", 3, "people", "keys", 0)
    assert [truth.written(row, "keys") for row in drawn] == [
        ("1", "Book no. 1"),
        ("1", "Writer A"),
        ("2", "Book no. 2"),
    ]
    assert len(truth.draw("name", 1, "people", "keys", 0)) == 2


def test_a_draw_at_random_is_the_same_each_time(truth: Truth) -> None:
    drawn = truth.draw("Book", 5, "random", "keys", 0)
    assert drawn == truth.draw("Book", 5, "random", "keys", 0) != truth.draw("Book", 5, "random", "keys", 1)
    assert len(set(drawn)) == 5


def test_an_entity_is_written_as_a_key_a_table_with_a_key_an_iri_or_a_name(truth: Truth) -> None:
    row = ("http://example.org/book/2", "http://example.org/writer/3")
    assert truth.written(row, "keys") == ("2", "3")
    assert truth.written(row, "table:key") == ("book:2", "writer:3")
    assert truth.written(row, "iris") == row
    assert truth.written(row, "names") == ("Book no. 2", "Writer C")


def test_a_name_that_two_share_is_not_drawn(truth: Truth) -> None:
    drawn = truth.draw("Book", 5, "people", "names", 0)
    assert [truth.written(row, "names")[0] for row in drawn] == [f"Book no. {n}" for n in (1, 2, 5, 6, 7)]


def test_facts_are_compared_by_space_and_without_padding(truth: Truth) -> None:
    comparison = Comparison(
        truth, read_ontology(truth.problem.ontology()), Derivations(truth.database, truth.structure)
    )
    writers = comparison.published(parse_rule("author(x, y) <- book(id: x, writer_id: y)"))
    assert writers == truth.facts("author")
    assert (Entity("book.id", "1"), Entity("writer.id", "8")) in writers
    spelled = 'Book(x) <- book(id: a), x = "http://example.org/book/" ++ a'
    assert comparison.published(parse_rule(spelled)) == truth.facts("Book")
    kinds = comparison.published(parse_rule("genre(x, y) <- book(id: x, kind_id: z), kind(id: z, word: y)"))
    assert kinds == truth.facts("genre")
    # the key of a kind, published as a value, is no kind
    assert not comparison.published(parse_rule("genre(x, y) <- book(id: x, kind_id: y)")) & truth.facts("genre")


def test_compound_keys_and_plain_columns_are_entities_too(shop: Path) -> None:
    with duckdb.connect(str(shop / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE line(a INT, b INT, colour TEXT, PRIMARY KEY (a, b))")
        connection.execute("INSERT INTO line VALUES (1, 2, 'red'), (1, 3, 'red'), (2, 1, 'blue')")
    lines, books = "'http://example.org/line/'||a||'/'||b AS x FROM line", "'http://example.org/book/'||id FROM book"
    (shop / "truth.tsv").write_text(
        "Thing\tSELECT 'http://example.org/line/'||a||'/'||b FROM line\n"
        "author\tSELECT 'http://example.org/line/'||a||'/'||b, 'http://example.org/colour/'||colour FROM line\n"
        f"Other\tWITH both AS (SELECT {lines} UNION ALL SELECT {books}) SELECT x FROM both\n"
    )
    (problem,) = problems_in(shop)
    with open_database(problem.database()) as database:
        truth = Truth(problem, database, learn_structure(database))
        comparison = Comparison(truth, read_ontology(problem.ontology()), Derivations(database, truth.structure))
        rule = parse_rule('Thing(x) <- line(a: u, b: v), x = u ++ "/" ++ v')
        assert comparison.published(rule) == truth.facts("Thing")
        rule = parse_rule('author(x, y) <- line(a: u, b: v, colour: y), x = u ++ "/" ++ v')
        assert not comparison.published(rule) & truth.facts("author")  # a colour is no key: it would be a text
        row = ("http://example.org/line/1/2", "http://example.org/colour/red")
        assert truth.written(row, "table:key") == ("line:1/2", "red")
        assert sorted(map(len, truth.parts["Other"])) == [3, 30]


def test_the_part_of_an_ontology_has_what_lies_around_its_terms(shop: Path) -> None:
    part = part_of(read_ontology(shop / "ontology.ttl"), ["author"])
    assert [term.name for term in part.terms] == ["Book", "Person", "Thing", "author"]


def test_the_bench_tells_what_is_exact_and_what_was_missed(shop: Path, tmp_path: Path, run: Run) -> None:
    options = BenchOptions(scale="smoke", out=tmp_path / "results", data=shop)
    draft, whole, part = run_bench("real", options).records
    assert draft.result["mapped"] >= draft.result["mapped_in_truth"] >= draft.result["mapped_exact"]
    assert draft.result["exact"] == 5 - len(draft.result["missed"])
    assert (whole.settings["ontology"], part.settings["ontology"]) == ("whole", "part")
    assert whole.result["terms"] == 4
    assert whole.result["without_example"] == ["jobTitle"]  # all blank: nobody can show one
    assert whole.result["exact"] == 4 - len(whole.result["missed"])
    missed = {term["term"]: term for term in whole.result["missed"]}
    assert set(missed) <= {"name"}  # bare keys of two tables
    assert all(term["why"] and term["both"] < term["true"] for term in missed.values())
    assert whole.result["peak_mb"] > 0
    assert set(whole.result["seconds"]) == {"ontology", "extract", "propose"}
    table = (tmp_path / "results" / "real-smoke" / "table.md").read_text("utf-8")
    assert "drafted with no example" in table
    assert "| people, keys |" in table
    assert "jobTitle is not counted" in table
    assert run("bench", "real", "--scale", "smoke", "--data", shop, "--out", tmp_path / "results", "--json").code == 0


def test_a_part_that_no_example_shows_is_told_apart_from_a_miss(truth: Truth) -> None:
    ontology = read_ontology(truth.problem.ontology())
    comparison = Comparison(truth, ontology, Derivations(truth.database, truth.structure))
    chosen = {"name": (parse_rule("name(x, y) <- book(id: x, title: y)"),)}
    drawn = dict.fromkeys(truth.problem.sql, ()) | {"name": [("http://example.org/book/1", "Book no. 1")]}
    told = {term["term"]: term for term in comparison.all_terms(chosen, {}, drawn)}["name"]
    assert (told["exact"], told["exact_as_shown"]) == (False, True)
    assert told["why"] == "right but for parts that no example shows"
    drawn["name"].append(("http://example.org/writer/1", "Writer A"))
    told = {term["term"]: term for term in comparison.all_terms(chosen, {}, drawn)}["name"]
    assert (told["exact_as_shown"], told["why"]) == (False, "no rule in the pool")


def test_a_folder_without_truth_is_refused(tmp_path: Path, run: Run) -> None:
    with pytest.raises(InputError, match=r"no truth\.tsv"):
        problems_in(tmp_path)
    refused = run("bench", "real", "--data", tmp_path, "--only", "nothing")
    assert refused.code == 2
    assert "truth.tsv" in refused.err


def test_units_are_chosen_by_words_of_their_names(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no unit has all of 5, sakila"):
        run_bench("real", BenchOptions(data=shop, out=tmp_path, only=("5", "sakila")))
