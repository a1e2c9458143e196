"""Classes that cannot have the same rows: the examples of one are counter-examples of the other.

Sub-kinds are told by a code, and often by none that is called like them: two examples of each then look like two of the
whole table. But nothing is of two classes that are declared disjoint; and of two kinds of one class, beside each other
in the ontology, nobody means the very same rows. So where the best rules of two such classes take the same things, each
is measured again with the other's examples as counter-examples. What comes out is taken if it narrows the same rows to
all examples of its own and none of the other's; else all stays as it was, and is told. Of classes that nobody declares
disjoint more is asked: one value of a code for all examples, of the same code, if one chooses the other's rows, and
that hardly any code of the table would do so by chance. If k codes are looked at, whose values v have the shares p(v),
with n examples of a class and m of the others,

    chance = k · Σ p(v)^n · (1 − p(v))^m        summed over the values of the code that does so

The same is asked where a class would have all rows of one above it: what is cancelled is no other word for what is a
voyage. But the examples of that one may be of the class, too, so they only tell what is meant where nothing else does:
if the table is called like the class, all its rows stay in it, and so they do if rows of one code follow each other in
the order of their keys, for then examples that were taken next to each other share it by accident. Both are told.

Numbers stand in every table: an example of one class is held against another only if the best rules of both take their
things from one key.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.as_spelt import as_spelt
from ruleminer.proposals.candidate_sets import Arguments
from ruleminer.proposals.class_doubts import never_nothing, odd_one, shared_code
from ruleminer.proposals.coherence import coherent
from ruleminer.proposals.identity import Key, entity_key
from ruleminer.proposals.kind_codes import (
    Chooser,
    avoids_by_chance,
    codes_of,
    conditions_beyond,
    is_in_order,
    is_within,
)
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import Pool
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.proposals.those_below import with_those_below
from ruleminer.rules.values import Place, Rule
from ruleminer.structure.structure import Structure

_MOST = 20  # examples of one class that are held against another
_CHANCE = 1 / 3  # of codes that tell examples apart at random, below which one is believed to be no accident
_CALLED = 0.8  # how well the names of a rule fit a class that all its rows are called like
_MOST_OF_THEM = 0.5  # share of the examples of others, from which a class has the same things
_FEW_CLASSES = 20  # that may be below a class whatever else the ontology has


Asked = tuple[str, Sequence[str], Sequence[Arguments]]
"""A class, others, and what is denied of it: their examples."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Terms that were measured again, and what to say of them."""

    measured: Mapping[str, Measured]
    notes: tuple[str, ...]


