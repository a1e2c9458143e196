"""From a pool to a measured pool: priors, what the live database says of each rule, what the trained model says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from random import Random
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from ruleminer.learn.scoring import Fact
from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.evidence import Floats
from ruleminer.proposals.fixed_text import named_values
from ruleminer.proposals.key_twins import restricted_twins
from ruleminer.proposals.placeholders import without_placeholders
from ruleminer.proposals.pool import MODEL, REFINED, Pool, with_rules
from ruleminer.proposals.prior import Prior, PriorOf, PriorWeights, constant_places
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.proposals.reach import End, can_be_asked, ends_of, known_share, reach_of, shares_of
from ruleminer.proposals.refine import refinements
from ruleminer.proposals.shapes import conditions_of_shapes
from ruleminer.rules.body import Body
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Place, Rule
from ruleminer.structure.nothing import links_to_nothing
from ruleminer.structure.structure import Structure

MOST_RULES = 100  # of a predicate that are asked of the database; more only costs time
MOST_PARTS = 20  # and so many that derive what the most promising one does not: parts of a union
_PROMISE = 2.0  # nats that a derived example is worth before sizes are known
_LIVE = 6  # best rules whose examples are looked for in the database as it is now
_ASKED = 3  # positives per predicate that the model is asked about
_BESIDE = 6  # other predicates that the model is asked about for comparison


class Scorer(Protocol):
    """What we ask of a trained model (`learn.scoring.RuleScorer`)."""

    def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each fact, log p of each of its rule texts."""


