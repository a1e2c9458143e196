"""The decision network: messages are expectations, terms and hypotheses have no order, and it learns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from ruleminer.errors import InputError
from ruleminer.learn.decision_apart import settled_apart
from ruleminer.learn.decision_files import load_network, save_network
from ruleminer.learn.decision_network import DecisionNetwork, claims, messages, surroundings, tensors_of
from ruleminer.learn.decision_problem import Problem, Relation
from ruleminer.learn.decision_training import LOSSES, DecisionOptions, judge, train_network

FEATURES = 5


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """What is so small is slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def made_up(seed: int, terms: int = 6, hypotheses: int = 4, sets: int = 5) -> Problem:
    """A problem of chance; the first feature tells the right hypothesis."""
    dice = np.random.default_rng(seed)
    shape = (terms, hypotheses)
    there = dice.random(shape) < 0.8
    there[:, :2] = True
    subject, object_ = (dice.integers(0, sets, shape) for _ in range(2))
    body, turned, value, called = (dice.integers(1, 7, shape) for _ in range(4))
    for array in (subject, object_, body, turned, value, called):
        array[:, 0] = 0
    inside = dice.random((sets, sets)).astype(np.float32)
    inside[0], inside[:, 0] = 0.0, 0.0
    is_class = np.arange(terms) < terms // 2
    classes = [Relation.PARENT, Relation.SIBLING]
    others = [Relation.INVERSE, Relation.SAME_DOMAIN, Relation.SAME_TERM]
    edges = [
        (t, u, int(relation))
        for t in range(terms)
        for u in range(terms)
        if t != u
        for relation in (
            [Relation.DOMAIN_OF, Relation.RANGE_OF] if is_class[t] and not is_class[u]
            else [Relation.DOMAIN, Relation.RANGE] if is_class[u] and not is_class[t]
            else classes if is_class[t] else others
        )
    ]  # fmt: skip
    right = np.zeros(shape, bool)
    right[np.arange(terms), dice.integers(0, 2, terms)] = True
    features = dice.normal(size=(*shape, FEATURES)).astype(np.float32)
    features[..., 0] = right * 2.0 + 0.1 * features[..., 0]
    nothing = np.zeros((terms, 2), np.int64)
    return Problem(
        is_class, there, features, subject, object_, body, turned, value, called, np.arange(sets) % 3, inside,
        np.array(edges), right, np.ones(terms, bool), np.ones(shape, np.float32), np.zeros((*shape, 0), bool),
        nothing, 9,
    )  # fmt: skip


def test_a_message_is_what_the_sender_is_expected_to_fit() -> None:
    problem = made_up(0)
    belief = torch.rand(problem.there.shape).softmax(-1)
    found = messages(tensors_of(problem), belief)
    inside, table = problem.inside, problem.table
    for e, (receiver, sender, relation) in enumerate(problem.edges):
        for h in range(problem.there.shape[1]):
            expected = np.zeros(3)
            for g in range(problem.there.shape[1]):
                p = float(belief[sender, g])
                ours, theirs = problem.subject[receiver, h], problem.subject[sender, g]
                if relation == Relation.RANGE:
                    ours = problem.object[receiver, h]
                if relation == Relation.RANGE_OF:
                    theirs = problem.object[sender, g]
                if relation == Relation.SAME_TERM:
                    alike = problem.called[receiver, h] == problem.called[sender, g] != 0
                    expected += p * np.array([float(alike), float(g > 0), 0.0])
                    continue
                if relation == Relation.INVERSE:
                    a, b = problem.subject[receiver, h], problem.object[sender, g]
                    c, d = problem.object[receiver, h], problem.subject[sender, g]
                    same = problem.turned[receiver, h] == problem.body[sender, g] != 0
                    ends = (inside[a, b] + inside[b, a]) / 2, (inside[c, d] + inside[d, c]) / 2
                    expected += p * np.array([*ends, float(same)])
                    continue
                beside = table[ours] == table[theirs] != 0
                expected += p * np.array([inside[ours, theirs], inside[theirs, ours], float(beside)])
            assert found[e, h].numpy() == pytest.approx(expected, abs=1e-5), (relation, h)


