"""The hypotheses of all terms, and all that is known of each, as the decision network sees them.

A feature is a fact about a hypothesis; what it weighs is learnt. `World` holds what is the same for all terms of a
database: its shapes of rules, their names, sizes and sets. `problem_of` adds the terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from rdflib import XSD

from ruleminer.learn.decision_problem import Problem
from ruleminer.problem.ontology import Ontology, OntologyClass, OntologyTerm, Property, PropertyKind, local_name
from ruleminer.proposals.code_features import CODE_FEATURES, Code, Listed, codes_of, listed
from ruleminer.proposals.comments import Comments
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.entity_sets import NOTHING, EntitySet, Overlaps, entity_set, shares
from ruleminer.proposals.evidence import EVIDENCE_FEATURES, evidence_features
from ruleminer.proposals.meanings import Meanings
from ruleminer.proposals.relations import relations
from ruleminer.proposals.rule_length import RuleLength
from ruleminer.proposals.rule_names import OF_GROUP, TELLING, TELLING_PROPERTY, Group, NameTable, named_groups
from ruleminer.proposals.structure_rules import Shapes, shapes_of
from ruleminer.proposals.telling import Telling
from ruleminer.proposals.turned_rules import BothWays, both_ways, turned_round
from ruleminer.proposals.value_looks import LOOKS, looks_of, spoken_kinds
from ruleminer.rules.body import Body
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Kind, Place, Rule, Variable
from ruleminer.structure.meaning import Meaning
from ruleminer.structure.spaces import Space
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import words

Floats = NDArray[np.float32]

MOST = 80  # hypotheses of a term, beside none

_BODY = (
    "length", "atoms", "constant", "filled only", "subject key", "subject link", "subject plain", "subject sub-class",
    "object key", "object link", "object plain", "view", "size", "share of space", "objects per subject",
    "subjects per object", "columns", "links", "only links", "object integer", "object decimal", "object boolean",
    "object date", "object text", "object distinct", "object length", "object filled", "ends alike", "in at subject",
    "subject tells row", "part tells row", "part tells object", *CODE_FEATURES,
)  # fmt: skip
_PAIR = (
    *(f"letters: {group.name.lower()}" for group in Group),
    *(f"meaning: {group.name.lower()}" for group in Group),
    *(f"kind: {group.name.lower()}" for group in Group),
    *(f"{how}: {end} {what}" for how in ("letters", "meaning", "kind") for end in ("domain", "range") for what in
      ("table", "column")),
    "letters: best", "letters: behind the pool", "letters: before other terms", "meaning: best",
    "meaning: behind the pool", "meaning: before other terms", "kind: best", "kind: behind the pool",
    "kind: before other terms", "letters: behind its parts", "meaning: behind its parts", "kind: behind its parts",
    "comment", "comment: subject", "datatype fits", "datatype differs", "looks as named",
    "looks best as named", "meaning known", "numbered as listed", "siblings", "codes for siblings",
)  # fmt: skip
_TERM = ("none", "object property", "either property", "domain declared", "range declared", "functional",
         "inverse functional", "has parent", "has child", "pool", "best letters of pool", "best meaning of pool",
         "part", "best letters of its parts", "best meaning of its parts", "best kind of pool",
         "best kind of its parts")  # fmt: skip
_EVIDENCE = (*EVIDENCE_FEATURES, "model", "model's word")
FEATURES: tuple[str, ...] = (*_BODY, *_PAIR, *_TERM, *_EVIDENCE)
"""What each feature of a hypothesis is, in order."""

_DATATYPES: dict[str, Kind | None] = {
    str(iri): kind
    for kind, iris in (
        (Kind.INTEGER, (XSD.integer, XSD.int, XSD.long, XSD.short, XSD.nonNegativeInteger, XSD.positiveInteger)),
        (Kind.DECIMAL, (XSD.decimal, XSD.double, XSD.float)),
        (Kind.BOOLEAN, (XSD.boolean,)),
        (Kind.DATE, (XSD.date, XSD.dateTime, XSD.gYear, XSD.time)),
        (Kind.TEXT, (XSD.string, XSD.anyURI, XSD.token, XSD.normalizedString)),
    )
    for iri in iris
}  # fmt: skip
_NUMBERS = {Kind.INTEGER, Kind.DECIMAL}
_KINDS = (Kind.INTEGER, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.TEXT)


@dataclass(frozen=True)
class Candidates:
    """The rules that compete for a term, and what its examples say of each; arrays have a place per rule."""

    term: OntologyTerm
    bodies: tuple[Body, ...]
    examples: int = 0
    derived: Floats | None = None  # share of the examples
    likelihood: Floats | None = None  # log-likelihood of the examples less that of the best rule
    lift: Floats | None = None  # what a trained model says
    answered: Floats | None = None  # log-likelihood of what the user said, where there is no example
    at: Space | None = None  # of the part of an open-ended term: what kind of thing it is decided of


class World:
    """One database as hypotheses see it: asked once, for all ontologies."""

    def __init__(self, derivations: Derivations, meaning: Meaning | None) -> None:
        self.derivations, self.structure, self.meaning = derivations, derivations.structure, meaning
        schema = self.structure.schema
        self.keys = schema.keys
        self.links = {start: end.table for start, end in schema.links}
        self.leads = {start: table for start, table in self.links.items() if start not in self.keys}
        self.together = {
            frozenset(Place(table.name, column) for column in link.columns): link.table
            for table in schema.tables
            for link in table.foreign_keys
            if len(link.columns) > 1
        }
        self.rows = sum(table.rows for table in self.structure.profile.tables.values())
        self.shapes: Shapes = shapes_of(self.structure)
        self.looks = looks_of(self.structure, derivations.database)
        self.spoken = spoken_kinds(self.structure, self.looks)
        self._bodies: _Bodies | None = None
        self._pairs: dict[tuple[OntologyTerm, int], tuple[tuple[Body, ...], _Pair]] = {}
        self._paired: tuple[tuple[Ontology, object], list[_Pair]] | None = None
        self._more: dict[tuple[int, tuple[Body, ...]], tuple[tuple[Body, ...], tuple[Body, ...]]] = {}
        self._overlaps: Overlaps = {}
        self._look_words = meaning.vectors(LOOKS) if meaning else None
        self._by_space: dict[tuple[Body, ...], dict[Space, tuple[Body, ...]]] = {}

    @cached_property
    def meanings(self) -> Meanings:
        """What codes mean of which a small table tells it."""
        return Meanings(self.structure, self.derivations.database)

    @cached_property
    def telling(self) -> Telling:
        """Which columns tell which others of their rows, in tables whose rows no one column names."""
        return Telling(self.shapes, self.derivations)

    def known(self, bodies: Sequence[Body]) -> _Bodies:
        """What is known of some rules, and of those that were asked for before: each is looked at once."""
        if self._bodies is None or not self._bodies.place.keys() >= set(bodies):
            before = self._bodies
            self._bodies = _Bodies(bodies, self, before)
            if before is None or before.names.names != self._bodies.names.names:
                self._pairs.clear()
        return self._bodies

    def pairs(self, candidates: Sequence[Candidates], known: _Bodies, ontology: Ontology) -> list[_Pair]:
        """What is known of each term with each of its candidates; told from memory of those that are the same."""
        asked = ontology, [(one.term, one.bodies) for one in candidates]
        if self._paired is not None and self._paired[0] == asked and self._pairs:
            return self._paired[1]
        if self._paired is not None and self._paired[0][0] != ontology:
            self._pairs.clear()
        fresh = _Paired(ontology, known, self)
        found = []
        for one in candidates:
            key = one.term, id(one.bodies)  # most terms are offered the very same ones
            if key not in self._pairs:
                self._pairs[key] = one.bodies, fresh.with_each(one)
            found.append(self._pairs[key][1])
        _compared(candidates, found, known)
        _beside_parts(candidates, found)
        self._paired = asked, found
        return found

    def inside(self, sets: list[EntitySet]) -> Floats:
        """How much of each set lies in each other; of a space that has the same ones, told from memory."""
        return shares(sets, self.structure, self.derivations.database, self._overlaps)

    def offered(self, term: OntologyTerm) -> tuple[Body, ...]:
        """The rules that the structure offers for a term."""
        if isinstance(term, OntologyClass):
            return self.shapes.classes
        return self.shapes.objects if term.kind is PropertyKind.OBJECT else self.shapes.values

    def with_more(self, offered: tuple[Body, ...], more: tuple[Body, ...]) -> tuple[Body, ...]:
        """What is offered, and more; told from memory, so that what is known of it is found again."""
        own = {*offered} if more else set()
        more = tuple(dict.fromkeys(body for body in more if body not in own))
        if not more:
            return offered
        if (id(offered), more) not in self._more:
            self._more[id(offered), more] = offered, (*offered, *more)
        return self._more[id(offered), more][1]

    @cached_property
    def _repeating(self) -> frozenset[str]:
        tables = self.structure.schema.tables
        views = frozenset(table.name for table in tables if table.is_view)
        return views if len(views) < len(tables) else frozenset()

    def names_of(self, rule: Rule) -> dict[Group, list[str]]:
        """The names that a rule brings with it; of a code those of the thing that it leads to."""
        groups = named_groups(rule, self.leads, self.keys, self.together)
        for position, constant in rule.constants:
            said = self.meanings.of(position.place, lexical_form(constant.value))
            groups[Group.CODE_VALUE] = [*said, *groups[Group.CODE_VALUE]][:OF_GROUP]
        return groups

    @cached_property
    def spaces(self) -> dict[Body, Space | None]:
        """Of what kind of thing each rule that is offered speaks: the space of its first argument."""
        offered = dict.fromkeys((*self.shapes.classes, *self.shapes.objects, *self.shapes.values))
        return {body: self.space_of(body.of("_")) for body in offered}

    def space_of(self, rule: Rule) -> Space | None:
        """Of what kind of thing a rule speaks."""
        place = entity_set(rule, rule.arguments[0], self.structure).place
        if len(rule.variables_of(rule.arguments[0])) > 1:  # a key of several columns is in no space but its own
            return Space(place, (place,))
        return self.structure.space(place)

    def offered_at(self, term: OntologyTerm) -> dict[Space, tuple[Body, ...]]:
        """The rules that the structure offers for a term, by the kind of thing that they speak of.

        A view repeats what tables hold, and is no kind of thing of its own where there are tables.
        """
        offered = self.offered(term)
        if offered not in self._by_space:
            found: dict[Space, list[Body]] = {}
            for body in offered:
                if (space := self.spaces[body]) is not None and space.name not in self._repeating:
                    found.setdefault(space, []).append(body)
            self._by_space[offered] = {space: tuple(bodies) for space, bodies in found.items()}
        return self._by_space[offered]

    def looks_as_named(self, titles: Sequence[str], places: Sequence[Place | None]) -> tuple[Floats, Floats]:
        """How well values look like what a term's words call them: on the whole, and for the look that fits best."""
        if self._look_words is None or self.meaning is None or not titles or not places:
            return np.zeros(len(places), np.float32), np.zeros(len(places), np.float32)
        called = np.maximum((self._look_words @ self.meaning.vectors(titles).T).max(axis=1), 0.0)  # (looks,)
        empty = np.zeros(len(LOOKS), np.float32)
        look = np.stack([self.looks.get(place, empty) if place else empty for place in places])
        return look @ called, look @ (called >= called.max())


