"""A decision: the rules that are chosen for one term, and what they were chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ruleminer.proposals.ranking import Measured, Ranking, model_is_heard
from ruleminer.proposals.slips import Slip
from ruleminer.rules.values import Rule

if TYPE_CHECKING:
    from ruleminer.proposals.joint import Belief

NAMED = 0.8  # how well the names of a rule must fit that no example speaks for
_SURE = 0.9  # the posterior from which a model's word will do where names are silent


@dataclass(frozen=True)
class Decision:
    """The choice for one term, and what it was chosen from."""

    measured: Measured
    ranking: Ranking
    posterior: float  # of the choice and of what nothing tells from it
    word: str = ""  # of the user, if the choice is theirs: accepted, pinned or edited
    none: float = 0.0  # that the database has nothing of the term, where the network decided
    drafted: bool = False  # whether it did
    beliefs: tuple[Belief, ...] = ()  # of the term's parts, where it did
    likely: tuple[Belief, ...] = ()  # those that are mapped
    turned: tuple[str, ...] = ()  # the reason, where the choice is an inverse's
    implied: Mapping[int, str] = field(default_factory=dict)  # parts that no example shows, and what they follow from
    slip: Slip | None = None  # the example that is taken for a slip

    @property
    def reasons(self) -> tuple[str, ...]:
        """In words, why the network decided so."""
        if self.turned:
            return self.turned
        return tuple(dict.fromkeys(reason for belief in self.likely for reason in belief.reasons))

    @property
    def chosen(self) -> tuple[int, ...]:
        """The choice, by place in the pool: one rule, or the rules of a union."""
        return self.ranking.chosen

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are chosen."""
        return tuple(self.measured.pool.rules[i] for i in self.chosen)

    @property
    def rivals(self) -> tuple[int, ...]:
        """The rules that lost, best first, by place in the pool."""
        return tuple(i for i in self.ranking.order.tolist() if i not in self.chosen)

    def is_absent(self, min_confidence: float) -> bool:
        """Whether the network rather believes that there is nothing of the term, and no answer says otherwise."""
        chosen = self.measured.pool.covers[list(self.chosen)]
        return self.drafted and not chosen.any() and self.posterior < min(self.none, min_confidence)

    @property
    def is_founded(self) -> bool:
        """Whether anything speaks for the choice: the user, an example, a name, or a model that is sure."""
        measured = self.measured
        if self.drafted:  # the posterior says it all
            return True
        if self.word or measured.pool.positives or measured.priors[self.chosen[0]].names >= NAMED:
            return True
        return model_is_heard(measured, self.ranking.ranker) and self.posterior >= _SURE
