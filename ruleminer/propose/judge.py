"""From a pool to a judged pool: priors, what the live database says of each rule, what the trained model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from ruleminer.learn.scoring import Fact
from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.propose.evidence import Floats
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.pool import MODEL, REFINED, Pool, with_rules
from ruleminer.propose.prior import Prior, PriorOf, PriorWeights, constant_places
from ruleminer.propose.ranking import Judged, Ranker, rank
from ruleminer.propose.refine import refinements
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule

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


class Judge:
    """Judges the pools of one problem: an ontology, a live database, perhaps a trained model.

    With `live` False, extraction is trusted to have seen the database as it is now. An `own_model` learnt from these
    very examples: of a predicate that has some, it knows nothing that they do not say themselves, so what it says is
    shown and not heard.
    """

    def __init__(
        self,
        ontology: Ontology,
        extensions: Extensions,
        scorer: Scorer | None = None,
        weights: PriorWeights | None = None,
        most_rules: int = MOST_RULES,
        live: bool = True,
        own_model: bool = False,
    ) -> None:
        schema = extensions.database.schema
        self.ontology = ontology
        self.extensions, self.scorer, self.most_rules, self.live = extensions, scorer, most_rules, live
        self.own_model = own_model
        self.weights = weights or PriorWeights()
        self.rows = sum(table.rows or 0 for table in schema.tables)
        self._distinct: dict[tuple[str, str], int] = {}
        self._priors: dict[tuple[str, str], Prior] = {}
        self.prior_of = PriorOf(ontology, schema, self._distinct)

    def judged(self, pool: Pool, written: Sequence[str] = ()) -> Judged | None:
        """The pool with the most promising rules and all that ranking asks of them; None if no rule can be run.

        `written` are rules that the model wrote for the predicate; they join the pool.
        """
        pool = with_rules(pool, written, MODEL, self.extensions)
        if pool.positives:  # what derives no example is no answer to them
            pool = pool.only(np.flatnonzero(pool.covers.any(axis=1)).tolist())
        priors = self.priors(pool)
        if len(pool.rules) > self.most_rules:
            pool = pool.only(self._promising(pool, priors))
        judged = self._sized(pool)
        if judged is None:
            return None
        finer = refinements(judged, self.extensions, self.weights)
        if finer:
            pool = with_rules(judged.pool, map(rule_text, finer), REFINED, self.extensions)
            judged = self._sized(pool) or judged
        judged = self._asked_live(judged)
        if judged is None or self.scorer is None:
            return judged
        heard = not (self.own_model and pool.positives)
        return asked_model(judged, self.scorer, self.others(judged.pool.predicate) if heard else ())

    def others(self, predicate: str) -> list[str]:
        """Some other predicates of as many arguments, the same ones each time."""
        is_class = isinstance(self.ontology.find(predicate), OntologyClass)
        terms = self.ontology.classes if is_class else self.ontology.properties
        names = sorted(term.name for term in terms if term.name != predicate)
        return Random(predicate).sample(names, min(_BESIDE, len(names)))

    def _asked_live(self, judged: Judged) -> Judged | None:
        """The best rules derive only those examples that they derive in the database as it is now.

        None if no rule derives any. What is asked is some of the best, until the best of all has been asked.
        """
        asked: set[str] = set()
        while self.live and judged.pool.positives:
            pool = judged.pool
            order = rank(judged, Ranker.EVIDENCE, self.weights).order[:_LIVE].tolist()
            if pool.bodies[order[0]] in asked:
                break
            covers, hits = pool.covers.copy(), pool.hits.copy()
            for i in (i for i in order if pool.bodies[i] not in asked):
                asked.add(pool.bodies[i])
                derived = self.extensions.covered(pool.rules[i], [*pool.positives, *pool.negatives])
                if derived is not None:
                    now = np.array(derived, bool)
                    covers[i] &= now[: len(pool.positives)]
                    hits[i] &= now[len(pool.positives) :]
            judged = replace(judged, pool=replace(pool, covers=covers, hits=hits))
            alive = np.flatnonzero(covers.any(axis=1)).tolist()
            if not alive:
                return None
            judged = judged.only(alive)
        return judged

    def _sized(self, pool: Pool) -> Judged | None:
        """The pool with priors and sizes, without the rules that cannot be run here."""
        priors = self.priors(pool)
        sizes = self.extensions.sizes(pool.rules, pool.bodies)
        usable = [i for i, size in enumerate(sizes) if size]  # one that derives nothing does not fit this database
        if not usable:
            return None
        if len(usable) < len(sizes):
            pool, priors = pool.only(usable), [priors[i] for i in usable]
        found = np.array([float(size) for size in sizes if size])
        return Judged(pool, found, tuple(priors), None, self.rows)

    def _promising(self, pool: Pool, priors: Sequence[Prior]) -> list[int]:
        """The rules to ask the database about, by what is known without it."""
        before = np.array([prior.total(self.weights, len(pool.positives)) for prior in priors])
        order = np.argsort(-(before + _PROMISE * pool.covers.sum(axis=1)), kind="stable")
        left = ~pool.covers[order[0]]
        more = pool.covers[:, left].sum(axis=1)
        parts = [i for i in np.argsort(-(before + _PROMISE * more), kind="stable").tolist() if more[i] > 1]
        return sorted({*order[: self.most_rules].tolist(), *parts[:MOST_PARTS]})

    def priors(self, pool: Pool) -> list[Prior]:
        """The priors of a pool's rules."""
        schema = self.extensions.database.schema
        places = [place for place in constant_places(pool.rules) if place[0] in schema and place not in self._distinct]
        known = [(table, column) for table, column in places if column in {c.name for c in schema.table(table).columns}]
        self._distinct.update(self.extensions.distinct(known))
        return [self._prior(pool.predicate, body, rule) for body, rule in zip(pool.bodies, pool.rules, strict=True)]

    def _prior(self, predicate: str, body: str, rule: Rule) -> Prior:
        found = self._priors.get((predicate, body))
        if found is None:
            found = self._priors[predicate, body] = self.prior_of.prior(rule)
        return found


