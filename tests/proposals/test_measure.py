"""From a pool to a measured pool: what the database, the prior and the model say of each rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ruleminer.dataset import read_dataset
from ruleminer.learn.scoring import Fact
from ruleminer.problem.ontology import Property, PropertyKind
from ruleminer.proposals.candidate_sets import CandidateSet, candidate_sets
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.measure import Measure
from ruleminer.proposals.pool import (
    EXTRACTED,
    GUESS,
    MODEL,
    REFINED,
    Pool,
    dataset_pools,
    pool_of,
    rule_pool,
    with_rules,
)
from ruleminer.proposals.ranking import Ranker, rank
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Place
from ruleminer.sources.database import open_database
from ruleminer.structure.structure import learn_structure
from tests.learn.conftest import write_run
from tests.proposals.worlds import ontology_of_classes

ONTOLOGY = ontology_of_classes({"Author": None, "Person": None})
ALL, FLAG = "Author(x) <- person(id: x)", "Author(x) <- person(id: x, author: true)"
CODE, NOBODY = 'Author(x) <- person(id: x, code: "c1")', 'Author(x) <- person(id: x, code: "none")'


@pytest.fixture(scope="module")
def derivations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Derivations]:
    path = tmp_path_factory.mktemp("measure") / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, author BOOLEAN, code VARCHAR)")
        connection.execute("INSERT INTO person SELECT i, i % 2 = 0, 'c' || (i % 5) FROM range(40) r(i)")
    with open_database(f"duckdb:///{path}") as database:
        yield Derivations(database)


def pool(positives: Sequence[int], texts: Sequence[str], negatives: Sequence[int] = ()) -> Pool:
    def derives(text: str, fact: int) -> bool:
        if "author: true" in text:
            return fact % 2 == 0
        return fact % 5 == 1 if "c1" in text else True

    def candidates(fact: int) -> CandidateSet:
        rules = [parse_rule(text) for text in texts if derives(text, fact)]
        return CandidateSet((str(fact),), tuple(map(Body, rules)))

    return pool_of("Author", [candidates(f) for f in positives], [candidates(f) for f in negatives])


def test_a_pool_knows_which_rule_derives_which_example() -> None:
    made = pool([0, 2, 11], [ALL, FLAG, CODE], [3, 4])
    texts = [rule_text(rule) for rule in made.rules]
    assert texts == [ALL, FLAG, CODE]
    assert made.covers.tolist() == [[True, True, True], [True, True, False], [False, False, True]]
    assert made.hits.tolist() == [[True, True], [False, True], [False, False]]
    assert made.origin == (EXTRACTED,) * 3
    smaller = made.only([2, 0])
    assert [rule_text(rule) for rule in smaller.rules] == [CODE, ALL]
    assert smaller.covers.tolist() == [[False, False, True], [True, True, True]]


def test_rules_of_other_heads_are_pooled_under_the_predicate() -> None:
    rule = parse_rule("Person(x) <- person(id: x)")
    made = pool_of("Author", [CandidateSet(("1",), (Body(rule),))])
    assert [rule_text(rule) for rule in made.rules] == [ALL]


def test_rules_the_model_writes_are_asked_of_the_database(derivations: Derivations) -> None:
    made = pool([0, 2], [ALL], [3])
    written = [FLAG, ALL, "Author(x) <- gone(id: x)", 'Person(x) <- person(id: x, code: "c2")', FLAG]
    (more,) = with_rules([made], [map(parse_rule, written)], MODEL, derivations)
    assert [rule_text(rule) for rule in more.rules] == [ALL, FLAG]
    assert more.origin == (EXTRACTED, MODEL)
    assert more.covers.tolist() == [[True, True], [True, True]]
    assert more.hits.tolist() == [[True], [False]]
    assert with_rules([made], [[parse_rule(ALL)]], MODEL, derivations)[0] is made


def test_sizes_come_from_the_database_and_rules_that_derive_nothing_leave(derivations: Derivations) -> None:
    found = Measure(ONTOLOGY, derivations).measured(
        pool([0, 2], [ALL, FLAG]), [parse_rule(text) for text in (NOBODY, CODE, "Author(x) <- gone(id: x)")]
    )
    assert found is not None
    assert {rule_text(r): s for r, s in zip(found.pool.rules, found.sizes, strict=True)} == {ALL: 40.0, FLAG: 20.0}
    assert found.rows == 40
    assert found.model is None


def test_what_cannot_be_run_at_all_is_not_judged(derivations: Derivations) -> None:
    rule = parse_rule("Author(x) <- gone(id: x)")
    lost = pool_of("Author", [CandidateSet(("1",), (Body(rule),))])
    assert Measure(ONTOLOGY, derivations).measured(lost) is None
    assert "gone" in str(derivations.refusal(rule))
    nothing = pool_of("Author", [CandidateSet(("77",), ())])
    assert Measure(ONTOLOGY, derivations).measured(nothing) is None
    assert Measure(ONTOLOGY, derivations).measured(nothing, [parse_rule(FLAG)]) is None  # which does not derive 77


def test_of_too_many_rules_the_most_promising_are_asked(derivations: Derivations) -> None:
    keys = [f"Author(x) <- person(id: x, author: true), person(id: {i})" for i in range(50)]
    found = Measure(ONTOLOGY, derivations, most_rules=5).measured(pool([0, 2], [*keys, FLAG]))
    assert found is not None
    assert len(found.pool.rules) == 5
    assert FLAG in [rule_text(rule) for rule in found.pool.rules]


def test_a_filter_is_as_long_as_its_column_has_values(derivations: Derivations) -> None:
    found = Measure(ONTOLOGY, derivations).measured(pool([1, 6, 0], [FLAG, CODE]))
    assert found is not None
    flag, code = (
        found.priors[i].length
        for i in (
            [rule_text(r) for r in found.pool.rules].index(FLAG),
            [rule_text(r) for r in found.pool.rules].index(CODE),
        )
    )
    assert code - flag == pytest.approx(math.log(5 / 2))


class Oracle:
    """A model that likes one body for Author, and finds bodies equally probable for any other class."""

    def __init__(self, favourite: str) -> None:
        self.favourite = favourite
        self.facts: list[Fact] = []

    def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
        self.facts += facts
        assert all(text.startswith(f"{name}(") for (name, _), own in zip(facts, rules, strict=True) for text in own)
        return [
            [-0.1 if text == self.favourite else -9.0 if name == "Author" else -7.0 for text in texts]
            for (name, _), texts in zip(facts, rules, strict=True)
        ]


def test_the_model_is_asked_about_a_few_examples_and_about_other_predicates(derivations: Derivations) -> None:
    scorer = Oracle(FLAG)
    measure = Measure(ONTOLOGY, derivations, scorer)
    found = measure.measured(pool(list(range(0, 40, 2)), [ALL, FLAG]))
    assert found is not None
    assert found.model is not None
    assert found.lift is not None
    assert found.model.tolist() == pytest.approx([-9.0, -0.1])
    assert found.lift.tolist() == pytest.approx([-2.0, 6.9])
    assert {name for name, _ in scorer.facts} == {"Author", "Person"}
    assert 2 <= len(scorer.facts) <= 5
    assert np.isfinite(rank(found, Ranker.NEURAL).posterior).all()


def test_the_others_are_predicates_of_as_many_arguments_and_always_the_same(derivations: Derivations) -> None:
    classes = ontology_of_classes({f"C{i}": None for i in range(30)})
    properties = tuple(Property(f"http://x/p{i}", f"p{i}", PropertyKind.DATATYPE) for i in range(4))
    ontology = replace(classes, properties=properties)
    one, other = (Measure(ontology, derivations).others("C7") for _ in range(2))
    assert one == other
    assert len({*one} - {"C7"}) == 6
    assert all(name.startswith("C") for name in one)
    assert sorted(Measure(ontology, derivations).others("p2")) == ["p0", "p1", "p3"]


def test_a_model_that_learnt_from_the_examples_is_shown_and_not_heard(derivations: Derivations) -> None:
    measure = Measure(ONTOLOGY, derivations, Oracle(FLAG), own_model=True)
    found = measure.measured(pool([0, 1], [ALL, FLAG]))
    assert found is not None
    assert found.model is not None
    assert found.lift is None
    without = measure.measured(rule_pool("Author", [parse_rule(ALL), parse_rule(FLAG)], GUESS))
    assert without is not None
    assert without.lift is not None  # of a predicate without examples it may know something


def test_of_a_rule_that_is_too_long_the_model_says_neither_good_nor_bad(derivations: Derivations) -> None:
    class Short(Oracle):
        def log_probabilities(self, facts: Sequence[Fact], rules: Sequence[Sequence[str]]) -> list[list[float]]:
            logs = super().log_probabilities(facts, rules)
            return [
                [-math.inf if "code" in text else log for text, log in zip(texts, own, strict=True)]
                for texts, own in zip(rules, logs, strict=True)
            ]

    found = Measure(ONTOLOGY, derivations, Short(FLAG)).measured(pool([0, 1], [ALL, FLAG, CODE]))
    assert found is not None
    assert found.lift is not None
    lifts = dict(zip(map(rule_text, found.pool.rules), found.lift.tolist(), strict=True))
    assert lifts[ALL] < lifts[CODE] < lifts[FLAG]


def test_a_dataset_becomes_a_pool_for_each_predicate(tmp_path: Path) -> None:
    facts = [
        ("Author", ("1",), True, [ALL, FLAG]),
        ("Author", ("2",), True, [ALL]),
        ("Author", ("3",), False, [ALL]),
        ("knows", ("1", "2"), True, ["knows(x, y) <- k(a: x, b: y)"]),
        ("Ghost", ("9",), True, []),
        ("OnlyNegative", ("9",), False, ["OnlyNegative(x) <- person(id: x)"]),
    ]
    dataset = read_dataset(write_run(tmp_path / "run", facts))
    pools = dataset_pools(dataset)
    assert list(pools) == ["Author", "Ghost", "knows"]
    assert pools["Author"].positives == (("1",), ("2",))
    assert pools["Author"].negatives == (("3",),)
    assert pools["Author"].drawn.all()  # nobody is known to have given it
    assert pools["knows"].positives == (("1", "2"),)
    assert pools["Ghost"].rules == ()
    assert len(candidate_sets(dataset)["OnlyNegative"].negatives) == 1


def test_a_finer_rule_derives_only_things_of_its_own_kind(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "kinds.duckdb") as connection:
        for table in ("actor", "customer"):
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, active BOOLEAN)")
            connection.execute(f"INSERT INTO {table} SELECT i, i % 7 < 6 FROM range(100) r(i)")
    rule = parse_rule("Author(x) <- customer(id: x)")
    customers = [CandidateSet((str(n),), (Body(rule),), (Place("customer", "id"), None)) for n in (1, 2, 3, 4, 5)]
    actor = CandidateSet(("8",), (), (Place("actor", "id"), None))
    with open_database(f"duckdb:///{tmp_path / 'kinds.duckdb'}") as database:
        derivations = Derivations(database, learn_structure(database))
        found = Measure(ONTOLOGY, derivations).measured(pool_of("Author", [*customers, actor]))
    assert found is not None
    assert REFINED in found.pool.origin
    assert not found.pool.covers[:, -1].any()
