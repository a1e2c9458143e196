"""SQL identifiers as R2RML writes them: quoted means this very name, unquoted what the engine makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ruleminer.rules.dialects import Dialect

_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|`([^`]+)`|\[([^\]]+)\]|([^."]+))\s*')


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name, and whether it stood in quotes."""

    name: str
    quoted: bool

    def __str__(self) -> str:
        return f'"{self.name}"' if self.quoted else self.name


def read_identifier(text: str) -> Identifier | None:
    """The column that a text names; None if the quotes in it do not fit. A dot in an unquoted column is a dot."""
    stripped = text.strip()
    if '"' not in stripped:
        return Identifier(stripped, False) if stripped else None
    parts = read_path(stripped)
    return parts[0] if len(parts) == 1 else None


def read_path(text: str) -> tuple[Identifier, ...]:
    """The parts of a table's name, `catalogue.schema.table`; empty if the text is no such name."""
    parts: list[Identifier] = []
    at = 0
    while found := _PART.match(text, at):
        standard, backticked, bracketed, plain = found.groups()
        quoted = standard or backticked or bracketed
        name = standard.replace('""', '"') if standard else (quoted or plain.strip())
        if not name:
            return ()
        parts.append(Identifier(name, quoted is not None))
        at = found.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            return ()
        at += 1
    return ()


def resolve(identifier: Identifier, known: Iterable[str], dialect: Dialect) -> str | None:
    """Which of the known names is meant, if one is.

    Mappings in the wild rely on case being folded, each on its own engine's way. So an unquoted name is tried as it
    stands, then as PostgreSQL folds it, then in any case if that is unambiguous; a quoted one so only where the engine
    folds quoted names too.
    """
    names = list(known)
    if identifier.name in names:
        return identifier.name
    if identifier.quoted and not dialect.folds_quoted_names:
        return None
    if identifier.name.lower() in names:
        return identifier.name.lower()
    alike = {name for name in names if name.casefold() == identifier.name.casefold()}
    return alike.pop() if len(alike) == 1 else None
