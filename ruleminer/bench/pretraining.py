"""Where the models of the mapping study learn: from other scenarios, from the few examples at hand, or from both.

The other scenarios are many random domains, generated, extracted and then learnt from as one set, the corpus.

A fact of the corpus is what the product learns from: a predicate, its arguments, and the rules that derive it. For
each predicate there is also a fact without arguments, with the rules that derive all its others: it stands for the
question "which rule, before any example?". The true mappings are not used.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ruleminer.bench.units import write_text
from ruleminer.dataset import LabelledFact, read_dataset, write_labelled_facts
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.scoring import RuleScorer
from ruleminer.learn.training import TrainResult, choose_device, train_run
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.rules.body import Body
from ruleminer.rules.printer import rule_text
from ruleminer.run import Run
from ruleminer.scenarios.distortions import KINDS
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.scenarios.names import NAMES
from ruleminer.sources.schema import Schema

_FACTS, _CANDIDATES = 2, 40  # per predicate; per fact
_FIRST_SEED = 10_000  # no test scenario has such a seed


def make_corpus(folder: Path, scenarios: int, rows: int, tick: Callable[[float], None]) -> dict[str, int]:
    """Generate, extract and write FOLDER/dataset; how much there is. A scenario that is done is not done again."""
    facts: list[LabelledFact] = []
    for number in range(scenarios):
        tick(number / scenarios)
        part = folder / "parts" / f"{number}-{rows}-{_FACTS}-{_CANDIDATES}.json"
        if not part.is_file():
            part.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder) as home:
                own = _scenario_facts(Path(home), number, rows)
                write_text(part, json.dumps([(fact.predicate, fact.arguments, fact.rules) for fact in own]))
        for name, arguments, rules in json.loads(part.read_text("utf-8")):
            facts.append(LabelledFact(name, tuple(arguments), tuple(rules)))
    write_labelled_facts(folder, facts, Schema(None, ()), "random domains", force=True)
    return {
        "scenarios": scenarios,
        "facts": len(facts),
        "candidates": sum(len(fact.rules) for fact in facts),
        "rules": len({rule for fact in facts for rule in fact.rules}),
    }


def train_on_corpus(corpus: Path, run: Path, options: TrainOptions) -> TrainResult:
    """Train RUN/model on the corpus, or go on where a killed run was."""
    home = Run(run)
    home.borrow_dataset(Run(corpus))
    begun = home.unfinished is not None
    return train_run(home, options, resume=begun, force=True)


def is_trained(run: Path) -> bool:
    """Whether a training of RUN/model has come to its end."""
    config = Run(run).model / "config.json"
    return config.is_file() and "result" in json.loads(config.read_text("utf-8"))


def finetuned_scorer(drawn: Mapping[str, Sequence[CandidateSet]], options: TrainOptions) -> RuleScorer:
    """A model that learnt from these examples of each predicate, and from nothing else but what it started from.

    As in every training, some facts of a predicate with two or more are held out.
    """
    facts: list[LabelledFact] = []
    for predicate, examples in drawn.items():
        own = [
            LabelledFact(predicate, one.arguments, tuple(_some(predicate, one.bodies)))
            for one in examples
            if one.bodies
        ]
        facts += [*own, *_question(predicate, [fact.rules for fact in own])]
    with TemporaryDirectory() as home:
        run = Path(home)
        write_labelled_facts(run, facts, Schema(None, ()), "examples of a trial")
        train_run(run, options)
        return RuleScorer.of_run(run, choose_device(options.device))


def _some(predicate: str, bodies: Sequence[Body]) -> Iterator[str]:
    """A fact's shortest rules."""
    for body in sorted(bodies, key=lambda body: body.order)[:_CANDIDATES]:
        yield rule_text(body.of(predicate))


def _question(predicate: str, sets: Sequence[Sequence[str]]) -> Iterator[LabelledFact]:
    """The fact without arguments, if any rule derives all the others."""
    common = set(sets[0]).intersection(*sets) if sets else set()
    if common:
        yield LabelledFact(predicate, (), tuple(sorted(common)))


def _scenario_facts(home: Path, number: int, rows: int) -> Iterator[LabelledFact]:
    """The facts of one more scenario, made in the folder `home`."""
    kinds, manners = list(KINDS), list(NAMES)
    generate_scenario(
        home / "source",
        domain="random",
        kind=kinds[number % len(kinds)],
        names=manners[number // len(kinds) % len(manners)],
        size=rows,
        seed=_FIRST_SEED + number,
    )
    request = ExtractRequest(
        out=home / "run",
        scenario=home / "source",
        positives=_FACTS,
        negatives="none",
        max_candidates=_CANDIDATES,
        seed=number,
    )
    extract_datasets(request)
    dataset = read_dataset(home / "run")
    sets: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for fact in dataset.facts_with_rules():
        if fact.rules:
            rules = tuple(dataset.rule_texts[rule] for rule in fact.rules)
            yield LabelledFact(fact.predicate, fact.arguments, rules)
            sets[fact.predicate].append(rules)
    for predicate, own in sets.items():
        yield from _question(predicate, own)
