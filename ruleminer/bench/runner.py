"""Runs a bench unit by unit: cost first, progress with the time left, results saved as they come, tables at the end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ruleminer.bench.catalogue import bench_named
from ruleminer.bench.frame import (
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
from ruleminer.bench.tables import Table, fitting, markdown_of, rich_of
from ruleminer.errors import InputError


def run_bench(name: str, options: BenchOptions) -> Path:
    """Run what is not done yet, print the tables (or JSON) and return the folder with all files of the run."""
    bench = bench_named(name)
    for option, given, owner in (("--tune", options.tune, "real-world"), ("--db", options.db, "mapping")):
        if given and name != owner:
            raise InputError(f"{option} is for the bench {owner}, not for {name}")
    units = bench.units(options)
    folder = run_folder(name, options)
    folder.mkdir(parents=True, exist_ok=True)
    done = _run_units(bench, units, options, folder / RESULTS)
    tables = bench.tables(done)
    pictures = bench.pictures(done, folder)
    write_text(folder / "table.md", run_markdown(bench, options.scale, tables, pictures))
    if options.json:
        sys.stdout.write(json.dumps([vars(record) for record in done], indent=1) + "\n")
    else:
        _print_run(bench, options.scale, tables, folder)
    return folder


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


def _run_units(bench: Bench, units: list[Unit], options: BenchOptions, path: Path) -> list[Record]:
    name = bench.info.name
    records = read_records(path)
    known = {record.hash for record in records}
    waiting = [unit for unit in units if unit_hash(name, unit) not in known]
    console = Console(stderr=True)
    projected = sum(unit.seconds for unit in waiting)
    skipped = f"; {len(units) - len(waiting)} are done already" if len(waiting) < len(units) else ""
    console.print(
        f"{name}: {len(waiting)} units at scale {options.scale}, about {duration(projected)} on 2 CPU cores{skipped}",
        highlight=False,
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]} left"),
        TimeElapsedColumn(),
    )
    shown = Progress(*columns, console=console, transient=True, disable=not waiting)
    with flushed_denormals(), shown as progress:
        bar = progress.add_task(name, total=max(projected, 1e-9), left=duration(projected))
        started, before = time.monotonic(), 0.0
        for unit in waiting:
            begun = time.monotonic()

            def tick(fraction: float, unit: Unit = unit, before: float = before) -> None:
                reached = before + unit.seconds * fraction
                left = duration(_time_left(time.monotonic() - started, reached, projected))
                progress.update(bar, completed=reached, description=f"{name}: {unit.key}", left=left)

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


def _print_run(bench: Bench, scale: str, tables: list[Table], folder: Path) -> None:
    console = Console()
    for table in tables:
        console.print(f"\n{table.title}", style="bold", highlight=False, markup=False)
        for part in fitting(table, console):
            console.print(rich_of(part))
        for note in table.notes:
            console.print(f"  {note}", style="dim", highlight=False, markup=False)
    for note in run_notes(bench, scale):
        console.print(f"· {note}", highlight=False, markup=False)
    console.print(f"files: {folder}", highlight=False, markup=False)
