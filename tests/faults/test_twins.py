"""Two processes on one run: what is left is one's or the other's, never of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.twins import check_twins
from tests.faults.world import World


@pytest.mark.parametrize(("name", "other"), [("extract", "extract"), ("propose again", "propose again")])
@pytest.mark.live
def test_twins_never_mix(world: World, tmp_path: Path, name: str, other: str) -> None:
    place = world.copy_before(name, tmp_path / "run here")
    assert check_twins(world, name, other, place) == ""
