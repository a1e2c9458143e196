"""What is in a dataset: counts per predicate, the rules that explain most, the facts that nothing explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ruleminer import notebook
from ruleminer.dataset import read_dataset, read_times
from ruleminer.errors import InputError
from ruleminer.run import RunLike


@dataclass(frozen=True, slots=True)
class SharedRule:
    """A rule, and how many positives and negatives of its predicate it derives."""

    text: str
    positives: int
    negatives: int


@dataclass(frozen=True, slots=True)
class PredicateSummary:
    """One predicate of a dataset. The candidate figures are over its positives."""

    predicate: str
    positives: int
    negatives: int  # that the user gave
    sampled: int  # that extraction drew
    smallest: int
    median: float
    largest: int
    rules: tuple[SharedRule, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Facts of one predicate that have no candidate for the same reason; `example` is what is wrong with one."""

    predicate: str
    positive: bool
    facts: int
    reason: str
    example: str
    fact: str = ""  # the arguments of that one
    where: str = ""  # the file and the line of that one, if they are known


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """What `ruleminer dataset show` prints."""

    facts: int
    rules: int
    candidates: int
    predicates: tuple[PredicateSummary, ...]
    gaps: tuple[Gap, ...]
    manifest: dict[str, Any]
    times: dict[str, Any]

    def _repr_html_(self) -> str:
        shown = notebook.table(
            f"{self.facts:,} facts · {self.rules:,} rules · {self.candidates:,} candidates",
            ("predicate", "positives", "negatives", "rule shared by most"),
            ((p.predicate, p.positives, p.negatives, p.rules[0].text if p.rules else None) for p in self.predicates),
        )
        if self.gaps:
            rows = ((g.predicate, "+" if g.positive else "-", g.facts, g.reason, g.example) for g in self.gaps)
            shown += notebook.table("Facts without a rule", ("predicate", "", "facts", "why", "such as"), rows)
        return shown


def summarise(run: RunLike, most_rules: int = 3) -> DatasetSummary:
    """Read a dataset and count."""
    dataset = read_dataset(run)
    with duckdb.connect() as memory:
        memory.register("facts", _told_facts(dataset.facts))
        memory.register("rules", dataset.rules)
        memory.register("candidates", dataset.candidates)
        memory.register("unexplained", _read_unexplained(dataset.folder))
        counts = memory.execute(
            """
            SELECT predicate, count(*) FILTER (positive), count(*) FILTER (NOT positive AND NOT drawn),
                   count(*) FILTER (NOT positive AND drawn),
                   coalesce(min(n) FILTER (positive), 0), coalesce(median(n) FILTER (positive), 0),
                   coalesce(max(n) FILTER (positive), 0)
            FROM (SELECT f.*, coalesce(n, 0) AS n FROM facts f
                  LEFT JOIN (SELECT fact, count(*) AS n FROM candidates GROUP BY 1) USING (fact))
            GROUP BY 1 ORDER BY 1
            """
        ).fetchall()
        shared: dict[str, list[SharedRule]] = {}
        for predicate, text, positives, negatives in memory.execute(
            """
            SELECT predicate, text, count(*) FILTER (positive) AS p, count(*) FILTER (NOT positive) AS n
            FROM candidates JOIN facts USING (fact) JOIN rules USING (rule)
            GROUP BY 1, 2 HAVING p > 0
            QUALIFY row_number() OVER (PARTITION BY predicate ORDER BY p DESC, n, length(text), text) <= ?
            ORDER BY predicate, p DESC, n, length(text), text
            """,
            [most_rules],
        ).fetchall():
            shared.setdefault(predicate, []).append(SharedRule(text, positives, negatives))
        gaps = memory.execute(
            """
            SELECT predicate, positive, count(*), reason,
                   min(CASE pos WHEN 1 THEN told1 WHEN 2 THEN told2 ELSE concat_ws(', ', told1, told2) END),
                   min_by(concat_ws(', ', told1, told2),
                          CASE pos WHEN 1 THEN told1 WHEN 2 THEN told2 ELSE concat_ws(', ', told1, told2) END),
                   min_by(fact, CASE pos WHEN 1 THEN told1 WHEN 2 THEN told2 ELSE concat_ws(', ', told1, told2) END)
            FROM unexplained JOIN facts USING (fact) GROUP BY predicate, positive, reason
            ORDER BY positive DESC, predicate, reason
            """
        ).fetchall()
    lines = dataset.manifest.get("lines", {})
    return DatasetSummary(
        dataset.facts.num_rows,
        dataset.rules.num_rows,
        dataset.candidates.num_rows,
        tuple(
            PredicateSummary(name, positives, negatives, sampled, least, median, most, tuple(shared.get(name, ())))
            for name, positives, negatives, sampled, least, median, most in counts
        ),
        tuple(replace(Gap(*gap), where=lines.get(str(number), "")) for *gap, number in gaps),
        dict(dataset.manifest),
        read_times(dataset.folder),
    )


_DOUBTFUL, _OTHERS = 5, 3  # names that are told, and what else each could be


def told_contradictions(manifest: Mapping[str, Any]) -> list[str]:
    """The facts that hold by one example and do not by another, by predicate, for people."""
    facts: Mapping[str, Sequence[Sequence[str]]] = manifest.get("contradictory", {})
    lines: Mapping[str, str] = manifest.get("lines", {})
    told = []
    for name, both in facts.items():
        fact = f"{name}({', '.join(both[0])})"
        where = f" ({lines[fact]})" if fact in lines else ""
        more = f", and so do {len(both) - 1:,} more" if len(both) > 1 else ""
        told.append(f"{fact} holds by one of your examples and does not by another{where}{more}")
    return told


def doubtful_names(manifest: Mapping[str, Any]) -> list[str]:
    """The names in examples that could stand for other rows, in a line each, and how they were read."""
    doubtful = manifest.get("ambiguous", ())
    lines = []
    for one in doubtful[:_DOUBTFUL]:
        others = one["others"][:_OTHERS] + (["others"] if len(one["others"]) > _OTHERS else [])
        told = " or ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
        lines.append(
            f"{one['predicate']}: {one['text']} is read as {one['read_as']}, and could be {told}; write table:key to "
            "say which"
        )
    if len(doubtful) > _DOUBTFUL:
        lines.append(
            f"{len(doubtful) - _DOUBTFUL} more names could stand for several rows (ambiguous in manifest.json)"
        )
    return lines


def _told_facts(facts: pa.Table) -> pa.Table:
    """The facts with their arguments as people read them, `told1` and `told2`: keys of a known space with its table."""
    if "drawn" not in facts.column_names:  # of such a dataset nobody knows: see `write_labelled_facts`
        facts = facts.append_column("drawn", pc.invert(facts["positive"]))
    for place in (1, 2):
        texts = facts[f"arg{place}"]
        if f"space{place}" in facts.column_names:
            tables = pc.struct_field(facts[f"space{place}"], "table")
            texts = pc.coalesce(pc.binary_join_element_wise(tables, texts, ":"), texts)
        facts = facts.append_column(f"told{place}", texts)
    return facts


def _read_unexplained(folder: Path) -> pa.Table:
    try:
        return pq.read_table(folder / "unexplained.parquet")
    except (OSError, pa.ArrowException):
        raise InputError(f"the dataset in {folder} lacks unexplained.parquet: extract it anew") from None
