"""What the user said of a term that no example speaks for, as evidence on each rule: how the network hears of it.

An answer is right but for a share ε of slips, and says nothing of a rule's size, for we chose the fact:

    p(yes | h) = 1 − ε  if h derives the fact,  ε  otherwise          p(no | h) = 1 − p(yes | h)

Of a term with several parts, another may derive the fact: p(yes | h) is then no less than the belief that one does. A
fact that the user named, of all that there are, is hardly one that a wrong rule derives by chance: ε is less there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ruleminer.rules.body import Body

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

SLIPS = 0.03
"""The share of answers that are expected to be wrong, for whoever asks and whoever hears."""

_NAMED_SLIPS = SLIPS / 50.0  # of a wrong fact, the one that a rule derives
RULED_OUT = -50.0  # nats: what the user will not have


@dataclass(frozen=True)
class Answers:
    """What the user said of one term: K facts, rules that are rejected, rules that are kept."""

    holds: Bools = field(default_factory=lambda: np.zeros(0, bool))  # (K,)
    derives: Mapping[Body, Bools] = field(default_factory=dict)  # (K,) of each rule that derives any of the facts
    rejected: frozenset[Body] = frozenset()
    kept: tuple[Body, ...] | None = None  # the rules that the user keeps; () if the term has none
    named: Bools | None = None  # (K,): the facts that the user named, if any
    found: tuple[Body, ...] = ()  # rules for facts that hold and that none in question derives

    def derived(self, bodies: Sequence[Body]) -> Bools:
        """Which facts each rule derives: (rules, K)."""
        nothing = np.zeros(len(self.holds), bool)
        return np.array([self.derives.get(body, nothing) for body in bodies], bool).reshape(len(bodies), len(nothing))

    def log_likelihood(self, bodies: Sequence[Body], elsewhere: Floats | None = None) -> Floats:
        """Of each hypothesis, none first: (1 + rules,); `elsewhere`: how far others are believed to derive each."""
        derived = np.concatenate([np.zeros((1, len(self.holds)), bool), self.derived(bodies)])
        slips = np.where(False if self.named is None else self.named, _NAMED_SLIPS, np.full(len(self.holds), SLIPS))
        other = slips if elsewhere is None else np.clip(elsewhere, slips, 1.0 - SLIPS)
        yes = np.where(derived, 1.0 - SLIPS, other[None, :])
        found = np.log(np.where(self.holds, yes, 1.0 - np.where(derived, 1.0 - SLIPS, SLIPS))).sum(axis=1)
        found[1:] += [RULED_OUT if body in self.rejected else 0.0 for body in bodies]
        if self.kept is not None:
            found[1:] += [0.0 if body in self.kept else RULED_OUT for body in bodies]
            found[0] += RULED_OUT if self.kept else 0.0
        return np.asarray(found)

    def is_refused(self, body: Body) -> bool:
        """Whether a rule may not be chosen: it is rejected, or derives facts that do not hold and not more that do."""
        own = self.derives.get(body)
        if body in self.rejected or own is None:
            return body in self.rejected
        wrong, right = int((own & ~self.holds).sum()), int((own & self.holds).sum())
        return wrong > 0 and wrong >= right
