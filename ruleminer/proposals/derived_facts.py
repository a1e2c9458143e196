"""Which facts rules derive from the live database, as the user writes them; each is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ruleminer.problem.decisions import Arguments
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule


@dataclass
class DerivedFacts:
    """What one database said of rules and facts."""

    derivations: Derivations
    known: dict[tuple[Body, Arguments], bool] = field(default_factory=dict)
    # What the database could not answer, perhaps for a time limit, and why, as far as that is told.
    unanswered: dict[object, str] = field(default_factory=dict)

    def again(self) -> DerivedFacts:
        """The same after one more word of the user: what could not be answered may be asked again."""
        return DerivedFacts(self.derivations, self.known)

    def by(self, rule: Rule | Body, facts: Sequence[Arguments]) -> list[bool]:
        """Which facts the rule derives; none where it cannot be asked."""
        body = rule if isinstance(rule, Body) else Body(rule)
        self.ask([(body, facts)])
        return [self.known.get((body, fact), False) for fact in facts]

    def ask(self, asked: Sequence[tuple[Body, Sequence[Arguments]]]) -> None:
        """Ask which of these facts the rules beside them derive, as far as it is not known, many at a time."""
        open_: list[tuple[Body, list[Arguments], list[Arguments]]] = []
        texts = self.derivations.texts
        for body, facts in asked:
            fresh, plain = [], []
            for fact in facts:
                if (body, fact) in self.known or (body, fact) in self.unanswered:
                    continue
                keys = texts.read(body, fact)
                if keys is None:  # things of other spaces
                    self.known[body, fact] = False
                else:
                    fresh.append(fact)
                    plain.append(keys)
            if fresh:
                open_.append((body, fresh, plain))
        if not open_:
            return
        answers = self.derivations.coverage([(body.rule, keys) for body, _, keys in open_])
        for (body, facts, _), answer in zip(open_, answers, strict=True):
            if answer is None:
                self.unanswered.update(((body, fact), "") for fact in facts)
            else:
                self.known.update(((body, fact), bool(yes)) for fact, yes in zip(facts, answer, strict=True))

    def gone(self, fact: Arguments) -> str:
        """The first thing of a fact that is told with its table and that the database does not have; "" if none."""
        texts = self.derivations.texts
        for text in fact:
            told = texts.told(text)
            if told is None:
                continue
            body = Body(texts.itself(told[0]))
            if not self.by(body, [(text,)])[0] and (body, (text,)) not in self.unanswered:
                return text
        return ""
