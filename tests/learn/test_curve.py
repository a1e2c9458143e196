"""A run's learning curve, read back."""

from __future__ import annotations

import json
from pathlib import Path

from ruleminer.learn.curve import CurvePoint, kept, read_curve


def test_curve_leaves_out_lines_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_curve(tmp_path) == ()
    good = {"update": 55, "loss": 2.5, "p_pos": 0.7, "p_neg": 0.1, "seconds": 4}
    lines = [json.dumps(good), "{half a li", json.dumps({**good, "loss": float("nan")}), "[]"]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines), "utf-8")
    assert read_curve(tmp_path) == (CurvePoint(55, 2.5, 0.7, 0.1),)


def test_the_kept_weights_are_those_with_the_widest_gap() -> None:
    curve = [CurvePoint(1, 3.0, 0.01, 0.0), CurvePoint(2, 2.0, 0.3, 0.4), CurvePoint(3, 1.0, 0.9, 0.4)]
    assert kept(curve) == curve[2]
    assert kept(curve[:2]) == curve[0]  # not the one that has learnt most
    assert kept([]) is None
