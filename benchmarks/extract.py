"""Extraction against the obvious way: one fact at a time, one column at a time. Seconds, ratio, memory, growth.

    python benchmarks/extract.py --json extract.json --plot extract.png
    python benchmarks/extract.py --largest 1000000        # generated scenarios up to a million rows

Each measurement runs in a process of its own, so that its peak memory is its own. Seconds are those of the processor,
all threads together, so that others may use the machine. Generated scenarios give twenty examples of each predicate,
as a user would; the smaller ones go on to proposals. The obvious way is measured on a sample of the facts and
multiplied, since it takes hours on the larger ones; the table says on how many. `passes` is the whole extraction, the
profile of the structure included, over a single pass: a fresh process opens the file and makes a checksum of the text
of every value of every column (extraction compares texts). `hashed` is the same over a cheaper pass, in a process that
has the file in memory, which hashes each row as DuckDB keeps it, mostly numbers of a dictionary.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from ruleminer.dataset import read_dataset, read_times
from ruleminer.extraction.catalog import catalog_of
from ruleminer.extraction.oracle import candidates, load_rows
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.recipes import read_recipe
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.examples import read_examples
from ruleminer.problem.facts import facts_of
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.scenario import open_scenario, scenario_database, scenario_examples
from ruleminer.problem.template_files import read_templates
from ruleminer.proposals.request import ProposeRequest
from ruleminer.proposals.stage import propose_mappings
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.schema import quote_identifier
from ruleminer.structure.structure import learn_structure

TEMPLATES = ("classes", "properties")
_PROPOSED = 2 * 10**6  # rows up to which proposals are measured, too


def measure(
    scenario: Path, positives: int, negatives: str, templates: list[str], baseline_facts: int, few: bool = False
) -> dict[str, Any]:
    """Extract once, and propose if the examples are `few`; then run the obvious way on some of the facts."""
    opened = open_scenario(scenario)
    ontology = read_ontology(opened.ontology_path)
    options = ExtractOptions(positives=positives or None, negatives=Negatives(negatives))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_database(scenario_database(opened, cache_folder()), timeout=3600) as database,
    ):
        rows = sum(table.rows or 0 for table in database.schema.tables)
        text_seconds = float(own_process("--pass", str(database.safe_url)))
        hash_pass(database)  # of a file that is in memory, as it is when extraction begins
        start = time.process_time()
        hash_pass(database)
        hash_seconds = time.process_time() - start
        start = time.process_time()
        if few:
            examples = own_process("--examples", str(scenario), str(positives), folder)
            told = read_examples([Path(examples)], ontology, database)
        else:
            told = scenario_examples(opened, ontology, database)
        examples_seconds = time.process_time() - start
        chosen = [one for one in read_templates(files=templates) if not one.refines]  # the oracle refines nothing
        start, on_the_clock = time.process_time(), time.perf_counter()
        extract(database, told.facts, chosen, Path(folder) / "run", options, ontology=ontology)
        seconds, on_the_clock = time.process_time() - start, time.perf_counter() - on_the_clock
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        dataset = read_dataset(Path(folder) / "run")
        steps = read_times(dataset.folder)["seconds"]
        result = {
            "rows": rows,
            "facts": dataset.facts.num_rows,
            "candidates": dataset.candidates.num_rows,
            "examples_seconds": examples_seconds,
            "seconds": seconds,
            "on_the_clock": on_the_clock,
            "pass_seconds": text_seconds,
            "passes": seconds / text_seconds,
            "hashed_seconds": hash_seconds,
            "hashed": seconds / hash_seconds,
            "steps": steps,
            "peak_mb": memory,
        }
        if few and rows <= _PROPOSED:
            start = time.process_time()
            propose_mappings(ProposeRequest(Path(folder) / "run", db=database, ranker="evidence"))
            result["proposal_seconds"] = time.process_time() - start
        if baseline_facts:
            facts = list(facts_of(dataset.facts))
            some = facts[:: max(1, len(facts) // baseline_facts)][:baseline_facts]
            start = time.process_time()
            loaded = load_rows(database, catalog_of(learn_structure(database)))
            load_seconds = time.process_time() - start
            start = time.process_time()
            for fact in some:
                for template in chosen:
                    candidates(fact, template, loaded)
            each = (time.process_time() - start) / len(some)
            result["baseline_facts"] = len(some)
            result["baseline_seconds"] = load_seconds + each * len(facts)
            result["ratio"] = result["baseline_seconds"] / result["seconds"]
    return result


def some_facts(scenario: Path, most: int, folder: Path) -> Path:
    """A file of so many facts of each predicate: examples as somebody would write them."""
    path = folder / "examples.csv"
    large = scenario / "facts.parquet"
    facts = (
        f"read_parquet('{large}')" if large.exists() else f"read_csv('{scenario / 'facts.csv'}', all_varchar = true)"
    )
    with duckdb.connect() as work:
        work.execute(
            f"""
            COPY (SELECT predicate, arg1, arg2 FROM {facts}
                  QUALIFY row_number() OVER (
                      PARTITION BY predicate ORDER BY md5(concat_ws('|', arg1, arg2)), arg1, arg2) <= {most}
                  ORDER BY ALL) TO '{path}' (HEADER)
            """
        )
    return path


def text_pass(url: str) -> float:
    """Processor seconds to open a file and read the text of every value of every column once."""
    start = time.process_time()
    with open_database(url, timeout=3600) as database:
        for table in database.schema.tables:
            texts = (f"CAST({quote_identifier(column.name)} AS VARCHAR)" for column in table.columns)
            checksums = ", ".join(f"bit_xor(hash({text}))" for text in texts)
            list(database.rows(f"SELECT {checksums} FROM {database.quoted(table.name)}"))
    return time.process_time() - start


def hash_pass(database: Database) -> None:
    """Read every column of every table once, as DuckDB keeps it."""
    for table in database.schema.tables:
        columns = ", ".join(quote_identifier(column.name) for column in table.columns)
        list(database.rows(f"SELECT bit_xor(hash({columns})) FROM {database.quoted(table.name)}"))


def own_process(*arguments: str) -> str:
    """What this file prints when it is run with these arguments: a fresh process, whose memory is its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip()


