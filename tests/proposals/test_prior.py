"""What speaks for a rule before any example: short, well named, entities in keys."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

import pytest

from ruleminer.problem.ontology import Ontology, OntologyClass, Property, PropertyKind
from ruleminer.proposals.no_values import stands_for_none
from ruleminer.proposals.prior import (
    REFLEXIVE,
    RESTRICTED,
    SHARED,
    UNLINKED,
    Prior,
    PriorOf,
    PriorWeights,
    constant_places,
)
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Place, Scalar
from ruleminer.sources.schema import Column, ForeignKey, Schema, Table

W = "http://world#"


def table(name: str, types: str, key: str | None = "id", links: tuple[ForeignKey, ...] = (), rows: int = 9) -> Table:
    columns = tuple(Column.of_type(*pair.split(":"), True) for pair in types.split())  # type: ignore[misc]
    return Table(name, columns, (key,) if key else (), (), links, rows)


SCHEMA = Schema(
    None,
    (
        table("Person", "id:integer name:text kind:text code:integer born:date"),
        table(
            "Paper",
            "id:integer title:text author:integer year:integer pages:integer",
            links=(ForeignKey(("author",), "Person", ("id",)),),
        ),
        table("Chair", "id:integer room:text", links=(ForeignKey(("id",), "Person", ("id",)),)),
        table("log", "line:text what:text", key=None),
        table("empty", "id:integer", rows=0),
    ),
)
ONTOLOGY = Ontology(
    (OntologyClass(f"{W}Person", "Person"), OntologyClass(f"{W}Paper", "Paper"), OntologyClass(f"{W}Author", "Author")),
    (
        Property(f"{W}wrote", "wrote", PropertyKind.OBJECT, domains=(f"{W}Person",), ranges=(f"{W}Paper",)),
        Property(f"{W}title", "title", PropertyKind.DATATYPE, domains=(f"{W}Paper",)),
    ),
)
DISTINCT = {("Person", "kind"): 3, ("Person", "name"): 900, ("Person", "code"): 1}


@pytest.fixture(scope="module")
def prior_of() -> PriorOf:
    return PriorOf(ONTOLOGY, SCHEMA, DISTINCT)


def length(prior_of: PriorOf, text: str) -> float:
    return prior_of.description_length(parse_rule(text))


def test_a_constant_pays_for_the_values_it_was_chosen_from(prior_of: PriorOf) -> None:
    plain = length(prior_of, "Author(x) <- Person(id: x)")
    column = math.log(2 * 4)  # one of four that are no keys
    for name, values in (("kind", 3), ("name", 900), ("code", 2)):  # a single value still is a choice
        constant = "1" if name == "code" else '"a"'
        paid = length(prior_of, f"Author(x) <- Person(id: x, {name}: {constant})") - plain
        assert paid == pytest.approx(column + math.log(values))


def test_the_plain_rule_pays_for_its_table_and_its_key(prior_of: PriorOf) -> None:
    assert length(prior_of, "Person(x) <- Person(id: x)") == pytest.approx(math.log(4) + math.log(2))


def test_key_columns_are_cheap(prior_of: PriorOf) -> None:
    assert length(prior_of, "Person(x) <- Person(id: x)") < length(prior_of, "Person(x) <- Person(name: x)")
    assert length(prior_of, "Author(x) <- Paper(author: x)") < length(prior_of, "Author(x) <- Paper(title: x)")


def test_a_class_of_what_a_link_leads_to_pays_unless_its_name_calls_for_it(prior_of: PriorOf) -> None:
    linked, named = (prior_of.prior(parse_rule(f"{name}(x) <- Paper(author: x)")) for name in ("Person", "Author"))
    assert linked.length == pytest.approx(named.length + RESTRICTED)
    assert (linked.conditions, named.conditions) == (1, 0)
    assert prior_of.prior(parse_rule("Person(x) <- Person(id: x)")).conditions == 0


COMPOUND = Schema(
    None,
    (
        Table("country", (Column.of_type("code", "text", False),), ("code",)),
        Table("region", tuple(Column.of_type(name, "text", False) for name in ("name", "land", "seat")),
              ("name", "land"), (), (ForeignKey(("land",), "country", ("code",)),), 9),
        Table("river", tuple(Column.of_type(name, "text", False) for name in ("river", "land", "region")),
              ("river", "land", "region"), (), (ForeignKey(("region", "land"), "region", ("name", "land")),), 9),
    ),
)  # fmt: skip
LANDS = Ontology(
    (OntologyClass(f"{W}Region", "Region"), OntologyClass(f"{W}River", "River")),
    (Property(f"{W}inCountry", "inCountry", PropertyKind.OBJECT, domains=(f"{W}Region",)),),
)


def test_a_table_that_only_links_is_no_class_and_no_property_even_if_its_columns_are_called_so() -> None:
    prior_of = PriorOf(LANDS, COMPOUND, {})

    def conditions(text: str) -> int:
        return prior_of.prior(parse_rule(text)).conditions

    assert conditions('Region(x) <- river(land: a, region: b), x = "http://h/region/" ++ a ++ "/" ++ b') == 1
    assert conditions('Region(x) <- region(land: a, name: b), x = "http://h/region/" ++ a ++ "/" ++ b') == 0
    linked = 'inCountry(x, y) <- {}(land: a, {}: b), x = "http://h/r/" ++ a ++ "/" ++ b, y = "http://h/c/" ++ a'
    assert conditions(linked.format("river", "region")) == 1
    assert conditions(linked.format("region", "name")) == 0
    assert conditions('River(x) <- river(river: a, land: b, region: c), x = "h/" ++ a ++ "/" ++ b ++ "/" ++ c') == 0


def test_an_iri_of_a_whole_key_is_better_than_one_of_other_columns() -> None:
    prior_of = PriorOf(LANDS, COMPOUND, {})
    whole, other = (
        prior_of.prior(parse_rule(f'Region(x) <- region(land: a, {name}: b), x = "http://h/" ++ a ++ "/" ++ b'))
        for name in ("name", "seat")
    )
    assert whole.keys > other.keys


def test_a_join_by_chance_pays_and_one_along_a_link_does_not(prior_of: PriorOf) -> None:
    linked = length(prior_of, "Author(x) <- Paper(author: x), Person(id: x)")
    chance = length(prior_of, "Author(x) <- Paper(id: x), Person(id: x)")
    assert chance - linked == pytest.approx(UNLINKED)
    # Chair.id leads to Person.id, and so does Paper.author: the two are related without Person in the rule.
    both = length(prior_of, "Author(x) <- Paper(author: x), Chair(id: x)")
    assert both == pytest.approx(length(prior_of, "Author(x) <- Paper(id: x), Chair(id: x)") - UNLINKED)


def test_every_atom_and_every_part_of_a_concatenation_pays(prior_of: PriorOf) -> None:
    one = length(prior_of, "Author(x) <- Person(id: x)")
    assert length(prior_of, "Author(x) <- Person(id: x), Chair(id: x)") > one + math.log(4)
    iri = length(prior_of, 'Author(x) <- Person(id: a), x = "http://p/" ++ a')
    assert iri - one == pytest.approx(2 * math.log(2))


def test_entities_stand_in_keys_and_values_elsewhere(prior_of: PriorOf) -> None:
    def keys(text: str) -> float:
        return prior_of.prior(parse_rule(text)).keys

    assert (
        keys("Person(x) <- Person(id: x)") > keys("Person(x) <- Paper(author: x)") > keys("Person(x) <- log(line: x)")
    )
    assert keys("title(x, y) <- Paper(id: x, title: y)") > keys("title(x, y) <- Paper(id: x, author: y)")
    assert keys("wrote(x, y) <- Paper(author: x, id: y)") > keys("wrote(x, y) <- Paper(author: x, title: y)")


def test_the_tables_at_a_propertys_ends_fit_its_domain_and_range(prior_of: PriorOf) -> None:
    right = prior_of.prior(parse_rule("wrote(x, y) <- Paper(author: x, id: y)"))
    wrong = prior_of.prior(parse_rule("wrote(x, y) <- log(line: x, what: y)"))
    assert right.ends == 1.0  # Paper.author leads to Person
    assert wrong.ends < 0.3


def test_a_thing_in_itself_pays_however_many_examples_there_are_and_a_key_that_is_a_value_does_not(
    prior_of: PriorOf,
) -> None:
    plain = length(prior_of, "Person(x) <- Person(id: x)")
    assert length(prior_of, "wrote(x, x) <- Person(id: x)") == pytest.approx(plain + REFLEXIVE)
    assert length(prior_of, "title(x, x) <- Person(id: x)") == pytest.approx(plain)
    sub_table = length(prior_of, "Author(x) <- Chair(id: x)")
    assert length(prior_of, "wrote(x, x) <- Chair(id: x)") == pytest.approx(sub_table)


def test_a_class_pays_for_a_table_of_parts_that_is_called_after_what_it_has_its_key_from() -> None:
    part = table("Person_photo", "id:integer", links=(ForeignKey(("id",), "Person", ("id",)),))
    prior_of = PriorOf(ONTOLOGY, Schema(None, (*SCHEMA.tables, part)), DISTINCT)
    photo, chair, person = (
        length(prior_of, f"Author(x) <- {name}(id: x)") for name in ("Person_photo", "Chair", "Person")
    )
    assert photo == pytest.approx(person + SHARED)
    assert chair == pytest.approx(person)  # a kind of person, with a name of its own


def test_what_a_link_says_where_it_leads_to_nothing_costs_nothing_to_leave_out() -> None:
    rule, but = "wrote(x, y) <- Paper(author: x, id: y)", "wrote(x, y) <- Paper(author: x, id: y), x <> 0"
    knows = PriorOf(ONTOLOGY, SCHEMA, DISTINCT, {Place("Paper", "author"): "0"})
    assert length(knows, but) == length(knows, rule)
    assert knows.prior(parse_rule(but)).conditions == 0
    unknowing = PriorOf(ONTOLOGY, SCHEMA, DISTINCT)  # a key may be 0
    assert length(unknowing, but) > length(unknowing, rule)
    assert unknowing.prior(parse_rule(but)).conditions == 1


def test_names_fade_as_examples_come_in() -> None:
    weights = PriorWeights()
    named, plain = Prior(3.0, 1.0, 0.0, 1.0), Prior(3.0, 0.0, 0.0, 1.0)
    gaps = [named.total(weights, n) - plain.total(weights, n) for n in (0, 10, 60, 600)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] == pytest.approx(weights.names)
    assert gaps[2] == pytest.approx(weights.names / 2)


def test_length_costs_whatever_the_number_of_examples() -> None:
    weights = PriorWeights()
    for examples in (0, 1000):
        gap = Prior(3.0, 0.5, 0.0, 1.0).total(weights, examples) - Prior(7.0, 0.5, 0.0, 1.0).total(weights, examples)
        assert gap == pytest.approx(4.0 * weights.length)


def test_a_rule_on_tables_we_do_not_know_still_has_a_prior(prior_of: PriorOf) -> None:
    assert math.isfinite(length(prior_of, "Author(x) <- Gone(id: x, flag: true)"))


def test_links_without_a_known_target_column_are_no_links() -> None:
    odd = table("Odd", "id:integer to:integer", links=(ForeignKey(("to",), "Person", ()),))
    prior_of = PriorOf(ONTOLOGY, Schema(None, (*SCHEMA.tables, odd)), {})
    assert prior_of.prior(parse_rule("Person(x) <- Odd(to: x)")).keys == -1.0


def test_the_columns_with_constants_are_found_once_each() -> None:
    rules = [parse_rule("A(x) <- t(i: x, a: 1, b: true), u(i: x, a: 2)"), parse_rule('A(x) <- t(i: x, a: 5, c: "v")')]
    assert constant_places(rules) == [("t", "a"), ("t", "b"), ("u", "a"), ("t", "c")]


def test_a_code_that_the_term_is_called_by_need_not_be_chosen(prior_of: PriorOf) -> None:
    named, other = (length(prior_of, f'Author(x) <- Person(id: x, name: "{said}")') for said in ("AUTHOR", "Smith"))
    column = math.log(2 * 4)
    assert other - named == pytest.approx(column + math.log(900) - 2 * math.log(2))


def test_a_value_that_stands_for_none_is_cheap_to_exclude(prior_of: PriorOf) -> None:
    rules = (f'title(x, y) <- Person(id: x, name: y), y <> "{said}"' for said in ("n/a", "Smith"))
    nothing, some = (length(prior_of, text) for text in rules)
    assert some - nothing == pytest.approx(math.log(900) - math.log(2))


@pytest.mark.parametrize(
    "value",
    [
        date(9999, 12, 31),
        datetime(1900, 1, 1),
        "N/A ",
        "",
        -1,
        9999,
        Decimal("-99.00"),
        "9999-12-31",
        "-1",
        "31.12.9999",
    ],
)
def test_what_stands_for_none(value: Scalar) -> None:
    assert stands_for_none(value)


@pytest.mark.parametrize("value", [date(2014, 5, 4), "Nantes", 9, 99, -2, True, Decimal("0.9"), "2014-05-04", "1"])
def test_what_stands_for_itself(value: Scalar) -> None:
    assert not stands_for_none(value)


def test_a_key_of_several_columns_is_written_in_order_and_holds_no_other_key() -> None:
    seat = Table("Seat", SCHEMA.table("log").columns, ("line", "what"), (), (), 9)
    prior = PriorOf(ONTOLOGY, Schema(None, (*SCHEMA.tables, seat)), DISTINCT).prior

    def keys(body: str) -> float:
        return prior(parse_rule(f"Author(x) <- {body}")).keys

    assert keys('Seat(line: a, what: b), x = a ++ "/" ++ b') == 1.0
    assert keys('Seat(line: a, what: b), x = b ++ "/" ++ a') == 0.9
    assert keys('Person(id: a, code: b), x = a ++ "/" ++ b') == -2.0
    assert keys('Person(code: a), x = a ++ "/" ++ a') == -6.0
    assert keys('Person(code: a), x = "http://h/" ++ a ++ "/" ++ a') == -6.0
    assert keys('Person(id: a, code: b), x = "http://h/" ++ a ++ "/" ++ b') == 1.0, "an IRI may say more"