def told_apart(measured: Mapping[str, Measured], measure: Measure) -> Apart:
    """The classes whose best rules take the same things as those of another, where nothing can be of both."""
    structure, ontology = measure.derivations.structure, measure.ontology
    measured = coherent(measured, Ranker.EVIDENCE, measure.weights, ontology, structure)  # which table is meant
    best = {name: rank(one, Ranker.EVIDENCE, measure.weights).chosen[0] for name, one in _classes(measured, ontology)}
    wide = with_those_below(measured, best, measure)
    best |= {name: rank(one, Ranker.EVIDENCE, measure.weights).chosen[0] for name, one in wide.measured.items()}
    measured = {**measured, **wide.measured}
    rules = {name: measured[name].pool.rules[place] for name, place in best.items()}
    others: dict[str, list[str]] = {}
    for one, other in combinations(sorted(rules), 2):
        if _are_apart(one, other, rules, ontology, structure):
            others.setdefault(one, []).append(other)
            others.setdefault(other, []).append(one)
    found = dict(wide.measured)
    notes = [*wide.notes, *_of_both({name: measured[name].pool for name in rules}, ontology)]
    classes = _Classes(measured, best, rules, measure)
    beside = classes.narrowed(others)
    for name, narrower in beside.items():
        if narrower.measured is not None:
            found[name] = narrower.measured
            notes.append(_told_by(narrower.measured, rules[name], narrower.told))
    settled = {name for name, narrower in beside.items() if narrower.measured is not None}
    above = {
        name: wider
        for name in rules
        if name not in settled and (wider := [other for other in rules if _is_all_of(name, other, rules, measure)])
    }
    narrowed = classes.narrowed(above)
    for name in above:
        if name in narrowed and narrowed[name].measured is not None:
            continue
        told = f"{name} gets all rows of {' and '.join(above[name][:3])}"
        if code := classes.code_of(name):
            found[name] = replace(measured[name], contested=True)
            notes.append(f"{told}; {code}")
        elif filled := never_nothing(measured[name], rules[name], measure.derivations):
            notes.append(f"{told}; {filled}")
    for name, narrower in narrowed.items():
        if narrower.measured is None:
            continue
        told = _told_by(narrower.measured, rules[name], narrower.told)
        if doubt := classes.doubt(name, narrower.measured):
            notes.append(
                f"{told}; but {doubt}, so all of them are taken: give counter-examples if only those are meant"
            )
        else:
            found[name] = narrower.measured
            notes.append(told)
    for name, narrower in beside.items():
        if narrower.measured is None and (name not in found or name in wide.measured):
            doubted, told = classes.untold(name, narrower)
            notes.append(told)
            if doubted:
                found[name] = replace(measured[name], contested=True)
    return Apart(found, tuple(notes))


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A class narrowed to its own examples, if anything does that, with the others whose examples ask for it."""

    others: tuple[str, ...]
    measured: Measured | None = None
    chance: float = math.inf  # that a code would do so by accident
    pool: Pool | None = None  # with the examples of the others, the last of its counter-examples …
    denied: int = 0  # … of which there are so many

    @property
    def told(self) -> str:
        """The others, in words."""
        return " and ".join(self.others[:3])


@dataclass(frozen=True)
class _Classes:
    """The classes that have examples, with the best rule of each, by place in its pool and as such."""

    measured: Mapping[str, Measured]
    best: Mapping[str, int]
    rules: Mapping[str, Rule]
    measure: Measure

    def narrowed(self, others: Mapping[str, Sequence[str]]) -> dict[str, Narrowed]:
        """The classes whose best rules derive examples of these others: narrowed to their own, if that can be."""
        measured, best, rules = self.measured, self.best, self.rules
        structure = self.measure.derivations.structure
        telling = self._telling(others)
        asked: list[Asked] = []
        for name, all_others in others.items():
            known = {*measured[name].pool.positives, *measured[name].pool.negatives}
            for group in self._groups(name, all_others, telling):
                facts = [fact for other in group for fact in self._examples(other, name)]
                asked.append((name, group, [fact for fact in dict.fromkeys(facts) if fact not in known]))
        contested = [
            (name, beside, len(denied), pool)
            for (name, beside, denied), pool in _with_negatives(measured, asked, self.measure)
            if pool.hits[best[name], -len(denied) :].any()
        ]
        found: dict[str, Narrowed] = {}
        pools = self.measure.all_measured([_of_one_table(pool, rules[name], structure) for name, *_, pool in contested])
        for (name, beside, denied, pool), anew in zip(contested, pools, strict=True):
            codes = {code for other in beside for code in telling[name, other]}
            told = replace(self._narrowed_by(name, beside, codes, denied, anew), pool=pool, denied=denied)
            if name not in found or told.chance < found[name].chance:
                found[name] = told
        return found

    def untold(self, name: str, narrower: Narrowed) -> tuple[bool, str]:
        """Whether to doubt a class that no code tells from those beside it, and what to say of it.

        One that has few of their examples is not what is wrong: then an example of theirs may be.
        """
        pool = narrower.pool
        assert pool is not None
        hits = pool.hits[self.best[name], pool.hits.shape[1] - narrower.denied :]
        if hits.mean() < _MOST_OF_THEM:
            which = pool.negatives[len(pool.negatives) - narrower.denied + int(hits.argmax())]
            of = next((o for o in narrower.others if which in self._examples(o, name)), narrower.told)
            return False, f"{name} has {of}({which[0]}), and no code tells their examples apart: give more"
        told = f"{name} gets the same things as {narrower.told}"
        rules, derivations = self.rules, self.measure.derivations
        odd = odd_one(pool, narrower.denied, rules[name], narrower.others, rules, derivations)
        if odd:
            return True, f"{told}; {odd}"
        return False, f"{told}, and no code tells their examples apart: give more"

    def _telling(self, others: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], set[Place]]:
        """For each class and each other the codes that choose the other's rows, and by which these may be other rows.

        Not those of an other that has all examples of the class: what these share does not tell the two apart.
        """
        rules = self.rules
        pairs = [(name, other) for name, some in others.items() for other in some]
        coded = [pair for pair in pairs if codes_of(rules[pair[1]])]
        answers = self.measure.derivations.coverage([(rules[pair[1]], self._examples(*pair)) for pair in coded])
        has_all = {pair for pair, derived in zip(coded, answers, strict=True) if derived and all(derived)}
        return {pair: set() if pair in has_all else codes_of(rules[pair[1]]) for pair in pairs}

    def _examples(self, name: str, other: str) -> list[Arguments]:
        """Some examples of a class that its best rule derives, spelt as another's are, if they may be of that."""
        texts = [text for (text,) in _derived(self.measured[name].pool, self.best[name])[:_MOST]]
        structure = self.measure.derivations.structure
        return [(text,) for text in as_spelt(texts, self.rules[name], self.rules[other], structure)]

    def _narrowed_by(
        self, name: str, group: Sequence[str], codes: Set[Place], denied: int, anew: Measured | None
    ) -> Narrowed:
        """What narrows a class to its own examples where those of a group of others are counter-examples.

        The `codes` are those that choose the others.
        """
        narrower = _narrower(anew, self.rules[name], self.measure) if anew is not None else []
        chance, structure = 0.0, self.measure.derivations.structure
        if anew is not None:
            rules, examples = anew.pool.rules, len(anew.pool.positives)
            narrower = [
                i
                for i in narrower
                if set(rules[i].exclusions) <= {*self.rules[name].exclusions}
                or avoids_by_chance(rules[i], examples, denied, structure) <= _CHANCE
            ]
        if anew is not None and not self._are_disjoint(name, group):
            chosen = Chooser(self.rules[name], codes, len(anew.pool.positives), denied, structure)
            chances = {i: chosen.chance(anew.pool.rules[i]) for i in narrower}
            narrower = [i for i in narrower if chances[i] <= _CHANCE]
            chance = min((chances[i] for i in narrower), default=chance)
        if anew is None or not narrower:
            return Narrowed(tuple(group))
        return Narrowed(tuple(group), anew.only(narrower), chance)

    def _are_disjoint(self, name: str, others: Sequence[str]) -> bool:
        """Whether one of the others is declared disjoint from a class."""
        ontology = self.measure.ontology
        return any(ontology.are_disjoint(ontology.find(name).iri, ontology.find(other).iri) for other in others)

    def _groups(
        self, name: str, others: Sequence[str], telling: Mapping[tuple[str, str], Set[Place]]
    ) -> list[list[str]]:
        """The others whose examples are held against a class together.

        Those that one code tells, for another may tell others. If some are declared disjoint from it, these and all
        that no other code tells.
        """
        if disjoint := [other for other in others if self._are_disjoint(name, [other])]:
            codes = {code for other in disjoint for code in telling[name, other]}
            return [[other for other in others if other in disjoint or telling[name, other] <= codes]]
        groups: dict[frozenset[Place], list[str]] = {}
        for other in others:
            groups.setdefault(frozenset(telling[name, other]), []).append(other)
        return list(groups.values())

    def code_of(self, name: str) -> str:
        """What to tell of a code that the examples of a class share, or nearly all of them."""
        return shared_code(name, self.measured[name], self.rules[name], self.measure.derivations)

    def doubt(self, name: str, narrower: Measured) -> str:
        """Why the examples of a class above do not narrow one; empty if they do."""
        before, rule = self.rules[name], narrower.pool.rules[0]
        if not narrower.priors[0].conditions:  # its name calls for the code
            return ""
        if self.measured[name].priors[self.best[name]].names >= _CALLED:
            return f"{before.body[0].table} is called like {name}"
        (code,) = codes_of(rule) - codes_of(before)
        if is_in_order(code, before, self.measure.derivations):
            return f"rows with the same {code.column} follow each other"
        return ""


