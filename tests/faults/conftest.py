"""One small world for all faults."""

from __future__ import annotations

import pytest

from tests.faults.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The problem at every stage, made as it is needed."""
    return World(tmp_path_factory.mktemp("world"))
