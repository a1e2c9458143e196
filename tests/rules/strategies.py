"""Hypothesis strategies for the rule language: any rule, with any names and constants."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from hypothesis import strategies as st

from ruleminer.rules.parser import joined
from ruleminer.rules.transformations import TRANSFORMATIONS, WRITTEN, parameter_problem
from ruleminer.rules.values import Atom, Concat, Constant, Empty, Rule, Transformed, Variable

_HOSTILE = [
    "select",
    'a"b',
    "a'b",
    "a b",
    "%s",
    "%",
    ";--",
    "\\",
    "true",
    "concat",
    "Ωμέγα",
    "?",
    "x\ty",
    "né",
    "-1",
    "1a",
]

# Databases refuse NUL, and lone surrogates are not text.
texts = st.one_of(
    st.sampled_from(_HOSTILE),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12),
)
names = texts.filter(bool)
variable_names = st.from_regex(r"[a-z][a-z0-9_]{0,3}", fullmatch=True).filter(
    lambda n: n not in ("true", "false", "null")
)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9)
constants = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    decimals.map(Decimal),
    st.booleans(),
    st.dates(date(1000, 1, 1), date(9999, 12, 31)),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    texts,
).map(Constant.of)


def transformations(variables: st.SearchStrategy[Variable]) -> st.SearchStrategy[Transformed]:
    """Any transformation of a variable, with any parameter that it takes."""
    parameters: dict[str, st.SearchStrategy[int | str | Decimal]] = {
        "before": names,
        "after": names,
        "field": names.filter(lambda name: parameter_problem("field", (name,)) is None),
        "item": st.integers(1, 1000),
        "scale": st.integers(0, 12),
        "day": st.sampled_from(WRITTEN),
        "moment": st.sampled_from(WRITTEN),
        "times": st.sampled_from([Decimal(f"1e{places}") for places in range(-6, 7) if places]),
    }
    return st.one_of(
        *(
            st.builds(Transformed, st.just(name), variables, st.tuples(parameters[name]))
            if name in parameters
            else st.builds(Transformed, st.just(name), variables)
            for name in TRANSFORMATIONS
        )
    )


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """A rule that binds what it uses."""
    pool = draw(st.lists(variable_names, min_size=4, max_size=6, unique=True))
    body_variables = [Variable(name) for name in pool[:3]]
    terms = st.one_of(st.sampled_from(body_variables), constants, st.just(Empty()))
    body = [
        Atom(
            draw(names),
            tuple((name, draw(terms)) for name in draw(st.lists(names, min_size=1, max_size=3, unique=True))),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    bound = [variable for atom in body for variable in atom.variables]
    if not bound:
        body.append(Atom(draw(names), ((draw(names), body_variables[0]),)))
        bound = [body_variables[0]]
    definitions = []
    if draw(st.booleans()):
        some = st.one_of(texts, st.sampled_from(bound), transformations(st.sampled_from(bound)))
        parts = joined(draw(st.lists(some, max_size=4)))
        definitions.append((Variable(pool[3]), Concat(parts)))
    arguments = [variable for variable, _ in definitions]
    arguments += draw(st.lists(st.sampled_from(bound), min_size=1 - len(arguments), max_size=1))
    exclusions = draw(st.lists(st.tuples(st.sampled_from(bound), constants), max_size=2))
    return Rule(draw(names), tuple(arguments), tuple(body), tuple(definitions), tuple(exclusions))
