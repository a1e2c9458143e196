"""Extraction from end to end: sample facts, bring the rows, search all templates, write the dataset.

Each step is kept in `RUN/.extract/work.duckdb` as soon as it is done. A run that was killed is taken up where it
stopped if the same things are asked of it; the work file goes when the dataset is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import __version__ as sqlglot_version  # type: ignore[attr-defined]

import ruleminer
from ruleminer.errors import InputError
from ruleminer.extract.arguments import load_facts
from ruleminer.extract.candidates import cut_candidates, find_candidates, refined_predicates
from ruleminer.extract.catalog import Catalog, catalog_of
from ruleminer.extract.cells import count_fetched, create_tables, fetch_cells
from ruleminer.extract.dataset import FOLDER, read_dataset, write_dataset
from ruleminer.extract.sampling import Negatives, sample_facts
from ruleminer.extract.unexplained import explain_gaps
from ruleminer.problem.database import Database
from ruleminer.problem.ontology import Ontology
from ruleminer.problem.schema import Schema
from ruleminer.rules.templates import Template

WORK = ".extract"


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What an extraction may be told; refuses what makes no sense."""

    positives: int | None = 100
    negatives: Negatives = Negatives.UNIFORM
    max_candidates: int | None = 1000
    seed: int = 0
    memory: str = "2GB"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.positives is not None and self.positives < 1:
            raise InputError(f"--positives must be at least 1, not {self.positives}")
        if self.max_candidates is not None and self.max_candidates < 1:
            raise InputError(f"--max-candidates must be at least 1, not {self.max_candidates}")
        if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", self.memory):
            raise InputError(f"--memory must be a size such as 2GB or 500MB, not {self.memory!r}")


DEFAULTS = ExtractOptions()

Progress = Callable[[str, str, int, int], None]  # stage, what of it, done, total


def extract(
    database: Database,
    examples: pa.Table,
    templates: Sequence[Template],
    out: Path,
    options: ExtractOptions = DEFAULTS,
    *,
    ontology: Ontology | None = None,
    provenance: Mapping[str, Any] | None = None,
    force: bool = False,
    progress: Progress = lambda stage, what, done, total: None,
) -> Path:
    """Write `OUT/dataset` and return its path."""
    if not templates:
        raise InputError("no templates: nothing could be extracted")
    if all(template.refines for template in templates):
        raise InputError("all templates refine others, and there are none to refine: add one without the word refine")
    if examples.num_rows == 0:
        raise InputError("no examples: extraction starts from facts that are known to hold")
    _check_names(templates, database.schema, examples)
    started = time.time()
    times: dict[str, float] = {}
    schema = database.schema
    catalog = catalog_of(schema)
    plan = _plan(database, schema.to_json(), examples, templates, options)
    if (out / FOLDER).exists() and not force:
        if read_dataset(out).manifest.get("plan") == plan:
            return out / FOLDER  # this very dataset
        raise InputError(f"{out} holds another dataset already; --force replaces it, or choose another folder")
    with _work_file(out, plan, options) as work:
        with _step(work, "facts", times) as todo:
            if todo:
                progress("facts", "sampling", 0, 1)
                create_tables(work, catalog)
                facts = sample_facts(
                    work,
                    examples,
                    database,
                    catalog,
                    positives=options.positives,
                    negatives=options.negatives,
                    seed=options.seed,
                )
                load_facts(work, facts)
                progress("facts", "", 1, 1)
        with _step(work, "rows", times) as todo:
            if todo:
                fetch_cells(work, database, catalog, templates, lambda *p: progress("rows", *p))
        with _step(work, "candidates", times) as todo:
            if todo:
                find_candidates(work, database, catalog, templates, lambda *p: progress("candidates", *p))
        explain_gaps(work, has_iris=any(atom.spreads for template in templates for atom in template.body))
        cut = cut_candidates(work, options.max_candidates)
        names = [template.name for template in templates]
        manifest = {
            "ruleminer": ruleminer.__version__,
            "plan": plan,
            "source": {"url": database.safe_url, "schema": schema.name, "dialect": database.dialect},
            **({"ontology": {"sha256": ontology.sha256}} if ontology else {}),
            **(provenance or {}),
            "options": asdict(options),
            "templates": {"names": names, "sha256": _hash(repr(tuple(templates)))},
            "counts": _counts(work, names, catalog),
            "cut": asdict(cut),
            **refined_predicates(work, templates),
            "rows_fetched": count_fetched(work),
            "versions": {
                "python": platform.python_version(),
                "duckdb": duckdb.__version__,
                "sqlglot": sqlglot_version,
                "pyarrow": pa.__version__,
            },
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "seconds": {name: round(value, 3) for name, value in times.items()},
        }
        folder = write_dataset(work, out, names, schema, manifest, examples, ontology)
    shutil.rmtree(out / WORK, ignore_errors=True)
    return folder


