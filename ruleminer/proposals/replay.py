"""The user's decisions, replayed on measured pools: `applied` before all terms are decided, `upheld` after.

A fact that holds or does not becomes a positive or negative of its term's pool, and the database is asked which rules
derive it. Rejected rules leave the pool. A rule that the user keeps has no rivals, so that other terms learn from it as
from something certain, and is chosen whatever they say; a term that has no rule here gets none. What the database no
longer bears out is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ruleminer.errors import InputError
from ruleminer.problem.decisions import Arguments, Said, UserDecision, UserDecisions
from ruleminer.proposals.answers import Answers
from ruleminer.proposals.candidate_sets import Spaces
from ruleminer.proposals.decide import decide
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derived_facts import DerivedFacts
from ruleminer.proposals.entity_texts import EntityTexts
from ruleminer.proposals.implied_choice import ImpliedChoice
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import Bools, Pool, rule_pool
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.proposals.rule_search import RuleSearch
from ruleminer.rules.body import Body
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule

if TYPE_CHECKING:
    from ruleminer.proposals.joint import Joint

USER = "user"  # the origin of rules in the user's own words


@dataclass(frozen=True)
class Applied:
    """Measured pools with what the user said of them."""

    measured: Mapping[str, Measured]  # to decide: the rules that the user keeps stand alone
    kept: Mapping[str, tuple[Measured, tuple[Rule, ...], str]]  # with their rivals, the rules, and the user's word
    silent: Mapping[str, str]  # terms that get no rule, and why
    notes: tuple[str, ...]


@dataclass
class Replay:
    """Replays decisions in one database; what it said of a rule and a fact is asked once."""

    measure: Measure
    said: UserDecisions = field(default_factory=UserDecisions)
    derived: DerivedFacts = field(init=False)
    search: RuleSearch = field(init=False)
    _unusable: dict[Body, str] = field(default_factory=dict)
    # Which examples a part derives that follows from other terms; None where it cannot be run.
    _implied: dict[object, list[bool] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.derived = DerivedFacts(self.measure.derivations)
        self.search = RuleSearch(self.derived, self.measure.ontology)

    def spoken_of(self, *, facts: bool) -> tuple[str, ...]:
        """The terms that the user keeps a rule of; with `facts`, also those of which they know that one holds."""
        holding = {term for term, own in self.said.facts.items() if Said.HOLDS in own.values()} if facts else ()
        return tuple(term for term in self.terms if term in holding or term in self.said.kept)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The terms that something was said of, as far as the ontology knows them."""
        return tuple(term for term in self.said.terms if not self._unknown(term))

    def _unknown(self, term: str) -> str:
        try:
            self.measure.ontology.find(term)
        except InputError as problem:
            return str(problem)
        return ""

    @property
    def unknown(self) -> tuple[str, ...]:
        """A line for each term that something was said of and that the ontology does not know."""
        strange = {term: self._unknown(term) for term in self.said.terms if term not in self.terms}
        return tuple(f"what you said of {term} is left out: {problem}" for term, problem in strange.items())

    def of(self, said: UserDecisions) -> Replay:
        """The same database's replay of other decisions: what was asked is known."""
        other = replace(self, said=said)
        other.derived = self.derived.again()
        other.search = self.search.again(other.derived)
        return other

    @property
    def _joined(self) -> ImpliedChoice:
        return ImpliedChoice(self.measure, self.said.rejected, self._refusal, self._with_rule, self._implied)

    def decided(
        self, measured: Mapping[str, Measured], ranker: Ranker, applied: Applied | None = None
    ) -> dict[str, Decision]:
        """All terms decided together, as the user's word has it; `applied`, if at hand, spares us applying it."""
        applied = applied or self.applied(measured)
        found = upheld(self._decide(applied, ranker), applied, ranker, self.measure)
        return found if ranker is Ranker.COVERAGE else self._joined.joined(found)

    def drafted(self, joint: Joint, applied: Applied) -> dict[str, Decision]:
        """What the network decides of the terms that are not in `applied`: those that no example speaks for."""
        answers = self._answers(joint, applied)
        found = self._decide(applied, Ranker.JOINT, joint.hearing(answers))
        return {
            name: self._with_answers(one) if name in answers else one
            for name, one in found.items()
            if name not in {*applied.measured, *applied.silent}
        }

    def underived(self, joint: Joint, applied: Applied) -> tuple[str, ...]:
        """A line for each fact that the user said holds and that no rule derives which the network knows of."""
        notes = []
        for term, answers in self._answers(joint, applied).items():
            any_ = np.any(list(answers.derives.values()) or [np.zeros_like(answers.holds)], axis=0)
            for fact, yes, known in zip(self.sure(term), answers.holds, any_, strict=False):
                if yes and not known:
                    notes.append(
                        f"{term}({', '.join(fact)}), which you said holds, is derived by no rule in question"
                        f"{self._why_underived(term, fact)}"
                    )
        return tuple(notes)

    def _why_underived(self, term: str, fact: Arguments) -> str:
        gone = self.derived.gone(fact)
        if gone:
            return f": there is no {gone} now"
        late = self.derived.unanswered.get((term, fact))
        return f", and no other was found: {late}" if late else ""

    def _with_answers(self, decision: Decision) -> Decision:
        """The decision with the user's facts in its pool."""
        return replace(decision, measured=self._with_facts(decision.measured, []))

    def _decide(self, applied: Applied, ranker: Ranker, joint: Joint | None = None) -> dict[str, Decision]:
        measure = self.measure
        size_of = measure.derivations.union_size
        return decide(
            applied.measured, ranker, measure.weights, measure.ontology, size_of, measure.structure, joint
        )  # fmt: skip

    def _answers(self, joint: Joint, applied: Applied) -> dict[str, Answers]:
        """What the user said, as the network hears it: of all terms but those that bring examples of their own."""
        given = {term for term, one in applied.measured.items() if one.pool.positives}
        facts = {term: self.sure(term) for term in self.terms if term not in given and term not in self.said.kept}
        self.derived.ask([(body, list(own)) for term, own in facts.items() if own for body in joint.offered(term)])
        self.search.look_for(self._unexplained(facts, joint))
        found = {}
        for term in self.terms:
            kept = self.said.kept.get(term)
            if kept is not None and (kept.said is Said.NO_RULE or term in applied.kept):
                bodies = tuple(map(Body, applied.kept[term][1])) if term in applied.kept else ()
                found[term] = Answers(kept=bodies)
            elif term not in given and (facts.get(term) or self.said.rejected.get(term)):
                asked = facts.get(term, {})
                more = self.search.found(term, asked)
                self.derived.ask([(body, list(asked)) for body in more])
                derived = {
                    body: np.array(own)
                    for body in dict.fromkeys((*joint.offered(term), *more))
                    if any(own := [self.derived.known.get((body, fact), False) for fact in asked])
                }
                named = np.array([self._is_named(term, fact) for fact in asked], bool)
                found[term] = Answers(
                    np.array(list(asked.values()), bool),
                    derived,
                    frozenset(self.said.rejected.get(term, ())),
                    named=named,
                    found=more,
                )
        return found

    def _is_named(self, term: str, fact: Arguments) -> bool:
        """Whether the user named a fact, and nothing but a rule can be missing: its things are there, none was lost."""
        if fact not in self.said.named.get(term, ()):
            return False
        return (term, fact) not in self.derived.unanswered and not self.derived.gone(fact)

    def _unexplained(
        self, facts: Mapping[str, Mapping[Arguments, bool]], joint: Joint
    ) -> Iterator[tuple[str, Arguments]]:
        """The facts that hold and that no rule derives which the network knows of."""
        known = self.derived.known
        for term, asked in facts.items():
            offered = joint.offered(term)
            for fact, holds in asked.items():
                if holds and not any(known.get((body, fact)) for body in offered):
                    yield term, fact

    def sure(self, term: str) -> dict[Arguments, bool]:
        """The facts of a term that the user was sure of, and whether they hold."""
        facts = self.said.facts.get(term, {})
        return {fact: said is Said.HOLDS for fact, said in facts.items() if said is not Said.UNKNOWN}

    def applied(self, measured: Mapping[str, Measured]) -> Applied:
        """The pools with the user's facts in them, without rejected rules and without rivals of those that are kept."""
        found = dict(measured)
        kept: dict[str, tuple[Measured, tuple[Rule, ...], str]] = {}
        silent: dict[str, str] = {}
        notes: list[str] = []
        for term in self.terms:
            decision = self.said.kept.get(term)
            if decision is not None and decision.said is Said.NO_RULE:
                silent[term] = "you said that the database has no rule for it"
                found.pop(term, None)
                continue
            one = self._with_rules(term, found.get(term), decision, notes)
            if one is None:
                continue
            one = self._without(one, term, silent)
            if one is None:
                del found[term]
                continue
            one = self._with_facts(one, notes)
            found[term] = one
            rules = [rule for rule in decision.rules if Body(rule) in one.pool.bodies] if decision else []
            if decision is not None and rules:
                kept[term] = one, tuple(rules), str(decision.said)
                found[term] = _certain(one, rules)
                notes += _contradictions(one, rules, term)
            elif len(one.pool.positives) and not one.pool.covers.any():
                notes.append(f"{term}: no rule in question derives any of the facts that you said hold")
                silent[term] = "no rule in question derives any of the facts that you said hold"
                del found[term]
        return Applied(found, kept, silent, tuple(dict.fromkeys(notes)))

    def _with_rules(
        self, term: str, one: Measured | None, decision: UserDecision | None, notes: list[str]
    ) -> Measured | None:
        """The pool with the rules that the user keeps, those that can be run here."""
        rules = decision.rules if decision else ()
        fresh = [rule for rule in rules if one is None or Body(rule) not in one.pool.bodies]
        for rule in fresh:
            reason = self._refusal(rule)
            if reason:
                notes.append(f"{term}: the rule that you {_verb(decision)} no longer fits, {reason}: {rule_text(rule)}")
                continue
            one = self._with_rule(term, one, rule)
        return one

    def _refusal(self, rule: Rule) -> str:
        """Why a rule cannot be proposed here."""
        body = Body(rule)
        if body not in self._unusable:
            derivations = self.measure.derivations
            size = derivations.size(rule)
            reason = "for it derives nothing" if size == 0 else ""
            if size is None:
                reason = f"for it cannot be run ({derivations.refusal(rule) or derivations.lost})"
            self._unusable[body] = reason
        return self._unusable[body]

    def _with_rule(self, term: str, one: Measured | None, rule: Rule) -> Measured:
        measure = self.measure
        alone = rule_pool(term, [rule], USER)
        size, priors = np.array([float(measure.derivations.size(rule) or 0)]), tuple(measure.priors(alone))
        if one is None:
            return Measured(alone, size, priors, None, measure.rows)
        pool = one.pool
        derived = np.array([self.derived.by(rule, [*pool.positives, *pool.negatives])], bool)
        wider = replace(
            pool,
            rules=(*pool.rules, rule),
            bodies=(*pool.bodies, Body(rule)),
            origin=(*pool.origin, USER),
            covers=np.concatenate([pool.covers, derived[:, : len(pool.positives)]]),
            hits=np.concatenate([pool.hits, derived[:, len(pool.positives) :]]),
        )
        return replace(
            one,
            pool=wider,
            sizes=np.concatenate([one.sizes, size]),
            priors=(*one.priors, *priors),
            model=None if one.model is None else np.append(one.model, np.min(one.model)),
            lift=None if one.lift is None else np.append(one.lift, np.median(one.lift)),
            reaches=None if one.reaches is None else np.concatenate([one.reaches, size]),
            coherence=None if one.coherence is None else np.append(one.coherence, 0.0),
        )

    def _without(self, one: Measured, term: str, silent: dict[str, str]) -> Measured | None:
        """The pool without rejected rules; None if none is left."""
        rejected = self.said.rejected.get(term, {})
        left = [i for i, body in enumerate(one.pool.bodies) if body not in rejected]
        if not left:
            silent[term] = "you rejected every rule that came into question"
            return None
        return one if len(left) == len(one.pool.rules) else one.only(left)

    def _with_facts(self, one: Measured, notes: list[str]) -> Measured:
        """The pool with the facts that the user was sure of, in place of what examples say of them."""
        sure = self.sure(one.pool.predicate)
        if not sure:
            return one
        pool = _without_facts(one.pool, sure, self.measure.derivations.texts)
        derived = np.array([self.derived.by(body, list(sure)) for body in pool.bodies], bool).reshape(-1, len(sure))
        holds = np.array(list(sure.values()), bool)
        term = pool.predicate
        nowhere: Spaces = (None,) * len(pool.rules[0].arguments)
        before = pool.spaces or (nowhere,) * (len(pool.positives) + len(pool.negatives))
        spaces = (
            *before[: len(pool.positives)],
            *(nowhere for yes in holds if yes),
            *before[len(pool.positives) :],
            *(nowhere for yes in holds if not yes),
        )
        for fact, yes, any_ in zip(sure, holds, np.asarray(derived.any(axis=0)), strict=True):
            if yes and not any_:
                notes.append(f"{term}({', '.join(fact)}), which you said holds, is derived by no rule in question")
        return replace(
            one,
            pool=replace(
                pool,
                positives=(*pool.positives, *(fact for fact, yes in sure.items() if yes)),
                negatives=(*pool.negatives, *(fact for fact, yes in sure.items() if not yes)),
                drawn=np.concatenate([pool.drawn, np.zeros(int((~holds).sum()), bool)]),
                covers=np.concatenate([pool.covers, derived[:, holds]], axis=1),
                hits=np.concatenate([pool.hits, derived[:, ~holds]], axis=1),
                asked=np.concatenate([~pool.given, np.ones(int(holds.sum()), bool)]),
                spaces=spaces if pool.spaces else (),
            ),
        )

    def ask_for(self, measured: Mapping[str, Measured]) -> None:
        """Ask in one go for all that `applied` will ask."""
        asked: list[tuple[Body, Sequence[Arguments]]] = []
        for term, facts in self.said.facts.items():
            if term in measured:
                asked += [(body, list(facts)) for body in measured[term].pool.bodies]
        self.derived.ask(asked)


