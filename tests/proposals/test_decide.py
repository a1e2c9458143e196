"""All terms are decided together, in one place: the command and the mapping study choose the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from ruleminer.problem.ontology import Ontology, Property, PropertyKind
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.decide import _sure, decide
from ruleminer.proposals.decision import Decision
from ruleminer.proposals.inverses import as_inverses, from_inverse
from ruleminer.proposals.joint import Belief
from ruleminer.proposals.pool import pool_of
from ruleminer.proposals.prior import Prior, PriorWeights
from ruleminer.proposals.ranking import Measured, Ranker, rank
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from tests.proposals.test_claims import ONTOLOGY, rules_of, world
from tests.proposals.worlds import NAMESPACE, Made, made, measured, sizes_of_unions

FACTS = {Body(parse_rule(one.text)): one.facts for one in rules_of("Document")}


def union_size(rules: Sequence[Rule]) -> int:
    """What the database would answer."""
    return len(frozenset().union(*(FACTS[Body(rule)] for rule in rules)))


def decided(known: Mapping[str, Measured], ranker: Ranker = Ranker.EVIDENCE) -> dict[str, Decision]:
    return decide(known, ranker, PriorWeights(), ONTOLOGY, union_size)


def bodies(decision: Decision) -> set[str]:
    return {rule_text(rule).partition(" <- ")[2] for rule in decision.rules}


def guess(names: Mapping[str, float], lift: Mapping[str, float] | None = None) -> Measured:
    """A class without examples, and how well each table's name fits."""
    rules: list[Made] = [made(f"Place(x) <- {table}(id: x)", [1], names=fit) for table, fit in names.items()]
    lifts = [lift[table] for table in names] if lift else None
    known = measured(rules, [1], lift=lifts)
    return replace(known, pool=replace(known.pool, positives=(), covers=known.pool.covers[:, :0]))


def test_a_block_of_facts_of_an_unrelated_term_is_no_part_of_a_union() -> None:
    known = world([*range(12), *range(570, 576)])  # a third of the documents are people
    document = known["Document"]
    alone = rank(document, Ranker.EVIDENCE, union_size=sizes_of_unions(rules_of("Document"), document))
    assert len(alone.chosen) == 2  # nothing but the claim speaks against it
    assert bodies(decided(known)["Document"]) == {"paper(id: x)"}
    assert len(decided({"Document": document})["Document"].rules) == 2, "and there is none without the other term"


def test_the_rules_of_terms_above_and_below_may_be_parts() -> None:
    assert bodies(decided(world([1, 2, 3]))["Agent"]) >= {"person(id: x)"}


def test_every_term_is_decided_and_what_else_was_considered_is_known() -> None:
    known = world([1, 2, 3])
    decisions = decided(known)
    assert list(decisions) == list(known)
    for term, decision in decisions.items():
        assert decision.measured is known[term]
        assert {rule.predicate for rule in decision.rules} == {term}
        assert sorted([*decision.chosen, *decision.rivals]) == list(range(len(known[term].pool.rules)))
        scores = [float(decision.ranking.posterior[i]) for i in decision.rivals]
        assert scores == sorted(scores, reverse=True)
        assert decision.is_founded


def test_the_posterior_counts_what_nothing_tells_from_the_choice() -> None:
    twins = measured([made(f"Document(x) <- twin{i}(id: x)", range(100)) for i in range(4)], [1, 2, 3])
    decision = decided({"Document": twins})["Document"]
    assert decision.ranking.chosen_posterior == pytest.approx(0.25)
    assert decision.posterior == pytest.approx(1.0)


@pytest.mark.parametrize("ranker", [Ranker.COVERAGE, Ranker.EVIDENCE])
def test_without_examples_names_decide_whatever_the_ranker(ranker: Ranker) -> None:
    decision = decided({"Place": guess({"town": 0.3, "place": 0.9})}, ranker)["Place"]
    assert bodies(decision) == {"place(id: x)"}
    assert decision.ranking.ranker is Ranker.EVIDENCE
    assert decision.posterior == decision.ranking.chosen_posterior
    assert decision.is_founded


