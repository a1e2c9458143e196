"""Tables and pictures of the mapping study: one axis each for examples, wrong examples and names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ruleminer.bench.pictures import save
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Record
from ruleminer.proposals.ranking import MANY

Step = tuple[int, float]  # examples per predicate, and the share of them that is wrong
NAMES = ("same", "abbreviated", "synonym", "opaque")  # ever farther from the ontology's
_ACROSS = 3  # panels of a picture side by side
NPD = "npd"
_STYLES = {
    "coverage": ("#757575", "s", "--"),
    "evidence": ("#c62828", "o", "-"),
    "joint": ("#2e7d32", "D", "-"),
    "neural, libra": ("#1565c0", "^", "-"),
    "neural, nll": ("#2e7d32", "v", ":"),
    "neural, uniform": ("#ef6c00", "D", ":"),
}
_LEARNT = {", this scenario": ("#00838f", "<", "--"), ", others, then this": ("#6a1b9a", ">", "--")}
_OTHER_STYLE = ("#4e342e", "*", ":")
_SHOWN = ("coverage", "evidence", "joint", "neural, libra")  # scenario by scenario
_WHY = (
    "no rule",
    "no single rule of the templates is right",
    "derives all right examples, as the true rule does",
    "misses right examples",
)


def tables_of(records: Sequence[Record]) -> list[Table]:
    """By how far the names are, by scenario, and why proposals are not exact."""
    trials = _trials_of(records)
    tables = [_group_table(trials, "f1"), _gain_table(trials), _group_table(trials, "exact"), _scenario_table(trials)]
    return [*tables, _why_table(trials)] if trials else []


def pictures_of(records: Sequence[Record], folder: Path) -> list[Path]:
    """A picture for each axis."""
    trials = _trials_of(records)
    clean = [step for step in _steps(trials) if step[1] == 0.0]
    small = [record for record in trials if record.settings["scenario"] != NPD]  # which lacks most of the steps
    wrong = [step for step in _steps(small) if step[1] > 0.0]
    if not trials:
        return []
    pictures = [_examples_picture(trials, clean, folder)]
    if any(record.settings["names"] for record in trials):
        pictures.append(_names_picture(trials, clean, folder))
    return pictures + ([_wrong_picture(small, wrong, folder)] if wrong else [])


def _trials_of(records: Sequence[Record]) -> list[Record]:
    """The trials, each with what came of models that learnt from its own examples."""
    finetuned = {
        _place(record): record.result["results"] for record in records if record.settings["kind"] == "finetuned"
    }
    return [
        replace(
            record, result={**record.result, "results": [*record.result["results"], *finetuned.get(_place(record), ())]}
        )
        for record in records
        if record.settings["kind"] == "trial"
    ]


def _place(record: Record) -> tuple[str, str | None, int]:
    return record.settings["scenario"], record.settings["names"], record.settings["draws"]


def _groups(records: Sequence[Record]) -> Mapping[str, list[Record]]:
    real = [record for record in records if record.settings["names"] is None]
    groups = {
        "RODI's CMT": [record for record in real if record.settings["scenario"] != NPD],
        "NPD": [record for record in real if record.settings["scenario"] == NPD],
    }
    groups |= {f"generated, {n} names": [r for r in records if r.settings["names"] == n] for n in NAMES}
    return {name: own for name, own in groups.items() if own}


def _rankers(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(result["ranker"] for record in records for result in record.result["results"]))


def _steps(records: Sequence[Record]) -> list[Step]:
    """Without wrong examples first."""
    steps = {(r["examples"], r["wrong"]) for record in records for r in record.result["results"]}
    return sorted(steps, key=lambda step: (step[1] > 0.0, step))


def _step_name(step: Step) -> str:
    return f"{step[0]}" + (f", {step[1]:.0%} wrong" if step[1] else "")


def _values(records: Iterable[Record], step: Step, ranker: str, what: str) -> list[float]:
    """The F1 of each trial, or the share of its predicates that are exactly right in %."""
    return [
        float(result["f1"] if what == "f1" else 100 * result["exact"] / record.result["predicates"])
        for record in records
        for result in record.result["results"]
        if (result["examples"], result["wrong"], result["ranker"]) == (*step, ranker)
    ]


def _mean(records: Iterable[Record], step: Step, ranker: str, what: str = "f1") -> float:
    """NaN if the ranker was not tried there."""
    values = _values(records, step, ranker, what)
    return float(np.mean(values)) if values else math.nan


def _cell_of(mean: float) -> Cell:
    return Cell(None if math.isnan(mean) else mean)


def _cell(values: Sequence[float]) -> Cell:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Cell(float(np.mean(values)), spread) if values else Cell(None)


def _group_table(records: Sequence[Record], what: str) -> Table:
    steps = _steps(records)
    rows = [
        (f"{name}: {ranker}", tuple(_cell_of(_mean(own, step, ranker, what)) for step in steps))
        for name, own in _groups(records).items()
        for ranker in _rankers(own)
    ]
    title = {"f1": "Mean F1 over predicates", "exact": "Predicates exactly right, %"}[what]
    heading = "by number of examples per predicate, and how many of them are wrong"
    return Table(f"{title}, {heading}", tuple(map(_step_name, steps)), tuple(rows), 3 if what == "f1" else 1)


def _gain_table(records: Sequence[Record]) -> Table:
    """What each model adds to the evidence ranker."""
    steps = [step for step in _steps(records) if step[0] < MANY]  # from there on a model is not heard
    rows = [
        (f"{name}: {ranker}", tuple(_cell_of(_gain(own, step, ranker)) for step in steps))
        for name, own in _groups(records).items()
        for ranker in _rankers(own)
        if ranker.startswith("neural")
    ]
    title = "What a model adds to the F1 of evidence, in points, by number of examples per predicate"
    return Table(title, tuple(map(_step_name, steps)), tuple(rows))


def _gain(records: Sequence[Record], step: Step, ranker: str) -> float:
    """Over the scenarios where both were tried."""
    both = [record for record in records if all(_values([record], step, one, "f1") for one in (ranker, "evidence"))]
    return 100 * (_mean(both, step, ranker) - _mean(both, step, "evidence"))


def _scenario_table(records: Sequence[Record]) -> Table:
    steps = _steps(records)
    rows = [
        (
            f"{record.key} ({record.result['predicates']}): {ranker}",
            tuple(_cell(_values([record], step, ranker, "f1")) for step in steps),
        )
        for record in records
        for ranker in _rankers(records)
        if ranker in _SHOWN
    ]
    heading = "scenario (predicates): ranker, by number of examples per predicate"
    return Table(f"Mean F1 over predicates; {heading}", tuple(map(_step_name, steps)), tuple(rows), 3)


def _why_table(records: Sequence[Record]) -> Table:
    """Why the evidence ranker's proposals are not exact; only where it was asked whether one rule is enough."""
    records = [record for record in records if "one_rule_is_enough_for" in record.result]
    rows = []
    for step in _steps(records):
        reasons: Counter[str] = Counter()
        for record in records:
            for result in record.result["results"]:
                if (result["examples"], result["wrong"], result["ranker"]) == (*step, "evidence"):
                    reasons.update(result["not_exact"])
        rows.append((_step_name(step), tuple(Cell(float(reasons[why]) or None) for why in _WHY)))
    return Table("Proposals of the evidence ranker that are not exact, and why (all draws)", _WHY, tuple(rows), 0)


