"""Where drafts lose terms: was the right rule no hypothesis, was another one preferred, or was nobody sure enough?

The same table for generated databases that were held out, by which choices are made, and for databases of real life,
which are only looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import torch

from ruleminer.bench.real import Comparison
from ruleminer.bench.real_problem import problems_in
from ruleminer.bench.real_truth import Truth
from ruleminer.bench.rodi import SCENARIOS
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit
from ruleminer.errors import InputError
from ruleminer.learn.decision_apart import settled_apart
from ruleminer.learn.decision_files import shipped_network
from ruleminer.learn.decision_network import tensors_of
from ruleminer.learn.decision_problem import Problem
from ruleminer.pretraining.corpus import VERSION, make_held_out, read_corpus
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import all_facts, open_scenario, scenario_database
from ruleminer.proposals.decide import decide
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import FEATURES, World
from ruleminer.proposals.joint import Joint
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Ranker
from ruleminer.proposals.request import MIN_CONFIDENCE
from ruleminer.rules.body import Body
from ruleminer.rules.values import Rule
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import open_database
from ruleminer.structure.meaning import PACKAGE, meaning
from ruleminer.structure.structure import learn_structure

_HELD_OUT = {"smoke": 1, "cpu": 24, "paper": 48}
_GENERATED = "generated, held out"
_MOST_RUN = 200  # rules of a term that are run to find out whether they are right


class Fate(StrEnum):
    """What became of a term that the data have, or have not."""

    RIGHT = "right"
    UNSURE = "right, not sure enough"
    OTHER = "another rule is mapped"
    OTHER_UNSURE = "another or none, not mapped"
    CUT = "right rule not among the hypotheses"
    UNOFFERED = "no right rule is offered"
    UNASKED = "not asked"
    STRANGER = "not in the data, and mapped"
    ABSENT = "not in the data, none"


Facts = frozenset[Any]


def _units(options: BenchOptions) -> list[Unit]:
    scale = options.scale
    units = [Unit(_GENERATED, {"kind": "generated", "databases": _HELD_OUT[scale], "problems": VERSION}, 60.0)]
    data = options.data or data_folder()
    if scale == "smoke" or data is None:
        return units
    for name in SCENARIOS:
        if name != "npd" and (data / "rodi" / name).is_dir():
            units.append(Unit(f"RODI, {name}", {"kind": "rodi", "name": name}, 15.0))
    folder = data / "real" if (data / "real").is_dir() else data
    if not (data / "rodi").is_dir() or (data / "real").is_dir():
        units += [
            Unit(one.name, {"kind": "real", "name": one.name, "truth": one.digest}, 30.0) for one in problems_in(folder)
        ]
    return units


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        kind = unit.settings["kind"]
        fates = (
            _of_generated(unit.settings["databases"], options)
            if kind == "generated"
            else _of_scenario(unit.settings["name"], options)
            if kind == "rodi"
            else _of_real(unit.settings["name"], options)
        )
    finally:
        torch.set_num_threads(before)
    counts = Counter(fate for _, fate in fates)
    return {
        "fates": {str(fate): counts[fate] for fate in Fate},
        "lost": [] if kind == "generated" else [[term, str(fate)] for term, fate in fates if fate is not Fate.RIGHT],
    }


def _of_generated(databases: int, options: BenchOptions) -> list[tuple[str, Fate]]:
    known = meaning()
    if known is None:
        raise InputError(f"the bench drafts needs the package {PACKAGE}, so that names are known by meaning, too")
    folder = options.out / "decision-problems" / "held-out"
    seeds = make_held_out(folder, databases, known)
    return [fate for problem in read_corpus(folder, seeds) for fate in fates_of(problem)]


@torch.no_grad()
def fates_of(problem: Problem, min_confidence: float = MIN_CONFIDENCE) -> list[tuple[str, Fate]]:
    """What becomes of the terms of a problem whose answers are known, by number."""
    rounds, _, sure = settled_apart(shipped_network(FEATURES).network, tensors_of(problem))
    belief = rounds[-1].softmax(-1)
    found = []
    for term in range(len(problem.there)):
        best = 1 + int(belief[term, 1:].argmax())
        mapped = float(belief[term, best] * sure[term]) >= min_confidence
        if not problem.samples[term, 0]:
            fate = Fate.STRANGER if mapped else Fate.ABSENT
        elif problem.right[term, best]:
            fate = Fate.RIGHT if mapped else Fate.UNSURE
        elif problem.right[term].any():
            fate = Fate.OTHER if mapped else Fate.OTHER_UNSURE
        else:
            fate = Fate.CUT  # what the structure offers beyond is not kept in a problem
        found.append((str(term), fate))
    return found


def _of_scenario(name: str, options: BenchOptions) -> list[tuple[str, Fate]]:
    data = options.data or data_folder()
    assert data is not None
    scenario = open_scenario(data / "rodi" / name)
    ontology = read_ontology(scenario.ontology_path)
    with open_database(scenario_database(scenario, cache_folder())) as database:
        derivations = Derivations(database, learn_structure(database))
        truth: dict[str, set[tuple[str, ...]]] = {}
        for fact in all_facts(scenario, ontology, database).facts.to_pylist():
            values = tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None)
            truth.setdefault(fact["predicate"], set()).add(values)
        true = {term: frozenset(facts) for term, facts in truth.items()}
        return _fates(true, ontology, derivations, lambda rule: frozenset(derivations.derived(rule)))


def _of_real(name: str, options: BenchOptions) -> list[tuple[str, Fate]]:
    data = options.data or data_folder()
    assert data is not None
    folder = data / "real" if (data / "real").is_dir() else data
    problem = next(one for one in problems_in(folder) if one.name == name)
    ontology = read_ontology(problem.ontology())
    with open_database(problem.database()) as database:
        structure = learn_structure(database)
        derivations, truth = Derivations(database, structure), Truth(problem, database, structure)
        true = {ontology.find(term).name: truth.facts(term) for term in problem.sql}
        return _fates(true, ontology, derivations, Comparison(truth, ontology, derivations).published)


def _fates(
    truth: Mapping[str, Facts], ontology: Ontology, derivations: Derivations, published: Callable[[Rule], Facts]
) -> list[tuple[str, Fate]]:
    joint = Joint(World(derivations, meaning()), ontology)
    decisions = decide({}, Ranker.JOINT, PriorWeights(), ontology, derivations.union_size, joint=joint)
    return [(term, _fate(term, truth[term], decisions.get(term), joint, published)) for term in sorted(truth)]


def _fate(term: str, true: Facts, decision: Decision | None, joint: Joint, published: Callable[[Rule], Facts]) -> Fate:
    if decision is None:
        return Fate.UNASKED
    mapped = decision.posterior >= MIN_CONFIDENCE
    if Facts().union(*map(published, decision.rules)) == true:
        return Fate.RIGHT if mapped else Fate.UNSURE
    known = list(dict.fromkeys(body for belief in decision.beliefs for body in belief.bodies))
    if _reached(term, known, true, joint, published):
        return Fate.OTHER if mapped else Fate.OTHER_UNSURE
    reached = _reached(term, joint.offered(term), true, joint, published)
    return Fate.CUT if reached else Fate.UNOFFERED


def _reached(term: str, bodies: Sequence[Body], true: Facts, joint: Joint, published: Callable[[Rule], Facts]) -> bool:
    """Whether one of the rules, or some of them together, derive just what is true."""
    rules = [body.of(term) for body in bodies]
    sizes = joint.world.derivations.sizes(rules, list(bodies))
    fitting = sorted(
        ((size, place) for place, size in enumerate(sizes) if size and size <= len(true)), key=lambda one: -one[0]
    )
    left = true
    for _, place in fitting[:_MOST_RUN]:
        facts = published(rules[place])
        if facts <= true:
            left = left - facts
        if not left:
            return True
    return False


def _tables(records: Sequence[Record]) -> list[Table]:
    columns = tuple(map(str, Fate))
    rows = [(record.key, tuple(Cell(record.result["fates"][name]) for name in columns)) for record in records]
    return [Table("What becomes of terms, no example", columns, tuple(rows), 0)]


BENCH = Bench(
    BenchInfo(
        "drafts",
        "not in the paper: where drafts without any example lose terms",
        "10 min",
        "generated databases; RULEMINER_DATA/rodi and real if there, or databases with their truth",
        (),
    ),
    _units,
    _run,
    _tables,
    lambda records, folder: [],
    (
        "Terms of the truth, and of generated databases those that the data have not. A term may need several rules: "
        "it counts as offered where such rules are.",
        "Of generated databases nobody keeps which rules the structure offers beyond a term's hypotheses.",
    ),
)
