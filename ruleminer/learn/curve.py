"""The learning curve of a run: the lines of its metrics.jsonl, and a picture of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ruleminer.whole_files import writing

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
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return point if all(map(math.isfinite, (point.loss, point.p_pos, point.p_neg))) else None


def draw_curve(model: Path) -> None:
    """The learning curve in a model folder as a PNG beside it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    curve = read_curve(model)
    updates = [point.update for point in curve]
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 6), height_ratios=[2, 1], layout="tight")
    top.plot(updates, [point.p_pos for point in curve], color="#1b7837", marker=".", label="allowed ($P_{pos}$)")
    top.plot(updates, [point.p_neg for point in curve], color="#b2182b", marker=".", label="forbidden ($P_{neg}$)")
    top.set(ylim=(-0.02, 1.02), ylabel="probability on validation facts")
    best = kept(curve)
    if best is not None:
        top.axvline(best.update, color="0.7", linestyle=":", zorder=0)
        top.set_title(f"best: {best.p_pos:.4f} allowed, {best.p_neg:.4f} forbidden", loc="right", fontsize=10)
    top.legend(loc="best", frameon=False)
    bottom.plot(updates, [point.loss for point in curve], color="#2166ac", marker=".")
    bottom.set(xlabel="updates", ylabel="training loss", yscale="symlog")
    bottom.yaxis.set_major_locator(ticker.SymmetricalLogLocator(base=10, linthresh=2, subs=(1, 2, 5)))
    bottom.yaxis.set_major_formatter(ticker.ScalarFormatter())
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    with writing(model / "curve.png") as part:
        figure.savefig(part, dpi=130, format="png")
    pyplot.close(figure)
