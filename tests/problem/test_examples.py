"""Examples: facts from CSV, RDF and query pairs in one table, and what broken files say."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.errors import InputError
from ruleminer.problem.examples import read_csv_facts, read_examples
from ruleminer.problem.fact_tables import table_facts, table_of
from ruleminer.problem.facts import FACT_SCHEMA, Fact, fact_table, facts_of, predicates_of, united
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.rules.values import Kind
from ruleminer.sources.database import open_database

ONTOLOGY = """
@prefix : <http://example.org/ships#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Ship a owl:Class . :Port a owl:Class .
:sails-to a owl:ObjectProperty . :name a owl:DatatypeProperty . :built a owl:DatatypeProperty .
"""


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    path = tmp_path_factory.mktemp("ontology") / "ships.ttl"
    path.write_text(ONTOLOGY)
    return read_ontology(path)


def csv_file(folder: Path, text: str) -> Path:
    path = folder / "facts.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_facts_are_positive_and_untyped_unless_told_otherwise(tmp_path: Path, ontology: Ontology) -> None:
    table = read_csv_facts(
        csv_file(tmp_path, 'predicate,arg1,arg2\nShip,7,\nname,7,"The ""Ark"",\nold"\n:sails-to,7,8\n'), ontology
    )
    assert table.schema == FACT_SCHEMA
    assert list(facts_of(table)) == [
        Fact("Ship", ("7",), (None,)),
        Fact("name", ("7", 'The "Ark",\nold'), (None, None)),
        Fact("sails-to", ("7", "8"), (None, None)),
    ]


def test_words_for_true_and_false_are_read_where_the_ontology_says_so(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://x#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: "
        "<http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        ":active a owl:DatatypeProperty ; rdfs:range xsd:boolean . "
        ":answer a owl:DatatypeProperty ; rdfs:range xsd:string .",
        "utf-8",
    )
    ontology = read_ontology(tmp_path / "o.ttl")
    text = "predicate,arg1,arg2,kind2\nactive,1,Y,\nactive,2,no,\nactive,3,1,\nactive,4,Y,text\nanswer,1,Y,\n"
    facts = read_csv_facts(csv_file(tmp_path, text), ontology)
    assert facts["arg2"].to_pylist() == ["true", "false", "1", "Y", "Y"]
    given = pa.table({name: facts[name] for name in ("predicate", "arg1", "kind2")}).append_column(
        "arg2", pa.array(["Y", "no", "1", "Y", "Y"])
    )
    assert table_facts(given, ontology, "x")["arg2"].to_pylist() == ["true", "false", "1", "Y", "Y"]


@pytest.mark.parametrize("header", ["label", "positive"])
def test_every_way_to_write_a_label_is_understood(tmp_path: Path, ontology: Ontology, header: str) -> None:
    for yes, no in (("positive", "negative"), ("1", "0"), ("true", "False"), ("+", "-")):
        table = read_csv_facts(csv_file(tmp_path, f"predicate,arg1,{header}\nShip,1,{yes}\nShip,2,{no}\n"), ontology)
        assert table["positive"].to_pylist() == [True, False]


def test_kinds_may_stand_in_the_csv(tmp_path: Path, ontology: Ontology) -> None:
    table = read_csv_facts(
        csv_file(tmp_path, "predicate,arg1,arg2,kind1,kind2\nbuilt,7,1999-01-01,integer,date\n"), ontology
    )
    assert next(facts_of(table)).kinds == (Kind.INTEGER, Kind.DATE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the header must be predicate,arg1[,arg2][,label], not nothing"),
        ("Ship,7\n", "line 1: the header must be predicate,arg1[,arg2][,label], not Ship,7"),
        ("predicate,arg1,arg1\n", "line 1: the header must be"),
        ("predicate,arg1,colour\n", "line 1: the header must be"),
        ("predicate,arg1\nShip,7\nShip,7,8\n", "line 3: 3 fields where the header has 2"),
        ("predicate,arg1\nShip,7\n\nShp,8\n", "line 4: the ontology has no class or property Shp; nearest: Ship"),
        ("predicate,arg1,arg2\nShip,7,8\n", "line 2: Ship is a class: it takes one argument, not 2"),
        ("predicate,arg1,arg2\nname,7,\n", "line 2: name is a property: it takes two arguments, not 1"),
        ("predicate,arg1,arg2\nname,,x\n", "line 2: name is a property: it takes two arguments, not 1"),
        ("predicate,arg1,label\nShip,7,maybe\n", "line 2: a label is positive or negative"),
        ("predicate,arg1,kind1\nShip,7,number\n", "line 2: a kind is one of integer, decimal"),
        ('predicate,arg1\nShip,"a\nb"\nShip,"7\n', "line 4: broken CSV: unexpected end of data"),
        ('predicate,arg1\nShip,"7"x\n', "line 2: broken CSV"),
    ],
)
def test_a_broken_csv_is_one_line_with_file_and_line(
    tmp_path: Path, ontology: Ontology, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_csv_facts(csv_file(tmp_path, text), ontology)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "facts.csv"))
    assert "\n" not in str(caught.value)


def test_blanks_around_a_cell_mean_nothing(tmp_path: Path, ontology: Ontology) -> None:
    text = "predicate, arg1, arg2, kind2\n Ship , 7 , ,\nname, 7, The Ark ,\nname, 7, The Ark ,text\n"
    assert list(facts_of(read_csv_facts(csv_file(tmp_path, text), ontology))) == [
        Fact("Ship", ("7",), (None,)),
        Fact("name", ("7", "The Ark"), (None, None)),
        Fact("name", ("7", " The Ark "), (None, Kind.TEXT)),
    ]


def test_all_mistakes_of_a_csv_are_told_at_once(tmp_path: Path, ontology: Ontology) -> None:
    with pytest.raises(InputError) as caught:
        read_csv_facts(csv_file(tmp_path, "predicate,arg1\nShp,1\nShip,1\nShp,2\nPrt,3\nname,4\n"), ontology)
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'facts.csv'}: 3 mistakes",
        "  line 2: the ontology has no class or property Shp; nearest: Ship",
        "  line 5: the ontology has no class or property Prt; nearest: Port",
        "  line 6: name is a property: it takes two arguments, not 1",
    ]
    many = "".join(f"Wrong{n},1\n" for n in range(13))
    with pytest.raises(InputError, match=r"(?s)13 mistakes.*line 11: .*\n  and 3 more$"):
        read_csv_facts(csv_file(tmp_path, f"predicate,arg1\n{many}"), ontology)


def test_an_iri_may_stand_in_angle_brackets(tmp_path: Path, ontology: Ontology) -> None:
    table = read_csv_facts(csv_file(tmp_path, "predicate,arg1\n<http://example.org/ships#Ship>,7\n"), ontology)
    assert table["predicate"].to_pylist() == ["Ship"]


class Frame:
    """As much of a data frame as is asked for."""

    def __init__(self, **columns: list[object]) -> None:
        self.columns = columns

    def to_dict(self, shape: str) -> dict[str, list[object]]:
        assert shape == "list"
        return self.columns


@pytest.mark.parametrize(
    "given",
    [
        [("Ship", 7), ("name", 7, "Ark"), (":sails-to", "7", 8)],
        pa.table({"predicate": ["Ship", "name", "sails-to"], "arg1": [7, 7, 7], "arg2": [None, "Ark", "8"]}),
        pa.table({"predicate": ["Ship", "name", "sails-to"], "arg1": [7.0, 7.0, 7.0], "arg2": ["", " Ark", "8"]}),
        {"predicate": ["Ship", "name", "sails-to"], "arg1": [7, "7", 7.0], "arg2": [None, "Ark", 8]},
        Frame(predicate=["Ship", "name", "sails-to"], arg1=[7, "7", 7.0], arg2=[float("nan"), "Ark", 8]),
    ],
)
def test_facts_of_programs_are_read_like_those_of_csv(ontology: Ontology, given: object) -> None:
    assert list(facts_of(table_facts(table_of(given), ontology, "examples"))) == [
        Fact("Ship", ("7",), (None,)),
        Fact("name", ("7", "Ark"), (None, None)),
        Fact("sails-to", ("7", "8"), (None, None)),
    ]


def test_typed_values_have_their_lexical_forms(ontology: Ontology) -> None:
    moment = datetime(2014, 5, 4, 12, tzinfo=timezone(timedelta(hours=2)))
    given = [("built", 1, date(1999, 1, 1)), ("built", 2, moment), ("built", 3, 1.50), ("built", 4, True)]
    told = table_facts(table_of(given), ontology, "examples")["arg2"].to_pylist()
    assert told == ["1999-01-01", "2014-05-04 10:00:00", "1.5", "true"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("Ship",)], "fact 1: must be"),
        (["Ship"], "fact 1: must be"),
        (7, "must be files, tuples, an Arrow table or a data frame, not int"),
        ([("Shp", 1), ("Prt", 2)], r"(?s)2 mistakes.*Shp.*Prt"),
        ([("Ship", 1, 2)], "examples: fact 1: Ship is a class: it takes one argument, not 2"),
        ([("name", 1), ("name", None, 2)], r"(?s)fact 1: name is a property.*fact 2"),
        (pa.table({"predicate": ["Ship"]}), "the header must be"),
        (pa.table({"predicate": ["Ship"], "arg1": [1], "label": ["maybe"]}), "a label is positive or negative"),
        (pa.table({"predicate": ["Ship"], "arg1": [1], "kind1": ["number"]}), "a kind is one of"),
    ],
)
def test_tables_are_refused_with_a_reason(ontology: Ontology, given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        table_facts(table_of(given), ontology, "examples")


def test_parquet_is_read_like_csv(tmp_path: Path, ontology: Ontology) -> None:
    table = {"predicate": ["Ship", "name"], "arg1": ["7", "7"], "arg2": [None, "Ark"], "label": ["+", "-"]}
    pq.write_table(pa.table(table), tmp_path / "facts.parquet")
    assert list(facts_of(read_examples([tmp_path / "facts.parquet"], ontology).facts)) == [
        Fact("Ship", ("7",), (None,)),
        Fact("name", ("7", "Ark"), (None, None), positive=False),
    ]
    (tmp_path / "broken.parquet").write_text("no")
    for name, message in (("broken", "not readable as Parquet"), ("none", "no such file")):
        with pytest.raises(InputError, match=message):
            read_examples([tmp_path / f"{name}.parquet"], ontology)


def test_rdf_gives_typed_facts_of_the_ontology_only(tmp_path: Path, ontology: Ontology) -> None:
    path = tmp_path / "ships.ttl"
    path.write_text(
        """@prefix : <http://example.org/ships#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        :Ship a owl:Class ; rdfs:label "of the ontology, no fact" .
        <s/1> a :Ship , owl:NamedIndividual ; :sails-to <p/1> ; :name "Ark"@en ; rdfs:label "1400" ;
            :built "1999-01-01"^^xsd:date , "2000-01-01T12:00:00+02:00"^^xsd:dateTime ,
                   007 , 1.50 , true , "x"^^xsd:integer , "2001"^^xsd:gYear .
        <p/1> a :Harbour . [] a :Ship .""",
        encoding="utf-8",
    )
    examples = read_examples([path], ontology)
    found = {
        (fact.predicate, fact.arguments[-1], fact.kinds[-1] and fact.kinds[-1].value)
        for fact in facts_of(examples.facts)
    }
    ship = path.as_uri().replace("ships.ttl", "s/1")
    assert found == {
        ("Ship", ship, "text"),
        ("sails-to", path.as_uri().replace("ships.ttl", "p/1"), "text"),
        ("name", "Ark", "text"),
        ("label", "1400", None),
        ("built", "1999-01-01", "date"),
        ("built", "2000-01-01 10:00:00", "timestamp"),
        ("built", "7", "integer"),
        ("built", "1.5", "decimal"),
        ("built", "true", "boolean"),
        ("built", "x", None),
        ("built", "2001", None),
    }
    assert examples.notes == (
        "ships.ttl: 1 x Harbour (not in the ontology) left out",
        "ships.ttl: 1 x Ship of a blank node left out",
    )


def test_rdf_that_says_nothing_of_the_ontology_is_refused(tmp_path: Path, ontology: Ontology) -> None:
    path = tmp_path / "other.nt"
    path.write_text("<http://a> <http://b> <http://c> .\n")
    with pytest.raises(InputError, match="says nothing of the ontology's classes and properties"):
        read_examples([path], ontology)


def test_files_of_all_kinds_are_read_together_and_each_fact_once(tmp_path: Path, ontology: Ontology) -> None:
    with duckdb.connect(str(tmp_path / "ships.duckdb")) as connection:
        connection.execute("CREATE TABLE ship (id integer PRIMARY KEY); INSERT INTO ship VALUES (1), (2)")
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "ships.qpair").write_text(
        "sql=SELECT COUNT(*) FROM ship\nsparql=SELECT (COUNT(*) AS ?n) {?s a <http://example.org/ships#Ship>}\n"
    )
    table = csv_file(tmp_path, "predicate,arg1\nPort,9\nPort,9\n")
    with open_database(f"duckdb:///{tmp_path / 'ships.duckdb'}") as database:
        examples = read_examples([queries, table, queries / "ships.qpair"], ontology, database)
    assert list(facts_of(examples.facts)) == [
        Fact("Port", ("9",), (None,)),
        Fact("Ship", ("1",), (Kind.INTEGER,)),
        Fact("Ship", ("2",), (Kind.INTEGER,)),
    ]
    assert [row.facts for row in examples.pairs] == [2, 2]
    with pytest.raises(InputError, match="need the database"):
        read_examples([queries], ontology)


def test_unknown_and_missing_files_are_refused(tmp_path: Path, ontology: Ontology) -> None:
    with pytest.raises(InputError, match=r"examples come as \.csv"):
        read_examples([tmp_path / "facts.xlsx"], ontology)
    with pytest.raises(InputError, match="cannot be read"):
        read_examples([tmp_path / "none.csv"], ontology)


kinds = st.none() | st.sampled_from(Kind)
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip)


@st.composite
def some_facts(draw: st.DrawFn) -> Fact:
    size = draw(st.integers(1, 2))
    arguments = draw(st.tuples(*[texts] * size))
    return Fact(
        draw(st.sampled_from(["Ship", "Port"] if size == 1 else ["name", "sails-to"])),
        arguments,
        draw(st.tuples(*[kinds] * size)),
        draw(st.booleans()),
    )


@given(st.lists(some_facts(), max_size=8))
def test_a_table_of_facts_gives_them_back(facts: list[Fact]) -> None:
    assert list(facts_of(fact_table(facts))) == facts
    assert set(facts_of(united([fact_table(facts), fact_table(facts)]))) == set(facts)
    assert united([fact_table(facts)]).num_rows == len(set(facts))
    assert predicates_of(fact_table(facts)) == tuple(sorted({fact.predicate for fact in facts}))


@given(st.lists(some_facts(), max_size=8))
def test_any_fact_survives_csv(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology, facts: list[Fact]) -> None:
    path = tmp_path_factory.getbasetemp() / "any-facts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["predicate", "arg1", "arg2", "kind1", "kind2", "label"])
        for fact in facts:
            arguments, told = (*fact.arguments, "")[:2], (*fact.kinds, None)[:2]
            writer.writerow([fact.predicate, *arguments, *(kind or "" for kind in told), fact.positive])
    assert list(facts_of(read_csv_facts(path, ontology))) == [trimmed(fact) for fact in facts]


def trimmed(fact: Fact) -> Fact:
    """Blanks around an argument mean nothing, unless it is said to be a text."""
    pairs = zip(fact.arguments, fact.kinds, strict=True)
    return replace(fact, arguments=tuple(text if kind is Kind.TEXT else text.strip() for text, kind in pairs))


def test_the_lines_of_facts_are_known(tmp_path: Path, ontology: Ontology) -> None:
    path = csv_file(tmp_path, 'predicate,arg1,arg2,label\nShip,1,,\n"Ship",2,,-\n\nname,1,Ariel,\nShip,1,,\n')
    assert read_examples([path], ontology).lines == {
        ("Ship", "1", None, True): f"{path.name}, line 2",
        ("Ship", "2", None, False): f"{path.name}, line 3",
        ("name", "1", "Ariel", True): f"{path.name}, line 5",
    }
