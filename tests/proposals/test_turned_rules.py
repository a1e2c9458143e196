"""Which rule of a pool is another's inverse."""

from __future__ import annotations

from ruleminer.proposals.turned_rules import both_ways, turned_round
from ruleminer.rules.parser import parse_rule


def turned(*texts: str) -> list[int]:
    return turned_round([both_ways(parse_rule(text)) for text in texts], range(len(texts)))


def test_a_link_and_its_other_direction_are_inverses() -> None:
    rules = ("p(x, y) <- song(id: x, album: y)", "p(x, y) <- song(album: x, id: y)", "p(x) <- song(id: x)")
    assert turned(*rules) == [1, 0, -1]
    assert turned("p(x, y) <- song(album: a, id: x), album(id: a, band: y)", rules[1]) == [-1, -1]


def test_a_rule_between_keys_of_several_columns_is_not_its_own_inverse() -> None:
    there = 'p(x, y) <- line(o: a, n: b, po: c, pn: d), x = a ++ "/" ++ b, y = c ++ "/" ++ d'
    back = 'p(x, y) <- line(o: a, n: b, po: c, pn: d), x = c ++ "/" ++ d, y = a ++ "/" ++ b'
    assert turned(there) == [-1]
    assert turned(there, back) == [1, 0]


def test_what_joins_otherwise_excludes_or_makes_other_values_is_no_inverse() -> None:
    there = "p(x, y) <- r(a: x, b: i), s(c: i, d: j), q(e: j, f: y)"
    back = "p(y, x) <- r(a: x, b: i), s(c: i, d: j), q(e: j, f: y)"
    assert turned(there, back) == [1, 0]
    assert turned(there, back.replace("s(c: i, d: j)", "s(c: j, d: i)")) == [-1, -1]
    assert turned("p(x, y) <- r(a: x, b: y), x <> 3", "p(y, x) <- r(a: x, b: y)") == [-1, -1]
    assert turned("p(x, y) <- r(a: x, b: y), x <> 3", "p(y, x) <- r(a: x, b: y), x <> 3") == [1, 0]
    cut = 'p(x, y) <- r(a: b, c: y), x = before(b, "-")'
    assert turned(cut, cut.replace("p(x, y)", "p(y, x)")) == [1, 0]
    assert turned(cut, cut.replace("p(x, y)", "p(y, x)").replace('"-"', '"/"')) == [-1, -1]