def test_claims_count_what_others_of_the_same_kind_want() -> None:
    problem = made_up(1)
    belief = torch.rand(problem.there.shape).softmax(-1)
    found = claims(tensors_of(problem), belief)
    there = np.argwhere(problem.there).tolist()
    for number, (t, h) in enumerate(there):
        body = problem.body[t, h]
        others = [
            sum(float(belief[u, g]) for v, g in there if v == u and problem.body[u, g] == body != 0)
            for u in range(len(problem.there))
            if u != t and problem.is_class[u] == problem.is_class[t]
        ]
        place = 0 if problem.is_class[t] else 2
        assert float(found[number, place]) == pytest.approx(min(3.0, sum(others)), abs=1e-5)
        assert float(found[number, place + 1]) == pytest.approx(max(others), abs=1e-5)


def test_surroundings_tell_what_is_found_of_others_and_who_wants_the_table() -> None:
    problem = made_up(1)
    belief = torch.rand(problem.there.shape).softmax(-1)
    found = surroundings(tensors_of(problem), belief)
    terms, places = problem.there.shape
    table = problem.table[problem.subject]
    for t in range(terms):
        for column, kind in ((0, True), (2, False)):
            others = [u for u in range(terms) if u != t and problem.is_class[u] == kind]
            absent = float(np.mean([float(belief[u, 0]) for u in others]))
            for h in range(places):
                wanted = sum(
                    float(belief[u, g]) for u in others for g in range(places) if table[u, g] == table[t, h] != 0
                )
                assert float(found[t, h, column]) == pytest.approx(min(3.0, wanted), abs=1e-5)
                assert float(found[t, h, column + 1]) == pytest.approx(absent, abs=1e-5)
    assert len(set(found[..., 4].flatten().tolist())) == 1
    assert 0.0 <= float(found[0, 0, 4]) <= 1.0


def test_the_order_of_terms_and_of_hypotheses_does_not_matter() -> None:
    problem = made_up(2)
    torch.manual_seed(0)
    network = DecisionNetwork(FEATURES)
    terms = np.array([3, 0, 5, 1, 4, 2])
    places = np.array([0, 3, 1, 2])
    moved = {
        name: getattr(problem, name)[terms][:, places]
        for name in (
            "there", "features", "subject", "object", "body", "turned", "value", "called", "right", "sizes", "derives",
        )
    }  # fmt: skip
    number = np.argsort(terms)
    edges = np.stack([number[problem.edges[:, 0]], number[problem.edges[:, 1]], problem.edges[:, 2]], 1)
    other = replace(problem, **moved, is_class=problem.is_class[terms], edges=edges[::-1].copy())
    before, after = network(tensors_of(problem))[-1], network(tensors_of(other))[-1]
    assert torch.allclose(before[terms][:, places], after, atol=1e-4)


def as_it_is(problem: Problem, generator: Random) -> Problem:
    return problem


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_teaches(loss: str) -> None:
    problems = [made_up(seed) for seed in range(8)]
    options = DecisionOptions(loss=loss, passes=12, batch=1, learning_rate=1e-2, width=8, rounds=1)
    network = train_network(problems, as_it_is, options)
    assert judge(network, [made_up(seed) for seed in range(50, 60)], as_it_is).right > 0.9


