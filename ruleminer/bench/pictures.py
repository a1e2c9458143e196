"""How pictures look and where they go: one style, a PNG and an SVG of each, the same bytes for the same results."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no window system needed

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

plt.rcParams.update(
    {
        "svg.hashsalt": "ruleminer",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "figure.constrained_layout.use": True,
    }
)

COLOURS = {
    "libra": "#c62828",
    "libra-plain": "#ef6c00",
    "sag": "#f9a825",
    "nll": "#1565c0",
    "rc": "#37474f",
    "lws": "#2e7d32",
    "uniform": "#00acc1",
    "merit": "#8e24aa",
}


def colour(loss: str) -> str:
    return COLOURS.get(loss.partition("(")[0], "#757575")


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write NAME.png and NAME.svg, whole or not at all; the path of the PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        temporary = folder / f"{name}.{suffix}.tmp"
        figure.savefig(temporary, format=suffix, dpi=150, metadata=metadata)
        temporary.replace(folder / f"{name}.{suffix}")
    plt.close(figure)
    return folder / f"{name}.png"
