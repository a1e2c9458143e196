"""Problems to learn from, kept in a folder: a file for each, made once, so that an interrupted run goes on.

A note beside them tells what they were made with; where that has changed, they are made anew.

Two sets that never meet: those to learn from are random domains of the seeds from 0; those held out, by which every
choice is made, are random domains of other seeds and the written domains, which people thought of as a whole.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from ruleminer.learn.decision_problem import Problem
from ruleminer.pretraining.problems import problems
from ruleminer.progress import Progress, silent
from ruleminer.proposals.hypotheses import FEATURES
from ruleminer.scenarios.domain_file import read_domain
from ruleminer.structure.meaning import Meaning, meaning

HELD_OUT = 1_000_000  # the first seed of what is held out
VERSION = 11  # one more whenever problems of the same features are made otherwise
MADE_WITH = "made-with.json"
WRITTEN = ("university", "hospital", "shop")


def make_corpus(
    folder: Path, databases: int, known: Meaning | None, progress: Progress = silent, processes: int = 1
) -> range:
    """Make what is not there yet of so many databases to learn from; the seeds of all of them."""
    _make(folder, [(seed, None) for seed in range(databases)], known, progress, "problems", processes)
    return range(databases)


def make_held_out(
    folder: Path, databases: int, known: Meaning | None, progress: Progress = silent, processes: int = 1
) -> range:
    """The same for what is held out; every other database is of a written domain."""
    wanted = [
        (HELD_OUT + number, WRITTEN[number // 2 % len(WRITTEN)] if number % 2 else None) for number in range(databases)
    ]
    _make(folder, wanted, known, progress, "held out", processes)
    return range(HELD_OUT, HELD_OUT + databases)


def read_corpus(folder: Path, seeds: Iterable[int], most: int | None = None) -> Iterator[Problem]:
    """The problems of these seeds, in order, perhaps with the `most` promising hypotheses of each term only.

    A folder may hold more, from an earlier run. Where little is filled, an ontology may have nothing to ask, or nothing
    that is known: that is no problem.
    """
    for seed in seeds:
        for path in sorted(folder.glob(f"{seed:08}-*.npz")):
            problem = Problem.load(path)
            problem = problem if most is None else problem.shortened(most)
            if problem.judged.any():
                yield problem


def _make(
    folder: Path,
    wanted: list[tuple[int, str | None]],
    known: Meaning | None,
    progress: Progress,
    stage: str,
    processes: int,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _forget_others(folder)
    missing = [one for one in wanted if not (folder / f"{one[0]:08}.done").exists()]
    done = len(wanted) - len(missing)
    if processes == 1 or known is None:  # other processes read the vectors for themselves
        for number, (seed, written) in enumerate(missing, start=done):
            progress(stage, str(seed), number, len(wanted))
            _make_one(folder, seed, written, known)
    else:
        with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
            running = [pool.submit(_make_elsewhere, folder, seed, written) for seed, written in missing]
            try:
                for number, one in enumerate(as_completed(running), start=done):
                    one.result()
                    progress(stage, "", number, len(wanted))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    progress(stage, "", len(wanted), len(wanted))


def _make_elsewhere(folder: Path, seed: int, written: str | None) -> None:
    _make_one(folder, seed, written, meaning())


def _make_one(folder: Path, seed: int, written: str | None, known: Meaning | None) -> None:
    """The problems of a seed, whatever else is made: so they are the same however many processes there are."""
    made = problems(seed, known, read_domain(written) if written else None)
    for number, problem in enumerate(made):
        fresh = folder / f".{seed:08}-{number}.part"
        problem.save(fresh)
        fresh.replace(folder / f"{seed:08}-{number}.npz")
    (folder / f"{seed:08}.done").touch()


def _forget_others(folder: Path) -> None:
    """Remove problems that were made with other features or otherwise, and note what those to come are made with."""
    note, now = folder / MADE_WITH, json.dumps({"version": VERSION, "features": FEATURES}, indent=1)
    if note.is_file() and note.read_text("utf-8") == now:
        return
    for pattern in ("*.done", "*.npz"):  # in this order: what is not whole is made anew
        for path in folder.glob(pattern):
            path.unlink()
    note.write_text(now, "utf-8")
