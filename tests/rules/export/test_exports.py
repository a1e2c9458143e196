"""Mappings in every language: a folder per case, with the rules and what each language makes of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import rdflib
import sqlglot

from ruleminer.rules.columns import TypeOf
from ruleminer.rules.dialects import DIALECTS, POSTGRES, Dialect
from ruleminer.rules.export.obda import obda_text, properties_text
from ruleminer.rules.export.r2rml import r2rml_text
from ruleminer.rules.export.text import rules_text
from ruleminer.rules.export.views import views_text
from ruleminer.rules.export.yarrrml import yarrrml_text
from ruleminer.rules.mapping import Mapping, iri_safe
from ruleminer.rules.parser import parse_rules

from .small_mappings import mapping_of, types

CASES = sorted((Path(__file__).parent.parent.parent / "fixtures" / "exports").iterdir())
LANGUAGES: dict[str, Callable[[Mapping, Dialect, TypeOf], str]] = {
    "mapping.ttl": r2rml_text,
    "mapping.obda": obda_text,
    "mapping.yarrrml.yml": yarrrml_text,
    "mapping.sql": views_text,
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mappings_and_their_texts(case: Path, language: str) -> None:
    """RULEMINER_WRITE_FIXTURES=1 writes what the code makes of the rules now; then look at it."""
    text = LANGUAGES[language](mapping_of((case / "mapping.rules").read_text("utf-8")), POSTGRES, types)
    if os.environ.get("RULEMINER_WRITE_FIXTURES") == "1":
        (case / language).write_text(text, "utf-8")
    assert text == (case / language).read_text("utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rules_are_written_so_that_they_read_back(case: Path) -> None:
    text = (case / "mapping.rules").read_text("utf-8")
    assert list(parse_rules(rules_text(mapping_of(text)))) == list(parse_rules(text))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_node_of_the_r2rml_is_typed(case: Path, dialect: Dialect) -> None:
    mapping = mapping_of((case / "mapping.rules").read_text("utf-8"))
    graph = rdflib.Graph().parse(data=r2rml_text(mapping, dialect, types), format="turtle")
    rr = rdflib.Namespace("http://www.w3.org/ns/r2rml#")
    for relation, kind in (
        (rr.logicalTable, rr.LogicalTable),
        (rr.subjectMap, rr.SubjectMap),
        (rr.predicateObjectMap, rr.PredicateObjectMap),
        (rr.objectMap, rr.ObjectMap),
        (rr.joinCondition, rr.Join),
    ):
        nodes = [node for node in graph.objects(None, relation) if (node, rr.parentTriplesMap, None) not in graph]
        assert all((node, rdflib.RDF.type, kind) in graph for node in nodes)
        assert all((node, rdflib.RDF.type, rr.TriplesMap) in graph for node in graph.subjects(rr.subjectMap))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_targets_of_the_obda_are_turtle_and_its_sources_sql(case: Path) -> None:
    """Ontop's targets are Turtle with `{column}` for values; no parser but Ontop's own is to be had."""
    lines = (case / "mapping.obda").read_text("utf-8").splitlines()
    start = lines.index("[MappingDeclaration] @collection [[")
    prefixes = [line.split("\t") for line in lines[1:start] if line]
    head = "".join(f"@prefix {name} <{namespace}> .\n" for name, namespace in prefixes)
    entries = list(zip(*[iter(lines[start + 1 : -1])] * 4, strict=True))
    assert entries
    for name, target, source, blank in entries:
        assert (name.split("\t")[0], blank) == ("mappingId", "")
        triples = re.sub(r" \{(\w+)\}", r' "\1"', target.removeprefix("target\t\t"))
        graph = rdflib.Graph().parse(data=head + re.sub(r"\{(\w+)\}", r"\1", triples), format="turtle")
        assert len(graph) > 0
        query = sqlglot.parse_one(source.removeprefix("source\t\t"), read="postgres")
        assert set(re.findall(r"\{(\w+)\}", target)) <= set(query.named_selects)


def test_no_rules_make_an_empty_mapping() -> None:
    empty = Mapping(())
    assert len(rdflib.Graph().parse(data=r2rml_text(empty, POSTGRES, types), format="turtle")) == 0
    assert yarrrml_text(empty, POSTGRES, types) == "mappings: {}\n"


def test_properties_escape_what_java_would_misread() -> None:
    text = properties_text("jdbc:duckdb:C:\\data\\né😀.duckdb", "org.duckdb.DuckDBDriver", None)
    assert "jdbc.url=jdbc:duckdb:C:\\\\data\\\\n\\u00e9\\ud83d\\ude00.duckdb\n" in text
    assert "jdbc.user" not in text


@pytest.mark.parametrize(
    ("value", "safe"),
    [("a b", "a%20b"), ("1/2", "1%2F2"), ("100%", "100%25"), ("né", "né"), ("{x}", "%7Bx%7D"), ("\x85", "%C2%85")],
)
def test_values_in_iris_are_encoded_as_r2rml_says(value: str, safe: str) -> None:
    assert iri_safe(value) == safe
