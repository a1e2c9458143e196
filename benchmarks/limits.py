"""Inputs at the edge: seconds, memory and how each command ends.

    python benchmarks/limits.py
    python benchmarks/limits.py --only cell turtle

Tables of 2,000 columns, 300 tables without rows, one value a million times, a text of 50 MB in a cell, a million facts,
an ontology of 50 MB. Each command is a process of its own; seconds are those of the processor, so that others may use
the machine. A command that ends in one line (exit code 2) has kept its promise; the line is shown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import duckdb

from tests.measured import measured

ONTOLOGY = """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Item a owl:Class . :title a owl:DatatypeProperty ; rdfs:domain :Item .
"""
FEW = "predicate,arg1,arg2\n" + "".join(f"Item,{i},\ntitle,{i},thing {i}\n" for i in range(1, 6))
MANY = 10**6
Made = tuple[str, str, str]  # SQL, ontology, facts


def columns() -> Made:
    """A table of 2,000 columns."""
    selected = ", ".join(f"(range * {n}) % 97 AS c{n}" for n in range(1, 1999))
    sql = f"CREATE TABLE item AS SELECT range AS id, 'thing ' || range AS title, {selected} FROM range(1, 1001)"
    return sql, ONTOLOGY, FEW


def empty() -> Made:
    """300 tables without rows beside one with some."""
    tables = "".join(f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, a VARCHAR, b INTEGER);" for n in range(300))
    return (
        tables + "CREATE TABLE item AS SELECT range AS id, 'thing ' || range AS title FROM range(1, 100)",
        ONTOLOGY,
        FEW,
    )


def repeated() -> Made:
    """A million rows with the same value in three columns, which is an example's."""
    sql = f"CREATE TABLE item AS SELECT range AS id, 'same' AS title, 1 AS a, 1 AS b FROM range(1, {MANY + 1})"
    return sql, ONTOLOGY, "predicate,arg1,arg2\n" + "".join(f"Item,{i},\ntitle,{i},same\n" for i in range(1, 6))


def cell() -> Made:
    """A text of 50 MB in one cell."""
    sql = "CREATE TABLE item AS SELECT range AS id, 'thing ' || range AS title FROM range(1, 100);"
    return sql + "UPDATE item SET title = repeat('long text ', 5000000) WHERE id = 3", ONTOLOGY, FEW


def facts() -> Made:
    """A million facts."""
    sql = f"CREATE TABLE item AS SELECT range AS id, 'thing ' || range AS title FROM range(1, {MANY // 2 + 1})"
    lines = "".join(f"Item,{i},\ntitle,{i},thing {i}\n" for i in range(1, MANY // 2 + 1))
    return sql, ONTOLOGY, "predicate,arg1,arg2\n" + lines


def turtle() -> Made:
    """An ontology of 50 MB."""
    term = ':term{0} a owl:Class ; rdfs:label "the term number {0}" ; rdfs:comment "{1}" .\n'
    comment = "a few words about it that nobody reads, but that have to be read all the same " * 5
    terms = "".join(term.format(n, comment) for n in range(50_000_000 // (len(comment) + 80)))
    return (
        "CREATE TABLE item AS SELECT range AS id, 'thing ' || range AS title FROM range(1, 100)",
        ONTOLOGY + terms,
        FEW,
    )


INPUTS: dict[str, Callable[[], Made]] = {
    made.__name__: made for made in (columns, empty, repeated, cell, facts, turtle)
}


def main() -> None:
    """Make each input, run the stages on it, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=sorted(INPUTS), default=list(INPUTS))
    chosen = parser.parse_args().only
    print(f"{'input':<10}{'stage':<18}{'exit':>5}{'seconds':>9}{'peak MB':>9}{'written MB':>12}  told")
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            _measure(name, Path(folder))


def _measure(name: str, place: Path) -> None:
    sql, ontology, examples = INPUTS[name]()
    with duckdb.connect(place / "x.duckdb") as connection:
        connection.execute(sql)
    (place / "x.ttl").write_text(ontology, "utf-8")
    (place / "x.csv").write_text(examples, "utf-8")
    source = ("--db", place / "x.duckdb", "--ontology", place / "x.ttl")
    run = place / "run"
    stages: dict[str, tuple[str | Path, ...]] = {
        "extract": ("extract", *source, "--examples", place / "x.csv", "--out", run, "-q"),
        "propose-mappings": ("propose-mappings", run, "-q"),
        "draft": ("draft", *source, "--out", place / "draft", "-q"),
    }
    for stage, words in stages.items():
        done = measured(place, *words, patience=3600)
        written = sum(file.stat().st_size for file in run.rglob("*") if file.is_file()) / 2**20
        told = done.err.strip().splitlines()[-1][:100] if done.code else ""
        cost = f"{done.processor_seconds:>9.1f}{done.peak_mb:>9.0f}{written:>12.1f}"
        print(f"{name:<10}{stage:<18}{done.code:>5}{cost}  {told}", flush=True)
        if done.code and stage == "extract":
            return


if __name__ == "__main__":
    main()