class Measure:
    """Judges the pools of one problem: an ontology, a live database, perhaps a trained model.

    With `live` False, extraction is trusted to have seen the database as it is now. An `own_model` learnt from these
    very examples: of a predicate that has some, it knows nothing that they do not say themselves, so what it says is
    shown and not heard. With `noise`, some examples may be wrong.
    """

    def __init__(
        self,
        ontology: Ontology,
        derivations: Derivations,
        scorer: Scorer | None = None,
        weights: PriorWeights | None = None,
        most_rules: int = MOST_RULES,
        live: bool = True,
        own_model: bool = False,
        structure: Structure | None = None,
        noise: bool = False,
    ) -> None:
        schema = structure.schema if structure else derivations.database.schema
        self.ontology, self.structure = ontology, structure
        self.derivations, self.scorer, self.most_rules, self.live = derivations, scorer, most_rules, live
        self.own_model, self.noise = own_model, noise
        self.weights = weights or PriorWeights()
        self.rows = sum(table.rows or 0 for table in schema.tables)
        self._distinct: dict[Place, int] = {}
        self._priors: dict[tuple[str, Body], Prior] = {}
        self._nothing: dict[Place, str] = {}
        if structure:
            leading = links_to_nothing(schema, structure.profile)
            self._nothing |= {place: str(number) for place, number in leading.items()}
        self.prior_of = PriorOf(ontology, schema, self._distinct, self._nothing)

    def measured(self, pool: Pool, written: Sequence[Rule] = ()) -> Measured | None:
        """The pool with the most promising rules and all that ranking asks of them; None if no rule can be run.

        `written` are rules that the model wrote for the predicate; they join the pool.
        """
        return self.all_measured([pool], [written])[0]

    def all_measured(
        self, pools: Sequence[Pool], written: Sequence[Sequence[Rule]] | None = None
    ) -> list[Measured | None]:
        """The same for many pools. They go together from step to step, so that one question serves them all."""
        pools = with_rules(pools, written or [()] * len(pools), MODEL, self.derivations)
        found = self._sized([self._promising(pool) for pool in pools])
        usable = [one for one in found if one is not None]
        finer = refinements(usable, self.derivations, self.prior_of, self.weights)
        shapes = conditions_of_shapes([one.pool for one in usable], self.derivations.database.schema)
        filled = without_placeholders(usable, self.derivations, self.weights, self._nothing)
        finer = [list(chain(*some)) for some in zip(finer, shapes, filled, strict=True)]
        refined = [one for one, rules in zip(usable, finer, strict=True) if rules]
        more = with_rules([one.pool for one in refined], [rules for rules in finer if rules], REFINED, self.derivations)
        again = {id(one): wider for one, wider in zip(refined, self._sized(more), strict=True) if wider}
        found = self._asked_live([again.get(id(one), one) if one else None for one in found])
        return [self._asked_model(one) if one and self.scorer else one for one in found]

    def _asked_model(self, measured: Measured) -> Measured:
        assert self.scorer is not None
        heard = not (self.own_model and measured.pool.positives)
        return asked_model(measured, self.scorer, self.others(measured.pool.predicate) if heard else ())

    def others(self, predicate: str) -> list[str]:
        """Some other predicates of as many arguments, the same ones each time."""
        is_class = isinstance(self.ontology.find(predicate), OntologyClass)
        terms = self.ontology.classes if is_class else self.ontology.properties
        names = sorted(term.name for term in terms if term.name != predicate)
        return Random(predicate).sample(names, min(_BESIDE, len(names)))

    def _asked_live(self, measured: Sequence[Measured | None]) -> list[Measured | None]:
        """The best rules derive only those examples that they derive in the database as it is now.

        None if no rule derives any. What is asked is some of the best, until the best of all has been asked.
        """
        found = list(measured)
        open_ = [i for i, one in enumerate(found) if self.live and one is not None and one.pool.positives]
        asked: list[set[Body]] = [set() for _ in found]
        while open_:
            best: dict[int, list[int]] = {}
            for i in open_:
                one = found[i]
                assert one is not None
                order = rank(one, Ranker.EVIDENCE, self.weights).order[:_LIVE].tolist()
                if one.pool.bodies[order[0]] not in asked[i]:
                    best[i] = [rule for rule in order if one.pool.bodies[rule] not in asked[i]]
                    asked[i] |= {one.pool.bodies[rule] for rule in best[i]}
            pools = {i: one.pool for i in best if (one := found[i])}
            answers = iter(
                self.derivations.coverage(
                    [(pools[i].rules[k], (*pools[i].positives, *pools[i].negatives)) for i in best for k in best[i]]
                )
            )
            for i, rules in best.items():
                found[i] = _seen(found[i], {rule: next(answers) for rule in rules})
            open_ = [i for i in best if found[i] is not None]
        return found

    def _sized(self, pools: Sequence[Pool]) -> list[Measured | None]:
        """Each pool with priors and sizes, without the rules that cannot be run here."""
        rules = [rule for pool in pools for rule in pool.rules]
        sizes = iter(self.derivations.sizes(rules, [body for pool in pools for body in pool.bodies]))
        return self._with_reaches([self._with_sizes(pool, [next(sizes) for _ in pool.rules]) for pool in pools])

    def _with_sizes(self, pool: Pool, sizes: Sequence[int | None]) -> Measured | None:
        usable = [i for i, size in enumerate(sizes) if size]  # one that derives nothing does not fit this database
        if not usable or (self.derivations.lost and None in sizes):  # the best rule may be among the unknown
            return None
        if len(usable) < len(sizes):
            pool = pool.only(usable)
        known = np.array([float(size) for size in sizes if size])
        return Measured(pool, known, tuple(self.priors(pool)), None, self.rows, noise=self.noise)

    def _with_reaches(self, found: Sequence[Measured | None]) -> list[Measured | None]:
        """Each pool with how far its examples reach into what its rules derive; one round of questions serves all."""
        structure = self.structure
        if structure is None:
            return list(found)
        reached: dict[int, list[tuple[list[tuple[str, ...]], list[End]]]] = {}  # of each pool's rules: examples, ends
        for number, one in enumerate(found):
            if one is not None and one.pool.positives:
                derived = (
                    [f for f, yes in zip(one.pool.positives, row, strict=True) if yes] for row in one.pool.covers
                )
                pairs = zip(one.pool.rules, derived, strict=True)
                reached[number] = [(facts, ends_of(rule, facts, structure)) for rule, facts in pairs]
        ends = dict.fromkeys(end for rules in reached.values() for _, own in rules for end in own)
        unknown = (end for end in ends if known_share(end, structure) is None and can_be_asked(end, structure))
        asked = self.derivations.shares_up_to(unknown)

        def reaches(one: Measured, rules: Sequence[tuple[list[tuple[str, ...]], list[End]]]) -> Floats:
            return np.array(
                [
                    reach_of(facts, float(size), shares_of(own, structure, asked))
                    for size, (facts, own) in zip(one.sizes, rules, strict=True)
                ]
            )

        return [
            replace(one, reaches=reaches(one, reached[number])) if one is not None and number in reached else one
            for number, one in enumerate(found)
        ]

    def _promising(self, pool: Pool) -> Pool:
        """The pool with the rules to ask the database about, by what is known without it."""
        if pool.positives:  # what derives no example is no answer to them
            pool = pool.only(np.flatnonzero(pool.covers.any(axis=1)).tolist())
        priors = self.priors(pool)
        if len(pool.rules) <= self.most_rules:
            return pool
        before = np.array([prior.total(self.weights, len(pool.positives)) for prior in priors])
        order = np.argsort(-(before + _PROMISE * pool.covers.sum(axis=1)), kind="stable")
        left = ~pool.covers[order[0]]
        more = pool.covers[:, left].sum(axis=1)
        parts = [i for i in np.argsort(-(before + _PROMISE * more), kind="stable").tolist() if more[i] > 1]
        return pool.only(sorted({*order[: self.most_rules].tolist(), *parts[:MOST_PARTS]}))

    def priors(self, pool: Pool) -> list[Prior]:
        """The priors of a pool's rules."""
        schema = self.derivations.database.schema
        places = [
            place for place in constant_places(pool.rules) if place.table in schema and place not in self._distinct
        ]
        known = [place for place in places if place.column in {c.name for c in schema.table(place.table).columns}]
        self._distinct.update(self.derivations.distinct(known))
        priors = [self._prior(pool.predicate, body, rule) for body, rule in zip(pool.bodies, pool.rules, strict=True)]
        if not pool.positives:
            return priors
        named = named_values(pool)
        self._distinct.update(self.derivations.distinct({one.place for some in named for one in some}))
        priors = [self.prior_of.naming(prior, some) for prior, some in zip(priors, named, strict=True)]
        twins = restricted_twins(pool, self.prior_of.schema)
        return [self.prior_of.restricted(prior) if twin else prior for prior, twin in zip(priors, twins, strict=True)]

    def _prior(self, predicate: str, body: Body, rule: Rule) -> Prior:
        prior = self._priors.get((predicate, body))
        if prior is None:
            prior = self._priors[predicate, body] = self.prior_of.prior(rule)
        return prior


