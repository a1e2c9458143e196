"""Refinement: what do the examples of a rule have in common that its other facts have not?

A sub-class is often told by a code: `TYPE = 2`. Extraction finds such rules where a template says so, or where
negatives contradict all others; to try every code with every template would drown it. So the best rules of a pool are
looked at again, with the examples at hand: a column of codes that says the same for most of them makes a rule of
its own, which then competes like the others. Of very few examples only a code counts that is called like the term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.pool import Bools, Pool
from ruleminer.proposals.prior import PriorOf, PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.lexical import constant_of
from ruleminer.rules.values import Atom, Constant, Place, Rule, Variable
from ruleminer.sources.schema import Column
from ruleminer.structure.profile import ColumnProfile

_BASES = 2  # rules that are looked at again
_PARTS = 2  # rules beside them, for the examples that are left
_TABLES = 20  # tables of which those codes are looked at that have a value called like the term
_LEAST = 4  # positives that a rule must derive; fewer cannot pay for a filter that no name calls for
_MOST = 60  # positives that are asked about
_AGREE = 0.6  # share of them that must say the same; some may be wrong examples
_PROBE = Variable("code")


@dataclass(frozen=True, slots=True)
class _Probe:
    """A rule of a pool with the value of a code as one more argument, asked for some of the positives."""

    base: Rule
    place: int
    column: Column
    facts: Sequence[tuple[str, ...]]

    @property
    def rule(self) -> Rule:
        return replace(_with(self.base, self.place, self.column.name, _PROBE), arguments=(*self.base.arguments, _PROBE))

    def refined(self, pairs: Set[tuple[tuple[str, ...], str]]) -> Rule | None:
        """The rule with the value that most of the facts have, if most of them have it."""
        said = Counter(value for _, value in pairs)
        if not said:
            return None
        value, times = min(said.items(), key=lambda item: (-item[1], item[0]))
        constant = constant_of(value, self.column.kind)
        if times < _AGREE * len(self.facts) or constant is None:
            return None
        return _with(self.base, self.place, self.column.name, constant)


def refinements(
    measured: Sequence[Measured], derivations: Derivations, prior_of: PriorOf, weights: PriorWeights
) -> list[list[Rule]]:
    """For each pool: its best rules with one more condition on a code, as far as the positives agree on it."""
    probes = [list(_probes(one, derivations, prior_of, weights)) for one in measured]
    answers = iter(derivations.companions([(probe.rule, probe.facts) for some in probes for probe in some]))
    finer: list[list[Rule]] = []
    for one, some in zip(measured, probes, strict=True):
        told = [(probe, next(answers)) for probe in some]
        # Of one that cannot be asked there is nothing to be learned.
        found = dict.fromkeys(
            rule
            for probe, pairs in told
            if pairs
            and (rule := probe.refined(pairs))
            and (len(probe.facts) >= _LEAST or _is_called(rule, probe.base, prior_of))
        )
        known = set(map(_shape, one.pool.rules)) if found else set()
        finer.append([rule for rule in found if _shape(rule) not in known])
    return finer


def _probes(measured: Measured, derivations: Derivations, prior_of: PriorOf, weights: PriorWeights) -> Iterator[_Probe]:
    """The codes of the atoms of the best rules; of some more rules, those with a value that is called like the term."""
    pool, structure = measured.pool, derivations.structure
    order = rank(measured, Ranker.EVIDENCE, weights).order.tolist()
    bases = {*order[:_BASES], *_best_of_the_rest(pool.covers, order)}
    for base in dict.fromkeys((*order[:_BASES], *_best_of_tables(pool, order), *sorted(bases))):
        derived = [fact for fact, yes in zip(pool.positives, pool.covers[base], strict=True) if yes]
        if not derived or measured.sizes[base] <= len(derived):
            continue
        rule = pool.rules[base]
        for place, atom in enumerate(rule.body):
            used = {column for column, _ in atom.columns}
            for column in derivations.database.schema.table(atom.table).columns:
                code = Place(atom.table, column.name)
                if column.name in used or code not in structure.codes:
                    continue
                if base in bases or _names_the_term(structure.profile.column(*code), pool.predicate, prior_of):
                    yield _Probe(rule, place, column, derived[:_MOST])


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


def _with(rule: Rule, place: int, column: str, term: Variable | Constant) -> Rule:
    atom = rule.body[place]
    wider = Atom(atom.table, (*atom.columns, (column, term)))
    return replace(rule, body=(*rule.body[:place], wider, *rule.body[place + 1 :]))