class _Bodies:
    """Everything about some rules that does not depend on a term; what was known `before` is taken over."""

    def __init__(self, bodies: Sequence[Body], world: World, before: _Bodies | None = None) -> None:
        fresh = [body for body in bodies if before is None or body not in before.place]
        self.bodies: list[Body] = [*before.bodies, *fresh] if before else fresh
        self.place: dict[Body, int] = {body: number for number, body in enumerate(self.bodies)}
        rules = [body.of("_") for body in fresh]
        structure = world.structure
        self.named: list[Mapping[Group, Sequence[str]]] = [
            *(before.named if before else ()),
            *map(world.names_of, rules),
        ]
        self.names = NameTable(self.named)
        sizes = np.array([float(size or 0) for size in world.derivations.sizes(rules, fresh)])
        self.sizes: NDArray[np.float64] = np.concatenate([before.sizes, sizes]) if before else sizes
        self.ends: list[tuple[EntitySet, EntitySet]] = [
            *(before.ends if before else ()),
            *(self._ends(rule, structure) for rule in rules),
        ]
        self.values: list[Place | None] = [*(before.values if before else ()), *map(_value_place, rules)]
        self.codes: list[Code] = [*(before.codes if before else ()), *(codes_of(rule, structure) for rule in rules)]
        self.both_ways: list[BothWays] = [*(before.both_ways if before else ()), *map(both_ways, rules)]
        length = RuleLength(structure)
        lengths = np.array([length(rule) for rule in rules], np.float32)
        self.length: Floats = np.concatenate([before.length, lengths]) if before else lengths
        start = len(self.bodies) - len(fresh)
        known = [self._known(n, rule, world) for n, rule in enumerate(rules, start)]
        features = np.stack(known) if known else np.zeros((0, len(_BODY)), np.float32)
        self.known: Floats = np.concatenate([before.known, features]) if before else features
        self._turned: tuple[list[Body], NDArray[np.int64]] = [], np.zeros(0, np.int64)

    def turned_round(self, bodies: list[Body]) -> NDArray[np.int64]:
        """For each rule the place of the one of these with its arguments turned round; -1 if there is none."""
        if self._turned[0] != bodies or len(self._turned[1]) != len(self.bodies):
            places = [self.place[body] for body in bodies]
            turned = np.full(len(self.bodies), -1, np.int64)
            turned[places] = turned_round([self.both_ways[place] for place in places], places)
            self._turned = bodies, turned
        return self._turned[1]

    def _ends(self, rule: Rule, structure: Structure) -> tuple[EntitySet, EntitySet]:
        start = entity_set(rule, rule.arguments[0], structure)
        if len(rule.arguments) == 1:
            return start, NOTHING
        end = entity_set(rule, rule.arguments[1], structure)
        is_compound = len(rule.variables_of(rule.arguments[1])) > 1
        return start, end if is_compound or structure.space(end.place) is not None else NOTHING

    def _known(self, number: int, rule: Rule, world: World) -> Floats:
        structure, size = world.structure, self.sizes[number]
        start, end = self.ends[number]
        table = structure.schema.table(rule.body[0].table)
        own = _role(rule, rule.arguments[0], world)
        space = structure.space(start.place)
        whole = structure.profile.column(*space.key) if space else None
        subjects = structure.profile.column(*start.place) if start is not NOTHING else None
        value = self.values[number]
        column = structure.profile.column(*value) if value else None
        kind = world.spoken.get(value) if value else None
        rows = structure.profile.tables[value.table].rows if value and column else 0
        starts, goal = _role(rule, rule.arguments[0], world), (0.0, 0.0, 0.0)
        if len(rule.arguments) == 2:
            goal = _role(rule, rule.arguments[1], world)
        inner = {term for atom in rule.body for term in atom.variables} - {
            variable for argument in rule.arguments for variable in rule.variables_of(argument)
        }
        entered = sum(1 for link, target in world.links.items() if target == start.place.table and link.table != target)
        return np.array(
            [
                self.length[number] / 10.0,
                len(rule.body) - 1,
                bool(rule.constants),
                len(rule.arguments) == 1 and bool(inner) and len(rule.body) == 1,
                *starts,
                own[0] > 0 and start.place in world.links,
                *goal,
                table.is_view,
                np.log1p(size) / 5.0,
                min(1.0, (subjects.distinct if subjects else size) / max(1, whole.distinct)) if whole else 0.0,
                np.log1p(size / max(1, subjects.distinct)) if subjects and value else 0.0,
                np.log1p(size / max(1, column.distinct)) / 3.0 if column else 0.0,
                np.log1p(len(table.columns)) / 2.0,
                np.log1p(len(table.links)) / 2.0,
                len(table.links) >= 2 and len(table.links) == len(table.columns),
                *(kind is one for one in _KINDS),
                column.distinct / max(1, column.filled) if column else 0.0,
                np.log1p(column.length) / 4.0 if column else 0.0,
                column.filled / max(1, rows) if column else 0.0,
                start.place == end.place or (end is not NOTHING and space == structure.space(end.place)),
                np.log1p(entered) / 2.0,
                *_told(rule, world, value),
                *self.codes[number].features(),
            ],
            np.float32,
        )