def test_what_neither_a_name_nor_a_model_speaks_for_is_not_founded() -> None:
    silent = {"town": 0.3, "village": 0.2}
    assert not decided({"Place": guess(silent)})["Place"].is_founded
    lift = {"town": 0.0, "village": 30.0}
    sure = decided({"Place": guess(silent, lift)}, Ranker.NEURAL)["Place"]
    assert bodies(sure) == {"village(id: x)"}
    assert sure.is_founded
    assert not decided({"Place": guess(silent, lift)}, Ranker.EVIDENCE)["Place"].is_founded, "it is not asked"


def test_a_guess_claims_nothing() -> None:
    known = world([*range(12), *range(570, 576)])
    only = {"Document": known["Document"], "Person": guess({"person": 1.0})}
    assert len(decided(only)["Document"].rules) == 2


def test_the_inverse_of_what_examples_decide_is_decided_with_it() -> None:
    def property_(name: str, inverse: str) -> Property:
        return Property(NAMESPACE + name, name, PropertyKind.OBJECT, inverses=(NAMESPACE + inverse,))

    ontology = Ontology((), (property_("hasMember", "memberOf"), property_("memberOf", "hasMember")))
    rule = parse_rule("hasMember(x, y) <- joins(club: x, member: y), member(id: y)")
    pool = pool_of("hasMember", [CandidateSet(("1", "2"), (Body(rule),))], [])
    known = Measured(pool, np.array([9.0]), (Prior(5.0, 0.5, 0.0, 1.0),), None, 100)
    decisions = decide({"hasMember": known}, Ranker.EVIDENCE, PriorWeights(), ontology, lambda rules: 9)
    turned = from_inverse(ontology.find("memberOf"), decisions, ontology)
    assert turned is not None
    assert turned.drafted
    assert turned.posterior == decisions["hasMember"].posterior
    assert [rule_text(one) for one in turned.rules] == ["memberOf(x, y) <- joins(club: y, member: x), member(id: x)"]
    assert "inverse of hasMember" in turned.reasons[0]
    assert from_inverse(ontology.find("hasMember"), {}, ontology) is None


def test_of_two_drafts_that_are_inverse_the_surer_one_decides_both_unless_the_user_spoke_of_the_other() -> None:
    def property_(name: str, inverse: str) -> Property:
        return Property(NAMESPACE + name, name, PropertyKind.OBJECT, inverses=(NAMESPACE + inverse,))

    def drafted(text: str, posterior: float) -> Decision:
        rule = parse_rule(text)
        pool = pool_of(rule.predicate, [CandidateSet(("1", "2"), (Body(rule),))], [])
        known = Measured(pool, np.array([9.0]), (Prior(5.0, 0.5, 0.0, 1.0),), None, 100)
        ranking = rank(known, Ranker.EVIDENCE, PriorWeights())
        return Decision(known, ranking, posterior, none=1 - posterior, drafted=True)

    ontology = Ontology((), (property_("heldAt", "hosted"), property_("hosted", "heldAt")))
    held = drafted("heldAt(x, y) <- race(id: x, circuit: y)", 0.9)
    hosted = drafted("hosted(x, y) <- circuit(id: x, url: y)", 0.8)
    found = as_inverses({"heldAt": held, "hosted": hosted}, ontology, ())
    assert list(found) == ["hosted"]
    assert [rule_text(one) for one in found["hosted"].rules] == ["hosted(x, y) <- race(id: y, circuit: x)"]
    assert found["hosted"].posterior == 0.9
    assert "inverse of heldAt" in found["hosted"].reasons[0]
    assert as_inverses({"heldAt": held, "hosted": hosted}, ontology, {"hosted"}) == {}
    unsure = drafted("heldAt(x, y) <- race(id: x, circuit: y)", 0.4)
    assert (
        as_inverses({"heldAt": unsure, "hosted": drafted("hosted(x, y) <- circuit(id: x, url: y)", 0.3)}, ontology, ())
        == {}
    )


def test_a_class_that_gave_way_to_another_is_no_surer_than_both_are_together() -> None:
    body = Body(parse_rule("C(x) <- t(id: x)"))
    belief = SimpleNamespace(bodies=(body,), same=np.array([0]), probabilities=np.array([0.8]), settled=0.5)
    assert _sure([cast(Belief, belief)], [body]) == pytest.approx(0.4)
