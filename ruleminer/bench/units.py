"""What every bench is made of: its description, its options, its units of work, and its results on disk.

A bench is a list of *units*, each with the settings that decide its result. A finished unit is one line of
`results.jsonl`, marked with a hash of its settings: a later run skips the units whose hash is already there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import torch

from ruleminer.bench.tables import Table
from ruleminer.errors import InputError
from ruleminer.learn.losses import loss_named

SCALES = ("smoke", "cpu", "paper")
RESULTS = "results.jsonl"

Tick = Callable[[float], None]  # told the fraction of a unit that is done


@dataclass(frozen=True)
class BenchInfo:
    """What `ruleminer bench list` shows."""

    name: str
    reproduces: str
    cost: str  # measured or projected, on 2 CPU cores
    data: str
    losses: tuple[str, ...]


@dataclass(frozen=True)
class BenchOptions:
    """What the user may choose; None leaves the choice to the bench and its scale."""

    losses: tuple[str, ...] | None = None
    seeds: int | None = None
    epochs: int | None = None
    scale: str = "cpu"
    device: str = "cpu"
    out: Path = Path("bench-results")
    data: Path | None = None
    db: str | None = None  # mapping: a server that holds the scenarios, each in the schema of its name
    only: tuple[str, ...] = ()  # words that the name of a unit must have to be run
    tune: bool = False  # real-world: also choose each loss's learning rate on a validation split

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise InputError(f"unknown scale {self.scale!r}; known are {', '.join(SCALES)}")
        for option, number in (("‹seeds›", self.seeds), ("‹epochs›", self.epochs)):
            if number is not None and number < 1:
                raise InputError(f"{option} must be at least 1, not {number}")
        if self.losses is not None and not self.losses:
            raise InputError("‹losses› names no loss; leave it out to run all of the bench's losses")
        for name in self.losses or ():
            loss_named(name)
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"‹device={self.device!r}› cannot be used here: {reason}") from None


@dataclass(frozen=True)
class Unit:
    """One piece of work that is done whole or not at all."""

    key: str  # for people
    settings: Mapping[str, Any]  # everything that decides the result, as JSON
    seconds: float  # projected, on 2 CPU cores


@dataclass(frozen=True)
class Record:
    """A finished unit, as one line of results.jsonl."""

    bench: str
    key: str
    hash: str
    settings: Mapping[str, Any]
    result: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class Bench:
    """One experiment of the paper. Its functions are called in this order."""

    info: BenchInfo
    units: Callable[[BenchOptions], list[Unit]]
    run: Callable[[Unit, BenchOptions, Tick], dict[str, Any]]
    tables: Callable[[Sequence[Record]], list[Table]]
    pictures: Callable[[Sequence[Record], Path], list[Path]]  # the PNG files; an SVG lies beside each
    notes: tuple[str, ...] = field(default=())  # what differs from the paper, and why


def run_folder(bench: str, options: BenchOptions) -> Path:
    """Where a run of this bench leaves its files."""
    return options.out / f"{bench}-{options.scale}"


def training_options(training: Mapping[str, Any]) -> dict[str, Any]:
    """A unit's settings of training as options. Its `updates` are the fewest, in whole passes: records name them so."""
    options = dict(training)
    if "updates" in options:
        options["least_updates"] = options.pop("updates")
    return options


def unit_hash(bench: str, unit: Unit) -> str:
    """The same for the same bench and settings, on any machine."""
    text = json.dumps([bench, unit.key, unit.settings], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def record_of(bench: str, unit: Unit, result: Mapping[str, Any], seconds: float) -> Record:
    return Record(bench, unit.key, unit_hash(bench, unit), unit.settings, result, round(seconds, 3))


def read_records(path: Path) -> list[Record]:
    """All finished units of a results file; a last line that was cut off by a crash is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    records = []
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            records.append(Record(**{name: values[name] for name in Record.__dataclass_fields__}))
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise InputError(f"{path}:{number}: not a bench result; move the file away to start anew") from None
    return records


def append_record(path: Path, record: Record) -> None:
    """Add a record so that a crash leaves either the old file or the new one, and another run's records stay."""
    known = [each for each in read_records(path) if each.hash != record.hash]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    lines = (json.dumps(vars(each), allow_nan=False) + "\n" for each in (*known, record))
    with temporary.open("w", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name and rename it."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@cache
def paper_numbers(name: str) -> dict[str, Any]:
    """The numbers that the paper reports for a bench; they are only ever shown under the word "paper"."""
    text = resources.files("ruleminer.bench").joinpath("paper", f"{name}.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


def chosen_losses(options: BenchOptions, usual: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(options.losses or usual))
