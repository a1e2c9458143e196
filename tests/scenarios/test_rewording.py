"""Other ontologies for the same data: in other words, for everybody, cut otherwise; what each term was is known."""

from __future__ import annotations

from collections import Counter

import pytest

from ruleminer.problem.ontology import Ontology, OntologyClass, Property, ontology_of
from ruleminer.scenarios.draws import randomness
from ruleminer.scenarios.ontology_file import ontology_graph
from ruleminer.scenarios.random_domain import random_domain
from ruleminer.scenarios.rewording import Reworded, reworded


@pytest.fixture(scope="module")
def plain() -> Ontology:
    return ontology_of(ontology_graph(random_domain(6)))


@pytest.fixture(scope="module")
def wordings(plain: Ontology) -> list[Reworded]:
    return [reworded(plain, randomness(seed, "wording")) for seed in range(40)]


def test_the_same_seed_gives_the_same_wording(plain: Ontology, wordings: list[Reworded]) -> None:
    assert reworded(plain, randomness(7, "wording")) == wordings[7]


def test_every_origin_is_a_term_of_its_kind_and_of_one_wording_only(plain: Ontology, wordings: list[Reworded]) -> None:
    twice = 0
    for wording in wordings:
        origins = Counter(old for olds in wording.origin.values() for old in olds)
        wider = [old for old, count in origins.items() if count > 1]  # a class, and one above with the same members
        assert all(origins[old] == 2 and isinstance(plain.find(old), OntologyClass) for old in wider)
        twice += len(wider)
        for name, olds in wording.origin.items():
            assert {type(wording.ontology.find(name))} == {
                OntologyClass if _end_of(old) else type(plain.find(old)) for old in olds
            }
    assert 0 < twice < 100


def test_what_links_lead_to_and_who_has_a_property_may_be_classes(plain: Ontology, wordings: list[Reworded]) -> None:
    ends = [
        (end, w, name) for w in wordings for name, olds in w.origin.items() for old in olds if (end := _end_of(old))
    ]
    assert {where for (where, _), _, _ in ends} == {"objects", "subjects"}
    for (_, prop), wording, name in ends:
        assert isinstance(plain.find(prop), Property)
        assert isinstance(wording.ontology.find(name), OntologyClass)


def _end_of(origin: str) -> tuple[str, str] | None:
    where, of, prop = origin.partition(" of ")
    return (where, prop) if of else None


def test_a_vocabulary_for_everybody_has_terms_that_are_several_in_one(wordings: list[Reworded]) -> None:
    open_ended = [wording for wording in wordings if wording.ontology.open_ended]
    assert 5 < len(open_ended) < 35
    several = [w.ontology.find(name) for w in open_ended for name, olds in w.origin.items() if len(olds) > 1]
    assert {type(term) for term in several} == {OntologyClass, Property}
    assert all(len(olds) == 1 for w in wordings if not w.ontology.open_ended for olds in w.origin.values())


def test_no_class_lies_above_itself(wordings: list[Reworded]) -> None:
    for wording in wordings:
        for term in wording.ontology.classes:
            assert term.iri not in wording.ontology.ancestors(term.iri)


def test_some_terms_have_comments_and_those_of_the_data_use_their_words(wordings: list[Reworded]) -> None:
    commented = [w for w in wordings if sum(bool(term.comments) for term in w.ontology.terms) > 10]
    assert 5 < len(commented) < 40
