"""The tables and pictures of the benches on rule learning, made from their results alone; all masses and rates in %."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from ruleminer.bench.pictures import colour, save
from ruleminer.bench.rule_learning import LOSSES
from ruleminer.bench.tables import Cell, Table
from ruleminer.bench.units import Record

METRICS = {
    "p_pos": "P_pos",
    "hit_pos_1": "H@1",
    "hit_pos_5": "H@5",
    "p_neg": "P_neg",
    "hit_neg_1": "neg H@1",
    "hit_neg_5": "neg H@5",
}
COUNTINGS = {"counting": "counting", "counting_by_shape": "counting by shape"}
_DIGITS = 2

PaperNumbers = Mapping[str, Mapping[str, Sequence[float]]]  # by set and loss, in the order of METRICS


def tables_of(records: Sequence[Record], titles: Mapping[str, str], paper: PaperNumbers) -> list[Table]:
    """The paper's table, one part per set; then what the data allow, what P_neg is made of, rates and times."""
    runs, data = of_kind(records, "run"), of_kind(records, "data")
    names = list(dict.fromkeys(record.settings["set"] for record in data))
    tables = [
        _metrics(titles.get(name, name), _of_set(runs, name), _of_set(data, name), paper.get(name, {}))
        for name in names
    ]
    tables.append(_limits(names, runs, data))
    if runs:
        tables.append(_forbidden(names, runs))
    if rates := of_kind(records, "rate"):
        tables.append(_rates(rates))
    if runs:
        tables.append(_times(records, names, runs))
    return tables


def of_kind(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if record.settings["kind"] == kind]


def _of_set(records: Sequence[Record], name: str) -> list[Record]:
    return [record for record in records if record.settings["set"] == name]


def _losses(records: Sequence[Record]) -> list[str]:
    found = dict.fromkeys(record.settings["loss"] for record in records)
    return [loss for loss in LOSSES if loss in found] + [loss for loss in found if loss not in LOSSES]


def _of_loss(records: Sequence[Record], loss: str) -> list[Record]:
    return [record for record in records if record.settings["loss"] == loss]


def _cell(values: Sequence[float], times: float = 100.0, paper: float | None = None) -> Cell:
    """Mean and deviation over the seeds."""
    if not values:
        return Cell(None, paper=paper)
    deviation = times * statistics.stdev(values) if len(values) > 1 else None
    return Cell(times * statistics.fmean(values), deviation, paper)


def _metrics(title: str, runs: Sequence[Record], data: Sequence[Record], paper: Mapping[str, Sequence[float]]) -> Table:
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for loss in _losses(runs):
        results = [record.result for record in _of_loss(runs, loss)]
        told: Sequence[float | None] = paper.get(loss) or [None] * len(METRICS)
        rows.append((loss, tuple(_cell([r[m] for r in results], paper=p) for m, p in zip(METRICS, told, strict=True))))
    for name, label in COUNTINGS.items():
        rows.append((label, tuple(_cell([_counted(r.result[name], m) for r in data]) for m in METRICS)))
    ceiling = _cell([record.result["ceiling_pos"] for record in data])
    rows.append(("ceiling", (ceiling, ceiling, ceiling, *[Cell(0.0)] * 3)))
    seeds = len({record.settings["seed"] for record in runs})
    size = data[0].result
    notes = [
        f"{size['positives']:,} positives and {size['negatives']:,} negatives with candidates "
        f"({size['without_candidates']:,} positives have none), {size['predicates']} "
        f"predicates, {size['rules']:,} rules; measured on {size['test_facts']:,} test facts"
        + (f"; mean ± deviation over {seeds} seeds" if seeds > 1 else "; one seed"),
        "ceiling: what any ranker can reach that gives no mass to forbidden rules",
    ]
    libra = next((cells for name, cells in rows if name == "libra"), None)
    if libra is not None and paper:
        notes.append(_verdict(libra))
    return Table(f"{title}, %", tuple(METRICS.values()), tuple(rows), _DIGITS, tuple(notes))


