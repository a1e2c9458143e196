"""A run over a warehouse, simulated: hours on a cluster of so many cores, what they cost, and what gives out first.

    python benchmarks/spark.py --rows 100000 --json small.json
    python benchmarks/spark.py --rows 1000000 --json large.json
    python benchmarks/cluster.py --runs small.json large.json --check 10087172 127 3670051 718

Constants are solved from two measured runs of structure and extraction on Spark, alike but for their rows: what a
statement and a row that is brought over take of the driver, and what a task and a row of the source take of the cores.
`--check` tells a third run (rows, statements, rows brought over, processor seconds), whose seconds are predicted from
the others; the error is printed. Statements a table and a term, and the client's own seconds, are arguments, whose
defaults are the measured ones of docs/scale.md.

The events: a statement is planned by the driver, one after the other, as we ask them; its tasks then go to the cores
that are free first, and the next statement is planned when the last of them is done. Tables have sizes by Zipf's law.
A task takes longer or shorter than it should by a seeded draw (log-normal, --spread). The client works on its own, on
one core, between stages. Not in it: the network, other people's jobs, tasks that fail, and the start of machines.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Costs:
    """Seconds of one core."""

    statement: float  # of the driver
    brought: float  # of the driver, for a row
    task: float
    row: float  # of the tasks, over all statements of structure and extraction


@dataclass(frozen=True)
class Warehouse:
    """How much there is."""

    rows: float
    tables: int
    terms: int


def solved(one: dict[str, Any], other: dict[str, Any], start: float) -> Costs:
    """What makes both runs take what they took, without their start."""

    def lines(
        sums: tuple[float, float], first: tuple[float, float], second: tuple[float, float]
    ) -> tuple[float, float]:
        size = first[0] * second[1] - first[1] * second[0]
        found = (
            (sums[0] * second[1] - first[1] * sums[1]) / size,
            (first[0] * sums[1] - sums[0] * second[0]) / size,
        )
        if min(found) < 0:
            raise SystemExit(f"the two runs contradict the model: {found}; measure again on a quieter machine")
        return found

    tasks = [run["spark"]["task_seconds"] for run in (one, other)]
    driver = [run["spark"]["processor_seconds"] - start - took for run, took in zip((one, other), tasks, strict=True)]
    asked = [(run["spark"]["statements"], run["spark"]["rows_brought_over"]) for run in (one, other)]
    read = [(run["spark"]["tasks"], run["rows"]) for run in (one, other)]
    return Costs(*lines((driver[0], driver[1]), *asked), *lines((tasks[0], tasks[1]), *read))


def shares(tables: int) -> list[float]:
    """The part of all rows that each table has, by Zipf's law."""
    parts = [1 / place for place in range(1, tables + 1)]
    return [part / sum(parts) for part in parts]


class Cluster:
    """Cores, and the driver that keeps them busy, one statement after the other."""

    def __init__(self, cores: int, costs: Costs, spread: float, seed: int) -> None:
        self._cores, self._costs, self._spread = cores, costs, spread
        self._draw = random.Random(seed)
        self.now = self.planning = self.working = 0.0

    def run(self, statements: Iterator[tuple[int, float, float]]) -> None:
        """Statements by their tasks, the seconds of a core that their rows take, and the rows brought over."""
        for tasks, seconds, brought in statements:
            planned = self._costs.statement + self._costs.brought * brought
            self.planning += planned
            self.now += planned
            free = [self.now] * min(self._cores, tasks)  # nothing else runs
            for _ in range(tasks):
                exact = self._costs.task + seconds / tasks
                took = exact * self._draw.lognormvariate(-(self._spread**2) / 2, self._spread)
                self.working += took
                heapq.heapreplace(free, free[0] + took)
            self.now = max(free, default=self.now)


def asked_of(warehouse: Warehouse, a_table: float, brought: float, costs: Costs, split: float) -> Iterator[Any]:
    """The statements of structure and extraction: so many of each table, which share what its rows take."""
    for part in shares(warehouse.tables):
        rows, left = warehouse.rows * part, a_table
        while left > 0:
            one = min(1.0, left)
            work = costs.row * rows * one / a_table
            yield max(1, math.ceil(rows / split)), work, brought * part * one / a_table
            left -= one


