"""One kill, and what must be so after it and after the next run.

What a review leaves is the user's own words, with their times: there, no word may be lost that was said before.
"""

from __future__ import annotations

import csv
import random
import time
from pathlib import Path

from tests.faults.commands import KILLED, Begun
from tests.faults.world import STAGES, World, content, finished

STEPWISE = ("extract", "train", "train again", "propose-mappings", "propose again", "draft", "materialise", "load")
RARER = ("review", "review", "extract from Spark")  # a Java process takes its time to start


def check_kill(world: World, name: str, place: Path, kill_at: int = 0, after_seconds: float | None = None) -> str:
    """Kill a stage before a step, or after a time; what did not hold, or nothing."""
    begun = Begun(STAGES[name].words, place, kill_at)
    if after_seconds is not None:
        time.sleep(after_seconds)
        if begun.process.is_alive():
            begun.process.kill()
    code = begun.wait().code
    if code not in (KILLED, -9, 0):
        return f"exit code {code} for a kill"
    if problem := _mixed(world, name, place):
        return f"after the kill: {problem}"
    said = _said(place)
    ended = finished(name, place)
    if ended.code != 0:
        return f"the next run ended in {ended.code}: {ended.err[-500:]}"
    if name == "review":
        return _forgotten(said, _said(place), _said(world.after(name)))
    wanted, there = world.whole(name), content(place)
    if differing := [one for one in sorted({*wanted, *there}) if wanted.get(one) != there.get(one)]:
        return f"after the next run: {', '.join(differing)} differ"
    return ""


def _mixed(world: World, name: str, place: Path) -> str:
    """Folders that are neither as they were nor as they are to be."""
    for part in STAGES[name].leaves:
        there = content(place, part)
        old, new = ({k: v for k, v in side.items() if k.startswith(part)}
                    for side in (content(world.before(name)), world.whole(name)))  # fmt: skip
        if there not in (old, new):
            return f"{part} is neither old nor new"
    return ""


def _said(place: Path) -> list[dict[str, str]]:
    file = place / "run" / "decisions.csv"
    return list(csv.DictReader(file.read_text("utf-8").splitlines())) if file.exists() else []


def _forgotten(killed: list[dict[str, str]], now: list[dict[str, str]], whole: list[dict[str, str]]) -> str:
    """Words that a killed review had kept and that are gone, or that nobody said."""
    words = [[(one["term"], one["said"], one["arg1"], one["arg2"]) for one in part] for part in (killed, whole)]
    if words[0] != words[1][: len(words[0])]:
        return f"after the kill: {words[0]} is not how {words[1]} begins"
    return "" if now[: len(killed)] == killed else "after the next run: what had been said is gone"


def random_kill(world: World, place: Path, rng: random.Random, seconds: dict[str, float]) -> tuple[str, str]:
    """A kill of any stage at any moment; what was tried, and what did not hold."""
    name = rng.choice((*STEPWISE, *STEPWISE, *STEPWISE, *RARER))
    world.copy_before(name, place)
    if rng.random() < 0.5:
        at = rng.randrange(1, 70)
        return f"{name}, step {at}", check_kill(world, name, place, kill_at=at)
    if name not in seconds:
        began = time.monotonic()
        world.whole(name)
        seconds[name] = max(0.5, time.monotonic() - began)
    after = rng.uniform(0.02, seconds[name] * 1.2)
    return f"{name}, {after:.2f} s", check_kill(world, name, place, after_seconds=after)