def _role(rule: Rule, argument: Variable, world: World) -> tuple[float, float, float]:
    """Whether an argument is a key, a link that is none, or a plain column."""
    places = rule.places_of(argument)
    spelled = rule.definition_of(argument) is not None and len(rule.variables_of(argument)) != 1
    if spelled or any(place in world.keys for place in places):
        return 1.0, 0.0, 0.0
    return (0.0, 1.0, 0.0) if any(place in world.links for place in places) else (0.0, 0.0, 1.0)


def _told(rule: Rule, world: World, value: Place | None) -> tuple[float, float, float]:
    """How much of its row the subject tells; of a key of several columns, one part: of the row, and the value?"""
    argument = rule.arguments[0]
    if any(place in world.keys for place in rule.places_of(argument)):
        return 1.0, 0.0, 0.0
    places = [place for variable in rule.variables_of(argument) for place in rule.places_of(variable)]
    shares = [world.telling.share(place) for place in places]
    if len(rule.variables_of(argument)) == 1:
        return max(shares, default=0.0), 0.0, 0.0
    tells = any(value is not None and world.telling.tells(place, value.column) for place in places)
    return 1.0, max(shares, default=0.0), float(tells)


def _value_place(rule: Rule) -> Place | None:
    if len(rule.arguments) == 1:
        return None
    places = rule.places_of(rule.arguments[1])
    return places[-1] if places else None


