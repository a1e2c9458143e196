"""Rules for facts that the user knows to hold and that no rule in question derives: searched for as `extract` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ruleminer.errors import DatabaseError, InputError, SearchTimeError
from ruleminer.extraction.search import rules_deriving
from ruleminer.problem.decisions import Arguments
from ruleminer.problem.facts import Fact
from ruleminer.problem.ontology import Ontology
from ruleminer.proposals.derived_facts import DerivedFacts
from ruleminer.rules.body import Body

# Searches after one word of the user; one does for all facts, but one that cannot be read spoils it for others.
_MOST_SEARCHES = 8
_MOST_SEARCHED = 200  # facts
_TOO_MANY = "it is one of too many facts to search for"

TermFact = tuple[str, Arguments]


@dataclass
class RuleSearch:
    """What was searched for in one database, each fact once."""

    derived: DerivedFacts
    ontology: Ontology
    known: dict[TermFact, tuple[Body, ...]] = field(default_factory=dict)

    def again(self, derived: DerivedFacts) -> RuleSearch:
        """The same after one more word of the user."""
        return RuleSearch(derived, self.ontology, self.known)

    def found(self, term: str, facts: Iterable[Arguments]) -> tuple[Body, ...]:
        """The rules that were found for some facts so far."""
        return tuple(dict.fromkeys(body for fact in facts for body in self.known.get((term, fact), ())))

    def of(self, term: str, fact: Arguments) -> tuple[Body, ...]:
        """The rules that derive one fact."""
        if (term, fact) not in self.known:
            self._search([(term, fact)])
        return self.known[term, fact]

    def look_for(self, facts: Iterable[TermFact]) -> None:
        """Search for all of these that were not searched for; what cannot be had now is noted as unanswered."""
        unanswered = self.derived.unanswered
        open_ = [one for one in facts if one not in self.known and one not in unanswered]
        waiting = [open_[:_MOST_SEARCHED]] if open_ else []
        unanswered.update(dict.fromkeys(open_[_MOST_SEARCHED:], _TOO_MANY))
        for _ in range(_MOST_SEARCHES):
            if not waiting:
                return
            some = waiting.pop(0)
            try:
                self._search(some)
            except (DatabaseError, SearchTimeError) as problem:  # it may be answered another time
                unanswered.update(dict.fromkeys(some, str(problem)))
            except InputError:  # there is no such thing as one of them
                middle = len(some) // 2
                waiting += [some[:middle], some[middle:]] if middle else []
                self.known |= {} if middle else {some[0]: ()}
        unanswered.update((one, _TOO_MANY) for some in waiting for one in some)

    def _search(self, some: Sequence[TermFact]) -> None:
        derivations = self.derived.derivations
        names = {term: self.ontology.find(term).name for term, _ in some}
        examples = [Fact(names[term], fact, (None,) * len(fact)) for term, fact in some]
        found = rules_deriving(examples, derivations.database, derivations.structure, self.ontology)
        self.derived.ask([(body, [fact]) for term, fact in some for body in found.get(names[term], ())])
        for term, fact in some:
            own = found.get(names[term], ())
            self.known[term, fact] = tuple(body for body in own if self.derived.known.get((body, fact)))
