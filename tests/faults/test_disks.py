"""A disk without room: one line, the old files as they were, and the next run with room ends well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.disks import check_full
from tests.faults.world import World


@pytest.mark.parametrize(
    ("name", "largest"),
    [("extract", 0), ("extract", 20_000), ("train again", 3000), ("propose again", 100), ("propose again", 9000),
     ("load", 20_000)],
)  # fmt: skip
def test_a_full_disk_is_one_line_and_loses_nothing(world: World, tmp_path: Path, name: str, largest: int) -> None:
    assert check_full(world, name, world.copy_before(name, tmp_path / "here"), largest) == ""
