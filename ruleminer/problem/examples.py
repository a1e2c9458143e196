"""Example facts: CSV and Parquet tables, RDF instance data and query pairs, read into one table of facts.

CSV has the header `predicate,arg1[,arg2]`, and optionally `kind1`, `kind2` and `label` (or `positive`): positive
or negative, 1 or 0, true or false, + or -. Without a label, or with an empty one, a fact is positive. Blanks around a
cell are no part of it, but for an argument whose kind is given as text. `Y` and `no` are true and false where the
ontology says that a property is. The decisions of a review (`decisions.py`) are
examples, too.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import pyarrow as pa

from ruleminer.errors import InputError
from ruleminer.problem.decisions import decided_facts, is_decisions_file
from ruleminer.problem.fact_tables import (
    TRUTH,
    arity_problem,
    check_columns,
    read_parquet_facts,
    refuse,
    table_facts,
    table_of,
    with_truth,
)
from ruleminer.problem.facts import Fact, FactKey, fact_table, united
from ruleminer.problem.ontology import Ontology, OntologyTerm, arity
from ruleminer.problem.pair_facts import PairReport, facts_from_pairs
from ruleminer.problem.pairs import SUFFIX, QueryPair, read_pair, read_pairs
from ruleminer.problem.rdf import RDF_SUFFIXES
from ruleminer.problem.rdf_facts import read_rdf_facts
from ruleminer.rules.values import Kind
from ruleminer.sources.database import Database

_BATCH = 65_536
_MOST_LINES = 10_000  # facts of which it is known where they stand
TABLE_SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Examples:
    """Example facts (facts.FACT_SCHEMA), what each pair gave, and what else a reader should know."""

    facts: pa.Table
    pairs: tuple[PairReport, ...] = ()
    notes: tuple[str, ...] = ()
    lines: Mapping[FactKey, str] = field(default_factory=dict)  # of facts from CSV: the file and the line


def example_sources(given: object) -> tuple[Path | pa.Table, ...]:
    """What a caller has examples in, as files or tables: one of them, or several."""
    if isinstance(given, str | PathLike):
        return (Path(given),)
    if isinstance(given, list | tuple) and given and all(isinstance(one, str | PathLike) for one in given):
        return tuple(Path(one) for one in given)
    return (table_of(given),)


def read_examples(
    given: Iterable[Path | str | pa.Table], ontology: Ontology, database: Database | None = None
) -> Examples:
    """The facts of tables, of CSV, Parquet and RDF files, `.qpair` files and folders of them.

    Pairs need the database they query.
    """
    tables: list[pa.Table] = []
    notes: list[str] = []
    pairs: list[QueryPair] = []
    lines: dict[FactKey, str] = {}
    for one in given:
        if isinstance(one, pa.Table):
            tables.append(table_facts(one, ontology, "examples"))
            continue
        path = Path(one)
        if path.is_dir():
            pairs += read_pairs(path)
        elif path.suffix == SUFFIX:
            pairs.append(read_pair(path))
        elif is_decisions_file(path):
            tables.append(fact_table(decided_facts(path, ontology)))
        elif path.suffix.lower() in TABLE_SUFFIXES:
            tables.append(read_fact_file(path, ontology, lines))
        elif path.suffix.lower() in RDF_SUFFIXES:
            facts, skipped = read_rdf_facts(path, ontology)
            tables.append(facts)
            notes += skipped
        else:
            raise InputError(
                f"{path}: examples come as .csv, .parquet, RDF (.ttl, .rdf, .owl, .nt), .qpair or a folder of .qpair"
            )
    report: tuple[PairReport, ...] = ()
    if pairs:
        if database is None:
            raise InputError("examples from query pairs need the database that the pairs query")
        facts, report = facts_from_pairs(database, pairs, ontology)
        if not tables:
            return Examples(facts, report)
        tables.append(facts)
    return Examples(united(tables), report, tuple(notes), lines)


def read_fact_file(path: Path, ontology: Ontology, lines: dict[FactKey, str] | None = None) -> pa.Table:
    """The facts of a CSV or Parquet file, in its order; the lines of those from CSV are added to `lines`."""
    if path.suffix.lower() == ".parquet":
        return read_parquet_facts(path, ontology)
    return read_csv_facts(path, ontology, lines)


def read_csv_facts(path: Path, ontology: Ontology, lines: dict[FactKey, str] | None = None) -> pa.Table:
    """The facts of a CSV file, in its order."""
    tables: list[pa.Table] = []
    batch: list[Fact] = []
    for line, fact in _csv_facts(path, ontology):
        batch.append(fact)
        if lines is not None and len(lines) < _MOST_LINES:
            first, second = (*fact.arguments, None)[:2]
            assert first is not None
            lines.setdefault((fact.predicate, first, second, fact.positive), f"{path.name}, line {line}")
        if len(batch) == _BATCH:
            tables.append(fact_table(batch))
            batch = []
    return pa.concat_tables([*tables, fact_table(batch)])


def _csv_facts(path: Path, ontology: Ontology) -> Iterator[tuple[int, Fact]]:
    terms: dict[str, OntologyTerm | None] = {}
    problems: list[tuple[int, str]] = []  # a name that means nothing is one problem, however often it stands there
    for line, row in _rows(path):
        name = row["predicate"].strip()
        try:
            if name not in terms:
                terms[name] = None
                terms[name] = ontology.find(name)
            term = terms[name]
            if term is not None:
                fact = _fact(row, term)
                yield line, replace(fact, arguments=with_truth(fact.arguments, fact.kinds, term, ontology))
        except InputError as problem:
            problems.append((line, str(problem)))
    if len(problems) == 1:
        raise InputError(f"{path}, line {problems[0][0]}: {problems[0][1]}")
    refuse([f"line {line}: {problem}" for line, problem in problems], str(path))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with the line each starts on."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            check_columns(header, f"{path}, line 1")
            start = reader.line_num + 1
            for cells in reader:
                if cells and len(cells) != len(header):
                    raise InputError(f"{path}, line {start}: {len(cells)} fields where the header has {len(header)}")
                if cells:
                    yield start, dict(zip(header, cells, strict=True))
                start = reader.line_num + 1
    except csv.Error as problem:
        raise InputError(f"{path}, line {reader.line_num}: broken CSV: {problem}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except OSError as problem:
        raise InputError(f"{path}: cannot be read ({problem.strerror})") from None


def _fact(row: dict[str, str], term: OntologyTerm) -> Fact:
    kinds = (_kind(row.get("kind1", "")), _kind(row.get("kind2", "")))
    cells = (row["arg1"], row.get("arg2", ""))
    arguments = [text if kind is Kind.TEXT else text.strip() for text, kind in zip(cells, kinds, strict=True)]
    given = len([text for text in arguments if text])
    if given != arity(term) or not arguments[0]:
        raise InputError(arity_problem(term, given))
    label = row.get("label", row.get("positive", "")).strip().lower() or "positive"
    if label not in TRUTH:
        raise InputError(f"a label is positive or negative (1 or 0, true or false, + or -), not {label!r}")
    return Fact(term.name, tuple(arguments[:given]), kinds[:given], TRUTH[label])


def _kind(text: str) -> Kind | None:
    text = text.strip()
    if not text:
        return None
    try:
        return Kind(text)
    except ValueError:
        raise InputError(f"a kind is one of {', '.join(Kind)}, not {text!r}") from None
