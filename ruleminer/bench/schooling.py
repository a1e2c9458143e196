"""Models that learnt from other scenarios: many random domains, generated and extracted, then learnt from as one set.

A fact of the corpus is what the product learns from: a predicate, its arguments, and the rules that derive it. For
each predicate there is also a fact without arguments, with the rules that derive all its others: it stands for the
question "which rule, before any example?". The true mappings are not used.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import rc_context

from ruleminer.bench.frame import write_text
from ruleminer.extract.dataset import FOLDER, FORMAT, read_dataset
from ruleminer.extract.request import ExtractRequest, extract_datasets
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import TrainResult, train_run
from ruleminer.problem.generator.distortions import KINDS
from ruleminer.problem.generator.generate import generate_scenario
from ruleminer.problem.generator.names import NAMES
from ruleminer.problem.schema import Schema

_FACTS, _CANDIDATES = 2, 40  # per predicate; per fact
_FIRST_SEED = 10_000  # no test scenario has such a seed


@dataclass(frozen=True)
class _Fact:
    predicate: str
    arguments: tuple[str, ...]
    rules: tuple[str, ...]  # that derive it


def make_corpus(folder: Path, scenarios: int, rows: int, tick: Callable[[float], None]) -> dict[str, int]:
    """Generate, extract and write FOLDER/dataset; how much there is. A scenario that is done is not done again."""
    facts: list[_Fact] = []
    for number in range(scenarios):
        tick(number / scenarios)
        part = folder / "parts" / f"{number}-{rows}-{_FACTS}-{_CANDIDATES}.json"
        if not part.is_file():
            part.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder) as home:
                write_text(part, json.dumps([astuple(fact) for fact in _scenario_facts(Path(home), number, rows)]))
        facts += [_Fact(name, tuple(own), tuple(rules)) for name, own, rules in json.loads(part.read_text("utf-8"))]
    _write(folder, facts)
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


def _scenario_facts(home: Path, number: int, rows: int) -> Iterator[_Fact]:
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
            yield _Fact(predicate, arguments, tuple(rules))
            shared[predicate] = shared[predicate] & {*rules} if predicate in shared else {*rules}
    for predicate, common in shared.items():
        if common:
            yield _Fact(predicate, (), tuple(sorted(common)))


def _write(run: Path, facts: Sequence[_Fact]) -> None:
    rules = {text: number for number, text in enumerate(sorted({rule for fact in facts for rule in fact.rules}))}
    fresh = run / f".{FOLDER}.fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    columns = {
        "fact": pa.array(range(len(facts)), pa.int32()),
        "predicate": pa.array([fact.predicate for fact in facts]),
        "arg1": pa.array([fact.arguments[0] if fact.arguments else None for fact in facts], pa.string()),
        "arg2": pa.array([fact.arguments[1] if len(fact.arguments) > 1 else None for fact in facts], pa.string()),
        "positive": pa.array([True] * len(facts)),
    }
    pq.write_table(pa.table(columns), fresh / "facts.parquet")
    ids = pa.array(rules.values(), pa.int32())
    pq.write_table(pa.table({"rule": ids, "text": pa.array(list(rules))}), fresh / "rules.parquet")
    pairs = [(number, rules[rule]) for number, fact in enumerate(facts) for rule in fact.rules]
    candidates = {"fact": [fact for fact, _ in pairs], "rule": [rule for _, rule in pairs]}
    pq.write_table(pa.table({n: pa.array(v, pa.int32()) for n, v in candidates.items()}), fresh / "candidates.parquet")
    (fresh / "schema.json").write_text(json.dumps(Schema(None, ()).to_json()) + "\n", "utf-8")
    manifest = {"format": FORMAT, "source": "random domains", "facts": len(facts), "rules": len(rules)}
    (fresh / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    shutil.rmtree(run / FOLDER, ignore_errors=True)
    fresh.rename(run / FOLDER)