def test_the_same_seed_gives_the_same_weights() -> None:
    problems = [made_up(seed) for seed in range(3)]
    options = DecisionOptions(passes=2, width=8, rounds=1)
    one, other = (train_network(problems, as_it_is, options).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_is_left_out_is_not_heard() -> None:
    problem = made_up(3)
    torch.manual_seed(1)
    network = DecisionNetwork(FEATURES)
    tensors = tensors_of(problem)
    rounds = network(tensors)
    without = network.without(tensors, rounds[-2], torch.arange(len(problem.there)))
    assert torch.allclose(without(), rounds[-1], atol=1e-5)
    deaf = without(relation=Relation.PARENT)
    assert not torch.allclose(deaf[:3], rounds[-1][:3])
    assert torch.allclose(deaf[3:], rounds[-1][3:], atol=1e-5)  # properties have no class above
    assert not torch.allclose(without([0]), rounds[-1])
    some = network.without(tensors, rounds[-2], torch.tensor([4, 1]))
    assert torch.allclose(some(relation=Relation.PARENT), deaf[[4, 1]], atol=1e-5)


def test_classes_beside_each_other_do_not_take_the_same_rows() -> None:
    """Two that nothing tells apart: one has the first rows, the other is asked again, and is as sure as both are."""
    problem = made_up(5, terms=2, hypotheses=3)
    for name in ("features", "subject", "object", "body", "turned", "value", "called"):
        getattr(problem, name)[1] = getattr(problem, name)[0]
    problem.body[:] = [[0, 1, 2], [0, 1, 2]]
    edges = np.array([(0, 1, int(Relation.SIBLING)), (1, 0, int(Relation.SIBLING))])
    alike = replace(problem, is_class=np.ones(2, bool), there=np.ones((2, 3), bool), edges=edges)
    torch.manual_seed(1)
    network = DecisionNetwork(FEATURES)
    with torch.no_grad():
        rounds, left, sure = settled_apart(network, tensors_of(alike))
        belief = network(tensors_of(alike))[-1].softmax(-1)
    first = 1 + int(belief[0, 1:].argmax())
    assert left.there.tolist() == [[True] * 3, [True, first == 2, first == 1]]
    assert 1 + rounds[-1][:, 1:].argmax(-1) == pytest.approx([first, 3 - first])
    assert sure.tolist() == pytest.approx([1.0, float(belief[0, first])])


def test_what_was_said_of_a_term_adds_to_its_logits_and_is_heard_by_others() -> None:
    problem = made_up(3)
    torch.manual_seed(1)
    network = DecisionNetwork(FEATURES)
    silent = network(tensors_of(problem, np.zeros(problem.there.shape)))
    assert all(torch.equal(one, other) for one, other in zip(silent, network(tensors_of(problem)), strict=True))
    said = np.zeros(problem.there.shape)
    said[0, 1] = -4.0
    spoken = network(tensors_of(problem, said))
    assert torch.allclose(spoken[0][0], silent[0][0] + torch.tensor(said[0]).float(), atol=1e-5)
    assert torch.equal(spoken[0][1:], silent[0][1:]), "before anybody heard of it"
    assert not torch.allclose(spoken[-1][1:], silent[-1][1:])


def test_answers_overrule_a_network_however_sure_it_is() -> None:
    problem = made_up(3)
    torch.manual_seed(1)
    network = DecisionNetwork(FEATURES)
    with torch.no_grad():
        for layer in network.start:
            layer.weight *= 1000.0  # type: ignore[operator]
    best = network(tensors_of(problem))[0].argmax(-1)
    other = 1 if best[0] != 1 else 0
    said = np.zeros(problem.there.shape)
    said[0] = np.log(0.01) * 2
    said[0, other] = 0.0
    assert int(network(tensors_of(problem, said))[0][0].argmax()) == other


def test_a_problem_and_a_network_are_read_as_they_were_written(tmp_path: Path) -> None:
    problem = made_up(4)
    problem.save(tmp_path / "p.npz")
    read = Problem.load(tmp_path / "p.npz")
    assert all(np.array_equal(getattr(read, name), getattr(problem, name)) for name in problem.__dataclass_fields__)
    names = [f"f{n}" for n in range(FEATURES)]
    network = DecisionNetwork(FEATURES)
    save_network(network, tmp_path / "n", names, {"made": "up"})
    loaded = load_network(tmp_path / "n", names)
    assert loaded.note["made"] == "up"
    assert torch.equal(loaded.network(tensors_of(problem))[-1], network(tensors_of(problem))[-1])
    with pytest.raises(InputError, match="it learnt other features than this version has"):
        load_network(tmp_path / "n", names[1:])
    with pytest.raises(InputError, match="cannot be used"):
        load_network(tmp_path, names)


def test_a_shortened_problem_is_judged_where_a_right_hypothesis_is_left() -> None:
    problem = made_up(5)
    short = problem.shortened(1)
    assert short.features.shape[1] == 2
    assert (short.judged == short.right.any(axis=1)).all()


def test_a_feature_that_never_varied_while_it_learnt_is_not_heard() -> None:
    problems = [made_up(seed) for seed in range(4)]
    still = [
        replace(one, features=np.where(np.arange(FEATURES) == 3, np.float32(0.0), one.features)) for one in problems
    ]
    network = train_network(still, lambda problem, generator: problem, DecisionOptions(passes=2, batch=2))
    loud = still[0].features.copy()
    loud[..., 3] = 1.0
    with torch.no_grad():
        quiet = network(tensors_of(still[0]))[-1]
        assert torch.allclose(network(tensors_of(replace(still[0], features=loud)))[-1], quiet, atol=1e-4)
