"""What there is to tell of a structure, in words: which keys and links are declared, which discovered, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ruleminer.rules.values import Place
from ruleminer.sources.schema import Table
from ruleminer.structure.structure import Structure

DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class ToldLink:
    """A link or compound foreign key; `why` says what speaks for it if nobody declared it."""

    table: str
    columns: tuple[str, ...]
    target: str
    referenced: tuple[str, ...]
    why: str = ""

    @property
    def declared(self) -> bool:
        """Whether the schema declares it."""
        return not self.why

    @property
    def start(self) -> str:
        """Where it begins, for people."""
        return f"{self.table}.{_joined(self.columns)}"

    @property
    def end(self) -> str:
        """Where it leads, for people."""
        return f"{self.target}.{_joined(self.referenced)}"


@dataclass(frozen=True, slots=True)
class ToldKey:
    """A key; `why` says what speaks for it if nobody declared it."""

    columns: tuple[str, ...]
    why: str = ""


def told_links(structure: Structure) -> tuple[ToldLink, ...]:
    """All links, in the order of their tables; a column that leads to itself leads nowhere."""
    reasons: dict[tuple[str, tuple[str, ...], str, tuple[str, ...]], str] = {
        (link.table, (link.column,), link.target, (link.referenced,)): ", ".join(link.evidence)
        for link in structure.links
    }
    ends = (
        (table.name, key.columns, key.table, key.referenced)
        for table in structure.schema.tables
        for key in table.foreign_keys
        if (table.name, key.columns) != (key.table, key.referenced)
    )
    return tuple(ToldLink(*one, reasons.get(one, "")) for one in ends)


def told_keys(structure: Structure, table: Table) -> tuple[ToldKey, ...]:
    """The keys of a table, the primary one first."""
    reasons = {(key.table, key.columns): key.why for key in structure.keys}
    keys = dict.fromkeys(key for key in (table.primary_key, *table.unique) if key)
    return tuple(ToldKey(columns, reasons.get((table.name, columns), "")) for columns in keys)


def told_codes(structure: Structure) -> dict[Place, tuple[tuple[str, int], ...]]:
    """The columns of codes with their values and how many rows have each, the most frequent first."""
    found = {}
    for place in sorted(structure.codes):
        one = structure.profile.column(*place)
        found[place] = one.common if one is not None else ()
    return found


def unprofiled(structure: Structure) -> Iterator[tuple[str, str]]:
    """The tables that could not be looked into, and why."""
    for name, table in structure.profile.tables.items():
        if table.trouble:
            yield name, table.trouble


def overview(structure: Structure) -> Mapping[str, Any]:
    """The structure for programs: as a run keeps it, and what is told of it."""
    return {
        **structure.to_json(),
        "foreign_keys": [
            {
                "table": link.table,
                "columns": list(link.columns),
                "target": link.target,
                "referenced": list(link.referenced),
                "declared": link.declared,
                "why": link.why or DECLARED,
            }
            for link in told_links(structure)
        ],
        "code_values": {
            ".".join(place): [list(pair) for pair in common] for place, common in told_codes(structure).items()
        },
        "named_by": {
            table.name: list(names) for table in structure.schema.tables if (names := structure.naming_columns(table))
        },
        "unprofiled": dict(unprofiled(structure)),
    }


def _joined(columns: tuple[str, ...]) -> str:
    return columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
