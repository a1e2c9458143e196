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
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import __version__ as sqlglot_version  # type: ignore[attr-defined]

import ruleminer
from ruleminer.dataset import DatasetChangedError, read_dataset, write_dataset
from ruleminer.errors import InputError, SearchTimeError, first_line
from ruleminer.extraction.candidates import (
    chosen_readings,
    cut_candidates,
    cut_searches,
    find_candidates,
    refined_predicates,
)
from ruleminer.extraction.catalog import Catalog, catalog_of
from ruleminer.extraction.cells import common_places, count_fetched, create_tables, fetch_cells, undo
from ruleminer.extraction.compound_keys import columns_of_keys
from ruleminer.extraction.entities import SPACES, KeyOf, is_entity, read_entities, with_readings
from ruleminer.extraction.fact_relations import load_facts
from ruleminer.extraction.interrupts import heeding_interrupts
from ruleminer.extraction.sampling import POOL, Negatives, sample_facts
from ruleminer.extraction.unexplained import explain_gaps, tables_that_are_not_there
from ruleminer.problem.facts import FactKey, fact_keys
from ruleminer.problem.ontology import Ontology
from ruleminer.progress import Progress, silent
from ruleminer.rules.templates import Template
from ruleminer.run import Run, RunLike
from ruleminer.sources.database import Database
from ruleminer.sources.schema import Schema
from ruleminer.structure.files import write_structure
from ruleminer.structure.profile import Constants
from ruleminer.structure.profile_sql import FREQUENT
from ruleminer.structure.structure import Structure, learn_structure
from ruleminer.whole_files import remove, write_whole

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B")
SOURCE_MEMORY = 500 * 10**6
"""Bytes that a source which is read in this process may take beside the search, and is given in any case."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What an extraction may be told; refuses what makes no sense."""

    positives: int | None = 100
    negatives: Negatives = Negatives.UNIFORM
    max_candidates: int | None = 1000
    seed: int = 0
    exhaustive: bool = False  # nothing is left out, however many rows or rules that takes
    transformations: bool = True  # values are also looked for in the forms in which people publish them
    timeout: float = 600.0  # seconds that one step of the search may take
    memory: str = "2GB"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.positives is not None and self.positives < 1:
            raise InputError(f"‹positives› must be at least 1, not {self.positives}")
        if self.max_candidates is not None and self.max_candidates < 1:
            raise InputError(f"‹max_candidates› must be at least 1, not {self.max_candidates}")
        if not _SIZE.fullmatch(self.memory):
            raise InputError(f"‹memory› must be a size such as 2GB or 500MB, not {self.memory!r}")

    @property
    def draw(self) -> Constants | None:
        """What may be drawn while the structure is learnt."""
        return Constants(self.seed, POOL) if self.negatives is Negatives.UNIFORM else None

    @property
    def bytes_of_source(self) -> int:
        """What a source that is read in this process may take before the search begins: as much as the search may."""
        number, unit, binary = _SIZE.fullmatch(self.memory).groups()  # type: ignore[union-attr]
        return max(SOURCE_MEMORY, int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(unit) + 1)))


DEFAULTS = ExtractOptions()
_AGAIN = 0.05  # seconds between interruptions of a search whose time is over
_HASHED = 100_000  # examples
_MOST_TOLD = 1000  # facts with a fault of which it is told where they stand
BYTES_PER_VALUE = 42  # of memory, and as many of disk, that a value of the rows that matter takes (docs/spark.md)
COMMON_ROWS = FREQUENT  # rows of a column from which a value is not looked for in it


