"""The rule language: what is printed parses back, and what does not parse is pointed at."""

from __future__ import annotations

import pytest
from hypothesis import given

from ruleminer.errors import SyntaxProblem
from ruleminer.problem.template_files import read_templates
from ruleminer.rules.canonical import canonical
from ruleminer.rules.parser import parse_rule, parse_rules, parse_templates
from ruleminer.rules.printer import rule_text
from ruleminer.rules.templates import Restriction, Slot, Spread
from ruleminer.rules.values import Constant, Kind, Rule, Variable

from .strategies import rules


@given(rules())
def test_any_rule_prints_on_one_line_and_parses_back(rule: Rule) -> None:
    text = rule_text(rule)
    assert len(text.splitlines()) == 1
    assert parse_rule(text) == rule


@given(rules())
def test_the_canonical_rule_is_its_own_canonical_rule(rule: Rule) -> None:
    once = canonical(rule)
    assert canonical(once) == once
    assert parse_rule(rule_text(once)) == once
    assert len(once.exclusions) == len(rule.exclusions)


def test_rules_of_a_file_follow_each_other_over_line_breaks_and_comments() -> None:
    text = """
    # the mapping of a small conference
    Author(x) <- Person(ID: x, is_Author: true)
    hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y),   # the paper's side
                       Author(ID: y)
    """
    assert [rule_text(rule) for rule in parse_rules(text)] == [
        "Author(x) <- Person(ID: x, is_Author: true)",
        "hasAuthor(x, y) <- Paper(ID: x, hasAuthor: y), Author(ID: y)",
    ]


def test_constants_keep_their_kind() -> None:
    rule = parse_rule('H(x) <- T(a: x, b: 1, c: 1.0, d: true, e: 2014-05-04, f: 2014-05-04T10:00:00, g: "1")')
    kinds = [term.kind for _, term in rule.body[0].columns if isinstance(term, Constant)]
    assert kinds == [Kind.INTEGER, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP, Kind.TEXT]
    assert Constant.of(1) != Constant.of(True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Author(x) <- Person(ID: y)", "line 1, column 1: nothing binds variable x of the head"),
        ("Author(x <- Person(ID: x)", "line 1, column 10: expected ',' or ')' in the head, found <-"),
        ("Author(x) Person(ID: x)", "line 1, column 11: expected '<-' behind the head, found Person"),
        ("Author(x) <-\n  Person(ID x)", "line 2, column 13: expected ':' behind the column, found x"),
        ('Author(x) <- Person(ID: x, n: "a)', "line 1, column 31: text without closing quote"),
        ("Author(x) <- Person(ID: x, d: 2014-02-31)", "line 1, column 31: 2014-02-31 is not a valid date"),
        ("Author(x) <- Person(ID: x, ID: 3)", "line 1, column 28: column ID stands twice in one atom"),
        ("Author(x) <- Person(ID: a), x = b", "line 1, column 1: nothing binds variable b: it stands in no atom"),
        ("?H(x) <- Person(ID: x)", "line 1, column 1: ?H is a template variable; a rule has none"),
        ("Author(true) <- Person(ID: true)", "line 1, column 8: true is a constant, not a variable"),
        (r'Author(x) <- Person(ID: x, n: "\q")', r"line 1, column 32: unknown escape \q"),
        ("Author(x) <- Person(ID: x) $", "line 1, column 28: unexpected character '$'"),
        ("", "line 1, column 1: expected one rule, found 0"),
    ],
)
def test_broken_rule_text_is_pointed_at(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_rule(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t: ?H(x) <- ?T(?*: a...)", "t.rules:1:4: a... must be used by exactly one concat(a...)"),
        ("t: ?H(x) <- ?T(?C: y), x = concat(a...)", "t.rules:1:4: nothing binds a...: write '?*: a...' in an atom"),
        ("t: ?H(x, y) <- ?T(?C: x)", "t.rules:1:4: nothing binds variable y of the head"),
        ("refine: ?H(x) <- ?T(?C: x)", "t.rules:1:7: expected the template's name behind 'refine', found :"),
        (
            "refin t: ?H(x) <- ?T(?C: x)",
            "t.rules:1:7: expected ':' behind refin (only 'refine' may stand before a template's name), found t",
        ),
        ("t: ?H(x) <- ?T(?C@kye: x)", "t.rules:1:19: expected 'key', 'link', 'code' or 'any' behind '@', found kye"),
        ("t: ?H(x) <- ?T(?T: x)", "t.rules:1:4: ?T stands for a table and for a column: use two names"),
        (
            't: ?H(x) <- ?T(?C: x, ?D: a), z = "p" ++ a',
            "t.rules:1:4: variable z is defined, but does not stand in the head",
        ),
        ("t: ?H(x) <- ?T(?C: x)\nt: ?H(x) <- ?T(?C: x)", "t.rules:2:1: a second template called t"),
    ],
)
def test_broken_templates_are_pointed_at(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        list(parse_templates(text, "t.rules"))
    assert str(caught.value) == message


def test_a_template_may_refine() -> None:
    plain, refining = parse_templates("s: ?H(x) <- ?T(?C: x)\nrefine t: ?H(x) <- ?T(?C: x, ?D@code: ?k)")
    assert (plain.name, plain.refines) == ("s", False)
    assert (refining.name, refining.refines) == ("t", True)
    assert refining.body[0].columns[1] == (Slot("D", Restriction.CODE), Slot("k"))
    with pytest.raises(SyntaxProblem, match="a second template called t"):
        list(parse_templates("t: ?H(x) <- ?T(?C: x)\nrefine t: ?H(x) <- ?T(?C: x)"))


def test_the_shipped_templates_hold_all_shapes() -> None:
    templates = {template.name: template for template in read_templates()}
    assert {
        "class-by-column", "class-by-flag", "class-by-iri", "property-in-table", "property-left-filter",
        "property-right-filter", "property-both-filters", "property-by-join", "property-by-link-table",
        "property-of-iri", "property-to-iri", "property-between-iris",
    } <= set(templates)  # fmt: skip
    refines = [template.refines for template in templates.values()]
    assert any(refines)
    assert refines == sorted(refines), "those that refine come last"
    join = templates["property-by-join"]
    assert join.body[1].columns[0] == (Slot("E", Restriction.KEY), Variable("z"))
    assert templates["class-by-iri"].definitions == ((Variable("x"), Spread("a")),)