def _called(place: Place | None) -> tuple[str, ...]:
    """What a column is called beside the name of its table: `name` for `product_name` of products."""
    if place is None:
        return ()
    own, table = words(place.column), words(place.table)
    return own[len(table) :] if own[: len(table)] == table and len(own) > len(table) else own


def problem_of(
    candidates: Sequence[Candidates], world: World, ontology: Ontology
) -> tuple[Problem, list[tuple[Body, ...]]]:
    """The problem for the network, and the hypotheses of each term in its order (none, which comes first, left out).

    Of more candidates than MOST the most promising stay. A rule that derives nothing here is no hypothesis.
    """
    offered = {id(one.bodies): one.bodies for one in candidates}.values()  # most terms are offered the same ones
    bodies = list(dict.fromkeys(chain.from_iterable(offered)))
    known = world.known(bodies)
    terms = [one.term for one in candidates]
    pairs = world.pairs(candidates, known, ontology)
    kept = [_promising(one, pair, known) for one, pair in zip(candidates, pairs, strict=True)]
    sets: dict[EntitySet, int] = {NOTHING: 0}
    tables: dict[str, int] = {"": 0}
    values: dict[Place | None, int] = {None: 0}
    names: dict[tuple[str, ...], int] = {(): 0}
    most = 1 + max((len(one) for one in kept), default=0)
    shape = (len(terms), most)
    features = np.zeros((*shape, len(FEATURES)), np.float32)
    there = np.zeros(shape, bool)
    sizes = np.zeros(shape, np.float32)
    subject, object_, body, turned, value, called = (np.zeros(shape, np.int64) for _ in range(6))
    turned_round = known.turned_round(bodies)
    for number, (one, pair, chosen) in enumerate(zip(candidates, pairs, kept, strict=True)):
        places = pair.bodies[chosen]
        own = _term_features(one, ontology, len(chosen), pair)
        evidence = _evidence(one, chosen)
        features[number, 0] = np.concatenate([np.zeros(len(_BODY) + len(_PAIR)), [1.0], own, evidence[0]])
        rows = [known.known[places], pair.features[chosen], np.zeros((len(chosen), 1)), np.tile(own, (len(chosen), 1))]
        features[number, 1 : 1 + len(chosen)] = np.concatenate([*rows, evidence[1:]], axis=1)
        there[number, : 1 + len(chosen)] = True
        sizes[number, 1 : 1 + len(chosen)] = known.sizes[places]
        for column, place in enumerate(places.tolist(), start=1):
            start, end = known.ends[place]
            subject[number, column] = sets.setdefault(start, len(sets))
            object_[number, column] = sets.setdefault(end, len(sets))
            body[number, column] = place + 1
            turned[number, column] = turned_round[place] + 1
            value[number, column] = values.setdefault(known.values[place], len(values))
            called[number, column] = names.setdefault(_called(known.values[place]), len(names))
    inside = world.inside(list(sets))
    table = np.array([tables.setdefault(one.place.table, len(tables)) for one in sets], np.int64)
    problem = Problem(
        np.array([isinstance(term, OntologyClass) for term in terms], bool),
        there, features, subject, object_, body, turned, value, called, table, inside,
        relations(terms, [one.at for one in candidates], ontology),
        np.zeros(shape, bool), np.zeros(len(terms), bool), sizes,
        np.zeros((*shape, 0), bool), np.zeros((len(terms), 2), np.int64), world.rows,
    )  # fmt: skip
    return problem, [tuple(known.bodies[p] for p in pair.bodies[c]) for pair, c in zip(pairs, kept, strict=True)]


