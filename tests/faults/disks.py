"""Disks that are full, or may not be written: one line, and what was there is there."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from tests.faults.commands import Ended, command
from tests.faults.kills import STEPWISE
from tests.faults.world import STAGES, World, content, finished


def check_full(world: World, name: str, place: Path, largest_file: int) -> str:
    """Let no file grow beyond a size; what did not hold, or nothing."""
    ended = command(STAGES[name].words, place, largest_file=largest_file)
    return _told_and_kept(world, name, place, ended, room=largest_file)


def _told_and_kept(world: World, name: str, place: Path, ended: Ended, room: float = inf) -> str:
    cut_short = ended.code == 2 and "Traceback" not in ended.err and len(ended.err.encode()) >= room  # not even that
    if not ended.is_clean and not cut_short:
        return f"exit code {ended.code}: {ended.err[-500:]}"
    wanted = [content(world.before(name)), world.whole(name)]
    for part in STAGES[name].leaves:
        there = content(place, part)
        if there not in [{k: v for k, v in side.items() if k.startswith(part)} for side in wanted]:
            return f"{part} is neither old nor new"
    again = finished(name, place)
    if again.code:
        return f"the next run, with room, ended in {again.code}: {again.err[-300:]}"
    return ""


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """A disk of its own in memory; only root may make one."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def check_small_disk(world: World, name: str, folder: Path, kilobytes: int) -> str:
    """A disk with so much room left when a stage begins."""
    used = sum(path.stat().st_size for path in world.before(name).rglob("*") if path.is_file()) // 1024 + 100
    with small_disk(folder, f"size={used + kilobytes}k") as disk:
        place = disk / "world"
        shutil.copytree(world.before(name), place, symlinks=True)
        ended = command(STAGES[name].words, place)
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        return _told_and_kept(world, name, place, ended)


def check_read_only(world: World, name: str, folder: Path) -> str:
    """A disk that may be read only."""
    with small_disk(folder, "size=50m") as disk:
        place = disk / "world"
        shutil.copytree(world.before(name), place, symlinks=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        before = content(place)
        ended = command(STAGES[name].words, place)
        if ended.code != 2 or not ended.is_clean:
            return f"exit code {ended.code}: {ended.err[-300:]}"
        return "" if content(place) == before else "files changed"


def random_disk(world: World, place: Path, rng: random.Random) -> tuple[str, str]:
    """A disk that fails some stage in some way."""
    name = rng.choice(STEPWISE)
    if os.geteuid() == 0 and rng.random() < 0.6:
        if rng.random() < 0.2:
            return f"{name}, read-only disk", check_read_only(world, name, place)
        kilobytes = int(10 ** rng.uniform(0, 4))
        return f"{name}, {kilobytes} KB left", check_small_disk(world, name, place, kilobytes)
    largest = int(10 ** rng.uniform(0, 6))
    world.copy_before(name, place)
    return f"{name}, files of at most {largest} bytes", check_full(world, name, place, largest)