def in_own_process(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Measure in a fresh process; its peak memory is then that of this measurement alone."""
    return {"name": name, **json.loads(own_process("--one", json.dumps(arguments)))}


def plan(largest: int, folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """What to measure: CMT and NPD where the real data is, generated scenarios, and one with more and more facts."""
    work: list[tuple[str, dict[str, Any]]] = []
    data = data_folder()
    if data is None:
        print("no real data (RULEMINER_DATA): generated scenarios only", file=sys.stderr)
    else:
        for name in ("cmt_renamed", "npd"):
            recipe = read_recipe("cmt" if name.startswith("cmt") else "npd")
            work.append((name, {
                "scenario": str(data / "rodi" / name), "positives": recipe.options.positives,
                "negatives": str(recipe.options.negatives), "templates": list(recipe.templates),
                "baseline_facts": 20 if name.startswith("cmt") else 2,
            }))  # fmt: skip
    sizes = [size for size in (10**4, 10**5, 10**6, 10**7) if size <= largest]
    for size in sizes:
        path = folder / f"generated-{size}"
        if not path.exists():
            generate_scenario(path, kind="restructuring", size=size)
        work.append((f"generated 1e{len(str(size)) - 1}", {
            "scenario": str(path), "positives": 20, "negatives": "uniform", "templates": list(TEMPLATES), "few": True,
            "baseline_facts": 20 if size == 10**4 else 2 if size == 10**5 else 0,
        }))  # fmt: skip
    if 10**5 in sizes:
        for positives in (10, 100, 1000):
            work.append((f"1e5 rows, {positives} facts a predicate", {
                "scenario": str(folder / "generated-100000"), "positives": positives, "negatives": "none",
                "templates": list(TEMPLATES), "baseline_facts": 0,
            }))  # fmt: skip
    return work


def growth(results: list[dict[str, Any]]) -> dict[str, float]:
    """The exponent of seconds and of memory in the number of rows, between the smallest and the largest."""
    import math

    generated = [result for result in results if result["name"].startswith("generated")]
    if len(generated) < 2:
        return {}
    first, last = generated[0], generated[-1]
    decades = math.log10(last["rows"] / first["rows"])
    return {key: math.log10(last[key] / first[key]) / decades for key in ("seconds", "peak_mb")}


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Rows against seconds and memory, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    generated = [result for result in results if result["name"].startswith("generated")]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    left.loglog([r["rows"] for r in generated], [r["seconds"] for r in generated], "o-", label="ruleminer")
    slow = [r for r in results if "baseline_seconds" in r]
    left.loglog([r["rows"] for r in slow], [r["baseline_seconds"] for r in slow], "x", label="one fact at a time")
    for result in results:
        if not result["name"].startswith(("generated", "1e5")):
            left.loglog(result["rows"], result["seconds"], "s", color="tab:green")
            left.annotate(result["name"], (result["rows"], result["seconds"]), xytext=(6, -10),
                          textcoords="offset points")  # fmt: skip
    right.loglog([r["rows"] for r in generated], [r["peak_mb"] for r in generated], "o-")
    for axes, label in ((left, "processor seconds"), (right, "peak memory (MB)")):
        axes.set(xlabel="rows in the database", ylabel=label)
        axes.grid(visible=True, which="both", alpha=0.25)
    left.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--plot", type=Path, help="write a log-log plot here")
    parser.add_argument("--largest", type=int, default=10**7, help="rows of the largest generated scenario")
    parser.add_argument("--only", default="", help="measure what is called so, such as generated")
    parser.add_argument("--keep", type=Path, help="keep generated scenarios here, and take those that are there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--pass", dest="url", help=argparse.SUPPRESS)
    parser.add_argument("--examples", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.url:
        print(text_pass(arguments.url))
        return
    if arguments.examples:
        scenario, most, folder = arguments.examples
        print(some_facts(Path(scenario), int(most), Path(folder)))
        return
    if arguments.one:
        print(
            json.dumps(
                measure(**{**json.loads(arguments.one), "scenario": Path(json.loads(arguments.one)["scenario"])})
            )
        )
        return
    results = []
    with tempfile.TemporaryDirectory() as folder:
        counted = f"{'':32}{'rows':>12}{'facts':>9}{'candidates':>12}"
        print(f"{counted}{'seconds':>10}{'passes':>8}{'hashed':>8}{'proposals':>10}{'peak MB':>9}{'ratio':>9}")
        for name, asked in plan(arguments.largest, arguments.keep or Path(folder)):
            if not name.startswith(arguments.only):
                continue
            result = in_own_process(name, asked)
            results.append(result)
            ratio = f"{result['ratio']:.0f}x" if "ratio" in result else ""
            counts = f"{result['rows']:>12,}{result['facts']:>9,}{result['candidates']:>12,}"
            proposed = f"{result['proposal_seconds']:.1f}" if "proposal_seconds" in result else ""
            times = f"{result['seconds']:>10.2f}{result['passes']:>7.1f}x{result['hashed']:>7.0f}x{proposed:>10}"
            times += f"{result['peak_mb']:>9.0f}{ratio:>9}"
            print(f"{name:32}{counts}{times}", flush=True)
    summary = {"cores": os.cpu_count(), "results": results, "growth_exponent_in_rows": growth(results)}
    print("growth exponents in rows:", {k: round(v, 2) for k, v in summary["growth_exponent_in_rows"].items()})
    if arguments.json:
        arguments.json.write_text(json.dumps(summary, indent=2) + "\n", "utf-8")
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
