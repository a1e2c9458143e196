"""Fixed text in an IRI that another rule takes from a column: a value that was chosen, like a constant in the body.

    Core(x) <- core(number: b), x = "http://h/wellbore/5/core/" ++ b
    Core(x) <- core(wellbore: a, number: b), x = "http://h/wellbore/" ++ a ++ "/core/" ++ b

Of one or two examples, every piece that they share may be fixed text. The first rule derives little, and the size
principle would have it for that; but it names one of all wellbores, where the second takes them as they come. So it
pays for what it names: the column, and which of its values. It does so only if the second derives all examples that
it derives itself, and not for words that name a term of the ontology (`…/member/…`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ruleminer.proposals.pool import Pool
from ruleminer.rules.values import Place, Rule, variable_in

_HOLE = "\0"
_MOST = 150  # shapes of a pool that are compared with each other, those that derive most examples first


@dataclass(frozen=True, slots=True)
class Named:
    """What a rule's fixed text names: a text, and the column from which another rule takes it."""

    text: str
    place: Place


def named_values(pool: Pool) -> list[tuple[Named, ...]]:
    """For each rule of a pool what its fixed text names; as little as any one other rule shows."""
    shapes: dict[tuple[str, ...], list[int]] = {}
    for number, rule in enumerate(pool.rules):
        if shape := _shape(rule):
            shapes.setdefault(shape, []).append(number)
    found: list[tuple[Named, ...]] = [()] * len(pool.rules)
    if len(shapes) < 2:
        return found
    derived = pool.covers.sum(axis=1)
    best = {shape: max(rules, key=lambda i: int(derived[i])) for shape, rules in shapes.items()}
    compared = sorted(shapes, key=lambda shape: -int(derived[best[shape]]))[:_MOST]
    wider = [(shape, [re.compile(_pattern(text), re.DOTALL) for text in shape], best[shape]) for shape in compared]
    for shape in compared:
        holes = _holes(shape)
        shown = [
            (other, named)
            for theirs, patterns, other in wider
            if _holes(theirs) > holes and (named := _named(shape, patterns, pool.rules[other]))
        ]
        for number in shapes[shape]:
            fitting = [named for other, named in shown if not np.any(pool.covers[number] & ~pool.covers[other])]
            found[number] = min(fitting, key=len, default=())
    return found


def _shape(rule: Rule) -> tuple[str, ...]:
    """The IRIs of a rule's arguments, with a mark for each column; empty if none is put together."""
    texts = []
    for argument in rule.arguments:
        concat = rule.definition_of(argument)
        is_iri = concat is not None and concat.is_path
        texts.append("".join(p if isinstance(p, str) else _HOLE for p in concat.parts) if concat and is_iri else _HOLE)
    return tuple(texts) if any(text != _HOLE for text in texts) else ()


def _holes(shape: Sequence[str]) -> int:
    return sum(text.count(_HOLE) for text in shape)


def _pattern(text: str) -> str:
    return "(.+?)".join(map(re.escape, text.split(_HOLE)))


def _named(shape: Sequence[str], patterns: Sequence[re.Pattern[str]], wider: Rule) -> tuple[Named, ...]:
    """What the texts of a shape name, where a wider rule has columns; nothing if it is not wider."""
    named: list[Named] = []
    for text, pattern, variables in zip(shape, patterns, _variables(wider), strict=True):
        matched = pattern.fullmatch(text)
        if matched is None:
            return ()
        for part, place in zip(matched.groups(), variables, strict=True):
            if _HOLE not in part and place is not None:
                named.append(Named(part, place))
    return tuple(dict.fromkeys(named))


def _variables(rule: Rule) -> Iterator[list[Place | None]]:
    """For each argument the columns at its marks."""
    positions = rule.positions
    for argument in rule.arguments:
        concat = rule.definition_of(argument)
        if concat is None or not concat.is_path:
            yield [None]
            continue
        variables = [variable_in(part) for part in concat.parts if not isinstance(part, str)]
        yield [positions[one][0].place if one is not None and one in positions else None for one in variables]
