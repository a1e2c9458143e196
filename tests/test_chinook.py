"""Chinook, an ordinary database: every table numbered 1, 2, 3 …; mapped from its first rows, as people write them.

`fixtures/chinook/first_rows.csv` has two or three examples of each predicate by bare keys; truth is by SQL.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.parser import parse_rules
from ruleminer.rules.values import Rule
from ruleminer.sources.data_folder import data_folder
from ruleminer.sources.database import open_database
from tests.command_line import Run

DATA = data_folder()
REAL = DATA / "real" if DATA else Path("missing")
FIRST_ROWS = Path(__file__).parent / "fixtures" / "chinook" / "first_rows.csv"

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow,
    pytest.mark.skipif(not (REAL / "chinook").is_dir(), reason="needs RULEMINER_DATA/real/chinook"),
]


@pytest.fixture(scope="module")
def database() -> Path:
    return REAL / "chinook" / "chinook.sqlite"


def truth(database: Path) -> dict[str, set[tuple[str, ...]]]:
    """The true facts by key; the SQL is written for names in snake case, which the file has in camel case."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        columns = {c for t in tables for (c,) in connection.execute("SELECT name FROM pragma_table_info(?)", [t])}
        names = {_snake(name): name for name in (*columns, *tables)}
        facts = {}
        for line in (REAL / "chinook" / "truth.tsv").read_text("utf-8").splitlines():
            predicate, sql = line.split("\t")
            dated = re.sub(r"CAST\((\w+) AS date\)", r"substr(\1, 1, 10)", sql)  # SQLite has no such type
            spelled = re.sub(r"[a-z_]+", lambda m: names.get(m.group(), m.group()), dated)
            facts[predicate] = {tuple(map(_plain, row)) for row in connection.execute(spelled)}
    return facts


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _plain(value: object) -> str:
    text = re.sub(r"^http://example\.org/[A-Za-z]+/", "", str(value))
    return text.rstrip("0").rstrip(".") if re.fullmatch(r"-?\d+\.\d+", text) else text


def test_first_rows_give_the_mapping(run: Run, database: Path, tmp_path: Path) -> None:
    vocabulary = REAL / "schema.org" / "schemaorg.ttl"
    out = tmp_path / "run"
    extracted = run(
        "extract", "--db", database, "--ontology", vocabulary, "--examples", FIRST_ROWS, "--out", out, "--quiet"
    )
    assert extracted.code == 0, extracted.err
    assert run("propose-mappings", out, "--quiet").code == 0
    rules: dict[str, list[Rule]] = defaultdict(list)
    for rule in parse_rules((out / "proposals" / "mapping.rules").read_text("utf-8")):
        rules[rule.predicate].append(rule)
    known = truth(database)
    with open_database(str(database)) as opened:
        derivations = Derivations(opened)
        wrong = [
            predicate
            for predicate, facts in known.items()
            if facts != {tuple(map(_plain, fact)) for rule in rules[predicate] for fact in derivations.derived(rule)}
        ]
    # Person has customers and employees under the same bare keys: from 1, 2, 3 alone, nobody could tell.
    assert set(wrong) <= {"Person"}, wrong
    mapping = (out / "proposals" / "mapping.ttl").read_text("utf-8")
    templates = set(re.findall(r'rr:template "([^"]+/\{[^}]+\})"', mapping))
    stems = [re.sub(r"\{[^}]+\}$", "", template) for template in templates]
    assert "http://example.org/data/Artist/" in stems
    assert "http://example.org/data/Album/" in stems
