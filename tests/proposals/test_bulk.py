"""What is asked of the database for many rules at once is what each of them would be told alone, on every engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import duckdb
import pytest

from ruleminer.dataset import read_dataset
from ruleminer.extraction.request import ExtractRequest, extract_datasets
from ruleminer.proposals import bulk_facts
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.guesses import guesses
from ruleminer.proposals.pool import dataset_pools
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule
from ruleminer.scenarios.generate import generate_scenario
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure
from tests.mariadb import copied_to_mariadb
from tests.proposals.conftest import Extracted

SCENARIOS = [("university", "restructuring"), ("hospital", "denormalising"), ("shop", "plain")]


@pytest.fixture(scope="module", params=SCENARIOS, ids=lambda one: "-".join(one))
def extracted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    domain, kind = request.param
    folder = tmp_path_factory.mktemp(domain)
    made = Extracted(folder / "scenario", folder / "run")
    generate_scenario(made.scenario, domain=domain, kind=kind, size=120, seed=1)
    extract_datasets(ExtractRequest(out=made.run, scenario=made.scenario, positives=4, seed=0))
    return made


@pytest.fixture(params=["duckdb", "duckdb by parts", "sqlite", "postgres", "mysql"])
def live(request: pytest.FixtureRequest, extracted: Extracted, tmp_path: Path) -> Iterator[Database]:
    """Each engine; and DuckDB asked as Spark is, to which parts of a statement are dear."""
    url = f"duckdb:///{extracted.database}"
    if request.param == "mysql":
        url = copied_to_mariadb(extracted.database, request.getfixturevalue("empty_mariadb"))
    elif request.param in ("sqlite", "postgres"):
        sqlite = f"sqlite:///{tmp_path / 'copy.sqlite'}"
        url = sqlite if request.param == "sqlite" else request.getfixturevalue("empty_postgres")
        copy_database(extracted.database, url)
    with open_database(url) as database:
        if request.param == "duckdb by parts":
            database.dialect = replace(database.dialect, parts_are_dear=True)
        yield database


def pooled_rules(extracted: Extracted, derivations: Derivations) -> list[Rule]:
    """Every rule of every pool, and the guesses for every term."""
    dataset = read_dataset(extracted.run)
    assert dataset.ontology is not None
    rules = [rule for pool in dataset_pools(dataset).values() for rule in pool.rules]
    rules += [rule for term in dataset.ontology.terms for rule in guesses(term, derivations)]
    return list({Body(rule): rule for rule in rules}.values())


def sizes_alone(database: Database, rules: Sequence[Rule]) -> list[int]:
    """The slow and obvious way."""
    derivations = Derivations(database)
    found = []
    for rule in rules:
        query = derivations.query(rule)
        ((size,),) = database.rows(f"SELECT count(*) FROM ({query.sql}) AS e", query.parameters)
        found.append(int(size))
    return found


def test_sizes_in_bulk_are_those_of_each_rule_alone(extracted: Extracted, live: Database) -> None:
    derivations = Derivations(live, learn_structure(live))
    rules = pooled_rules(extracted, derivations)
    expected = sizes_alone(live, rules)
    assert derivations.sizes(rules) == expected
    asked = derivations.statements
    assert asked["sizes rule by rule"] == 0
    assert asked["sizes of many rules"] < len(rules) / 4
    # And with nothing known beforehand.
    assert Derivations(live).sizes(rules) == expected


def test_statements_do_not_grow_with_constants(extracted: Extracted, live: Database) -> None:
    structure = learn_structure(live)
    common = {
        place: one.common for place in structure.codes if (one := structure.profile.column(*place)) and one.common
    }
    table, column = max(common, key=lambda place: structure.profile.tables[place.table].rows)
    key = structure.schema.table(table).columns[0].name
    derivations = Derivations(live, structure)
    values = [value for value, _ in common[table, column][:12]]
    kind = structure.schema.type_of(table, column).kind
    shown = [f'"{value}"' if kind == "text" else value for value in values]
    rules = [parse_rule(f'C(x) <- "{table}"("{key}": x, "{column}": {value})') for value in shown]
    assert len(rules) > 1
    assert derivations.sizes(rules) == sizes_alone(live, rules)
    assert derivations.statements["sizes of many rules"] == 1


def test_unions_and_coverage_in_bulk_are_those_of_sets(extracted: Extracted, live: Database) -> None:
    dataset = read_dataset(extracted.run)
    derivations = Derivations(live, learn_structure(live))
    for pool in list(dataset_pools(dataset).values())[::4]:
        rules = pool.rules[:12]
        derivations.sizes(rules)
        facts = [derivations.derived(rule) for rule in rules]
        things = [{(derivations.kind_of(rule), fact) for fact in some} for rule, some in zip(rules, facts, strict=True)]
        pairs = list(combinations(range(len(rules)), 2))
        found = derivations.union_sizes([[rules[i], rules[j]] for i, j in pairs])
        assert found == [len(things[i] | things[j]) for i, j in pairs]
        examples = [*pool.positives, *pool.negatives, ("nobody",) * len(rules[0].arguments)]
        covered = derivations.coverage([(rule, examples) for rule in rules])
        assert covered == [[fact in derived for fact in examples] for derived in facts]
    assert derivations.statements["facts rule by rule"] == 0


def test_two_who_ask_the_same_rule_for_other_facts_are_told_of_their_own(extracted: Extracted, live: Database) -> None:
    derivations = Derivations(live, learn_structure(live))
    pools = dataset_pools(read_dataset(extracted.run)).values()
    pair = next(rule for pool in pools for rule in pool.rules if len(rule.arguments) == 2 and not rule.definitions)
    facts = sorted(derivations.derived(pair))[:6]
    assert derivations.coverage([(pair, facts[:2]), (pair, facts[2:])]) == [[True] * 2, [True] * (len(facts) - 2)]
    subjects = [fact[:1] for fact in facts]
    found = derivations.companions([(pair, [one]) for one in subjects])
    assert [{fact for fact, _ in one or ()} for one in found] == [{one} for one in subjects]


def test_a_few_facts_are_looked_for_only_where_columns_hold_them(
    extracted: Extracted, live: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_facts, "_MANY_RULES", 1)
    derivations = Derivations(live, learn_structure(live))
    pools = [pool for pool in dataset_pools(read_dataset(extracted.run)).values() if pool.rules and pool.positives]
    for arity in (1, 2):
        some = [pool for pool in pools if len(pool.positives[0]) == arity][:4]
        rules, facts = [pool.rules[0] for pool in some], [pool.positives[0] for pool in some]
        covered = derivations.coverage([(rule, facts) for rule in rules])
        derived = [derivations.derived(rule) for rule in rules]
        assert covered == [[fact in own for fact in facts] for own in derived]
    assert derivations.statements["columns that hold facts"] > 0


def test_a_table_called_like_a_list_of_ours_is_the_users(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "l.duckdb") as connection:
        connection.execute("CREATE TABLE l0 (v VARCHAR PRIMARY KEY); INSERT INTO l0 VALUES ('a')")
        connection.execute("CREATE TABLE l1 (v VARCHAR, w INTEGER); INSERT INTO l1 VALUES ('a', 1)")
    with open_database(f"duckdb:///{tmp_path / 'l.duckdb'}") as database:
        derivations = Derivations(database)
        for text in (
            "C(x) <- l0(v: x)",
            "C(x) <- l1(v: x)",
            "C(x) <- l0(v: a), x = upper(a)",
            'C(x) <- l0(v: x), x <> "b"',
        ):
            known = "A" if "upper" in text else "a"
            assert derivations.coverage([(parse_rule(text), [(known,), ("zzz",)])]) == [[True, False]]