def upheld(
    decisions: Mapping[str, Decision], applied: Applied, ranker: Ranker, measure: Measure
) -> dict[str, Decision]:
    """The decisions with the rules that the user keeps in the place of any others, their rivals beside them."""
    found = dict(decisions)
    for term, (measured, rules, word) in applied.kept.items():
        ranking = rank(_rankable(measured), Ranker.EVIDENCE if ranker is Ranker.COVERAGE else ranker, measure.weights)
        chosen = tuple(measured.pool.bodies.index(Body(rule)) for rule in rules)
        ranking = replace(ranking, ranker=ranker, chosen=chosen, chosen_posterior=1.0)
        found[term] = Decision(measured, ranking, 1.0, word)
    return found


def _certain(one: Measured, rules: Sequence[Rule]) -> Measured:
    """The pool with these rules only, and with those of its positives that they derive."""
    alone = one.only([one.pool.bodies.index(Body(rule)) for rule in rules])
    pool = alone.pool
    derived = np.asarray(pool.covers.any(axis=0))
    fewer = replace(
        pool,
        positives=tuple(fact for fact, yes in zip(pool.positives, derived, strict=True) if yes),
        covers=pool.covers[:, derived],
        asked=None if pool.asked is None else pool.asked[derived],
        spaces=_spaces(pool, derived, np.ones(len(pool.negatives), bool)),
    )
    return replace(alone, pool=fewer)


