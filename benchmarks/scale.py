"""What each stage costs as rows, tables, terms, examples and hypotheses grow, and the power of each that fits.

    python benchmarks/scale.py --json scale.json                  # four decades of rows, three of the others
    python benchmarks/scale.py --only tables --largest 10000

Each measurement runs in a process of its own; seconds are those of the processor, all threads together, and the start
of Python is not in them. A fit is the least squares of log seconds over log n, over all points and over the last two,
where what a stage costs however little there is to do weighs least.

| axis | what grows | what stays |
|---|---|---|
| rows | a generated shop | 18 tables, 92 terms, five examples a predicate |
| tables | tables of five columns and twenty rows, numbered from 1, each linked to the one before | rows of a table |
| terms | classes and properties of an ontology that the database knows nothing of | a shop of a thousand rows |
| examples | examples of each predicate, and the candidate rules with them | a shop of a hundred thousand rows |
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
from extract import some_facts

import ruleminer
from ruleminer.extraction.pipeline import ExtractOptions
from ruleminer.learn.options import TrainOptions
from ruleminer.learn.training import train_run
from ruleminer.problem.ontology import read_ontology
from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.proposals.identity import identity_policy, mapping_of
from ruleminer.rules.parser import parse_rules
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure

_UPDATES = 20


def structure(folder: Path) -> dict[str, Any]:
    """Profile, keys, links and spaces."""
    with open_database(folder / "database.duckdb", count_rows="views") as database:
        found = learn_structure(database)
    return {"tables": len(found.schema.tables), "links": len(found.schema.links)}


def extract(folder: Path) -> dict[str, Any]:
    """Structure, negatives, rows and search."""
    options = ExtractOptions(positives=None)
    with open_database(folder / "database.duckdb", count_rows="views") as database:
        done = ruleminer.extract(
            database, folder / "ontology.ttl", folder / "examples.csv", folder / "run", options, force=True
        )
    return {"facts": done.dataset.facts.num_rows, "candidates": done.dataset.candidates.num_rows}


def propose(folder: Path) -> dict[str, Any]:
    """What the run of `extract` proposes."""
    done = ruleminer.propose(folder / "run", database=folder / "database.duckdb")
    return {"proposed": len(done.proposals.proposed)}


def draft(folder: Path) -> dict[str, Any]:
    """The mapping from structure and ontology alone."""
    done = ruleminer.draft(folder / "database.duckdb", folder / "ontology.ttl", folder / "draft", force=True)
    return {"proposed": len(done.proposals.proposed)}


def train(folder: Path) -> dict[str, Any]:
    """Twenty updates of a tiny network, on one thread, reading the dataset included."""
    train_run(folder / "run", TrainOptions(size="tiny", updates=_UPDATES, threads=1), force=True)
    return {"updates": _UPDATES}


def materialise(folder: Path) -> dict[str, Any]:
    """The triples of the true mapping, as N-Triples."""
    with open_database(folder / "database.duckdb", count_rows=False) as database:
        rules = list(parse_rules((folder / "mapping.rules").read_text("utf-8")))
        known = read_ontology(folder / "ontology.ttl")
        mapping = mapping_of(
            rules, known, identity_policy(known, rules, {}, None, learn_structure(database)), database.schema.links
        )
        texts = mapping_texts(mapping, database.dialect, database.schema.type_of, None, database.schema_name)
        write_texts({"mapping.ttl": texts["mapping.ttl"]}, folder)
        started = time.process_time()
        written = ruleminer.write_triples(folder / "mapping.ttl", folder / "triples", database=database, force=True)
    return {"triples": written.triples, "seconds": time.process_time() - started}


def ontology(folder: Path) -> dict[str, Any]:
    """Reading the ontology."""
    return {"terms": len(list(read_ontology(folder / "ontology.ttl").terms))}


STAGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    one.__name__: one for one in (structure, extract, propose, draft, train, materialise, ontology)
}


def measure(stage: str, folder: Path) -> dict[str, Any]:
    """One stage in this process: seconds, peak memory, statements."""
    statements, rows, arrow = 0, Database.rows, Database.arrow

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Database, *asked: Any) -> Any:
            nonlocal statements
            statements += 1
            return method(self, *asked)

        return call

    Database.rows, Database.arrow = counted(rows), counted(arrow)  # type: ignore[method-assign]
    started = time.process_time()
    told = STAGES[stage](folder)
    taken = time.process_time() - started
    (peak,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return {"stage": stage, "seconds": taken, "peak_mb": int(peak) / 1024, "statements": statements} | told


def shop(folder: Path, size: int, examples: int) -> Path:
    """A generated shop with so many examples of each predicate."""
    if not (folder / "database.duckdb").exists():
        generate_scenario(folder, domain="shop", kind="restructuring", size=size, seed=0)
    some_facts(folder, examples, folder)
    return folder


def many_tables(folder: Path, tables: int) -> Path:
    """Small tables, each with a key, a link to the table before, a name, a code and a number."""
    folder.mkdir()
    with duckdb.connect(folder / "database.duckdb") as target:
        target.execute("BEGIN")
        for number in range(tables):
            target.execute(
                f"CREATE TABLE t{number} AS SELECT range AS id, 1 + range % 20 AS t{max(0, number - 1)}_id, "
                f"'name {number} ' || range AS name, range % 3 AS code, range * 1.5 AS amount FROM range(1, 21)"
            )
        target.execute("COMMIT")
    return folder


def many_terms(folder: Path, terms: int) -> Path:
    """A small shop, and an ontology with so many more terms."""
    shop(folder, 1000, 5)
    extra = [
        f':Thing{n} a owl:Class ; rdfs:label "thing {n} of kind {n % 97}" .'
        if n % 2
        else f':hasPart{n} a owl:DatatypeProperty ; rdfs:label "part {n} of {n % 89}" ; rdfs:domain :Thing{n + 1} .'
        for n in range(terms)
    ]
    prefixes = (
        "@prefix : <http://example.org/many#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    )
    known = (folder / "ontology.ttl").read_text("utf-8")
    (folder / "ontology.ttl").write_text(known + "\n" + prefixes + "\n".join(extra) + "\n", "utf-8")
    return folder


def plan(only: list[str], largest: int, scratch: Path) -> Iterator[tuple[str, int, Path, list[str]]]:
    """The axis, how much there is of it, where it lies, and the stages to measure in this order."""
    decades = [10**power for power in range(1, 9) if 10**power <= largest]
    if "rows" in only:
        for size in decades[2:]:
            stages = ["structure", "extract", "propose", "draft", "materialise"]
            yield "rows", size, shop(scratch / f"rows-{size}", size, 5), stages
    if "tables" in only:
        for number in [n for n in decades if n <= 10**4]:
            yield "tables", number, many_tables(scratch / f"tables-{number}", number), ["structure"]
    if "terms" in only:
        for number in [n for n in decades if 10 < n <= 10**5]:
            stages = ["ontology", "extract", "propose", *(["draft"] if number <= 10**4 else [])]
            yield "terms", number, many_terms(scratch / f"terms-{number}", number), stages
    if "examples" in only:
        for number in [1, *(n for n in decades if n <= 10**3)]:
            stages = ["extract", "propose", "train"]
            yield "examples", number, shop(scratch / "examples", 10**5, number), stages


def power(points: list[tuple[float, float]]) -> float:
    """The slope of a line through logarithms."""
    logs = [(math.log(x), math.log(max(y, 1e-3))) for x, y in points]
    x, y = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    return sum((a - x) * (b - y) for a, b in logs) / sum((a - x) ** 2 for a, _ in logs)


def draw(results: list[dict[str, Any]], file: Path) -> None:
    """Seconds over how much there is, both by powers of ten: a panel for each axis, a line for each stage."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = list(dict.fromkeys(one["axis"] for one in results))
    figure, panels = pyplot.subplots(1, len(axes), figsize=(5.5 * len(axes), 4), squeeze=False)
    for panel, axis in zip(panels[0], axes, strict=True):
        for stage in dict.fromkeys(one["stage"] for one in results if one["axis"] == axis):
            points = [(r["n"], r["seconds"]) for r in results if (r["axis"], r["stage"]) == (axis, stage)]
            label = f"{stage}, n^{power(points):.2f}" if len(points) > 1 else stage
            panel.loglog(*zip(*points, strict=True), marker="o", label=label)
        panel.set(xlabel=axis, ylabel="processor seconds")
        panel.grid(alpha=0.3)
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncol=2, frameon=False)
    figure.subplots_adjust(wspace=0.3)
    figure.savefig(file, dpi=110, bbox_inches="tight")


