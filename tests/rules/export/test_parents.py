"""Plain links become joins with a parent's triples map, and only those."""

from __future__ import annotations

from dataclasses import replace

import pytest
import rdflib

from ruleminer.errors import InputError
from ruleminer.rules.dialects import POSTGRES
from ruleminer.rules.export.r2rml import r2rml_text
from ruleminer.rules.mapping import Iri, Mapping, TripleRule
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Place, Variable

from .small_mappings import NAMESPACE, mapping_of, types

RR = rdflib.Namespace("http://www.w3.org/ns/r2rml#")
AUTHORS = "Author(x) <- Author(ID: x)\n"
KEPT = frozenset({(Place("Paper", "author"), Place("Author", "ID"))})


def joins(rules: str, kept_links: frozenset[tuple[Place, Place]] = frozenset()) -> set[tuple[str, str, str, str]]:
    """The property, parent, child column and parent column of each join."""
    text = r2rml_text(replace(mapping_of(rules), kept_links=kept_links), POSTGRES, types)
    graph = rdflib.Graph().parse(data=text, format="turtle")
    found = set()
    for pair, made in graph.subject_objects(RR.objectMap):
        if (parent := graph.value(made, RR.parentTriplesMap)) is not None:
            predicate, condition = graph.value(pair, RR.predicate), graph.value(made, RR.joinCondition)
            child, column = graph.value(condition, RR.child), graph.value(condition, RR.parent)
            assert (parent, rdflib.RDF.type, RR.TriplesMap) in graph
            found.add(
                (
                    str(predicate).removeprefix(NAMESPACE),
                    str(parent).rpartition(":")[2],
                    str(child).strip('"'),
                    str(column).strip('"'),
                )
            )
    return found


def test_a_rule_that_joins_its_parent_is_a_join_with_the_parents_map() -> None:
    rules = AUTHORS + "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y)"
    assert joins(rules) == {("hasAuthor", "Author", "author", "ID")}


def test_a_foreign_key_that_the_database_keeps_is_a_join() -> None:
    rules = AUTHORS + "hasAuthor(x, y) <- Paper(ID: x, author: y)"
    assert joins(rules, KEPT) == {("hasAuthor", "Author", "author", "ID")}


@pytest.mark.parametrize(
    "rules",
    [
        AUTHORS + "hasAuthor(x, y) <- Paper(ID: x, author: y)",  # nobody promises that each author is in the table
        "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y)",  # the mapping makes no subjects of authors
        'Author(x) <- Author(ID: a), x = "http://e.x/author/" ++ a\n'  # these have other IRIs
        "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y)",
        "Author(x) <- Author(ID: x, active: true)\n"  # not all rows of the parent's table
        "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y)",
        AUTHORS + "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y, active: true)",
        AUTHORS
        + "hasAuthor(x, y) <- Paper(ID: x, author: y), Author(ID: y)\nhasAuthor(v, w) <- Paper(ID: v, author: w)",
    ],
)
def test_what_is_no_plain_link_makes_its_own_iris(rules: str) -> None:
    assert joins(rules) == set()


def test_a_term_that_is_no_legal_iri_is_refused() -> None:
    rule = parse_rule("Odd(x) <- Thing(ID: x)")
    with pytest.raises(InputError, match="odd one' is no legal IRI"):
        Mapping((TripleRule(rule, "http://e.x/o#odd one", Iri(("http://e.x/id/", Variable("x")))),))
