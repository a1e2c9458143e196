"""The consoles, the tables and the progress bars that everything is drawn with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table as RichTable

from ruleminer.errors import printable
from ruleminer.progress import Progress

# In a pipe or a file there is no terminal to be as wide as.
_WIDTH = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160


class PlainConsole(Console):
    """A console on which only we draw: names and values of a database may hold what would steer a terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Rich's own segments; their texts come from the data, so what is not for print stands as its code."""
        for text, style, control in super().render(renderable, options):
            yield Segment(printable(text) if control is None else text, style, control)


results = PlainConsole(highlight=False, width=_WIDTH)
log = PlainConsole(stderr=True, highlight=False)


def table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> RichTable:
    """A table whose numbers are right-aligned and whose texts mean no markup."""
    cells = [list(row) for row in rows]
    drawn = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold", expand=False)
    for index, heading in enumerate(headings):
        numeric = bool(cells) and all(isinstance(row[index], int | float | None) for row in cells)
        drawn.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        drawn.add_row(*(_cell(value) for value in row))
    return drawn


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(str(value))


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar per stage on stderr, with the time left, and in the end the time it took."""
    columns = (TextColumn("{task.fields[stage]:<12}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.description}"))  # fmt: skip
    bars = Bars(*columns, console=log, transient=False, disable=quiet)
    tasks: dict[str, TaskID] = {}

    def show(stage: str, what: str, done: int, total: int) -> None:
        if not tasks:  # bars that never come leave no empty line
            bars.start()
        if stage not in tasks:
            tasks[stage] = bars.add_task("", total=total, stage=stage)
        bars.update(tasks[stage], completed=done, total=total, description=escape(what))

    try:
        yield show
    finally:
        if tasks:
            bars.stop()


def typed(prompt: str) -> str | None:
    """What the user types behind a prompt; None at the end of the input."""
    try:
        return log.input(escape(prompt))
    except EOFError:
        return None


def say(line: str) -> None:
    """A line on stderr, above the progress bars if there are any."""
    log.print(line, markup=False, soft_wrap=True)


def step(line: str) -> None:
    """Say on stderr what happens next."""
    log.print(f"[bold]{escape(line)}[/bold]")
