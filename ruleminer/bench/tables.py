"""A table of results with the paper's number beside ours, for the terminal, Markdown and HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich import table as rich_table
from rich.measure import Measurement
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Cell:
    """One measured number; `paper` is what the paper reports for the same thing, if it does."""

    ours: float | str | None
    std: float | None = None
    paper: float | str | None = None
    paper_std: float | None = None

    @property
    def difference(self) -> float | None:
        if isinstance(self.ours, float | int) and isinstance(self.paper, float | int):
            return self.ours - self.paper
        return None

    @property
    def deviations(self) -> float | None:
        """How many of the paper's standard deviations lie between ours and the paper's."""
        if self.difference is None or not self.paper_std:
            return None
        return abs(self.difference) / self.paper_std


@dataclass(frozen=True)
class Table:
    """Rows of cells under a title; `unit` is written once, in the title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    digits: int = 1
    notes: tuple[str, ...] = ()

    @property
    def compares(self) -> bool:
        return any(cell.paper is not None for _, cells in self.rows for cell in cells)


def number_text(value: float | str | None, std: float | None, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:.{digits}f}" + ("" if std is None else f" ± {std:.{digits}f}")


def cell_text(cell: Cell, digits: int) -> tuple[str, str, str]:
    """Ours, the paper's, and the difference, as text."""
    difference = "" if cell.difference is None else f"{cell.difference:+.{digits}f}"
    if cell.deviations is not None:
        difference += f" ({cell.deviations:.1f}σ)"
    paper = "" if cell.paper is None else number_text(cell.paper, cell.paper_std, digits)
    return number_text(cell.ours, cell.std, digits), paper, difference


def rich_of(table: Table) -> rich_table.Table:
    """For the terminal, without its title: the paper's number dimmed under ours, far-off differences in red."""
    shown = rich_table.Table()
    shown.add_column("", no_wrap=True)
    for column in table.columns:
        shown.add_column(column, justify="right")
    if table.compares:
        shown.caption = "ours, under it the paper's number and the difference; σ: the paper's deviation"
    for name, cells in table.rows:
        texts = []
        for cell in cells:
            ours, paper, difference = cell_text(cell, table.digits)
            text = Text(ours, no_wrap=True)
            if paper:
                far = cell.deviations is not None and cell.deviations > 2
                text.append(f"\npaper {paper.replace(' ', '')}", style="dim")
                if difference:
                    text.append(f"\n{difference}", style="red" if far else "dim")
            texts.append(text)
        shown.add_row(name, *texts)
    return shown


def fitting(table: Table, console: Console) -> list[Table]:
    """The table, or as many tables with fewer columns as it takes to fit the terminal."""
    for count in range(len(table.columns), 1, -1):
        parts = [_some_columns(table, first, count) for first in range(0, len(table.columns), count)]
        if max(_natural_width(part, console) for part in parts) <= console.width:
            return parts
    return [_some_columns(table, first, 1) for first in range(len(table.columns))]


def _some_columns(table: Table, first: int, count: int) -> Table:
    rows = tuple((name, cells[first : first + count]) for name, cells in table.rows)
    return replace(table, columns=table.columns[first : first + count], rows=rows)


def _natural_width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update_width(10_000), rich_of(table)).maximum


def markdown_of(table: Table) -> str:
    """For files: for each column of a comparing table ours, paper and difference stand side by side."""
    header, rows = _grid(table)
    lines = [f"### {table.title}", "", _line(header), _line([":--", *["--:"] * (len(header) - 1)])]
    lines += [_line(row) for row in rows]
    lines += ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def html_of(table: Table) -> str:
    header, rows = _grid(table)
    head = "".join(f"<th>{html.escape(text)}</th>" for text in header)
    body = "\n".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    return (
        f"<h3>{html.escape(table.title)}</h3>\n<div class=wide><table><thead><tr>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>\n" + (f"<ul>{notes}</ul>\n" if notes else "")
    )


def _grid(table: Table) -> tuple[list[str], list[list[str]]]:
    compared = [any(cells[i].paper is not None for _, cells in table.rows) for i in range(len(table.columns))]
    header = [""]
    for column, with_paper in zip(table.columns, compared, strict=True):
        header += [column, "paper", "difference"] if with_paper else [column]
    rows = []
    for name, cells in table.rows:
        row = [name]
        for cell, with_paper in zip(cells, compared, strict=True):
            texts = cell_text(cell, table.digits)
            row += texts if with_paper else texts[:1]
        rows.append(row)
    return header, rows


def _line(texts: list[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
