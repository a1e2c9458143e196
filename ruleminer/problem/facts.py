"""Example facts, as the whole product passes them on: an Arrow table with one row per fact.

    predicate   arg1    arg2      kind1     kind2     positive  origin
    hasAuthor   1005    385       integer   integer   true      Q41
    Author      385     null      null      null      true      null

Arguments are lexical forms (docs/architecture.md, "Values and their kinds"); a kind is null where the source does
not tell. The origin is the query pair that gave the fact, if one did; it takes no part in what fact it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ruleminer.rules.values import Kind

FACT_SCHEMA = pa.schema(
    [
        pa.field("predicate", pa.string(), nullable=False),
        pa.field("arg1", pa.string(), nullable=False),
        pa.field("arg2", pa.string()),
        pa.field("kind1", pa.string()),
        pa.field("kind2", pa.string()),
        pa.field("positive", pa.bool_(), nullable=False),
        pa.field("origin", pa.string()),
    ]
)
FactKey = tuple[str, str, str | None, bool]
"""A fact by its predicate, its arguments as they are written, and whether it holds."""

_IDENTITY = [name for name in FACT_SCHEMA.names if name != "origin"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact, for small uses; large ones stay in Arrow."""

    predicate: str
    arguments: tuple[str, ...]
    kinds: tuple[Kind | None, ...]
    positive: bool = True


def fact_table(facts: Iterable[Fact]) -> pa.Table:
    """The table of some facts, in their order."""
    rows = [
        {
            "predicate": fact.predicate,
            **{f"arg{place}": text for place, text in enumerate(fact.arguments, start=1)},
            **{f"kind{place}": kind for place, kind in enumerate(fact.kinds, start=1)},
            "positive": fact.positive,
        }
        for fact in facts
    ]
    return pa.Table.from_pylist(rows, schema=FACT_SCHEMA)


def fact_keys(table: pa.Table) -> Iterator[FactKey]:
    """What tells the facts of a table from each other, in their order."""
    yield from zip(*(table[name].to_pylist() for name in ("predicate", "arg1", "arg2", "positive")), strict=True)


def facts_of(table: pa.Table) -> Iterator[Fact]:
    """The facts of a table, one by one."""
    for batch in table.to_batches():
        for row in batch.to_pylist():
            places = (1,) if row["arg2"] is None else (1, 2)
            yield Fact(
                row["predicate"],
                tuple(row[f"arg{place}"] for place in places),
                tuple(Kind(kind) if (kind := row[f"kind{place}"]) else None for place in places),
                row["positive"],
            )


def predicate_facts(predicate: str, arguments: pa.Table, positive: bool = True, origin: str | None = None) -> pa.Table:
    """The facts of one predicate from a table with its arguments and their kinds; those it lacks are null."""
    count = arguments.num_rows
    nothing = pa.nulls(count, pa.string())
    columns = {
        name: arguments[name].cast(pa.string()) if name in arguments.column_names else nothing
        for name in ("arg1", "arg2", "kind1", "kind2")
    }
    named = pa.repeat(pa.scalar(predicate, pa.string()), count)
    label = pa.repeat(pa.scalar(positive, pa.bool_()), count)
    source = pa.repeat(pa.scalar(origin, pa.string()), count)
    return pa.table({"predicate": named, **columns, "positive": label, "origin": source}, schema=FACT_SCHEMA)


def united(tables: Iterable[pa.Table]) -> pa.Table:
    """All facts of the tables, each once, in the order of predicates and arguments."""
    whole = pa.concat_tables([FACT_SCHEMA.empty_table(), *tables])
    distinct = whole.group_by(_IDENTITY, use_threads=False).aggregate([("origin", "min")])
    distinct = distinct.rename_columns([*_IDENTITY, "origin"])
    order = [(name, "ascending") for name in _IDENTITY]
    return distinct.select(FACT_SCHEMA.names).cast(FACT_SCHEMA).sort_by(order)


def predicates_of(table: pa.Table) -> tuple[str, ...]:
    """The predicates that a table has facts of, sorted."""
    return tuple(sorted(pc.unique(table["predicate"]).to_pylist()))
