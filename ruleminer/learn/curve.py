"""The learning curve of a run: the lines of its metrics.jsonl."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LEARNED = 0.2  # P_pos on validation facts from which a model can write rules


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One validation during training."""

    update: int
    loss: float
    p_pos: float  # mass on allowed rules
    p_neg: float  # mass on forbidden rules


def read_curve(model: Path) -> tuple[CurvePoint, ...]:
    """The learning curve in a model folder; empty if there is none, and without lines that cannot be read."""
    try:
        lines = (model / "metrics.jsonl").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(point for line in lines if (point := _point(line)) is not None)


def kept(curve: Sequence[CurvePoint]) -> CurvePoint | None:
    """The validation whose weights training has kept."""
    return max(curve, key=lambda point: point.p_pos - point.p_neg, default=None)


def _point(line: str) -> CurvePoint | None:
    try:
        values = json.loads(line)
        point = CurvePoint(int(values["update"]), float(values["loss"]), float(values["p_pos"]), float(values["p_neg"]))
    except (ValueError, KeyError, TypeError):
        return None
    return point if all(map(math.isfinite, (point.loss, point.p_pos, point.p_neg))) else None
