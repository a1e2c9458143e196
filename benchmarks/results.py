"""Writes docs/results.md from the result files of `ruleminer bench`: tables, pictures, commands, times.

python benchmarks/results.py bench-results
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from ruleminer.bench.catalogue import BENCHES
from ruleminer.bench.frame import RESULTS, Bench, Record, read_records
from ruleminer.bench.runner import duration, run_notes
from ruleminer.bench.tables import markdown_of

PROJECT = Path(__file__).resolve().parent.parent
PAGE, PICTURES = PROJECT / "docs" / "results.md", PROJECT / "docs" / "results"

INTRODUCTION = """# Results

What was measured, on {cores} CPU cores without a GPU. Numbers under *paper* or
*published* are others'; all else is ours.
This page is written by `python benchmarks/results.py DIR` from the files that the commands below leave in DIR.
Times are wall-clock times of runs that shared the machine with other work, unless a note says otherwise.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder given to `ruleminer bench --out`")
    folder = parser.parse_args().results
    PICTURES.mkdir(parents=True, exist_ok=True)
    parts = [INTRODUCTION.format(cores=os.cpu_count())]
    for name, bench in BENCHES.items():
        for scale in ("paper", "cpu"):
            run = folder / f"{name}-{scale}"
            if (run / RESULTS).is_file():
                parts.append(section(bench, scale, run))
    PAGE.write_text("\n".join(parts), "utf-8")
    print(PAGE)


def section(bench: Bench, scale: str, run: Path) -> str:
    """One bench: how it was run, what came out."""
    records = list({record.key: record for record in read_records(run / RESULTS)}.values())
    name = bench.info.name
    parts = [
        f"## {name}\n",
        f"{bench.info.reproduces[0].upper()}{bench.info.reproduces[1:]}. `ruleminer bench {name} --scale {scale}`: "
        f"{len(records)} units, {duration(spent(records))}.\n",
    ]
    parts += [markdown_of(table) for table in bench.tables(records)]
    for picture in bench.pictures(records, run):
        shutil.copyfile(picture, PICTURES / f"{name}-{picture.name}")
        parts.append(f"![{picture.stem}](results/{name}-{picture.name})\n")
    notes = run_notes(bench, scale)
    parts += [f"- {note}" for note in notes]
    return "\n".join(parts) + "\n"


def spent(records: list[Record]) -> float:
    """The time of all units together."""
    return sum(record.seconds for record in records)


if __name__ == "__main__":
    main()
