"""What the user says of links: a file with one line for each.

# the name of a table and a column, and where it leads
customer.support_rep_id -> employee.employee_id
not invoice_line.quantity -> genre.genre_id
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.rules.values import Place
from ruleminer.sources.schema import Schema

Ends = tuple[Place, Place]


@dataclass(frozen=True, slots=True)
class LinkWishes:
    """Links that the user adds, and links that must not be."""

    added: tuple[Ends, ...] = ()
    forbidden: frozenset[Ends] = frozenset()


def read_links(path: Path, schema: Schema) -> LinkWishes:
    """The wishes of a file; every line must name columns that are there."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read links from {path}: {error}") from None
    added: list[Ends] = []
    forbidden: set[Ends] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].strip()
        if not words:
            continue
        unwanted = words.startswith(("not ", "! "))
        start, arrow, end = (part.strip() for part in (words.split(" ", 1)[1] if unwanted else words).partition("->"))
        if not arrow:
            raise InputError(f"{path}:{number}: a link looks like table.column -> table.column, or not … -> …")
        ends = _place(start, schema, f"{path}:{number}"), _place(end, schema, f"{path}:{number}")
        if unwanted:
            forbidden.add(ends)
        else:
            added.append(ends)
    return LinkWishes(tuple(added), frozenset(forbidden))


def _place(text: str, schema: Schema, where: str) -> Place:
    """`table.column`, where both may hold dots."""
    for cut in range(1, len(text)):
        if text[cut] == ".":
            table, column = text[:cut].strip('" '), text[cut + 1 :].strip('" ')
            if table in schema and any(one.name == column for one in schema.table(table).columns):
                return Place(table, column)
    if text.endswith(")") and ".(" in text:
        raise InputError(
            f"{where}: a link of several columns counts where the database declares it, and cannot be told yet"
        )
    raise InputError(f"{where}: the database has no column {text}; `ruleminer inspect` shows those it has")
