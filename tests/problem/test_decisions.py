"""What the user said is data: lines that are only added, read back as they were, and come to one last word."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleminer.errors import InputError
from ruleminer.problem.decisions import (
    Said,
    UserDecision,
    UserDecisions,
    append_decisions,
    decided_facts,
    read_decisions,
)
from ruleminer.problem.examples import read_examples
from ruleminer.problem.ontology import read_ontology
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule

ONE = parse_rule("Author(x) <- person(id: x)")
OTHER = parse_rule('Author(x) <- person(id: x, "the flag": true)')
ONTOLOGY = """
@prefix : <http://e/#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Author a owl:Class . :name a owl:DatatypeProperty .
"""

_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), min_size=1, max_size=20)


def undo(line: UserDecision) -> UserDecision:
    return UserDecision("", Said.TAKEN_BACK, about=line.id)


@given(st.lists(st.tuples(_texts, _texts), min_size=1, max_size=5))
def test_lines_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, facts: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "decisions.csv"
    lines = [UserDecision(term, Said.HOLDS, (term, value)) for term, value in facts]
    lines.append(UserDecision("Author", Said.EDITED, rules=(ONE, OTHER), about="what was\nedited"))
    append_decisions(path, lines[:1])
    append_decisions(path, lines[1:])
    assert read_decisions(path).lines == tuple(lines)


def test_a_line_that_is_sent_twice_is_written_once(tmp_path: Path) -> None:
    line = UserDecision("Author", Said.HOLDS, ("17",))
    append_decisions(tmp_path / "d.csv", [line])
    assert append_decisions(tmp_path / "d.csv", [line, line]).lines == (line,)
    assert len((tmp_path / "d.csv").read_text().splitlines()) == 2


def test_a_line_that_was_cut_off_is_left_out_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    first, second = (UserDecision("Author", Said.HOLDS, (key,)) for key in ("17", "18"))
    append_decisions(path, [first, second])
    whole = path.read_bytes()
    for cut in range(len(whole) - len("18,,,\n") - 60, len(whole) - 5):
        path.write_bytes(whole[:cut])
        known = read_decisions(path).lines
        assert known == (first,)
        again = UserDecision("Author", Said.FAILS, ("19",))
        append_decisions(path, [again])
        assert read_decisions(path).lines == (first, again)


@pytest.mark.parametrize("broken", ['a,b,"Author,holds,1,,,', '"a', 'a,b,Author,holds,"1"x,,,'])
def test_a_quote_left_open_before_other_lines_is_told_and_they_are_not_lost(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "d.csv"
    text = f"id,when,term,said,arg1,arg2,rule,about\nz,b,Author,holds,1,,,\n{broken}\nc,d,Author,holds,2,,,\n"
    for end in ("e,f,Author,holds,3,,,", 'e,f,Author,holds,"3",,,', 'e,f,Author,holds,"3'):
        path.write_text(text + end)
        with pytest.raises(InputError, match="line 3"):
            append_decisions(path, [UserDecision("Author", Said.HOLDS, ("4",))])
        assert path.read_text() == text + end


def test_rules_of_several_lines_that_were_cut_off_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    append_decisions(path, [UserDecision("Author", Said.PINNED, rules=(ONE, OTHER))])
    path.write_text(path.read_text()[:-12])
    assert "\n" in path.read_text().partition("\n")[2]
    assert not read_decisions(path).lines


def test_the_last_word_on_a_fact_counts_and_can_be_taken_back() -> None:
    yes, no = UserDecision("Author", Said.HOLDS, ("1",)), UserDecision("Author", Said.FAILS, ("1",))
    assert UserDecisions((yes, no)).facts == {"Author": {("1",): Said.FAILS}}
    back = undo(no)
    assert UserDecisions((yes, no, back)).facts == {"Author": {("1",): Said.HOLDS}}
    assert UserDecisions((yes, no, back, undo(back))).facts == {"Author": {("1",): Said.FAILS}}


def test_a_rule_is_kept_until_it_is_rejected_and_rejected_until_it_is_kept() -> None:
    accept, reject = (
        UserDecision("Author", Said.ACCEPTED, rules=(ONE,)),
        UserDecision("Author", Said.REJECTED, rules=(ONE,)),
    )
    kept = UserDecisions((reject, accept))
    assert kept.kept["Author"] == accept
    assert Body(ONE) not in kept.rejected["Author"]
    gone = UserDecisions((accept, reject))
    assert not gone.kept
    assert Body(ONE) in gone.rejected["Author"]
    none = UserDecision("Author", Said.NO_RULE)
    assert UserDecisions((accept, none)).kept["Author"] == none
    assert UserDecisions((none, accept)).kept["Author"] == accept


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a,b,Author,maybe,1,,,", "line 2: a decision is one of holds"),
        ("a,b,Author,holds,,,,", "needs a fact"),
        ("a,b,Author,accepted,,,,", "needs a rule"),
        (",b,Author,holds,1,,,", "needs an id"),
        ("a,b,Author,accepted,,,Author(x,", "expected"),
        ("a,b", "line 2: 2 fields where there should be 8"),
        ('a,"b', "line 2: broken CSV"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"id,when,term,said,arg1,arg2,rule,about\n{line}\n")
    with pytest.raises(InputError, match=told):
        read_decisions(path)


def test_a_file_of_something_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("predicate,arg1\nAuthor,1\n")
    with pytest.raises(InputError, match="the header must be id,when"):
        read_decisions(tmp_path / "d.csv")


def test_facts_go_back_as_examples_with_their_sign(tmp_path: Path) -> None:
    (tmp_path / "o.ttl").write_text(ONTOLOGY)
    ontology = read_ontology(tmp_path / "o.ttl")
    lines = [
        UserDecision("Author", Said.HOLDS, ("1",)),
        UserDecision("Author", Said.FAILS, ("2",)),
        UserDecision("Author", Said.UNKNOWN, ("3",)),
        UserDecision("name", Said.HOLDS, ("1", "Ann, a woman")),
        UserDecision("Author", Said.ACCEPTED, rules=(ONE,)),
    ]
    append_decisions(tmp_path / "decisions.csv", lines)
    assert [(f.predicate, f.arguments, f.positive) for f in decided_facts(tmp_path / "decisions.csv", ontology)] == [
        ("Author", ("1",), True),
        ("Author", ("2",), False),
        ("name", ("1", "Ann, a woman"), True),
    ]
    facts = read_examples([tmp_path / "decisions.csv"], ontology).facts
    assert facts["arg1"].to_pylist() == ["1", "2", "1"]
    assert facts["positive"].to_pylist() == [True, False, True]
