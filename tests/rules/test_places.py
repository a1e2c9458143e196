"""Where variables and constants stand in a rule, against a plain look at its body."""

from __future__ import annotations

from hypothesis import given

from ruleminer.rules.parser import parse_rule
from ruleminer.rules.values import Constant, Place, Position, Rule, Variable, variable_in

from .strategies import rules

X, Y, A, B = map(Variable, "xyab")
PAPERS = parse_rule(
    'of(x, y) <- Paper(ID: a, year: 2014, by: b), Paper(ID: b, "of": y), Person(ID: y, is: true), '
    'x = "http://p/" ++ b ++ "/" ++ a'
)


def looked_up(rule: Rule) -> list[tuple[int, str, str, Variable | Constant]]:
    """Every term of the body, with its atom, table and column."""
    return [(at + 1, atom.table, *cell) for at, atom in enumerate(rule.body) for cell in atom.columns]


@given(rules())
def test_positions_and_constants_are_all_of_the_body(rule: Rule) -> None:
    terms = looked_up(rule)
    for variable, positions in rule.positions.items():
        assert [tuple(position) for position in positions] == [t[:3] for t in terms if t[3] == variable]
    assert list(rule.positions) == list(dict.fromkeys(t[3] for t in terms if isinstance(t[3], Variable)))
    assert [(*at, constant) for at, constant in rule.constants] == [t for t in terms if isinstance(t[3], Constant)]
    assert sum(map(len, rule.positions.values())) + len(rule.constants) + len(rule.empty) == len(terms)


@given(rules())
def test_joins_are_the_positions_of_variables_that_stand_twice(rule: Rule) -> None:
    assert rule.joins == tuple(found for found in rule.positions.values() if len(found) > 1)
    standing = [term for *_, term in looked_up(rule) if isinstance(term, Variable)]
    assert sum(len(join) - 1 for join in rule.joins) == len(standing) - len(set(standing))


@given(rules())
def test_an_argument_comes_from_the_places_of_its_variables(rule: Rule) -> None:
    defined = dict(rule.definitions)
    for argument in rule.arguments:
        parts = defined[argument].parts if argument in defined else (argument,)
        variables = [found for part in parts if (found := variable_in(part)) is not None]
        assert list(rule.variables_of(argument)) == variables
        assert list(rule.places_of(argument)) == [(t[1], t[2]) for t in looked_up(rule) if t[3] in variables]
        if variables:
            assert rule.key_places(argument) == rule.places_of(variables[0])
        else:
            assert rule.key_places(argument) == (Place(rule.body[0].table, ""),)
            assert rule.places_of(argument) == ()


def test_the_answers_of_one_rule() -> None:
    assert PAPERS.positions == {
        A: (Position(1, "Paper", "ID"),),
        B: (Position(1, "Paper", "by"), Position(2, "Paper", "ID")),
        Y: (Position(2, "Paper", "of"), Position(3, "Person", "ID")),
    }
    assert PAPERS.joins == (PAPERS.positions[B], PAPERS.positions[Y])
    assert PAPERS.constants == (
        (Position(1, "Paper", "year"), Constant.of(2014)),
        (Position(3, "Person", "is"), Constant.of(True)),
    )
    assert PAPERS.places_of(X) == (Place("Paper", "ID"), Place("Paper", "by"), Place("Paper", "ID"))
    assert PAPERS.key_places(X) == (Place("Paper", "by"), Place("Paper", "ID"))
    assert PAPERS.places_of(Y) == PAPERS.key_places(Y) == (Place("Paper", "of"), Place("Person", "ID"))
    assert PAPERS.body[0].columns_of(A, B) == ("ID", "by")
