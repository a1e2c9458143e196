"""How results show themselves in a notebook: small tables, in which every text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path


def table(title: str, headings: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with its title; None is an empty cell, several lines stay several lines."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines(texts: Iterable[str]) -> str:
    """A list of lines, or nothing."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def picture(path: Path, what: str) -> str:
    """A PNG that is part of the page, or nothing if it is not there."""
    if not path.is_file():
        return ""
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(what)}" style="max-width: 40em" src="data:image/png;base64,{content}">'


def share(value: float | None) -> str:
    """A number between 0 and 1."""
    return "" if value is None else f"{value:.3f}"


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value:,}</td>'
    text = "" if value is None else escape(str(value))
    return f'<td style="text-align: left">{text.replace(chr(10), "<br>")}</td>'
