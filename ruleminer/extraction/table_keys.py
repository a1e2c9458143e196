"""`customer:17`: arguments of examples that tell their table themselves, with a key or a name of one of its rows."""

from __future__ import annotations

import difflib
import re

from ruleminer.extraction.entity_names import Choice
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Schema, Table, nearest

_MAYBE, _CLOSE = re.compile(r"\s*\w+\s*:(?!//).+", re.DOTALL), 0.8  # what may be so, and how alike a mistyped name is
_SURELY = re.compile(r"([A-Za-z_]\w*):\d+(/\d+)*")  # what can hardly be anything but a table and a key
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def of_table(text: str, schema: Schema) -> tuple[Table, str] | None:
    """The table that a text names before its colon, and what stands behind; None if the text does not look so."""
    name, colon, rest = text.partition(":")
    if not colon or not rest or rest.startswith("//"):
        return None
    wanted, tables = name.strip(), schema.tables
    near = [table for table in tables if table.name.lower() == wanted.lower()]
    table = next((table for table in near if table.name == wanted), near[0] if len(near) == 1 else None)
    return None if table is None else (table, rest.strip())


def no_table(text: str, schema: Schema) -> str:
    """What to say of a text that nothing knows, where it seems to tell a table that is not there; else nothing.

    `HGNC:5` looks so as well, and may be what a column holds: it is told only where no column does.
    """
    wanted, names = text.partition(":")[0].strip(), [table.name for table in schema.tables]
    close = difflib.get_close_matches(wanted.lower(), [name.lower() for name in names], n=1, cutoff=_CLOSE)
    is_table = wanted.lower() in (name.lower() for name in names)
    if is_table or not (_SURELY.fullmatch(text) or (close and _MAYBE.fullmatch(text))):
        return ""
    return f"no table {wanted}{nearest(wanted, names).rstrip('?')}"


def key_of(table: Table, key: str) -> Choice:
    """The row with this key; of several columns, `line:17/3`, they are written in the order of the table's key.

    Of what cannot be a key there no column is told: it may be a name.
    """
    own = table.own_key
    if own is None and key.count("/") != len(table.primary_key) - 1:
        own = next(iter(table.keys), None)  # beside a primary key of several columns
    if own is not None:
        return Choice(table.name, "", key, (own,))
    if not table.primary_key or key.count("/") != len(table.primary_key) - 1:
        return Choice(table.name, "", key)
    return Choice(table.name, "", "/".join(part.strip() for part in key.split("/")), table.primary_key)


def no_key(text: str, table: Table, key: str) -> str:
    """What to say of a text behind a table's name that is neither a key of it nor what a row of it is called."""
    if not table.primary_key:
        return f"{text}: the table {table.name} has no key to look {key} up by"
    return f"{text}: the key of {table.name} has several columns; write {table.name}:{'/'.join(table.primary_key)}"


def may_be_name(choice: Choice, table: Table) -> bool:
    """Whether what stands behind the table may be a name and no key: a number is a key, and so is a compound one."""
    if not choice.columns:
        return True
    if len(choice.columns) > 1:
        return False
    return table.type_of(choice.columns[0]).kind is Kind.TEXT or not _NUMBER.fullmatch(choice.key)
