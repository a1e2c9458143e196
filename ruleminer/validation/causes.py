"""Why a pair's result differs: what is missing or too much, in which part of the SQL, and by which triples map.

The facts that a pair's SQL stands for are read SELECT by SELECT, each as a set, and held against what the mapping says
of the term. If both are the same set and the score is not, the SQL itself repeats rows (`UNION ALL`, a join), which no
set of triples can; such a pair is out of every mapping's reach.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache, partial
from itertools import product
from urllib.parse import unquote

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from ruleminer.errors import ConnectionLostError, DatabaseError, InputError
from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.problem.pair_facts import PairPart, pair_parts
from ruleminer.problem.pair_target import PairTarget
from ruleminer.problem.pairs import QueryPair
from ruleminer.rules.mapping import looks_like_iri
from ruleminer.sources.database import Database
from ruleminer.validation.materialise import map_quads
from ruleminer.validation.own_facts import iri_forms
from ruleminer.validation.r2rml_values import R2RMLMapping, TermMap, TriplesMap
from ruleminer.validation.reasoning import Reasoner
from ruleminer.validation.row_terms import Reading, RowTriples
from ruleminer.validation.scoring import Row, comparable
from ruleminer.validation.terms import RDF_TYPE

_SHOWN = 3
_COUNTS = re.compile(r"\bcount\s*\(", re.IGNORECASE)

Said = tuple[str, ...]
"""What a triple says of a term: a subject, or a subject and an object, as texts."""


class Cause(StrEnum):
    """Why a pair is not exact."""

    FAILED = "failed"
    NOTHING = "nothing mapped"
    MISSING = "part missing"
    TOO_MUCH = "too much"
    BOTH = "missing and too much"
    WRITTEN_OTHERWISE = "values written otherwise"
    REPEATED = "repeated by the SQL"
    UNKNOWN = "not told"


@dataclass(frozen=True, slots=True)
class PairCause:
    """Why one pair is lost. `parts` and `maps` say where: a line for each SELECT and triples map at fault."""

    pair: str
    target: str | None
    cause: Cause
    missing: int | None = None
    too_much: int | None = None
    parts: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()

    @property
    def reachable(self) -> bool:
        """Whether some mapping could answer the pair, as far as the pair itself tells."""
        return self.cause is not Cause.REPEATED


@dataclass(frozen=True, slots=True)
class LostPair:
    """What scoring knows of a pair that is not exact."""

    pair: QueryPair
    target: str | None
    error: str
    sparql_rows: int
    missing: tuple[Row, ...]
    extra: tuple[Row, ...]


def causes_of(
    lost: Sequence[LostPair],
    pairs: Iterable[QueryPair],
    ontology: Ontology,
    database: Database,
    store: Store,
    mapping: R2RMLMapping,
    reasoner: Reasoner,
) -> tuple[PairCause, ...]:
    """The cause of each lost pair, in their order."""
    wanted = {one.pair.stem for one in lost}
    compared = {
        stem: _compared(target, parts, store) for stem, target, parts in pair_parts(database, pairs, ontology, wanted)
    }
    blamed = _blamed({one.term: one.wrong for one in compared.values() if one.wrong}, mapping, database, reasoner)
    return tuple(_cause(one, compared.get(one.pair.stem), blamed) for one in lost)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A pair's facts against what the mapping says of its term, both as sets."""

    term: str  # as N-Triples writes it
    parts: tuple[tuple[PairPart, int], ...]  # with how many of its facts are not derived
    said: int
    missing: frozenset[tuple[str, ...]]
    wrong: frozenset[Said]


def _compared(target: PairTarget, parts: tuple[PairPart, ...], store: Store) -> _Compared:
    keys = [frozenset(map(_fact_key, part.facts)) for part in parts]
    facts = frozenset[tuple[str, ...]]().union(*keys)
    # Most facts name entities in one way, and then each triple has to be looked up in one form only.
    forms = [_forms_like({looks_like_iri(fact[place]) for fact in facts}) for place in range(target.arity)]
    found: set[tuple[str, ...]] = set()
    wrong: set[Said] = set()
    said = 0
    for solution in _solutions(target, store):
        said += 1
        read = [of(term) for of, term in zip(forms, solution, strict=True)]
        if known := [key for key in product(*read) if key in facts]:
            found.update(known)
        else:
            wrong.add(tuple(map(str, solution)))
    missing = facts - found
    counted = tuple((part, len(own & missing)) for part, own in zip(parts, keys, strict=True))
    return _Compared(f"<{target.term.iri}>", counted, said, frozenset(missing), frozenset(wrong))


def _solutions(target: PairTarget, store: Store) -> Iterator[tuple[object, ...]]:
    """What the store says of a pair's term, of members of the classes that the pair asks for."""
    is_class = isinstance(target.term, OntologyClass)
    patterns = [f"?a1 a <{target.term.iri}> ."] if is_class else [f"?a1 <{target.term.iri}> ?a2 ."]
    if not is_class:
        for place, classes in enumerate(target.classes, start=1):
            patterns += [f"?a{place} a <{iri}> ." for iri in classes]
    names = " ".join(f"?a{place}" for place in range(1, target.arity + 1))
    found = store.query(f"SELECT DISTINCT {names} WHERE {{ {' '.join(patterns)} }}")
    assert isinstance(found, QuerySolutions)
    yield from (tuple(solution) for solution in found)


def _fact_key(fact: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_decoded(text) if looks_like_iri(text) else comparable(text) for text in fact)


def _decoded(iri: str) -> str:
    """An IRI whatever its encoding: SQL puts texts into IRIs as they are, a mapping percent-encodes them."""
    return unquote(iri.replace("+", " ")) if "%" in iri or "+" in iri else iri


