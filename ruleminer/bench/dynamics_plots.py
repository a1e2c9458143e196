"""The pictures of the dynamics bench, one per figure of the paper, drawn from its results alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from ruleminer.bench.pictures import save
from ruleminer.bench.units import Record

_LABEL_COLOURS = ("#c62828", "#1565c0", "#2e7d32")
_TITLES = {"nll": "NLL", "libra-plain": "Libra"}
_MODELS = {"softmax": "softmax regression", "mlp": "MLP, 10 hidden layers"}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Figures 2 to 6, each if its results are there."""
    of_kind: dict[str, list[Record]] = {}
    for record in records:
        kind = record.settings["kind"]
        name = f"{kind} {record.settings['samples']} {record.settings['model']}" if kind == "field" else kind
        of_kind.setdefault(name, []).append(record)
    paths = []
    if curves := of_kind.get("curves"):
        paths.append(_curves(curves, folder))
    one_sample = of_kind.get("field AB softmax", []) + of_kind.get("field AB mlp", [])
    if len(one_sample) == 4:
        rows = sorted(one_sample, key=lambda record: record.settings["loss"] != "nll")
        paths.append(_fields(rows, folder, "figure-3-one-sample", 2, "One sample, {A, B}"))
    if fields := of_kind.get("field AB+AC softmax"):
        paths.append(_fields(fields, folder, "figure-4-two-samples", 3, "Two samples, {A, B} and {A, C}"))
    if fields := of_kind.get("field AB+AC mlp"):
        paths.append(_fields(fields, folder, "figure-4-two-samples-mlp", 2, "Two samples, {A, B} and {A, C}"))
    if trials := of_kind.get("adversarial"):
        paths.append(_interaction(trials, folder))
    if terms := of_kind.get("terms"):
        paths.append(_terms(terms[0], folder))
    return paths


def _curves(records: Sequence[Record], folder: Path) -> Path:
    figure, axes = plt.subplots(1, len(records), figsize=(5.2 * len(records), 3.9), squeeze=False)
    for axis, record in zip(axes[0], records, strict=True):
        path = np.array(record.result["path"])  # (steps, 3)
        total = path.sum(1)
        for i, (name, colour) in enumerate(zip("ABC", _LABEL_COLOURS, strict=True)):
            axis.plot(path[:, i], color=colour, label=name)
            axis.plot(path[:, i] / total, color=colour, linestyle=":", label=f"{name} / total")
        axis.plot(total, color="black", linestyle="--", label="total")
        axis.set(title=_TITLES[record.settings["loss"]], xlabel="step", ylabel="probability", ylim=(-0.02, 1.02))
    axes[0][-1].legend(fontsize=8, ncols=2, loc=(0.5, 0.56))
    return save(figure, folder, "figure-2-winner-takes-all")


def _fields(records: Sequence[Record], folder: Path, name: str, columns: int, title: str) -> Path:
    rows = math.ceil(len(records) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.8 * columns, 4.0 * rows), squeeze=False)
    for axis in axes.flat[len(records) :]:
        axis.set_visible(False)
    for axis, record in zip(axes.flat, records, strict=False):
        settings = record.settings
        steps = ", ".join("–" if step is None else f"{step:,}" for step in record.result["steps"])
        loss = _TITLES[settings["loss"]]
        _simplex(axis)
        axis.set_title(
            f"{loss}, {_MODELS[settings['model']]}\nlearning rate {settings['rate']:g}; steps {steps}", fontsize=9
        )
        colours = _arrows(axis, record)
        for path in record.result["paths"]:
            x, y = _flat(np.array(path))
            axis.plot(x, y, color="#d50000", linewidth=1.6, zorder=4)
            axis.plot(x[:1], y[:1], "o", color="#d50000", markersize=4, zorder=5)
        figure.colorbar(colours, ax=axis, shrink=0.62, label="length of a step")
    figure.suptitle(title)
    return save(figure, folder, name)


def _arrows(axis: Axes, record: Record) -> ScalarMappable:
    grid, moves = np.array(record.result["grid"]), np.array(record.result["moves"])
    x, y = _flat(grid)
    u, v = _flat(moves)
    length = np.hypot(u, v)
    unit = np.where(length > 0, length, 1)
    return axis.quiver(
        x, y, u / unit, v / unit, length, cmap="viridis", pivot="mid", scale=26, width=0.005, headwidth=4.5, zorder=3
    )


def _simplex(axis: Axes) -> None:
    """The triangle with A at the lower left, B at the lower right and C on top."""
    corners = np.eye(3)
    x, y = _flat(np.vstack([corners, corners[:1]]))
    axis.plot(x, y, color="black", linewidth=1)
    for corner, text, at in zip(corners, "ABC", ((-14, -6), (6, -6), (-4, 5)), strict=True):
        cx, cy = _flat(corner[None])
        axis.annotate(text, (cx[0], cy[0]), xytext=at, textcoords="offset points", fontsize=12, fontweight="bold")
    axis.set_aspect("equal")
    axis.set(xlim=(-0.08, 1.08), ylim=(-0.06, 0.95))
    axis.axis("off")


def _flat(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Barycentric (n, 3) to the plane; also right for differences of points."""
    return points[:, 1] + points[:, 2] / 2, points[:, 2] * math.sqrt(3) / 2


def _interaction(records: Sequence[Record], folder: Path) -> Path:
    """Figure 5: a typical run of the most outputs, nll beside libra."""
    most = max(record.settings["outputs"] for record in records)
    shown = [record for record in records if record.settings["outputs"] == most]
    figure, axes = plt.subplots(1, len(shown), figsize=(5.2 * len(shown), 3.9), squeeze=False)
    for axis, record in zip(axes[0], shown, strict=True):
        path, pre = np.array(record.result["path"]), record.settings["pre"]
        steps = np.arange(len(path)) - pre
        axis.axvspan(-pre, 0, color="black", alpha=0.06)
        axis.annotate("towards {B, C}", (-pre, 0.97), fontsize=8, rotation=90, va="top", color="#555555")
        for i, (name, colour) in enumerate(zip("ABC", _LABEL_COLOURS, strict=True)):
            axis.plot(steps, path[:, i], color=colour, label=name)
        axis.plot(steps, path.sum(1), color="black", linestyle="--", label="total")
        loss = _TITLES[record.settings["loss"]]
        axis.set(
            title=f"{loss}, {most} outputs",
            xlabel="step on {A, B} and {A, C}",
            ylabel="probability",
            ylim=(-0.02, 1.02),
        )
    axes[0][-1].legend(fontsize=8, loc="center right")
    return save(figure, folder, "figure-5-interaction")


def _terms(record: Record, folder: Path) -> Path:
    figure, axis = plt.subplots(figsize=(5.2, 3.9))
    for name, colour, label in (
        ("allowed", "#1565c0", "allowed term, −log p (NLL)"),
        ("disallowed", "#2e7d32", "disallowed term, log(1 − p)"),
        ("libra", "#c62828", "Libra, their sum"),
    ):
        axis.plot(record.result["logit"], record.result[name], color=colour, label=label)
    axis.set(xlabel="the single allowed logit (all others 0)", ylabel="loss")
    axis.legend(fontsize=8)
    return save(figure, folder, "figure-6-terms")
