"""The engine gives exactly the candidates of the brute-force oracle, fact by fact and template by template."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from ruleminer.dataset import read_dataset
from ruleminer.extraction.candidates import find_candidates
from ruleminer.extraction.catalog import Catalog, catalog_of
from ruleminer.extraction.cells import create_tables, fetch_cells
from ruleminer.extraction.fact_relations import load_facts
from ruleminer.extraction.oracle import candidates, habits_of, load_rows
from ruleminer.extraction.pipeline import ExtractOptions, extract
from ruleminer.extraction.sampling import Negatives
from ruleminer.problem.facts import Fact, fact_table, facts_of
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.parser import parse_templates
from ruleminer.rules.templates import Template
from ruleminer.rules.values import Kind
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.link_file import LinkWishes
from ruleminer.structure.structure import learn_structure
from tests.mariadb import copied_to_mariadb

from .small_worlds import CONSTANTS, LINKS, in_duckdb, in_postgres, world

OWN_TEMPLATES = """
named-table:     ?H(x) <- Person(id: x, ?D: ?k)
named-flag:      ?H(x) <- ?T(?C: x, is_author: true)
fixed-predicate: P(x, y) <- ?T(?C: x, ?D: y)
same-table:      ?H(x, y) <- ?T(?C: x, ?D: z), ?T(?E: z, ?F: y)
same-constant:   ?H(x, y) <- ?T(?C: x, ?D: ?k), ?U(?E: y, ?F: ?k)
same-column:     ?H(x) <- ?T(?C: x), ?U(?C: x)
loose-join:      ?H(x, y) <- ?T(?C: x, ?D: z), ?U(?E: z, ?F: y)
any-join:        ?H(x, y) <- ?T(?C: x, ?D: z), ?U(?E@any: z, ?F: y)
any-chain:       ?H(x, y) <- ?T(?C: x, ?D@any: z), ?U(?E: z, ?F@any: w), ?V(?G: w, ?I: y)
own-iri:         ?H(x) <- ?T(?C: a), x = "http://h/p/" ++ a
two-part-iri:    ?H(x) <- ?T(?C: a, ?D: b), x = "http://h/p/" ++ a ++ "/k/" ++ b
iri-over-join:   ?H(x, y) <- ?T(?*: a..., ?D: z), ?U(?E@any: z, ?F: y), x = concat(a...)
dangling-filter: ?H(x) <- ?T(?C: x, ?D: a), ?U(?E: a, ?F: ?k)
named-join:      ?H(x, y) <- ?T(?C: x, ?D: z), Person(boss: z, ?F: y)
two-link-tables: ?H(x, y) <- ?T(?C: x, ?D@key: a), ?L(?E: a, ?F@key: b), ?M(?G@key: b, ?I: c), ?U(?J@key: c, ?K: y)
iri-over-tables: ?H(x) <- ?T(?C: a, ?D: z), ?U(?E@key: z, ?F: b), x = "http://h/p/" ++ a ++ "/k/" ++ b
coded-class:     ?H(x) <- ?T(?C: x, ?D@code: ?k)
joined-by-code:  ?H(x, y) <- ?T(?C: x, ?D@any: z), ?L(?E: z, ?F@any: w), ?U(?G: w, ?I: y), ?V(?J@code: y)
number-constant: ?H(x) <- ?T(?C: x, price: 2.5)
mirror:          ?H(x, x) <- ?T(?C: x)
"""

GIVEN = ExtractOptions(positives=None, negatives=Negatives.NONE)


def engine_candidates(
    database: Database, facts: list[Fact], templates: list[Template]
) -> dict[tuple[Fact, str], set[str]]:
    catalog = catalog_of(learn_structure(database, LINKS))
    found: dict[tuple[Fact, str], set[str]] = {}
    for template in templates:
        with duckdb.connect() as work:
            create_tables(work, catalog)
            load_facts(work, fact_table(facts))
            fetch_cells(work, database, catalog, [template])
            find_candidates(work, catalog, [template])
            for predicate, arg1, arg2, kind1, kind2, text in work.execute(
                "SELECT predicate, arg1, arg2, kind1, kind2, text FROM candidate "
                "JOIN fact USING (fact) JOIN rule USING (rule)"
            ).fetchall():
                places = 1 if arg2 is None else 2
                kinds = tuple(Kind(kind) if kind else None for kind in (kind1, kind2)[:places])
                fact = Fact(predicate, (arg1, arg2)[:places], kinds)
                found.setdefault((fact, template.name), set()).add(text)
    return found


def some_facts(seed: int) -> list[Fact]:
    """Facts about what stands in one row, in different rows, or nowhere; with and without kinds."""
    dice = random.Random(seed)
    rows = [[value for value in row if value is not None] for table in world(seed).values() for row in table]
    rows = [row for row in rows if len(row) > 1]
    kinds = [None, None, None, *Kind]

    def text() -> str:
        return lexical_form(dice.choice(dice.choice(rows))) if dice.random() < 0.7 else dice.choice(CONSTANTS)

    arguments: list[tuple[str, ...]] = [(text(),) for _ in range(12)] + [(text(), text()) for _ in range(12)]
    for _ in range(12):
        first, second = (lexical_form(value) for value in dice.sample(dice.choice(rows), 2))
        arguments += [(first, second), (f"http://h/p/{first}/k/{second}",), (f"http://h/p/{first}", second)]
        arguments += [(second, f"http://h/p/{first}"), (f"http://h/p/{first}", f"http://h/q/{second}#{first}")]
    arguments += [(constant,) for constant in CONSTANTS] + [("3", "3"), ("7", "7")]
    facts = {Fact(dice.choice("PQ"), a, tuple(dice.choice(kinds) for _ in a)) for a in arguments}
    facts |= {Fact("P", (f"http://h/p/{dice.randrange(8)}",), (None,)) for _ in range(3)}
    facts |= {Fact("P", (f"http://h/p/{a}/k/{a}",), (None,)) for a in range(6)}
    facts |= {Fact("P", (str(dice.randrange(6)), str(dice.randrange(6))), (None, None)) for _ in range(20)}
    facts |= {Fact("P", (f"http://h/p/{dice.randrange(6)}", text()), (None, None)) for _ in range(12)}
    facts |= {Fact("P", (f"http://h/p/{a}", f"http://h/q/{a + 1}"), (None, None)) for a in range(5)}
    return sorted(facts, key=repr)


def with_obvious_codes(database: Database) -> Catalog:
    """The catalogue, with the columns that `docs/rules.md` calls codes and filled ones, by looking at every value."""
    return with_codes(database, LINKS)


def with_codes(database: Database, links: LinkWishes) -> Catalog:
    """The same for a database with these links."""
    catalog = catalog_of(learn_structure(database, links))
    rows = load_rows(database, catalog)
    codes, sparse = set(), set()
    for column in catalog.columns:
        filled = [column in row.texts for row in rows if column in catalog.by_table[row.table]]
        sparse |= {column.id} if any(filled) and not all(filled) else set()
        values = {row.texts[column] for row in rows if column in row.texts}
        few = 2 <= len(values) <= 32 and len(values) < sum(column in row.texts for row in rows)
        if few and column.type.kind in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN):
            codes |= set() if column.is_key or column.is_link else {column.id}
    return Catalog([replace(c, is_code=c.id in codes, is_sparse=c.id in sparse) for c in catalog.columns])


def assert_equal_to_oracle(database: Database, seed: int) -> None:
    shipped = [*read_templates(), *_renamed(read_templates(files=["paper/classes", "paper/properties"]))]
    shipped = [replace(template, refines=False) for template in shipped]  # without waiting for negatives
    templates = [*shipped, *parse_templates(OWN_TEMPLATES)]
    facts = some_facts(seed)
    habits = habits_of(facts)
    found = engine_candidates(database, facts, templates)
    rows = load_rows(database, with_obvious_codes(database))
    silent = []
    for template in templates:
        count = 0
        for fact in facts:
            expected = candidates(fact, template, rows, habits)
            assert found.get((fact, template.name), set()) == expected, (template.name, fact)
            count += len(expected)
        if not count:
            silent.append(template.name)
    assert len(silent) <= 6, f"the test says nothing about {silent}: no fact has a candidate of them"


def _renamed(templates: Iterable[Template]) -> list[Template]:
    return [replace(template, name=f"paper-{template.name}") for template in templates]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_refined_is_what_every_rule_of_a_positive_contradicts(seed: int, tmp_path: Path) -> None:
    """Half of the facts are said not to hold; which predicates are then too wide, by the oracle's sets."""
    plain, refining = parse_templates("plain: ?H(x) <- ?T(?C: x)\nrefine coded: ?H(x) <- ?T(?C: x, ?D@code: ?k)")
    dice = random.Random(seed)
    known = [str(number) for number in range(8)] + ["a", "b", "OIL"]
    facts = [
        Fact(f"P{predicate}", (text,), (None,), dice.random() < predicate / 8)
        for predicate in range(9)
        for text in known
    ]
    with open_database(in_duckdb(tmp_path / "world.duckdb", seed)) as database:
        rows = load_rows(database, with_obvious_codes(database))
        structure = learn_structure(database, LINKS)
        extract(database, fact_table(facts), [plain, refining], tmp_path / "run", GIVEN, structure=structure)
    sets = {fact: candidates(fact, plain, rows) for fact in facts}
    wide = set[str]().union(*(rules for fact, rules in sets.items() if not fact.positive))
    refined = {fact.predicate for fact, rules in sets.items() if fact.positive and rules and rules <= wide}
    assert 0 < len(refined) < 9, "some are too wide and some are not"
    dataset = read_dataset(tmp_path / "run")
    narrower = {f.predicate for f in facts if f.predicate in refined and candidates(f, refining, rows)}
    assert dataset.manifest["refined"] == sorted(narrower)
    assert dataset.manifest["too_wide"] == sorted(refined - narrower)
    texts = dataset.rules["text"].to_pylist()
    found: dict[Fact, set[str]] = {fact: set() for fact in facts}
    written = list(facts_of(dataset.facts))
    for fact, rule in zip(*(dataset.candidates[name].to_pylist() for name in ("fact", "rule")), strict=True):
        found[written[fact]].add(texts[rule])
    for fact in facts:
        assert found[fact] == sets[fact] | (candidates(fact, refining, rows) if fact.predicate in refined else set())


