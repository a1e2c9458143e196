"""`customer:17`: arguments of examples that tell their table themselves, with a key or a name of one of its rows."""

from __future__ import annotations

import difflib
import re

from ruleminer.errors import InputError
from ruleminer.extraction.entity_names import Choice
from ruleminer.rules.values import Kind
from ruleminer.sources.schema import Schema, Table, nearest

_WORD, _CLOSE = re.compile(r"\w+"), 0.8  # what a table's name may look like, and one that is mistyped
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
    if table is None:
        close = difflib.get_close_matches(wanted.lower(), [one.name.lower() for one in tables], n=1, cutoff=_CLOSE)
        if close and _WORD.fullmatch(wanted):
            raise no_table(text, schema)
        return None
    return table, rest.strip()


def names_a_table(text: str) -> bool:
    """Whether a text can hardly be anything but a key of a table, whether there is such a table or not."""
    return _SURELY.fullmatch(text) is not None


def no_table(text: str, schema: Schema) -> InputError:
    """What to say where a text tells a table that is not there."""
    wanted = text.partition(":")[0].strip()
    return InputError(f"{text}: the database has no table {wanted}{nearest(wanted, [t.name for t in schema.tables])}")


def key_of(text: str, table: Table, key: str) -> Choice:
    """The row with this key; of several columns, `line:17/3`, they are written in the order of the table's key."""
    own = table.own_key
    if own is None and key.count("/") != len(table.primary_key) - 1:
        own = next(iter(table.keys), None)  # beside a primary key of several columns
    if own is None and not table.primary_key:
        raise InputError(f"{text}: the table {table.name} has no key to look {key} up by")
    if own is None and key.count("/") != len(table.primary_key) - 1:
        columns = "/".join(table.primary_key)
        raise InputError(f"{text}: the key of {table.name} has several columns; write {table.name}:{columns}")
    return Choice(table.name, "", key, table.primary_key if own is None else (own,))


def may_be_name(choice: Choice, table: Table) -> bool:
    """Whether what stands behind the table may be a name and no key: a number is a key, and so is a compound one."""
    if len(choice.columns) > 1:
        return False
    return table.type_of(choice.columns[0]).kind is Kind.TEXT or not _NUMBER.fullmatch(choice.key)
