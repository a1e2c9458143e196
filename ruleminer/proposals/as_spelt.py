"""Things as another rule spells them: `8` of `site(id: x)` is `http://a.org/8` of `x = "http://a.org/" ++ a`.

Classes whose things have one key may be shown by keys here and by IRIs there; they are the same things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, unquote_plus

from ruleminer.proposals.identity import entity_key
from ruleminer.rules.transformations import IN_IRIS, transformed
from ruleminer.rules.values import Concat, Part, Rule, Transformed, Variable, variable_in
from ruleminer.structure.structure import Structure


def as_spelt(things: Iterable[str], by: Rule, like: Rule, structure: Structure, place: int = 0) -> list[str]:
    """What one rule derives (as its argument at a `place`) as another of a class spells it, if both are of one key.

    Things of which the key cannot be told are left out.
    """
    argument, other = by.arguments[place], like.arguments[0]
    (own_key, own), (key, others) = entity_key(by, argument, structure), entity_key(like, other, structure)
    if own_key != key or len(own) != len(others):
        return []
    spelt, spelling = _spelling(by, argument), _spelling(like, other)
    if _parts(spelt, own) == _parts(spelling, others):
        return list(things)
    read = (_read(text, spelt) for text in things)
    return [
        _written(spelling, {other: values[one] for one, other in zip(own, others, strict=True)})
        for values in read
        if values is not None
    ]


def _spelling(rule: Rule, argument: Variable) -> Concat:
    return rule.definition_of(argument) or Concat((argument,))


def _parts(spelling: Concat, key: tuple[Variable, ...]) -> list[tuple[object, ...]]:
    """A spelling whatever its variables are called."""
    named = ((part, variable_in(part)) for part in spelling.parts)
    return [
        (key.index(variable), part.name if isinstance(part, Transformed) else "") if variable is not None else (part,)
        for part, variable in named
    ]


def _read(text: str, spelling: Concat) -> dict[Variable, str] | None:
    """The values that a text is put together of; None if it is not, or cannot be taken apart."""
    pattern = "".join(re.escape(part) if isinstance(part, str) else "(.+)" for part in spelling.parts)
    found = re.fullmatch(pattern, text, re.DOTALL)
    made_of = [part for part in spelling.parts if not isinstance(part, str)]
    if found is None or any(isinstance(part, Transformed) and part.name not in IN_IRIS for part in made_of):
        return None
    values = {
        variable: _decoded(part, piece)
        for part, piece in zip(made_of, found.groups(), strict=True)
        if (variable := variable_in(part)) is not None
    }
    return values if _written(spelling, values) == text else None


def _decoded(part: Part, piece: str) -> str:
    if not isinstance(part, Transformed):
        return piece
    return unquote_plus(piece) if part.name == "plus" else unquote(piece)


def _written(spelling: Concat, values: dict[Variable, str]) -> str:
    def text_of(part: Part) -> str:
        variable = variable_in(part)
        if variable is None:
            return str(part)
        return str(transformed(part, values[variable])) if isinstance(part, Transformed) else values[variable]

    return "".join(map(text_of, spelling.parts))
