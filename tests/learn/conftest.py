"""Small datasets to learn from, written as extraction writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruleminer.problem.schema import Column, Schema, Table

Labelled = tuple[str, tuple[str, ...], bool, Sequence[str]]  # predicate, arguments, positive, rules


def _table(name: str, **types: str) -> Table:
    return Table(name, tuple(Column.of_type(column, sql_type, True) for column, sql_type in types.items()))


SCHEMA = Schema(
    None,
    (
        _table("people", id="integer", kind="text", active="boolean"),
        _table("papers", id="integer", author="integer", title="text"),
        _table("Paper Notes", **{"Paper ID": "integer", "day": "date"}),
    ),
)


def write_run(run: Path, facts: Sequence[Labelled]) -> Path:
    """RUN/dataset with these facts."""
    folder = run / "dataset"
    folder.mkdir(parents=True)
    rules: dict[str, int] = {}
    pairs = [(i, rules.setdefault(text, len(rules))) for i, fact in enumerate(facts) for text in fact[3]]
    columns = {
        "fact": pa.array(range(len(facts)), pa.int32()),
        "predicate": pa.array([fact[0] for fact in facts]),
        "arg1": pa.array([fact[1][0] for fact in facts]),
        "arg2": pa.array([fact[1][1] if len(fact[1]) > 1 else None for fact in facts], pa.string()),
        "kind1": pa.nulls(len(facts), pa.string()),
        "kind2": pa.nulls(len(facts), pa.string()),
        "positive": pa.array([fact[2] for fact in facts], pa.bool_()),
    }
    pq.write_table(pa.table(columns), folder / "facts.parquet")
    ids, texts = pa.array(range(len(rules)), pa.int32()), pa.array(list(rules), pa.string())
    pq.write_table(pa.table({"rule": ids, "template": texts, "text": texts}), folder / "rules.parquet")
    fact_ids, rule_ids = (pa.array([pair[i] for pair in pairs], pa.int32()) for i in (0, 1))
    pq.write_table(pa.table({"fact": fact_ids, "rule": rule_ids}), folder / "candidates.parquet")
    (folder / "schema.json").write_text(json.dumps(SCHEMA.to_json()), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps({"format": 1}), encoding="utf-8")
    return run


def toy_facts(count: int = 24) -> list[Labelled]:
    """Authors and papers: one rule derives all positives, one derives negatives too, one is each fact's own."""
    facts: list[Labelled] = []
    for i in range(count):
        everyone = "Author(x) <- people(id: x)"
        right = 'Author(x) <- people(id: x, kind: "author")'
        facts.append(("Author", (str(100 + i),), True, [everyone, right, f"Author(x) <- papers(author: x, id: {i})"]))
        wrote = ["wrote(x, y) <- papers(author: x, id: y)"]
        wrote += ["wrote(x, y) <- papers(author: x, id: y), people(id: x)"]
        facts.append(("wrote", (str(100 + i), str(i)), True, wrote))
        if i % 3 == 0:
            chair = 'Author(x) <- people(id: x, kind: "chair")'
            facts.append(("Author", (str(500 + i),), False, [everyone, chair]))
    return facts


@pytest.fixture
def toy_run(tmp_path: Path) -> Path:
    """A run with a dataset small enough to learn in seconds."""
    return write_run(tmp_path / "run", toy_facts())


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[[Sequence[Labelled]], Path]:
    """Writes a run with facts of one's own."""

    def make(facts: Sequence[Labelled]) -> Path:
        return write_run(tmp_path / "run", facts)

    return make
