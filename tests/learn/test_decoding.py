"""Beam search finds what exhaustive search finds; under the grammar every hypothesis is a rule of the schema."""

from __future__ import annotations

import itertools

import pytest
import torch

from ruleminer.learn.decoding import beam_search
from ruleminer.learn.grammar import RuleGrammar, constraint
from ruleminer.learn.losses import uniform
from ruleminer.learn.oracle import score_alone
from ruleminer.learn.tokens import Tokens
from ruleminer.learn.transformer import Size, Transformer
from ruleminer.learn.trie import ALLOWED, build_trie, pack, whole
from ruleminer.rules.parser import parse_rule
from tests.learn.conftest import SCHEMA

RULES = [
    "Author(x) <- people(id: x)",
    'Author(x) <- people(id: x, kind: "an \\"author\\", x)")',
    "Author(x) <- people(id: x, active: true)",
    'Author(x) <- "Paper Notes"("Paper ID": x, day: 2014-05-04), people(id: x)',
    'Author(x) <- papers(id: a, author: b), x = "http://ex.org/" ++ a ++ "/" ++ b',
]


def small_model(vocabulary: int, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(vocabulary, Size(16, 2, 2), longest_input=16, longest_rule=48).double()


def test_a_wide_beam_finds_the_most_probable_of_all_sequences() -> None:
    model, inputs = small_model(6), [[4, 5], [5, 5, 4, 4], [4]]
    others = [t for t in range(6) if t != Tokens.EOS]
    every = [whole(body) for length in range(4) for body in itertools.product(others, repeat=length)]
    found = beam_search(model, inputs, longest=4, beam=200)
    for fact, log_p in enumerate(score_alone(model, inputs, [every] * len(inputs))):
        best = sorted(zip(log_p.tolist(), every, strict=True), reverse=True)[:20]
        assert [h.path for h in found[fact][:20]] == [path for _, path in best]
        assert [h.log_p for h in found[fact][:20]] == pytest.approx([p for p, _ in best], abs=1e-10)


def test_facts_searched_together_give_what_each_gives_alone() -> None:
    model, inputs = small_model(12), [[4, 5], [5, 5, 4, 4, 9], [11]]
    together = beam_search(model, inputs, longest=8, beam=4)
    for fact, hypotheses in enumerate(together):
        alone = beam_search(model, [inputs[fact]], longest=8, beam=4)[0]
        assert [h.path for h in alone] == [h.path for h in hypotheses]
        assert [h.log_p for h in alone] == pytest.approx([h.log_p for h in hypotheses], abs=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_grammar_accepts_every_beginning_of_a_rule(rule: str) -> None:
    grammar = RuleGrammar(SCHEMA, "Author", 1)
    for end in range(len(rule) + 1):
        assert grammar.can_become_rule(rule[:end]), rule[:end]
    assert grammar.is_rule(rule)


def test_constraint_accepts_every_beginning_of_a_rules_tokens() -> None:
    tokens = Tokens.trained_on(RULES)
    accepts = constraint(tokens, SCHEMA, "Author", 1)
    for rule in RULES:
        path = whole(tokens.encode(rule))
        assert all(accepts(path[:end]) for end in range(1, len(path) + 1)), rule


@pytest.mark.parametrize(
    "text",
    [
        "Reviewer(x) <- ",
        "Author(x) <- nobody",
        "Author(x) <- people(title: x",
        "Author(x) <- people(id: x, id: y",
        'Author(x) <- people(id: "text"',
        "Author(x) <- people(active: 7",
        "Author(x) <- people(id: x) ",
        "Author(x) <- people(id: x), x = ",
        'Author(x) <- people(kind: "\\q"',
    ],
)
def test_grammar_refuses_what_cannot_become_a_rule(text: str) -> None:
    assert not RuleGrammar(SCHEMA, "Author", 1).can_become_rule(text)


@pytest.mark.parametrize("text", ["Author(x) <- people(id: y)", "Author(x) <- people(id: x),", "Author(x) <- ", ""])
def test_an_unfinished_or_unbound_rule_is_not_whole(text: str) -> None:
    assert not RuleGrammar(SCHEMA, "Author", 1).is_rule(text)


def test_under_the_constraint_a_hardly_trained_model_writes_only_rules_of_the_schema() -> None:
    tokens = Tokens.trained_on([*RULES, "Author(1471)"])
    model, fact = small_model(len(tokens)), tokens.encode("Author(1471)")
    batch = pack([fact], [build_trie({whole(tokens.encode(rule)): ALLOWED for rule in RULES})])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(25):
        optimizer.zero_grad()
        uniform(model(batch).outputs()).sum().backward()
        optimizer.step()
    (free,) = beam_search(model, [fact], longest=40, beam=20)
    (found,) = beam_search(model, [fact], 40, 20, [constraint(tokens, SCHEMA, "Author", 1)])
    grammar = RuleGrammar(SCHEMA, "Author", 1)
    assert not all(grammar.is_rule(tokens.decode(h.path[:-1])) for h in free)
    assert len(found) >= 5
    for hypothesis in found:
        rule = parse_rule(tokens.decode(hypothesis.path[:-1]))
        assert rule.predicate == "Author"
        for atom in rule.body:
            known = {column.name for column in SCHEMA.table(atom.table).columns}
            assert {column for column, _ in atom.columns} <= known
