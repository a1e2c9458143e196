"""What the decision network believes of every term, with and without examples, and why.

Terms with examples bring their pools and what the examples say of each rule; the others what the structure offers.
All are hypotheses of one problem, so what is known of one term tells of the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ruleminer.learn.decision_apart import settled_apart
from ruleminer.learn.decision_files import SavedNetwork, shipped_network
from ruleminer.learn.decision_network import DecisionNetwork, messages, tensors_of
from ruleminer.learn.decision_problem import Problem, Relation
from ruleminer.problem.ontology import Ontology, OntologyTerm, local_name
from ruleminer.proposals.answers import Answers
from ruleminer.proposals.hypotheses import FEATURES, Candidates, World, problem_of, titles_of
from ruleminer.proposals.parts import Part, all_parts
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.prior import Prior, PriorOf
from ruleminer.proposals.ranking import Measured, likelihood_of
from ruleminer.proposals.truth_values import told_as_truth
from ruleminer.rules.body import Body
from ruleminer.rules.values import Place, Rule
from ruleminer.structure.spaces import Space
from ruleminer.structure.words import NameIndex, words

Floats = NDArray[np.float64]

MOST_TERMS = 600  # of a vocabulary that are decided together
_TELLING = 0.25  # nats from which a reason is told
_REASONS = 4
_ALL = 0.9999
_MANY = 12_000  # hypotheses, beyond which it is not worked out what an answer would tell of other terms
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
    Relation.SAME_TERM: "how {} is found, which is the same term",
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
    thoughts: Thoughts  # of all terms together
    number: int  # which of them this is
    same: NDArray[np.int64]  # equal for hypotheses that derive as much, of the same entities
    answers: Answers
    settled: float = 1.0  # how sure those are who have what it gave way to (`learn/decision_apart.py`)

    @property
    def reasons(self) -> tuple[str, ...]:
        """In words, what moved the best hypothesis most, the weightiest first."""
        return self.thoughts.reasons[self.number]

    def told_of_others(self, answers: Floats, shares: Floats) -> float:
        """The bits that an answer on this term is expected to tell of all others.

        `answers` has p(answer | hypothesis) in its rows, none first; `shares` are the probabilities of the answers.
        Nothing where there are very many hypotheses: who answers would wait for it longer than for all else.
        """
        if self.thoughts.is_large:
            return 0.0
        after = [self.thoughts.doubts(self.number, np.log(likely)) for likely in answers]
        others = np.arange(len(self.thoughts.names)) != self.number
        return float((self.thoughts.doubts()[others] - shares @ np.stack(after)[:, others]).sum())

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
        self.answers: Mapping[str, Answers] = {}
        counted = {
            Place(table, column): one.distinct
            for table, profile in world.structure.profile.tables.items()
            for column, one in profile.columns.items()
        }
        self.prior_of = PriorOf(ontology, world.structure.schema, counted)
        self._priors: dict[tuple[str, Body], Prior] = {}
        self._promise: dict[OntologyTerm, float] = {}
        self.network = (saved or shipped_network(FEATURES)).network

    def hearing(self, answers: Mapping[str, Answers]) -> Joint:
        """The same, with what the user said of terms; what was asked of the database is known."""
        other = copy(self)
        other.answers = answers
        return other

    def priors(self, pool: Pool) -> tuple[Prior, ...]:
        """What speaks for each rule before any example; worked out once."""
        return tuple(self._prior(rule, body) for rule, body in zip(pool.rules, pool.bodies, strict=True))

    def _prior(self, rule: Rule, body: Body) -> Prior:
        if (rule.predicate, body) not in self._priors:
            self._priors[rule.predicate, body] = self.prior_of.prior(rule)
        return self._priors[rule.predicate, body]

    def offered(self, name: str) -> tuple[Body, ...]:
        """The rules that are in question for a term without examples, those of its parts among them."""
        return self.world.offered(self.ontology.find(name))

    def beliefs(self, measured: Mapping[str, Measured]) -> dict[str, list[Belief]]:
        """What is believed of every term of the ontology, and of others that have examples: of each of its parts."""
        parted = self._parted(measured)
        if not parted:  # a vocabulary for everybody that has no word for anything here
            return {}
        candidates = [self._candidates(part, measured) for part in parted]
        problem, known = problem_of(candidates, self.world, self.ontology)
        hypotheses = [
            bodies if part.whole.name in measured else self._published(part, bodies)
            for part, bodies in zip(parted, known, strict=True)
        ]
        rounds, said, there, sure = self._thought(problem, parted, hypotheses)
        problem = replace(problem, there=there)
        first, last = (logits.softmax(-1).double().numpy() for logits in (rounds[0], rounds[-1]))
        thoughts = Thoughts(self.network, problem, said, [part.term.name for part in parted], rounds)
        found: dict[str, list[Belief]] = {}
        for number, part in enumerate(parted):
            term = part.whole
            own = slice(1, 1 + len(hypotheses[number]))
            same = thoughts.same[number, own]
            best = int(last[number, own].argmax()) if len(hypotheses[number]) else 0
            shared = float(last[number, own][same == same[best]].sum()) if len(same) else 0.0
            belief = Belief(
                term, hypotheses[number], last[number, own], first[number, own],
                problem.sizes[number, own].astype(float), float(sure[number]) * min(1.0, shared),
                float(last[number, 0]), thoughts, number, same, self.answers.get(term.name, Answers()),
                float(sure[number]),
            )  # fmt: skip
            found.setdefault(term.name, []).append(belief)
        return found

    def _parted(self, measured: Mapping[str, Measured]) -> list[Part]:
        """The parts that are decided together: a term with examples, or of which the user keeps rules, as a whole."""
        terms = self._asked(measured)
        kept = {name for name, answers in self.answers.items() if answers.kept is not None}
        whole = [term for term in terms if term.name in measured or term.name in kept]
        apart = [term for term in terms if term.name not in measured and term.name not in kept]
        parts = all_parts(apart, self.ontology, self.world, thorough=True)
        there = {part.whole for part in parts}
        whole += [term for term in terms if term.name in self.answers and term not in there]
        at: dict[OntologyTerm, set[Space | None]] = {}
        for part in parts:
            at.setdefault(part.whole, set()).add(part.at)
        whole += [  # what was found is of no kind of thing that the term was thought of
            term for term, spaces in at.items()
            if None not in spaces and term.name in self.answers
            and any(spaces.isdisjoint(self._subjects(body)) for body in self.answers[term.name].found)
        ]  # fmt: skip
        place = {term: number for number, term in enumerate(terms)}
        parts += [Part(term, term) for term in dict.fromkeys(whole)]
        return sorted(parts, key=lambda part: place[part.whole])

    @torch.no_grad()
    def _thought(
        self,
        problem: Problem,
        parted: Sequence[Part],
        hypotheses: Sequence[Sequence[Body]],
    ) -> tuple[list[Tensor], Floats, NDArray[np.bool_], Floats]:
        """All rounds' logits, the log-likelihood of what was said, what is left to each term, and how surely it is.

        Where parts of a term share what was said of it, they are thought of twice.
        """
        said = np.zeros(problem.there.shape)
        spoken: dict[str, list[int]] = {}
        for number, part in enumerate(parted):
            name = part.whole.name
            if name in self.answers:
                spoken.setdefault(name, []).append(number)
                own = self.answers[name].log_likelihood(hypotheses[number])
                said[number, : len(own)] = own
        rounds, tensors, sure = settled_apart(self.network, tensors_of(problem, said))
        shared = {name: numbers for name, numbers in spoken.items() if len(numbers) > 1}
        if shared:
            belief = rounds[-1].softmax(-1).double().numpy()
            for name, numbers in shared.items():
                answers = self.answers[name]
                derive = np.stack([
                    belief[n, 1 : 1 + len(hypotheses[n])] @ answers.derived(hypotheses[n]) for n in numbers
                ])  # fmt: skip
                for place, number in enumerate(numbers):
                    elsewhere = 1.0 - np.prod(1.0 - np.delete(derive, place, axis=0), axis=0)
                    own = answers.log_likelihood(hypotheses[number], elsewhere)
                    said[number, : len(own)] = own
            rounds, tensors, sure = settled_apart(self.network, tensors_of(problem, said))
        return rounds, said, tensors.there.numpy(), sure.double().numpy()

    def _asked(self, measured: Mapping[str, Measured]) -> list[OntologyTerm]:
        """The terms that are decided: all, or of a large vocabulary those with examples and those named most alike."""
        given = list(map(self.ontology.find, measured))
        spoken = map(self.ontology.find, self.answers)  # of which the ontology may not declare all
        schema = self.world.structure.schema
        columns = {column.name for table in schema.tables for column in table.columns}
        called = {words(name) for name in columns}
        annotations = [term for term in self.ontology.annotations if words(local_name(term.iri)) in called]
        terms = list(dict.fromkeys((*given, *annotations, *self.ontology.terms, *spoken)))
        if len(terms) <= MOST_TERMS or self.ontology.open_ended:
            return terms
        given = list(map(self.ontology.find, dict.fromkeys((*measured, *self.answers))))
        terms = list(dict.fromkeys((*given, *terms)))
        if not self._promise.keys() >= set(terms):
            self._promise.update(self._promises(terms))
        asked = sorted(terms[len(given) :], key=self._promise.__getitem__, reverse=True)[: MOST_TERMS - len(given)]
        chosen = {term.iri for term in asked}
        return [*given, *(term for term in terms[len(given) :] if term.iri in chosen)]

    def _promises(self, terms: Sequence[OntologyTerm]) -> dict[OntologyTerm, float]:
        """How much each term is called like any table or column."""
        tables = self.world.structure.schema.tables
        names = sorted({name for table in tables for name in (table.name, *(one.name for one in table.columns))})
        index, meaning = NameIndex(names), self.world.meaning
        vectors = meaning.vectors(names) if meaning else None

        def promise(term: OntologyTerm) -> float:
            titles = titles_of(term)
            near = float((vectors @ meaning.vectors(titles).T).max()) if vectors is not None and meaning else 0.0
            return max(near, index.best(titles))

        return {term: promise(term) for term in terms}

    def _subjects(self, body: Body) -> set[Space]:
        """The kinds of things that a rule is about."""
        places = body.rule.places_of(body.rule.arguments[0])
        return {space for place in places if (space := self.world.structure.space(place)) is not None}

    def _published(self, part: Part, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
        return told_as_truth(bodies, part.whole, self.ontology, self.world.structure)

    def _candidates(self, part: Part, measured: Mapping[str, Measured]) -> Candidates:
        one = measured.get(part.whole.name)
        if one is not None and one.pool.positives:
            return exemplified(part.term, one)
        answers = self.answers.get(part.whole.name)
        if answers is None:
            return part.candidates(self.world)
        offered = part.offered(self.world)
        more = [body for body in answers.found if part.at is None or part.at in self._subjects(body)]
        # A rule in the user's own words is one more, and so is one that was searched for.
        offered = self.world.with_more(offered, (*(answers.kept or ()), *more))
        answered = answers.log_likelihood(self._published(part, offered))[1:].astype(np.float32)
        return Candidates(part.term, offered, at=part.at, answered=answered)


class Thoughts:
    """What the network thought of all terms together: why, and what it would think after one more answer."""

    def __init__(
        self, network: DecisionNetwork, problem: Problem, said: Floats, names: Sequence[str], rounds: Sequence[Tensor]
    ) -> None:
        self.network, self.problem, self.said, self.names, self.rounds = network, problem, said, names, rounds
        self.is_large = int(problem.there.sum()) > _MANY
        self.same = np.stack([_same(problem, number) for number in range(len(names))]) if names else problem.body

    @torch.no_grad()
    def doubts(self, number: int | None = None, more: Floats | None = None) -> Floats:
        """The entropy of each term's hypotheses, in bits; as it would be if more were said of one term."""
        logits = self.rounds[-1]
        if number is not None and more is not None:
            said = self.said.copy()
            said[number, : len(more)] += more
            logits = self.network(tensors_of(self.problem, said))[-1]
        belief = logits.softmax(-1)
        together = torch.zeros_like(belief).scatter_add(1, torch.from_numpy(self.same), belief).double().numpy()
        return np.asarray(-(together * np.log2(np.maximum(together, 1e-12))).sum(axis=1))

    @cached_property
    @torch.no_grad()
    def reasons(self) -> list[tuple[str, ...]]:
        """Of each term's best hypothesis: what moved it most, by how much its odds are less without it."""
        problem, names, rounds = self.problem, self.names, self.rounds
        tensors = tensors_of(problem, self.said)
        last = rounds[-1].softmax(-1)
        chosen = (last[:, 0] < _HOPELESS).nonzero().squeeze(1)
        if last.shape[1] == 1 or not len(chosen):
            return [()] * len(names)
        before = rounds[-2] if len(rounds) > 1 else rounds[-1]
        best = 1 + last[:, 1:].argmax(-1)
        told: list[list[tuple[float, str]]] = [[] for _ in names]
        now = _odds(rounds[-1][chosen], best[chosen])
        without = self.network.without(tensors, before, chosen)

        def gains(logits: Tensor) -> dict[int, float]:
            left = now - _odds(logits, best[chosen])
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


def _odds(logits: Tensor, best: Tensor) -> Tensor:
    """How much one hypothesis of each term is before all others together, in nats."""
    others = logits.scatter(1, best[:, None], -math.inf).logsumexp(-1)
    return logits.gather(1, best[:, None]).squeeze(1) - others


def _same(problem: Problem, term: int) -> NDArray[np.int64]:
    """For each hypothesis of a term the first that derives as much, of the same entities: nothing tells them apart."""
    inside, sizes, value = problem.inside, problem.sizes[term], problem.value[term]
    found = np.arange(len(sizes))
    there = np.flatnonzero(problem.there[term])
    alike = (sizes[there, None] == sizes[None, there]) & (value[there, None] == value[None, there])
    ends = problem.subject[term][there]
    both = np.minimum(inside[np.ix_(ends, ends)], inside[np.ix_(ends, ends)].T) > _ALL
    alike &= (ends[:, None] == ends[None, :]) | both
    alike[0, 1:] = alike[1:, 0] = False  # none is like no other
    found[there] = there[alike.argmax(axis=1)]
    return found


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
