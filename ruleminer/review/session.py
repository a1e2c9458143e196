"""A review in memory: pools measured once, all terms decided again after each word of the user.

What is shown here is what `propose-mappings` writes: both apply the same decisions to the same pools. Every decision is
on disk before anything is decided with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.errors import InputError
from ruleminer.problem.decisions import NAMED, Said, UserDecision, append_decisions, new_id, read_decisions
from ruleminer.problem.ontology import Ontology
from ruleminer.progress import Progress, silent
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.proposals.explain import certainty_of, explain
from ruleminer.proposals.live_structure import live_structure
from ruleminer.proposals.made_from import as_proposed, proposed_before
from ruleminer.proposals.proposal import Proposal
from ruleminer.proposals.ranking import Measured, Ranker
from ruleminer.proposals.replay import Applied, Replay
from ruleminer.proposals.request import ProposeRequest, live_database, run_ontology
from ruleminer.proposals.same_spaces import united
from ruleminer.proposals.stage import Delivery, propose_held
from ruleminer.proposals.term_proposals import (
    MeasuredTerms,
    guess_pools,
    is_shown,
    measure_terms,
    network_of,
    proposal_without_examples,
    why_nothing,
)
from ruleminer.review.hypotheses import Hypothesis, hypotheses_of
from ruleminer.review.naming import named_facts
from ruleminer.review.questions import MOST_ROWS, WORTH, NoQuestion, Question, Questions
from ruleminer.rules.body import Body
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.run import Run
from ruleminer.sources.database import Database
from ruleminer.structure.structure import Structure

_MANY_TERMS = 200  # an ontology with more is asked of only where a name fits


@dataclass(frozen=True, slots=True)
class Change:
    """A term whose rules are others than before."""

    term: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MappingState:
    """How far a mapping is."""

    terms: int
    mapped: int
    sure: float  # of those that are mapped, on average
    worth_asking: int  # terms that are in doubt


@dataclass(frozen=True)
class Pools:
    """The pools of all terms, before anything was said of them."""

    terms: MeasuredTerms
    measured: Mapping[str, Measured]

    @property
    def derivations(self) -> Derivations:
        """What rules derive from the live database."""
        return self.terms.derivations


class ReviewSession:
    """One run under review. Safe to be used from several threads: one word after the other."""

    def __init__(
        self,
        run: Run,
        request: ProposeRequest,
        database: Database,
        structure: Structure,
        pools: Pools,
        ontology: Ontology,
    ) -> None:
        self.run, self.request, self.database, self.structure = run, request, database, structure
        self.pools, self.ontology = pools, ontology
        self.lock = threading.RLock()
        self.said = read_decisions(run.decisions)
        self.replay = Replay(pools.terms.measure, self.said)
        self.questions = Questions(self.replay)
        self.network = network_of(pools.terms, [])
        self._explained: dict[str, Proposal] = {}
        self._rivals: frozenset[str] | None = None
        self._decide()

    @property
    def derivations(self) -> Derivations:
        """What rules derive from the live database."""
        return self.pools.derivations

    @property
    def ranker(self) -> Ranker:
        """What orders the rules."""
        return self.pools.terms.ranker

    def _decide(self) -> None:
        self.replay = self.replay.of(self.said)
        self.questions.replay = self.replay
        self.replay.ask_for(self.pools.measured)
        measured = self.pools.measured
        if self.network is not None:  # it decides of all that no example speaks for and no rule of the user
            spoken = {*self.pools.terms.measured, *self.said.kept}
            measured = {term: one for term, one in measured.items() if term in spoken}
        self.applied: Applied = self.replay.applied(measured)
        self.decisions: dict[str, Decision] = self.replay.decided(measured, self.ranker, self.applied)
        if self.network is not None:
            self.decisions = {**self.replay.drafted(self.network, self.applied), **self.decisions}
            notes = (*self.applied.notes, *self.replay.underived(self.network, self.applied))
            self.applied = replace(self.applied, notes=tuple(dict.fromkeys(notes)))
        self._explained.clear()
        self._rivals = None

    def say(self, *lines: UserDecision) -> tuple[Change, ...]:
        """Write decisions down, decide all terms again and tell which changed. What was said before is not repeated."""
        with self.lock:
            for line in lines:
                if line.term:
                    self.ontology.find(line.term)
            before = self.rules
            self.said = append_decisions(self.run.decisions, lines)
            self._decide()
            return self._changes(before)

    def undo(self, id_: str | None = None) -> tuple[UserDecision | None, tuple[Change, ...]]:
        """Take a decision back, the last one if none is named; None if there is nothing to take back."""
        with self.lock:
            taken = next((line for line in self.said.standing if line.id == id_), None) if id_ else self.said.last()
            if taken is None:
                return None, ()
            return taken, self.say(UserDecision(taken.term, Said.TAKEN_BACK, about=taken.id))

    def question(self, term: str | None = None, worth: float = WORTH) -> Question | NoQuestion:
        """The next question, on one term or on all; or why there is none."""
        with self.lock:
            some = self.decisions
            if term is not None:
                some = {term: self.decisions[term]} if term in self.decisions else {}
            answered = {name: facts.keys() for name, facts in self.said.facts.items()}
            # What examples speak of, and what bears on their mapping, comes before terms that nobody gave one of.
            first = {name: one for name, one in some.items() if self.pools.terms.measured and self._is_mapped(one)}
            found = self.questions.next(first, answered, worth)
            unthought = self._unthought(term)
            if isinstance(found, Question) or (len(first) == len(some) and not unthought):
                return found
            return self.questions.next(some, answered, worth, unthought)

    def _unthought(self, term: str | None = None) -> list[str]:
        """The terms that only the user can tell of, for nothing here is called like them; or the one that is asked for.

        Of a vocabulary that is much larger than the database most are not there, and nobody is asked about each.
        """
        if self.network is None or (term is None and not self.questions.is_roomy):
            return []
        names = (one.name for one in self.ontology.terms) if term is None else (term,)
        gone = {*self.decisions, *self.applied.silent, *self.replay.terms}
        return [name for name in names if name not in gone]

    @property
    def state(self) -> MappingState:
        """How many terms are mapped, how surely, and of how many a question is worth asking."""
        with self.lock:
            mapped = list(self._shown)
            sure = sum(map(self.certainty, mapped)) / max(1, len(mapped))
            asked = len(self.questions.doubts(self.decisions)) + len(self._unthought())
            terms = {term.name for term in self.ontology.terms} | self.decisions.keys()
            return MappingState(len(terms), len(mapped), sure, asked)

    def certainty(self, term: str) -> float:
        """The one figure that is shown of a term that is mapped, as the report and the terminal tell it."""
        decision = self.decisions[term]
        return 1.0 if decision.word else certainty_of(decision, self.pools.terms.calibration)

    @property
    def _shown(self) -> dict[str, Decision]:
        """The decisions that count; what is drafted of a term whose own examples no rule derives does not."""
        pools = self.pools.terms.pools
        against = {
            term
            for term, one in self.decisions.items()
            if one.drafted and term in pools and pools[term].positives and not one.measured.pool.positives
        }
        return {t: one for t, one in self.decisions.items() if is_shown(one, self.request) and t not in against}

    def _is_mapped(self, decision: Decision) -> bool:
        """Whether a term has examples, or is in the mapping without any."""
        if decision.measured.pool.positives or decision.word:
            return True
        return decision.drafted and decision.posterior >= self.request.min_confidence

    def answer(self, question: Question, choice: int | None, ids: Sequence[str] = ()) -> tuple[Change, ...]:
        """Answer a question: the place of the fact that holds, or None if none of them does, or none is known."""
        if question.is_open:
            return self.cannot_tell(question)
        if choice is None:
            lines = [UserDecision(question.term, Said.FAILS, fact) for fact in question.facts]
        else:
            about = NAMED if question.named else ""
            lines = [UserDecision(question.term, Said.HOLDS, question.facts[choice], about=about)]
        return self.say(*(replace(line, id=id_) for line, id_ in zip(lines, ids, strict=True)) if ids else lines)

    def named(self, term: str, fact: Fact, id_: str | None = None) -> tuple[Change, ...] | Question:
        """Say that a fact holds, in the user's words; if they may mean several things, which of these is asked."""
        with self.lock:
            meant = self.ontology.find(term)
            bodies = dict.fromkeys(Body(rule) for one in self.hypotheses(term) for rule in one.rules)
            if self.network is not None:
                bodies |= dict.fromkeys(self.network.offered(term))
            found = named_facts(fact, meant, bodies, self.replay)
            if len(found) == 1:
                return self.say(UserDecision(term, Said.HOLDS, next(iter(found)), about=NAMED, id=id_ or new_id()))
            facts = tuple(found)
            if len(facts) > MOST_ROWS:
                some_told = "; ".join(", ".join(one) for one in facts[:MOST_ROWS])
                raise InputError(
                    f"{len(facts)} things are called {', '.join(fact)}; write the one with its table: {some_told} …"
                )
            some = tuple(Hypothesis(() if body is None else (body.of(term),), 0.0) for body in map(found.get, facts))
            return Question(term, facts, 0.0, some, tuple((place,) for place in range(len(facts))), named=True)

    def deriving(self, question: Question, place: int) -> list[Rule]:
        """The rules that derive one of a question's facts, those of what is most believed first."""
        fact = question.facts[place]
        some = (rule for number in question.derived_by[place] for rule in question.hypotheses[number].rules)
        with self.lock:
            return [rule for rule in dict.fromkeys(some) if self.replay.derived.by(rule, [fact])[0]]

    def cannot_tell(self, question: Question) -> tuple[Change, ...]:
        """Say that none of a question's facts can be told; or that no fact comes to mind."""
        if question.is_open:
            return self.say(UserDecision(question.term, Said.NONE_KNOWN))
        return self.say(*(UserDecision(question.term, Said.UNKNOWN, fact) for fact in question.facts))

    @property
    def rules(self) -> dict[str, tuple[str, ...]]:
        """The rules of each term that would be written into the mapping, or guessed."""
        shown = self._shown
        return {term: tuple(map(rule_text, one.rules)) for term, one in shown.items()}

    def _changes(self, before: Mapping[str, tuple[str, ...]]) -> tuple[Change, ...]:
        after = self.rules
        names = dict.fromkeys([*before, *after])
        pairs = ((name, before.get(name, ()), after.get(name, ())) for name in names)
        return tuple(Change(*one) for one in pairs if set(one[1]) != set(one[2]))

    def hypotheses(self, term: str) -> tuple[Hypothesis, ...]:
        """What may be meant by a term."""
        return hypotheses_of(self.decisions[term]) if term in self.decisions else ()

    def proposal(self, term: str) -> Proposal:
        """The decision on a term with all that speaks for it."""
        with self.lock:
            if term not in self._explained:
                meant = self.ontology.find(term)
                decision = self.decisions.get(term)
                reason = why_nothing(term, {**self.pools.terms.reasons, **self.applied.silent}, self.said)
                if (
                    decision is not None
                    and not decision.drafted
                    and (decision.measured.pool.positives or decision.word)
                ):
                    calibration = self.pools.terms.calibration
                    self._explained[term] = explain(decision, meant, self.derivations, calibration=calibration)
                else:
                    self._explained[term] = proposal_without_examples(
                        meant, decision, self.derivations, reason, self.request
                    )
            return self._explained[term]

    def sample(self, rules: Sequence[Rule], limit: int) -> list[Fact]:
        """Some facts that rules derive."""
        with self.lock:
            return [tuple(map(str, row)) for row in self.derivations.sample(rules, limit)]

    @property
    def disagreements(self) -> frozenset[str]:
        """The terms for which counting examples alone would choose other rules."""
        with self.lock:
            if self._rivals is None:
                counted = self.replay.decided(self.applied.measured, Ranker.COVERAGE, self.applied)
                self._rivals = frozenset(
                    term
                    for term, other in counted.items()
                    if other.measured.pool.positives and set(other.rules) != set(self.decisions[term].rules)
                )
            return self._rivals

    def export(self, progress: Progress = silent) -> Delivery:
        """Write the mapping, the evidence and the report, as `propose-mappings` does."""
        with self.lock:
            # Its schema and tables were chosen when it was opened.
            opened = replace(self.request, db=self.database, schema=None, include=(), exclude=())
            return propose_held(opened, progress)


