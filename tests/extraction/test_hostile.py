"""A search that no ordinary database can blow up: bounded memory and time, the same result each time, told when cut."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import duckdb
import pytest

from ruleminer.dataset import Dataset, read_dataset
from ruleminer.extraction import candidates
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.problem.examples import read_examples
from ruleminer.problem.ontology import read_ontology
from ruleminer.problem.template_files import read_templates
from ruleminer.sources.database import open_database
from tests.measured import Measured, measured, start

from .hostile_worlds import HostileWorld, hostile_world

pytestmark = pytest.mark.live

MEMORY_MB, ROOM_MB = 300, 1024


def words(world: HostileWorld, out: Path, *more: object) -> list[object]:
    asked = ["extract", "--db", world.database, "--ontology", world.ontology, "--examples", world.facts]
    return [*asked, "--out", out, "-q", "--memory", f"{MEMORY_MB}MB", *more]


def extracted(world: HostileWorld, out: Path) -> Measured:
    done = measured(world.database.parent, *words(world, out))
    assert done.code == 0, done.err
    assert done.peak_mb < MEMORY_MB + ROOM_MB
    return done


def in_this_process(world: HostileWorld, out: Path, templates: tuple[str, ...]) -> Dataset:
    terms = read_ontology(world.ontology)
    with open_database(f"duckdb:///{world.database}") as database:
        facts = read_examples([world.facts], terms, database).facts
        chosen = [one for one in read_templates() if one.name in templates]
        extract(database, facts, chosen, out, ExtractOptions(), ontology=terms)
    return read_dataset(out)


def content(dataset: Dataset) -> tuple[list[object], ...]:
    return tuple(table.to_pylist() for table in (dataset.facts, dataset.rules, dataset.candidates))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> HostileWorld:
    return hostile_world(tmp_path_factory.mktemp("small"), 1, 10_000, 6, declared=False, told=4)


@pytest.fixture(scope="module")
def unbroken(small: HostileWorld) -> tuple[Path, Measured]:
    out = small.database.parent / "unbroken"
    return out, extracted(small, out)


def test_the_same_facts_give_the_same_dataset_twice(small: HostileWorld, unbroken: tuple[Path, Measured]) -> None:
    out, _ = unbroken
    again = small.database.parent / "again"
    extracted(small, again)
    assert content(read_dataset(out)) == content(read_dataset(again))
    found = set(read_dataset(out).rules["text"].to_pylist())
    assert set(small.true_rules.values()) <= found


def test_forty_tables_with_declared_links_keep_the_memory(tmp_path: Path) -> None:
    world = hostile_world(tmp_path, 2, 10_000, 40, declared=True, told=3)
    extracted(world, tmp_path / "run")
    found = set(read_dataset(tmp_path / "run").rules["text"].to_pylist())
    assert set(world.true_rules.values()) <= found


@pytest.mark.slow
def test_forty_columns_of_small_numbers_keep_the_memory_and_hide_no_rule(tmp_path: Path) -> None:
    world = hostile_world(tmp_path, 1, 20_000, declared=False, wide=40, told=4)
    extracted(world, tmp_path / "run")
    dataset = read_dataset(tmp_path / "run")
    assert any(one["template"] == "property-in-table" for one in dataset.manifest["cut_searches"])
    assert set(world.true_rules.values()) <= set(dataset.rules["text"].to_pylist())


def test_time_grows_no_faster_than_rows(unbroken: tuple[Path, Measured], tmp_path: Path) -> None:
    larger = hostile_world(tmp_path, 1, 100_000, 6, declared=False, told=4)
    assert extracted(larger, tmp_path / "run").processor_seconds < 15 * unbroken[1].processor_seconds


def test_a_template_with_too_many_instances_is_cut_the_same_way_and_told(
    small: HostileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MOST_INSTANCES", 40)
    first, second = (in_this_process(small, tmp_path / name, ("property-by-flag",)) for name in "ab")
    (told,) = first.manifest["cut_searches"]
    assert told["template"] == "property-by-flag"
    assert told["why"] == candidates.TOO_MANY_INSTANCES
    assert told["facts"] > 0
    assert "(" in told["example"]
    assert content(first) == content(second)
    assert max(first.candidates["fact"].value_counts().field("counts").to_pylist()) <= 40


def test_facts_that_must_be_searched_a_few_at_a_time_have_the_same_candidates(
    small: HostileWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("class-by-column", "property-in-table", "property-by-join")
    whole = in_this_process(small, tmp_path / "whole", names)
    search, sizes = candidates._search, list[int]()

    def short_of_memory(shared: candidates._Search, *rest: object) -> dict[str, int]:
        sizes.append(candidates._one(shared.work, f"SELECT count(*) FROM {candidates.FACTS}"))
        if sizes[-1] > 5:
            raise duckdb.OutOfMemoryException("no room")
        return search(shared, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(candidates, "_search", short_of_memory)
    parts = in_this_process(small, tmp_path / "parts", names)
    assert min(sizes) <= 5 < max(sizes)
    assert content(parts) == content(whole)


def test_a_search_out_of_time_says_so_and_goes_on_with_more(
    small: HostileWorld, unbroken: tuple[Path, Measured]
) -> None:
    out = small.database.parent / "short"
    stopped = measured(small.database.parent, *words(small, out, "--timeout", 0.3))
    assert stopped.code == 2, stopped.err
    assert "did not end within 0.3 s" in stopped.err.splitlines()[-1]
    assert "Traceback" not in stopped.err
    kept = (out / ".extract" / "plan").read_text()
    extracted(small, out)
    assert read_dataset(out).manifest["plan"] == kept
    assert content(read_dataset(out)) == content(read_dataset(unbroken[0]))


def test_an_interrupt_during_the_search_ends_it_at_once(small: HostileWorld) -> None:
    folder = small.database.parent
    out = folder / "interrupted"
    process = start(folder / "peak", *words(small, out))
    try:
        until = time.monotonic() + 60
        while not (out / ".extract" / "work.duckdb").exists() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.1)
        assert process.poll() is None, "it ended before it could be interrupted"
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert time.monotonic() - asked < 3  # a second, and some for a busy machine
        assert "interrupted" in err
    finally:
        process.kill()
