"""Whose datatypes values are published with, the ontology's or the database's, in every language alike."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import yaml

from ruleminer.errors import InputError
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.proposals.identity import Datatypes, identity_policy, mapping_of
from ruleminer.proposals.request import ProposeRequest
from ruleminer.rules.parser import parse_rules
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.proposals.conftest import Cli, Extracted
from tests.proposals.exported import our_triples

XSD = "http://www.w3.org/2001/XMLSchema#"
ONTOLOGY = """
@prefix : <http://e.x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:day a owl:DatatypeProperty ; rdfs:range xsd:dateTime . :moment a owl:DatatypeProperty ; rdfs:range xsd:date .
:number a owl:DatatypeProperty ; rdfs:range xsd:string . :wrong a owl:DatatypeProperty ; rdfs:range xsd:date .
:flag a owl:DatatypeProperty ; rdfs:range xsd:integer . :open a owl:DatatypeProperty .
"""
TABLE = """
CREATE TABLE event (id INT PRIMARY KEY, day DATE, moment TIMESTAMP, number INT, flag BOOLEAN);
INSERT INTO event VALUES (1, '2014-05-04', '2014-05-04 10:00:00', 7, true);
"""
COLUMNS = {"day": "day", "moment": "moment", "number": "number", "wrong": "number", "flag": "flag", "open": "day"}
RULES = "\n".join(f"{name}(x, y) <- event(id: x, {column}: y)" for name, column in COLUMNS.items())
PUBLISHED = {
    Datatypes.ONTOLOGY: {
        "day": ("2014-05-04T00:00:00", "dateTime"),
        "moment": ("2014-05-04", "date"),
        "number": ("7", None),
        "wrong": ("7", "integer"),  # no number is a date
        "flag": ("true", "boolean"),  # nor is a truth value a number
        "open": ("2014-05-04", "date"),
    },
    Datatypes.DATABASE: {
        "day": ("2014-05-04", "date"),
        "moment": ("2014-05-04T10:00:00", "dateTime"),
        "number": ("7", "integer"),
        "wrong": ("7", "integer"),
        "flag": ("true", "boolean"),
        "open": ("2014-05-04", "date"),
    },
}


@pytest.mark.parametrize("datatypes", Datatypes)
def test_all_languages_publish_the_same_datatypes(tmp_path: Path, datatypes: Datatypes) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    ontology = read_ontology(tmp_path / "o.ttl")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(TABLE)
    rules = list(parse_rules(RULES))
    with open_database(str(tmp_path / "d.duckdb")) as database:
        policy = identity_policy(ontology, rules, {}, None, learn_structure(database))
        mapping = mapping_of(rules, ontology, policy, datatypes=datatypes)
        texts = mapping_texts(mapping, database.dialect, database.schema.type_of, None, database.schema_name)
        write_texts(texts, tmp_path)
        triples = our_triples(tmp_path / "mapping.ttl", database)
    wanted = PUBLISHED[datatypes]
    assert {(p, o) for _, p, o in triples} == {
        (f"<http://e.x/o#{name}>", f'"{text}"' + (f"^^<{XSD}{kind}>" if kind else ""))
        for name, (text, kind) in wanted.items()
    }
    told = {}
    for one in yaml.safe_load(texts["mapping.yarrrml.yml"])["mappings"].values():
        for pair in one["po"]:
            value = pair["o"][0] if isinstance(pair["o"], list) else pair["o"]
            kind = value.get("datatype") if isinstance(value, dict) else None
            told[pair["p"]] = None if kind is None else kind.rpartition("#")[2].rpartition(":")[2]
    assert {name.removeprefix("http://e.x/o#"): kind for name, kind in told.items()} == {
        name: kind or ("string" if datatypes is Datatypes.ONTOLOGY else None) for name, (_, kind) in wanted.items()
    }
    for name, (_, kind) in wanted.items():
        assert f":{name} {{" in texts["mapping.obda"]
        assert f"^^xsd:{kind or 'string'}" in texts["mapping.obda"].split(f":{name} {{")[1].split(" ")[0]
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(texts["mapping.sql"])
        for name, (text, _) in wanted.items():
            assert connection.execute(f'SELECT object FROM mapping."{name}"').fetchall() == [(text,)]


def test_the_policy_is_chosen_and_kept(own_library: Extracted, cli: Cli) -> None:
    for wish in Datatypes:
        assert cli("propose-mappings", own_library.run, "--datatypes", wish, "-q").code == 0
        folder = Path(own_library.run) / "proposals"
        again = cli("export", own_library.run, "--format", "r2rml")
        assert again.out == (folder / "mapping.ttl").read_text("utf-8")
        assert ("rr:datatype xsd:string" in again.out) == (wish is Datatypes.ONTOLOGY)
    other = cli("export", own_library.run, "--datatypes", "ontology").out
    assert "rr:datatype xsd:string" in other


EXAMPLES = "predicate,arg1,arg2\nday,1,2014-05-04\nday,2,2014-06-07\nmoment,1,2014-05-04T10:00:00\n"


@pytest.mark.parametrize(
    ("examples", "wish", "published"),
    [
        (EXAMPLES, (), "2014-05-04"),
        (EXAMPLES, ("--datatypes", "ontology"), "2014-05-04T00:00:00"),
        (EXAMPLES.replace("2014-06-07", "2014-06-07T00:00:00"), (), "2014-05-04T00:00:00"),
    ],
)
def test_days_are_published_as_the_examples_write_them(
    tmp_path: Path, cli: Cli, examples: str, wish: tuple[str, ...], published: str
) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    (tmp_path / "facts.csv").write_text(examples, "utf-8")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute(TABLE + "INSERT INTO event VALUES (2, '2014-06-07', '2014-06-07 11:00:00', 8, false);")
    run = tmp_path / "run"
    source = ("--db", str(tmp_path / "d.duckdb"), "--ontology", str(tmp_path / "o.ttl"))
    assert cli("extract", *source, "--examples", str(tmp_path / "facts.csv"), "--out", run, "-q").code == 0
    assert cli("propose-mappings", run, *wish, "-q").code == 0
    with open_database(str(tmp_path / "d.duckdb")) as database:
        objects = {o for _, p, o in our_triples(run / "proposals" / "mapping.ttl", database) if p.endswith("#day>")}
    assert any(o.startswith(f'"{published}"') for o in objects), objects
    assert cli("export", run, "--format", "r2rml").out == (run / "proposals" / "mapping.ttl").read_text("utf-8")


def test_another_policy_is_refused(own_library: Extracted, cli: Cli) -> None:
    refused = cli("propose-mappings", own_library.run, "--datatypes", "mine")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--datatypes must be one of ontology, database, not 'mine'" in refused.err
    with pytest.raises(InputError):
        ProposeRequest(own_library.run, datatypes="mine")
