"""A frequent value that no example has is excluded from what a rule publishes."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ruleminer import api
from ruleminer.errors import SyntaxProblem
from ruleminer.proposals.containment import is_contained
from ruleminer.proposals.derivations import Derivations
from ruleminer.proposals.placeholders import suspects
from ruleminer.review.words import rule_words
from ruleminer.rules.parser import parse_rule, parse_rules, parse_templates
from ruleminer.rules.printer import rule_text
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.profile import ColumnProfile
from tests.validation.engines import filled_database

from .exported import our_triples

NS = "http://e.org/"
ONTOLOGY = (
    f"@prefix : <{NS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . :Licence a owl:Class . "
    ":expires a owl:DatatypeProperty ; rdfs:domain :Licence ; rdfs:range xsd:date ."
)


def day(number: int) -> str:
    return f"20{number % 50 + 10}-01-{number % 28 + 1:02}" if number % 3 else "9999-12-31"


SQL = "CREATE TABLE licence (id INTEGER PRIMARY KEY, title VARCHAR(20), valid_to DATE);" + "".join(
    f"INSERT INTO licence VALUES ({n}, 'licence {n}', '{day(n)}');" for n in range(1, 200)
)
RULE = "expires(x, y) <- licence(id: x, valid_to: y), y <> 9999-12-31"


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_a_value_may_be_excluded(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else ""
    rule = parse_rule(RULE)
    assert rule_text(rule) == RULE
    with filled_database(engine, SQL, tmp_path, url) as database:
        derivations = Derivations(database)
        derived = derivations.derived(rule)
        assert {int(key) for key, _ in derived} == {n for n in range(1, 200) if n % 3}
        assert derivations.size(rule) == len(derived) == 133
        assert derivations.union_size([rule, parse_rule(RULE.partition(", y <>")[0])]) == 199
        assert derivations.covered(rule, [("1", "2011-01-02"), ("3", "9999-12-31")]) == [True, False]


def test_a_rule_that_excludes_is_contained_in_one_that_does_not() -> None:
    narrow, wide = parse_rule(RULE), parse_rule(RULE.partition(", y <>")[0])
    assert is_contained(narrow, wide, lambda one, other: True)
    assert not is_contained(wide, narrow, lambda one, other: True)
    assert is_contained(narrow, narrow, lambda one, other: True)


def test_it_is_told_rule_words() -> None:
    assert rule_words(parse_rule(RULE)).endswith("where valid_to is not 9999-12-31.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("C(x) <- t(a: x), z <> 1", "stands in no atom"),
        ("C(x) <- t(a: x), x <> y", "expected a constant behind"),
        ('C(x) <- t(a: x), "x" <> 1', "only a variable"),
    ],
)
def test_what_cannot_be_excluded_is_refused(text: str, told: str) -> None:
    with pytest.raises(SyntaxProblem, match=told):
        parse_rule(text)


def test_a_template_excludes_nothing() -> None:
    with pytest.raises(SyntaxProblem, match="cannot exclude"):
        list(parse_templates("c: ?H(x) <- ?T(?C: x), x <> 1"))


def test_what_stands_for_no_value_is_not_published(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute(SQL)
        rows = connection.execute("SELECT id, valid_to FROM licence WHERE id % 3 > 0 ORDER BY id").fetchall()
    (tmp_path / "o.ttl").write_text(ONTOLOGY, "utf-8")
    examples = [("expires", f"http://h/licence/{key}", str(day)) for key, day in rows[::5]]
    api.extract(f"duckdb:///{tmp_path / 'w.duckdb'}", tmp_path / "o.ttl", examples, tmp_path / "run")
    api.propose(tmp_path / "run")
    rules = list(parse_rules((tmp_path / "run" / "proposals" / "mapping.rules").read_text("utf-8")))
    assert [bool(one.exclusions) for one in rules if one.predicate == "expires"] == [True], list(map(rule_text, rules))
    with open_database(f"duckdb:///{tmp_path / 'w.duckdb'}") as database:
        made = our_triples(tmp_path / "run" / "proposals" / "mapping.ttl", database)
    assert len([one for one in made if one[1] == f"<{NS}expires>"]) == len(rows)
    assert not [one for one in made if "9999" in str(one[2])]


def test_the_least_and_the_greatest_of_a_link_are_things_if_the_key_holds_them() -> None:
    def column(low: int, high: int, filled: int = 9_000, distinct: int = 3_000) -> ColumnProfile:
        return ColumnProfile(filled, distinct, str(low), str(high))

    key = column(1, 5_000, 5_000, 5_000)
    assert list(suspects(column(2, 4_990), 20, None)) == ["2", "4990"]
    assert list(suspects(column(2, 4_990), 20, key)) == []
    assert list(suspects(column(-1, 4_990), 20, key)) == ["-1"]
    assert list(suspects(column(2, 99_999), 20, key)) == ["99999"]
    assert list(suspects(column(2, 4_990, 5_000, 4_900), 20, None)) == [], "none of them can be frequent"


def test_what_leads_to_nothing_is_left_out_from_the_first_example_on(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "forum.duckdb") as made:
        made.execute("CREATE TABLE category AS SELECT i::INTEGER AS id, 'c' || i AS name FROM range(1, 15) r(i)")
        made.execute(
            "CREATE TABLE forum AS SELECT i::INTEGER AS id, "
            "(CASE WHEN i % 5 = 0 THEN 0 ELSE 1 + i % 14 END)::INTEGER AS category FROM range(1, 201) r(i)"
        )
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        ":inCategory a owl:ObjectProperty .",
        "utf-8",
    )
    facts = {"predicate": ["inCategory"] * 2, "arg1": ["forum:1", "forum:2"], "arg2": ["category:2", "category:3"]}
    api.extract(f"duckdb:///{tmp_path / 'forum.duckdb'}", tmp_path / "o.ttl", facts, tmp_path / "run")
    [proposal] = [one for one in api.propose(tmp_path / "run").proposals.proposals if one.positives]
    assert [rule_text(rule) for rule in proposal.proposed_rules] == [
        "inCategory(x, y) <- forum(id: x, category: y), y <> 0"
    ]
    assert proposal.derives == 160


def animals(folder: Path, engine: str, request: pytest.FixtureRequest) -> Database:
    """Animals of which some have no e-mail, no weight and no end, and votes of which some are against."""
    zone = "" if engine == "sqlite" else "+00"
    rows = ", ".join(
        f"({n}, '{'' if n % 4 == 0 else f'a{n}@x.org'}', {'-1' if n % 6 == 0 else n / 8}, "
        f"'{'9999-12-31' if n % 5 == 0 else f'2020-01-{n % 28 + 1:02}'}', {'-1' if n % 3 == 0 else '1'}, "
        f"'{'9999-12-31 00:00:00' if n % 5 == 0 else f'2020-01-{n % 28 + 1:02} 10:00:00'}{zone}')"
        for n in range(1, 201)
    )
    url = request.getfixturevalue("empty_postgres") if engine == "postgres" else ""
    sql = (
        "CREATE TABLE animal (id INTEGER PRIMARY KEY, mail VARCHAR(20), weight DECIMAL(8,3), gone DATE, vote INTEGER,"
        f" until {'TIMESTAMP WITH TIME ZONE' if zone else 'TIMESTAMP'});"
        f"INSERT INTO animal VALUES {rows};"
    )
    return filled_database(engine, sql, folder, url)


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "sqlite"])
def test_what_stands_for_nothing_by_habit_is_left_out_from_two_examples_on(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        + " ".join(f":{name} a owl:DatatypeProperty ." for name in ("mail", "weight", "gone", "vote", "until")),
        "utf-8",
    )
    examples = [("mail", "1", "a1@x.org"), ("mail", "2", "a2@x.org"), ("weight", "1", "0.125"), ("weight", "2", "0.25")]
    examples += [("gone", "1", "2020-01-02"), ("gone", "2", "2020-01-03"), ("vote", "1", "1"), ("vote", "2", "1")]
    examples += [("until", str(n), f"2020-01-0{n + 1} 10:00:00") for n in (1, 2)]
    with animals(tmp_path, engine, request) as database:
        api.extract(database, tmp_path / "o.ttl", examples, tmp_path / "run")
        made = {one.predicate: one for one in api.propose(tmp_path / "run", database=database).proposals.proposals}
    assert {name: rule_text(made[name].proposed_rules[0]).partition(", y ")[2] for name in made} == {
        "mail": '<> ""',
        "weight": "<> -1.0",
        "gone": "<> 9999-12-31",
        "vote": "",
        "until": "<> 9999-12-31T00:00:00",
    }
    assert made["vote"].derives == 200, "votes may be against"


def test_a_frequent_value_is_left_out_beside_what_stands_for_nothing_by_habit(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as made:
        made.execute(
            "CREATE TABLE animal AS SELECT i::INTEGER AS id, CASE WHEN i % 10 = 0 THEN '' WHEN i % 2 = 1 THEN 'n/a' "
            "ELSE 'a' || i % 60 || '@x.org' END AS mail FROM range(1, 201) r(i)"
        )
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :mail a owl:DatatypeProperty .",
        "utf-8",
    )
    examples = [("mail", str(n), f"a{n % 60}@x.org") for n in range(2, 38, 2) if n % 10]
    api.extract(f"duckdb:///{tmp_path / 'w.duckdb'}", tmp_path / "o.ttl", examples, tmp_path / "run")
    [proposal] = api.propose(tmp_path / "run").proposals.proposals
    assert [rule_text(rule) for rule in proposal.proposed_rules] == [
        'mail(x, y) <- animal(id: x, mail: y), y <> "", y <> "n/a"'
    ]
    assert proposal.derives == 80
