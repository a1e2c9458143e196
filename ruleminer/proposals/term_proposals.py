"""A proposal for every class and property: from a run's dataset, perhaps a model, and the live database."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import ruleminer
from ruleminer.dataset import Dataset
from ruleminer.errors import ConnectionLostError
from ruleminer.extraction.summary import doubtful_names, told_contradictions
from ruleminer.problem.decisions import Said, UserDecisions
from ruleminer.problem.ontology import Ontology, OntologyTerm
from ruleminer.progress import Progress, silent
from ruleminer.proposals.apart import told_apart
from ruleminer.proposals.calibration import calibrated, trials
from ruleminer.proposals.decision import NAMED, Decision
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.explain import ask_ahead, explain, kind_of_term, nothing
from ruleminer.proposals.guesses import guesses
from ruleminer.proposals.hypotheses import World
from ruleminer.proposals.joint import MOST_TERMS, Joint
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.model_rules import can_write, chosen_ranker, load_scorer, written_rules
from ruleminer.proposals.notes import (
    cut_candidates,
    misfits,
    missing_links,
    refusals,
    shortfalls,
    slips,
    turned_examples,
    unshown_parts,
)
from ruleminer.proposals.offers import offers
from ruleminer.proposals.pool import GUESS, Pool, dataset_pools, rule_pool
from ruleminer.proposals.proposal import Calibration, Proposal, Proposals, Status
from ruleminer.proposals.ranking import Measured, Ranker
from ruleminer.proposals.replay import Applied, Replay
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.size_cache import SizeCache
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from ruleminer.sources.database import Database
from ruleminer.structure.meaning import PACKAGE, meaning
from ruleminer.structure.structure import Structure
from ruleminer.structure.words import NameIndex


@dataclass(frozen=True)
class MeasuredTerms:
    """All that was found out of the terms before any is decided: measured once, decided as often as the user speaks."""

    ranker: Ranker
    measure: Measure
    pools: Mapping[str, Pool]
    measured: Mapping[str, Measured]  # the terms with examples, and those that the user knows something of
    reasons: Mapping[str, str]  # why others are not among them
    calibration: Calibration | None
    notes: tuple[str, ...]
    seconds: dict[str, float]

    @property
    def derivations(self) -> Derivations:
        """What rules derive from the live database."""
        return self.measure.derivations

    @property
    def has_model(self) -> bool:
        """Whether a trained model was asked."""
        return self.measure.scorer is not None


def measure_terms(
    request: ProposeRequest,
    dataset: Dataset,
    ontology: Ontology,
    database: Database,
    structure: Structure,
    said: UserDecisions | None = None,
    progress: Progress = silent,
) -> MeasuredTerms:
    """Pool and measure the rules of every term with examples, and of those that the user said something of."""
    notes: list[str] = []
    scorer = load_scorer(request, dataset, notes)
    ranker = chosen_ranker(request, scorer)
    own_model = request.model is None or Path(request.model).resolve() == Path(request.run).resolve()
    if own_model and ranker is Ranker.NEURAL:
        notes.append(
            "the run's own model knows of these examples only: the neural ranker hears it for terms without examples, "
            "and is the evidence ranker elsewhere; a model of another run may have learnt from other schemas"
        )
    seconds: dict[str, float] = {}
    notes += [*misfits(dataset, database), *cut_candidates(dataset), *doubtful_names(dataset.manifest)]
    notes += told_contradictions(dataset.manifest)
    derivations = Derivations(database, structure)
    measure = Measure(ontology, derivations, scorer, own_model=own_model, structure=structure, noise=request.noise)
    with _timed(seconds, "pool"):
        progress("pool", "", 0, 1)
        pools = dataset_pools(dataset)
        networked = _is_for_the_network(ranker, ontology, pools)  # which hears of facts itself
        spoken = Replay(measure, said or UserDecisions()).spoken_of(facts=not networked)
        asked = [ontology.find(name) for name in spoken if name not in pools]
        pools |= {pool.predicate: pool for pool in guess_pools(asked, measure, named=False)}
        progress("pool", "", 1, 1)
    with _timed(seconds, "model"):
        written = written_rules(scorer, pools, database, progress) if scorer and can_write(request, notes) else {}
    with _timed(seconds, "database"):
        size_cache = SizeCache(request.run, derivations)
        measured, reasons = _measure_all(measure, pools, written, progress, size_cache)
        apart = told_apart(measured, measure)
        measured |= apart.measured
        notes += apart.notes
    with _timed(seconds, "ranking"):
        progress("ranking", "", 0, len(measured))
        calibration = calibrated(trials(measured.values(), ranker, measure.weights, seed=request.seed))
    return MeasuredTerms(ranker, measure, pools, measured, reasons, calibration, tuple(notes), seconds)


def guess_pools(
    terms: Sequence[OntologyTerm], measure: Measure, progress: Progress = silent, *, named: bool = True
) -> list[Pool]:
    """The pools of terms without examples: what names and structure suggest; `named`, where anything speaks for it."""
    guessed: list[Pool] = []
    derivations, prior_of = measure.derivations, measure.prior_of
    known: dict[str, NameIndex] = {}  # by the sort of a term: the names of all rules that such terms may have
    for number, term in enumerate(terms):
        progress("guesses", term.name, number, len(terms))
        if derivations.lost:
            break
        if named and not measure.scorer:
            # Only a name speaks for a guess then: a large ontology has few terms with any that fits.
            sort = kind_of_term(term)
            if sort not in known:
                rules = guesses(term, derivations)
                known[sort] = NameIndex(name for rule in rules for name in prior_of.telling_names(rule))
            if known[sort].best(prior_of.titles(term)) < NAMED:
                continue
        rules = guesses(term, derivations)
        if rules:
            guessed.append(rule_pool(term.name, rules, GUESS))
    return guessed


def propose_terms(
    request: ProposeRequest,
    dataset: Dataset,
    ontology: Ontology,
    database: Database,
    structure: Structure,
    progress: Progress = silent,
    said: UserDecisions | None = None,
) -> Proposals:
    """Pool, measure, decide and explain the rules of every class and property of the ontology."""
    terms = measure_terms(request, dataset, ontology, database, structure, said, progress)
    measure, ranker, calibration = terms.measure, terms.ranker, terms.calibration
    derivations, seconds = terms.derivations, terms.seconds
    replay = Replay(measure, said or UserDecisions())
    applied = replay.applied(terms.measured)
    size_cache = SizeCache(request.run, derivations)
    with _timed(seconds, "deciding"):
        rankers = [Ranker.COVERAGE, Ranker.EVIDENCE, *([Ranker.NEURAL] if terms.has_model else [])]
        decisions = {name: replay.decided(terms.measured, name, applied) for name in rankers}
        base = Ranker.EVIDENCE if ranker is Ranker.JOINT else ranker  # that decides where there are examples
        proposed = list(_explained(base, decisions, measure, calibration, progress))
        told = [*shortfalls(decisions[base], dataset), *slips(decisions[base], dataset)]
        told += unshown_parts(decisions[base])
        told += missing_links(decisions[base], ontology, derivations)
        told += turned_examples(decisions[base], ontology, structure)
    _give_up_if_lost(derivations.lost, size_cache)
    with _timed(seconds, "guesses"):
        done = {one.predicate for one in proposed}
        reasons = {**terms.reasons, **applied.silent}
        drafted = None
        notes = [*terms.notes, *replay.unknown, *applied.notes, *told]
        try:
            if (joint := network_of(terms, notes)) is not None:
                drafted = _drafted(joint, replay, applied)
                notes += replay.underived(joint, applied)
        except ConnectionLostError as lost:
            _give_up_if_lost(str(lost), size_cache)
        rest = list(_without_examples(done, terms.pools, reasons, replay, request, ranker, drafted, progress))
    _give_up_if_lost(derivations.lost, size_cache)
    size_cache.forget()
    notes += refusals(terms.pools, derivations)
    tables = database.schema.tables
    return Proposals(
        str(request.run),
        {
            "url": database.safe_url,
            "schema": database.schema_name,
            "dialect": database.dialect.name,
            "tables": len(tables),
            "rows": sum(table.rows or 0 for table in tables),
        },
        str(ranker),
        {
            "positives": sum(len(pool.positives) for pool in terms.pools.values()),
            "negatives": sum(int((~pool.drawn).sum()) for pool in terms.pools.values()),
        },
        tuple(
            sorted(
                [*_with_offers(proposed, ontology, structure), *rest],
                key=lambda p: (p.status is not Status.PROPOSED, p.predicate),
            )
        ),
        calibration,
        (),
        tuple(dict.fromkeys(notes)),
        {name: round(value, 3) for name, value in seconds.items()},
        {"ruleminer": ruleminer.__version__, "python": platform.python_version()},
        dict(sorted(derivations.statements.items())),
    )


def _give_up_if_lost(why: str | None, size_cache: SizeCache) -> None:
    """Where the connection was lost, what could still be proposed would be poorer than it looks."""
    if why is not None:
        size_cache.save(now=True)
        lost = why.removesuffix("; try again")
        raise ConnectionLostError(f"{lost}; nothing was written. Run it again: what was asked is kept")


def _with_offers(proposed: Sequence[Proposal], ontology: Ontology, structure: Structure) -> Iterator[Proposal]:
    """The proposals with the rules that may be further parts of their unions."""
    found = offers({one.predicate: one.proposed_rules for one in proposed}, ontology, structure)
    for one in proposed:
        yield replace(one, offered=tuple(found.get(one.predicate, ())))


def _measure_all(
    measure: Measure,
    pools: Mapping[str, Pool],
    written: Mapping[str, Sequence[Rule]],
    progress: Progress,
    size_cache: SizeCache,
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Each pool measured by the live database, and for those that cannot be: why."""
    measured: dict[str, Measured] = {}
    reasons: dict[str, str] = {}

    def watch(done: int, total: int) -> None:
        progress("database", "sizes", done, total)
        size_cache.save()

    measure.derivations.watch = watch
    progress("database", "", 0, 1)
    found = measure.all_measured(list(pools.values()), [written.get(predicate, ()) for predicate in pools])
    for (predicate, pool), one in zip(pools.items(), found, strict=True):
        if one is not None:
            measured[predicate] = one
        elif not pool.rules:
            reasons[predicate] = f"no rule of the templates derives any of its {len(pool.positives)} examples"
        else:
            refused = next(filter(None, map(measure.derivations.refusal, pool.rules)), "its rules derive nothing here")
            reasons[predicate] = f"no rule can be run in this database: {refused}"
    measure.derivations.watch = lambda done, total: None
    size_cache.save()
    progress("database", "", 1, 1)
    return measured, reasons