def _counted(result: Mapping[str, Any], metric: str) -> float:
    value: float = result["hits"][metric] if metric.startswith("hit") else result[metric]
    return value


def _verdict(libra: Sequence[Cell]) -> str:
    """Whether libra is at least as good as the paper's libra, metric by metric."""
    worse = []
    for (metric, name), cell in zip(METRICS.items(), libra, strict=True):
        gap = cell.difference or 0.0
        if (gap > 0) if "neg" in metric else (gap < 0):
            worse.append(name)
    return "libra: at least as good as the paper's in " + ("every column" if not worse else f"all but {_list(worse)}")


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _limits(names: Sequence[str], runs: Sequence[Record], data: Sequence[Record]) -> Table:
    """The best that the data allow, and how far libra is from it."""
    columns: list[list[tuple[str, Cell]]] = []
    for name in names:
        results = [record.result for record in _of_set(data, name)]
        libra = [record.result for record in _of_loss(_of_set(runs, name), "libra")]
        ceiling = statistics.fmean(result["ceiling_pos"] for result in results)
        column = [
            ("facts with forbidden rules only", _cell([r["only_forbidden"] / r["test_facts"] for r in results])),
            ("… told by training", _cell([r["only_known_forbidden"] / r["test_facts"] for r in results])),
            ("ceiling of P_pos and H@k", _cell([r["ceiling_pos"] for r in results])),
            ("… with rules seen in training", _cell([r["ceiling_seen"] for r in results])),
        ]
        for metric, label in METRICS.items():
            best = 0.0 if "neg" in metric else ceiling
            column.append((f"libra: {label} − best", _cell([result[metric] - best for result in libra])))
        columns.append(column)
    rows = ((cells[0][0], tuple(cell for _, cell in cells)) for cells in zip(*columns, strict=True))
    return Table(
        "What the data allow, and how far libra is from it, %",
        tuple(names),
        tuple(rows),
        _DIGITS,
        (
            "A fact all of whose rules some negative forbids cannot be right in both ways: a rule for it adds to P_pos "
            "and to P_neg. The ceiling leaves these facts out, so P_pos and H@k can lie above it; without regard to "
            "P_neg the best is 100. The best P_neg and negative H@k are 0.",
        ),
    )


def _forbidden(names: Sequence[str], runs: Sequence[Record]) -> Table:
    rows = []
    for name in names:
        own = _of_set(runs, name)
        for loss in _losses(own):
            results = [record.result for record in _of_loss(own, loss)]
            total = statistics.fmean(result["p_neg"] for result in results)
            derives = statistics.fmean(result["p_neg_derives"] for result in results)
            cells = [_cell([r[key] for r in results]) for key in ("p_neg", "p_neg_derives", "p_neg_untold")]
            cells.insert(2, Cell(100 * derives / total if total > 0 else None))
            rows.append((f"{name}, {loss}", tuple(cells)))
    return Table(
        "P_neg: how much of it derives the very fact, %",
        ("P_neg", "derives the fact", "share of P_neg", "untold"),
        tuple(rows),
        3,
        (
            "derives the fact: mass of rules that are allowed for this fact and forbidden by another. "
            "untold: the part of it that only negatives of the validation and test parts forbid.",
        ),
    )


def _rates(records: Sequence[Record]) -> Table:
    rates = sorted({record.settings["rate"] for record in records})
    rows = []
    for loss in _losses(records):
        found = {record.settings["rate"]: record.result["gain"] for record in _of_loss(records, loss)}
        # max takes the first of equals: the order of the units, as where the rate is chosen.
        best = f"{max(found, key=lambda rate: found[rate]):g}"
        rows.append((loss, (*(_cell([found[rate]] if rate in found else []) for rate in rates), Cell(best))))
    first = records[0]
    return Table(
        "P_pos − P_neg on the validation facts by learning rate, %",
        (*(f"{rate:g}" for rate in rates), "chosen"),
        tuple(rows),
        _DIGITS,
        (f"On {first.settings['set']}, seed {first.settings['seed']}, with a short training; used for all sets.",),
    )