def titles_of(term: OntologyTerm) -> tuple[str, ...]:
    """What a term goes by: its name and its labels."""
    return tuple(dict.fromkeys((local_name(term.iri), *term.labels)))


@dataclass
class _Pair:
    """What is known of a term with each of its candidates."""

    bodies: NDArray[np.int64]  # places among all rules
    features: Floats  # (candidates, pair features)
    letters: Floats  # how well names fit on the whole
    meaning: Floats
    kind: Floats
    of_parts: tuple[float, ...] = (0.0, 0.0, 0.0)  # the best of these, of all parts of the term


class _Paired:
    """Pairs terms with their candidates: what is the same for all terms is worked out once."""

    def __init__(self, ontology: Ontology, known: _Bodies, world: World) -> None:
        self._ontology, self._known, self._world = ontology, known, world

    @cached_property
    def _of_all(self) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Listed], Comments]:
        terms = self._ontology.terms
        return {term.iri: titles_of(term) for term in terms}, listed(self._ontology), Comments(terms)

    def with_each(self, one: Candidates) -> _Pair:
        """What is known of a term with each of its candidates."""
        by_iri, order, comments = self._of_all
        return _pairs(one, by_iri, order, self._ontology.datatypes, comments, self._known, self._world)


def _pairs(
    one: Candidates,
    by_iri: Mapping[str, Sequence[str]],
    order: Mapping[str, Listed],
    datatypes: Mapping[str, str],
    comments: Comments,
    known: _Bodies,
    world: World,
) -> _Pair:
    term = one.term
    ways = (known.names.alike, lambda titles: known.names.near(titles, world.meaning), known.names.of_kind)
    bodies = np.array([known.place[body] for body in one.bodies], np.int64)
    by_letters, by_meaning, by_kind = (known.names.by_group(like(titles_of(term)), bodies) for like in ways)
    telling = TELLING if isinstance(term, OntologyClass) else TELLING_PROPERTY
    ends = []
    for like in ways:
        for declared, (tables, column) in zip(_declared(term), _ENDS, strict=True):
            called = [title for iri in declared for title in by_iri.get(iri, ())]
            groups = known.names.by_group(like(called), bodies) if called else np.zeros_like(by_letters)
            ends += [groups[:, list(tables)].max(axis=1), groups[:, column]]
    best, nearest, kindest = (groups[:, list(telling)].max(axis=1) for groups in (by_letters, by_meaning, by_kind))
    places = [known.values[body] for body in bodies.tolist()]
    fits, differs = _datatypes(term, places, datatypes, world)
    whole, most = world.looks_as_named(titles_of(term), places)
    nothing = np.zeros(len(bodies), np.float32)
    features = np.concatenate(
        [
            by_letters,
            by_meaning,
            by_kind,
            np.stack(
                [
                    *ends, best, _behind(best), nothing, nearest, _behind(nearest), nothing,
                    kindest, _behind(kindest), nothing, nothing, nothing, nothing,
                    *_in_comment(term, comments, known, bodies), fits, differs, whole, most,
                    nothing + (world.meaning is not None),
                    *np.array([known.codes[body].among(order.get(term.iri)) for body in bodies.tolist()],
                              np.float32).reshape(-1, 3).T,
                ],
                axis=1,
            ),
        ],
        axis=1,
    )  # fmt: skip
    return _Pair(bodies, features.astype(np.float32), best, nearest, kindest)


