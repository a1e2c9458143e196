"""Transformations: what Python says is what the SQL of every engine does, for any value and parameter."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ruleminer.errors import DatabaseError, SyntaxProblem
from ruleminer.rules.columns import ColumnType
from ruleminer.rules.dialects import DUCKDB, POSTGRES, SQLITE
from ruleminer.rules.lexical import lexical_form
from ruleminer.rules.parser import parse_rule, parse_templates
from ruleminer.rules.sql import rule_query
from ruleminer.rules.transformations import TRANSFORMATIONS, WRITTEN, transformed
from ruleminer.rules.values import Atom, Concat, Kind, Rule, Scalar, Transformed, Variable

from .strategies import transformations
from .test_sql import TYPES, Engines

A, X = Variable("a"), Variable("x")
WORDS = [
    "Y",
    "no",
    "TRUE",
    "f",
    " 1 ",
    "012.50",
    "-0.0",
    "+7",
    "1.",
    ".5",
    "a, b",
    "me@host",
    "-",
    "é/+ ~",
    "\U0001f600",
]
DAYS = [
    "31.12.2021",
    "02/29/2020",
    "02/29/2021",
    "31-11-2021",
    "2021/01/06",
    "2021-01-06T10:00:00Z",
    "2000-02-29 23:59",
    "1900-02-29",
    "06.01.2021 24:00",
    "06.01.2021 10:60:00",
    "06.01.2021 09:08:07",
    "06.01.2021x",
    "06.01.2021 1a:00",
    "0000-01-01",
    "20210106",
    "20210106103000",
    "20210106103060",
    "20211306",
    "1640995199",
    "1640995199\n",
    "99999999",
    "100000000",
    "1640995199250",
    "1640995199000",
    "99999999999999",
]
_INNER: list[object] = ["x", True, None, 12, -3, 1.5, {"n": 1}]
words = st.one_of(
    st.sampled_from([*WORDS, *DAYS]),
    st.dates(date(1, 1, 1)).flatmap(
        lambda day: st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S", "%Y%m%d"]).map(day.strftime)
    ),
    st.text(st.sampled_from("aB ,-./@01%é'\""), max_size=8),
    st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs", "Co", "Cn", "L", "Zs")), max_size=5),
    st.dictionaries(st.sampled_from(["a", "b c"]), st.sampled_from(_INNER), max_size=2).map(json.dumps),
    st.lists(st.sampled_from(["x", "y z", 7, False]), max_size=3).map(json.dumps),
)
VALUES: dict[Kind, st.SearchStrategy[Scalar]] = {
    Kind.INTEGER: st.one_of(
        st.sampled_from([0, 1, 20210106, 20210230]), st.integers(10**8, 2**31 - 1), st.integers(-(2**31), 2**31 - 1)
    ),
    Kind.DECIMAL: st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-999, max_value=999),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: st.dates(date(1000, 1, 1)),
    Kind.TIMESTAMP: st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    Kind.TEXT: words,
}


@pytest.fixture(scope="module")
def engines(postgres_url: str) -> Engines:
    return Engines(postgres_url)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Transformed, Kind, list[Scalar]]:
    function = draw(transformations(st.just(A)))
    kind = draw(st.sampled_from(sorted(TRANSFORMATIONS[function.name].takes)))
    values = draw(st.lists(VALUES[kind], min_size=1, max_size=6))
    if function.name in ("before", "after"):
        function = Transformed(function.name, A, (draw(st.sampled_from([",", ", ", "@", "'", " ", "\n", "é"])),))
    if function.name == "field":
        function = Transformed("field", A, (draw(st.sampled_from(["a", "b c"])),))
    if function.name == "item":
        function = Transformed("item", A, (draw(st.integers(1, 3)),))
    return function, kind, values


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases())
def test_every_engine_makes_what_python_makes(engines: Engines, case: tuple[Transformed, Kind, list[Scalar]]) -> None:
    function, kind, values = case
    if function.name in ("lower", "upper"):  # SQLite folds no other letters, PostgreSQL those of its locale
        values = [value for value in values if str(value).isascii()]
    engines.create("held", {"c": kind}, [[value] for value in values])
    rule = Rule("H", (X,), (Atom("held", (("c", A),)),), ((X, Concat((function,))),))
    expected = {(made,) for value in values if (made := transformed(function, lexical_form(value))) is not None}
    for dialect, _ in engines.each():
        if function.name in ("field", "item") and not dialect.checks_json:
            continue
        query = rule_query(rule, dialect, lambda *_: ColumnType(kind, TYPES[kind]))
        assert engines.run(dialect, query) == expected, (dialect.name, function, values)


DAY_FORMS = [Transformed(name, A, (how,)) for name in ("day", "moment") for how in WRITTEN]
DAY_TEXTS = [*DAYS, *WORDS, "12.31.2021", "2021-1-6", "30.02.2020", "\u0661\u0662.01.2021", "20210106\n"]


@pytest.mark.parametrize("function", DAY_FORMS, ids=lambda form: f"{form.name} {form.parameters[0]}")
def test_days_and_moments_are_read_alike_on_every_engine(engines: Engines, function: Transformed) -> None:
    engines.create("held", {"c": Kind.TEXT}, [[text] for text in DAY_TEXTS])
    rule = Rule("H", (X,), (Atom("held", (("c", A),)),), ((X, Concat((function,))),))
    expected = {(made,) for text in DAY_TEXTS if (made := transformed(function, text)) is not None}
    assert expected
    for dialect, _ in engines.each():
        query = rule_query(rule, dialect, lambda *_: ColumnType(Kind.TEXT, TYPES[Kind.TEXT]))
        assert engines.run(dialect, query) == expected, dialect.name


@pytest.mark.parametrize("sql_type", ["json", "jsonb"])
def test_json_columns_of_postgresql_have_fields(engines: Engines, sql_type: str) -> None:
    cursor = engines.postgres.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS documents; CREATE TEMP TABLE documents (c {sql_type})")
    texts = ['{"a": "x", "b c": 1.50}', '{"a": true}', '{"a": null, "b c": [1]}', '["a"]', "7", '{"b c": -0}']
    for text in texts:
        cursor.execute("INSERT INTO documents VALUES (%s)", (text,))
    for name in ("a", "b c"):
        rule = parse_rule(f'H(x) <- documents(c: a), x = field(a, "{name}")')
        found = engines.run(POSTGRES, rule_query(rule, POSTGRES, lambda *_: ColumnType(Kind.TEXT, sql_type)))
        assert found == {
            (made,) for t in texts if (made := transformed(Transformed("field", A, (name,)), t)) is not None
        }


def test_arrays_have_items_on_the_engines_that_have_arrays(engines: Engines) -> None:
    rule = parse_rule("H(x) <- lists(c: a), x = item(a, 2)")
    for dialect, engine in engines.each():
        if dialect is SQLITE:
            continue
        engine.execute("DROP TABLE IF EXISTS lists")
        engine.execute(f"CREATE {'' if dialect is DUCKDB else 'TEMP'} TABLE lists (c VARCHAR[])")
        engine.execute("INSERT INTO lists VALUES (ARRAY['a', 'it''s, \"b\"']), (ARRAY['c']), (NULL)")
        query = rule_query(rule, dialect, lambda *_: ColumnType(Kind.TEXT, "text[]"))
        assert engines.run(dialect, query) == {('it\'s, "b"',)}


def test_a_column_that_a_transformation_does_not_take_is_refused() -> None:
    rule = parse_rule("H(x) <- t(c: a), x = year(a)")
    with pytest.raises(DatabaseError, match=r"year\(\) takes a date or timestamp, and the column is a text \(TEXT\)"):
        rule_query(rule, DUCKDB, lambda *_: ColumnType(Kind.TEXT, "TEXT"))
    rule = parse_rule('H(x) <- t(c: a), x = field(a, "n")')
    with pytest.raises(DatabaseError, match=r"postgresql: field\(\) takes a column of json or an array, not TEXT"):
        rule_query(rule, POSTGRES, lambda *_: ColumnType(Kind.TEXT, "TEXT"))


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("yaer(a)", "no transformation yaer; there are after, before, boolean"),
        ("year(a, 2)", "year takes a variable and nothing else"),
        ("times(a, 3)", "times takes a variable and a power of ten, such as 0.01 or 100"),
        ("before(a)", "before takes a variable and a text that separates"),
        ("item(a, 0)", "item takes a variable and a position, 1 or more"),
        ('day(a, "DYM")', "day takes a variable and how it is written, one of DMY, MDY, YMD, seconds, milliseconds"),
        ("scale(a, true)", "scale takes no such parameter"),
        ("year(b)", "nothing binds variable b"),
    ],
)
def test_a_transformation_that_is_none_is_pointed_at(definition: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_rule(f"H(x) <- t(c: a), x = {definition}")
    assert message in str(caught.value)


def test_templates_do_not_name_transformations() -> None:
    with pytest.raises(SyntaxProblem, match="a template names no transformation"):
        list(parse_templates("t: ?H(x) <- ?T(?C: a), x = year(a)"))


@pytest.mark.parametrize(
    ("function", "text", "made"),
    [
        (Transformed("times", A, (Decimal("0.01"),)), "199", "1.99"),
        (Transformed("times", A, (Decimal("0.01"),)), "-5", "-0.05"),
        (Transformed("times", A, (Decimal(100),)), "0.5", "50"),
        (Transformed("scale", A, (2,)), "12.5", "12.50"),
        (Transformed("scale", A, (1,)), "12.55", None),
        (Transformed("number", A), " 007.50", "7.5"),
        (Transformed("boolean", A), "Yes", "true"),
        (Transformed("boolean", A), "maybe", None),
        (Transformed("boolean", A), "J", "true"),
        (Transformed("boolean", A), "Nein", "false"),
        (Transformed("date", A), "2021-01-06 00:00:00", "2021-01-06"),
        (Transformed("day", A, ("DMY",)), "31.12.2021 10:00", "2021-12-31"),
        (Transformed("day", A, ("MDY",)), "12/31/2021", "2021-12-31"),
        (Transformed("day", A, ("DMY",)), "29/02/2021", None),
        (Transformed("day", A, ("YMD",)), "20200229", "2020-02-29"),
        (Transformed("day", A, ("seconds",)), "1640995199", "2021-12-31"),
        (Transformed("day", A, ("seconds",)), "0", None),
        (Transformed("moment", A, ("seconds",)), "1640995199", "2021-12-31 23:59:59"),
        (Transformed("moment", A, ("milliseconds",)), "1640995199250", "2021-12-31 23:59:59.25"),
        (Transformed("moment", A, ("YMD",)), "20210106103000", "2021-01-06 10:30:00"),
        (Transformed("moment", A, ("DMY",)), "06.01.2021 10:30", "2021-01-06 10:30:00"),
        (Transformed("moment", A, ("DMY",)), "06.01.2021", None),
        (Transformed("plus", A), "São Paulo", "S%C3%A3o+Paulo"),
        (Transformed("encoded", A), "São Paulo", "São%20Paulo"),
    ],
)
def test_what_transformations_make(function: Transformed, text: str, made: str | None) -> None:
    assert transformed(function, text) == made
