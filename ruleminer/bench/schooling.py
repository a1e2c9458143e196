"""Models that learnt from other scenarios: many random domains, generated and extracted, then learnt from as one set.

A fact of the corpus is what the product learns from: a predicate, its arguments, and the rules that derive it. For
each predicate there is also a fact without arguments, with the rules that derive all its others: it stands for the
question "which rule, before any example?". The true mappings are not used.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib import rc_context

from ruleminer.bench.frame import write_text
from ruleminer.extract.dataset import FOLDER, LabelledFact, read_dataset, write_labelled_facts
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.generator.distortions import KINDS
from ruleminer.problem.generator.generate import generate_scenario
from ruleminer.problem.generator.names import NAMES
from ruleminer.problem.schema import Schema

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
                found = [(one.predicate, one.arguments, one.rules) for one in _scenario_facts(Path(home), number, rows)]
                write_text(part, json.dumps(found))
        for name, arguments, rules in json.loads(part.read_text("utf-8")):
            facts.append(LabelledFact(name, tuple(arguments), tuple(rules)))
    write_labelled_facts(folder, facts, Schema(None, ()), "random domains")
    return {
        "scenarios": scenarios,
        "facts": len(facts),
        "candidates": sum(len(fact.rules) for fact in facts),
        "rules": len({rule for fact in facts for rule in fact.rules}),
    }


def train_on_corpus(corpus: Path, run: Path, options: TrainOptions) -> TrainResult:
    """Train RUN/model on the corpus, or go on where a killed run was."""
    run.mkdir(parents=True, exist_ok=True)
    dataset = run / FOLDER
    if not dataset.is_symlink():
        dataset.symlink_to(os.path.relpath(corpus / FOLDER, run), target_is_directory=True)
    with rc_context({"figure.constrained_layout.use": False}):  # training lays its curve out itself
        return train_run(run, options, resume=(run / "model" / "checkpoint.safetensors").is_file(), quiet=True)


def is_trained(run: Path) -> bool:
    """Whether a training of RUN/model has come to its end."""
    config = run / "model" / "config.json"
    return config.is_file() and "result" in json.loads(config.read_text("utf-8"))


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
    texts: list[str] = dataset.rules["text"].to_pylist()
    derived: dict[int, list[str]] = defaultdict(list)
    for fact, rule in zip(dataset.candidates["fact"].to_pylist(), dataset.candidates["rule"].to_pylist(), strict=True):
        derived[fact].append(texts[rule])
    shared: dict[str, set[str]] = {}
    for fact in dataset.facts.to_pylist():
        predicate, rules = fact["predicate"], derived[fact["fact"]]
        if rules:
            arguments = tuple(value for value in (fact["arg1"], fact["arg2"]) if value is not None)
            yield LabelledFact(predicate, arguments, tuple(rules))
            shared[predicate] = shared[predicate] & {*rules} if predicate in shared else {*rules}
    for predicate, common in shared.items():
        if common:
            yield LabelledFact(predicate, (), tuple(sorted(common)))