def _seen(measured: Measured | None, answers: Mapping[int, list[bool] | None]) -> Measured | None:
    """What is left of a pool when some of its rules derive these examples only; None if nothing is."""
    if measured is None:
        return None
    pool = measured.pool
    covers, hits = pool.covers.copy(), pool.hits.copy()
    for rule, derived in answers.items():
        if derived is not None:
            now = np.array(derived, bool)
            covers[rule] &= now[: len(pool.positives)]
            hits[rule] &= now[len(pool.positives) :]
    alive = np.flatnonzero(covers.any(axis=1)).tolist()
    return replace(measured, pool=replace(pool, covers=covers, hits=hits)).only(alive) if alive else None


def asked_model(measured: Measured, scorer: Scorer, others: Sequence[str]) -> Measured:
    """The measured pool with what a model says of each rule, averaged over some positives.

    log p is mostly the cost of writing a rule's names down. What it says of the predicate is left when log p of the
    same body for `others`, predicates of as many arguments, is taken away; without others there is only log p. Of a
    rule that is too long for the model it says neither good nor bad.
    """
    pool = measured.pool
    facts: list[Fact] = [(pool.predicate, arguments) for arguments in pool.positives[:_ASKED]]
    facts = facts or [(pool.predicate, ())]
    own = _log_mean_p(scorer, pool, facts)
    beside = [(other, facts[i % len(facts)][1]) for i, other in enumerate(others)]
    known = np.isfinite(own)
    if not beside or not known.any():
        return replace(measured, model=own)
    lift = np.subtract(own, _log_mean_p(scorer, pool, beside), where=known, out=np.full(len(own), np.nan))
    known &= np.isfinite(lift)
    lift[~known] = np.median(lift[known]) if known.any() else 0.0
    return replace(measured, model=own, lift=lift)


def _log_mean_p(scorer: Scorer, pool: Pool, facts: Sequence[Fact]) -> Floats:
    """The log of the mean probability of each body, each fact's own predicate at its head; −inf if all are too long."""
    texts = [[rule_text(replace(rule, predicate=predicate)) for rule in pool.rules] for predicate, _ in facts]
    logs = np.array(scorer.log_probabilities(facts, texts))
    return np.asarray(logsumexp(logs, axis=0) - np.log(np.maximum(np.isfinite(logs).sum(axis=0), 1)))
