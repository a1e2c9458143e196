"""Writes docs/results.md from the result files of `ruleminer bench`: tables, pictures, commands, times.

python benchmarks/results.py                   from the files in benchmarks/results, which were measured
python benchmarks/results.py bench-results     take the results of another folder in first

A bench without such files keeps the section it has; what stands behind `<!-- by hand -->` in a section is always kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from ruleminer.bench.catalogue import BENCHES
from ruleminer.bench.runner import duration, run_notes
from ruleminer.bench.tables import markdown_of
from ruleminer.bench.units import RESULTS, Bench, BenchOptions, Record, read_records, write_text
from ruleminer.errors import InputError

PROJECT = Path(__file__).resolve().parent.parent
PAGE, PICTURES = PROJECT / "docs" / "results.md", PROJECT / "docs" / "results"
MEASURED = PROJECT / "benchmarks" / "results"
SCALES = ("paper", "cpu")
BY_HAND = "<!-- by hand -->"

INTRODUCTION = """# Results

What was measured, on {cores} CPU cores without a GPU. Numbers under *paper* or
*published* are others'; all else is ours.
This page is written by `python benchmarks/results.py` from the files in `benchmarks/results`, which the commands below
leave (`python benchmarks/results.py DIR` takes those in DIR in).
Times are sums of the units' wall-clock times, most of them with other work on the machine.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", help="the folder given to `ruleminer bench --out`")
    taken = parser.parse_args().results
    if taken is not None and not any(taken.glob(f"*/{RESULTS}")):
        parser.error(f"{taken}: no bench has left its {RESULTS} here")
    if taken is not None:
        take_in(taken)
    PICTURES.mkdir(parents=True, exist_ok=True)
    old = sections(PAGE.read_text("utf-8")) if PAGE.is_file() else {}
    parts = [INTRODUCTION.format(cores=os.cpu_count())]
    for name, bench in BENCHES.items():
        found = [scale for scale in SCALES if measured(name, scale).is_file()]
        made = [section(bench, scale) for scale in found]
        parts += [*made, *by_hand(old.get(name, []))] if made else old.get(name, [])
    PAGE.write_text("\n".join(parts), "utf-8")
    print(PAGE)


def measured(name: str, scale: str) -> Path:
    """The results of a bench that belong to the project."""
    return MEASURED / f"{name}-{scale}.jsonl"


def take_in(folder: Path) -> None:
    """Add the results of a folder to the project's; a unit that was run again replaces its older result."""
    for name in BENCHES:
        for scale in SCALES:
            fresh = read_records(folder / f"{name}-{scale}" / RESULTS)
            if fresh:
                MEASURED.mkdir(parents=True, exist_ok=True)
                path = measured(name, scale)
                latest = {record.key: record for record in (*read_records(path), *fresh)}
                write_text(path, "".join(json.dumps(vars(record)) + "\n" for record in latest.values()))


def sections(page: str) -> dict[str, list[str]]:
    """The sections of an earlier page, by the name of their bench."""
    pieces = re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]
    found: dict[str, list[str]] = {}
    for piece in pieces:
        found.setdefault(piece.split("\n", 1)[0][3:], []).append(piece.rstrip("\n") + "\n")
    return found


def by_hand(pieces: list[str]) -> list[str]:
    """What somebody added to the sections of a bench, on data that are not the project's."""
    return [BY_HAND + piece.partition(BY_HAND)[2] for piece in pieces if BY_HAND in piece]


def section(bench: Bench, scale: str) -> str:
    """One bench: how it was run, what came out."""
    name = bench.info.name
    records = read_records(measured(name, scale))
    parts = [
        f"## {name}\n",
        f"{bench.info.reproduces[0].upper()}{bench.info.reproduces[1:]}. `ruleminer bench {name} --scale {scale}`: "
        f"{len(records)}{of_planned(bench, scale, records)} units, {duration(spent(records))}.\n",
    ]
    parts += [markdown_of(table) for table in bench.tables(records)]
    with tempfile.TemporaryDirectory() as drawn:
        for picture in bench.pictures(records, Path(drawn)):
            shutil.copyfile(picture, PICTURES / f"{name}-{picture.name}")
            parts.append(f"![{picture.stem}](results/{name}-{picture.name})\n")
    notes = run_notes(bench, scale)
    parts += [f"- {note}" for note in notes]
    return "\n".join(parts) + "\n"


def of_planned(bench: Bench, scale: str, records: list[Record]) -> str:
    """How many units the command has, if it has more than were run; nothing where its data are missing."""
    try:
        planned = len(bench.units(BenchOptions(scale=scale)))
    except InputError:
        return ""
    return f" of {planned}" if planned > len(records) else ""


def spent(records: list[Record]) -> float:
    """The time of all units together."""
    return sum(record.seconds for record in records)


if __name__ == "__main__":
    main()
