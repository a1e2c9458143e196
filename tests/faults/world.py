"""A small problem, the commands that work on it, and what each leaves when nothing goes wrong."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tests.faults.commands import Ended, command

TABLES = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE item (id INTEGER PRIMARY KEY, title VARCHAR, price INTEGER, shop INTEGER REFERENCES shop (id));
INSERT INTO shop SELECT i, 'shop ' || chr(64 + i::INT) FROM range(1, 5) r(i);
INSERT INTO item SELECT i, 'thing ' || i, 10 * i, 1 + i % 4 FROM range(11, 31) r(i);
"""
ONTOLOGY = """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Item a owl:Class . :Shop a owl:Class .
:title a owl:DatatypeProperty ; rdfs:domain :Item .
:soldBy a owl:ObjectProperty ; rdfs:domain :Item ; rdfs:range :Shop .
"""
FACTS = "predicate,arg1,arg2\n" + "".join(
    f"Item,{i},\ntitle,{i},thing {i}\nsoldBy,{i},{1 + i % 4}\n" for i in range(11, 16)
)
ANSWERS = "y\nn\n?\nq\n"
SHAPES = """class-by-column: ?H(x) <- ?T(?C: x)
property-in-table: ?H(x, y) <- ?T(?C: x, ?D: y)
"""
DUMP = """CREATE TABLE public.shop (id integer NOT NULL, name text);
COPY public.shop (id, name) FROM stdin;
1\tone
2\ttwo
\\.
"""
SOURCE = ("--db", "shop.duckdb", "--ontology", "shop.ttl")


@dataclass(frozen=True)
class Stage:
    """A command, what it needs to have been run before, and the folders or files that it leaves."""

    words: tuple[str, ...]
    after: str | None
    leaves: tuple[str, ...]


STAGES = {
    "extract": Stage(("extract", *SOURCE, "--examples", "facts.csv", "--templates", "shapes.rules", "--out", "run",
                      "-q"), None, ("run/dataset", "run/structure.json")),
    "train": Stage(("train", "run", "--size", "tiny", "--updates", "3", "--threads", "1", "-q"), "extract",
                   ("run/model",)),
    "train again": Stage(("train", "run", "--size", "tiny", "--updates", "3", "--threads", "1", "--seed", "7",
                          "--force", "-q"), "train", ("run/model",)),
    "propose-mappings": Stage(("propose-mappings", "run", "-q"), "extract", ("run/proposals",)),
    "propose again": Stage(("propose-mappings", "run", "--base", "http://other.org/", "-q"), "propose-mappings",
                           ("run/proposals",)),
    "draft": Stage(("draft", *SOURCE, "--out", "run", "-q"), None, ("run/dataset", "run/proposals")),
    "review": Stage(("review", "run", "--answers", "answers.txt", "-q"), "extract", ()),
    "materialise": Stage(("materialise", "run", "--out", "triples", "--force", "-q"), "propose-mappings", ("triples",)),
    "extract from Spark": Stage(("extract", "--db", "spark:lake?master=local[1]", *SOURCE[2:], "--examples",
                                 "facts.csv", "--templates", "shapes.rules", "--out", "run", "-q"), None,
                                ("run/dataset", "run/structure.json")),
    "load": Stage(("scenario", "load", "dumped", "--db", "loaded.duckdb"), None, ()),
}  # fmt: skip

_OF_THE_MOMENT = ("times.json", "checkpoint.safetensors")


class World:
    """The problem in a folder, and copies of it at every stage."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wholes: dict[str, dict[str, bytes]] = {}
        self.steps: dict[str, int] = {}  # that each stage took in the file system

    def before(self, name: str) -> Path:
        """A folder in which all has been done that a stage needs; not to be written to."""
        after = STAGES[name].after
        place = self._folder / f"before {after}" if after is None else self._folder / f"after {after}"
        if not place.exists():
            if after is None:
                make_world(place)
            else:
                self.after(after)
        return place

    def after(self, name: str) -> Path:
        """A folder in which a stage has ended well; not to be written to."""
        place = self._folder / f"after {name}"
        if not place.exists():
            shutil.rmtree(fresh := place.with_name("making"), ignore_errors=True)  # of one that failed
            shutil.copytree(self.before(name), fresh, symlinks=True)
            ended = command(STAGES[name].words, fresh)
            assert ended.code == 0, ended
            self.steps[name] = ended.steps
            fresh.rename(place)
        return place

    def copy_before(self, name: str, place: Path) -> Path:
        """A copy of what a stage starts from, to be spoilt."""
        shutil.copytree(self.before(name), place, symlinks=True)
        return place

    def whole(self, name: str) -> dict[str, bytes]:
        """What a stage leaves, file by file."""
        if name not in self._wholes:
            self._wholes[name] = content(self.after(name))
        return self._wholes[name]


def make_world(place: Path) -> None:
    """The small problem."""
    (place / "dumped").mkdir(parents=True)
    (place / "lake").mkdir()
    with duckdb.connect(place / "shop.duckdb") as connection:
        connection.execute(TABLES)
        for table in ("shop", "item"):
            connection.table(table).to_parquet(str(place / "lake" / f"{table}.parquet"))
    texts = {"shop.ttl": ONTOLOGY, "facts.csv": FACTS, "answers.txt": ANSWERS, "shapes.rules": SHAPES,
             "dumped/dump.sql": DUMP, "dumped/ontology.ttl": ONTOLOGY, "dumped/facts.csv": FACTS}  # fmt: skip
    for name, text in texts.items():
        (place / name).write_text(text, "utf-8")


def content(folder: Path, *parts: str) -> dict[str, bytes]:
    """All files of a folder, or of parts of it, that must be the same each time."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink()]
    named = {str(path.relative_to(folder)): path for path in files if path.name not in _OF_THE_MOMENT}
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if not name.endswith((".duckdb", "decisions.csv")) and (not parts or name.startswith(parts))
    }


def finished(name: str, place: Path) -> Ended:
    """Run a stage as a user would who was interrupted: again, and with --resume where it says so."""
    ended = command((*STAGES[name].words, *(("--replace",) if name == "load" else ())), place)
    if ended.code == 2 and "--resume" in ended.err:
        words = tuple(word for word in STAGES[name].words if word != "--force")
        ended = command((*words, "--resume"), place)
    return ended
