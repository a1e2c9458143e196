"""Several shapes of one class's IRIs: what tells them apart.

    Item(x) <- item(shop: a, number: b, dept: null), x = "http://h/shop/" ++ a ++ "/item/" ++ b
    Item(x) <- item(shop: a, number: b, dept: c), x = "http://h/shop/" ++ a ++ "/dept/" ++ c ++ "/item/" ++ b

A column that one shape is made of and another is not is often what chooses between them: rows without it have the other
shape. The rule of the other shape then asks for it to be empty, or it would give every row a second name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ruleminer.proposals.pool import Pool
from ruleminer.rules.body import Body
from ruleminer.rules.values import Atom, Empty, Place, Rule
from ruleminer.sources.schema import Schema

_MOST = 20  # rules that are added to a pool


def conditions_of_shapes(pools: Sequence[Pool], schema: Schema) -> list[list[Rule]]:
    """For each pool: its rules that spell IRIs, with the columns that only longer shapes have as empty."""
    return [list(dict.fromkeys(_told_apart(pool, schema)))[:_MOST] for pool in pools]


def _told_apart(pool: Pool, schema: Schema) -> Iterator[Rule]:
    spelled = {number: places for number, rule in enumerate(pool.rules) if (places := _spelled(rule))}
    known = set(pool.bodies)
    for number, own in spelled.items():
        rule = pool.rules[number]
        for other, places in spelled.items():
            if not places > own:
                continue
            ours, theirs = pool.covers[number], pool.covers[other]
            if not (ours & ~theirs).any() or not (theirs & ~ours).any():  # each has examples of its own
                continue
            narrower = _without(rule, places - own, schema)
            if narrower is not None and Body(narrower) not in known:
                yield narrower


def _spelled(rule: Rule) -> frozenset[Place]:
    """The columns that the IRI of a rule's first argument is made of."""
    concat = rule.definition_of(rule.arguments[0])
    return frozenset(rule.places_of(rule.arguments[0])) if concat is not None and concat.is_path else frozenset()


def _without(rule: Rule, places: frozenset[Place], schema: Schema) -> Rule | None:
    """The rule for rows in which these columns are empty; None if they cannot be, or it speaks of them itself."""
    body = list(rule.body)
    for place in sorted(places):
        fitting = [number for number, atom in enumerate(body) if atom.table == place.table]
        if len(fitting) != 1 or place.table not in schema or not schema.type_of(*place).nullable:
            return None
        atom = body[fitting[0]]
        if place.column in (column for column, _ in atom.columns):
            return None
        body[fitting[0]] = Atom(atom.table, (*atom.columns, (place.column, Empty())))
    return replace(rule, body=tuple(body))
