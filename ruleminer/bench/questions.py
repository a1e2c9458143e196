"""How many answers a mapping takes: an oracle that knows the truth answers, from no example, until nothing is asked.

Not in the paper. Three ways to choose what to ask, the first also with an oracle that slips one time in twenty:

    information   the question that is expected to tell most (review/questions.py)
    least sure    the term that is most in doubt: does a fact of its best rule hold?
    random        any term, any fact of any of its likely rules

The measure is the predicates whose rules derive exactly the true facts, by the number of answers.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from ruleminer.bench.mapping import KINDS, RODI
from ruleminer.bench.pair_things import things_of_pairs
from ruleminer.bench.pictures import save
from ruleminer.bench.real import part_of
from ruleminer.bench.real_problem import problems_in
from ruleminer.bench.real_truth import Argument, Entity, Truth
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Bench, BenchInfo, BenchOptions, Record, Tick, Unit
from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.decisions import NAMED, Said, UserDecision, UserDecisions
from ruleminer.problem.ontology import Ontology, read_ontology
from ruleminer.problem.scenario import all_facts, open_scenario, scenario_database
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.derivations import Derivations, Fact
from ruleminer.proposals.hypotheses import World as Hypotheses
from ruleminer.proposals.joint import Joint
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.replay import Replay
from ruleminer.proposals.request import MIN_CONFIDENCE
from ruleminer.review.hypotheses import doubt, hypotheses_of
from ruleminer.review.questions import NoQuestion, Question, Questions
from ruleminer.rules.body import Body
from ruleminer.rules.mapping import is_absolute
from ruleminer.rules.values import Rule
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import open_database
from ruleminer.structure.meaning import meaning
from ruleminer.structure.structure import learn_structure

SCENARIOS = (
    *RODI,
    "cmt_naive",
    "cmt_structured",
    "conference_naive",
    "conference_naive_ci",
    "conference_renamed",
    "conference_structured",
    "conference_structured_ci",
    "conference_mixed",
    "conference_nofks",
    "npd",
)
REAL = ("chinook", "sakila")
WAYS = ("information", "least sure", "random")
SLIPS = (0.0, 0.05)
REVIEWS = (*((way, 0.0) for way in WAYS), ("information", SLIPS[1]))
MOST = 1.5  # answers for each predicate, at most
_BRIEF = {"npd": 0.15}  # where an answer takes seconds: fewer, and information alone
_SHOWN = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)
_COLOURS = {"information": "#c62828", "least sure": "#1565c0", "random": "#757575"}

Facts = frozenset[Fact]


@dataclass(frozen=True)
class World:
    """What there is to find out. Entities of the truth are written with their table, but for terms in `bare`."""

    ontology: Ontology
    derivations: Derivations
    truth: Mapping[str, Facts]
    bare: frozenset[str] = frozenset()  # terms whose entities are known by their keys alone
    reachable: frozenset[str] = frozenset()  # terms for which a rule in question is right

    def facts(self, term: str, rule: Rule) -> Facts:
        """What a rule derives, as the truth of the term writes it."""
        rows = (tuple(map(str, row)) for row in self.derivations.derived(rule))
        if term not in self.bare:
            rows = (self.derivations.texts.written(Body(rule), row) for row in rows)
        return frozenset(tuple(map(str.rstrip, row)) for row in rows)

    def holds(self, term: str, fact: Fact) -> bool:
        """What the oracle knows."""
        if term in self.bare:
            told = map(self.derivations.texts.told, fact)
            fact = tuple(text if one is None else one[1] for text, one in zip(fact, told, strict=True))
        return tuple(map(str.rstrip, fact)) in self.truth[term]


@dataclass
class Review:
    """One review from no example: what was said, and what is decided by it."""

    world: World
    measure: Measure
    joint: Joint
    dice: random.Random
    slips: float
    lines: list[UserDecision] = field(default_factory=list)
    _derived: dict[tuple[bool, Body], Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.replay = Replay(self.measure)
        self.questions = Questions(self.replay)
        self.decide()

    def decide(self) -> None:
        """All terms, by what was said so far; those that nobody asks for are heard, and not counted."""
        self.replay = self.replay.of(UserDecisions(tuple(self.lines)))
        self.questions.replay = self.replay
        found = self.replay.drafted(self.joint, self.replay.applied({}))
        self.decisions: dict[str, Decision] = {term: one for term, one in found.items() if term in self.world.truth}

    @property
    def answered(self) -> dict[str, set[Fact]]:
        """The facts that were asked."""
        found: dict[str, set[Fact]] = defaultdict(set)
        for line in self.lines:
            if line.fact:
                found[line.term].add(line.fact)
        return found

    def exact(self) -> set[str]:
        """The predicates whose rules derive just the true facts, and are proposed or guessed."""
        truth = self.world.truth
        shown = {term: one for term, one in self.decisions.items() if not one.is_absent(MIN_CONFIDENCE)}
        return {term for term, one in shown.items() if self._union(term, one.rules) == truth[term]}

    def _union(self, term: str, rules: Sequence[Rule]) -> Facts:
        keys = [(term in self.world.bare, Body(rule)) for rule in rules]
        for key, rule in zip(keys, rules, strict=True):
            if key not in self._derived:
                self._derived[key] = self.world.facts(term, rule)
        return frozenset[Fact]().union(*(self._derived[key] for key in keys))

    def answer(self, question: Question) -> None:
        """What the oracle says, right or by a slip; asked for a fact, it names any."""
        if question.is_open:
            fact = self._named(question.term)
            said = Said.NONE_KNOWN if fact is None else Said.HOLDS
            self.lines.append(UserDecision(question.term, said, fact or (), about=NAMED, when=""))
            return
        right = next((n for n, fact in enumerate(question.facts) if self.world.holds(question.term, fact)), None)
        if self.dice.random() < self.slips:
            others = [place for place in (None, *range(len(question.facts))) if place != right]
            right = self.dice.choice(others)
        facts = question.facts if right is None else (question.facts[right],)
        said = Said.FAILS if right is None else Said.HOLDS
        self.lines += [UserDecision(question.term, said, fact, when="") for fact in facts]

    def _named(self, term: str) -> Fact | None:
        """Any true fact of a term, by a slip one of another; nobody names an empty text."""
        truth = self.world.truth
        own = truth[term]
        if self.dice.random() < self.slips:
            wrong = {fact for some in truth.values() for fact in some if len(fact) == len(next(iter(own)))} - own
            return self.dice.choice(sorted(wrong or own))
        filled = sorted(filter(all, own))
        return self.dice.choice(filled) if filled else None


def information(review: Review) -> Question | None:
    """The question that tells most."""
    questions = review.questions
    unthought = [term for term in review.world.truth if questions.is_roomy and term not in review.decisions]
    found = questions.next(review.decisions, review.answered, unthought=unthought)
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
    derivations = review.measure.derivations
    open_: list[Fact] = []
    for body in map(Body, rules):
        try:
            rows = [tuple(map(str, row)) for row in derivations.sample([body.rule], 40 + len(answered))]
        except DatabaseError:
            continue
        facts = (derivations.texts.written(body, row) for row in rows if all(row))
        open_ += [fact for fact in facts if fact not in answered]
    if not open_:
        return None
    return Question(term, (dice.choice(open_) if dice else open_[0],), 0.0, (), ())


_CHOOSERS = {"information": information, "least sure": least_sure, "random": at_random}


def _units(options: BenchOptions) -> list[Unit]:
    found = []
    for scenario in _scenarios(options):
        most = _BRIEF.get(scenario, MOST)
        reviews = REVIEWS if most == MOST else REVIEWS[:1]
        for seed in range((options.seeds or 1) if most == MOST else 1):
            settings = {"scenario": scenario, "seed": seed, "most": most, "reviews": [list(one) for one in reviews]}
            found.append(Unit(f"{scenario}{f', draw {seed}' if seed else ''}", settings, 300.0))
    return found


def _scenarios(options: BenchOptions) -> Iterator[str]:
    if options.scale == "smoke":
        yield "workshop-plain"
        return
    data = options.data or data_folder()
    if data is not None:
        yield from (name for name in SCENARIOS if (data / "rodi" / name).is_dir())
        yield from (name for name in REAL if (data / "real" / name).is_dir())
    domains = ("workshop",) if options.scale == "cpu" else ("workshop", "university", "hospital")
    yield from (f"{domain}-{kind}" for domain in domains for kind in KINDS)


def _run(unit: Unit, options: BenchOptions, tick: Tick) -> dict[str, Any]:
    settings = unit.settings
    with _world(settings["scenario"], options) as (world, joint):
        measure = Measure(world.ontology, world.derivations, structure=world.derivations.structure)
        derived: dict[tuple[bool, Body], Facts] = {}
        curves: list[dict[str, Any]] = []
        most = round(settings["most"] * len(world.truth))
        for number, (way, slips) in enumerate(settings["reviews"]):
            tick(number / len(settings["reviews"]))
            dice = random.Random(f"{settings['seed']}-{way}-{slips}")
            review = Review(world, measure, joint, dice, slips, _derived=derived)
            exact = _reviewed(review, _CHOOSERS[way], most)
            within = [len(some & world.reachable) for some in exact]
            curves.append({"way": way, "slips": slips, "exact": list(map(len, exact)), "within": within})
            if way == "information" and not slips:  # whether others take twice as many shall be seen
                most = max(most, 2 * (_until(within, len(world.reachable)) or 0))
        return {"predicates": len(world.truth), "reachable": len(world.reachable), "curves": curves}


def _reviewed(review: Review, choose: Callable[[Review], Question | None], most: int) -> list[set[str]]:
    """The predicates that are exact after each answer."""
    exact = [review.exact()]
    while len(exact) <= most and (question := choose(review)) is not None:
        review.answer(question)
        review.decide()
        exact.append(review.exact())
    return exact


@contextmanager
def _world(name: str, options: BenchOptions) -> Iterator[tuple[World, Joint]]:
    if name in REAL:
        with _real(name, options) as found:
            yield found
        return
    data = options.data or data_folder()
    if name in SCENARIOS:
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
        derivations = Derivations(database, learn_structure(database))
        truth: dict[str, set[Fact]] = defaultdict(set)
        declared = {term.name for term in ontology.terms}  # nobody is asked of what the ontology does not speak of
        for fact in all_facts(scenario, ontology, database).facts.to_pylist():
            if fact["predicate"] not in declared:
                continue
            truth[fact["predicate"]].add(tuple(v.rstrip() for v in (fact["arg1"], fact["arg2"]) if v is not None))
        facts = {term: frozenset(own) for term, own in sorted(truth.items())}
        if any(is_absolute(next(iter(own))[0]) for own in facts.values()):
            things = things_of_pairs(scenario.pairs, ontology, derivations)
            facts = {term: own for term, own in things.items() if term in declared}
            yield world_of_things(World(ontology, derivations, facts))
        else:
            yield world_of(ontology, derivations, facts)


def world_of_things(world: World) -> tuple[World, Joint]:
    """The world of a truth whose entities are written with their tables."""
    joint = Joint(Hypotheses(world.derivations, meaning()), world.ontology)
    reachable = frozenset(
        term
        for term, own in world.truth.items()
        if any(world.facts(term, rule) == own for rule in _of_size(joint, term, len(own)))
    )
    return replace(world, reachable=reachable), joint


def world_of(ontology: Ontology, derivations: Derivations, keys: Mapping[str, Facts]) -> tuple[World, Joint]:
    """The world of a truth whose entities are bare keys: a term's are things of where its right rules find them.

    Where no rule in question is right, or several are and find them in different tables, keys must do.
    """
    joint = Joint(Hypotheses(derivations, meaning()), ontology)
    plain = World(ontology, derivations, keys, frozenset(keys))
    truth: dict[str, Facts] = {}
    reachable = set()
    for term, own in keys.items():
        right = [rule for rule in _of_size(joint, term, len(own)) if plain.facts(term, rule) == own]
        spaces = {derivations.texts.spaces(Body(rule)) for rule in right}
        if right:
            reachable.add(term)
        if len(spaces) == 1:
            truth[term] = frozenset(derivations.texts.written(Body(right[0]), fact) for fact in own)
    whole = {term: truth.get(term, own) for term, own in keys.items()}
    return World(ontology, derivations, whole, frozenset(keys) - truth.keys(), frozenset(reachable)), joint


def _of_size(joint: Joint, term: str, size: int) -> list[Rule]:
    """The rules in question for a term that derive so many facts."""
    bodies = joint.offered(term)
    rules = [body.of(term) for body in bodies]
    sizes = joint.world.derivations.sizes(rules, bodies)
    return [rule for rule, one in zip(rules, sizes, strict=True) if one == size]


@contextmanager
def _real(name: str, options: BenchOptions) -> Iterator[tuple[World, Joint]]:
    """An ordinary database with the part of schema.org that is asked for, and the SQL of its truth."""
    data = options.data or data_folder()
    if data is None:
        raise InputError(f"the bench questions needs RULEMINER_DATA for {name}")
    (problem,) = problems_in(data / "real" / name)
    ontology = part_of(read_ontology(problem.ontology()), problem.sql)
    with open_database(problem.database()) as database:
        structure = learn_structure(database)
        derivations = Derivations(database, structure)
        known = Truth(problem, database, structure)
        tables = {".".join(space.key): space.key.table for space in structure.spaces}

        def written(argument: Argument) -> str:
            if not isinstance(argument, Entity):
                return argument
            return f"{tables[argument.space]}:{argument.key}" if argument.space in tables else argument.key

        truth = {
            ontology.find(term).name: frozenset(tuple(map(written, fact)) for fact in known.facts(term))
            for term in sorted(problem.sql)
        }
        yield world_of_things(World(ontology, derivations, truth))


@dataclass(frozen=True)
class Curve:
    """One review: the predicates that are exact after each answer."""

    scenario: str
    way: str
    slips: float
    predicates: int
    reachable: int
    exact: Sequence[int]
    within: Sequence[int]  # of those for which a right rule is in question
    most: float = MOST  # answers for each predicate that were allowed

    def after(self, share: float) -> int:
        """Predicates exact after so many answers for each predicate; who asks no more stays where they are."""
        return self.exact[min(len(self.exact) - 1, round(share * self.predicates))]

    def within_after(self, share: float) -> int:
        """The same of those for which a right rule is in question."""
        return self.within[min(len(self.within) - 1, round(share * self.predicates))]

    @property
    def until_all(self) -> int | None:
        """How many answers it took until all were exact, to stay so, for which a right rule is in question."""
        return _until(self.within, self.reachable)


def _until(within: Sequence[int], reachable: int) -> int | None:
    missing = [number for number, exact in enumerate(within) if exact < reachable]
    last = missing[-1] + 1 if missing else 0
    return last if last < len(within) else None


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
            one["within"],
            record.settings["most"],
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
        *(Cell(float(np.mean([one.after(share) for one in own])) if share <= own[0].most else "–") for share in _SHOWN),
        Cell(float(np.mean([len(one.exact) - 1 for one in own]))),
        Cell(f"{np.mean(known):.0f}" if len(known) == len(whole) else "–"),
    )


def _pictures(records: Sequence[Record], folder: Path) -> list[Path]:
    curves = curves_of(records)
    if not any(one.most == MOST for one in curves):
        return []
    figure, axes = plt.subplots(1, len(SLIPS), figsize=(9.5, 3.6), sharey=True, squeeze=False)
    grid = np.linspace(0.0, MOST, 41)
    for axis, slips in zip(axes[0], SLIPS, strict=True):
        for way in (way for way in WAYS if (way, slips) in REVIEWS):
            own = [one for one in curves if one.way == way and one.slips == slips and one.most == MOST]
            shares = [[one.within_after(float(at)) / max(1, one.reachable) for at in grid] for one in own]
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
        "2 h",
        "RULEMINER_DATA/rodi/cmt_* and real/* if there; generated scenarios",
        (),
    ),
    _units,
    _run,
    _tables,
    _pictures,
    (
        "No example is given: the network drafts, and hears the answers. The oracle knows all true facts of the "
        "predicates that the scenario asks for and the ontology declares, and which row is meant; only these are asked "
        "about. A choice between several rows is one answer. Slips: one answer in twenty is another one. Other ways go "
        "on to twice the answers that `information` takes, if that is more than 1.5 for each predicate.",
        "A right rule is in question where one of the rules that names and structure suggest derives exactly the true "
        "facts; of other predicates no answer makes an exact one.",
        "NPD's entities are IRIs about columns: who gives no example speaks of the rows that these columns name. "
        "Predicates some of whose entities no key names are left out (28 of 437). An answer takes seconds there, so "
        "only the first 0.15 for each predicate are asked, and the plot leaves it out.",
    ),
)
