"""A run over a warehouse, simulated: hours on a cluster of so many cores, what they cost, and what gives out first.

    python benchmarks/spark.py --rows 250000 --json run.json
    python benchmarks/cluster.py --run run.json --large 10087172 16 121 561 --check 80911 16 123 102

Constants come from two measured runs of structure and extraction on Spark. Of the first, processor seconds that are
no task's and not those of the start, over its statements, are what the driver takes for one. Of both, what a task
takes by itself and what a row of the source takes are solved; of the larger run (--large: rows, tables, statements,
processor seconds) only the sum is known. `--check` tells another run in the same way, which is predicted; the error
is printed, and so is that of the larger run by the first one alone, if all tasks took what the median takes.
Statements a table and a term, and the client's own seconds, are arguments, whose defaults are measured ones of
docs/scale.md.

The events: a statement is planned by the driver, one after the other, as we ask them; its tasks then go to the cores
that are free first, and the next statement is planned when the last of them is done. Tables have sizes by Zipf's law.
A task takes longer or shorter than it should by a seeded draw (log-normal, --spread). The client works on its own, on
one core, between stages. Not in it: the network, other people's jobs, tasks that fail, and the start of machines.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LEAST, _MOST = 3.5e5, 1.1e7  # rows of a task: 4 and 128 MB of files, as Spark splits them, at 11.4 bytes a row


@dataclass(frozen=True)
class Costs:
    """Seconds of one core."""

    statement: float  # of the driver
    tasks: float  # of a statement, where a table is small
    task: float
    row: float  # of the tasks, over all statements of structure and extraction


@dataclass(frozen=True)
class Warehouse:
    """How much there is."""

    rows: float
    tables: int
    terms: int


def told_by(run: dict[str, Any], large: Sequence[float], start: float) -> Costs:
    """What two measured runs say, without their start."""
    spark, (rows, _, statements, seconds) = run["spark"], large
    driver = (spark["processor_seconds"] - start - spark["task_seconds"]) / spark["statements"]
    tasks = spark["tasks_run"] / spark["statements"]
    left = seconds - start - driver * statements
    share = tasks * statements / spark["tasks_run"]  # as many tasks a statement
    row = (left - share * spark["task_seconds"]) / (rows - share * run["rows"])
    return Costs(driver, tasks, (spark["task_seconds"] - row * run["rows"]) / spark["tasks_run"], row)


def by_the_first(run: dict[str, Any], start: float) -> Costs:
    """What the first run says alone: a task with hardly a row takes what the median takes."""
    spark = run["spark"]
    driver = (spark["processor_seconds"] - start - spark["task_seconds"]) / spark["statements"]
    row = (spark["task_seconds"] - spark["tasks_run"] * spark["task_median"]) / run["rows"]
    return Costs(driver, spark["tasks_run"] / spark["statements"], spark["task_median"], row)


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

    def run(self, statements: Iterator[tuple[float, float]]) -> None:
        """Statements by the rows that they read, and the seconds of a core that these take."""
        for rows, seconds in statements:
            tasks = max(round(self._costs.tasks), int(rows / min(_MOST, max(_LEAST, rows / self._cores))))
            self.planning += self._costs.statement
            self.now += self._costs.statement
            free = [self.now] * min(self._cores, tasks)  # nothing else runs
            for _ in range(tasks):
                exact = self._costs.task + seconds / tasks
                took = exact * self._draw.lognormvariate(-(self._spread**2) / 2, self._spread)
                self.working += took
                heapq.heapreplace(free, free[0] + took)
            self.now = max(free)


def asked_of(warehouse: Warehouse, a_table: float, costs: Costs) -> Iterator[tuple[float, float]]:
    """The statements of structure and extraction: so many of each table, which share what its rows take."""
    for part in shares(warehouse.tables):
        rows, left = warehouse.rows * part, a_table
        while left > 0:
            one = min(1.0, left)
            yield rows, costs.row * rows * one / a_table
            left -= one


def proposed_of(
    warehouse: Warehouse, statements: float, a_table: float, costs: Costs, seed: int
) -> Iterator[tuple[float, float]]:
    """The statements of proposals: each over some table, at what a statement of extraction takes for its rows."""
    draw, parts = random.Random(seed), shares(warehouse.tables)
    for _ in range(round(statements)):
        rows = warehouse.rows * draw.choice(parts)
        yield rows, costs.row * rows / a_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="a result of benchmarks/spark.py --json")
    parser.add_argument("--large", type=float, nargs=4, required=True, help="a larger run")
    parser.add_argument("--start", type=float, default=14, help="processor seconds that the start of Spark takes")
    parser.add_argument(
        "--check", type=float, nargs=4, action="append", default=[], help="a run that was measured, too"
    )
    parser.add_argument("--cores", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rows", type=float, default=1e10)
    parser.add_argument("--tables", type=int, default=10**4)
    parser.add_argument("--terms", type=int, default=10**5)
    parser.add_argument("--per-table", type=float, default=7.6, help="statements of structure and extraction")
    parser.add_argument("--per-term", type=float, default=3.1, help="statements of proposals")
    parser.add_argument("--pair", type=float, default=1e-5, help="seconds of the client for a column and a key")
    parser.add_argument("--columns", type=float, default=10, help="of a table")
    parser.add_argument("--brought", type=float, default=5e8, help="rows that matter")
    parser.add_argument("--search", type=float, default=1e-6, help="seconds of the client for each of them")
    parser.add_argument("--spread", type=float, default=0.3, help="of the logarithm of a task's seconds")
    parser.add_argument("--price", type=float, default=0.05, help="dollars of a core and hour")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results here")
    told = parser.parse_args()
    run = json.loads(told.run.read_text("utf-8"))
    costs = told_by(run, told.large, told.start)
    print(
        f"a statement takes {costs.statement:.3f} s of the driver and {costs.tasks:.1f} tasks, a task "
        f"{costs.task * 1e3:.1f} ms, a row of the source {costs.row * 1e6:.2f} µs"
    )
    results: list[dict[str, Any]] = []
    wanted = [("by the first", by_the_first(run, told.start), told.large)]
    for name, by, (rows, tables, statements, seconds) in (*wanted, *(("by both", costs, one) for one in told.check)):
        checked = Cluster(2, by, told.spread, told.seed)
        checked.run(asked_of(Warehouse(rows, int(tables), 0), statements / tables, by))
        found = told.start + checked.planning + checked.working
        error = f"{found / seconds - 1:+.0%}; {told.start + checked.now:.0f} s on the clock of two cores"
        print(f"{rows:,.0f} rows, {name}: {found:.0f} s of the processor, {seconds:.0f} measured, {error}")
        results.append({"rows": rows, "by": name, "predicted": found, "measured": seconds})
    warehouse = Warehouse(told.rows, told.tables, told.terms)
    links = told.columns * told.tables**2 * told.pair
    search = told.brought * told.search
    proposals = told.per_term * told.terms
    for cores in told.cores:
        cluster = Cluster(cores, costs, told.spread, told.seed)
        cluster.run(asked_of(warehouse, told.per_table, costs))
        read, busy = cluster.now, cluster.working
        cluster.run(proposed_of(warehouse, proposals, told.per_table, costs, told.seed))
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
