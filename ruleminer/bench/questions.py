"""How many answers a mapping takes: an oracle that knows the truth answers, from no example, until nothing is asked.

Not in the paper. Three ways to choose what to ask, and each with an oracle that slips one time in twenty:

    information   the question that is expected to tell most (review/questions.py)
    least sure    the term that is most in doubt: does a fact of its best rule hold?
    random        any term, any fact of any of its likely rules

The measure is the predicates whose rules derive exactly the true facts, by the number of answers.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ruleminer.bench.mapping import KINDS, RODI
from ruleminer.bench.pictures import save
from ruleminer.bench.real_problem import problems_in
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit
from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.decisions import Said, UserDecision, UserDecisions
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import all_facts, open_scenario, scenario_database
from ruleminer.proposals.decide import Decision
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.ranking import Measured, Ranker
from ruleminer.proposals.replay import Replay
from ruleminer.proposals.term_proposals import guess_pools
from ruleminer.review.hypotheses import doubt, hypotheses_of
from ruleminer.review.questions import NoQuestion, Question, Questions
from ruleminer.rules.body import Body
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.values import Rule, Scalar
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure

REAL = ("chinook", "sakila")
WAYS = ("information", "least sure", "random")
SLIPS = (0.0, 0.05)
MOST = 1.5  # answers for each predicate, at most
_SHOWN = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
_COLOURS = {"information": "#c62828", "least sure": "#1565c0", "random": "#757575"}

Facts = frozenset[Fact]


@dataclass(frozen=True)
class World:
    """What there is to find out."""

    ontology: Ontology
    database: Database
    truth: Mapping[str, Facts]


@dataclass
class Review:
    """One review from no example: what was said, and what is decided by it."""

    world: World
    measure: Measure
    measured: Mapping[str, Measured]
    dice: random.Random
    slips: float
    lines: list[UserDecision] = field(default_factory=list)
    _derived: dict[Body, Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.replay = Replay(self.measure)
        self.questions = Questions(self.replay)
        self.decide()

    def decide(self) -> None:
        """All terms, by what was said so far."""
        self.replay = self.replay.of(UserDecisions(tuple(self.lines)))
        self.questions.replay = self.replay
        self.decisions: dict[str, Decision] = self.replay.decided(self.measured, Ranker.EVIDENCE)

    @property
    def answered(self) -> dict[str, set[Fact]]:
        """The facts that were asked."""
        found: dict[str, set[Fact]] = defaultdict(set)
        for line in self.lines:
            found[line.term].add(line.fact)
        return found

    def exact(self) -> int:
        """How many predicates have rules that derive just the true facts."""
        return sum(
            term in self.decisions and self._union(self.decisions[term].rules) == truth
            for term, truth in self.world.truth.items()
        )

    def reachable(self) -> int:
        """For how many predicates a rule that came into question is right."""
        return sum(self._has_right_rule(term, truth) for term, truth in self.world.truth.items())

    def _has_right_rule(self, term: str, truth: Facts) -> bool:
        one = self.measured.get(term)
        return one is not None and any(
            size == len(truth) and self._union([rule]) == truth
            for rule, size in zip(one.pool.rules, one.sizes.tolist(), strict=True)
        )

    def _union(self, rules: Sequence[Rule]) -> Facts:
        for rule in rules:
            body = Body(rule)
            if body not in self._derived:
                self._derived[body] = frozenset(self.measure.derivations.derived(rule))
        return frozenset[Fact]().union(*(self._derived[Body(rule)] for rule in rules))

    def answer(self, question: Question) -> None:
        """What the oracle says, right or by a slip."""
        truth = self.world.truth[question.term]
        right = next((place for place, fact in enumerate(question.facts) if fact in truth), None)
        if self.dice.random() < self.slips:
            others = [place for place in (None, *range(len(question.facts))) if place != right]
            right = self.dice.choice(others)
        facts = question.facts if right is None else (question.facts[right],)
        said = Said.FAILS if right is None else Said.HOLDS
        self.lines += [UserDecision(question.term, said, fact, when="") for fact in facts]


def information(review: Review) -> Question | None:
    """The question that tells most."""
    found = review.questions.next(review.decisions, review.answered)
    return None if isinstance(found, NoQuestion) else found


def least_sure(review: Review) -> Question | None:
    """A fact of the best rule of the term that is most in doubt."""
    answered = review.answered
    for term in sorted(review.decisions, key=lambda name: (-doubt(review.decisions[name]), name)):
        question = _fact_of(review, term, review.decisions[term].rules, answered[term])
        if question is not None:
            return question
    return None


def at_random(review: Review) -> Question | None:
    """A fact of a likely rule of any term."""
    answered = review.answered
    for term in review.dice.sample(sorted(review.decisions), len(review.decisions)):
        some = [one.rules for one in hypotheses_of(review.decisions[term]) if one.rules]
        if some:
            question = _fact_of(review, term, review.dice.choice(some), answered[term], review.dice)
            if question is not None:
                return question
    return None


def _fact_of(
    review: Review, term: str, rules: Sequence[Rule], answered: set[Fact], dice: random.Random | None = None
) -> Question | None:
    try:
        rows = [tuple(map(str, row)) for row in review.measure.derivations.sample(rules, 40 + len(answered))]
    except DatabaseError:
        return None
    open_ = [fact for fact in rows if fact not in answered and all(fact)]
    if not open_:
        return None
    return Question(term, (dice.choice(open_) if dice else open_[0],), 0.0, (), ())


_CHOOSERS = {"information": information, "least sure": least_sure, "random": at_random}


def _units(options: BenchOptions) -> list[Unit]:
    return [
        Unit(f"{scenario}{f', draw {seed}' if seed else ''}", {"scenario": scenario, "seed": seed, "most": MOST}, 60.0)
        for scenario in _scenarios(options)
        for seed in range(options.seeds or 1)
    ]


def _scenarios(options: BenchOptions) -> Iterator[str]:
    if options.scale == "smoke":
        yield "workshop-plain"
        return
    data = options.data or data_folder()
    if data is not None:
        yield from (name for name in RODI if (data / "rodi" / name).is_dir())
        yield from (name for name in REAL if (data / "real" / name).is_dir())
    domains = ("workshop",) if options.scale == "cpu" else ("workshop", "university", "hospital")
    yield from (f"{domain}-{kind}" for domain in domains for kind in KINDS)


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    settings = unit.settings
    with _world(settings["scenario"], options) as world:
        structure = learn_structure(world.database)
        measure = Measure(world.ontology, Derivations(world.database, structure), structure=structure)
        pools = guess_pools([world.ontology.find(term) for term in world.truth], measure, named=False)
        measured = {one.pool.predicate: one for one in measure.all_measured(pools) if one is not None}
        derived: dict[Body, Facts] = {}
        curves: list[dict[str, Any]] = []
        reachable = 0
        for number, (slips, way) in enumerate((slips, way) for slips in SLIPS for way in WAYS):
            tick(number / (len(SLIPS) * len(WAYS)))
            dice = random.Random(f"{settings['seed']}-{way}-{slips}")
            review = Review(world, measure, measured, dice, slips, _derived=derived)
            reachable = reachable or review.reachable()
            exact = _reviewed(review, _CHOOSERS[way], round(settings["most"] * len(world.truth)))
            curves.append({"way": way, "slips": slips, "exact": exact})
        return {"predicates": len(world.truth), "reachable": reachable, "curves": curves}


def _reviewed(review: Review, choose: Callable[[Review], Question | None], most: int) -> list[int]:
    """The predicates that are exact after each answer."""
    exact = [review.exact()]
    while len(exact) <= most and (question := choose(review)) is not None:
        review.answer(question)
        review.decide()
        exact.append(review.exact())
    return exact


@contextmanager
def _world(name: str, options: BenchOptions) -> Iterator[World]:
    if name in REAL:
        with _real(name, options) as world:
            yield world
        return
    data = options.data or data_folder()
    if name in RODI:
        assert data is not None
        scenario = open_scenario(data / "rodi" / name)
    else:
        folder = options.out / "questions" / "scenarios" / name
        if not folder.is_dir():
            domain, _, kind = name.partition("-")
            place = str(Path(__file__).parent.parent / "demo.toml") if domain == "workshop" else domain
            generate_scenario(folder, domain=place, kind=kind, size=1500, seed=1)
        scenario = open_scenario(folder)
    ontology = read_ontology(scenario.ontology_path)
    with open_database(scenario_database(scenario, cache_folder())) as database:
        truth: dict[str, set[Fact]] = defaultdict(set)
        for fact in all_facts(scenario, ontology, database).facts.to_pylist():
            truth[fact["predicate"]].add(tuple(v for v in (fact["arg1"], fact["arg2"]) if v is not None))
        yield World(ontology, database, {term: frozenset(facts) for term, facts in sorted(truth.items())})


@contextmanager
def _real(name: str, options: BenchOptions) -> Iterator[World]:
    """An ordinary database with schema.org and the SQL of its truth; entities by their keys."""
    data = options.data or data_folder()
    if data is None:
        raise InputError(f"the bench questions needs RULEMINER_DATA for {name}")
    (problem,) = problems_in(data / "real" / name)
    ontology = read_ontology(problem.ontology())
    with open_database(problem.database()) as database:
        truth = {}
        for term, sql in sorted(problem.sql.items()):
            rows = [tuple(map(_plain, row)) for row in database.rows(sql) if None not in row]
            truth[ontology.find(term).name] = frozenset(rows)
        yield World(ontology, database, truth)


def _plain(value: object) -> str:
    text = lexical_form(value) if isinstance(value, Scalar) else str(value)
    return re.sub(r"^http://example\.org/[^/]+/", "", text)


@dataclass(frozen=True)
class Curve:
    """One review: the predicates that are exact after each answer."""

    scenario: str
    way: str
    slips: float
    predicates: int
    reachable: int
    exact: Sequence[int]

    def after(self, share: float) -> int:
        """Predicates exact after so many answers for each predicate; who asks no more stays where they are."""
        return self.exact[min(len(self.exact) - 1, round(share * self.predicates))]

    @property
    def until_all(self) -> int | None:
        """How many answers it took until all were exact, to stay so, for which a right rule is in question."""
        missing = [number for number, exact in enumerate(self.exact) if exact < self.reachable]
        last = missing[-1] + 1 if missing else 0
        return last if last < len(self.exact) else None


def curves_of(records: Sequence[Record]) -> list[Curve]:
    """All reviews of some records."""
    return [
        Curve(
            record.settings["scenario"],
            one["way"],
            one["slips"],
            record.result["predicates"],
            record.result["reachable"],
            one["exact"],
        )
        for record in records
        for one in record.result["curves"]
    ]


def _tables(records: Sequence[Record]) -> list[Table]:
    columns = (
        "predicates",
        "right rule in question",
        *(f"after {share:g}" for share in _SHOWN),
        "asked in all",
        "answers until all",
    )
    curves = curves_of(records)
    found = []
    for slips in SLIPS:
        rows = []
        for scenario in dict.fromkeys(one.scenario for one in curves):
            for way in WAYS:
                own = [one for one in curves if (one.scenario, one.way, one.slips) == (scenario, way, slips)]
                if own:
                    rows.append((f"{scenario}, {way}", _cells(own)))
        wrong = f", {slips:.0%} of the answers wrong" if slips else ""
        if rows:
            found.append(Table(f"Predicates exact by answers for each predicate{wrong}", columns, tuple(rows), 1))
    return found


def _cells(own: Sequence[Curve]) -> tuple[Cell, ...]:
    """The means over several draws."""
    whole = [one.until_all for one in own]
    known = [one for one in whole if one is not None]
    return (
        Cell(str(own[0].predicates)),
        Cell(str(own[0].reachable)),
        *(Cell(float(np.mean([one.after(share) for one in own]))) for share in _SHOWN),
        Cell(float(np.mean([len(one.exact) - 1 for one in own]))),
        Cell(f"{np.mean(known):.0f}" if len(known) == len(whole) else "–"),
    )


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    curves = curves_of(records)
    if not curves:
        return []
    figure, axes = plt.subplots(1, len(SLIPS), figsize=(9.5, 3.6), sharey=True, squeeze=False)
    grid = np.linspace(0.0, MOST, 41)
    for axis, slips in zip(axes[0], SLIPS, strict=True):
        for way in WAYS:
            own = [one for one in curves if one.way == way and one.slips == slips]
            shares = [[one.after(float(at)) / max(1, one.reachable) for at in grid] for one in own]
            axis.plot(grid, np.mean(shares, axis=0), color=_COLOURS[way], label=way)
        axis.set_title("all answers right" if not slips else f"{slips:.0%} of the answers wrong", fontsize=10)
        axis.set_xlabel("answers for each predicate")
        axis.axhline(1.0, color="#bbbbbb", linewidth=0.8, linestyle="--")
    axes[0][0].set_ylabel("exact, of those with a right rule")
    axes[0][0].legend(frameon=False, fontsize=9)
    return [save(figure, folder, "questions")]


BENCH = Bench(
    BenchInfo(
        "questions",
        "not in the paper: how many answers a mapping takes, from no example",
        "15 min",
        "RULEMINER_DATA/rodi/cmt_* and real/* if there; generated scenarios",
        (),
    ),
    _units,
    _run,
    _tables,
    _pictures,
    (
        "No example is given. The oracle knows all true facts of the predicates that the scenario asks for; a choice "
        "between several rows is one answer. Slips: one answer in twenty is another one.",
        "A right rule is in question where one of the rules that names and structure suggest derives exactly the true "
        "facts; of other predicates no answer makes an exact one.",
    ),
)
