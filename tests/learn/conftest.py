"""Small datasets to learn from, written as extraction writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ruleminer.dataset import LabelledFact, write_labelled_facts
from ruleminer.sources.schema import Column, Schema, Table

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
    labelled = [LabelledFact(name, arguments, tuple(rules), positive) for name, arguments, positive, rules in facts]
    write_labelled_facts(run, labelled, SCHEMA, "a test")
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