def _forms_like(are_iris: set[bool]) -> Callable[[object], tuple[str, ...]]:
    """What to look a term up by, where facts hold IRIs, or bare keys and values, or both."""
    if are_iris == {True}:
        return lambda term: (_decoded(term.value),) if isinstance(term, NamedNode) else _forms(term)
    return _forms


def _forms(term: object) -> tuple[str, ...]:
    if isinstance(term, NamedNode):
        return _forms_of_iri(term.value)
    return (comparable(term.value if isinstance(term, (Literal, BlankNode)) else str(term)),)


@lru_cache(maxsize=100_000)  # an entity has many properties, and a pair asks for one
def _forms_of_iri(iri: str) -> tuple[str, ...]:
    return (_decoded(iri), *iri_forms(iri)[1:])


def _blamed(
    wrong: Mapping[str, frozenset[Said]], mapping: R2RMLMapping, database: Database, reasoner: Reasoner
) -> dict[str, Counter[str]]:
    """For each term, how many of the wrong triples each triples map makes, or lets follow."""
    blamed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for triples_map in mapping.maps:
        guilty = {term for term in _terms(triples_map) if reasoner.leads_to(term, wrong)}
        if not guilty:
            continue
        seen: set[tuple[str, Said]] = set()
        try:
            quads = map_quads(mapping, triples_map, database, partial(_only, guilty=guilty))
            for subject, predicate, value, _ in quads:
                if (value if predicate == RDF_TYPE else predicate) not in guilty:
                    continue
                triple = (subject, predicate, value)
                for one in (triple, *reasoner.consequences(*triple)):
                    term, ends = (one[2], one[:1]) if one[1] == RDF_TYPE else (one[1], (one[0], one[2]))
                    if ends in wrong.get(term, ()) and (term, ends) not in seen:
                        seen.add((term, ends))
                        blamed[term][triples_map.name] += 1
        except ConnectionLostError:
            raise
        except (DatabaseError, InputError):  # told among the notes already
            continue
    return dict(blamed)


def _only(reading: Reading, guilty: Container[str]) -> Reading:
    """A reading without what makes none of these terms, as far as it names its terms."""

    def may_make(triples: RowTriples) -> bool:
        for predicate in triples.predicates:
            if predicate.constant == RDF_TYPE:
                if any(value.constant is None or value.constant in guilty for value in triples.objects):
                    return True
            elif predicate.constant is None or predicate.constant in guilty:
                return True
        return False

    classes = tuple(name for name in reading.classes if name in guilty)
    return replace(reading, classes=classes, triples=tuple(filter(may_make, reading.triples)))


def _terms(triples_map: TriplesMap) -> Iterator[str]:
    """The classes and properties that a triples map names, as N-Triples; those of its data are not known."""
    yield from (f"<{name}>" for name in triples_map.classes)
    for pair in triples_map.predicate_objects:
        predicates = [predicate.constant for predicate in pair.predicates if predicate.constant]
        yield from predicates
        if RDF_TYPE in predicates:
            yield from (each.constant for each in pair.objects if isinstance(each, TermMap) and each.constant)


def _cause(lost: LostPair, found: _Compared | None, blamed: Mapping[str, Counter[str]]) -> PairCause:
    stem, target = lost.pair.stem, lost.target
    if lost.error:
        return PairCause(stem, target, Cause.FAILED, parts=(lost.error,))
    if found is None:
        return PairCause(stem, target, _by_rows(lost))
    missing, wrong = len(found.missing), len(found.wrong)
    parts = tuple(
        f"SELECT {number} of {len(found.parts)} ({', '.join(part.tables)}): {lacking:,} of {len(part.facts):,} missing"
        for number, (part, lacking) in enumerate(found.parts, start=1)
        if lacking
    )
    shares = blamed.get(found.term, Counter()).most_common(_SHOWN)
    maps = tuple(f"{name}: {count:,} too much" for name, count in shares)
    if not found.said and missing:
        cause = Cause.NOTHING
    elif missing and wrong:
        cause = Cause.WRITTEN_OTHERWISE if _same_subjects(found) else Cause.BOTH
    elif missing or wrong:
        cause = Cause.MISSING if missing else Cause.TOO_MUCH
    else:
        cause = Cause.REPEATED if _repeats(lost, found) else Cause.UNKNOWN
    return PairCause(stem, target, cause, missing, wrong, parts, maps)


def _same_subjects(found: _Compared) -> bool:
    """Whether as many values are missing as are too much, for the same entities: another form of the same."""
    lacking = Counter(fact[0] for fact in found.missing if len(fact) > 1)
    given: Counter[str] = Counter()
    for said in found.wrong:
        forms = _forms_of_iri(said[0][1:-1]) if said[0].startswith("<") else (said[0],)
        given[next((form for form in forms if form in lacking), said[0])] += 1
    return bool(lacking) and lacking == given


def _repeats(lost: LostPair, found: _Compared) -> bool:
    """Whether the SQL returns or counts more than the distinct facts that it stands for."""
    if not _COUNTS.search(lost.pair.sparql):
        return bool(lost.missing) and not lost.extra
    facts = len({fact for part, _ in found.parts for fact in part.facts})
    return any(value is not None and value.isdecimal() and int(value) > facts for row in lost.missing for value in row)


def _by_rows(lost: LostPair) -> Cause:
    """The cause as far as the rows alone tell; a count that differs tells nothing."""
    if not lost.sparql_rows:
        return Cause.NOTHING
    if _COUNTS.search(lost.pair.sparql):
        return Cause.UNKNOWN
    if lost.missing and lost.extra:
        return Cause.BOTH
    return Cause.MISSING if lost.missing else Cause.TOO_MUCH