def _times(records: Sequence[Record], names: Sequence[str], runs: Sequence[Record]) -> Table:
    rows = []
    for name in names:
        own = _of_set(runs, name)
        took = [_cell([r.result["took"]["train"] for r in _of_loss(own, loss)], 1) for loss in _losses(runs)]
        cells = (_cell([r.result["updates"] for r in own], 1), *took, _cell([r.result["took"]["test"] for r in own], 1))
        rows.append((name, cells))
    total = sum(record.seconds for record in records)
    seeds = {record.settings["seed"] for record in runs}
    a_seed = sum(record.seconds for record in runs) / max(len(seeds), 1)
    return Table(
        "Training and testing, seconds per run",
        ("updates", *(f"train {loss}" for loss in _losses(runs)), "test, mean"),
        tuple(rows),
        1,
        (
            f"{len(runs)} runs, {a_seed / 60:.1f} minutes for those of one seed; all units: {total / 60:.1f} minutes.",
            "A run stops early where the validation facts have nothing left to gain.",
        ),
    )


def draw(
    records: Sequence[Record], titles: Mapping[str, str], paper: PaperNumbers, folder: Path, name: str
) -> list[Path]:
    """P_pos and P_neg by loss beside the paper's, and the learning curves of the first seed."""
    runs = of_kind(records, "run")
    names = list(dict.fromkeys(record.settings["set"] for record in runs))
    if not names:
        return []
    return [_bars(runs, names, titles, paper, folder, name), _curves(runs, names, titles, folder, f"{name}-curves")]


def _bars(
    runs: Sequence[Record],
    names: Sequence[str],
    titles: Mapping[str, str],
    paper: PaperNumbers,
    folder: Path,
    file: str,
) -> Path:
    figure, axes = plt.subplots(2, len(names), figsize=(3.3 * len(names) + 0.8, 5.6), squeeze=False, sharey="row")
    for row, (metric, place) in zip(axes, (("p_pos", 0), ("p_neg", 3)), strict=True):
        for axis, name in zip(row, names, strict=True):
            losses = _losses(runs)
            for i, loss in enumerate(losses):
                cell = _cell([record.result[metric] for record in _of_loss(_of_set(runs, name), loss)])
                if cell.ours is not None:
                    axis.errorbar(i, cell.ours, cell.std, fmt="o", color=colour(loss), capsize=3)
                told = paper.get(name, {}).get(loss)
                if told:
                    label = "paper" if i == 0 else None
                    axis.plot(i + 0.25, told[place], "_", color="black", alpha=0.6, markersize=10, label=label)
            axis.set_xticks(range(len(losses)), losses, rotation=40, ha="right", fontsize=8)
            axis.set_title(titles.get(name, name), fontsize=9)
            if metric == "p_pos":
                axis.set_ylim(-3, 103)
            else:
                axis.set_ylim(-0.5, max(10.0, axis.get_ylim()[1]))
        row[0].set_ylabel(f"{METRICS[metric]}, %")
    handles = axes[0][0].get_legend_handles_labels()
    if handles[0]:
        axes[0][0].legend(*handles, fontsize=8)
    return save(figure, folder, file)


def _curves(runs: Sequence[Record], names: Sequence[str], titles: Mapping[str, str], folder: Path, file: str) -> Path:
    figure, axes = plt.subplots(1, len(names), figsize=(3.3 * len(names) + 0.8, 3.2), squeeze=False, sharey=True)
    for axis, name in zip(axes[0], names, strict=True):
        for record in _of_set(runs, name):
            if record.settings["seed"] == 0:
                updates, p_pos, _ = zip(*record.result["curve"], strict=True)
                loss = record.settings["loss"]
                axis.plot(updates, [100 * p for p in p_pos], marker=".", color=colour(loss), label=loss)
        axis.set_title(titles.get(name, name), fontsize=9)
        axis.set_xlabel("updates")
    axes[0][0].set_ylabel("P_pos on validation facts, %")
    fullest = max(axes[0], key=lambda axis: len(axis.get_lines()))
    fullest.legend(fontsize=8, loc="lower right")
    return save(figure, folder, file)