def asked_model(judged: Judged, scorer: Scorer, others: Sequence[str]) -> Judged:
    """The judged pool with what a model says of each rule, averaged over some positives.

    log p is mostly the cost of writing a rule's names down. What it says of the predicate is left when log p of the
    same body for `others`, predicates of as many arguments, is taken away; without others there is only log p. Of a
    rule that is too long for the model it says neither good nor bad.
    """
    pool = judged.pool
    facts: list[Fact] = [(pool.predicate, arguments) for arguments in pool.positives[:_ASKED]]
    facts = facts or [(pool.predicate, ())]
    own = _log_mean_p(scorer, pool, facts)
    beside = [(other, facts[i % len(facts)][1]) for i, other in enumerate(others)]
    known = np.isfinite(own)
    if not beside or not known.any():
        return replace(judged, model=own)
    lift = np.subtract(own, _log_mean_p(scorer, pool, beside), where=known, out=np.full(len(own), np.nan))
    known &= np.isfinite(lift)
    lift[~known] = np.median(lift[known]) if known.any() else 0.0
    return replace(judged, model=own, lift=lift)


def _log_mean_p(scorer: Scorer, pool: Pool, facts: Sequence[Fact]) -> Floats:
    """The log of the mean probability of each body, each fact's own predicate at its head; −inf if all are too long."""
    texts = [[rule_text(replace(rule, predicate=predicate)) for rule in pool.rules] for predicate, _ in facts]
    logs = np.array(scorer.log_probabilities(facts, texts))
    return np.asarray(logsumexp(logs, axis=0) - np.log(np.maximum(np.isfinite(logs).sum(axis=0), 1)))
