"""How benches look."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table as RichTable

from ruleminer.terminal.console import results, table

if TYPE_CHECKING:
    from ruleminer.bench.runner import BenchRun
    from ruleminer.bench.units import BenchInfo


def bench_table(benches: Iterable[BenchInfo]) -> RichTable:
    """What benches there are."""
    rows = ((info.name, info.reproduces, info.cost, info.data, ", ".join(info.losses)) for info in benches)
    return table("Benches", ("name", "reproduces", "cost (2 cores)", "data", "losses"), rows)


def print_bench(run: BenchRun) -> None:
    """The tables of a bench, in as many parts as the terminal is wide for, and what to know when reading them."""
    from ruleminer.bench.tables import fitting, rich_of

    for one in run.tables:
        results.print(f"\n{one.title}", style="bold", markup=False)
        for part in fitting(one, results):
            results.print(rich_of(part))
        for note in one.notes:
            results.print(f"  {note}", style="dim", markup=False)
    for note in run.notes:
        results.print(f"· {note}", markup=False)
    results.print(f"files: {run.folder}", markup=False)
