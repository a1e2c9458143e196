"""Refinement: what do the examples of a rule have in common that its other facts have not?

A sub-class is often told by a code: `TYPE = 2`. Extraction finds such rules where a template says so, or where
negatives contradict all others; to try every code with every template would drown it. So the best rules of a pool are
looked at again, with the examples at hand: a column of few values that says the same for most of them makes a rule of
its own, which then competes like the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ruleminer.errors import DatabaseError
from ruleminer.propose.codes import code_columns
from ruleminer.propose.extensions import Extensions
from ruleminer.propose.prior import PriorWeights
from ruleminer.propose.ranking import Judged, Ranker, rank
from ruleminer.rules.values import Atom, Constant, Kind, Rule, Variable

_BASES = 2  # rules that are looked at again
_LEAST = 4  # positives that a rule must derive; fewer cannot pay for a filter
_MOST = 60  # positives that are asked about
_AGREE = 0.6  # share of them that must say the same; some may be wrong examples
_PROBE = Variable("code")


def refinements(judged: Judged, extensions: Extensions, weights: PriorWeights) -> list[Rule]:
    """The best rules with one more condition on a code, as far as the positives agree on it."""
    pool = judged.pool
    found: dict[Rule, None] = {}
    for base in rank(judged, Ranker.EVIDENCE, weights).order[:_BASES].tolist():
        derived = [fact for fact, yes in zip(pool.positives, pool.covers[base], strict=True) if yes]
        if len(derived) < _LEAST or judged.sizes[base] <= len(derived):
            continue
        for place, column, constant in _common_codes(pool.rules[base], derived[:_MOST], extensions):
            found[_with(pool.rules[base], place, column, constant)] = None
    known = set(map(_shape, pool.rules))
    return [rule for rule in found if _shape(rule) not in known]


def _common_codes(
    rule: Rule, facts: list[tuple[str, ...]], extensions: Extensions
) -> Iterator[tuple[int, str, Constant]]:
    """The atoms and code columns of a rule on whose value most of the facts agree, with the value."""
    schema = extensions.database.schema
    for place, atom in enumerate(rule.body):
        used = {column for column, _ in atom.columns}
        for column in code_columns(schema.table(atom.table), extensions):
            if column.name in used:
                continue
            probe = replace(_with(rule, place, column.name, _PROBE), arguments=(*rule.arguments, _PROBE))
            try:
                pairs = extensions.companions(probe, facts)
            except DatabaseError:  # it cannot be asked: then there is nothing to be learned from it
                continue
            said = Counter(value for _, value in pairs)
            if said:
                value, times = min(said.items(), key=lambda item: (-item[1], item[0]))
                constant = _constant(value, column.kind)
                if times >= _AGREE * len(facts) and constant is not None:
                    yield place, column.name, constant


def _shape(rule: Rule) -> tuple[object, ...]:
    """The rule whatever the order of its columns."""
    return tuple((atom.table, frozenset(atom.columns)) for atom in rule.body), rule.definitions


def _with(rule: Rule, place: int, column: str, term: Variable | Constant) -> Rule:
    atom = rule.body[place]
    wider = Atom(atom.table, (*atom.columns, (column, term)))
    return replace(rule, body=(*rule.body[:place], wider, *rule.body[place + 1 :]))


def _constant(text: str, kind: Kind) -> Constant | None:
    """A value's lexical form as a constant of a code column's kind."""
    if kind is Kind.TEXT:
        return Constant(kind, text)
    if kind is Kind.BOOLEAN:
        return Constant(kind, text == "true")
    # SQLite keeps anything in a column of whole numbers.
    return Constant(kind, int(text)) if text.removeprefix("-").isdecimal() else None
