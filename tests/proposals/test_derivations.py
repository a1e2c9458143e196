"""Derivations in the live database are what plain loops over its rows give, on every engine."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import duckdb
import psycopg2
import pytest
from sqlalchemy.engine import make_url

from ruleminer.errors import ConnectionLostError, DatabaseError
from ruleminer.proposals.derivations import Derivations
from ruleminer.rules.body import Body
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Rule, Scalar, Variable
from ruleminer.sources.copy_database import copy_database
from ruleminer.sources.database import Database, open_database
from ruleminer.structure.structure import learn_structure

ODD = 'od"d ta%ble?'
ROWS: dict[str, list[dict[str, Scalar | None]]] = {
    ODD: [
        {"id": 1, "a b": "O'Brien", "flag": True, "day": date(2014, 5, 4), "select": Decimal("1.500"), "at": None},
        {"id": 2, "a b": "50%", "flag": False, "day": None, "select": Decimal("2"), "at": datetime(2014, 5, 4, 10)},
        {"id": 3, "a b": None, "flag": None, "day": date(1999, 12, 31), "select": Decimal("-0.025"), "at": None},
        {"id": 4, "a b": "what?", "flag": True, "day": date(2014, 5, 4), "select": None, "at": datetime(2020, 1, 1)},
        {"id": 5, "a b": "50%", "flag": True, "day": None, "select": Decimal("1.5"), "at": None},
        {"id": 10, "a b": "née; --", "flag": None, "day": None, "select": None, "at": None},
    ],
    "link": [
        {"from": 1, "to": 2},
        {"from": 1, "to": 3},
        {"from": 4, "to": 1},
        {"from": 5, "to": None},
        {"from": 99, "to": 5},
        {"from": 4, "to": 1},
    ],
    "nothing": [],
}
NAME = '"od\\"d ta%ble?"'
RULES = [
    f"C(x) <- {NAME}(id: x)",
    f"C(x) <- {NAME}(id: x, flag: true)",
    f"C(x) <- {NAME}(id: x, flag: false)",
    f'C(x) <- {NAME}(id: x, "a b": "50%")',
    f'C(x) <- {NAME}(id: x, "a b": "O\'Brien")',
    f"C(x) <- {NAME}(id: x, day: 2014-05-04)",
    f"C(x) <- {NAME}(id: x, select: 1.5)",
    f"C(x) <- {NAME}(select: x)",
    f"C(x) <- {NAME}(day: x)",
    f"C(x) <- {NAME}(at: x)",
    f"C(x) <- {NAME}(flag: x)",
    f'C(x) <- {NAME}("a b": x)',
    "C(x) <- link(from: x)",
    "C(x) <- link(to: x)",
    f"C(x) <- link(from: x, to: a), {NAME}(id: a, flag: true)",
    f"C(x) <- link(from: x), {NAME}(id: x)",
    "C(x) <- nothing(id: x)",
    f'C(x) <- {NAME}(id: a, "a b": b), x = "http://a%/" ++ a ++ "?" ++ b',
    'C(x) <- link(from: a), x = "http://b/" ++ a',
]
PAIRS = [
    f'p(x, y) <- {NAME}(id: x, "a b": y)',
    f"p(x, y) <- {NAME}(id: x, day: y)",
    "p(x, y) <- link(from: x, to: y)",
    f"p(x, y) <- link(from: x, to: a), {NAME}(id: a, select: y)",
    "p(x, y) <- link(from: y, to: x)",
]


def brute_force(rule: Rule) -> set[tuple[str, ...]]:
    """Every choice of rows, one for each atom."""
    found = set()
    for rows in product(*(ROWS[atom.table] for atom in rule.body)):
        bound: dict[Variable, Scalar] = {}
        fits = True
        for atom, row in zip(rule.body, rows, strict=True):
            for column, term in atom.columns:
                value = row[column]
                expected = bound.setdefault(term, value) if isinstance(term, Variable) and value is not None else None
                wanted = expected if isinstance(term, Variable) else term.value
                fits = fits and value is not None and value == wanted
        if fits:
            texts = {variable: lexical_form(value) for variable, value in bound.items()}
            for variable, concat in rule.definitions:
                texts[variable] = "".join(p if isinstance(p, str) else texts[p] for p in concat.parts)
            found.add(tuple(texts[argument] for argument in rule.arguments))
    return found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "world.duckdb"
    with duckdb.connect(str(path)) as connection:
        quoted = ODD.replace('"', '""')
        connection.execute(
            f'CREATE TABLE "{quoted}" (id INTEGER PRIMARY KEY, "a b" VARCHAR, flag BOOLEAN, day DATE, '
            '"select" DECIMAL(9,3), "at" TIMESTAMP)'
        )
        connection.execute('CREATE TABLE link ("from" INTEGER, "to" INTEGER)')
        connection.execute("CREATE TABLE nothing (id INTEGER PRIMARY KEY)")
        for table, rows in ROWS.items():
            name = table.replace('"', '""')
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', list(row.values()))
    return path


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres", "mysql"])
def database(request: pytest.FixtureRequest, file: Path) -> Iterator[Database]:
    url, schema = f"duckdb:///{file}", None
    if request.param == "sqlite":
        url = f"sqlite:///{file.with_suffix('.sqlite')}"
        copy_database(file, url)
    elif request.param == "mysql":
        url, schema = request.getfixturevalue("mariadb_url"), "sch`ema %"
        copy_database(file, url, schema=schema, replace=True)
    elif request.param == "postgres":
        server = make_url(request.getfixturevalue("postgres_url"))
        name, schema = f"test_{uuid.uuid4().hex}", 'sch"ema %'
        connection = psycopg2.connect(server.render_as_string(hide_password=False))
        connection.autocommit = True
        connection.cursor().execute(f"CREATE DATABASE {name}")
        url = server.set(database=name).render_as_string(hide_password=False)
        copy_database(file, url, schema=schema)
    with open_database(url, schema=schema) as database:
        yield database
    if request.param == "postgres":
        connection.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.close()


@pytest.mark.parametrize("texts", [RULES, PAIRS], ids=["classes", "properties"])
def test_sizes_and_facts_are_those_of_plain_loops(database: Database, texts: list[str]) -> None:
    rules = [parse_rule(text) for text in texts]
    expected = [brute_force(rule) for rule in rules]
    for derivations in (Derivations(database), Derivations(database, learn_structure(database))):
        assert [derivations.derived(rule) for rule in rules] == expected
        assert derivations.sizes(rules) == [len(facts) for facts in expected]
        assert [derivations.size(rule) for rule in rules] == [len(facts) for facts in expected]


@pytest.mark.parametrize("texts", [RULES, PAIRS], ids=["classes", "properties"])
def test_unions_are_those_of_plain_loops(database: Database, texts: list[str]) -> None:
    rules = [parse_rule(text) for text in texts]
    derivations = Derivations(database)
    for start in range(len(rules) - 2):
        some = rules[start : start + 3]
        facts = [brute_force(rule) for rule in some]
        kinds = zip(map(derivations.kind_of, some), facts, strict=True)
        assert derivations.union_size(some) == len({(kind, fact) for kind, derived in kinds for fact in derived})
        assert derivations.sample(some, 100) == sorted(set.union(*facts))
        assert derivations.sample(some, 2) == sorted(set.union(*facts))[:2]


@pytest.mark.parametrize("texts", [RULES, PAIRS], ids=["classes", "properties"])
def test_covered_facts_are_those_of_plain_loops(database: Database, texts: list[str]) -> None:
    rules = [parse_rule(text) for text in texts]
    derivations = Derivations(database)
    facts = sorted({fact for rule in rules for fact in brute_force(rule)} | {("nobody",) * len(rules[0].arguments)})
    for rule in rules:
        derived = brute_force(rule)
        assert derivations.covered(rule, facts) == [fact in derived for fact in facts]
        assert derivations.covered(rule, []) == []


def test_arguments_are_read_as_the_column_they_stand_in(database: Database) -> None:
    derivations = Derivations(database)
    price = parse_rule(f"C(x) <- {NAME}(select: x)")
    assert derivations.covered(price, [("1.500",), ("1.5",), ("+2.0",), ("2.1",), ("one",)]) == [True] * 3 + [False] * 2
    text = parse_rule(f'C(x) <- {NAME}("a b": x)')
    assert derivations.covered(text, [("50%",), ("50",)]) == [True, False]


def test_more_facts_than_one_statement_binds_are_asked_in_pieces(database: Database) -> None:
    facts = [(str(i), str(i + 1)) for i in range(450)]
    found = Derivations(database).covered(parse_rule("p(x, y) <- link(from: x, to: y)"), facts)
    assert found == [fact == ("1", "2") for fact in facts]


def test_distinct_values_are_counted(database: Database) -> None:
    derivations = Derivations(database)
    places = [(table, column) for table, rows in ROWS.items() for column in (rows[0] if rows else ["id"])]
    expected = {
        (table, column): len({row[column] for row in ROWS[table] if row[column] is not None})
        for table, column in places
    }
    assert derivations.distinct(places) == expected


def test_one_refused_rule_does_not_spoil_the_others(database: Database) -> None:
    good = [parse_rule(text) for text in RULES]
    bad = [
        parse_rule("C(x) <- gone(id: x)"),
        parse_rule("C(x) <- link(gone: x)"),
        parse_rule(f'C(x) <- {NAME}(id: x), "od\\"d"(id: x)'),
    ]
    derivations = Derivations(database)
    mixed = [bad[0], *good[:9], bad[1], *good[9:], bad[2]]
    sizes = dict(zip(map(Body, mixed), derivations.sizes(mixed), strict=True))
    assert [sizes[Body(rule)] for rule in good] == [len(brute_force(rule)) for rule in good]
    assert [sizes[Body(rule)] for rule in bad] == [None] * 3
    assert "gone" in str(derivations.refusal(bad[0]))
    assert "no column 'gone'" in str(derivations.refusal(bad[1]))
    assert all(derivations.refusal(rule) is None for rule in good)
    assert derivations.union_size([good[0], bad[0]]) is None
    assert derivations.covered(bad[0], [("1",)]) is None


def test_a_rule_that_only_the_server_refuses_is_told_apart(database: Database) -> None:
    mismatch = parse_rule('C(x) <- link(from: x, to: "no number")')
    good = parse_rule("C(x) <- link(from: x)")
    derivations = Derivations(database)
    sizes = derivations.sizes([good, mismatch])
    assert sizes[0] == 4
    if sizes[1] is None:
        assert derivations.refusal(mismatch)
    else:
        assert sizes[1] == 0  # SQLite compares anything with anything


def test_a_rule_is_asked_once_whatever_its_head(database: Database) -> None:
    counted = Counting(database)
    derivations = Derivations(counted)  # type: ignore[arg-type]
    rules = [parse_rule(text) for text in RULES]
    derivations.sizes(rules)
    asked = counted.statements
    derivations.sizes([parse_rule(text.replace("C(x)", "D(x)")) for text in reversed(RULES)])
    assert counted.statements == asked < len(rules)
    derivations.union_size(rules[1:3])
    derivations.union_size(rules[2:0:-1])
    assert counted.statements == asked + 1
    assert derivations.union_size(rules[:2]) == 6  # all that the second derives the first does, too
    assert counted.statements == asked + 1


class Counting:
    """A database that counts what it is asked, and can lose its connection."""

    def __init__(self, database: Database, loses: range = range(0)) -> None:
        self.database, self.loses, self.statements = database, loses, 0
        self.schema, self.dialect, self.quoted = database.schema, database.dialect, database.quoted

    def rows(self, sql: str, params: object = None) -> Iterator[tuple[object, ...]]:
        self.statements += 1
        if self.statements in self.loses:
            raise ConnectionLostError("the connection to x was lost; try again")
        return self.database.rows(sql, params)  # type: ignore[arg-type]


def test_a_connection_that_comes_back_is_not_noticed(database: Database) -> None:
    derivations = Derivations(Counting(database, range(2, 3)))  # type: ignore[arg-type]
    assert derivations.size(parse_rule(RULES[0])) == 6
    assert derivations.size(parse_rule(RULES[1])) == 3
    assert derivations.lost is None


def test_after_a_lost_connection_what_is_known_is_known(database: Database) -> None:
    derivations = Derivations(Counting(database, range(2, 10**6)))  # type: ignore[arg-type]
    first, second = parse_rule(RULES[0]), parse_rule(RULES[1])
    assert derivations.size(first) == 6
    assert derivations.size(second) is None
    assert derivations.refusal(second) == derivations.lost == "the connection to x was lost"
    assert derivations.size(first) == 6
    assert derivations.union_size([first]) == 6
    assert derivations.union_size([first, parse_rule(RULES[12])]) is None
    assert derivations.covered(second, [("1",)]) is None
    assert derivations.distinct([("link", "to")]) == {("link", "to"): 6}  # no more than there are rows
    with pytest.raises(DatabaseError, match="lost"):
        derivations.sample([first], 3)


def test_a_statement_that_breaks_every_connection_is_refused_alone(database: Database) -> None:
    counted = Counting(database)
    asked = counted.rows

    def rows(sql: str, params: object = None) -> Iterator[tuple[object, ...]]:
        if "nothing" in sql:
            raise ConnectionLostError("the connection to x was lost; try again")
        return asked(sql, params)

    counted.rows = rows  # type: ignore[method-assign]
    derivations = Derivations(counted)  # type: ignore[arg-type]
    rules = [parse_rule(text) for text in RULES]
    sizes = derivations.sizes(rules)
    assert [size is None for size in sizes] == ["nothing" in text for text in RULES]
    assert derivations.lost is None


def test_json_and_other_types_without_an_order_are_counted_too(empty_postgres: str) -> None:
    connection = psycopg2.connect(empty_postgres)
    connection.cursor().execute("CREATE TABLE t (id integer PRIMARY KEY, j json, u uuid, c char(4))")
    connection.cursor().execute("INSERT INTO t VALUES (1, '{}', gen_random_uuid(), 'a'), (2, '{}', NULL, 'b')")
    connection.commit()
    connection.close()
    with open_database(empty_postgres) as database:
        derivations = Derivations(database)
        assert derivations.distinct([("t", "j"), ("t", "u")]) == {("t", "j"): 1, ("t", "u"): 1}
        assert derivations.size(parse_rule('C(x) <- t(id: x, j: "{}")')) == 2
        assert derivations.size(parse_rule('C(x) <- t(id: x, c: "a")')) == 1


def test_a_slow_rule_runs_out_of_time_alone(tmp_path: Path) -> None:
    path = tmp_path / "slow.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (i integer, j integer)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, n) for n in range(1500)])
    connection.close()
    with open_database(f"sqlite:///{path}", timeout=1.0) as database:
        derivations = Derivations(database)
        slow = parse_rule("p(x, y) <- t(i: a, j: x), t(i: a, j: b), t(i: a, j: c), t(i: a, j: y)")
        quick = parse_rule("C(x) <- t(i: x)")
        assert derivations.sizes([quick, slow]) == [1, None]
        assert "1" in str(derivations.refusal(slow))
