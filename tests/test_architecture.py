"""The documentation speaks of modules and names that exist, and a fact goes the way that it draws."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import FrameType

import pytest

from tests.command_line import Run
from tests.test_cli import facts, ontology, shop

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "ruleminer"
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("*.md"))]
FOLDERS = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
MODULES = "|".join(sorted(path.stem for path in PACKAGE.glob("*.py")))
FILES = {path.name for folder in (PACKAGE, PROJECT / "tests", PROJECT / "benchmarks") for path in folder.rglob("*.py")}


def mentioned(pattern: str) -> list[tuple[str, str]]:
    return [(page.name, name) for page in PAGES for name in sorted(set(re.findall(pattern, page.read_text("utf-8"))))]


def resolved(name: str) -> object:
    """The module, class, function or attribute of a dotted name in ruleminer."""
    parts = name.removeprefix("ruleminer.").split(".")
    thing: object = importlib.import_module("ruleminer")
    for number, part in enumerate(parts, start=1):
        if not hasattr(thing, part):
            importlib.import_module(".".join(["ruleminer", *parts[:number]]))
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize(
    ("page", "name"), mentioned(rf"`((?:ruleminer\.)?(?:{FOLDERS}|{MODULES})(?:\.(?!py`|json`)\w+)+)`")
)
def test_every_name_in_the_docs_exists(page: str, name: str) -> None:
    assert resolved(name) is not None


@pytest.mark.parametrize(("page", "name"), mentioned(r"`([\w./-]+(?:\.py|/))`"))
def test_every_module_and_folder_in_the_docs_exists(page: str, name: str) -> None:
    if "/" not in name.rstrip("/") and name.endswith(".py"):
        assert name in FILES or name == "utils.py"
    elif re.match(rf"(ruleminer/|extract/|propose/|({FOLDERS})/)", name):
        assert (PROJECT / name).exists() or (PACKAGE / name).exists()


def the_way() -> list[str]:
    text = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
    listed = text.split("<!-- the way of one fact -->")[1].split("<!-- end -->")[0]
    return re.findall(r"^\d+\. `([\w.]+)`", listed, re.MULTILINE)


def test_a_fact_goes_the_way_of_the_list(run: Run, tmp_path: Path) -> None:
    way = the_way()
    assert len(way) > 30
    assert len(set(way)) == len(way), "each once"
    codes = {resolved(name).__code__: name for name in way}  # type: ignore[attr-defined]
    calls: list[str] = []

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls.append(codes[frame.f_code])

    given = "--db", shop(tmp_path), "--ontology", ontology(tmp_path), "--examples", facts(tmp_path)
    sys.setprofile(watch)
    try:
        extracted = run("extract", *given, "--out", "run", "--quiet")
        proposed = run("propose-mappings", "run", "--quiet")
    finally:
        sys.setprofile(None)
    assert (extracted.code, proposed.code) == (0, 0), extracted.err + proposed.err
    assert (tmp_path / "run" / "proposals" / "mapping.ttl").is_file()
    rest = iter(calls)
    for name in way:
        assert name in rest, f"{name} is not called after what stands before it in the list"
