"""What the decision network believes of every term, with and without examples, and why.

Terms with examples bring their pools and what the examples say of each rule; the others what the structure offers.
All are hypotheses of one problem, so what is known of one term tells of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ruleminer.learn.decision_apart import settled_apart
from ruleminer.learn.decision_files import SavedNetwork, shipped_network
from ruleminer.learn.decision_network import Tensors, messages, tensors_of
from ruleminer.learn.decision_problem import Problem, Relation
from ruleminer.problem.ontology import Ontology, OntologyTerm, local_name
from ruleminer.proposals.hypotheses import FEATURES, Candidates, World, problem_of, titles_of
from ruleminer.proposals.parts import parts_of
from ruleminer.proposals.prior import PriorOf
from ruleminer.proposals.ranking import Measured, likelihood_of
from ruleminer.rules.body import Body
from ruleminer.rules.values import Place
from ruleminer.structure.words import NameIndex, words

Floats = NDArray[np.float64]

MOST_TERMS = 600  # of a vocabulary that are decided together
_TELLING = 0.25  # nats from which a reason is told
_REASONS = 4
_ALL = 0.9999
_HOPELESS = 0.99  # probability that there is nothing of a term, from which only the nearest rule is told

_WORDS = {
    Relation.DOMAIN: "its subjects are found where {} is",
    Relation.RANGE: "its objects are found where {} is",
    Relation.DOMAIN_OF: "{} starts there",
    Relation.RANGE_OF: "{} leads there",
    Relation.DOMAIN_KIN: "its subjects are found near {}",
    Relation.RANGE_KIN: "its objects are found near {}",
    Relation.DOMAIN_OF_KIN: "{} starts near it",
    Relation.RANGE_OF_KIN: "{} leads near it",
    Relation.PARENT: "it lies in {}, the class above",
    Relation.CHILD: "{}, a class below, lies in it",
    Relation.SIBLING: "how it lies beside {}, which has the same class above",
    Relation.INVERSE: "same rows as {}, turned round",
    Relation.PARENT_PROPERTY: "its facts are among those of {}",
    Relation.CHILD_PROPERTY: "the facts of {} are among its own",
    Relation.SAME_DOMAIN: "{} starts at the same things",
    Relation.DISJOINT: "how it lies beside {}, which shares nothing with it",
}
_GROUPS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("its names fit by their letters", lambda name: name.startswith("letters")),
    ("its names fit by what they mean", lambda name: name.startswith("meaning")),
    ("its values look as they are called, or are of the right type", lambda n: n.startswith(("looks", "datatype"))),
    ("the examples", lambda name: name in ("share derived", "likelihood")),
    ("keys, links and sizes", lambda name: name in FEATURES[: FEATURES.index("letters: subject_table")]),
)


@dataclass(frozen=True)
class Belief:
    """What is believed of one term, or of one part of it; arrays have a place per hypothesis."""

    term: OntologyTerm
    bodies: tuple[Body, ...]
    probabilities: Floats
    alone: Floats  # before the terms heard of each other
    sizes: Floats
    shared: float  # probability of the best one, together with those that derive the same from the same
    none: float  # that the database has nothing of the term
    reasons: tuple[str, ...]  # for the best hypothesis, the weightiest first

    @property
    def is_hopeless(self) -> bool:
        """Whether the database has nothing of it, as good as certainly."""
        return self.none >= _HOPELESS


class Joint:
    """The network over one database and one ontology."""

    def __init__(
        self,
        world: World,
        ontology: Ontology,
        saved: SavedNetwork | None = None,
    ) -> None:
        self.world, self.ontology = world, ontology
        self.rejected: Mapping[str, Container[Body]] = {}
        counted = {
            Place(table, column): one.distinct
            for table, profile in world.structure.profile.tables.items()
            for column, one in profile.columns.items()
        }
        self.prior_of = PriorOf(ontology, world.structure.schema, counted)
        self.network = (saved or shipped_network(FEATURES)).network

    def without(self, rejected: Mapping[str, Container[Body]]) -> Joint:
        """The same, without rules that the user will not have, by term; what was asked of the database is known."""
        other = copy(self)
        other.rejected = rejected
        return other

    def offered(self, name: str) -> tuple[Body, ...]:
        """The rules that are in question for a term without examples, those of its parts among them."""
        parts = parts_of(self.ontology.find(name))
        return tuple(dict.fromkeys(body for part in parts for body in self.world.offered(part)))

    def beliefs(self, measured: Mapping[str, Measured], *, reasons: bool = True) -> dict[str, list[Belief]]:
        """What is believed of every term of the ontology, and of others that have examples: of each of its parts."""
        terms = self._asked(measured)
        parted = [(term, part) for term in terms for part in ((term,) if term.name in measured else parts_of(term))]
        candidates = [
            self._candidates(part, measured.get(term.name), self.rejected.get(term.name, ())) for term, part in parted
        ]
        problem, hypotheses = problem_of(candidates, self.world, self.ontology)
        with torch.no_grad():
            rounds, tensors, sure = settled_apart(self.network, tensors_of(problem))
            problem = replace(problem, there=tensors.there.numpy())
            first, last = rounds[0].softmax(-1).double().numpy(), rounds[-1].softmax(-1).double().numpy()
            names = [part.name for _, part in parted]
            why = self._reasons(problem, tensors, names, rounds) if reasons else [()] * len(names)
        found: dict[str, list[Belief]] = {}
        for number, (term, _) in enumerate(parted):
            own = slice(1, 1 + len(hypotheses[number]))
            belief = Belief(
                term, hypotheses[number], last[number, own], first[number, own],
                problem.sizes[number, own].astype(float),
                float(sure[number]) * _shared(problem, number, last[number]),
                float(last[number, 0]), why[number],
            )  # fmt: skip
            found.setdefault(term.name, []).append(belief)
        return found

    def _asked(self, measured: Mapping[str, Measured]) -> list[OntologyTerm]:
        """The terms that are decided: all, or of a large vocabulary those with examples and those named most alike."""
        given = list(map(self.ontology.find, measured))
        schema = self.world.structure.schema
        columns = {column.name for table in schema.tables for column in table.columns}
        called = {words(name) for name in columns}
        annotations = [term for term in self.ontology.annotations if words(local_name(term.iri)) in called]
        terms = list(dict.fromkeys((*given, *annotations, *self.ontology.terms)))
        if len(terms) <= MOST_TERMS:
            return terms
        names = sorted({*(table.name for table in schema.tables), *columns})
        index = NameIndex(names)
        meaning = self.world.meaning
        vectors = meaning.vectors(names) if meaning else None

        def promise(term: OntologyTerm) -> float:
            titles = titles_of(term)
            near = float((vectors @ meaning.vectors(titles).T).max()) if vectors is not None and meaning else 0.0
            return max(near, index.best(titles))

        asked = sorted(terms[len(given) :], key=promise, reverse=True)[: MOST_TERMS - len(given)]
        chosen = {term.iri for term in asked}
        return [*given, *(term for term in terms[len(given) :] if term.iri in chosen)]

    def _offered(self, term: OntologyTerm, rejected: Container[Body]) -> tuple[Body, ...]:
        return tuple(body for body in self.world.offered(term) if body not in rejected)

    def _candidates(self, term: OntologyTerm, measured: Measured | None, rejected: Container[Body]) -> Candidates:
        if measured is None or not measured.pool.positives:
            return Candidates(term, self._offered(term, rejected))
        return exemplified(term, measured)

    def _reasons(
        self, problem: Problem, tensors: Tensors, names: Sequence[str], rounds: Sequence[Tensor]
    ) -> list[tuple[str, ...]]:
        """Of each term's best hypothesis: what moved it most, by what is lost without it; of those worth a look."""
        last = rounds[-1].softmax(-1)
        chosen = (last[:, 0] < _HOPELESS).nonzero().squeeze(1)
        if last.shape[1] == 1 or not len(chosen):
            return [()] * len(names)
        before = rounds[-2] if len(rounds) > 1 else rounds[-1]
        best = 1 + last[:, 1:].argmax(-1)
        told: list[list[tuple[float, str]]] = [[] for _ in names]
        now = rounds[-1].log_softmax(-1)[chosen, best[chosen]]
        without = self.network.without(tensors, before, chosen)

        def gains(logits: Tensor) -> dict[int, float]:
            left = now - logits.log_softmax(-1)[torch.arange(len(chosen)), best[chosen]]
            return dict(zip(chosen.tolist(), left.double().tolist(), strict=True))

        by_edge = messages(tensors, before.softmax(-1))
        is_chosen = np.isin(problem.edges[:, 0], chosen.numpy())
        for relation in Relation:
            edges = np.flatnonzero((problem.edges[:, 2] == relation) & is_chosen)
            if not len(edges):
                continue
            gained = gains(without(relation=relation))
            for term in np.unique(problem.edges[edges, 0]).tolist():
                if abs(gained[term]) >= _TELLING:
                    own = edges[problem.edges[edges, 0] == term]
                    strongest = own[int(by_edge[own, best[term]].sum(-1).argmax())]
                    told[term].append((gained[term], _WORDS[relation].format(names[problem.edges[strongest, 1]])))
        for group, belongs in _GROUPS:
            columns = [number for number, name in enumerate(FEATURES) if belongs(name)]
            for term, gain in gains(without(columns)).items():
                if abs(gain) >= _TELLING:
                    told[term].append((gain, group))
        return [
            tuple(
                f"{words} ({gain:+.1f})" if gain > 0 else f"against it: {words} ({gain:+.1f})"
                for gain, words in sorted(own, key=lambda pair: -abs(pair[0]))[:_REASONS]
            )
            for own in told
        ]