def _explained(
    ranker: Ranker,
    decisions: Mapping[Ranker, Mapping[str, Decision]],
    measure: Measure,
    calibration: Calibration | None,
    progress: Progress,
) -> Iterator[Proposal]:
    """The proposals of the terms with examples; what the other rankers decide stands beside."""
    chosen = decisions[ranker]
    ask_ahead(chosen.values(), measure.derivations)
    for number, (predicate, decision) in enumerate(chosen.items()):
        progress("ranking", predicate, number, len(chosen))
        by_ranker = [own[predicate] for own in decisions.values()]
        term = measure.ontology.find(predicate)
        yield explain(decision, term, measure.derivations, by_ranker=by_ranker, calibration=calibration)
    progress("ranking", "", len(chosen), len(chosen))


def _without_examples(
    done: Set[str],
    pools: Mapping[str, Pool],
    reasons: Mapping[str, str],
    replay: Replay,
    request: ProposeRequest,
    ranker: Ranker,
    drafted: Mapping[str, Decision] | None,  # by the network, if it decides
    progress: Progress,
) -> Iterator[Proposal]:
    """A proposal for each of the other terms, or nothing, and why."""
    measure = replay.measure
    ontology, derivations = measure.ontology, measure.derivations
    # Examples may be of a term that the ontology itself does not declare, such as rdfs:label.
    asked = (ontology.find(predicate) for predicate in (*reasons, *(drafted or ())))
    terms = [t for t in dict.fromkeys((*ontology.terms, *asked)) if t.name not in done]
    if drafted is None:
        guessed = guess_pools(terms, measure, progress)
        measured = {one.pool.predicate: one for one in measure.all_measured(guessed) if one is not None}
        decisions: Mapping[str, Decision] = replay.decided(measured, ranker)
    else:
        decisions = drafted
    shown = {name: one for name, one in decisions.items() if is_shown(one, request)}
    ask_ahead(shown.values(), derivations)
    for number, term in enumerate(terms):
        progress("guesses", term.name, number, len(terms))
        reason = why_nothing(term.name, reasons, replay.said)
        proposal = proposal_without_examples(term, decisions.get(term.name), derivations, reason, request)
        if term.name in pools:
            pool = pools[term.name]
            given, sampled = int((~pool.drawn).sum()), int(pool.drawn.sum())
            proposal = replace(proposal, positives=len(pool.positives), negatives=given, sampled=sampled)
        elif said := replay.sure(term.name):
            proposal = replace(proposal, positives=sum(said.values()), negatives=len(said) - sum(said.values()))
        yield proposal
    progress("guesses", "", len(terms), len(terms))


