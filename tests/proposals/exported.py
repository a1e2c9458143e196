"""What the tests of exports share: a scenario's true rules as a mapping, and triples read back as facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

import pyoxigraph

from ruleminer.problem.ontology import Ontology, Property, PropertyKind, read_ontology
from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.proposals.identity import IdentityPolicy, identity_policy, mapping_of
from ruleminer.rules.mapping import Mapping
from ruleminer.rules.parser import parse_rules
from ruleminer.sources.database import Database
from ruleminer.structure.structure import learn_structure
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import read_r2rml

Triple = tuple[str, str, str]
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def exported(rules: Path | str, ontology: Path, database: Database, out: Path) -> tuple[Mapping, IdentityPolicy]:
    """Rules (a file, or their text) exported for a database into a folder."""
    text = rules.read_text("utf-8") if isinstance(rules, Path) else rules
    parsed = list(parse_rules(text))
    known = read_ontology(ontology)
    policy = identity_policy(known, parsed, {}, None, learn_structure(database))
    kept_links = database.schema.links if database.dialect.keeps_links else ()
    mapping = mapping_of(parsed, known, policy, kept_links)
    types = database.schema.type_of
    write_texts(mapping_texts(mapping, database.dialect, types, None, database.schema_name), out)
    return mapping, policy


def our_triples(mapping: Path, database: Database) -> set[Triple]:
    """The triples that our own materialiser makes of an R2RML file."""
    quads = materialise(read_r2rml(mapping), database)
    return triples_of("".join(f"{s} {p} {o} .\n" for s, p, o, _ in quads))


def triples_of(text: str) -> set[Triple]:
    """The triples of an N-Triples text, each term written in one way."""
    parsed = pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in parsed}


def facts_of_triples(triples: Iterable[Triple], ontology: Ontology, base: str) -> dict[str, set[tuple[str, ...]]]:
    """Triples as the facts they stand for: the keys of IRIs below the base, other IRIs whole, values as texts."""

    def argument(term: str) -> str:
        if term.startswith("<"):
            iri = term[1:-1]
            return unquote(iri.rpartition("/")[2]) if iri.startswith(base) else iri
        (quad,) = pyoxigraph.parse(f"<x:s> <x:p> {term} .".encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
        value = quad.object.value
        is_timestamp = quad.object.datatype.value.endswith("#dateTime")
        return value.replace("T", " ") if is_timestamp else value  # as facts have them

    facts = defaultdict(set)
    for subject, predicate, value in triples:
        if predicate == RDF_TYPE:
            facts[ontology.find(value[1:-1]).name].add((argument(subject),))
        else:
            facts[ontology.find(predicate[1:-1]).name].add((argument(subject), argument(value)))
    return dict(facts)


def view_triples(mapping: Mapping, ontology: Ontology, rows: dict[str, set[tuple[str, ...]]]) -> set[Triple]:
    """The rows of the SQL views, by predicate, as triples without datatypes: to be compared by `without_datatypes`."""
    found = set()
    for rule in mapping.rules:
        term = ontology.find(rule.rule.predicate)
        is_value = isinstance(term, Property) and term.kind is PropertyKind.DATATYPE
        for row in rows[rule.rule.predicate]:
            if len(row) == 1:
                found.add((f"<{row[0]}>", RDF_TYPE, f"<{term.iri}>"))
            else:
                value = str(pyoxigraph.Literal(row[1])) if is_value else f"<{row[1]}>"
                found.add((f"<{row[0]}>", f"<{term.iri}>", value))
    return found


def without_datatypes(triples: Iterable[Triple]) -> set[Triple]:
    return {(s, p, o if o.startswith("<") else o.rpartition("^^<")[0] or o) for s, p, o in triples}
