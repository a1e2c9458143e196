"""Our candidates against those of the paper's own extractor, for the same facts and the same shapes."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path

import pyarrow.compute as pc
import pytest

from ruleminer.bench.reference_sets import rule_of_tokens
from ruleminer.dataset import read_dataset
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure


def blurred(text: str) -> str:
    """What is left of a text in the reference: it has lost blanks, line breaks, quotes and types."""
    return re.sub(r'(\\n|\\r|[\s_"\\])+', "_", text)


def reference_sets(folder: Path, name: str) -> dict[tuple[bool, tuple[str, ...]], set[str]]:
    sets = {}
    for part, positive in (("pos", True), ("neg", False)):
        with gzip.open(folder / f"{name}.{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                text = line["input"].removeprefix("SOS ").removesuffix(" EOP EOS")
                predicate, _, arguments = text.partition(" PREDEND ")
                fact = (predicate, *map(blurred, arguments.split(" ")))
                sets[positive, fact] = {blurred(rule_text(rule_of_tokens(output))) for output in line["outputs"]}
    return sets


@pytest.mark.data
@pytest.mark.parametrize("name", ["cmt_renamed", "cmt_naive"])
def test_every_reference_candidate_is_among_ours(name: str, real_data: Path, tmp_path: Path) -> None:
    expected = reference_sets(real_data / "reference", name)
    scenario = open_scenario(real_data / "rodi" / name)
    with (real_data / "rodi" / name / "facts.csv").open(encoding="utf-8", newline="") as file:
        rows = [tuple(cell for cell in row if cell) for row in csv.reader(file)]
    written = {tuple(map(blurred, row)): row for row in rows}
    facts = {}
    for positive, blurry in expected:
        predicate, *arguments = written.get(blurry, blurry)
        facts[Fact(predicate, tuple(arguments), (None,) * len(arguments), positive)] = (positive, blurry)
    with open_database(scenario_database(scenario, tmp_path)) as database:
        options = ExtractOptions(positives=None, negatives=Negatives.NONE, max_candidates=None)
        templates = read_templates(files=["paper/classes", "paper/properties"])
        structure = learn_structure(database, discover=False)
        extract(database, fact_table(facts), templates, tmp_path / "run", options, structure=structure)
    dataset = read_dataset(tmp_path / "run")
    texts = [blurred(text) for text in dataset.rules["text"].to_pylist()]
    rows_of = dataset.facts.select(["predicate", "arg1", "arg2", "positive"]).to_pylist()
    ours: dict[tuple[bool, tuple[str, ...]], set[str]] = {}
    for fact, rule in zip(*(dataset.candidates[c].to_pylist() for c in ("fact", "rule")), strict=True):
        row = rows_of[fact]
        arguments = [row["arg1"], *([row["arg2"]] if row["arg2"] is not None else [])]
        key = (row["positive"], (row["predicate"], *map(blurred, arguments)))
        ours.setdefault(key, set()).add(texts[rule])
    missing = {key: rules - ours.get(key, set()) for key, rules in expected.items() if rules - ours.get(key, set())}
    assert not missing
    # The paper's extractor stops too early on a redundant atom: only rules with filters may be more on our side.
    more = [rule for key, rules in ours.items() for rule in rules - expected[key]]
    assert more
    assert all(rule.count("),_") >= 1 for rule in more)
    assert pc.sum(dataset.facts["positive"]).as_py() == sum(positive for positive, _ in expected)