def _rankable(one: Measured) -> Measured:
    """The same; without its positives if no rule derives any that somebody gave."""
    pool = one.pool
    if not pool.given.any() or pool.covers[:, pool.given].any():
        return one
    none = np.zeros((len(pool.rules), 0), bool)
    spaces = pool.spaces[len(pool.positives) :]
    return replace(one, pool=replace(pool, positives=(), covers=none, asked=None, spaces=spaces))


def _spaces(pool: Pool, positives: Bools, negatives: Bools) -> tuple[Spaces, ...]:
    """The spaces of some of a pool's positives and negatives, where any is known."""
    kept = [*positives, *negatives]
    return tuple(one for one, yes in zip(pool.spaces, kept, strict=True) if yes) if pool.spaces else ()


def _without_facts(pool: Pool, facts: Mapping[Arguments, bool], texts: EntityTexts) -> Pool:
    """The pool without what examples say of these facts: the user's word comes in its place."""
    examples = [*pool.positives, *pool.negatives]
    spaces: Sequence[Spaces] = pool.spaces or ((),) * len(examples)
    pairs = zip(examples, spaces, strict=True)
    left = [not any(_is_same(fact, example, own, texts) for fact in facts) for example, own in pairs]
    keep, spare = np.array(left[: len(pool.positives)], bool), np.array(left[len(pool.positives) :], bool)
    if keep.all() and spare.all():
        return pool
    return replace(
        pool,
        positives=tuple(fact for fact, yes in zip(pool.positives, keep, strict=True) if yes),
        negatives=tuple(fact for fact, yes in zip(pool.negatives, spare, strict=True) if yes),
        drawn=pool.drawn[spare],
        covers=pool.covers[:, keep],
        hits=pool.hits[:, spare],
        asked=None if pool.asked is None else pool.asked[keep],
        spaces=_spaces(pool, keep, spare),
    )