def _check_names(templates: Sequence[Template], schema: Schema, examples: pa.Table) -> None:
    """Refuse a template that names a table, a column or a predicate which nobody has heard of."""
    predicates = set(examples["predicate"].unique().to_pylist())
    for template in templates:
        if isinstance(template.predicate, str) and template.predicate not in predicates:
            raise InputError(f"template {template.name}: there is no example of {template.predicate}")
        for atom in template.body:
            if isinstance(atom.table, str) and atom.table not in schema:
                raise InputError(f"template {template.name}: the database has no table {atom.table}")
            tables = [schema.table(atom.table)] if isinstance(atom.table, str) else schema.tables
            known = {column.name for table in tables for column in table.columns}
            for name, _ in atom.columns:
                if isinstance(name, str) and name not in known:
                    place = f"table {atom.table} has" if isinstance(atom.table, str) else "the database has"
                    raise InputError(f"template {template.name}: {place} no column {name}")


def _plan(
    database: Database, schema: object, examples: pa.Table, templates: Sequence[Template], options: ExtractOptions
) -> str:
    """A hash of all that a half-finished run must agree on to be taken up."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, examples.schema) as writer:
        writer.write_table(examples.combine_chunks())
    facts = hashlib.sha256(sink.getvalue()).hexdigest()
    asked = [ruleminer.__version__, database.safe_url, schema, facts, repr(tuple(templates)), asdict(options)]
    return _hash(json.dumps(asked, default=str))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def _work_file(out: Path, plan: str, options: ExtractOptions) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = out / WORK
    note = folder / "plan"
    if not note.is_file() or note.read_text() != plan:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        note.write_text(plan)
        work = duckdb.connect(folder / "work.duckdb")
    except (OSError, duckdb.IOException) as error:
        raise InputError(f"cannot write to {out}: {str(error).splitlines()[0]}") from None
    try:
        work.execute("SET temp_directory = ?", [str(folder / "spill")])
        work.execute("SET memory_limit = ?", [options.memory])
        work.execute(f"SET threads = {options.threads or os.cpu_count() or 1}")
        work.execute("SET preserve_insertion_order = false")
        work.execute("CREATE TABLE IF NOT EXISTS step_done (name VARCHAR, seconds DOUBLE)")
        yield work
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise InputError(
            f"extraction ran out of space: {str(error).splitlines()[0]}; see --memory and the disk"
        ) from None
    finally:
        work.close()


@contextmanager
def _step(work: duckdb.DuckDBPyConnection, name: str, times: dict[str, float]) -> Iterator[bool]:
    """Whether a step is still to be done; notes it and its time when it is."""
    known = work.execute("SELECT seconds FROM step_done WHERE name = ?", [name]).fetchone()
    if known:
        times[name] = known[0]
        yield False
        return
    start = time.perf_counter()
    yield True
    times[name] = time.perf_counter() - start
    work.execute("INSERT INTO step_done VALUES (?, ?)", [name, times[name]])


def _counts(work: duckdb.DuckDBPyConnection, templates: list[str], catalog: Catalog) -> dict[str, Any]:
    predicates = work.execute(
        """
        SELECT predicate, count(*) FILTER (positive), count(*) FILTER (NOT positive),
               CAST(sum(n) FILTER (positive) AS BIGINT), CAST(sum(n) FILTER (NOT positive) AS BIGINT)
        FROM fact LEFT JOIN (SELECT fact, count(*) AS n FROM kept GROUP BY 1) USING (fact)
        GROUP BY 1 ORDER BY 1
        """
    ).fetchall()
    by_template = dict(work.execute("SELECT template, count(*) FROM kept JOIN rule USING (rule) GROUP BY 1").fetchall())
    keys = ("positives", "negatives", "positive_candidates", "negative_candidates")
    return {
        "predicates": {name: dict(zip(keys, [n or 0 for n in counts], strict=True)) for name, *counts in predicates},
        "templates": {name: by_template.get(number, 0) for number, name in enumerate(templates)},
        "tables": len(catalog.by_table),
        "columns": len(catalog.columns),
    }