def is_shown(decision: Decision, request: ProposeRequest) -> bool:
    """Whether the rules of a decision are proposed or guessed at all."""
    return decision.is_founded and not decision.is_absent(request.min_confidence)


def proposal_without_examples(
    term: OntologyTerm, decision: Decision | None, derivations: Derivations, reason: str, request: ProposeRequest
) -> Proposal:
    """The guess for a term that no example speaks for, or what answers say of it, or nothing, and why."""
    if decision is None or not decision.is_founded:
        return nothing(term, reason)
    if decision.is_absent(request.min_confidence):
        return _absent(term, decision, reason)
    answered = bool(decision.measured.pool.positives)
    return explain(decision, term, derivations, reason="" if answered else reason)


def why_nothing(name: str, reasons: Mapping[str, str], said: UserDecisions) -> str:
    """Why no example speaks for a term."""
    answered = any(one is not Said.UNKNOWN for one in said.facts.get(name, {}).values())
    return reasons.get(name) or ("no examples but your answers" if answered else "no examples")


def network_of(terms: MeasuredTerms, notes: list[str]) -> Joint | None:
    """The network that we ship, if it decides the terms without examples here."""
    ontology, derivations = terms.measure.ontology, terms.derivations
    if not _is_for_the_network(terms.ranker, ontology, terms.pools):
        if terms.ranker is Ranker.JOINT:
            notes.append(
                f"the ontology has {len(ontology.terms):,} terms: those without examples are guessed by their names "
                "alone, and not part of the mapping"
            )
        return None
    known = meaning()
    if known is None:
        notes.append(
            "names are compared by their letters and as words of one kind; with the package "
            f"{PACKAGE} more of their meaning would be heard (pip install 'ruleminer[meaning]')"
        )
    return Joint(World(derivations, known), ontology)


