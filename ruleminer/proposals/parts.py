"""Terms of several kinds of things are decided for each of them, and their rules are those of their parts, together.

A property that several classes have has a part for each: the name of a person stands in another table than that of a
conference. Of a vocabulary for everybody (schema.org) nobody says which things its terms are about: `name` is
anybody's, and a Person may be a customer or an employee. There each term is decided for each kind of thing in the
database that has something named like it, and a class also where its properties are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property, local_name
from ruleminer.proposals.comments import Comments
from ruleminer.proposals.hypotheses import Candidates, World, titles_of
from ruleminer.proposals.rule_names import TELLING, TELLING_PROPERTY, Group, NameTable
from ruleminer.rules.body import Body
from ruleminer.structure.spaces import Space

Floats = NDArray[np.float32]

_MOST = 8  # classes beyond which a property is anybody's, and decided as a whole
MOST_PARTS = 1500  # of an open-ended vocabulary that are decided together
_FEW = 1000  # parts that are all thought of, whatever their names
_BY_PROPERTIES = 0.2  # of these may be classes that only their properties speak for
_NAMED = 0.3  # how alike names must be for a part to be thought of
_HEARD = 3  # properties of a column, the best named, that speak for their classes
_NEARER = 0.3  # what a property is nearer to a kind of thing that others of its class are found at
_RANKS = 60  # terms of a name, the best ones


@dataclass(frozen=True)
class Part:
    """A term, or what it is of one class or one kind of thing."""

    whole: OntologyTerm
    term: OntologyTerm  # the part, under a name of its own
    at: Space | None = None  # the kind of thing, if that is what it is a part for

    def candidates(self, world: World) -> Candidates:
        """What the structure offers for it."""
        return Candidates(self.term, self.offered(world), at=self.at)

    def offered(self, world: World) -> tuple[Body, ...]:
        """The rules that the structure offers for it."""
        return world.offered(self.term) if self.at is None else world.offered_at(self.term).get(self.at, ())


def parts_of(term: OntologyTerm) -> tuple[Part, ...]:
    """The property once for each class that it is declared to start at; the term itself if there are not several."""
    if not isinstance(term, Property) or not 2 <= len(term.domains) <= _MOST:
        return (Part(term, term),)
    return tuple(
        # What its name is must stay the last of its IRI.
        Part(
            term,
            replace(term, iri=f"{domain}~{term.iri}", name=f"{term.name} of {local_name(domain)}", domains=(domain,)),
        )
        for domain in term.domains
    )


def all_parts(
    terms: Sequence[OntologyTerm], ontology: Ontology, world: World, most: int = MOST_PARTS, thorough: bool = False
) -> list[Part]:
    """Every term with each of its parts, in order; of an open-ended ontology the most promising.

    With `thorough`, all of them where they are few: who asks for a handful of terms wants to hear of each.
    """
    if not ontology.open_ended:
        return [part for term in terms for part in parts_of(term)]
    if thorough and sum(len(world.offered_at(term)) for term in terms) <= _FEW:
        return [_part_at(term, space) for term in terms for space in world.offered_at(term)]
    promise = _Promise(terms, ontology, world)
    by_name = promise.named(round((1.0 - _BY_PROPERTIES) * most))
    chosen = dict.fromkeys((*by_name, *promise.spoken_for(most - len(by_name))))
    return [
        _part_at(term, space)
        for number, term in enumerate(terms)
        for place, space in enumerate(promise.spaces)
        if (number, place) in chosen
    ]


def _part_at(term: OntologyTerm, space: Space) -> Part:
    return Part(term, replace(term, name=f"{term.name} of {space.name}"), space)


class _Promise:
    """How alike terms and kinds of things are, by the names that these bring with them."""

    def __init__(self, terms: Sequence[OntologyTerm], ontology: Ontology, world: World) -> None:
        self.terms = terms
        self.spaces = tuple(dict.fromkeys(space for term in terms for space in world.offered_at(term)))
        self._domains = [ontology.domains(one.iri) if isinstance(one, Property) else () for one in terms]
        self._class = {term.iri: number for number, term in enumerate(terms) if isinstance(term, OntologyClass)}
        comments = Comments(terms)
        sorts: dict[tuple[Body, ...], list[int]] = {}
        for number, term in enumerate(terms):
            sorts.setdefault(world.offered(term), []).append(number)
        named = [self._named(numbers, comments, world) for numbers in sorts.values()]
        self.votes: dict[tuple[int, int], float] = {}  # class, kind of thing: how much properties speak for it
        for one in named:
            self._vote(one)
        self.ranked: dict[tuple[int, int], tuple[int, float]] = {}  # term, kind: its rank for some name, and -score
        for one in named:
            self._rank(one)

    def _named(self, numbers: list[int], comments: Comments, world: World) -> _Named:
        """Terms of one sort against each name of what may be meant by them."""
        of_class = isinstance(self.terms[numbers[0]], OntologyClass)
        telling = TELLING if of_class else [group for group in TELLING_PROPERTY if group is not Group.SUBJECT_TABLE]
        place = {space: number for number, space in enumerate(self.spaces)}
        at: dict[str, set[int]] = {}
        for space, bodies in world.offered_at(self.terms[numbers[0]]).items():
            for body in bodies:
                groups = world.names_of(body.of("_"))
                for group in telling:
                    for name in groups[group]:
                        at.setdefault(name, set()).add(place[space])
        table = NameTable([{Group.SUBJECT_TABLE: [name]} for name in at])
        scores = np.stack([self._scores(self.terms[number], table, comments, world) for number in numbers])
        return _Named(numbers, [sorted(at[name]) for name in table.names], scores)

    def _scores(self, term: OntologyTerm, table: NameTable, comments: Comments, world: World) -> Floats:
        titles = titles_of(term)
        found = np.maximum(table.alike(titles), 0.9 * table.near(titles, world.meaning))
        said = comments.of(term)
        if said:
            found = np.maximum(found, 0.8 * np.array([comments.use(said, name) for name in table.names], np.float32))
        return np.asarray(found)

    def _vote(self, named: _Named) -> None:
        """Who has a first name may be a person: the best named properties speak for their classes."""
        for column, spaces in enumerate(named.at):
            for row in np.argsort(-named.scores[:, column], kind="stable")[:_HEARD].tolist():
                score = float(named.scores[row, column])
                for iri in self._domains[named.numbers[row]] if score >= _NAMED else ():
                    for at in spaces if iri in self._class else ():
                        pair = self._class[iri], at
                        self.votes[pair] = self.votes.get(pair, 0.0) + score

    def _rank(self, named: _Named) -> None:
        """For each name of each kind of thing the terms, the best named first; who has its class there is nearer."""
        most = [
            max((v for (_, at), v in self.votes.items() if at == one), default=1.0) for one in range(len(self.spaces))
        ]
        nearer = np.zeros((len(self.spaces), len(named.numbers)), np.float32)
        for row, number in enumerate(named.numbers):
            for iri in self._domains[number]:
                for at in range(len(self.spaces)) if iri in self._class else ():
                    nearer[at, row] = max(nearer[at, row], self.votes.get((self._class[iri], at), 0.0) / most[at])
        for column, spaces in enumerate(named.at):
            scores = named.scores[:, column]
            ranks: dict[int, int] = {}  # the best of a term at any kind of thing: where one is asked, all are
            for at in spaces:
                total = np.where(scores >= _NAMED, scores + _NEARER * nearer[at], 0.0)
                for rank, row in enumerate(np.argsort(-total, kind="stable")[:_RANKS].tolist()):
                    if total[row] > 0:
                        ranks[row] = min(rank, ranks.get(row, rank))
            for row, rank in ranks.items():
                for at in spaces:
                    pair, found = (named.numbers[row], at), (rank, -float(scores[row] + _NEARER * nearer[at, row]))
                    self.ranked[pair] = min(found, self.ranked.get(pair, found))

    def named(self, most: int) -> list[tuple[int, int]]:
        """The terms and kinds of things that names bring together, those that come first for some name first."""
        return sorted(self.ranked, key=lambda pair: (*self.ranked[pair], pair))[:most]

    def spoken_for(self, most: int) -> list[tuple[int, int]]:
        """Classes and kinds of things that properties bring together."""
        return sorted(self.votes, key=lambda pair: (-self.votes[pair], pair))[:most]


@dataclass(frozen=True)
class _Named:
    """Terms of one sort by number, the kinds of things that bring each name, and how alike they are: (terms, names)."""

    numbers: list[int]
    at: list[list[int]]
    scores: Floats