def _line(axis: Axes, values: Sequence[float], ranker: str) -> None:
    colour, marker, line = _style(ranker)
    points = [(place, value) for place, value in enumerate(values) if not math.isnan(value)]
    if points:
        axis.plot(*zip(*points, strict=True), line, marker=marker, color=colour, label=ranker, markersize=5)


def _style(ranker: str) -> tuple[str, str, str]:
    return _STYLES.get(ranker) or next((own for end, own in _LEARNT.items() if ranker.endswith(end)), _OTHER_STYLE)


def _examples_picture(records: Sequence[Record], steps: Sequence[Step], folder: Path) -> Path:
    groups = _groups(records)
    across = min(len(groups), _ACROSS)
    down = -(-len(groups) // across)
    size = (3.6 * across, 0.8 + 2.8 * down)
    figure, axes = plt.subplots(down, across, figsize=size, sharey=True, squeeze=False)
    for axis in axes.flat[len(groups) :]:
        axis.remove()
    for axis, (name, own) in zip(axes.flat, groups.items(), strict=False):
        for ranker in _rankers(records):
            _line(axis, [_mean(own, step, ranker) for step in steps], ranker)
        axis.set_xticks(range(len(steps)), [str(examples) for examples, _ in steps])
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("examples per predicate")
    return _save_panels(figure, folder, "examples")


def _names_picture(records: Sequence[Record], steps: Sequence[Step], folder: Path) -> Path:
    groups = {n: [r for r in records if r.settings["names"] == n] for n in NAMES}
    groups = {name: own for name, own in groups.items() if own}
    shown = [step for step in steps if step[0] in (0, 1, 10)] or list(steps[:1])
    figure, axes = plt.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.6), sharey=True, squeeze=False)
    for axis, step in zip(axes[0], shown, strict=True):
        for ranker in _rankers(records):
            _line(axis, [_mean(own, step, ranker) for own in groups.values()], ranker)
        axis.set_xticks(range(len(groups)), list(groups), fontsize=8)
        axis.set_title(f"{step[0]} examples" if step[0] != 1 else "1 example", fontsize=10)
        axis.set_xlabel("the source's names (generated)")
    return _save_panels(figure, folder, "names")


def _save_panels(figure: Figure, folder: Path, name: str) -> Path:
    """Panels share one axis of F1 and one legend."""
    figure.supylabel("F1 of the mapping", fontsize=10)
    figure.axes[0].set_ylim(0, 1.02)
    handles, labels = zip(*_entries(figure), strict=True)
    columns = max(1, int(figure.get_figwidth() // (0.7 + 0.075 * max(map(len, labels)))))  # inches
    figure.legend(handles, labels, frameon=False, loc="outside upper center", ncols=columns)
    return save(figure, folder, name)


def _entries(figure: Figure) -> list[tuple[Artist, str]]:
    """Each ranker once, whichever panels it is in."""
    handles = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    return [(handle, label) for label, handle in handles.items()]


def _wrong_picture(records: Sequence[Record], steps: Sequence[Step], folder: Path) -> Path:
    figure, axis = plt.subplots(figsize=(6.4, 3.6))
    rankers = [one for one in _rankers(records) if any(_values(records, step, one, "f1") for step in steps)]
    width = 0.8 / len(rankers)
    for number, ranker in enumerate(rankers):
        places = [place + (number + 0.5) * width - 0.4 for place in range(len(steps))]
        colour = _style(ranker)[0]
        axis.bar(places, [_mean(records, step, ranker) for step in steps], width, color=colour, label=ranker)
    axis.set_xticks(range(len(steps)), [_step_name(step) for step in steps])
    axis.set_ylim(0, 1.02)
    axis.set_ylabel("F1 of the mapping")
    axis.set_xlabel("examples per predicate")
    figure.legend(frameon=False, loc="outside upper center", ncols=3)
    return save(figure, folder, "wrong-examples")
