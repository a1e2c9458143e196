"""Kill −9 at any moment: nothing half-written, nothing lost, and the next run ends as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.commands import KILLED, command
from tests.faults.kills import STEPWISE, check_kill
from tests.faults.world import STAGES, World


@pytest.mark.parametrize("name", [*STEPWISE, "review"])
@pytest.mark.live
def test_a_stage_that_is_killed_leaves_nothing_half_done(world: World, tmp_path: Path, name: str) -> None:
    world.whole(name)
    steps = world.steps[name]
    assert steps > 2
    for at in sorted({steps // 3, steps - 2}):  # `benchmarks/faults.py` tries all of them
        place = world.copy_before(name, tmp_path / f"killed {at}")
        assert check_kill(world, name, place, kill_at=at) == "", f"killed before step {at} of {steps}"


@pytest.mark.live
def test_a_killed_process_is_one_that_was_killed(world: World, tmp_path: Path) -> None:
    ended = command(STAGES["extract"].words, world.copy_before("extract", tmp_path / "one"), kill_at=3)
    assert ended.code == KILLED
