"""Generates a scenario: options checked, the folder made whole or not at all."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ruleminer.errors import InputError
from ruleminer.progress import Progress, silent
from ruleminer.scenarios.distortions import KINDS
from ruleminer.scenarios.domain_file import read_domain
from ruleminer.scenarios.names import NAMES
from ruleminer.scenarios.population import populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.write import MADE_BY, MANIFEST, write_scenario

DEFAULT_DOMAIN = "university"
DEFAULT_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class ScenarioSummary:
    """What has been generated, and how. `rows` is what the database has, `size` what was asked for."""

    folder: Path
    domain: str
    kind: str
    names: str
    size: int
    seed: int
    tables: int
    columns: int
    foreign_keys: int
    rows: int
    classes: int
    properties: int
    rules: int
    facts: int

    def __str__(self) -> str:
        return (
            f"{self.domain}, {self.kind}, names {self.names}, seed {self.seed}: {self.tables} tables, "
            f"{self.columns} columns, {self.foreign_keys} foreign keys, {self.rows:,} rows; {self.classes} classes, "
            f"{self.properties} properties; {self.rules} rules, {self.facts:,} facts"
        )


def generate_scenario(
    out: Path | str,
    *,
    domain: str = DEFAULT_DOMAIN,
    kind: str = "plain",
    names: str | None = None,
    size: int = DEFAULT_SIZE,
    seed: int = 0,
    force: bool = False,
    progress: Progress = silent,
) -> ScenarioSummary:
    """Generate a scenario into the folder `out`; with `force`, in the place of one generated before.

    `domain` is a written one, `random` (another for each seed) or a TOML file, `size` about the rows of the plain
    kind. The same options give the same scenario. Facts depend on domain, size and seed alone.
    """
    out = Path(out)
    names = names or ("synonym" if kind == "renaming" else "same")
    _check_choice("kind", kind, KINDS)
    _check_choice("names", names, NAMES)
    if seed < 0:
        raise InputError(f"seed {seed} is out of range: give a whole number from 0")
    world = random_domain(seed) if domain == "random" else read_domain(domain)
    population = populated(world, size, seed)
    _check_target(out, force)
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".generating-") as workplace:
            fresh = Path(workplace) / "scenario"
            fresh.mkdir()
            manifest = write_scenario(fresh, Path(workplace) / "spill", population, kind, names, size, progress)
            if out.exists():
                out.rename(Path(workplace) / "replaced")
            fresh.rename(out)
    except OSError as problem:
        raise InputError(f"{out}: cannot be written ({problem.strerror or problem})") from None
    except (duckdb.IOException, duckdb.OutOfMemoryException) as problem:
        raise InputError(f"{out}: its database cannot be written ({str(problem).splitlines()[0]})") from None
    fields = {name: manifest[name] for name in ScenarioSummary.__slots__ if name != "folder"}
    return ScenarioSummary(folder=out, **fields)


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"there is no {option} {value!r}: use {', '.join(choices)}")


def _check_target(out: Path, force: bool) -> None:
    """Nothing but an empty folder or, with force, a scenario of ours may be written over."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out} is a file; name a folder that does not exist yet")
    if not any(out.iterdir()):
        return
    if not _is_generated(out):
        raise InputError(f"{out} is not empty and no generated scenario; name a folder that does not exist yet")
    if not force:
        raise InputError(f"{out} holds a scenario already; ‹force=True› replaces it")


def _is_generated(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("made_by") == MADE_BY
