"""The structure of the live database: as extraction left it in the run if it still fits, or learnt anew."""

from __future__ import annotations

from pathlib import Path

from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema, Table
from ruleminer.structure.files import read_structure
from ruleminer.structure.links import is_forbidden
from ruleminer.structure.structure import Structure, learn_structure


def live_structure(run: RunLike, database: Database, notes: list[str]) -> Structure:
    """What is known of the live database; a note says why the run's own structure would not do."""
    kept = read_structure(Run.of(run).structure)
    if kept is not None:
        changed = _changed(kept, database.schema)
        if not changed:
            return kept
        notes.append(f"the structure of the database was learnt anew: {changed}")
    if kept is None:
        return learn_structure(database)
    return learn_structure(database, kept.wishes, discover=kept.discovers)


def run_of(mapping: RunLike) -> Run | None:
    """The run that a mapping is of: the folder itself, or that in whose proposals the file lies; None if of none."""
    path = Path(mapping)
    if path.is_dir():
        return Run.of(path)
    run = Run.of(path.absolute().parent.parent)
    return run if run.structure.is_file() and run.proposals == path.absolute().parent else None


def _changed(kept: Structure, live: Schema) -> str:
    """What differs from the database that the structure was learnt of, by the first table that does."""
    before, now = ({table.name: table for table in schema.tables} for schema in (kept.declared, live))
    for name in sorted(before.keys() ^ now.keys()):
        return f"table {name} is {'gone' if name in before else 'new'} since the extraction"
    for name, table in now.items():
        if table.columns != before[name].columns:
            return f"the columns of {name} are other than those at the extraction"
        if None not in (table.rows, before[name].rows) and table.rows != before[name].rows:
            return f"{name} has {table.rows:,} rows, and had {before[name].rows:,}"
        if _keys(table) != _keys(before[name]):
            return f"{name} declares other keys than at the extraction"
        links = {key for key in table.foreign_keys if not is_forbidden(table, key, kept.wishes)}
        if links != set(before[name].foreign_keys):
            return f"{name} declares other foreign keys than at the extraction"
    return ""


def _keys(table: Table) -> tuple[tuple[str, ...], set[tuple[str, ...]]]:
    return table.primary_key, set(table.unique)