def _shared(problem: Problem, term: int, belief: Floats) -> float:
    """The probability of the best hypothesis and of all that derive as much, of the same entities."""
    if len(belief) == 1:
        return 0.0
    best = 1 + int(belief[1:].argmax())
    same = problem.there[term] & (problem.sizes[term] == problem.sizes[term, best])
    same &= problem.value[term] == problem.value[term, best]
    ends = problem.subject[term]
    both = problem.inside[ends, ends[best]], problem.inside[ends[best], ends]
    same &= (ends == ends[best]) | ((both[0] > _ALL) & (both[1] > _ALL))
    same[0], same[best] = False, True
    return min(1.0, float(belief[same].sum()))


def exemplified(term: OntologyTerm, measured: Measured) -> Candidates:
    """What examples say of a term's rules, to the network: with noise summed out, as it learnt to read it.

    What is decided of the term itself hears whether the user stands for the examples (`ranking.py`).
    """
    pool = measured.pool
    likelihood = likelihood_of(replace(measured, noise=True))
    return Candidates(
        term,
        pool.bodies,
        len(pool.positives),
        pool.covers.mean(axis=1).astype(np.float32),
        (likelihood - likelihood.max()).astype(np.float32),
        None if measured.lift is None else measured.lift.astype(np.float32),
    )