def _is_same(said: Arguments, example: Arguments, spaces: Spaces, texts: EntityTexts) -> bool:
    """Whether a fact in the user's words is an example: `Artist:1` is the key 1 of a thing that may be an artist."""
    if len(said) != len(example):
        return False
    for text, own, space in zip(said, example, spaces or (None,) * len(example), strict=True):
        told = texts.told(text)
        if text != own and (told is None or told[1] != own or space not in (None, told[0])):
            return False
    return True


def _contradictions(one: Measured, rules: Sequence[Rule], term: str) -> list[str]:
    """The user's facts that the rules they keep are at odds with."""
    pool = one.pool
    chosen = [pool.bodies.index(Body(rule)) for rule in rules]
    covered, hit = np.asarray(pool.covers[chosen].any(axis=0)), np.asarray(pool.hits[chosen].any(axis=0))
    missed = [f for f, yes, given in zip(pool.positives, covered, pool.given, strict=True) if not yes and not given]
    denied = [f for f, yes, drawn in zip(pool.negatives, hit, pool.drawn, strict=True) if yes and not drawn]
    notes = [f"{term}({', '.join(f)}), which you said holds, is not derived by the rule that you keep" for f in missed]
    return notes + [f"{term}({', '.join(f)}) does not hold, but the rule that you keep derives it" for f in denied]


def _verb(decision: UserDecision | None) -> str:
    return str(decision.said) if decision else "keep"