def _is_for_the_network(ranker: Ranker, ontology: Ontology, pools: Mapping[str, Pool]) -> bool:
    """Whether the network decides the terms without examples: of a large vocabulary only where there is no example.

    It learnt from ontologies that are mostly about the database; of schema.org nearly nothing is, and it is not to put
    that beside what examples speak for.
    """
    small = len(ontology.terms) <= MOST_TERMS or not any(pool.positives for pool in pools.values())
    return ranker is Ranker.JOINT and small


def _drafted(joint: Joint, replay: Replay, applied: Applied) -> dict[str, Decision]:
    """What the network decides of terms without examples; nothing if the connection is lost over it."""
    derivations = replay.measure.derivations
    if derivations.lost:
        return {}
    try:
        return replay.drafted(joint, applied)
    except ConnectionLostError as error:
        derivations.lost = derivations.lost or str(error)
        return {}


def _absent(term: OntologyTerm, decision: Decision, reason: str) -> Proposal:
    """Nothing is proposed: the database seems to have nothing of the term. The nearest rule is told."""
    nearest = rule_text(decision.rules[0]).partition(" <- ")[2]
    told = f"{reason}, and the database seems to have nothing of it (probability {decision.none:.2f})"
    told += f"; nearest, with {decision.posterior:.2f}: {nearest}"
    return replace(nothing(term, told), none=decision.none, reasons=decision.reasons)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start
