"""What training shows: a live line while it runs, a learning curve when it is done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ruleminer.learn.curve import kept, read_curve


class Display:
    """A progress bar on stderr with loss, P_pos, P_neg and speed; plain lines where there is no terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.progress = Progress(
            TextColumn("[bold]training"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %  {task.description}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            disable=quiet or not self.console.is_terminal,
            transient=True,
        )
        self.task = self.progress.add_task("", total=1.0)
        self.measured = ""

    def __enter__(self) -> Display:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def step(self, done: float, loss: float, speed: float) -> None:
        """After an update: the share of the work done, the loss, places of tries per second."""
        description = f"loss {loss:.4f}  {self.measured}{speed:,.0f} tokens/s"
        self.progress.update(self.task, completed=done, description=description)

    def validated(self, line: Mapping[str, Any]) -> None:
        """After a validation."""
        self.measured = f"P_pos {line['p_pos']:.4f}  P_neg {line['p_neg']:.4f}  "
        self.console.print(
            f"update {line['update']:>5}  pass {line['pass']:>6.2f}  loss {line['loss']:9.4f}  "
            f"P_pos {line['p_pos']:.4f}  P_neg {line['p_neg']:.4f}  {line['seconds']:6.1f} s",
            highlight=False,
        )

    def say(self, text: str) -> None:
        """A line of plain text."""
        self.console.print(text, highlight=False, soft_wrap=True)


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
    fresh = model / ".curve.png"
    figure.savefig(fresh, dpi=130, format="png")
    pyplot.close(figure)
    fresh.replace(model / "curve.png")
