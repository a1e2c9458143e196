"""A mapping held against the user's own facts: which of those that hold it derives, and which of those that do not.

Examples are read as extraction reads them. An argument that is an IRI is compared as it stands. `customer:17` and
`AC/DC` are entities, a key in a space, and compared with the entities that the mapping's IRIs stand for
(`made_things.py`); a bare key, of which nobody says the table, with their keys. Values are compared as texts, numbers
and times in any notation; a day is its midnight.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyoxigraph import RdfFormat, parse

from ruleminer.errors import InputError
from ruleminer.extraction.entities import SPACES, Entities, read_entities
from ruleminer.extraction.entity_names import Choice
from ruleminer.extraction.table_keys import no_table
from ruleminer.problem.examples import Examples, read_examples
from ruleminer.problem.facts import Fact, facts_of
from ruleminer.problem.ontology import Ontology, OntologyClass, PropertyKind, read_ontology
from ruleminer.progress import Progress, silent
from ruleminer.rules.mapping import looks_like_iri
from ruleminer.rules.values import Place
from ruleminer.sources.database import Database, using
from ruleminer.sources.schema import Schema
from ruleminer.structure.structure import Structure, learn_structure
from ruleminer.validation.made_things import MadeThings, Thing, key_text, thing_of
from ruleminer.validation.materialise import materialise
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.reasoning import Reasoner, read_reasoner
from ruleminer.validation.row_terms import Quad, Tally
from ruleminer.validation.scoring import MIDNIGHT, comparable
from ruleminer.validation.terms import RDF_TYPE, XSD

_DATE, _DATE_TIME = (f"^^<{XSD}{name}>" for name in ("date", "dateTime"))
_SHOWN = 5
_LAST = re.compile(r"[^/#=:]+$")


@dataclass(frozen=True, slots=True)
class PredicateCheck:
    """How a predicate's facts fared; `missed` and `wrong` are a few positives not derived and negatives derived.

    `things` are the columns that the mapping takes the keys of its subjects from.
    """

    predicate: str
    positives: int
    derived: int
    negatives: int
    derived_negatives: int
    missed: tuple[tuple[str, ...], ...] = ()
    wrong: tuple[tuple[str, ...], ...] = ()
    things: tuple[str, ...] = ()

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
    learn: Callable[[Database, list[str]], Structure] = lambda database, notes: learn_structure(database),
    progress: Progress = silent,
) -> FactCheck:
    """Run an R2RML mapping on a database and look for the examples among its triples and what follows from them.

    `learn` tells the structure of the database, where the examples need it, and adds to the notes what is to be told.
    """
    terms, reasoner, document = read_ontology(ontology), read_reasoner(ontology, reasoning), read_r2rml(mapping)
    tally = Tally()
    with using(db, schema=schema, timeout=timeout, count_rows=False, trust=trust) as database:
        read = read_examples(examples, terms, database)
        facts = list(facts_of(read.facts))
        if not facts:
            raise InputError("there is no example to check the mapping with")
        wanted, learnt = _Wanted(terms), list[str]()
        structure = wanted.read(read, facts, database, lambda: learn(database, learnt))
        made = MadeThings(document, database, structure)
        quads = materialise(document, database, tally, skip_broken=True, progress=progress)
        wanted.look_for(quads, made, tally, reasoner)
        shown, tables = database.safe_url, database.schema
    if len(tally.problems) == len(document.maps):
        raise InputError(tally.problems[0])
    notes = (*read.notes, *learnt, *tally.problems, *made.clashes(), *wanted.notes(facts, tables))
    return FactCheck(str(mapping), shown, reasoning, tuple(wanted.checks(facts)), notes)


Form = tuple[str, str | Thing]
"""What an argument is looked up by: an IRI, a thing, a bare text (a key or a value), a value; or the key of a thing of
which the mapping does not tell the table."""


class _Wanted:
    """The facts to look for among triples, by all forms of their arguments, and which were found."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._places: dict[str, dict[tuple[Form, ...], set[int]]] = {}  # by term as N-Triples
        self._found: set[int] = set()
        self._things: dict[str, set[str]] = {}
        self._unknown: set[str] = set()  # triples maps whose things were compared by their keys alone

    def read(
        self, examples: Examples, facts: Sequence[Fact], database: Database, learn: Callable[[], Structure]
    ) -> Structure | None:
        """Read the examples; the structure is learnt only if some name a table or a thing."""
        structure, entities = None, None
        if any(_names_things(fact, self._ontology) for fact in facts):
            structure = learn()
            entities = read_entities(examples.facts, structure, database, self._ontology, examples.lines)
        spaces = [entities.facts[name].to_pylist() for name in SPACES] if entities else []
        texts = [entities.facts[name].to_pylist() for name in ("arg1", "arg2")] if entities else []
        for row, fact in enumerate(facts):
            places = self._places.setdefault(f"<{self._ontology.find(fact.predicate).iri}>", {})
            for reading in _readings(entities, row, fact):
                forms: list[list[Form]] = []
                for number, (text, choice) in enumerate(zip(fact.arguments, reading, strict=True)):
                    own = list(_given(text)) if choice is None else list(_chosen(text, choice, structure))
                    if choice is None and entities is not None and structure is not None:
                        space = spaces[number][row]
                        if space is not None:  # another example tells the table of this key
                            own = list(_of_space(text, structure.spaces[space].key, structure))
                        elif texts[number][row] != text:
                            own += _given(texts[number][row])
                    forms.append(own)
                for key in product(*forms):
                    places.setdefault(key, set()).add(row)
        return structure

    def look_for(self, quads: Iterable[Quad], made: MadeThings, tally: Tally, reasoner: Reasoner) -> None:
        """Find the facts that some triple says, or that follow from one."""
        for subject, predicate, value, _ in quads:
            told: dict[str, tuple[Form, ...]] = {}
            for one in ((subject, predicate, value), *reasoner.consequences(subject, predicate, value)):
                term, ends = (one[2], one[:1]) if one[1] == RDF_TYPE else (one[1], (one[0], one[2]))
                if (places := self._places.get(term)) is None:
                    continue
                for end in ends:
                    if end not in told:
                        told[end] = tuple(self._forms(end, end == subject, predicate, term, made, tally))
                for key in product(*(told[end] for end in ends)):
                    if rows := places.get(key):
                        self._found |= rows
                        if any(kind == _UNKNOWN for kind, _ in key) and tally.running is not None:
                            self._unknown.add(tally.running.name)

    def _forms(
        self, end: str, is_subject: bool, predicate: str, term: str, made: MadeThings, tally: Tally
    ) -> Iterator[Form]:
        if not end.startswith("<") or tally.running is None:
            yield from ((kind, text) for text in _literal_forms(end) for kind in (_TEXT, _VALUE))
            return
        iri = end[1:-1]
        yield _IRI, iri
        subject = made.subject(tally.running)
        makers = [maker for maker in (subject,) if maker] if is_subject else made.objects(tally.running, predicate, iri)
        for maker in makers:
            if is_subject:
                self._things.setdefault(term, set()).update(maker.columns)
            texts = list(dict.fromkeys(made.texts(maker, iri)))
            yield from ((_TEXT, text) for text in texts)
            yield from ((_THING, thing) for thing in made.things(maker, iri))
            if made.is_unknown(maker):
                yield from ((_UNKNOWN, text) for text in texts)

    def checks(self, facts: Sequence[Fact]) -> Iterator[PredicateCheck]:
        """How the facts of each predicate fared."""
        for one in _checks(facts, self._found):
            things = self._things.get(f"<{self._ontology.find(one.predicate).iri}>", ())
            yield replace(one, things=tuple(sorted(things)))

    def notes(self, facts: Sequence[Fact], schema: Schema) -> Iterator[str]:
        """What could not be compared as it should."""
        for name in sorted(self._unknown):
            yield f"triples map {name}: its query does not tell which table its things are of; compared by keys alone"
        missed = (text for row, fact in enumerate(facts) if row not in self._found for text in fact.arguments)
        told = dict.fromkeys((text, no_table(text, schema)) for text in missed if ":" in text)
        yield from (f"{text}: the database has {why}" for text, why in [one for one in told if one[1]][:_SHOWN])