_ENDS = (
    ((Group.SUBJECT_TABLE, Group.SUBJECT_GOAL), Group.SUBJECT_COLUMN),
    ((Group.OBJECT_TABLE, Group.OBJECT_GOAL), Group.OBJECT_COLUMN),
)


def _declared(term: OntologyTerm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (term.domains, term.ranges) if isinstance(term, Property) else ((), ())


_WAYS = ("letters", "meaning", "kind")
"""How names are compared: by their letters, by what they mean, and as words of one kind."""


def _behind(scores: Floats) -> Floats:
    return scores - scores.max() if len(scores) else scores


def _datatypes(
    term: OntologyTerm, places: Sequence[Place | None], own: Mapping[str, str], world: World
) -> tuple[Floats, Floats]:
    """Whether values are of the datatype that a property's range names, and whether they are of another."""
    fits, differs = np.zeros(len(places), np.float32), np.zeros(len(places), np.float32)
    wanted: set[Kind | None] = set()
    for iri in term.ranges if isinstance(term, Property) else ():
        wanted |= {Kind.INTEGER, Kind.DECIMAL} if own.get(iri) == "" else {_DATATYPES.get(own.get(iri, iri))}
    wanted -= {None}
    for number, place in enumerate(places if wanted else ()):
        if place is None:
            differs[number] = 1.0
            continue
        stored = world.structure.schema.type_of(*place).kind
        kinds = {world.spoken.get(place), Kind.DATE if stored is Kind.TIMESTAMP else stored}
        near = not kinds.isdisjoint(_NUMBERS) and not wanted.isdisjoint(_NUMBERS)
        fits[number] = 1.0 if kinds & wanted else 0.5 if near else 0.0
        differs[number] = 1.0 - fits[number]
    return fits, differs


def _in_comment(
    term: OntologyTerm, comments: Comments, known: _Bodies, bodies: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """How far the term's comments use the names of a rule: those that tell it, and that of where a property starts."""
    said = comments.of(term)
    if not said:
        return np.zeros(len(bodies), np.float32), np.zeros(len(bodies), np.float32)
    scores = np.array([comments.use(said, name) for name in known.names.names], np.float32)
    groups = known.names.by_group(scores, bodies)
    subject = groups[:, [Group.SUBJECT_TABLE, Group.SUBJECT_GOAL]].max(axis=1)
    if isinstance(term, OntologyClass):
        return np.maximum(subject, groups[:, Group.CODE_VALUE]), np.zeros(len(bodies), np.float32)
    return groups[:, [Group.OBJECT_COLUMN, Group.OBJECT_GOAL, Group.CODE_VALUE]].max(axis=1), subject


def _compared(candidates: Sequence[Candidates], pairs: Sequence[_Pair], known: _Bodies) -> None:
    """Fill in how far a rule's names fit a term better than they fit any other term of its kind."""
    for scores in _WAYS:
        column = _PAIR.index(f"{scores}: before other terms")
        for kind in (True, False):
            own = [n for n, one in enumerate(candidates) if isinstance(one.term, OntologyClass) is kind]
            first = np.zeros(len(known.bodies), np.float32)
            second = np.zeros(len(known.bodies), np.float32)
            for n in own:
                score, at = getattr(pairs[n], scores), pairs[n].bodies
                second[at] = np.maximum(second[at], np.minimum(first[at], score))
                first[at] = np.maximum(first[at], score)
            for n in own:
                score, at = getattr(pairs[n], scores), pairs[n].bodies
                rival = np.where(score >= first[at], second[at], first[at])
                pairs[n].features[:, column] = score - rival


def _beside_parts(candidates: Sequence[Candidates], pairs: Sequence[_Pair]) -> None:
    """Fill in how far a rule's names fit a term less well than the best of any part of the term."""
    best: dict[str, tuple[float, ...]] = {}
    for one, pair in zip(candidates, pairs, strict=True):
        before = best.get(one.term.iri, (0.0,) * len(_WAYS))
        best[one.term.iri] = tuple(
            max(most, getattr(pair, how).max(initial=0.0)) for most, how in zip(before, _WAYS, strict=True)
        )
    columns = [_PAIR.index(f"{how}: behind its parts") for how in _WAYS]
    for one, pair in zip(candidates, pairs, strict=True):
        pair.of_parts = best[one.term.iri]
        own = np.stack([getattr(pair, how) for how in _WAYS], axis=1)
        pair.features[:, columns] = own - np.array(pair.of_parts)


def _promising(one: Candidates, pair: _Pair, known: _Bodies) -> NDArray[np.int64]:
    """The candidates that stay, in order of promise; those with examples in the order of their likelihood."""
    alive = np.flatnonzero(known.sizes[pair.bodies] > 0)
    if not len(alive):
        return np.zeros(0, np.int64)
    column = {name: number for number, name in enumerate(_PAIR)}
    ends = pair.features[:, [column[f"letters: {end} table"] for end in ("domain", "range")]].sum(axis=1)
    named = np.maximum(np.maximum(pair.letters, 0.8 * pair.meaning), 0.8 * pair.kind)
    promise = 7.0 * named + 2.0 * ends - known.length[pair.bodies]
    promise += 3.0 * known.known[pair.bodies, _BODY.index("subject key")]
    promise += pair.features[:, column["datatype fits"]] + pair.features[:, column["looks as named"]]
    for said in (one.likelihood, one.answered):
        if said is not None:
            promise = promise + said
    return alive[np.argsort(-promise[alive], kind="stable")[:MOST]]


def _term_features(one: Candidates, ontology: Ontology, pool: int, pair: _Pair) -> Floats:
    term = one.term
    as_property = term if isinstance(term, Property) else None
    kind = as_property.kind if as_property else None
    return np.array(
        [
            kind is PropertyKind.OBJECT,
            kind is PropertyKind.EITHER,
            bool(as_property and as_property.domains),
            bool(as_property and as_property.ranges),
            bool(
                as_property and (as_property.functional or ontology.is_functional(term.iri))
            ),  # a part has no IRI of its own
            bool(as_property and (as_property.inverse_functional or ontology.is_inverse_functional(term.iri))),
            bool(term.parents),
            ontology.has_children(term.iri),
            np.log1p(pool) / 4.0,
            pair.letters.max(initial=0.0),
            pair.meaning.max(initial=0.0),
            one.at is not None,
            *pair.of_parts[:2],
            pair.kind.max(initial=0.0),
            pair.of_parts[2],
        ],
        np.float32,
    )


def _evidence(one: Candidates, chosen: NDArray[np.int64]) -> Floats:
    """The features of evidence, none first: (1 + hypotheses, features)."""
    found = np.zeros((1 + len(chosen), len(_EVIDENCE)), np.float32)
    if one.examples:
        assert one.derived is not None
        assert one.likelihood is not None
        known = evidence_features(one.examples, one.derived[chosen], one.likelihood[chosen])
        found[:, : len(EVIDENCE_FEATURES)] = known
    if one.lift is not None and len(chosen):
        found[:, 4], found[1:, 5] = 1.0, np.maximum(one.lift[chosen] - one.lift[chosen].max(), -20.0) / 5.0
    return found
