"""Loading a pg_dump file into DuckDB, PostgreSQL, MySQL or SQLite: whole or not at all, a batch of rows at a time.

The file is read twice. Keys stand behind the data in a dump, so the first reading gathers what it declares (and
finds out whether it is complete); the second brings the rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ruleminer.errors import InputError
from ruleminer.sources.database import dialect_of, parse_url
from ruleminer.sources.engines.engine import without_password
from ruleminer.sources.pgdump.declarations import Declarations
from ruleminer.sources.pgdump.declared import Name
from ruleminer.sources.pgdump.reader import CopyBlock, read_dump
from ruleminer.sources.pgdump.rows import dump_rows
from ruleminer.sources.pgdump.targets import target_of

# Why something of a dump is left out, by the beginning of what it is; the longest that fits tells.
_REASONS = {
    "": "not needed to read the data",
    "ALTER": "owners, defaults and storage say nothing about the data",
    "CHECK": "a condition that the rows fulfil already",
    "CREATE INDEX": "an index says nothing about the data",
    "CREATE FUNCTION": "code is not run",
    "CREATE PROCEDURE": "code is not run",
    "CREATE RULE": "code is not run",
    "CREATE SEQUENCE": "it numbers new rows, and none are added",
    "CREATE TRIGGER": "code is not run",
    "CREATE TYPE": "values of such a type are read as text",
    "CREATE VIEW": "the target cannot make it",
    "DO": "code is not run",
    "DROP": "the target is emptied by us, if at all",
    "FOREIGN KEY": "it would lead nowhere",
    "GRANT": "rights are the target's own affair",
    "INHERITS": "a child's rows are not shown in its parent",
    "REFRESH": "materialized views are made as plain views",
    "REVOKE": "rights are the target's own affair",
    "SELECT": "a setting of the session that wrote the dump",
    "SET": "a setting of the session that wrote the dump",
    "exact digits": "more than the target's decimals can hold",
    "generated values": "the dump does not hold them; the column stays empty",
    "psql command": "meant for the psql program",
}


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table that was loaded, and its number of rows."""

    schema: str | None
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """What of the dump was left out: how many times, and why."""

    what: str
    count: int
    why: str


@dataclass(frozen=True, slots=True)
class LoadedDump:
    """What `load_dump` did. `url` has no password."""

    url: str
    tables: tuple[LoadedTable, ...]
    views: tuple[str, ...]
    skipped: tuple[Skipped, ...]

    @property
    def rows(self) -> int:
        """All rows that were loaded."""
        return sum(table.rows for table in self.tables)

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas that were filled; none on SQLite."""
        return tuple(sorted({table.schema for table in self.tables if table.schema is not None}))


def load_dump(path: Path, url: str, *, schema: str | None = None, replace: bool = False) -> LoadedDump:
    """Load a plain pg_dump file (gzipped or not) into the database at `url`.

    The tables go to the schemas the dump names, or all to `schema`. A schema that has tables already is only
    overwritten with `replace`. When anything fails, the target stays as it was.
    """
    declared = _declarations(path)
    if schema is not None:
        declared.move_to(schema)
    place = parse_url(url, may_be_new=True)
    counts: Counter[Name] = Counter()
    with target_of(place, declared, replace) as target:
        for rows in dump_rows(path, declared):
            counts[rows.table.schema, rows.table.name] += target.fill(rows)
        views = target.finish()
    named = dialect_of(place).has_schemas
    return LoadedDump(
        without_password(place),
        tuple(
            LoadedTable(table.schema if named else None, table.name, counts[table.schema, table.name])
            for table in declared.tables.values()
        ),
        tuple(views),
        tuple(Skipped(what, count, _reason(what)) for what, count in sorted(declared.skipped.items())),
    )


def _declarations(path: Path) -> Declarations:
    declared = Declarations(path)
    for event in read_dump(path):
        if isinstance(event, CopyBlock) or event.label == "INSERT":
            continue
        if not event.label:
            shown = " ".join(event.text.split())[:60]
            raise InputError(f"{path}:{event.line}: not a statement of a plain pg_dump file: {shown}")
        declared.add(event)
    declared.settle()
    if not declared.tables:
        raise InputError(f"{path} declares no tables: is it a plain pg_dump file?")
    return declared


def _reason(what: str) -> str:
    return _REASONS[max((label for label in _REASONS if what.startswith(label)), key=len)]