def _of_one_table(pool: Pool, before: Rule, structure: Structure) -> Pool:
    """The pool with the rules that take the rows of one of them, or some of these: the same keys lie in many tables."""
    key = _key(before, structure)
    return pool.only([i for i, one in enumerate(pool.rules) if is_within(one, before) and _key(one, structure) == key])


def _told_by(narrowed: Measured, before: Rule, others: str) -> str:
    rule = narrowed.pool.rules[0]
    columns = " and ".join(conditions_beyond(rule, before))
    return f"{rule.predicate}: {columns} tells its examples from those of {others}, which would have the same rows"


def _is_all_of(name: str, other: str, rules: Mapping[str, Rule], measure: Measure) -> bool:
    """Whether a class would have all rows of one that is above it."""
    structure, ontology = measure.derivations.structure, measure.ontology
    below, above = ontology.find(name).iri, ontology.find(other).iri
    return (
        below != above
        and ontology.is_within(below, above)
        and not ontology.is_within(above, below)
        and is_within(rules[other], rules[name])
        and _key(rules[other], structure) == _key(rules[name], structure)
    )


def _of_both(pools: Mapping[str, Pool], ontology: Ontology) -> Iterator[str]:
    """A line for each two classes that nothing can be of both of, and an example of both, if its table is told."""
    things = {
        name: [f"{told[0].table}:{fact[0]}" for fact, told in zip(pool.positives, pool.spaces, strict=False) if told[0]]
        for name, pool in pools.items()
    }
    for one, other in combinations(sorted(things), 2):
        both = [thing for thing in things[one] if thing in things[other]]
        if both and ontology.are_disjoint(ontology.find(one).iri, ontology.find(other).iri):
            more = f", and so are {len(both) - 1} more" if len(both) > 1 else ""
            yield f"{both[0]} is an example of {one} and of {other}, which are declared disjoint{more}"


