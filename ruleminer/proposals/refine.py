"""Refinement: what do the examples of a rule have in common that its other facts have not?

A sub-class is often told by a code: `TYPE = 2`. Extraction finds such rules where a template says so, or where
negatives contradict all others; to try every code with every template would drown it. So the best rules of a pool are
looked at again, with the examples at hand: a column of codes that says the same for most of them makes a rule of
its own, which then competes like the others. Of very few examples only a code counts that is called like the term, or
what a link to few things leads to, if that is (`visit_type.name` is Emergency). Where a rule derives counter-examples,
any code counts that tells all examples from these: one value that all examples have, or all values but those of the
counter-examples; and there a link to few things may choose as well (`media_type_id`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.pool import Bools, Pool
from ruleminer.proposals.prior import PriorOf, PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Atom, Constant, Place, Rule, Variable
from ruleminer.sources.schema import Column, Link, Table
from ruleminer.structure.profile import ColumnProfile
from ruleminer.structure.structure import MOST_CODES, Structure

_BASES = 2  # rules that are looked at again
_PARTS = 2  # rules beside them, for the examples that are left
_TABLES = 20  # tables of which those codes are looked at that have a value called like the term
_LEAST = 4  # positives that a rule must derive; fewer cannot pay for a filter that no name calls for
_MOST = 60  # positives that are asked about
MOSTLY = 0.6  # share of them that must say the same; some may be wrong examples
_MOST_EXCLUDED = 5  # values that a rule leaves out
_PROBE = Variable("code")


@dataclass(frozen=True, slots=True)
class _Probe:
    """A rule of a pool with the value of a code as one more argument, asked for some of the positives."""

    base: Rule
    place: int
    column: Column
    facts: Sequence[tuple[str, ...]]
    denied: Sequence[tuple[str, ...]] = ()  # counter-examples that the base derives
    is_link: bool = False
    behind: Link | None = None  # that leads to the table whose column it is, if that is another

    @property
    def rule(self) -> Rule:
        return replace(self.wider(_PROBE), arguments=(*self.base.arguments, _PROBE))

    def wider(self, term: Variable | Constant) -> Rule:
        """The base with this value of the code."""
        if self.behind is None:
            return _with(self.base, self.place, self.column.name, term)
        start, end = self.behind
        free = _free(self.base)
        linked = _with(self.base, self.place, start.column, free)
        return replace(linked, body=(*linked.body, Atom(end.table, ((end.column, free), (self.column.name, term)))))

    def refined(self, pairs: Set[tuple[tuple[str, ...], str]], prior_of: PriorOf) -> Rule | None:
        """The rule with the value that most of the facts have, if most of them have it and it can be paid for."""
        said = Counter(value for _, value in pairs)
        if not said:
            return None
        value, times = min(said.items(), key=lambda item: (-item[1], item[0]))
        constant = constant_of(value, self.column.kind)
        if times < MOSTLY * len(self.facts) or constant is None:
            return None
        rule = self.wider(constant)
        paid = len(self.facts) >= _LEAST and self.behind is None
        return rule if paid or _is_called(rule, self.base, prior_of) else None

    def apart(self, pairs: Set[tuple[tuple[str, ...], str]], denied: Set[tuple[tuple[str, ...], str]]) -> Rule | None:
        """The rule with what tells all facts from the counter-examples: a value, or those that are left out."""
        values, others = {value for _, value in pairs}, {value for _, value in denied}
        if len({fact for fact, _ in pairs}) < len(self.facts) or not values.isdisjoint(others):
            return None
        if len(values) == 1:
            constant = constant_of(next(iter(values)), self.column.kind)
            return None if constant is None else _with(self.base, self.place, self.column.name, constant)
        if self.is_link:
            return None
        excluded = [constant_of(value, self.column.kind) for value in sorted(others)]
        if len(excluded) > _MOST_EXCLUDED or None in excluded:
            return None
        free = _free(self.base)
        wider = _with(self.base, self.place, self.column.name, free)
        return replace(wider, exclusions=(*wider.exclusions, *((free, one) for one in excluded if one is not None)))


def refinements(
    measured: Sequence[Measured], derivations: Derivations, prior_of: PriorOf, weights: PriorWeights
) -> list[list[Rule]]:
    """For each pool: its best rules with one more condition on a code, as far as the positives agree on it."""
    probes = [list(_probes(one, derivations, prior_of, weights)) for one in measured]
    answers = iter(derivations.companions([(probe.rule, probe.facts) for some in probes for probe in some]))
    contested = [(probe.rule, probe.denied) for some in probes for probe in some if probe.denied]
    denials = iter(derivations.companions(contested))
    finer: list[list[Rule]] = []
    for one, some in zip(measured, probes, strict=True):
        found: dict[Rule, None] = {}
        for probe in some:
            pairs, denied = next(answers), next(denials) if probe.denied else None
            if not pairs:  # of one that cannot be asked there is nothing to be learned
                continue
            for rule in (probe.refined(pairs, prior_of), probe.apart(pairs, denied) if denied is not None else None):
                if rule is not None:
                    found[rule] = None
        found |= dict.fromkeys(_without_denied_values(one, derivations, weights))
        known = set(map(_shape, one.pool.rules)) if found else set()
        finer.append([rule for rule in found if _shape(rule) not in known])
    return finer


def _probes(measured: Measured, derivations: Derivations, prior_of: PriorOf, weights: PriorWeights) -> Iterator[_Probe]:
    """The codes of the atoms of the best rules; of some more rules, those with a value that is called like the term."""
    pool, structure = measured.pool, derivations.structure
    order = rank(measured, Ranker.EVIDENCE, weights).order.tolist()
    contested = _contested(measured, order)
    bases = {*order[:_BASES], *_best_of_the_rest(pool.covers, order), *contested}
    for base in dict.fromkeys((*order[:_BASES], *_best_of_tables(pool, order), *sorted(bases))):
        derived = [fact for fact, yes in zip(pool.positives, pool.covers[base], strict=True) if yes]
        if not derived or measured.sizes[base] <= len(derived):
            continue
        rule = pool.rules[base]
        hit = pool.hits[base] & ~pool.drawn
        denied = [fact for fact, yes in zip(pool.negatives, hit, strict=True) if yes and base in contested][:_MOST]
        for place, atom in enumerate(rule.body):
            used = {column for column, _ in atom.columns}
            for column in derivations.database.schema.table(atom.table).columns:
                code = Place(atom.table, column.name)
                if column.name in used or not (structure.chooses(code) if denied else code in structure.codes):
                    continue
                if base in bases or _names_the_term(structure.profile.column(*code), pool.predicate, prior_of):
                    yield _Probe(rule, place, column, derived[:_MOST], denied, code not in structure.codes)
            if base in bases and len(rule.arguments) == 1:
                for link, column in _looked_up(structure.schema.table(atom.table), structure):
                    if link.start.column not in used:
                        yield _Probe(rule, place, column, derived[:_MOST], behind=link)


def _looked_up(table: Table, structure: Structure) -> Iterator[tuple[Link, Column]]:
    """The links of a table to few things, each with a column that tells what these are called."""
    for link in table.links:
        other = structure.schema.table(link.end.table)
        if other.rows is not None and 1 < other.rows <= MOST_CODES and structure.chooses(link.start):
            yield from ((link, other.column(name)) for name in structure.naming_columns(other))


def _without_denied_values(measured: Measured, derivations: Derivations, weights: PriorWeights) -> Iterator[Rule]:
    """The likeliest rules that derive counter-examples, without the values of these that stand in many rows.

    That nobody is employed until 9999-12-31 says nothing of this one, but all of what the value is.
    """
    pool, structure = measured.pool, derivations.structure
    order = rank(measured, Ranker.EVIDENCE, weights).order.tolist()
    for base in _contested(measured, order):
        rule = pool.rules[base]
        if len(rule.arguments) < 2 or rule.arguments[1] not in rule.positions:
            continue
        place = rule.positions[rule.arguments[1]][0].place
        profile = structure.profile.column(*place)
        denied = {pool.negatives[i][1] for i in np.flatnonzero(pool.hits[base] & ~pool.drawn)}
        shown = {pool.positives[i][1] for i in np.flatnonzero(pool.covers[base])}
        common = {text for text, rows in profile.common if rows > 1} if profile else set()
        kind = structure.schema.type_of(*place).kind
        excluded = [constant_of(text, kind) for text in sorted(denied)]
        if denied <= common and denied.isdisjoint(shown) and len(denied) <= _MOST_EXCLUDED and None not in excluded:
            more = tuple((rule.arguments[1], one) for one in excluded if one is not None)
            yield replace(rule, exclusions=(*rule.exclusions, *more))


def _contested(measured: Measured, order: Sequence[int]) -> list[int]:
    """Of the rules that derive as many examples as any, and counter-examples that somebody gave: the likeliest."""
    pool = measured.pool
    derived = pool.covers.sum(axis=1)
    hit: Bools = np.asarray(pool.hits[:, ~pool.drawn].any(axis=1))
    wide = [i for i in order if hit[i] and derived[i] == derived.max(initial=0)]
    return sorted(wide, key=lambda i: (not measured.priors[i].whole, order.index(i)))[:_BASES]


def _best_of_the_rest(covers: Bools, order: Sequence[int]) -> Iterator[int]:
    """Rules that derive most of the examples that those before them do not: they may be parts of a union."""
    left = ~covers[list(order[:1])].any(axis=0)
    for _ in range(_PARTS):
        more = (covers[order] & left).sum(axis=1)
        if not more.any():
            return
        best = order[int(more.argmax())]
        left = left & ~covers[best]
        yield best


def _best_of_tables(pool: Pool, order: Sequence[int]) -> list[int]:
    """Of each table the rule that derives most of the examples, by that number."""
    best: dict[str, int] = {}
    derived = pool.covers.sum(axis=1)
    for number in sorted(order, key=lambda i: -derived[i]):
        if len(pool.rules[number].body) == 1:
            best.setdefault(pool.rules[number].body[0].table, number)
    return list(best.values())[:_TABLES]


def _names_the_term(profile: ColumnProfile | None, predicate: str, prior_of: PriorOf) -> bool:
    values = profile.common if profile else ()
    return any(prior_of.is_called(predicate, Constant.of(text)) for text, _ in values)


def _is_called(rule: Rule, base: Rule, prior_of: PriorOf) -> bool:
    """Whether the code that a rule has more than its base is called like its term."""
    known = {constant for _, constant in base.constants}
    return any(prior_of.is_called(rule.predicate, code) for _, code in rule.constants if code not in known)


def _shape(rule: Rule) -> tuple[object, ...]:
    """The rule whatever the order of its columns."""
    return tuple((atom.table, frozenset(atom.columns)) for atom in rule.body), rule.definitions, rule.exclusions


def _free(rule: Rule) -> Variable:
    """A variable that the rule has not."""
    taken = {*rule.arguments, *rule.positions}
    return next(one for number in range(1, 1000) if (one := Variable(f"c{number}")) not in taken)


def _with(rule: Rule, place: int, column: str, term: Variable | Constant) -> Rule:
    atom = rule.body[place]
    wider = Atom(atom.table, (*atom.columns, (column, term)))
    return replace(rule, body=(*rule.body[:place], wider, *rule.body[place + 1 :]))
