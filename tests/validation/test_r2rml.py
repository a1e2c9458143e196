"""Mappings that the standard forbids end in one clear line that names the map and the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from ruleminer.errors import InputError
from ruleminer.rules.dialects import DIALECTS, POSTGRES, Dialect
from ruleminer.validation.identifiers import Identifier, read_identifier, read_path, resolve
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import DEFAULT_BASE, r2rml_of
from ruleminer.validation.r2rml_values import R2RMLMapping, TermType
from ruleminer.validation.row_terms import Tally
from tests.validation.engines import ENGINES, Filled

PREFIXES = "@prefix rr: <http://www.w3.org/ns/r2rml#> .\n@prefix ex: <http://example.com/> .\n"
TABLE = 'rr:logicalTable [ rr:tableName "t" ]'
SUBJECT = 'rr:subjectMap [ rr:template "http://example.com/{id}" ]'


def read(text: str) -> R2RMLMapping:
    return r2rml_of((PREFIXES + text).encode(), Path("mapping.ttl"))


def objects(of: str) -> str:
    return f"ex:M {TABLE} ; {SUBJECT} ; rr:predicateObjectMap [ rr:predicate ex:p ; {of} ] ."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ex:a ex:b ex:c .", "no triples map"),
        (f"ex:M {SUBJECT} .", "it must have one rr:logicalTable, not 0"),
        (f"ex:M {TABLE} .", "one rr:subjectMap"),
        (f"ex:M {TABLE} ; {SUBJECT} , [ rr:column 'x' ] .", "one rr:subjectMap (or rr:subject), not 2"),
        (f"ex:M {TABLE} ; rr:subject ex:s ; {SUBJECT} .", "one rr:subjectMap (or rr:subject), not 2"),
        (f"ex:M rr:logicalTable [ rr:tableName 't' ; rr:sqlQuery 'SELECT 1' ] ; {SUBJECT} .", "not 1 and 1"),
        (f"ex:M rr:logicalTable [] ; {SUBJECT} .", "not 0 and 0"),
        (f"ex:M rr:logicalTable [ rr:tableName 'a..b' ] ; {SUBJECT} .", "not the name of a table"),
        (f"ex:M rr:logicalTable [ rr:tableName ex:t ] ; {SUBJECT} .", "rr:tableName must be a text"),
        (f"ex:M rr:logicalTable [ rr:sqlQuery 'SELECT 1' ; rr:sqlVersion rr:SQL1979 ] ; {SUBJECT} .", "SQL1979"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column 'a' ; rr:termType rr:Literal ] .", "cannot have rr:termType"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column 'a' ; rr:termType ex:Thing ] .", "none of rr:IRI"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column 'a' ; rr:template '{{b}}' ] .", "must have one of rr:constant"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:constant 'text' ] .", "must be an IRI, not 'text'"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column 'a' ; rr:class 'Person' ] .", "rr:class must be an IRI"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column 'a' ; rr:class [] ] .", "not a blank node"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:template 'x{{a' ] .", "a brace that names no column"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:template 'x{{}}' ] .", "a brace that names no column"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:template 'x}}y' ] .", "without an opening one"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:template '{{a{{b}}}}' ] .", "a brace that names no column"),
        (f"ex:M {TABLE} ; rr:subjectMap [ rr:column '\"a' ] .", "rr:column must name one column"),
        (f"ex:M {TABLE} ; {SUBJECT} ; rr:predicateObjectMap [ rr:predicate ex:p ] .", "has no rr:object"),
        (f"ex:M {TABLE} ; {SUBJECT} ; rr:predicateObjectMap [ rr:object ex:o ] .", "has no rr:predicate"),
        (f"ex:M {TABLE} ; {SUBJECT} ; rr:predicateObjectMap [ rr:predicate 'p' ; rr:object ex:o ] .", "must be an IRI"),
        (objects("rr:objectMap [ rr:column 'a' ; rr:language 'english' ]"), "not a language tag"),
        (objects("rr:objectMap [ rr:column 'a' ; rr:language 'en' ; rr:datatype ex:d ]"), "one rr:datatype or one"),
        (objects("rr:objectMap [ rr:template '{a}' ; rr:termType rr:IRI ; rr:language 'en' ]"), "makes literals"),
        (objects("rr:objectMap [ rr:parentTriplesMap ex:Nowhere ]"), "<http://example.com/Nowhere>"),
        (objects("rr:objectMap [ rr:parentTriplesMap ex:M ; rr:joinCondition [ rr:child 'a' ] ]"), "rr:parent must"),
        (objects("rr:objectMap [ rr:parentTriplesMap ex:N ]")
         + f"ex:N rr:logicalTable [ rr:tableName 'u' ] ; {SUBJECT} .", "which reads another logical table"),
        (objects("rr:object ex:o ; rr:graphMap [ rr:column 'g' ; rr:termType rr:BlankNode ]"), "graph map cannot have"),
    ],
)  # fmt: skip
def test_what_the_standard_forbids_is_told_in_one_line(text: str, fault: str) -> None:
    with pytest.raises(InputError) as told:
        read(text)
    assert str(told.value).startswith("mapping.ttl: ")
    assert fault in str(told.value)
    assert "\n" not in str(told.value)


def test_broken_turtle_is_told_with_its_line() -> None:
    with pytest.raises(InputError, match=r"mapping.ttl, line 3: not valid Turtle"):
        read("ex:M rr:logicalTable [ .")


def test_shortcuts_mean_what_they_stand_for() -> None:
    (short,) = read(
        f"ex:M {TABLE} ; rr:subject ex:s ; rr:predicateObjectMap [ rr:predicate ex:p ; rr:object 'o' ] ."
    ).maps
    (long,) = read(
        f"ex:M {TABLE} ; rr:subjectMap [ rr:constant ex:s ] ; rr:predicateObjectMap "
        "[ rr:predicateMap [ rr:constant ex:p ] ; rr:objectMap [ rr:constant 'o' ] ] ."
    ).maps
    assert short == long


def test_term_types_default_as_the_standard_says() -> None:
    (found,) = read(
        objects("rr:objectMap [ rr:column 'a' ] , [ rr:template '{a}' ] , [ rr:template '{a}' ; rr:language 'en' ]")
    ).maps
    kinds = [each.term_type for each in found.predicate_objects[0].objects if not hasattr(each, "joins")]
    assert sorted(kinds) == sorted([TermType.LITERAL, TermType.IRI, TermType.LITERAL])


def test_the_base_is_the_documents_own() -> None:
    assert read(f"@base <http://here.example/> . ex:M {TABLE} ; {SUBJECT} .").base == "http://here.example/"
    assert read(f"ex:M {TABLE} ; {SUBJECT} .").base == DEFAULT_BASE


def test_identifiers_are_read_with_their_quotes() -> None:
    assert read_path('cmt."Doc ""x"" .y" ') == (Identifier("cmt", False), Identifier('Doc "x" .y', True))
    assert read_path("Country Info") == (Identifier("Country Info", False),)
    assert read_path('a"b') == read_path("a..b") == read_path("") == ()
    assert read_identifier("core.no") == Identifier("core.no", False)
    assert read_identifier('"a"."b"') is None


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_case_is_folded_as_the_engines_do(dialect: Dialect) -> None:
    assert resolve(Identifier("ID", False), ["id", "ID"], dialect) == "ID"
    assert resolve(Identifier("Id", False), ["id", "ID"], dialect) == "id"
    assert resolve(Identifier("name", False), ["Name"], dialect) == "Name"
    assert resolve(Identifier("name", False), ["Name", "NAME"], dialect) is None
    assert resolve(Identifier("name", True), ["Name"], dialect) == (None if dialect is POSTGRES else "Name")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("logical", "fault"),
    [
        ('rr:tableName "persons"', "the database has no table persons; did you mean person?"),
        ('rr:tableName "elsewhere.person"', "elsewhere"),
        ('rr:tableName "person"', "table person has no column id"),
        ('rr:sqlQuery "SELECT name FROM person"', "its rr:sqlQuery has no column id"),
        ('rr:sqlQuery "SELECT nothing AS id FROM person"', "nothing"),
        ('rr:sqlQuery "DELETE FROM person"', "not a query (SELECT, WITH or VALUES): DELETE FROM person"),
        ('rr:sqlQuery "SELECT name FROM person; DELETE FROM person"', "more than one statement"),
    ],
)
def test_a_map_that_does_not_fit_the_database_is_named(engine: str, logical: str, fault: str, filled: Filled) -> None:
    if engine == "sqlite" and "elsewhere" in logical:
        fault = "no column id"  # SQLite has no schemas: the table is the one it has
    database = filled(engine, "CREATE TABLE person (name VARCHAR(10))")
    mapping = read(f"ex:M rr:logicalTable [ {logical} ] ; {SUBJECT} ; rr:predicateObjectMap "
                   "[ rr:predicate ex:p ; rr:object ex:o ] .")  # fmt: skip
    with pytest.raises(InputError) as told:
        list(materialise(mapping, database))
    assert str(told.value).startswith("mapping.ttl: triples map <http://example.com/M>: ")
    assert fault in str(told.value)
    assert "\n" not in str(told.value)


def test_a_broken_map_need_not_stop_the_others(filled: Filled) -> None:
    database = filled("duckdb", "CREATE TABLE person (id INTEGER); INSERT INTO person VALUES (1)")
    mapping = read(
        f'ex:A rr:logicalTable [ rr:tableName "gone" ] ; {SUBJECT} . '
        'ex:B rr:logicalTable [ rr:tableName "person" ] ; '
        'rr:subjectMap [ rr:template "http://example.com/{id}" ; rr:class ex:Person ] .'
    )
    tally = Tally()
    assert len(list(materialise(mapping, database, tally, skip_broken=True))) == 1
    assert len(tally.problems) == 1
    assert "no table gone" in tally.problems[0]


def test_triples_stream(filled: Filled) -> None:
    database = filled("duckdb", "CREATE TABLE t AS SELECT range AS id FROM range(3000000)")
    first = next(materialise(read(objects("rr:object ex:o")), database))
    assert first[0] == "<http://example.com/0>"