def _classes(measured: Mapping[str, Measured], ontology: Ontology) -> Iterator[tuple[str, Measured]]:
    for name, one in measured.items():
        if one.pool.positives and isinstance(ontology.find(name), OntologyClass):
            yield name, one


def _are_apart(one: str, other: str, rules: Mapping[str, Rule], ontology: Ontology, structure: Structure) -> bool:
    """Whether nothing can be of both classes, though their rules take things of the same key."""
    first, second = ontology.find(one), ontology.find(other)
    if ontology.is_within(first.iri, second.iri) or ontology.is_within(second.iri, first.iri):
        return False
    if _key(rules[one], structure) != _key(rules[other], structure):
        return False
    if ontology.are_disjoint(first.iri, second.iri):
        return True
    nested = is_within(rules[one], rules[other]) or is_within(rules[other], rules[one])
    return nested and _are_kinds_of_one(first.iri, second.iri, ontology)


def _are_kinds_of_one(first: str, second: str, ontology: Ontology) -> bool:
    """Whether both are directly below one class; one that nearly everything is below tells nothing."""
    terms = [ontology.get(iri) for iri in (first, second)]
    above = [set(term.parents) if isinstance(term, OntologyClass) else set[str]() for term in terms]
    most = max(_FEW_CLASSES, len(ontology.classes) // 2)
    return any(len(ontology.descendants(iri)) <= most for iri in above[0] & above[1])


def _key(rule: Rule, structure: Structure) -> Key:
    return entity_key(rule, rule.arguments[0], structure)[0]


def _derived(pool: Pool, rule: int) -> list[Arguments]:
    return [fact for fact, yes in zip(pool.positives, pool.covers[rule], strict=True) if yes]


def _with_negatives(
    measured: Mapping[str, Measured], asked: Sequence[Asked], measure: Measure
) -> Iterator[tuple[Asked, Pool]]:
    """The pools with further counter-examples, of which the database tells what derives them."""
    asked = [one for one in asked if one[2]]
    rules = [(rule, denied) for name, _, denied in asked for rule in measured[name].pool.rules]
    answers = iter(measure.derivations.coverage(rules))
    for one in asked:
        name, _, more = one
        pool = measured[name].pool
        rows = [hits if (hits := next(answers)) is not None else [False] * len(more) for _ in pool.rules]
        nowhere = ((None,),) * len(more)
        yield (
            one,
            replace(
                pool,
                negatives=(*pool.negatives, *more),
                drawn=np.concatenate([pool.drawn, np.zeros(len(more), bool)]),
                hits=np.concatenate([pool.hits, np.array(rows, bool)], axis=1),
                spaces=(*pool.spaces, *nowhere) if pool.spaces else (),
            ),
        )


def _narrower(measured: Measured, before: Rule, measure: Measure) -> list[int]:
    """The rules that narrow what was chosen before to all examples and no counter-example, best first."""
    pool, structure = measured.pool, measure.derivations.structure
    order = rank(measured, Ranker.EVIDENCE, measure.weights).order.tolist()
    return [
        i
        for i in order
        if pool.covers[i].all()
        and not pool.hits[i, ~pool.drawn].any()
        and is_within(pool.rules[i], before)
        and _key(pool.rules[i], structure) == _key(before, structure)
    ]