def main() -> None:
    axes = ["rows", "tables", "terms", "examples"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--plot", type=Path, help="draw the results here")
    parser.add_argument("--only", nargs="+", choices=axes, default=axes)
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), help="those to measure, no others")
    parser.add_argument("--largest", type=int, default=10**6)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], Path(arguments.one[1]))))
        return
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        for axis, number, folder, stages in plan(arguments.only, arguments.largest, Path(scratch)):
            for stage in (one for one in stages if one in arguments.stages):
                words = [sys.executable, __file__, "--one", stage, str(folder)]
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
                results.append({"axis": axis, "n": number} | json.loads(done.stdout.splitlines()[-1]))
                print(json.dumps(results[-1]), flush=True)
    fits = []
    for axis in arguments.only:
        for stage in STAGES:
            points = [(r["n"], r["seconds"]) for r in results if (r["axis"], r["stage"]) == (axis, stage)]
            if len(points) > 1:
                last = math.log(points[-1][1] / points[-2][1]) / math.log(points[-1][0] / points[-2][0])
                fits.append({"axis": axis, "stage": stage, "power": power(points), "last": last})
                print(f"{axis:10}{stage:14}n^{fits[-1]['power']:.2f}, between the last two n^{last:.2f}")
    if arguments.plot:
        draw(results, arguments.plot)
    if arguments.json:
        arguments.json.write_text(json.dumps({"measured": results, "fits": fits}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
