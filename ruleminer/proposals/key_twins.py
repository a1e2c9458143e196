"""Properties of the rows of a table, told by another table that links to it: mostly all rows are meant.

`price(x, y) <- InvoiceLine(TrackId: x, UnitPrice: y)` has the prices of the tracks that were sold. Where
`Track(TrackId: x, UnitPrice: y)` derives the same examples, the link only chooses among its rows, and that is a
condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ruleminer.proposals.pool import Pool
from ruleminer.rules.values import Place, Rule
from ruleminer.sources.schema import Schema
from ruleminer.structure.words import likeness

_SAME_NAME = 0.8  # likeness of two columns that hold the same of a thing


@dataclass(frozen=True, slots=True)
class _Plain:
    """A rule that has subject and value in one row."""

    subject: Place
    value: Place
    spelt: tuple[object, ...]  # how its arguments are put together
    alone: bool  # whether the row is all that it asks for


def restricted_twins(pool: Pool, schema: Schema) -> list[bool]:
    """Of each rule: whether its subjects stand in a link, and another has them in the key that it leads to.

    The other must take its values from a column of the same name, and derive all examples that this one does.
    """
    plain = [_plain(rule) for rule in pool.rules]
    by_subject: dict[Place, list[int]] = {}
    for i, one in enumerate(plain):
        if one is not None:
            by_subject.setdefault(one.subject, []).append(i)
    keys, links = schema.keys, dict(schema.links)

    def has_twin(i: int) -> bool:
        one = plain[i]
        if one is None or one.subject in keys:
            return False
        return any(
            twin.alone
            and twin.spelt == one.spelt
            and likeness(twin.value.column, one.value.column) >= _SAME_NAME
            and bool((pool.covers[k] | ~pool.covers[i]).all())
            for end in _ends(one.subject, links)
            if end in keys
            for k in by_subject.get(end, ())
            if (twin := plain[k]) is not None
        )

    return [has_twin(i) for i in range(len(plain))]


def _ends(place: Place, links: dict[Place, Place]) -> Iterator[Place]:
    seen = {place}
    while place in links and links[place] not in seen:
        place = links[place]
        seen.add(place)
        yield place


def _plain(rule: Rule) -> _Plain | None:
    if len(rule.arguments) != 2:
        return None
    positions = rule.positions
    subjects, values = (
        [one for variable in rule.variables_of(argument) for one in positions.get(variable, ())]
        for argument in rule.arguments
    )
    together = [(s.place, v.place) for s in subjects for v in values if s.atom == v.atom]
    if len(together) != 1 or len(values) != 1:
        return None
    concats = (rule.definition_of(argument) for argument in rule.arguments)
    spelt = tuple(None if one is None else _fixed(one.parts) for one in concats)
    return _Plain(*together[0], spelt, len(rule.body) == 1 and len(rule.body[0].columns) == 2 and not rule.exclusions)


def _fixed(parts: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(part if isinstance(part, str) else type(part).__name__ for part in parts)
