"""Tables, pictures and checks that the benches with synthetic distractors share: one place per strength of noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib import pyplot as plt

from ruleminer.bench.pictures import colour, save
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Record

Place = tuple[float, ...]  # (case,) or (pool, occurrence); a greater one is harder


def place_of(settings: Mapping[str, Any]) -> Place:
    return (settings["case"],) if "case" in settings else (settings["pool"], settings["occurrence"])


def place_text(place: Place) -> str:
    return f"case {place[0]:g}" if len(place) == 1 else f"pool {place[0]:g}, occ. {place[1]:g}"


def by_place(records: Sequence[Record]) -> dict[tuple[Place, str], list[float]]:
    """All accuracies of each place and loss."""
    found: dict[tuple[Place, str], list[float]] = {}
    for record in records:
        found.setdefault((place_of(record.settings), record.settings["loss"]), []).extend(record.result["accuracy"])
    return found


def mean_std(values: Sequence[float]) -> tuple[float, float | None]:
    numbers = torch.tensor(values, dtype=torch.float64)
    return numbers.mean().item(), numbers.std().item() if len(values) > 1 else None


def order_notes(records: Sequence[Record], told: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Pairs of losses of which the paper says that the first is ahead where it is hardest; do ours show it?"""
    found = by_place(records)
    if not found:
        return ()
    hardest = max(place for place, _ in found)
    notes = []
    for better, worse in told:
        ahead, behind = found.get((hardest, better)), found.get((hardest, worse))
        if ahead and behind:
            difference = mean_std(ahead)[0] - mean_std(behind)[0]
            verdict = "yes" if difference > 0 else "no"
            notes.append(
                f"{place_text(hardest)}: paper: {better} ahead of {worse}; ours: {verdict} ({difference:+.1f} points)"
            )
    return tuple(notes)


def noise_table(records: Sequence[Record], title: str, told: Sequence[tuple[str, str]]) -> Table:
    """Losses down, places across."""
    found = by_place(records)
    places = sorted({place for place, _ in found})
    rows = []
    for loss in dict.fromkeys(loss for _, loss in found):
        values = (found.get((place, loss)) for place in places)
        rows.append((loss, tuple(Cell(*mean_std(each)) if each else Cell(None) for each in values)))
    return Table(title, tuple(map(place_text, places)), tuple(rows), notes=order_notes(records, told))


def noise_picture(records: Sequence[Record], folder: Path, name: str) -> list[Path]:
    """Accuracy against the case, or against the size of the pool with a panel for each co-occurrence."""
    found = by_place(records)
    if not found:
        return []
    panels = sorted({place[1:] for place, _ in found})
    figure, axes = plt.subplots(1, len(panels), figsize=(max(6, 4 * len(panels)), 3.8), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels, strict=True):
        for loss in dict.fromkeys(loss for _, loss in found):
            shown = sorted(
                (place[0], values) for (place, each), values in found.items() if (place[1:], each) == (panel, loss)
            )
            numbers = [mean_std(values) for _, values in shown]
            means, errors = [mean for mean, _ in numbers], [std or 0.0 for _, std in numbers]
            axis.errorbar([x for x, _ in shown], means, errors, marker="o", capsize=3, color=colour(loss), label=loss)
        axis.set_xticks(sorted({place[0] for place, _ in found}))
        axis.set_xlabel("distractor pool (fraction of labels)" if panel else "noise matrix (case)")
        axis.set_title(f"co-occurrence {panel[0]:g}" if panel else "")
    axes[0][0].set(ylabel="test accuracy, %", ylim=(0, None))
    axes[0][-1].legend(fontsize=8)
    return [save(figure, folder, name)]
