"""A PostgreSQL server that is lost, locked or stopped while a stage reads it."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import psycopg2

from tests.faults.commands import Begun, command
from tests.faults.world import World, content

LOCK = "BEGIN; LOCK TABLE item IN ACCESS EXCLUSIVE MODE"
OTHERS = "FROM pg_stat_activity WHERE application_name = 'ruleminer' AND pid <> pg_backend_pid()"
FAULTS = {
    "cancelled": f"SELECT pg_cancel_backend(pid) {OTHERS}",
    "terminated": f"SELECT pg_terminate_backend(pid) {OTHERS}",
    "locked": LOCK,
    "table gone": "ALTER TABLE item RENAME TO elsewhere",
}
SOURCE = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE item (id INTEGER PRIMARY KEY, title VARCHAR, price INTEGER, shop INTEGER REFERENCES shop (id));
INSERT INTO shop SELECT i, 'shop ' || chr(64 + i) FROM generate_series(1, 4) i;
INSERT INTO item SELECT i, 'thing ' || i, 10 * i, 1 + i % 4 FROM generate_series(11, 30) i;
"""


def words(stage: str, url: str) -> tuple[str, ...]:
    """The stages that read a server."""
    if stage == "extract":
        return ("extract", "--db", url, "--ontology", "shop.ttl", "--examples", "facts.csv", "--templates",
                "shapes.rules", "--out", "run", "--force", "--timeout", "20", "-q")  # fmt: skip
    if stage == "draft":
        return ("draft", "--db", url, "--ontology", "shop.ttl", "--out", "run", "--timeout", "20", "--force", "-q")
    return ("propose-mappings", "run", "--db", url, "--timeout", "20", "-q")


def check_server(place: Path, url: str, stage: str, fault: str, after_seconds: float) -> str:
    """Do something to the server while a stage runs; what did not hold, or nothing."""
    part = "run/dataset" if stage == "extract" else "run/proposals"
    old = content(place, part)
    connection = psycopg2.connect(url, application_name="faults")
    connection.autocommit = True
    begun = Begun(words(stage, url), place)
    time.sleep(after_seconds)
    try:
        with connection.cursor() as cursor:
            for _ in range(3 if fault in ("cancelled", "terminated") else 1):
                cursor.execute(FAULTS[fault])
                time.sleep(0.05)
            ended = begun.wait(240)
            if fault == "locked":
                cursor.execute("ROLLBACK")
            elif fault == "table gone":
                cursor.execute("ALTER TABLE elsewhere RENAME TO item")
    finally:
        connection.close()
    if not ended.is_clean:
        return f"exit code {ended.code}: {ended.err[-500:]}"
    if ended.code and content(place, part) != old:
        return f"{part} changed, though the command failed"
    again = command(words(stage, url), place)
    return "" if again.code == 0 else f"the next run ended in {again.code}: {again.err[-300:]}"


def random_server(world: World, place: Path, url: str, rng: random.Random) -> tuple[str, str]:
    """Some fault at some moment."""
    stage, fault = rng.choice(("extract", "draft", "propose")), rng.choice(sorted(FAULTS))
    shutil.copytree(world.after("propose-mappings"), place, symlinks=True)
    after = rng.uniform(0.02, 3.0)
    return f"{stage}, {fault} after {after:.2f} s", check_server(place, url, stage, fault, after)
