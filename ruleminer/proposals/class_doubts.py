"""What to tell of a class that gets the rows of another, though nothing narrows it for sure: what its examples share.

One code that all of them share may be what is meant, or an accident: the one is told that they would share least often
by chance. So is a column in which none of them says that there is nothing, though other rows do (`paid = 0`), and the
one example that is of another class by all that the others say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ruleminer.proposals.as_spelt import as_spelt
from ruleminer.proposals.candidate_sets import Arguments
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.identity import entity_key
from ruleminer.proposals.kind_codes import conditions_beyond, is_within
from ruleminer.proposals.no_values import stands_for_none
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.ranking import Measured
from ruleminer.proposals.refine import MOSTLY
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Atom, Rule, Variable
from ruleminer.structure.nothing import NOTHING

_LEAST = 3  # examples: of two neither is the odd one
_SOME = 0.05  # share of rows that say that there is nothing
_SAID = Variable("said")


def shared_code(name: str, one: Measured, before: Rule, derivations: Derivations) -> str:
    """What to tell of a code of which all examples of a class have one value, and not all rows of its table.

    Most of them will do where the value is called like the class: one may be a slip.
    """
    pool, structure = one.pool, derivations.structure
    key, examples = entity_key(before, before.arguments[0], structure)[0], len(pool.positives)
    shared: list[tuple[int, float, str]] = []
    for place in np.argsort(-one.sizes, kind="stable").tolist():
        rule, covered = pool.rules[place], int(pool.covers[place].sum())
        narrows = is_within(rule, before) and entity_key(rule, rule.arguments[0], structure)[0] == key
        if not narrows or not rule.constants or pool.hits[place, ~pool.drawn].any():
            continue
        if not (conditions := conditions_beyond(rule, before)):
            continue
        if covered == examples:
            shared.append((len(conditions), float(one.sizes[place]), conditions[0]))
        elif not one.priors[place].conditions and covered >= max(2, MOSTLY * examples):
            value = rule.constants[0][1].value
            lacking = [f"{name}({'/'.join(pool.positives[i])})" for i in np.flatnonzero(~pool.covers[place])]
            share = f"{covered} of its {examples} examples share {value}, {conditions[0]}, which is called like it"
            return f"{share}: if only such are meant, take {' and '.join(lacking[:3])} out"
    if not shared:
        return ""
    return f"its examples share {min(shared)[2]}: if only such are meant, say so by a counter-example"


def never_nothing(one: Measured, before: Rule, derivations: Derivations) -> str:
    """What to tell of a column that says nothing (0, -1, n/a) in some rows, and in those of the examples never."""
    profile, database = derivations.structure.profile, derivations.database
    found: list[tuple[float, str, str]] = []
    asked: list[tuple[str, str, float, Rule]] = []
    for number, atom in enumerate(before.body):
        used = {column for column, _ in atom.columns}
        for column in database.schema.table(atom.table).columns:
            own = profile.column(atom.table, column.name)
            if column.name in used or own is None or own.distinct <= 2 or not own.filled:
                continue
            least = str(own.span[0]) if own.span is not None and own.span[0] in NOTHING else None
            for text, rows in own.common:
                if (text == least or stands_for_none(text)) and rows >= _SOME * own.filled:
                    wider = Atom(atom.table, (*atom.columns, (column.name, _SAID)))
                    body = (*before.body[:number], wider, *before.body[number + 1 :])
                    rule = replace(before, arguments=(*before.arguments, _SAID), body=body)
                    asked.append((f"{column.name} of {atom.table}", text, rows / own.filled, rule))
    answers = derivations.companions([(rule, one.pool.positives) for *_, rule in asked])
    for (column_text, text, share, _), pairs in zip(asked, answers, strict=True):
        filled = {fact for fact, value in pairs or () if value != text}
        if len(filled) == len(one.pool.positives) and not any(value == text for _, value in pairs or ()):
            found.append(((1.0 - share) ** len(filled), column_text, text))
    if not found:
        return ""
    _, column_text, text = min(found)
    said = text or repr(text)
    return f"no example of it has {said} in {column_text}, as some rows do: give one if all are meant"


def odd_one(
    pool: Pool, denied: int, before: Rule, others: Sequence[str], rules: Mapping[str, Rule], derivations: Derivations
) -> str:
    """What to tell of the one example that another class has, where a rule derives all others and none of that class's.

    The last of a pool's counter-examples, so many as are `denied`, are examples of the others.
    """
    examples, structure = len(pool.positives), derivations.structure
    key = entity_key(before, before.arguments[0], structure)[0]
    if examples < _LEAST:
        return ""
    alone = pool.covers.sum(axis=1) == examples - 1
    fit = alone & ~pool.hits[:, pool.hits.shape[1] - denied :].any(axis=1)
    rivals = [
        place
        for place in np.flatnonzero(fit).tolist()
        if not pool.rules[place].constants
        and entity_key(pool.rules[place], pool.rules[place].arguments[0], structure)[0] == key
    ]
    if not rivals:
        return ""
    best = min(rivals, key=lambda place: pool.bodies[place].order)
    odd: Arguments = pool.positives[int(pool.covers[best].argmin())]
    asked = [(rules[other], [(text,) for text in as_spelt(odd, before, rules[other], structure)]) for other in others]
    has_it = [
        other for other, derived in zip(others, derivations.coverage(asked), strict=True) if derived and all(derived)
    ]
    if not has_it:
        return ""
    shape = rule_text(pool.rules[best]).partition(" <- ")[2]
    told = f"its other {examples - 1} examples are all of {shape}, and {before.predicate}({odd[0]}) is of {has_it[0]}"
    return f"{told}: if that is a mistake, take it out"
