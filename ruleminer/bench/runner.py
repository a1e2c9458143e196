"""Runs a bench unit by unit: cost first, progress with the time left, results saved as they come, tables at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from ruleminer.bench.catalogue import bench_named
from ruleminer.bench.tables import Table, markdown_of
from ruleminer.bench.units import (
    RESULTS,
    Bench,
    BenchOptions,
    Record,
    Unit,
    append_record,
    read_records,
    record_of,
    run_folder,
    unit_hash,
    write_text,
)
from ruleminer.errors import InputError
from ruleminer.progress import Progress, Say, silent, unsaid


@dataclass(frozen=True)
class BenchRun:
    """A finished run: its folder with all files, and what they say."""

    folder: Path
    records: list[Record]
    tables: list[Table]
    notes: tuple[str, ...]


def run_bench(name: str, options: BenchOptions, progress: Progress = silent, say: Say = unsaid) -> BenchRun:
    """Run what is not done yet, and write down what all of it says."""
    bench = bench_named(name)
    for option, given, owner in (("‹tune›", options.tune, "real-world"), ("‹db›", options.db, "mapping")):
        if given and name != owner:
            raise InputError(f"{option} is for the bench {owner}, not for {name}")
    units = _chosen(bench.units(options), options.only)
    folder = run_folder(name, options)
    folder.mkdir(parents=True, exist_ok=True)
    done = _run_units(bench, units, options, folder / RESULTS, progress, say)
    tables = bench.tables(done)
    pictures = bench.pictures(done, folder)
    write_text(folder / "table.md", run_markdown(bench, options.scale, tables, pictures))
    return BenchRun(folder, done, tables, run_notes(bench, options.scale))


def _chosen(units: list[Unit], words: tuple[str, ...]) -> list[Unit]:
    """The units whose names have all of these words."""
    chosen = [unit for unit in units if set(words) <= set(unit.key.replace(",", " ").split())]
    if not chosen:
        keys = "; ".join(unit.key for unit in units[:5])
        raise InputError(f"‹only›: no unit has all of {', '.join(words)} in its name; the first are {keys}")
    return chosen


def run_markdown(bench: Bench, scale: str, tables: list[Table], pictures: list[Path]) -> str:
    """The run as one Markdown file; pictures are linked by their names."""
    parts = [f"# {bench.info.name} ({scale})", f"Reproduces: {bench.info.reproduces}"]
    parts += [markdown_of(table) for table in tables]
    parts += [f"![{picture.stem}]({picture.name})" for picture in pictures]
    parts.append("## What differs from the paper\n\n" + "\n".join(f"- {note}" for note in run_notes(bench, scale)))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def run_notes(bench: Bench, scale: str) -> tuple[str, ...]:
    """What to know when reading the numbers."""
    smoke = ("Scale smoke only shows that the bench runs: its numbers are not for comparing.",)
    return (*(smoke if scale == "smoke" else ()), *bench.notes)


def finished(bench: Bench, units: list[Unit], records: list[Record]) -> list[Record]:
    """The records of these units, in the units' order."""
    by_hash = {record.hash: record for record in records}
    hashes = (unit_hash(bench.info.name, unit) for unit in units)
    return [by_hash[each] for each in hashes if each in by_hash]


def duration(seconds: float) -> str:
    """As people say it: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _run_units(
    bench: Bench, units: list[Unit], options: BenchOptions, path: Path, progress: Progress, say: Say
) -> list[Record]:
    name = bench.info.name
    records = read_records(path)
    known = {record.hash for record in records}
    waiting = [unit for unit in units if unit_hash(name, unit) not in known]
    projected = sum(unit.seconds for unit in waiting)
    skipped = f"; {len(units) - len(waiting)} are done already" if len(waiting) < len(units) else ""
    say(f"{name}: {len(waiting)} units at scale {options.scale}, about {duration(projected)} on 2 CPU cores{skipped}")
    with flushed_denormals():
        started, before = time.monotonic(), 0.0
        for unit in waiting:
            begun = time.monotonic()

            def tick(fraction: float, unit: Unit = unit, before: float = before) -> None:
                reached = before + unit.seconds * fraction
                left = duration(_time_left(time.monotonic() - started, reached, projected))
                progress(name, f"{unit.key}, {left} left", round(reached), max(1, round(projected)))

            tick(0.0)
            result = bench.run(unit, options, tick)
            record = record_of(name, unit, result, time.monotonic() - begun)
            append_record(path, record)
            records.append(record)
            before += unit.seconds
    return finished(bench, units, records)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Vanished probabilities must not slow the arithmetic down; who called us has denormal numbers again afterwards."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _time_left(elapsed: float, reached: float, projected: float) -> float:
    """The projection until enough is measured, then the measured pace."""
    if reached < 0.02 * projected or reached <= 0:
        return projected - reached
    return elapsed / reached * (projected - reached)