_IRI, _THING, _TEXT, _VALUE, _UNKNOWN = "iri", "thing", "text", "value", "unknown"


def _readings(entities: Entities | None, row: int, fact: Fact) -> Iterator[tuple[Choice | None, ...]]:
    if entities is None:
        yield (None,) * len(fact.arguments)
    else:
        yield from (reading[: len(fact.arguments)] for reading in entities.meanings(row, fact.positive))


def _given(text: str) -> Iterator[Form]:
    yield (_IRI, text) if looks_like_iri(text) else (_TEXT, key_text(text))


def _chosen(text: str, choice: Choice, structure: Structure | None) -> Iterator[Form]:
    """A row, by its key and by what it is called; the text itself may be the value of a triple, but no key in one."""
    assert structure is not None
    values = choice.key.split("/") if len(choice.columns) > 1 else [choice.key]
    yield _THING, thing_of([Place(choice.table, column) for column in choice.columns], values, structure)
    if choice.column and not choice.in_two:
        called = text.partition(":")[2].strip() if text.lower().startswith(f"{choice.table.lower()}:") else text
        yield _THING, thing_of([Place(choice.table, choice.column)], [called], structure)
    yield _UNKNOWN, key_text(choice.key)
    yield _VALUE, key_text(text)


def _of_space(text: str, key: Place, structure: Structure) -> Iterator[Form]:
    yield _THING, thing_of([key], [text], structure)
    yield _UNKNOWN, key_text(text)


def _names_things(fact: Fact, ontology: Ontology) -> bool:
    """Whether some argument of a fact may be `table:key`, several columns or a name: neither an IRI nor a number."""
    entities = fact.arguments if _leads_on(ontology, fact.predicate) else fact.arguments[:1]
    return any(not looks_like_iri(text) and not text.isdecimal() for text in entities)


def iri_forms(iri: str) -> tuple[str, ...]:
    """What an argument may be written as to mean this entity: the IRI, or the key at its end."""
    last = _LAST.search(iri)
    return (iri,) if last is None else (iri, comparable(unquote(last.group())))


def _literal_forms(term: str) -> Iterator[str]:
    """What an argument may be written as to mean this value of N-Triples."""
    if term.startswith('"'):
        text = term[1 : term.rindex('"')]
        if "\\" in text:  # escapes are left to somebody who knows them all
            (triple,) = parse(f"<x:s> <x:p> {term} .".encode(), RdfFormat.N_TRIPLES)
            text = triple.object.value
        yield (key := comparable(text.rstrip(" ")))
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
