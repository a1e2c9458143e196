"""Parts that no example shows are taken where they follow from what examples show of other terms, and are told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from ruleminer import api
from ruleminer.problem.decisions import Said, UserDecision
from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.proposal import Proposals
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.session import open_review
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text

PERSON, ORDER = "http://w/Person", "http://w/Order"
ONTOLOGY = Ontology(
    (OntologyClass(PERSON, "Person"), OntologyClass(ORDER, "Order")),
    (
        Property("http://w/phone", "phone", PropertyKind.DATATYPE, domains=(PERSON,)),
        Property("http://w/jobTitle", "jobTitle", PropertyKind.DATATYPE, domains=(PERSON,)),
        Property("http://w/remark", "remark", PropertyKind.DATATYPE),
    ),
)
TITLES = [("jobTitle", f"employee:{i}", f"title {i}") for i in (1, 3, 4)]
PHONES = [("phone", f"customer:{i}", f"c{i}") for i in (2, 5, 9)]
PERSONS = [("Person", f"customer:{i}") for i in (2, 5, 7)]
CUSTOMERS = "Person(x) <- customer(id: x)"
EMPLOYEES = "Person(x) <- employee(nr: x)"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute(
            """
            CREATE TABLE customer (id INTEGER PRIMARY KEY, phone VARCHAR, remark VARCHAR);
            CREATE TABLE employee (nr INTEGER PRIMARY KEY, phone VARCHAR, title VARCHAR, remark VARCHAR);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, phone VARCHAR, remark VARCHAR);
            INSERT INTO customer SELECT i, 'c' || i, 'remark ' || i FROM range(40) r(i);
            INSERT INTO employee SELECT i, 'e' || i, 'title ' || i, 'none ' || i FROM range(8) r(i);
            INSERT INTO orders SELECT i, 'o' || i, 'order ' || i FROM range(30) r(i);
            """
        )
    return f"duckdb:///{file}"


def proposed(
    shop: str,
    run: Path,
    *examples: Sequence[tuple[str, ...]],
    denied: Sequence[tuple[str, ...]] = (),
    ontology: Ontology = ONTOLOGY,
) -> tuple[dict[str, set[str]], Proposals]:
    lines = ["predicate,arg1,arg2,label"]
    for label, facts in (("+", [fact for some in examples for fact in some]), ("-", denied)):
        lines += [",".join([*fact, *([""] * (3 - len(fact))), label]) for fact in facts]
    run.mkdir(exist_ok=True)
    (run / "facts.csv").write_text("\n".join(lines) + "\n")
    api.extract(shop, ontology, run / "facts.csv", run / "run")
    told = api.propose(run / "run", ranker="evidence").proposals
    return {one.predicate: set(one.texts) for one in told.proposed}, told


def test_what_has_a_property_of_one_class_alone_is_of_that_class_and_has_its_other_properties(
    shop: str, tmp_path: Path
) -> None:
    found, told = proposed(shop, tmp_path, PERSONS, PHONES, TITLES)
    assert found == {
        "Person": {CUSTOMERS, EMPLOYEES},
        "phone": {"phone(x, y) <- customer(id: x, phone: y)", "phone(x, y) <- employee(nr: x, phone: y)"},
        "jobTitle": {"jobTitle(x, y) <- employee(nr: x, title: y)"},
    }, "the phones of orders are of nobody"
    assert sum("though no example shows it" in note for note in told.notes) == 2
    part = next(
        rule for one in told.proposed if one.predicate == "Person" for rule in one.rules if rule.text == EMPLOYEES
    )
    assert part.verdict == "taken, though no example shows it: jobTitle is of nothing else, and of employee"


def test_a_counter_example_keeps_such_a_part_out(shop: str, tmp_path: Path) -> None:
    found, _ = proposed(shop, tmp_path, PERSONS, PHONES, TITLES, denied=[("Person", "employee:5")])
    assert found["Person"] == {CUSTOMERS}
    assert found["phone"] == {"phone(x, y) <- customer(id: x, phone: y)"}


def test_many_examples_that_are_not_of_a_part_speak_against_it(shop: str, tmp_path: Path) -> None:
    persons = [("Person", f"customer:{i}") for i in range(25)]
    found, _ = proposed(shop, tmp_path, persons, TITLES)
    assert found["Person"] == {CUSTOMERS}, "a sixth of all persons would be employees"


def test_a_property_of_no_class_has_no_further_part_unless_the_class_holds_both(shop: str, tmp_path: Path) -> None:
    remarks = [("remark", f"customer:{i}", f"remark {i}") for i in (2, 5, 9)]
    found, _ = proposed(shop, tmp_path, PERSONS, remarks)
    assert found["remark"] == {"remark(x, y) <- customer(id: x, remark: y)"}


def test_iris_are_spelt_as_other_terms_show_them(shop: str, tmp_path: Path) -> None:
    def named(facts: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return [(name, f"http://w/{one.replace(':', '/')}", *rest) for name, one, *rest in facts]

    found, _ = proposed(shop, tmp_path, named(PERSONS), named(PHONES), named(TITLES))
    assert found["Person"] == {
        'Person(x) <- customer(id: a), x = "http://w/customer/" ++ a',
        'Person(x) <- employee(nr: a), x = "http://w/employee/" ++ a',
    }


def test_a_rule_that_is_rejected_beside_a_part_that_follows_leaves_the_others_right(shop: str, tmp_path: Path) -> None:
    proposed(shop, tmp_path, TITLES, PHONES, PERSONS)
    with open_review(ProposeRequest(tmp_path / "run", ranker="evidence")) as session:
        assert EMPLOYEES in map(rule_text, session.decisions["Person"].rules)
        session.say(UserDecision("Person", Said.REJECTED, rules=(parse_rule(CUSTOMERS),)))
        found = session.decisions.get("Person")
        assert found is None or CUSTOMERS not in map(rule_text, found.rules)


AGENT, STORE, PLACE = "http://w/Agent", "http://w/Store", "http://w/Place"
SALES = Ontology(
    (
        OntologyClass(AGENT, "Agent"),
        OntologyClass(PERSON, "Person", parents=(AGENT,)),
        OntologyClass(STORE, "Store", parents=(AGENT,)),
        OntologyClass(PLACE, "Place"),
        *(OntologyClass(f"http://w/{name}", name, parents=(PLACE,)) for name in ("Town", "Lake", "Peak")),
        OntologyClass(ORDER, "Order"),
    ),
    (
        Property("http://w/familyName", "familyName", PropertyKind.DATATYPE, domains=(PERSON,)),
        Property("http://w/phone", "phone", PropertyKind.DATATYPE, domains=(AGENT,)),
        Property("http://w/label", "label", PropertyKind.DATATYPE, domains=(PLACE,)),
        Property("http://w/seller", "seller", PropertyKind.OBJECT, domains=(ORDER,), ranges=(AGENT,)),
    ),
)
SOLD = [("seller", f"orders:{i}", f"staff:{i % 4 + 1}") for i in (2, 5, 9)]
NAMES = [("familyName", f"customer:{i}", f"Name {i}") for i in (2, 5, 9)]
STORES = [("Store", "store:1"), ("Store", "store:3")]


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("sales") / "sales.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute(
            """
            CREATE TABLE customer (id INTEGER PRIMARY KEY, last_name VARCHAR, phone VARCHAR);
            CREATE TABLE staff (id INTEGER PRIMARY KEY, last_name VARCHAR, phone VARCHAR);
            CREATE TABLE store (id INTEGER PRIMARY KEY, title VARCHAR, phone VARCHAR);
            CREATE TABLE town (id INTEGER PRIMARY KEY, town VARCHAR, people INTEGER);
            CREATE TABLE lake (id INTEGER PRIMARY KEY, title VARCHAR, depth INTEGER);
            CREATE TABLE peak (id INTEGER PRIMARY KEY, called VARCHAR, height INTEGER);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, staff_id INTEGER REFERENCES staff, phone VARCHAR);
            INSERT INTO customer SELECT i, 'Name ' || i, 'c' || i FROM range(1, 60) r(i);
            INSERT INTO staff SELECT i, 'Clerk ' || i, 's' || i FROM range(1, 5) r(i);
            INSERT INTO store SELECT i, 'The store ' || i, 't' || i FROM range(1, 7) r(i);
            INSERT INTO town SELECT i, 'Town ' || i, 50 FROM range(1, 40) r(i);
            INSERT INTO lake SELECT i, 'Lake ' || i, 100 FROM range(1, 30) r(i);
            INSERT INTO peak SELECT i, 'Mount ' || i, 3000 FROM range(1, 20) r(i);
            INSERT INTO orders SELECT i, i % 4 + 1, 'o' || i FROM range(1, 90) r(i);
            """
        )
    return f"duckdb:///{file}"


def test_what_a_property_leads_to_is_of_the_class_that_it_looks_like(sales: str, tmp_path: Path) -> None:
    """A seller is an agent, person or store; staff have a last name as all persons have, and stores have none."""
    found, _ = proposed(sales, tmp_path, PERSONS, STORES, NAMES, SOLD, ontology=SALES)
    assert found["Person"] == {CUSTOMERS, "Person(x) <- staff(id: x)"}
    assert found["familyName"] == {
        "familyName(x, y) <- customer(id: x, last_name: y)",
        "familyName(x, y) <- staff(id: x, last_name: y)",
    }
    assert found["Store"] == {"Store(x) <- store(id: x)"}
    found, _ = proposed(sales, tmp_path / "again", PERSONS, STORES, SOLD, ontology=SALES)
    assert found["Person"] == {CUSTOMERS}, "nothing tells persons from stores"


def test_a_column_of_the_same_name_is_taken_of_all_classes_that_a_property_may_be_of(
    sales: str, tmp_path: Path
) -> None:
    found, _ = proposed(sales, tmp_path, PERSONS, STORES, PHONES, ontology=SALES)
    assert found["phone"] == {
        "phone(x, y) <- customer(id: x, phone: y)",
        "phone(x, y) <- store(id: x, phone: y)",
    }, "orders are no agents"


def test_a_property_that_is_what_rows_are_called_is_so_in_all_tables_that_it_may_be_of(
    sales: str, tmp_path: Path
) -> None:
    """One table alone does not show that what it has is the name of its rows; two in columns of two names do."""
    things = [("Town", f"town:{i}") for i in (1, 3)] + [("Lake", f"lake:{i}") for i in (2, 4)]
    things += [("Peak", f"peak:{i}") for i in (1, 5)]
    towns = [("label", f"town:{i}", f"Town {i}") for i in (2, 5, 9)]
    lakes = [("label", f"lake:{i}", f"Lake {i}") for i in (3, 7)]
    both = {"label(x, y) <- town(id: x, town: y)", "label(x, y) <- lake(id: x, title: y)"}
    found, _ = proposed(sales, tmp_path, things, towns, lakes, ontology=SALES)
    assert found["label"] == {*both, "label(x, y) <- peak(id: x, called: y)"}
    found, _ = proposed(sales, tmp_path / "again", things, towns, ontology=SALES)
    assert found["label"] == {"label(x, y) <- town(id: x, town: y)"}


def test_a_link_follows_for_another_table_in_the_spelling_that_examples_show(tmp_path: Path) -> None:
    """And a store is no member of its staff, though a column of it would spell the same IRIs."""
    agent, home, shop = (f"http://w/{name}" for name in ("Agent", "Home", "Shop"))
    ontology = Ontology(
        (
            OntologyClass(agent, "Agent"),
            OntologyClass(home, "Home"),
            OntologyClass(shop, "Shop", parents=(agent,)),
        ),
        (
            Property("http://w/home", "home", PropertyKind.OBJECT, domains=(agent,), ranges=(home,)),
            Property("http://w/seller", "seller", PropertyKind.OBJECT, ranges=(agent,)),
        ),
    )
    with duckdb.connect(tmp_path / "shops.duckdb") as connection:
        connection.execute(
            """
            CREATE TABLE home (id INTEGER PRIMARY KEY, street VARCHAR);
            CREATE TABLE staff (id INTEGER PRIMARY KEY, home_id INTEGER REFERENCES home(id));
            CREATE TABLE store (id INTEGER PRIMARY KEY, boss_id INTEGER UNIQUE REFERENCES staff(id),
                                home_id INTEGER REFERENCES home(id));
            CREATE TABLE sale (id INTEGER PRIMARY KEY, staff_id INTEGER REFERENCES staff(id));
            INSERT INTO home SELECT i, i || ' Main Street' FROM range(1, 80) r(i);
            INSERT INTO staff SELECT i, 70 - i FROM range(1, 60) r(i);
            INSERT INTO store VALUES (1, 1, 71), (2, 2, 72);
            INSERT INTO sale SELECT 1000 + i, 1 + i % 2 FROM range(200) r(i);
            """
        )
    iri = "http://x/"
    facts = [("Agent", f"{iri}staff/{i}") for i in (3, 8, 21)] + [("Shop", f"{iri}store/{i}") for i in (1, 2)]
    facts += [("home", f"{iri}staff/{i}", f"{iri}home/{70 - i}") for i in (3, 8, 21)]
    facts += [("seller", f"{iri}sale/{1000 + i}", f"{iri}staff/{1 + i % 2}") for i in (4, 7, 9)]
    facts += [("Home", f"{iri}home/{i}") for i in (3, 9, 14)]
    found, _ = proposed(f"duckdb:///{tmp_path / 'shops.duckdb'}", tmp_path, facts, ontology=ontology)
    assert found["Shop"] == {f'Shop(x) <- store(id: a), x = "{iri}store/" ++ a'}
    assert found["home"] == {
        f'home(x, y) <- {table}(id: a, home_id: b), x = "{iri}{table}/" ++ a, y = "{iri}home/" ++ b'
        for table in ("staff", "store")
    }
