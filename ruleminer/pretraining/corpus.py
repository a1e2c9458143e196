"""Problems to learn from, kept in a folder: a file for each, made once, so that an interrupted run goes on.

A note beside them tells what they were made with; where that has changed, they are made anew.

Two sets that never meet: those to learn from are random domains of the seeds from 0; those held out, by which every
choice is made, are random domains of other seeds and the written domains, which people thought of as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from ruleminer.learn.decision_problem import Problem
from ruleminer.pretraining.problems import problems
from ruleminer.progress import Progress, silent
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.scenarios.domain_file import read_domain
from ruleminer.structure.meaning import Meaning

HELD_OUT = 1_000_000  # the first seed of what is held out
VERSION = 5  # one more whenever problems of the same features are made otherwise
MADE_WITH = "made-with.json"
WRITTEN = ("university", "hospital", "shop")


def make_corpus(folder: Path, databases: int, meaning: Meaning | None, progress: Progress = silent) -> range:
    """Make what is not there yet of so many databases to learn from; the seeds of all of them."""
    _make(folder, [(seed, None) for seed in range(databases)], meaning, progress, "problems")
    return range(databases)


def make_held_out(folder: Path, databases: int, meaning: Meaning | None, progress: Progress = silent) -> range:
    """The same for what is held out; every other database is of a written domain."""
    wanted = [
        (HELD_OUT + number, WRITTEN[number // 2 % len(WRITTEN)] if number % 2 else None) for number in range(databases)
    ]
    _make(folder, wanted, meaning, progress, "held out")
    return range(HELD_OUT, HELD_OUT + databases)


def read_corpus(folder: Path, seeds: Iterable[int]) -> Iterator[Problem]:
    """The problems of these seeds, in order; a folder may hold more, from an earlier run."""
    for seed in seeds:
        for path in sorted(folder.glob(f"{seed:08}-*.npz")):
            yield Problem.load(path)


def _make(
    folder: Path, wanted: list[tuple[int, str | None]], meaning: Meaning | None, progress: Progress, stage: str
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _forget_others(folder)
    for done, (seed, written) in enumerate(wanted):
        progress(stage, str(seed), done, len(wanted))
        if (folder / f"{seed:08}.done").exists():
            continue
        made = problems(seed, meaning, read_domain(written) if written else None)
        for number, problem in enumerate(made):
            fresh = folder / f".{seed:08}-{number}.part"
            problem.save(fresh)
            fresh.replace(folder / f"{seed:08}-{number}.npz")
        (folder / f"{seed:08}.done").touch()
    progress(stage, "", len(wanted), len(wanted))


def _forget_others(folder: Path) -> None:
    """Remove problems that were made with other features or otherwise, and note what those to come are made with."""
    note, now = folder / MADE_WITH, json.dumps({"version": VERSION, "features": FEATURES}, indent=1)
    if note.is_file() and note.read_text("utf-8") == now:
        return
    for pattern in ("*.done", "*.npz"):  # in this order: what is not whole is made anew
        for path in folder.glob(pattern):
            path.unlink()
    note.write_text(now, "utf-8")
