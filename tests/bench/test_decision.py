"""The bench of the decision network: what is left out is a unit, and what was measured a table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from ruleminer.bench.decision import BENCH
from ruleminer.bench.units import BenchOptions, record_of
from ruleminer.errors import InputError
from ruleminer.learn.decision_training import LOSSES, Verdict


def test_every_loss_is_a_unit_and_so_is_what_is_left_out(tmp_path: Path) -> None:
    units = BENCH.units(BenchOptions(out=tmp_path))
    assert {unit.settings["loss"] for unit in units} == set(LOSSES)
    assert sum(not unit.settings.get("messages", True) for unit in units) == 1
    assert len({unit.key for unit in units}) == len(units)
    assert len({unit.settings["databases"] for unit in units}) >= 3
    with pytest.raises(InputError, match="learns with"):
        BENCH.units(BenchOptions(out=tmp_path, losses=("sag",)))


def test_what_was_measured_is_told_beside_each_other(tmp_path: Path) -> None:
    verdict = asdict(Verdict(10, 0.9, 0.8, 0.95, 0.97, 0.7, 0.3))
    units = BENCH.units(BenchOptions(out=tmp_path))
    result = {"problems": 4, "scores": {"no example": verdict, "1 examples": verdict}}
    first, second = BENCH.tables([record_of("decision", unit, result, 1.0) for unit in units])
    assert [name for name, _ in first.rows] == [unit.key for unit in units]
    assert [name for name, _ in second.rows] == ["no example", "1 examples"]
    assert [cell.ours for cell in first.rows[0][1]] == [0.9, 0.8, 0.95, 0.97, 0.7, 0.3]
