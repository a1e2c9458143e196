"""Which columns the terms of a mapping are made of: by these an IRI is known as an entity, whatever it looks like.

A column of a table is itself. What a query selects is followed to the tables that it reads, through joins, casts,
sub-queries and unions; what was put together of several columns leads to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage

from ruleminer.errors import DatabaseError, InputError
from ruleminer.problem.pair_sql import find_table
from ruleminer.rules.values import Place
from ruleminer.sources.database import Database
from ruleminer.sources.schema import quote_identifier
from ruleminer.validation.identifiers import Identifier, resolve
from ruleminer.validation.logical_tables import logical_source
from ruleminer.validation.r2rml_values import LogicalTable, TermMap

Origins = tuple[frozenset[Place], ...]
"""For each column of a term, where its values may come from; nothing if that cannot be told."""


class TermOrigins:
    """Where terms of one database come from; each column of a logical table is followed once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._columns, self._sources = cache(self._followed), cache(lambda table: logical_source(table, database))
        self._types = {t.name: {c.name: c.sql_type for c in t.columns} for t in database.schema.tables}

    def of(self, table: LogicalTable, term: TermMap) -> Origins:
        """The origins of a term's columns, in the order of its template."""
        return tuple(self._columns(table, column) for column in term.columns)

    def _followed(self, table: LogicalTable, column: Identifier) -> frozenset[Place]:
        dialect = self._database.dialect
        try:
            source = self._sources(table)
            name = source.columns[source.place(column)]
            if not table.query:
                known = [one.name for one in self._database.schema.tables]
                found = resolve(table.path[-1], known, dialect)
                return frozenset() if found is None else frozenset({Place(found, name)})
            top = lineage(quote_identifier(name), source.inner, schema=self._types, dialect=dialect.name)
        except (InputError, DatabaseError, SqlglotError, ValueError, RecursionError):
            return frozenset()  # materialising tells what is wrong with it
        return frozenset(place for leaf in _leaves(top) if (place := self._place(leaf)) is not None)

    def _place(self, leaf: Node) -> Place | None:
        table = find_table(self._database.schema, getattr(leaf.source, "name", ""))
        if table is None:
            return None
        written = leaf.name.rpartition(".")[2].strip('"`')
        alike = [column.name for column in table.columns if column.name.casefold() == written.casefold()]
        return Place(table.name, alike[0]) if len(alike) == 1 else None


def _leaves(node: Node) -> Iterator[Node]:
    if not node.downstream:
        yield node
    for below in node.downstream:
        yield from _leaves(below)