def proposed_of(warehouse: Warehouse, a_term: float, a_table: float, costs: Costs, split: float, seed: int) -> Any:
    """The statements of proposals: each over some table, at what a statement of extraction takes for its rows."""
    draw, parts = random.Random(seed), shares(warehouse.tables)
    for _ in range(round(a_term * warehouse.terms)):
        rows = warehouse.rows * draw.choice(parts)
        yield max(1, math.ceil(rows / split)), costs.row * rows / a_table, 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs=2, required=True, help="two results of benchmarks/spark.py --json")
    parser.add_argument(
        "--check", type=float, nargs=4, action="append", default=[], help="a run that was measured, too"
    )
    parser.add_argument("--cores", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rows", type=float, default=1e10)
    parser.add_argument("--tables", type=int, default=10**4)
    parser.add_argument("--terms", type=int, default=10**5)
    parser.add_argument("--per-table", type=float, default=7.6, help="statements of structure and extraction")
    parser.add_argument("--per-term", type=float, default=3.1, help="statements of proposals")
    parser.add_argument("--pair", type=float, default=14e-6, help="seconds of the client for a column and a key")
    parser.add_argument("--columns", type=float, default=10, help="of a table")
    parser.add_argument("--brought", type=float, default=5e8, help="rows that matter")
    parser.add_argument("--search", type=float, default=1e-6, help="seconds of the client for each of them")
    parser.add_argument("--split", type=float, default=1e7, help="rows that one task reads at most")
    parser.add_argument("--spread", type=float, default=0.3, help="of the logarithm of a task's seconds")
    parser.add_argument("--price", type=float, default=0.05, help="dollars of a core and hour")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results here")
    told = parser.parse_args()
    one, other = (json.loads(file.read_text("utf-8")) for file in told.runs)
    costs = solved(one, other, told.start)
    print(
        f"a statement takes {costs.statement:.3f} s of the driver, a row brought over {costs.brought * 1e6:.2f} µs, "
        f"a task {costs.task * 1e3:.1f} ms, a row of the source {costs.row * 1e6:.2f} µs"
    )
    results: list[dict[str, Any]] = []
    for rows, statements, brought, seconds in told.check:
        tables = len(other["spark"]["tables"])
        checked = Cluster(2, costs, told.spread, told.seed)
        a_table = statements / tables
        checked.run(asked_of(Warehouse(rows, tables, 0), a_table, brought, costs, told.split))
        found = told.start + checked.planning + checked.working
        print(
            f"{rows:,.0f} rows: {found:.0f} s of the processor predicted, {seconds:.0f} measured, "
            f"{found / seconds - 1:+.0%}"
        )
        results.append({"rows": rows, "predicted": found, "measured": seconds})
    warehouse = Warehouse(told.rows, told.tables, told.terms)
    links = told.columns * told.tables**2 * told.pair
    search = told.brought * told.search
    for cores in told.cores:
        cluster = Cluster(cores, costs, told.spread, told.seed)
        cluster.run(asked_of(warehouse, told.per_table, told.brought, costs, told.split))
        read, busy = cluster.now, cluster.working
        cluster.run(proposed_of(warehouse, told.per_term, told.per_table, costs, told.split, told.seed))
        hours = (read + links + search + cluster.now - read) / 3600
        results.append(
            {
                "cores": cores,
                "structure and extraction, h": read / 3600,
                "proposals, h": (cluster.now - read) / 3600,
                "links, client, h": links / 3600,
                "search, client, h": search / 3600,
                "hours": hours,
                "driver plans, h": cluster.planning / 3600,
                "cores busy": cluster.working / (cores * hours * 3600),
                "cores busy while reading": busy / (cores * read),
                "dollars": hours * cores * told.price,
            }
        )
        print(json.dumps({key: round(value, 3) for key, value in results[-1].items()}))
    if told.json:
        told.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
