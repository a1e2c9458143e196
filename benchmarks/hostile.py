"""Extraction on databases that are hard on a search (`tests/extraction/hostile_worlds.py`): seconds, memory, losses.

    python benchmarks/hostile.py                       # up to a million rows
    python benchmarks/hostile.py --largest 100000

Every table is numbered 1, 2, 3 …; flags, quantities and years collide with keys. Each extraction is the command line in
a process of its own. Seconds are those of the processor, so that others may use the machine. A rule is lost if it was
behind the examples and is not among the candidates.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ruleminer.dataset import read_dataset
from tests.extraction.hostile_worlds import hostile_world
from tests.measured import measured

MEMORY_MB = 500
WORLDS = ((5, 12), (12, 12), (12, 40), (40, 12))  # tables, columns of small numbers in one of them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=10**6, help="rows of the largest database")
    parser.add_argument("--told", type=int, default=12, help="tables that have examples")
    parser.add_argument("--only", type=int, default=0, help="databases of so many tables only")
    arguments = parser.parse_args()
    print(f"{'tables':>7}{'wide':>6}{'rows':>12}{'facts':>7}{'candidates':>12}{'seconds':>9}{'peak MB':>9}{'lost':>10}")
    for tables, wide in WORLDS:
        for size in (10**4, 10**5, 10**6):
            if size <= arguments.largest and arguments.only in (0, tables):
                _measure(tables, wide, size, arguments.told)


def _measure(tables: int, wide: int, size: int, told: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        world = hostile_world(place, 1, size, tables, declared=tables > 20, told=told, wide=wide)
        asked = ["extract", "--db", world.database, "--ontology", world.ontology, "--examples", world.facts]
        done = measured(place, *asked, "--out", place / "run", "-q", "--memory", f"{MEMORY_MB}MB", patience=3600)
        if done.code:
            raise SystemExit(done.err.strip().splitlines()[-1])
        dataset = read_dataset(place / "run")
        found = set(dataset.rules["text"].to_pylist())
        lost = sum(rule not in found for rule in world.true_rules.values())
        counts = f"{world.rows:>12,}{dataset.facts.num_rows:>7,}{dataset.candidates.num_rows:>12,}"
        shares = f"{lost} of {len(world.true_rules)}"
        print(f"{tables:>7}{wide:>6}{counts}{done.processor_seconds:>9.1f}{done.peak_mb:>9.0f}{shares:>10}", flush=True)


if __name__ == "__main__":
    main()
