"""Values that stand for "no value": 9999-12-31 where an end is open, -1, n/a.

    validTo(x, y) <- licence(id: x, valid_to: y), y <> 9999-12-31

Nobody publishes such a value, so no example has it, however often it stands in the column. A rule that publishes a
column is therefore tried without the value that is most frequent there (where values were not counted: the least and
the greatest), if examples drawn at random would have shown it twice and more, and none does. It competes like any
other rule, and pays for the value. What a link says where it leads to nothing (0, below all keys) costs nothing to
leave out, however few the examples are: there is no such thing. Nor does what stands for nothing by habit, such as an
empty text (`often_nothing.py`); a frequent value is then left out beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.no_values import stands_for_none
from ruleminer.proposals.often_nothing import often_nothing
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Constant, Place, Rule, Variable
from ruleminer.structure.profile import ColumnProfile
from ruleminer.structure.structure import Structure

_BASES = 4  # rules of a pool that are looked at: the best, which may be parts of a union
_EXPECTED = 2.0  # examples with the value that there would be, were it published …
_EXPECTED_OF_NONE = 1.0  # … and with one that stands for no value wherever it stands, 9999-12-31


def without_placeholders(
    measured: Sequence[Measured],
    derivations: Derivations,
    weights: PriorWeights,
    nothing: dict[Place, str],
) -> list[list[Rule]]:
    """For each pool: its best rules, each without a frequent value that no example has.

    What stands for nothing is known of links; what is learnt of other columns joins it.
    """
    bases = [_bases(one, weights) for one in measured]
    values = (
        rule.positions[variable][0].place
        for one, some in zip(measured, bases, strict=True)
        for rule in (one.pool.rules[base] for base in some)
        if len(rule.arguments) > 1 and rule.definition_of(rule.arguments[1]) is None
        for variable in rule.variables_of(rule.arguments[1])
    )
    nothing |= often_nothing((place for place in values if place not in nothing), derivations)
    structure = derivations.structure
    return [
        list(dict.fromkeys(_narrower(one, some, structure, nothing))) for one, some in zip(measured, bases, strict=True)
    ]


def _bases(measured: Measured, weights: PriorWeights) -> list[int]:
    """The best rules, by place in the pool, that derive more than examples and leave nothing out."""
    pool = measured.pool
    best: list[int] = rank(measured, Ranker.EVIDENCE, weights).order[:_BASES].tolist()
    return [i for i in best if not pool.rules[i].exclusions and measured.sizes[i] > pool.covers[i].sum()]


def _narrower(
    measured: Measured, bases: Sequence[int], structure: Structure, nothing: Mapping[Place, str]
) -> Iterator[Rule]:
    pool = measured.pool
    for base in bases:
        rule = pool.rules[base]
        derived = [pool.positives[i] for i in np.flatnonzero(pool.covers[base])]
        positions = rule.positions
        for number, argument in enumerate(rule.arguments):
            for variable in dict.fromkeys(rule.variables_of(argument)):
                place = positions[variable][0].place
                profile = structure.profile.column(*place)
                key = structure.profile.column(*space.key) if (space := structure.space(place)) else None
                frequent = suspects(profile, len(derived), key) if profile and len(pool.positives) >= _EXPECTED else ()
                known = [nothing[place]] if place in nothing else []
                others = [] if known and space else [text for text in frequent if text not in known]
                spelt = rule.definition_of(argument) is not None
                always: tuple[tuple[Variable, Constant], ...] = ()
                for text in (*known, *others):
                    constant = constant_of(text, structure.schema.type_of(*place).kind)
                    shown = (text in fact[number] if spelt else text == fact[number] for fact in derived)
                    if constant is not None and not (spelt and not text) and not any(shown):
                        left_out = (*always, (variable, constant))
                        always = left_out if text in known else always
                        yield replace(rule, exclusions=left_out)


def suspects(profile: ColumnProfile, examples: int, key: ColumnProfile | None) -> Iterator[str]:
    """The value that so many examples should show at least twice; where nobody counted values, the least and greatest.

    What stands for no value is mostly one of those two. How often it stands there is known to be no more than this.
    In a column that leads to a key they are things like others, if they lie among its numbers.
    """
    if profile.common:
        for text, rows in profile.common[:1]:
            expected = _EXPECTED_OF_NONE if stands_for_none(text) else _EXPECTED
            if examples * rows >= expected * profile.filled:
                yield text
    elif examples * (profile.filled - profile.distinct + 1) >= _EXPECTED * profile.filled:
        ends = (text for text in (profile.low, profile.high) if text is not None)
        low, high = key.span if key is not None and profile.span and key.span else (1, 0)
        yield from (text for text in ends if low > high or not low <= int(text) <= high)
