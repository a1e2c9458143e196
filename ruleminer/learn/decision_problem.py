"""What the decision network sees of one database and one ontology: hypotheses of all terms, and what relates them.

Arrays have a row per term and a place per hypothesis, padded; the first hypothesis of each term is *none*. Whatever
asks how two hypotheses fit is told by the sets of entities at their ends: `inside[a, b]` is the share of a in b.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Relation(IntEnum):
    """How the sender of a message is related to the receiver."""

    DOMAIN = 0  # to a property, from the class that it starts at
    RANGE = 1  # to a property, from the class that it leads to
    DOMAIN_OF = 2  # to a class, from a property that starts at it
    RANGE_OF = 3  # to a class, from a property that leads to it
    DOMAIN_KIN = 4  # the same for classes above and below the declared one
    RANGE_KIN = 5
    DOMAIN_OF_KIN = 6
    RANGE_OF_KIN = 7
    PARENT = 8  # to a class, from the one above
    CHILD = 9
    SIBLING = 10  # to a class, from one with a parent in common
    INVERSE = 11
    PARENT_PROPERTY = 12
    CHILD_PROPERTY = 13
    SAME_DOMAIN = 14  # to a property, from another that starts at the same class
    DISJOINT = 15  # to a class, from one that shares nothing with it
    SAME_TERM = 16  # to a part of a term, from what the term is of another class or kind of thing


@dataclass(frozen=True)
class Problem:
    """One mapping to decide. T terms, H hypotheses of a term at most, F features, S sets, E messages a round."""

    is_class: Bools  # (T,)
    there: Bools  # (T, H): what is no padding
    features: Floats  # (T, H, F)
    subject: Ints  # (T, H): the set at a hypothesis' first argument
    object: Ints  # (T, H): and at its second
    body: Ints  # (T, H): equal where two hypotheses derive the same rows; 0 for none
    turned: Ints  # (T, H): the body with its arguments turned round; 0 if nobody has it
    value: Ints  # (T, H): the column that a property's value comes from; 0 for none
    called: Ints  # (T, H): what that column is called, whatever table it stands in; 0 for none
    table: Ints  # (S,): the table that a set stands in
    inside: Floats  # (S, S)
    edges: Ints  # (E, 3): receiver, sender, relation
    right: Bools  # (T, H): the hypotheses that derive just what is true
    judged: Bools  # (T,): whether `right` is known and holds some hypothesis
    sizes: Floats  # (T, H): how many facts each hypothesis derives
    derives: Bools  # (T, H, K): which of K facts, to draw examples from while learning; K may be 0
    samples: Ints  # (T, 2): how many of these facts are true, and how many are others', which come next
    rows: int  # of the whole database

    def shortened(self, most: int) -> Problem:
        """The problem with so many hypotheses of each term at most, the most promising ones; judged where one is right.

        Learning takes a third of the time, and what is far down the list has little to teach.
        """
        cut = {
            name: getattr(self, name)[:, : 1 + most]
            for name in (
                "there",
                "features",
                "subject",
                "object",
                "body",
                "turned",
                "value",
                "called",
                "right",
                "sizes",
                "derives",
            )
        }
        return replace(self, **cut, judged=self.judged & cut["right"].any(axis=1))

    def save(self, path: Path) -> None:
        """Write it down, compressed."""
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **{f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Problem:
        """What `save` wrote."""
        with np.load(path, allow_pickle=False) as kept:
            found = {field.name: kept[field.name] for field in fields(cls)}
        return cls(**{**found, "rows": int(found["rows"])})
