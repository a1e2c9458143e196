"""A rule whatever its predicate: equal by content, and cheap to look up."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Rule
from tests.rules.strategies import rules


@given(rules(), rules())
def test_bodies_are_equal_if_the_rules_are_but_for_their_predicates(one: Rule, other: Rule) -> None:
    assert Body(one) == Body(replace(one, predicate=other.predicate))
    assert hash(Body(one)) == hash(Body(replace(one, predicate=other.predicate)))
    assert (Body(one) == Body(other)) == (replace(one, predicate="p") == replace(other, predicate="p"))
    assert len({Body(one), Body(other)}) == 1 + (Body(one) != Body(other))


@given(rules())
def test_a_body_gives_its_rule_to_any_predicate_and_can_be_written_down(rule: Rule) -> None:
    assert Body(rule).of(rule.predicate) == rule
    assert Body(parse_rule(Body(rule).text)) == Body(rule)


def test_the_shorter_body_comes_first_then_the_alphabet() -> None:
    texts = ["P(x) <- b(i: x)", "P(x) <- a(i: x)", "P(x) <- a(i: x), b(i: x)", "LongName(x) <- c(i: x)"]
    ordered = sorted((Body(parse_rule(text)) for text in texts), key=lambda body: body.order)
    assert [rule_text(body.of("P")).partition(" <- ")[2] for body in ordered] == [
        "a(i: x)",
        "b(i: x)",
        "c(i: x)",
        "a(i: x), b(i: x)",
    ]