@contextmanager
def open_review(request: ProposeRequest, progress: Progress = silent) -> Iterator[ReviewSession]:
    """A review of a run against its live database, measured and decided; what is not said is as it was proposed."""
    run = Run.of(request.run)
    dataset = read_dataset(run)
    request = as_proposed(request, proposed_before(run))
    ontology = run_ontology(request, dataset)
    said = read_decisions(run.decisions)
    with live_database(request, dataset) as database:
        notes: list[str] = []
        structure = united(live_structure(run, database, notes), said, notes)
        pools = measured_pools(request, dataset, ontology, database, structure, progress)
        yield ReviewSession(run, request, database, structure, pools, ontology)


def measured_pools(
    request: ProposeRequest,
    dataset: Dataset,
    ontology: Ontology,
    database: Database,
    structure: Structure,
    progress: Progress = silent,
) -> Pools:
    """The pools of all terms: from examples, and from names and structure for those that have none."""
    terms = measure_terms(request, dataset, ontology, database, structure, None, progress)
    asked = (ontology.find(predicate) for predicate in terms.reasons)
    rest = [term for term in dict.fromkeys((*ontology.terms, *asked)) if term.name not in terms.measured]
    guessed = guess_pools(rest, terms.measure, progress, named=len(ontology.terms) > _MANY_TERMS)
    found = {one.pool.predicate: one for one in terms.measure.all_measured(guessed) if one is not None}
    if not terms.measured and not found:
        raise InputError(f"{request.run}: no rule is in question for any term; is the database empty?")
    return Pools(terms, {**terms.measured, **found})
