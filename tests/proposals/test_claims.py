"""Which rules other predicates claim: the best ones of those that are unrelated."""

from __future__ import annotations

from ruleminer.proposals.claims import claimed, winners
from ruleminer.proposals.prior import PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from tests.proposals.worlds import Made, made, measured, ontology_of_classes

PAPERS, PEOPLE, AUTHORS = range(100), range(500, 620), range(500, 560)


def body(text: str) -> Body:
    return Body(parse_rule(text))


def rules_of(predicate: str) -> list[Made]:
    """The same three tables for each class; its own name fits its own table."""
    tables = {"paper": PAPERS, "person": PEOPLE, "author": AUTHORS}
    return [
        made(f"{predicate}(x) <- {table}(id: x)", facts, names=1.0 if table == predicate.lower() else 0.4)
        for table, facts in tables.items()
    ]


def world(document: list[object]) -> dict[str, Measured]:
    return {
        "Document": measured(rules_of("Document"), document),
        "Person": measured(rules_of("Person"), [*range(560, 572), 501, 502]),
        "Author": measured(rules_of("Author"), range(500, 512)),
        "Agent": measured(rules_of("Agent"), [*range(0, 8), *range(560, 568)]),
    }


ONTOLOGY = ontology_of_classes({"Document": None, "Agent": None, "Person": "Agent", "Author": "Person", "Place": None})


def test_the_best_single_rule_of_each_predicate_wins() -> None:
    best = winners(world([1, 2, 3]), Ranker.EVIDENCE, PriorWeights())
    assert best["Document"] == body("_(x) <- paper(id: x)")
    assert best["Person"] == body("_(x) <- person(id: x)")
    assert best["Author"] == body("_(x) <- author(id: x)")


def test_the_rules_of_classes_above_and_below_are_not_claimed() -> None:
    known = world([1, 2, 3])
    taken = claimed(known["Agent"], winners(known, Ranker.EVIDENCE, PriorWeights()), ONTOLOGY)
    tables = [rule.body[0].table for rule in known["Agent"].pool.rules]
    assert not taken[tables.index("person")]
    assert taken[tables.index("paper")]


def test_what_nothing_tells_from_a_claimed_rule_is_claimed_too() -> None:
    twins = [made("Document(x) <- person(id: x)", PEOPLE), made("Document(x) <- people(id: x)", PEOPLE)]
    one = measured([*twins, made("Document(x) <- paper(id: x)", PAPERS)], [1, 2, 510])
    taken = claimed(one, {"Person": body("_(x) <- person(id: x)")}, ONTOLOGY)
    assert {rule.body[0].table for rule, yes in zip(one.pool.rules, taken, strict=True) if yes} == {"person", "people"}


def test_a_rule_of_another_size_is_not_claimed_with_it() -> None:
    rules = [made("Document(x) <- person(id: x)", PEOPLE), made("Document(x) <- agent(id: x)", range(500, 900))]
    one = measured(rules, [510, 511])
    assert claimed(one, {"Person": body("_(x) <- person(id: x)")}, ONTOLOGY).tolist() == [True, False]


def test_a_predicate_does_not_claim_from_itself() -> None:
    one = measured(rules_of("Document"), [1, 2, 3])
    assert not claimed(one, {"Document": body("_(x) <- paper(id: x)")}, ONTOLOGY).any()
