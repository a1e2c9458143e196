"""One statement finds every candidate of a template: each rule that derives the fact when it is run, and no other.

`test_exact.py` holds all templates to the oracle; here candidates are held to what their rules derive, by the way
that proposals ask a database, which shares nothing with extraction.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from ruleminer.errors import InputError
from ruleminer.extraction import candidates
from ruleminer.extraction.candidates import find_candidates
from ruleminer.extraction.cells import create_tables, fetch_cells
from ruleminer.extraction.fact_relations import load_facts
from ruleminer.extraction.template_sql import compile_template
from ruleminer.problem.facts import Fact, fact_table
from ruleminer.problem.rule_facts import derived_facts
from ruleminer.rules.canonical import canonical
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.parser import parse_rule, parse_templates
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Atom, Kind, Rule, Variable
from ruleminer.sources.database import Database, open_database

from .small_worlds import TABLES, catalog_of_database, in_duckdb, world
from .test_exact import engine_candidates, some_facts

X, Y = Variable("x"), Variable("y")
SOUND = """
class:    ?H(x) <- ?T(?C: x)
flag:     ?H(x) <- ?T(?C: x, ?D: ?k)
property: ?H(x, y) <- ?T(?C: x, ?D: y)
join:     ?H(x, y) <- ?T(?C: x, ?D: z), ?U(?E@key: z, ?F: y)
named:    ?H(x, y) <- wrote(person: x, paper: z), paper(id: z, title: y)
mirror:   ?H(x, x) <- ?T(?C: x)
iri:      ?H(x, y) <- ?T(?C: a, ?D: y), x = "http://h/p/" ++ a
"""


@pytest.fixture(params=range(2))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with open_database(in_duckdb(tmp_path / "world.duckdb", request.param)) as database:
        yield database


def rules_for(database: Database, template: str, *arguments: str, kind: Kind | None = None) -> set[str]:
    fact = Fact("P", arguments, (kind,) * len(arguments))
    (parsed,) = parse_templates(f"t: {template}")
    return engine_candidates(database, [fact], [parsed]).get((fact, "t"), set())


def seed_of(request: pytest.FixtureRequest) -> int:
    return int(request.node.callspec.params["database"])


def test_every_candidate_derives_its_fact(database: Database, request: pytest.FixtureRequest) -> None:
    facts = [fact for fact in some_facts(seed_of(request)) if set(fact.kinds) == {None}]
    found = engine_candidates(database, facts, list(parse_templates(SOUND)))
    assert {template for _, template in found} >= {"class", "flag", "property", "mirror", "iri"}
    derived: dict[str, set[tuple[str, ...]]] = {}
    for (fact, _), rules in found.items():
        for text in rules:
            if text not in derived:
                derived[text] = derived_facts(parse_rule(text), database)
            meant = {fact.arguments, tuple(argument.rstrip("0").rstrip(".") for argument in fact.arguments)}
            assert derived[text] & meant, (fact, text)


def test_every_rule_of_the_shape_that_derives_the_fact_is_a_candidate(
    database: Database, request: pytest.FixtureRequest
) -> None:
    """All rules of two shapes there are, made by looking at the rows, and what they derive by loops over the rows."""
    derived: dict[Rule, set[tuple[str, ...]]] = {}
    for table, rows in world(seed_of(request)).items():
        name, columns = table.removesuffix("*"), list(TABLES[table])
        for row in rows:
            cells = [None if cell is None else lexical_form(cell) for cell in row]
            for i, first in enumerate(cells):
                for j, second in enumerate(cells):
                    if first is not None and second is not None:
                        places = ((columns[i], X),) if i == j else ((columns[i], X), (columns[j], Y))
                        rule = Rule("P", tuple(term for _, term in places), (Atom(name, places),))
                        derived.setdefault(rule, set()).add((first,) if i == j else (first, second))
    templates = list(parse_templates("one: ?H(x) <- ?T(?C: x)\ntwo: ?H(x, y) <- ?T(?C: x, ?D: y)"))
    arguments = sorted({facts for derivable in derived.values() for facts in derivable})
    facts = [Fact("P", texts, (None,) * len(texts)) for texts in arguments]
    found = engine_candidates(database, facts, templates)
    for fact in facts:
        ours = found.get((fact, "one"), set()) | found.get((fact, "two"), set())
        assert ours >= {rule_text(canonical(rule)) for rule, all_ in derived.items() if fact.arguments in all_}, fact


def test_each_candidate_is_found_once(database: Database) -> None:
    """Rows repeat; a fact has each rule once all the same."""
    templates = list(parse_templates("flag: ?H(x) <- ?T(?C: x, ?D: ?k)"))
    catalog = catalog_of_database(database)
    with duckdb.connect() as work:
        create_tables(work, catalog)
        load_facts(work, fact_table([Fact("P", (str(number),), (None,)) for number in range(9)]))
        fetch_cells(work, database, catalog, templates)
        find_candidates(work, catalog, templates)
        rows = work.execute("SELECT fact, text FROM candidate JOIN rule USING (rule)").fetchall()
        texts = work.execute("SELECT text FROM rule").fetchall()
    assert len(rows) == len(set(rows)) > 9
    assert len(texts) == len(set(texts))


def small(tmp_path: Path, *statements: str) -> str:
    with duckdb.connect(tmp_path / "small.duckdb") as connection:
        for statement in statements:
            connection.execute(statement)
    return str(tmp_path / "small.duckdb")


def test_a_slot_that_stands_twice_is_one_name_or_one_constant(tmp_path: Path) -> None:
    url = small(
        tmp_path,
        "CREATE TABLE a (id INTEGER, kind INTEGER, extra INTEGER)",
        "CREATE TABLE b (id INTEGER, kind INTEGER)",
        "INSERT INTO a VALUES (1, 7, 7)",
        "INSERT INTO b VALUES (1, 7), (2, 8)",
    )
    with open_database(url) as database:
        assert rules_for(database, "?H(x, y) <- a(id: x, ?C: ?k), b(id: y, ?D: ?k)", "1", "1") == {
            "P(x, y) <- a(id: x, kind: 7), b(id: y, kind: 7)",
            "P(x, y) <- a(id: x, extra: 7), b(id: y, kind: 7)",
        }
        assert rules_for(database, "?H(x, y) <- a(id: x, ?C: ?k), b(id: y, ?C: ?k)", "1", "1") == {
            "P(x, y) <- a(id: x, kind: 7), b(id: y, kind: 7)"
        }
        assert not rules_for(database, "?H(x, y) <- a(id: x, ?C: ?k), b(id: y, ?D: ?k)", "1", "2")


def test_an_atom_that_only_repeats_another_makes_no_rule(tmp_path: Path) -> None:
    url = small(tmp_path, "CREATE TABLE t (id INTEGER, boss INTEGER)", "INSERT INTO t VALUES (1, 1)")
    with open_database(url) as database:
        rules = rules_for(database, "?H(x) <- t(id: x), t(?D: x)", "1")
    assert rules == {"P(x) <- t(id: x), t(boss: x)"}


def test_two_places_of_an_atom_are_two_columns(tmp_path: Path) -> None:
    url = small(tmp_path, "CREATE TABLE t (id INTEGER, boss INTEGER)", "INSERT INTO t VALUES (1, 2), (3, 3)")
    with open_database(url) as database:
        assert not rules_for(database, "?H(x, y) <- ?T(?C: x, ?D: y)", "1", "1")
        assert rules_for(database, "?H(x, y) <- ?T(?C: x, ?D: y)", "3", "3") == {
            "P(x, y) <- t(id: x, boss: y)",
            "P(x, y) <- t(boss: x, id: y)",
        }


def test_places_of_an_atom_are_of_one_row(tmp_path: Path) -> None:
    url = small(tmp_path, "CREATE TABLE t (id INTEGER, name VARCHAR)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with open_database(url) as database:
        assert rules_for(database, "?H(x, y) <- ?T(?C: x, ?D: y)", "1", "a")
        assert not rules_for(database, "?H(x, y) <- ?T(?C: x, ?D: y)", "1", "b")


def test_a_place_for_keys_takes_no_other_column(tmp_path: Path) -> None:
    url = small(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY, age INTEGER)", "INSERT INTO t VALUES (1, 1)")
    with open_database(url) as database:
        assert rules_for(database, "?H(x) <- ?T(?C: x)", "1") == {"P(x) <- t(id: x)", "P(x) <- t(age: x)"}
        assert rules_for(database, "?H(x) <- ?T(?C@key: x)", "1") == {"P(x) <- t(id: x)"}


def test_a_constant_is_no_float(tmp_path: Path) -> None:
    """No engine promises that two floats are equal."""
    url = small(
        tmp_path,
        "CREATE TABLE t (id INTEGER, ratio DOUBLE, price DECIMAL(5,2))",
        "INSERT INTO t VALUES (1, 0.5, 0.5)",
    )
    with open_database(url) as database:
        rules = rules_for(database, "?H(x) <- ?T(id: x, ?D: ?k)", "1")
    assert rules == {"P(x) <- t(id: x, price: 0.5)"}


def test_a_fact_of_another_arity_kind_or_predicate_has_no_candidates(tmp_path: Path) -> None:
    url = small(tmp_path, "CREATE TABLE t (id INTEGER, name VARCHAR)", "INSERT INTO t VALUES (1, '1')")
    with open_database(url) as database:
        assert not rules_for(database, "?H(x) <- ?T(?C: x)", "1", "1")
        assert rules_for(database, "?H(x) <- ?T(?C: x)", "1", kind=Kind.TEXT) == {"P(x) <- t(name: x)"}
        assert rules_for(database, "?H(x) <- ?T(?C: x)", "1", kind=Kind.INTEGER) == {"P(x) <- t(id: x)"}
        assert not rules_for(database, "Q(x) <- ?T(?C: x)", "1")


FORWARD = "?H(x, y) <- ?T(?C: x, ?D@link: z), ?U(?E@key: z, ?F: y)"
BACK = "?H(x, y) <- ?T(?C: x, ?D@key: z), ?U(?E@link: z, ?F: y)"


@pytest.mark.parametrize(
    ("template", "arguments", "rules"),
    [
        (FORWARD, ("t7", "big"), {"P(x, y) <- t(name: x, u: a), u(id: a, size: y)"}),
        (FORWARD, ("nobody", "big"), set()),
        (BACK, ("big", "t7"), {"P(x, y) <- u(size: x, id: a), t(u: a, name: y)"}),
        (BACK, ("u1", "large"), {"P(x, y) <- u(name: x, id: a), t(u: a, size: y)"}),
    ],
)
def test_no_more_is_looked_at_than_the_rarer_end_leads_to(
    template: str, arguments: tuple[str, str], rules: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`big` stands in 900 rows, and 900 rows lead to u 1; one row or a few are enough to tell."""
    url = small(
        tmp_path,
        "CREATE TABLE u (id INTEGER PRIMARY KEY, name VARCHAR, size VARCHAR)",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, size VARCHAR, u INTEGER REFERENCES u (id))",
        "INSERT INTO u SELECT i, 'u' || i, 'big' FROM range(1, 901) r(i)",
        "INSERT INTO t SELECT i, 't' || i, IF(i < 4, 'large', 'tiny'), IF(i = 7, 5, 1) FROM range(1, 901) r(i)",
    )
    made, sizes = candidates._made, dict[str, int]()

    def counted(work: duckdb.DuckDBPyConnection, relation: str, sql: str) -> int:
        sizes[relation] = made(work, relation, sql)
        return sizes[relation]

    monkeypatch.setattr(candidates, "_made", counted)
    with open_database(url) as database:
        assert rules_for(database, template, *arguments) == rules
    assert max(sizes.values(), default=0) <= 10, sizes


def test_an_atom_that_nothing_joins_is_refused_by_name(tmp_path: Path) -> None:
    with open_database(small(tmp_path, "CREATE TABLE t (id INTEGER)")) as database:
        catalog = catalog_of_database(database)
    for text, name in (("?H(x) <- ?T(?C: x), ?U(?D: z)", r"\?U"), ("?H(x) <- t(id: x), t(?D: z)", "t")):
        (template,) = parse_templates(f"loose: {text}")
        with pytest.raises(InputError, match=rf"template loose: the atom {name}\(…\) shares no variable"):
            compile_template(template, catalog)