def extract(
    database: Database,
    examples: pa.Table,
    templates: Sequence[Template],
    out: RunLike,
    options: ExtractOptions = DEFAULTS,
    *,
    structure: Structure | None = None,
    ontology: Ontology | None = None,
    provenance: Mapping[str, Any] | None = None,
    lines: Mapping[FactKey, str] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Path:
    """Write `OUT/dataset` and return its path; `OUT/structure.json` tells what was learnt of the database.

    Without a `structure` it is learnt here, links that nobody declared included. Where the same was asked before, it
    is asked anew: if the database says otherwise by now, the dataset that is there is neither taken for the new one
    nor replaced without `force`.
    """
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
    if structure is None:
        with _timed(times, "structure"), database.memory_limit(options.bytes_of_source):
            structure = learn_structure(database, draw=options.draw, progress=progress)
    entities = read_entities(examples, structure, database, ontology, lines)
    places = _lines_as_read(examples, entities.facts, lines)
    examples, entities = entities.facts, replace(entities, facts=entities.facts.schema.empty_table())
    contradictory = contradictions(examples)
    catalog = catalog_of(structure, None if options.exhaustive else COMMON_ROWS)
    plan = _plan(database, structure.to_json(), examples, templates, options, ontology, entities.compound)
    run = Run.of(out)
    with run.held("extract"), database.memory_limit(SOURCE_MEMORY):
        again = run.dataset.exists() and not force
        if again and read_dataset(run).manifest.get("plan") != plan:
            run.keep_dataset()
        given = examples.filter(pc.invert(examples["positive"]))
        with (
            _work_file(run, plan, options) as work,
            heeding_interrupts(progress, partial(_interrupt, database, work)) as progress,
        ):
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
                    load_facts(work, with_readings(facts, entities.others))
                    progress("facts", "", 1, 1)
            del examples  # there may be millions; whoever called us may have let go of them, too
            with _step(work, "rows", times) as todo:
                if todo:
                    with _room_for_rows(work, options):
                        fetch_cells(work, database, catalog, templates, progress, published=options.transformations)
            with _step(work, "candidates", times) as todo:
                if todo:
                    with _search_time(work, options.timeout):
                        bounded = not options.exhaustive
                        dialect = database.own_dialect if options.transformations else None
                        find_candidates(
                            work,
                            catalog,
                            templates,
                            progress,
                            bounded=bounded,
                            published_by=dialect,
                            key_columns=columns_of_keys(
                                entities.compound, {key.table for key in structure.keys}, catalog
                            ),
                            to_things=ontology.leading_to_things if ontology is not None else (),
                        )
            has_iris = any(atom.spreads for template in templates for atom in template.body)
            explain_gaps(work, schema, has_iris, entities.hints, [space.key for space in structure.spaces])
            told_lines = _lines_told(work, contradictory, places) if places else {}
            try:
                _refuse_unknown_tables(work, schema, ontology, told_lines)
            except InputError:
                _forget_work(run)
                raise
            cut = cut_candidates(work, options.max_candidates)
            names = [template.name for template in templates]
            manifest = {
                "ruleminer": ruleminer.__version__,
                "plan": plan,
                "source": {"url": database.safe_url, "schema": schema.name, "dialect": database.own_dialect.name},
                **({"ontology": {"sha256": ontology.sha256}} if ontology else {}),
                **(provenance or {}),
                "options": asdict(options),
                "templates": {"names": names, "sha256": _hash(repr(tuple(templates)))},
                "counts": _counts(work, names, catalog),
                "cut": asdict(cut),
                **refined_predicates(work, templates),
                "rows_fetched": count_fetched(work),
                **entities.told(chosen_readings(work)),
                **({"contradictory": contradictory} if contradictory else {}),
                **({"lines": told_lines} if places else {}),
                "common_values": common_places(work),
                "cut_searches": cut_searches(work, templates),
                "versions": {
                    "python": platform.python_version(),
                    "duckdb": duckdb.__version__,
                    "sqlglot": sqlglot_version,
                    "pyarrow": pa.__version__,
                },
            }
            told = {
                "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
                "seconds": {name: round(value, 3) for name, value in times.items()},
            }
            spaces = [space.key for space in structure.spaces]
            write_structure(structure, run.structure)
            try:
                folder = write_dataset(work, run, names, schema, manifest, told, given, ontology, spaces, again=again)
                work.execute("PRAGMA disable_checkpoint_on_shutdown")  # nobody goes on with it
            except DatasetChangedError:
                _forget_work(run)
                raise
        _forget_work(run)
        return folder


_Line = tuple[str | bool | int | None, ...]
"""A fact as it is read: its predicate and arguments, whether it holds, and the spaces of its arguments."""


def _lines_as_read(given: pa.Table, read: pa.Table, lines: Mapping[FactKey, str] | None) -> dict[_Line, str]:
    """Where facts stand, by what they are read as."""
    if not lines:
        return {}
    read = read.slice(0, given.num_rows)
    spaces = zip(*(read[name].to_pylist() for name in SPACES), strict=True)
    facts = zip(fact_keys(read), spaces, fact_keys(given), strict=True)
    return {(*own, *told): lines[asked] for own, told, asked in facts if asked in lines}


def _lines_told(
    work: duckdb.DuckDBPyConnection, contradictory: Mapping[str, list[list[str]]], lines: Mapping[_Line, str]
) -> dict[str, str]:
    """Where facts stand, by their numbers, first those without a rule; or, if they contradict each other, by texts."""
    rows = work.execute(
        f"""SELECT fact, predicate, arg1, arg2, positive, {", ".join(SPACES)} FROM fact
            WHERE positive ORDER BY fact NOT IN (SELECT fact FROM unexplained), fact LIMIT {_MOST_TOLD}"""
    ).fetchall()
    found = {str(number): lines[key] for number, *rest in sorted(rows) if (key := tuple(rest)) in lines}
    by_text: dict[_Line, str] = {}
    for line, where in lines.items():
        by_text.setdefault(line[:4], where)
    for predicate, facts in contradictory.items():
        for arguments in facts[:_MOST_TOLD]:
            first, second = (*arguments, None)[:2]
            places = [by_text.get((predicate, str(first), second, positive)) for positive in (True, False)]
            if told := " and ".join(place for place in places if place):
                found[f"{predicate}({', '.join(arguments)})"] = told
    return found


def _refuse_unknown_tables(
    work: duckdb.DuckDBPyConnection, schema: Schema, ontology: Ontology | None, lines: Mapping[str, str]
) -> None:
    """Refuse examples of things that tell a table which is not there, if no column holds such a text either."""
    for fact, position, text, why in tables_that_are_not_there(work, schema) if ontology is not None else ():
        ((predicate,),) = work.execute("SELECT predicate FROM fact WHERE fact = ?", [fact]).fetchall()
        if ontology is not None and is_entity(ontology, predicate, position):
            where = f"{lines[str(fact)]}: " if str(fact) in lines else ""
            raise InputError(f"{where}{predicate}: {text}: {why}")


@contextmanager
def _room_for_rows(work: duckdb.DuckDBPyConnection, options: ExtractOptions) -> Iterator[None]:
    """If the rows that matter are too many for the memory allowed, say what they would take."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        undo(work)
        rows = sum(count_fetched(work).values())
        ((values,),) = work.execute("SELECT count(*) FROM cell_text").fetchall()
        raise InputError(
            f"the rows that matter do not fit into ‹memory›, {options.memory}, and as much disk: {rows:,} rows with "
            f"{values:,} values came over until both were full (a value takes some {BYTES_PER_VALUE} bytes of each); "
            "allow more, give fewer examples, or leave tables out with ‹exclude›"
        ) from None


def contradictions(examples: pa.Table) -> dict[str, list[list[str]]]:
    """The facts that hold by one example and do not by another, by predicate."""
    names = ["predicate", "arg1", "arg2", *SPACES]
    sides = [examples.filter(side).select(names) for side in (examples["positive"], pc.invert(examples["positive"]))]
    if not all(side.num_rows for side in sides):
        return {}
    denied = {tuple(fact.values()) for fact in sides[1].to_pylist()}
    found: dict[str, list[list[str]]] = {}
    for fact in dict.fromkeys(tuple(fact.values()) for fact in sides[0].to_pylist()):
        if fact in denied:
            found.setdefault(fact[0], []).append([text for text in fact[1:3] if text is not None])
    return dict(sorted(found.items()))


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
    database: Database,
    structure: object,
    examples: pa.Table,
    templates: Sequence[Template],
    options: ExtractOptions,
    ontology: Ontology | None,
    compound: Mapping[str, KeyOf],
) -> str:
    """A hash of all that a half-finished run must agree on to be taken up."""
    facts = hashlib.sha256()
    for start in range(0, examples.num_rows, _HASHED):  # not all at once: there may be millions
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, examples.schema) as writer:
            writer.write_table(examples.slice(start, _HASHED).combine_chunks())
        facts.update(sink.getvalue())
    wishes = {name: wish for name, wish in asdict(options).items() if name not in ("timeout", "threads")}
    meant = ontology.sha256 if ontology else None
    asked = [
        ruleminer.__version__,
        database.safe_url,
        structure,
        facts.hexdigest(),
        repr(tuple(templates)),
        wishes,
        meant,
        *([compound] if compound else []),
    ]
    return _hash(json.dumps(asked, default=str))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _forget_work(run: Run) -> None:
    """Let nobody go on with what has been done; its note goes first, for it is what makes it good."""
    (run.extraction / "plan").unlink(missing_ok=True)
    remove(run.extraction)


@contextmanager
def _work_file(run: Run, plan: str, options: ExtractOptions) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = run.extraction
    try:
        work = _opened_work(folder, plan)
    except (OSError, duckdb.IOException) as error:
        raise InputError(f"cannot write to {run}: {first_line(error)}") from None
    try:
        work.execute("SET temp_directory = ?", [str(folder / "spill")])
        work.execute("SET memory_limit = ?", [options.memory])
        work.execute("SET max_temp_directory_size = ?", [options.memory])
        work.execute(f"SET threads = {options.threads or os.cpu_count() or 1}")
        work.execute("SET preserve_insertion_order = false")
        work.execute("SET force_compression = 'uncompressed'")  # it goes when the dataset is there
        work.execute("SET enable_progress_bar = false")  # ours is drawn elsewhere
        work.execute("CREATE TABLE IF NOT EXISTS step_done (name VARCHAR, seconds DOUBLE)")
        yield work
    except (duckdb.OutOfMemoryException, duckdb.IOException, duckdb.TransactionException) as error:
        raise InputError(f"extraction ran out of space: {first_line(error)}; see ‹memory› and the disk") from None
    except (duckdb.InternalException, duckdb.FatalException, duckdb.SerializationException) as error:
        told = f"what an interrupted extraction left in {folder} is damaged ({first_line(error)})"
        raise InputError(f"{told}: remove it and run this again") from None
    finally:
        work.close()


def _opened_work(folder: Path, plan: str) -> duckdb.DuckDBPyConnection:
    """The work file of this plan; what another plan left, or what cannot be read, is made anew."""
    note, file = folder / "plan", folder / "work.duckdb"
    try:
        if folder.is_symlink() or note.read_text("utf-8") != plan:
            remove(folder)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        remove(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(note, plan)
    if file.exists():
        with suppress(duckdb.Error):
            return duckdb.connect(file)
        for rest in (file, file.with_name(file.name + ".wal")):
            remove(rest)
    return duckdb.connect(file)


def _interrupt(database: Database, work: duckdb.DuckDBPyConnection) -> None:
    database.interrupt()
    work.interrupt()


@contextmanager
def _search_time(work: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt the search when its time is over: the statement that runs then, or the next one."""
    ended = threading.Event()

    def interrupt() -> None:
        if not ended.wait(seconds):
            work.interrupt()
            while not ended.wait(_AGAIN):
                work.interrupt()

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        yield
    except duckdb.InterruptException:
        raise SearchTimeError(
            f"the search did not end within {seconds:g} s; what it found so far is kept: give it more ‹timeout›, fewer "
            "‹examples› or fewer ‹templates›, and run it again"
        ) from None
    finally:
        ended.set()


@contextmanager
def _timed(times: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    times[name] = time.perf_counter() - start


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
