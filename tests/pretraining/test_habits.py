"""What people do in schemas: keys of what a row belongs to, codes with a table of meanings, keys that are values."""

from __future__ import annotations

from pathlib import Path
from random import Random

import duckdb
import pytest

from ruleminer.pretraining.habits import fill_lookups, with_lookups, with_records, with_texts
from ruleminer.pretraining.weak_keys import with_weak_keys
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.hypotheses import World
from ruleminer.proposals.rule_names import Group
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.scenarios.distortions import distorted_layout
from ruleminer.scenarios.names import named
from ruleminer.scenarios.population import populated
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.rows import connect, fill_tables
from ruleminer.scenarios.truth import true_rules
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure

SEED = 5001


def test_true_rules_are_offered_for_tables_whose_keys_are_what_they_belong_to(tmp_path: Path) -> None:
    generator = Random(3)
    domain = with_records(random_domain(SEED), generator)
    population = populated(domain, 300, SEED)
    layout = with_texts(distorted_layout(population, "plain"), generator)
    naming = named(layout, "plain", "same", SEED)
    before = [(rule.predicate, naming.rule(rule)) for rule in true_rules(domain, layout)]
    path = tmp_path / "weak.duckdb"
    connection = connect(path, tmp_path / "spill", population)
    fill_tables(connection, layout, naming, True, lambda table: None)
    after = with_weak_keys(connection, domain, layout, naming, before, generator)
    connection.close()
    changed = [new for (_, old), (_, new) in zip(before, after, strict=True) if old != new]
    assert changed
    with open_database(f"duckdb:///{path}") as database:
        derivations = Derivations(database, learn_structure(database))
        shapes = World(derivations, None).shapes
        offered = {*shapes.classes, *shapes.objects, *shapes.values}
        for rule in changed:
            assert derivations.derived(rule), rule
        classes = [rule for rule in changed if len(rule.arguments) == 1]
        assert classes
        texts = {rule_text(body.of(rule.predicate)) for body in offered for rule in classes}
        assert [rule for rule in classes if rule_text(rule).replace("k1", "a2").replace("k0", "a1") not in texts] == []


def test_a_code_goes_by_what_a_small_table_calls_it(tmp_path: Path) -> None:
    path = tmp_path / "votes.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(
            """
            CREATE TABLE vote_types (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE votes (id INTEGER PRIMARY KEY, vote_type_id INTEGER REFERENCES vote_types (id));
            INSERT INTO vote_types VALUES (1, 'Accepted'), (2, 'UpMod'), (3, 'DownMod');
            INSERT INTO votes SELECT i, 1 + i % 3 FROM range(60) r(i);
            """
        )
    with open_database(f"duckdb:///{path}") as database:
        world = World(Derivations(database, learn_structure(database)), None)
        up = parse_rule("UpVote(x) <- votes(id: x, vote_type_id: 2)")
        assert Body(up) in world.shapes.classes
        assert "UpMod" in world.names_of(up)[Group.CODE_VALUE]
        assert Body(parse_rule("number(x, x) <- votes(id: x)")) in world.shapes.values


@pytest.mark.parametrize("seed", range(40, 46))
def test_codes_with_meanings_are_numbers_that_lead_to_a_table(seed: int) -> None:
    domain = random_domain(seed)
    population = populated(domain, 200, seed)
    plain = distorted_layout(population, "restructuring")
    layout, lookups = with_lookups(plain, Random(1))
    naming = named(layout, "plain", "same", seed)
    with duckdb.connect() as connection:
        fill_lookups(connection, lookups, naming, Random(1))
        tables = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
    assert tables is not None
    assert tables[0] == len(lookups)
    told = {(one.table, one.column): {number for number, _ in one.meanings} for one in lookups}
    for homes in layout.classes.values():
        for home in homes:
            for column, constant in home.when:
                if (home.table, column) in told:
                    assert constant.value in told[home.table, column]
