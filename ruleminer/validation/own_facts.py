"""A mapping held against the user's own facts: which of those that hold it derives, and which of those that do not.

An argument that is an IRI is compared as it stands. A key (`17`, `customer:17`) or a name (`AC/DC`) is compared with
the last part of the triple's IRI, percent-decoded, which is where mappings put keys. Values are compared as texts,
numbers and times in any notation; a day is its midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyoxigraph import RdfFormat, parse

from ruleminer.errors import InputError
from ruleminer.extraction.entities import Choice, read_entities
from ruleminer.problem.examples import read_examples
from ruleminer.problem.facts import Fact, facts_of
from ruleminer.problem.ontology import Ontology, OntologyClass, PropertyKind, read_ontology
from ruleminer.progress import Progress, silent
from ruleminer.sources.database import Database, using
from ruleminer.structure.structure import learn_structure
from ruleminer.validation.materialise import Quad, Tally, materialise
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.reasoning import Reasoner, read_reasoner
from ruleminer.validation.scoring import MIDNIGHT, comparable
from ruleminer.validation.terms import RDF_TYPE, XSD

_DATE, _DATE_TIME = (f"^^<{XSD}{name}>" for name in ("date", "dateTime"))
_SHOWN = 5
_LAST = re.compile(r"[^/#=:]+$")


@dataclass(frozen=True, slots=True)
class PredicateCheck:
    """How a predicate's facts fared; `missed` and `wrong` are a few positives not derived and negatives derived."""

    predicate: str
    positives: int
    derived: int
    negatives: int
    derived_negatives: int
    missed: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[tuple[str, ...], ...] = ()

    @property
    def passes(self) -> bool:
        """Whether all that holds is derived, and nothing that does not."""
        return self.derived == self.positives and not self.derived_negatives


@dataclass(frozen=True, slots=True)
class FactCheck:
    """A mapping against facts, predicate by predicate."""

    mapping: str
    database: str
    reasoning: str
    predicates: tuple[PredicateCheck, ...]
    notes: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every predicate does."""
        return all(one.passes for one in self.predicates)


def check_facts(
    mapping: Path | str,
    examples: Sequence[Path | str | pa.Table],
    ontology: Path,
    db: str | Path | Database,
    *,
    schema: str | None = None,
    reasoning: str = "rdfs",
    timeout: float = 300.0,
    trust: bool = False,
    progress: Progress = silent,
) -> FactCheck:
    """Run an R2RML mapping on a database and look for the examples among its triples and what follows from them."""
    terms, reasoner, document = read_ontology(ontology), read_reasoner(ontology, reasoning), read_r2rml(mapping)
    tally = Tally()
    with using(db, schema=schema, timeout=timeout, count_rows=False, trust=trust) as database:
        read = read_examples(examples, terms, database)
        facts = list(facts_of(read.facts))
        if not facts:
            raise InputError("there is no example to check the mapping with")
        readings = _readings(read.facts, facts, terms, database)
        quads = materialise(document, database, tally, skip_broken=True, progress=progress)
        derived = _derived(quads, facts, readings, terms, reasoner)
        shown = database.safe_url
    if len(tally.problems) == len(document.maps):
        raise InputError(tally.problems[0])
    return FactCheck(str(mapping), shown, reasoning, tuple(_checks(facts, derived)), (*read.notes, *tally.problems))


def _readings(table: pa.Table, facts: Sequence[Fact], ontology: Ontology, database: Database) -> list[tuple[Fact, ...]]:
    """All readings of the facts, with keys in place of `customer:17` and `AC/DC`, as extraction reads them."""
    first = (fact.arguments[0] for fact in facts)
    second = (fact.arguments[1] for fact in facts if len(fact.arguments) > 1 and _leads_on(ontology, fact.predicate))
    if all(_is_iri(text) or text.isdecimal() for text in (*first, *second)):
        return [(fact,) for fact in facts]
    read = read_entities(table, learn_structure(database), database, ontology)
    found: list[tuple[Fact, ...]] = []
    for row, fact in enumerate(islice(facts_of(read.facts), len(facts))):  # further rows are readings of these
        several = read.named[row].readings if row in read.named else ()
        keys = (tuple(map(_key, fact.arguments, choices)) for choices in several)
        found.append((fact, *(replace(fact, arguments=arguments) for arguments in keys)))
    return found


def _key(text: str, choice: Choice | None) -> str:
    return text if choice is None else choice.key


def _derived(
    quads: Iterable[Quad],
    facts: Sequence[Fact],
    readings: Sequence[Sequence[Fact]],
    ontology: Ontology,
    reasoner: Reasoner,
) -> set[int]:
    """The places of the facts that some triple says, as they were given or as they were read."""
    wanted: dict[str, dict[tuple[str, ...], set[int]]] = {}
    for place, (given, read) in enumerate(zip(facts, readings, strict=True)):
        term = f"<{ontology.find(given.predicate).iri}>"
        for fact in (given, *read):
            key = tuple(text if _is_iri(text) else comparable(text) for text in fact.arguments)
            wanted.setdefault(term, {}).setdefault(key, set()).add(place)
    found: set[int] = set()
    for subject, predicate, value, _ in quads:
        for one in ((subject, predicate, value), *reasoner.consequences(subject, predicate, value)):
            term, ends = (one[2], one[:1]) if one[1] == RDF_TYPE else (one[1], (one[0], one[2]))
            if (keys := wanted.get(term)) is not None:
                for key in product(*map(_forms, ends)):
                    found |= keys.get(key, set())
    return found


def iri_forms(iri: str) -> tuple[str, ...]:
    """What an argument may be written as to mean this entity: the IRI, or the key at its end."""
    last = _LAST.search(iri)
    return (iri,) if last is None else (iri, comparable(unquote(last.group())))


def _forms(term: str) -> Iterator[str]:
    """What an argument may be written as to mean this term of N-Triples."""
    if term.startswith("<"):
        yield from iri_forms(term[1:-1])
    elif term.startswith('"'):
        text = term[1 : term.rindex('"')]
        if "\\" in text:  # escapes are left to somebody who knows them all
            (triple,) = parse(f"<x:s> <x:p> {term} .".encode(), RdfFormat.N_TRIPLES)
            text = triple.object.value
        yield (key := comparable(text))
        if term.endswith(_DATE_TIME) and key.endswith(MIDNIGHT):  # a day, under the ontology's datatype
            yield key.removesuffix(MIDNIGHT)
        elif term.endswith(_DATE):
            yield key + MIDNIGHT


def _checks(facts: Sequence[Fact], derived: set[int]) -> Iterator[PredicateCheck]:
    places: dict[str, list[int]] = {}
    for place, fact in enumerate(facts):
        places.setdefault(fact.predicate, []).append(place)
    for predicate in sorted(places):
        positives = [place for place in places[predicate] if facts[place].positive]
        negatives = [place for place in places[predicate] if not facts[place].positive]
        missed = [facts[place].arguments for place in positives if place not in derived]
        wrong = [facts[place].arguments for place in negatives if place in derived]
        yield PredicateCheck(
            predicate,
            len(positives),
            len(positives) - len(missed),
            len(negatives),
            len(wrong),
            tuple(missed[:_SHOWN]),
            tuple(wrong[:_SHOWN]),
        )


def _leads_on(ontology: Ontology, predicate: str) -> bool:
    term = ontology.find(predicate)
    return not isinstance(term, OntologyClass) and term.kind is not PropertyKind.DATATYPE


def _is_iri(text: str) -> bool:
    return "://" in text or text.startswith("urn:")
