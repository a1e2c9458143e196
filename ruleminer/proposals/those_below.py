"""A class has what is of those below it, and what properties of its own lead from and to.

Few examples of a class share many codes, and one counter-example makes one of them choose: three dogs tell as well as
anything that no cat is an Animal. But examples of a class are examples of all classes above it, and so is what has a
name of those that the ontology gives names. So where the best rule of a class derives all of its own examples, and not
these, though they live in the same key, only rules are left that derive both, if they are not much less likely by what
is known of the class itself: then some of the others are rather slips, or what an ontology says too roughly. If there
are none, an example of a class below is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ruleminer.problem.ontology import Ontology, OntologyClass
from ruleminer.proposals.as_spelt import as_spelt
from ruleminer.proposals.identity import Key, entity_key
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.ranking import Measured, Ranker, rank

_MOST = 20  # examples of one term below
_LESS = math.log(50)  # nats that a rule may be less likely: people slip once in fifty examples


@dataclass(frozen=True, slots=True)
class Wide:
    """The classes of which only wider rules are left, and what to say of others."""

    measured: Mapping[str, Measured]
    notes: tuple[str, ...]


def with_those_below(measured: Mapping[str, Measured], best: Mapping[str, int], measure: Measure) -> Wide:
    """The classes whose best rules, by place, leave out what is of them: with the rules that do not."""
    structure, derivations, ontology = measure.derivations.structure, measure.derivations, measure.ontology
    narrow = {
        name: measured[name].pool.rules[place]
        for name, place in best.items()
        if not measured[name].noise and measured[name].pool.covers[place].all() and measured[name].pool.given.any()
    }
    chosen = {
        name: best[name] if name in best else rank(one, Ranker.EVIDENCE, measure.weights).chosen[0]
        for name, one in measured.items()
        if narrow and one.pool.positives
    }
    told: dict[str, dict[str, str]] = {}  # of each class what others say is of it, as it spells that, and which does
    for name, other, place in _told_by(chosen, ontology):
        if name not in narrow:
            continue
        pool, number = measured[other].pool, chosen[other]
        own = [fact[place] for fact, yes in zip(pool.positives, pool.covers[number], strict=True) if yes][:_MOST]
        for text in as_spelt(own, pool.rules[number], narrow[name], structure, place):
            told.setdefault(name, {}).setdefault(text, other)
    things = {name: [(text,) for text in some] for name, some in told.items()}
    answers = derivations.coverage([(narrow[name], facts) for name, facts in things.items()])
    missed = {
        name: [text for (text,), yes in zip(things[name], derived, strict=True) if not yes]
        for name, derived in zip(things, answers, strict=True)
        if derived is not None and not all(derived)
    }
    wider = {name: _wider(measured[name], best[name], measure) for name in missed}
    asked = [(measured[name].pool.rules[i], things[name]) for name in missed for i in wider[name]]
    derived_by = iter(derivations.coverage(asked))
    found, notes = dict[str, Measured](), list[str]()
    for name, texts in missed.items():
        kept = [i for i in wider[name] if (derived := next(derived_by)) is not None and all(derived)]
        lacking = [text for text in texts if isinstance(ontology.find(told[name][text]), OntologyClass)]
        if kept:
            found[name] = measured[name].only(kept)
        elif lacking:
            below = told[name][lacking[0]]
            notes.append(f"{name} lacks {below}({lacking[0]}), which is below it: no rule has the examples of both")
    return Wide(found, tuple(notes))


def _told_by(names: Mapping[str, object], ontology: Ontology) -> Iterator[tuple[str, str, int]]:
    """Each class, with each term that has something of it, and at which place."""
    by_iri = {ontology.find(name).iri: name for name in names}
    for iri, name in by_iri.items():
        term = ontology.find(name)
        ends = [(iri,)] if isinstance(term, OntologyClass) else [term.domains, term.ranges]
        for place, end in enumerate(ends):
            if len(end) != 1:  # of several, one holds
                continue
            for above in (*end, *ontology.ancestors(end[0])):
                if above in by_iri and not ontology.is_within(above, iri):
                    yield by_iri[above], name, place


def _wider(measured: Measured, best: int, measure: Measure) -> list[int]:
    """The rules that derive all examples of their class and no counter-example, of things of the key of the best one.

    Only those that are not much less likely than that.
    """
    pool, structure = measured.pool, measure.derivations.structure
    ranking = rank(measured, Ranker.EVIDENCE, measure.weights)
    scores = ranking.log_prior + ranking.log_likelihood
    fit = pool.covers.all(axis=1) & ~pool.hits[:, ~pool.drawn].any(axis=1) & (scores >= scores[best] - _LESS)

    def key(place: int) -> Key:
        return entity_key(pool.rules[place], pool.rules[place].arguments[0], structure)[0]

    return [place for place in np.flatnonzero(fit).tolist() if key(place) == key(best)]
