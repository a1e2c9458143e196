"""What is the best rule of an unrelated predicate is no part of a union."""

from __future__ import annotations

from ruleminer.propose.claims import claimed, winners
from ruleminer.propose.prior import PriorWeights
from ruleminer.propose.ranking import Judged, Ranker, rank
from ruleminer.rules.printer import rule_text
from tests.propose.worlds import Made, judged, made, ontology_of_classes, sizes_of_unions

PAPERS, PEOPLE, AUTHORS = range(100), range(500, 620), range(500, 560)


def rules_of(predicate: str) -> list[Made]:
    """The same three tables for each class; its own name fits its own table."""
    tables = {"paper": PAPERS, "person": PEOPLE, "author": AUTHORS}
    return [
        made(f"{predicate}(x) <- {table}(id: x)", facts, names=1.0 if table == predicate.lower() else 0.4)
        for table, facts in tables.items()
    ]


def world(document: list[object]) -> dict[str, Judged]:
    return {
        "Document": judged(rules_of("Document"), document),
        "Person": judged(rules_of("Person"), [*range(560, 572), 501, 502]),
        "Author": judged(rules_of("Author"), range(500, 512)),
        "Agent": judged(rules_of("Agent"), [*range(0, 8), *range(560, 568)]),
    }


ONTOLOGY = ontology_of_classes({"Document": None, "Agent": None, "Person": "Agent", "Author": "Person", "Place": None})


def test_the_best_single_rule_of_each_predicate_wins() -> None:
    best = winners(world([1, 2, 3]), Ranker.EVIDENCE, PriorWeights())
    assert best["Document"] == "_(x) <- paper(id: x)"
    assert best["Person"] == "_(x) <- person(id: x)"
    assert best["Author"] == "_(x) <- author(id: x)"


def proposal(predicate: str, known: dict[str, Judged]) -> set[str]:
    one, rules = known[predicate], rules_of(predicate)
    taken = claimed(one, winners(known, Ranker.EVIDENCE, PriorWeights()), ONTOLOGY)
    ranking = rank(one, Ranker.EVIDENCE, union_size=sizes_of_unions(rules, one), claimed=taken)
    return {rule_text(one.pool.rules[i]).partition(" <- ")[2] for i in ranking.chosen}


def test_a_block_of_facts_of_an_unrelated_predicate_is_no_part_of_a_union() -> None:
    known = world([*range(12), *range(570, 576)])  # a third of the documents are people
    without = rank(
        known["Document"], Ranker.EVIDENCE, union_size=sizes_of_unions(rules_of("Document"), known["Document"])
    )
    assert len(without.chosen) == 2  # nothing but the claim speaks against it
    assert proposal("Document", known) == {"paper(id: x)"}


def test_the_rules_of_classes_above_and_below_may_be_parts() -> None:
    known = world([1, 2, 3])
    assert proposal("Agent", known) >= {"person(id: x)"}
    taken = claimed(known["Agent"], winners(known, Ranker.EVIDENCE, PriorWeights()), ONTOLOGY)
    tables = [rule.body[0].table for rule in known["Agent"].pool.rules]
    assert not taken[tables.index("person")]
    assert taken[tables.index("paper")]


def test_what_nothing_tells_from_a_claimed_rule_is_claimed_too() -> None:
    twins = [made("Document(x) <- person(id: x)", PEOPLE), made("Document(x) <- people(id: x)", PEOPLE)]
    one = judged([*twins, made("Document(x) <- paper(id: x)", PAPERS)], [1, 2, 510])
    taken = claimed(one, {"Person": "_(x) <- person(id: x)"}, ONTOLOGY)
    assert {rule.body[0].table for rule, yes in zip(one.pool.rules, taken, strict=True) if yes} == {"person", "people"}


def test_a_rule_of_another_size_is_not_claimed_with_it() -> None:
    rules = [made("Document(x) <- person(id: x)", PEOPLE), made("Document(x) <- agent(id: x)", range(500, 900))]
    one = judged(rules, [510, 511])
    assert claimed(one, {"Person": "_(x) <- person(id: x)"}, ONTOLOGY).tolist() == [True, False]


def test_a_predicate_does_not_claim_from_itself() -> None:
    one = judged(rules_of("Document"), [1, 2, 3])
    assert not claimed(one, {"Document": "_(x) <- paper(id: x)"}, ONTOLOGY).any()