@pytest.mark.parametrize("seed", range(3))
def test_candidates_from_duckdb_equal_the_oracle(seed: int, tmp_path: Path) -> None:
    with open_database(in_duckdb(tmp_path / "world.duckdb", seed)) as database:
        assert_equal_to_oracle(database, seed)


def test_candidates_from_sqlite_equal_the_oracle_on_duckdb(tmp_path: Path) -> None:
    """SQLite's rows come as Python's ints and strings, so the oracle reads the same world from DuckDB."""
    duck = in_duckdb(tmp_path / "world.duckdb", seed=1)
    copy_database(tmp_path / "world.duckdb", f"sqlite:///{tmp_path / 'world.sqlite'}")
    coded = [template for template in parse_templates(OWN_TEMPLATES) if template.name == "coded-class"]
    templates = [*read_templates(files=["classes", "properties", "joins"]), *coded]
    facts = some_facts(1)
    with open_database(duck) as database:
        expected = engine_candidates(database, facts, templates)
    with open_database(f"sqlite:///{tmp_path / 'world.sqlite'}") as database:
        assert engine_candidates(database, facts, templates) == expected


@pytest.mark.parametrize("seed", [4])
def test_candidates_from_mariadb_equal_the_oracle(seed: int, tmp_path: Path, empty_mariadb: str) -> None:
    in_duckdb(tmp_path / "world.duckdb", seed)
    with open_database(copied_to_mariadb(tmp_path / "world.duckdb", empty_mariadb)) as database:
        assert_equal_to_oracle(database, seed)


@pytest.mark.parametrize("seed", [3])
def test_candidates_from_postgres_equal_the_oracle(seed: int, postgres_url: str) -> None:
    with open_database(in_postgres(postgres_url, "small_world", seed), schema="small_world") as database:
        assert_equal_to_oracle(database, seed)
