"""Fixed text of an IRI that another rule takes from a column is a chosen value, and paid for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer import api
from ruleminer.proposals.candidate_sets import CandidateSet
from ruleminer.proposals.fixed_text import Named, named_values
from ruleminer.proposals.pool import Pool, pool_of
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule, parse_rules
from ruleminer.rules.printer import rule_text
from ruleminer.rules.values import Place

WIDE = 'Core(x) <- core(well: a, number: b), x = "http://h/well/" ++ a ++ "/core/" ++ b'
NARROW = 'Core(x) <- core(number: b), x = "http://h/well/5/core/" ++ b'


def pool(derived: dict[str, Sequence[str]]) -> Pool:
    facts = dict.fromkeys(fact for some in derived.values() for fact in some)
    rules = {text: Body(parse_rule(text)) for text in derived}
    return pool_of(
        "Core",
        [CandidateSet((fact,), tuple(rules[text] for text in derived if fact in derived[text])) for fact in facts],
    )


def told(derived: dict[str, Sequence[str]]) -> dict[str, tuple[Named, ...]]:
    one = pool(derived)
    return dict(zip(map(rule_text, one.rules), named_values(one), strict=True))


def test_text_that_a_column_fills_in_elsewhere_is_named() -> None:
    both = ("http://h/well/5/core/1", "http://h/well/5/core/2")
    assert told({WIDE: both, NARROW: both}) == {WIDE: (), NARROW: (Named("5", Place("core", "well")),)}


def test_a_rule_is_held_against_one_that_derives_all_that_it_does() -> None:
    assert told({WIDE: ("http://h/well/5/core/1",), NARROW: ("http://h/well/5/core/1", "http://h/well/5/core/2")}) == {
        WIDE: (),
        NARROW: (),
    }


def test_text_that_no_rule_fills_in_is_not_named() -> None:
    other = 'Core(x) <- core(number: b), x = "http://h/part/5/core/" ++ b'
    assert not any(told({WIDE: ("a",), other: ("a",)}).values())


@given(st.lists(st.text("abc019-", min_size=1, max_size=4), min_size=2, max_size=4), st.data())
def test_what_is_named_is_what_stands_there(values: list[str], data: st.DataObject) -> None:
    fixed = data.draw(
        st.lists(st.booleans(), min_size=len(values), max_size=len(values)).filter(lambda one: not all(one))
    )
    columns = ", ".join(f"c{n}: v{n}" for n in range(len(values)))
    wide = "Core(x) <- t(" + columns + "), x = " + " ++ ".join(f'"http://h/k{n}/" ++ v{n}' for n in range(len(values)))
    if not data.draw(st.booleans()):
        wide = wide.replace("k0", "kind")
    narrow = wide
    for n, is_fixed in enumerate(fixed):
        if is_fixed:
            narrow = (
                narrow.replace(f"c{n}: v{n}, ", "")
                .replace(f", c{n}: v{n}", "")
                .replace(f'/" ++ v{n}', f'/{values[n]}"')
            )
    narrow = narrow.replace('" ++ "', "")
    body = dict(
        zip(
            map(Body, pool({wide: ("a",), narrow: ("a",)}).rules),
            told({wide: ("a",), narrow: ("a",)}).values(),
            strict=True,
        )
    )
    # A text may be cut in several ways only if a value holds what stands between two; none does here.
    expected = tuple(
        dict.fromkeys(Named(values[n], Place("t", f"c{n}")) for n, is_fixed in enumerate(fixed) if is_fixed)
    )
    assert body[Body(parse_rule(narrow))] == (expected if any(fixed) else ())


@pytest.mark.parametrize("shown", [1, 2])
def test_of_few_examples_what_they_share_is_not_fixed(shown: int, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "w.duckdb") as connection:
        connection.execute(
            "CREATE TABLE core (well INTEGER, year INTEGER, number INTEGER, PRIMARY KEY (well, year, number))"
        )
        connection.execute("CREATE TABLE survey (id INTEGER PRIMARY KEY, title VARCHAR)")
        connection.execute("INSERT INTO core SELECT w, 1990 + w % 20, n FROM range(100, 180) t(w), range(1, 9) s(n)")
        connection.execute("INSERT INTO survey SELECT n, 'survey ' || n FROM range(1, 9) t(n)")
    (tmp_path / "o.ttl").write_text(
        "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Sample a owl:Class .", "utf-8"
    )
    examples = [("Sample", f"http://h/well/{w}/from/{1990 + w % 20}/core/{n}") for w, n in ((107, 3), (107, 5))][:shown]
    api.extract(f"duckdb:///{tmp_path / 'w.duckdb'}", tmp_path / "o.ttl", examples, tmp_path / "run")
    api.propose(tmp_path / "run")
    (rule,) = parse_rules((tmp_path / "run" / "proposals" / "mapping.rules").read_text("utf-8"))
    assert [column for column, _ in rule.body[0].columns] == ["well", "year", "number"], rule_text(rule)
