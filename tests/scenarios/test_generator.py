"""Generated scenarios: the same for the same seed, distorted as asked, whole or not there at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import InputError
from ruleminer.problem.ontology import PropertyKind, read_ontology
from ruleminer.problem.pair_facts import facts_from_pairs
from ruleminer.problem.scenario import open_scenario
from ruleminer.scenarios import KINDS, NAMES, generate_scenario, rows, write
from ruleminer.sources.database import open_database
from ruleminer.sources.schema import Schema
from tests.scenarios.generated import derived_facts, true_facts


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a scenario; of the database what the tables hold."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.suffix not in (".duckdb", "")}
    with duckdb.connect(str(folder / "database.duckdb"), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
            found[table] = repr(connection.execute(f'SELECT * FROM "{table}" ORDER BY ALL').fetchall()).encode()
    return found


def schema_of(folder: Path) -> Schema:
    with open_database(f"duckdb:///{folder}/database.duckdb") as database:
        return database.schema


@pytest.mark.parametrize(("domain", "kind"), [("university", "denormalising"), ("random", "restructuring")])
def test_the_same_options_give_the_same_scenario(domain: str, kind: str, tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        generate_scenario(tmp_path / name, domain=domain, kind=kind, size=500, seed=seed)
    first, again, other = (contents(tmp_path / name) for name in "abc")
    assert first == again
    assert first["facts.csv"] != other["facts.csv"]
    assert first["mapping.rules"] != other["mapping.rules"] or domain != "random"


def test_every_kind_and_naming_tells_the_same_facts(tmp_path: Path) -> None:
    told = set()
    for place, kind in enumerate(KINDS):
        folder = tmp_path / kind
        generate_scenario(folder, domain="shop", kind=kind, names=NAMES[place % len(NAMES)], size=500, seed=2)
        told.add((folder / "facts.csv").read_bytes())
    assert len(told) == 1


@pytest.mark.parametrize("kind", ["plain", "denormalising"])
def test_a_large_scenario_differs_only_in_how_it_is_stored(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    generate_scenario(small, domain="hospital", kind=kind, size=2_000, seed=3)
    monkeypatch.setattr(rows, "SMALL_UP_TO", 0)
    monkeypatch.setattr(write, "CSV_UP_TO", 0)
    generate_scenario(large, domain="hospital", kind=kind, size=2_000, seed=3)
    assert true_facts(small) == true_facts(large)
    assert schema_of(small) == schema_of(large)
    with open_database(f"duckdb:///{large}/database.duckdb") as database:
        assert derived_facts(large, database) == true_facts(large)
        for table in database.schema.tables:  # keys that nobody enforced
            key = ", ".join(f'"{column}"' for column in table.primary_key)
            if key:
                ((distinct,),) = database.rows(f'SELECT count(*) FROM (SELECT DISTINCT {key} FROM "{table.name}")')
                assert distinct == table.rows


@pytest.mark.parametrize("kind", KINDS)
def test_every_foreign_key_holds(kind: str, tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="hospital", kind=kind, size=1_000, seed=4)
    with open_database(f"duckdb:///{tmp_path}/s/database.duckdb") as database:
        for table in database.schema.tables:
            for key in table.foreign_keys:
                ends = [(f'child."{a}"', f'parent."{b}"') for a, b in zip(key.columns, key.referenced, strict=True)]
                given = " AND ".join(f"{own} IS NOT NULL" for own, _ in ends)
                same = " AND ".join(f"{own} = {other}" for own, other in ends)
                lost = (
                    f'SELECT count(*) FROM "{table.name}" AS child WHERE {given} '
                    f'AND NOT EXISTS (SELECT 1 FROM "{key.table}" AS parent WHERE {same})'
                )
                assert next(database.rows(lost)) == (0,)
        declared = any(table.foreign_keys for table in database.schema.tables)
        assert declared == (kind != "cleaning") or kind == "mixed"  # in which any part may be missing


def test_a_member_of_a_subclass_is_one_of_its_superclasses(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="hospital", size=1_000, seed=4)
    ontology = read_ontology(tmp_path / "s" / "ontology.ttl")
    facts = true_facts(tmp_path / "s")
    names = {cls.iri: cls.name for cls in ontology.classes}
    below = [(cls.name, names[parent]) for cls in ontology.classes for parent in cls.parents]
    assert len(below) >= 12
    for name, parent in below:
        assert facts[name] < facts[parent]


@pytest.mark.parametrize("size", [500, 5_000, 50_000])
def test_the_size_is_about_the_number_of_rows(size: int, tmp_path: Path) -> None:
    summary = generate_scenario(tmp_path / "s", domain="shop", size=size)
    assert summary.rows == pytest.approx(size, rel=0.1)
    assert sum(table.rows or 0 for table in schema_of(tmp_path / "s").tables) == summary.rows
    assert summary.facts == sum(map(len, true_facts(tmp_path / "s").values()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_query_pairs_give_the_facts(kind: str, tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="university", kind=kind, size=600, seed=1)
    scenario = open_scenario(tmp_path / "s")
    with open_database(f"duckdb:///{scenario.database_path}") as database:
        table, report = facts_from_pairs(database, scenario.pairs, read_ontology(scenario.ontology_path))
    given: dict[str, set[tuple[str, ...]]] = {}
    for row in table.to_pylist():
        arguments = tuple(row[name] for name in ("arg1", "arg2") if row[name] is not None)
        given.setdefault(row["predicate"], set()).add(arguments)
    assert given == true_facts(tmp_path / "s")
    assert all(line.facts or line.reason == "its SQL returns no rows" for line in report)


def test_the_ontology_and_the_manifest_tell_what_is_there(tmp_path: Path) -> None:
    summary = generate_scenario(tmp_path / "s", domain="university", size=600, seed=1)
    ontology = read_ontology(tmp_path / "s" / "ontology.ttl")
    assert (len(ontology.classes), len(ontology.properties)) == (summary.classes, summary.properties)
    assert all(term.labels for term in (*ontology.classes, *ontology.properties))
    assert all(prop.domains and prop.ranges for prop in ontology.properties)
    assert any(prop.inverses for prop in ontology.properties)
    assert {prop.kind for prop in ontology.properties} == {PropertyKind.OBJECT, PropertyKind.DATATYPE}
    manifest = json.loads((tmp_path / "s" / "scenario.json").read_text())
    assert (manifest["domain"], manifest["kind"], manifest["seed"]) == ("university", "plain", 1)
    assert manifest["facts_by_predicate"] == {
        name: len(facts) for name, facts in true_facts(tmp_path / "s").items()
    } | {name: 0 for name, count in manifest["facts_by_predicate"].items() if not count}


def test_a_hierarchy_becomes_one_table_with_flags_and_codes(tmp_path: Path) -> None:
    plain = generate_scenario(tmp_path / "plain", domain="university", size=500, seed=1)
    other = generate_scenario(tmp_path / "other", domain="university", kind="restructuring", size=500, seed=1)
    tables = {table.name: {c.name for c in table.columns} for table in schema_of(tmp_path / "other").tables}
    assert other.tables < plain.tables
    assert "Student" not in tables
    assert {"is_Student", "is_Employee"} <= tables["Person"]
    mapping = (tmp_path / "other" / "mapping.rules").read_text()
    assert re.search(r'^Student\(x\) <- Person\(ID: x, is_Student: (true|1|"Y"|"yes")\)$', mapping, re.MULTILINE)
    assert "TYPE: " in mapping
    assert "ROLE: " in mapping


def test_denormalised_tables_say_the_same_more_than_once(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="university", kind="denormalising", size=2_000, seed=1)
    schema = schema_of(tmp_path / "s")
    plain = {cls.name for cls in read_ontology(tmp_path / "s" / "ontology.ttl").classes}
    assert plain - {table.name for table in schema.tables}, "no table was absorbed"
    copies = [c.name for table in schema.tables for c in table.columns if c.name.split("_")[0] in plain]
    assert copies, "no attribute is repeated"
    assert any(len(table.primary_key) > 1 and table.name in plain - {"Room"} for table in schema.tables)


def test_cleaned_keys_have_no_telling_names(tmp_path: Path) -> None:
    generate_scenario(tmp_path / "s", domain="shop", kind="cleaning", size=500)
    columns = {column.name for table in schema_of(tmp_path / "s").tables for column in table.columns}
    assert "ID" not in columns
    assert not columns & {"Product", "Party", "Warehouse"}


def test_progress_goes_from_table_to_table_up_to_the_whole(tmp_path: Path) -> None:
    told: list[tuple[str, str, int, int]] = []
    generate_scenario(tmp_path / "s", size=300, progress=lambda *progress: told.append(progress))
    assert told[-1] == ("generate", "facts", len(told), len(told))
    assert [done for _, _, done, _ in told] == list(range(1, len(told) + 1))


def test_a_scenario_of_ours_is_replaced_only_by_force(tmp_path: Path) -> None:
    out = tmp_path / "s"
    out.mkdir()
    generate_scenario(out, size=300)
    with pytest.raises(InputError, match="force=True replaces it"):
        generate_scenario(out, size=300, seed=1)
    generate_scenario(out, size=300, seed=1, force=True)
    assert json.loads((out / "scenario.json").read_text())["seed"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_nothing_of_anybody_else_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("ten years of work")
    for force in (False, True):
        with pytest.raises(InputError, match="not empty and no generated scenario"):
            generate_scenario(tmp_path / "own", size=300, force=force)
        with pytest.raises(InputError, match="is a file"):
            generate_scenario(tmp_path / "own" / "thesis.txt", size=300, force=force)
    assert (tmp_path / "own" / "thesis.txt").read_text() == "ten years of work"


def test_an_interrupted_scenario_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupt(stage: str, what: str, done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_scenario(tmp_path / "s", size=300, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kind": "muddled"}, "there is no kind 'muddled': use plain, renaming"),
        ({"names": "cryptic"}, "there is no names 'cryptic': use same, synonym"),
        ({"domain": "conference"}, "there is no domain 'conference': use hospital, shop, university, random"),
        ({"domain": "nowhere.toml"}, "nowhere.toml: cannot be read"),
        ({"size": 0}, "size 0 is out of range"),
        ({"size": 10**10}, "size 10000000000 is out of range"),
        ({"seed": -1}, "seed -1 is out of range"),
    ],
)
def test_a_bad_option_is_told_in_one_line(options: dict[str, object], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        generate_scenario(tmp_path / "s", **options)  # type: ignore[arg-type]
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
