"""Example facts from files: CSV tables, RDF instance data and query pairs, read into one table of facts.

CSV has the header `predicate,arg1[,arg2]`, and optionally `kind1`, `kind2` and `label` (or `positive`): positive
or negative, 1 or 0, true or false, + or -. Without a label a fact is positive.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ruleminer.errors import InputError
from ruleminer.problem.database import Database
from ruleminer.problem.facts import Fact, fact_table, united
from ruleminer.problem.ontology import Ontology, Term, arity
from ruleminer.problem.pair_facts import PairReport, facts_from_pairs
from ruleminer.problem.pairs import SUFFIX, QueryPair, read_pair, read_pairs
from ruleminer.problem.rdf import RDF_SUFFIXES
from ruleminer.problem.rdf_facts import read_rdf_facts
from ruleminer.rules.values import Kind

_TRUTH = {
    **dict.fromkeys(("positive", "true", "1", "+"), True),
    **dict.fromkeys(("negative", "false", "0", "-"), False),
}
_COLUMNS = ("predicate", "arg1", "arg2", "kind1", "kind2", "label", "positive")
_BATCH = 65_536


@dataclass(frozen=True, slots=True)
class Examples:
    """Example facts (facts.FACT_SCHEMA), what each pair gave, and what else a reader should know."""

    facts: pa.Table
    pairs: tuple[PairReport, ...] = ()
    notes: tuple[str, ...] = ()


def read_examples(paths: Iterable[Path | str], ontology: Ontology, database: Database | None = None) -> Examples:
    """The facts of CSV and RDF files, `.qpair` files and folders of them; pairs need the database they query."""
    tables: list[pa.Table] = []
    notes: list[str] = []
    pairs: list[QueryPair] = []
    for path in map(Path, paths):
        if path.is_dir():
            pairs += read_pairs(path)
        elif path.suffix == SUFFIX:
            pairs.append(read_pair(path))
        elif path.suffix.lower() == ".csv":
            tables.append(read_csv_facts(path, ontology))
        elif path.suffix.lower() in RDF_SUFFIXES:
            facts, skipped = read_rdf_facts(path, ontology)
            tables.append(facts)
            notes += skipped
        else:
            raise InputError(
                f"{path}: examples come as .csv, RDF (.ttl, .rdf, .owl, .nt), .qpair or a folder of .qpair"
            )
    report: tuple[PairReport, ...] = ()
    if pairs:
        if database is None:
            raise InputError("examples from query pairs need the database that the pairs query")
        facts, report = facts_from_pairs(database, pairs, ontology)
        if not tables:
            return Examples(facts, report)
        tables.append(facts)
    return Examples(united(tables), report, tuple(notes))


def read_csv_facts(path: Path, ontology: Ontology) -> pa.Table:
    """The facts of a CSV file, in its order."""
    tables: list[pa.Table] = []
    batch: list[Fact] = []
    for fact in _csv_facts(path, ontology):
        batch.append(fact)
        if len(batch) == _BATCH:
            tables.append(fact_table(batch))
            batch = []
    return pa.concat_tables([*tables, fact_table(batch)])


def _csv_facts(path: Path, ontology: Ontology) -> Iterator[Fact]:
    terms: dict[str, Term] = {}
    for line, row in _rows(path):
        try:
            name = row["predicate"]
            if name not in terms:
                terms[name] = ontology.find(name)
            yield _fact(row, terms[name])
        except InputError as problem:
            raise InputError(f"{path}, line {line}: {problem}") from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with the line each starts on."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, path)
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


def _check_header(header: list[str], path: Path) -> None:
    unknown = [name for name in header if name not in _COLUMNS]
    missing = [name for name in ("predicate", "arg1") if name not in header]
    if unknown or missing or len(set(header)) < len(header) or {"label", "positive"} <= set(header):
        found = ",".join(header) or "nothing"
        raise InputError(f"{path}, line 1: the header must be predicate,arg1[,arg2][,label], not {found}")


def _fact(row: dict[str, str], term: Term) -> Fact:
    arguments = [row["arg1"], row.get("arg2", "")]
    given = len([text for text in arguments if text])
    if given != arity(term) or not arguments[0]:
        what = "a class: it takes one argument" if arity(term) == 1 else "a property: it takes two arguments"
        raise InputError(f"{term.name} is {what}, not {given}")
    label = row.get("label", row.get("positive", "positive")).strip().lower()
    if label not in _TRUTH:
        raise InputError(f"a label is positive or negative (1 or 0, true or false, + or -), not {label!r}")
    kinds = (_kind(row.get("kind1", "")), _kind(row.get("kind2", "")))
    return Fact(term.name, tuple(arguments[:given]), kinds[:given], _TRUTH[label])


def _kind(text: str) -> Kind | None:
    if not text:
        return None
    try:
        return Kind(text)
    except ValueError:
        raise InputError(f"a kind is one of {', '.join(Kind)}, not {text!r}") from None
