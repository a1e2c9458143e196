"""Two processes on one run: one of them works and the other is told, or they work one after the other."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

from tests.faults.commands import Begun
from tests.faults.world import STAGES, World, content

_REFUSED = ("is in use by", "holds a model already", "has not ended", "holds another dataset")


def check_twins(world: World, name: str, other: str, place: Path, pause: float = 0.0) -> str:
    """Begin two stages at once on one run; what did not hold, or nothing."""
    one, two = STAGES[name].words, STAGES[other].words
    begun = [Begun(one, place)]
    time.sleep(pause)
    begun.append(Begun(two, place))
    ended = [each.wait() for each in begun]
    for each in ended:
        if not each.is_clean:
            return f"exit code {each.code}: {each.err[-300:]}"
        if each.code == 2 and not any(why in each.err for why in _REFUSED):
            return f"refused for another reason: {each.err[-300:]}"
    if all(each.code for each in ended):
        return f"both were refused: {ended[0].err[-200:]} {ended[1].err[-200:]}"
    for part in {*STAGES[name].leaves, *STAGES[other].leaves}:
        there = content(place, part)
        wholes = [{k: v for k, v in world.whole(each).items() if k.startswith(part)} for each in (name, other)]
        wholes.append({k: v for k, v in content(world.before(name)).items() if k.startswith(part)})
        if there not in wholes:
            return f"{part} is a mixture"
    if (place / "run" / ".lock").exists():
        return "a lock was left"
    return ""


PAIRS = (("extract", "extract"), ("train again", "train again"), ("propose again", "propose again"),
         ("train again", "train"), ("propose-mappings", "train"), ("draft", "draft"))  # fmt: skip


def random_twins(world: World, place: Path, rng: random.Random) -> tuple[str, str]:
    """Two stages at about the same time."""
    name, other = rng.choice(PAIRS)
    before = name if STAGES[other].after is None else other if STAGES[name].after is None else name
    shutil.copytree(world.before(before), place, symlinks=True)
    pause = rng.choice((0.0, rng.uniform(0, 1.5)))
    return f"{name} with {other}, {pause:.2f} s", check_twins(world, name, other, place, pause)
