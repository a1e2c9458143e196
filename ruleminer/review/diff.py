"""What changed between two mappings, by term: rules, and with the database the facts that were gained and lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind, local_name
from ruleminer.problem.rdf import RDF_SUFFIXES
from ruleminer.problem.rule_files import read_rule_file
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.proposals.live_structure import live_structure
from ruleminer.review.start import Started, read_start, terms_of
from ruleminer.rules.body import Body
from ruleminer.rules.canonical import canonical
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.database import Database
from ruleminer.validation.iri_forms import changed_forms
from ruleminer.validation.r2rml import read_r2rml
from ruleminer.validation.r2rml_values import R2RMLMapping

_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class TermDifference:
    """A term whose rules differ; facts are counted only with a database."""

    term: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    gained: int | None = None
    lost: int | None = None
    gained_facts: tuple[Fact, ...] = ()
    lost_facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingDifference:
    """All terms that differ, and how many are the same."""

    terms: tuple[TermDifference, ...]
    same: int
    notes: tuple[str, ...] = ()  # what of an R2RML document no rule says; its terms are not compared
    counted: bool = True  # whether there was a database to count facts in


def mapping_rules(
    place: Path, database: Database | None = None, notes: list[str] | None = None, unread: set[str] | None = None
) -> dict[str, tuple[Rule, ...]]:
    """The rules of a mapping by term: of a run, of a folder of proposals, or of a file, our own or R2RML.

    What cannot be read of R2RML, for which the database must be known, is added to the notes, its terms to the unread.
    """
    files = [place, Run(place).proposals / "mapping.rules", place / "mapping.rules"]
    path = next((one for one in files if one.is_file()), None)
    if path is None:
        raise InputError(f"{place}: no mapping.rules there; `ruleminer propose-mappings` writes it")
    if path.suffix.lower() in RDF_SUFFIXES:
        started = _of_r2rml(path, database)
        rules = [canonical(rule) for rule in started.rules]
        if notes is not None and unread is not None:
            notes += [f"{path.name}: {note}" for note in started.notes]
            unread |= started.unread
    else:
        rules = [rule for _, rule in read_rule_file(path)]
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.predicate, []).append(rule)
    return {term: tuple(some) for term, some in found.items()}


def _of_r2rml(path: Path, database: Database | None) -> Started:
    """The rules that an R2RML document says, its terms by their local names, as our own files name them."""
    mapping = read_r2rml(path)
    if database is None:
        raise InputError(f"{path} is R2RML, and its columns are those of a database: say which, with ‹db›")
    iris = {iri for one in mapping.maps for iri in one.classes}
    used = {iri for one in mapping.maps for iri in terms_of(one)}
    terms = Ontology(
        tuple(OntologyClass(iri, local_name(iri)) for iri in sorted(iris)),
        tuple(Property(iri, local_name(iri), PropertyKind.EITHER) for iri in sorted(used - iris)),
    )
    return read_start(path, terms, database.schema, database.dialect.name)


def _r2rml_of(place: Path) -> R2RMLMapping | None:
    """The R2RML document of a mapping, which tells its IRIs: of a run, a folder of proposals, or the file itself."""
    files = [place, Run(place).proposals / "mapping.ttl", place / "mapping.ttl"]
    path = next((one for one in files if one.is_file() and one.suffix.lower() in RDF_SUFFIXES), None)
    return None if path is None else read_r2rml(path)


def mapping_difference(before: Path, after: Path, database: Database | None = None) -> MappingDifference:
    """What the second mapping has that the first has not, and the other way round."""
    notes: list[str] = []
    unread: set[str] = set()
    old, new = (mapping_rules(place, database, notes, unread) for place in (before, after))
    documents = [_r2rml_of(place) for place in (before, after)]
    if documents[0] is not None and documents[1] is not None:
        notes += changed_forms(documents[0], documents[1])
    derivations: Derivations | None = None
    terms = []
    same = 0
    for term in sorted({*old, *new} - unread):
        one, other = old.get(term, ()), new.get(term, ())
        if set(map(Body, one)) == set(map(Body, other)):
            same += 1
            continue
        if database is not None and derivations is None:
            run = next((place for place in (after, before) if Run(place).structure.is_file()), after)
            derivations = Derivations(database, live_structure(run, database, []))
        gained, gained_facts = _more(other, one, derivations)
        lost, lost_facts = _more(one, other, derivations)
        terms.append(TermDifference(term, _texts(one), _texts(other), gained, lost, gained_facts, lost_facts))
    return MappingDifference(tuple(terms), same, tuple(notes), database is not None)


def _more(
    these: tuple[Rule, ...], those: tuple[Rule, ...], derivations: Derivations | None
) -> tuple[int | None, tuple[Fact, ...]]:
    """How many facts these rules derive and those do not, and some of them."""
    if derivations is None:
        return None, ()
    if not these:
        return 0, ()
    together, alone = derivations.union_size([*these, *those]), derivations.union_size(those) if those else 0
    if together is None or alone is None:
        return None, ()
    try:
        rows = derivations.difference(these, those, _SAMPLE) if those else derivations.sample(these, _SAMPLE)
    except DatabaseError:
        rows = []
    return together - alone, tuple(tuple(map(str, row)) for row in rows)


def _texts(rules: Iterable[Rule]) -> tuple[str, ...]:
    return tuple(sorted(map(rule_text, rules)))
