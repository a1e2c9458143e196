"""Facts from query pairs: the SQL of a pair, rewritten to return the tuples of its predicate.

What each pair gave, and why another gave nothing, is in the report that comes with the facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlglot import exp

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.problem.facts import FACT_SCHEMA, predicate_facts, united
from ruleminer.problem.ontology import Ontology, local_name
from ruleminer.problem.pair_arguments import Arguments, ClassColumns, choose_arguments, class_columns
from ruleminer.problem.pair_sql import Branch, Sources, branches, engine_sql, parse_pair_sql, read_sources
from ruleminer.problem.pair_target import NoFacts, PairTarget, pair_target
from ruleminer.problem.pairs import QueryPair
from ruleminer.rules.dialects import Dialect
from ruleminer.rules.expressions import as_text
from ruleminer.rules.values import Kind, Place
from ruleminer.sources.database import Database
from ruleminer.sources.foreign_sql import caged
from ruleminer.sources.patience import patiently
from ruleminer.sources.schema import Schema


@dataclass(frozen=True, slots=True)
class PairReport:
    """What one pair gave: a predicate and a count of distinct facts, or the reason why nothing."""

    pair: str
    predicate: str | None
    facts: int
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One SELECT of a pair, with what it reads and what its arguments are."""

    branch: Branch
    sources: Sources
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Reading:
    """A pair that we can read facts from."""

    stem: str
    target: PairTarget
    parts: tuple[Part, ...]


def facts_from_pairs(
    database: Database, pairs: Iterable[QueryPair], ontology: Ontology
) -> tuple[pa.Table, tuple[PairReport, ...]]:
    """The facts of all enabled pairs, those of one predicate united, and a report with one row per pair."""
    tables: defaultdict[str, list[pa.Table]] = defaultdict(list)
    report: list[PairReport] = []
    for reading in pair_readings(pairs, ontology, database.schema):
        if isinstance(reading, PairReport):
            report.append(reading)
            continue
        predicate = reading.target.term.name
        try:
            sql = caged(fact_sql(reading.parts, database.schema, database.dialect), database)
            arguments = patiently(partial(_all_rows, database, sql))
        except ConnectionLostError:
            raise
        except DatabaseError as problem:
            report.append(PairReport(reading.stem, predicate, 0, str(problem)))
            continue
        tables[predicate].append(predicate_facts(predicate, arguments, origin=reading.stem))
        reason = "" if arguments.num_rows else "its SQL returns no rows"
        note = _notes(reading, ontology)
        report.append(PairReport(reading.stem, predicate, arguments.num_rows, reason, note))
    # One predicate at a time: to sort all of a large result at once takes several times its own memory.
    facts = [united(tables[predicate]) for predicate in sorted(tables)]
    return pa.concat_tables([FACT_SCHEMA.empty_table(), *facts]), tuple(report)


@dataclass(frozen=True, slots=True)
class PairPart:
    """The distinct facts of one SELECT of a pair, as tuples of texts, and the tables that it reads."""

    tables: tuple[str, ...]
    facts: frozenset[tuple[str, ...]]


def pair_parts(
    database: Database, pairs: Iterable[QueryPair], ontology: Ontology, wanted: Collection[str]
) -> Iterator[tuple[str, PairTarget, tuple[PairPart, ...]]]:
    """The facts of some pairs (by stem), SELECT by SELECT; pairs that no facts can be read from are left out.

    All pairs are needed: those for classes tell what the columns of others hold.
    """
    for reading in pair_readings(pairs, ontology, database.schema, wanted):
        if isinstance(reading, PairReport):
            continue
        parts = []
        places = tuple(f"arg{place}" for place in range(1, reading.target.arity + 1))
        try:
            for part in reading.parts:
                sql = caged(fact_sql((part,), database.schema, database.dialect), database)
                rows = patiently(partial(_all_rows, database, sql))
                facts = frozenset(zip(*(rows[place].cast(pa.string()).to_pylist() for place in places), strict=True))
                parts.append(PairPart(tuple(sorted({table.name for table in part.sources.tables.values()})), facts))
        except ConnectionLostError:
            raise
        except DatabaseError:
            continue
        yield reading.stem, reading.target, tuple(parts)


def _all_rows(database: Database, sql: str) -> pa.Table:
    return database.arrow(sql).read_all()


