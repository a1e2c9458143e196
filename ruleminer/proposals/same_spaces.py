"""Columns that the user said name the same kind of thing, as links of the structure."""

from __future__ import annotations

from dataclasses import replace

from ruleminer.problem.decisions import UserDecisions
from ruleminer.rules.values import Place
from ruleminer.sources.schema import ForeignKey, Schema
from ruleminer.structure.links import DiscoveredLink
from ruleminer.structure.structure import Structure


def united(structure: Structure, said: UserDecisions, notes: list[str]) -> Structure:
    """The structure with a link for every two columns that the user said name the same kind of thing."""
    more: dict[str, list[ForeignKey]] = {}
    links = []
    for line in said.same_spaces:
        start, end = (place_in(text.strip(), structure.schema) for text in (*line.about.split(" = ", 1), "")[:2])
        if start is None or end is None:
            notes.append(f"{line.about}: said to be the same kind of thing, but the database has no such column now")
        elif structure.space(start) is None or structure.space(start) != structure.space(end):
            more.setdefault(start.table, []).append(ForeignKey((start.column,), end.table, (end.column,)))
            links.append(DiscoveredLink(*start, *end, float("inf"), ("the user says so",)))
    if not links:
        return structure
    tables = tuple(
        replace(table, foreign_keys=(*table.foreign_keys, *more.get(table.name, ())))
        for table in structure.schema.tables
    )
    return replace(structure, schema=replace(structure.schema, tables=tables), links=(*structure.links, *links))


def place_in(text: str, schema: Schema) -> Place | None:
    """`table.column`, where both may hold dots."""
    for cut in (at for at, character in enumerate(text) if character == "."):
        table, column = text[:cut], text[cut + 1 :]
        if table in schema and any(one.name == column for one in schema.table(table).columns):
            return Place(table, column)
    return None