def run_pair_sql(database: Database, pair: QueryPair) -> Iterator[tuple[object, ...]]:
    """The rows of a pair's own SQL, on any engine."""
    query = parse_pair_sql(pair.sql)
    if isinstance(query, NoFacts):
        raise DatabaseError(f"pair {pair.stem}: {query.reason}")
    return database.rows(caged(engine_sql(query, database.schema, database.dialect), database))


def pair_readings(
    pairs: Iterable[QueryPair], ontology: Ontology, schema: Schema, wanted: Collection[str] | None = None
) -> Iterator[Reading | PairReport]:
    """All pairs, or those wanted (by stem), in their order.

    Those for classes are all read first, for they tell what the columns of others hold.
    """
    targets = [(pair, NoFacts("disabled") if pair.disabled else pair_target(pair, ontology)) for pair in pairs]
    known: defaultdict[str, frozenset[Place]] = defaultdict(frozenset)
    for pair, target in targets:
        if isinstance(target, PairTarget) and target.arity == 1:
            parts = _parts(pair, target, ontology, schema, {})
            for part in () if isinstance(parts, NoFacts) else parts:
                known[target.term.iri] |= class_columns(part.sources, part.arguments)
    for pair, target in targets:
        if wanted is not None and pair.stem not in wanted:
            continue
        if isinstance(target, NoFacts):
            yield PairReport(pair.stem, None, 0, target.reason)
            continue
        parts = _parts(pair, target, ontology, schema, known)
        if isinstance(parts, NoFacts):
            yield PairReport(pair.stem, target.term.name, 0, parts.reason)
        else:
            yield Reading(pair.stem, target, parts)


def _parts(
    pair: QueryPair, target: PairTarget, ontology: Ontology, schema: Schema, known: ClassColumns
) -> tuple[Part, ...] | NoFacts:
    query = parse_pair_sql(pair.sql)
    found = query if isinstance(query, NoFacts) else branches(query)
    if isinstance(found, NoFacts):
        return found
    parts: list[Part] = []
    for branch in found:
        sources = read_sources(branch.select, schema)
        if isinstance(sources, NoFacts):
            return sources
        arguments = choose_arguments(target, branch, sources, known, ontology)
        if isinstance(arguments, NoFacts):
            return arguments
        parts.append(Part(branch, sources, arguments))
    return tuple(parts)


def fact_sql(parts: Sequence[Part], schema: Schema, dialect: Dialect) -> str:
    """One statement for all SELECTs of a pair; each argument comes as text, beside its kind."""
    statements = []
    for part in parts:
        selected, given = [], []
        for place, expression in enumerate(part.arguments.expressions, start=1):
            value, kind, text = _argument(expression.copy(), part.sources, dialect)
            given.append(exp.Is(this=value, expression=exp.Null()).not_(copy=False))
            told = exp.cast(exp.Literal.string(kind) if kind else exp.Null(), "text")
            selected += [exp.alias_(text, f"arg{place}", copy=False), exp.alias_(told, f"kind{place}", copy=False)]
        statement = part.branch.select.copy().select(*selected, append=False, copy=False)
        statement.distinct(copy=False).where(*given, copy=False).set("order", None)
        statements.append(engine_sql(statement, schema, dialect))
    return " UNION ".join(statements)


def _argument(expression: exp.Expr, sources: Sources, dialect: Dialect) -> tuple[exp.Expr, Kind | None, exp.Expr]:
    """An argument's value, kind and text. A cast to text only prints a typed value: the value is meant."""
    if isinstance(expression, exp.Cast) and expression.to.is_type(*exp.DataType.TEXT_TYPES):
        expression = expression.this if sources.type_of(expression.this) else expression
    assert isinstance(expression, exp.Expression)
    found = sources.type_of(expression)
    if found is None:  # a text constant may stand for a number or a date: the pair does not tell
        return expression, None, as_text(expression)
    return expression, found.kind, dialect.lexical(expression, found)


def _notes(reading: Reading, ontology: Ontology) -> str:
    unknown = [iri for asked in reading.target.classes for iri in asked if ontology.get(iri) is None]
    notes = [f"the ontology has no class {local_name(iri)}" for iri in unknown]
    notes += [part.arguments.note for part in reading.parts if part.arguments.note]
    return "; ".join(dict.fromkeys(notes))
