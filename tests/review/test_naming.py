"""A fact that the user names: asked for where no row that is shown would tell as much, and read as examples are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from ruleminer.errors import DatabaseTimeoutError, InputError, SearchTimeError
from ruleminer.problem.decisions import NAMED, Said, UserDecision, read_decisions
from ruleminer.proposals import rule_search
from ruleminer.proposals.answers import Answers
from ruleminer.proposals.draft import DraftRequest, draft_mapping
from ruleminer.proposals.request import ProposeRequest
from ruleminer.review.dialogue import converse, file_answers, told_question
from ruleminer.review.hypotheses import Hypothesis, hypotheses_of
from ruleminer.review.naming import fact_in_fields, typed_fact
from ruleminer.review.questions import NoQuestion, Question
from ruleminer.review.rows import rows_shown
from ruleminer.review.session import ReviewSession, open_review
from ruleminer.rules.body import Body
from ruleminer.rules.parser import parse_rule
from tests.review.conftest import VOCABULARY

_DAY = ("glaze:4", "2021-01-05")


@pytest.fixture
def session(potters: ReviewSession) -> ReviewSession:
    return potters


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReviewSession]:
    """Many tables, two of them with keys of two columns."""
    folder = tmp_path_factory.mktemp("many")
    with duckdb.connect(str(folder / "many.duckdb")) as connection:
        for number in range(12):
            connection.execute(f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, w{number} VARCHAR)")
            connection.execute(f"INSERT INTO t{number} SELECT i, 'w' || i * {number + 3} FROM range(1, 30) t(i)")
        for name in ("flight", "parcel"):
            connection.execute(f"CREATE TABLE {name} (yr INTEGER, seq INTEGER, weight INTEGER, PRIMARY KEY (yr, seq))")
            connection.execute(f"INSERT INTO {name} SELECT i % 20, i, i * 3 FROM range(0, 200) t(i)")
        links = "FOREIGN KEY (y, s) REFERENCES parcel(yr, seq)"
        connection.execute(f"CREATE TABLE stamp (id INTEGER PRIMARY KEY, y INTEGER, s INTEGER, {links})")
        connection.execute("INSERT INTO stamp SELECT 100 + i, i % 20, i FROM range(0, 40) t(i)")
    (folder / "v.ttl").write_text(VOCABULARY)
    draft_mapping(DraftRequest(str(folder / "many.duckdb"), folder / "v.ttl", folder / "run"))
    with open_review(ProposeRequest(run=folder / "run")) as opened:
        yield opened


def test_it_is_asked_for_where_more_rules_are_believed_than_rows_can_be_shown(many: ReviewSession) -> None:
    offered = [parse_rule(f"Zorgle(x) <- t{number}(id: x)") for number in range(12)]
    some = tuple(Hypothesis((rule,), 1.0 / len(offered)) for rule in offered)
    shown = many.questions.about("Zorgle", some, frozenset())
    open_ = many.questions.about("Zorgle", some, frozenset(), may_name=True)
    assert shown is not None
    assert open_ is not None
    assert not shown.is_open
    assert open_.is_open
    assert open_.worth > shown.worth
    question = many.questions.about("Zorgle", some[:2], frozenset(), may_name=True)
    assert question is not None
    assert not question.is_open, "two rules are told apart by a row"


def test_what_more_things_are_called_than_can_be_shown_is_asked_for_by_its_table(many: ReviewSession) -> None:
    with pytest.raises(InputError, match=r"\d+ things are called 5; write the one with its table: t.*:5; t"):
        many.named("Zorgle", ("5",))


def test_a_key_of_several_columns_is_one_of_its_table(many: ReviewSession) -> None:
    for table in ("parcel", "flight"):
        many.named("Zorgle", (f"{table}:3/23",))
        line = many.said.last()
        assert line is not None
        assert line.fact == (f"{table}:3/23",)
        assert [rule.partition("(yr")[0] for rule in many.rules["Zorgle"]] == [f"Zorgle(x) <- {table}"]
        assert [row.table for row in rows_shown([], line.fact, many.derivations)] == [table]
        many.undo()
    bare = many.named("Zorgle", ("3/23",))
    assert isinstance(bare, Question)
    assert {*bare.facts} == {("flight:3/23",), ("parcel:3/23",)}
    texts = many.derivations.texts
    stamped = Body(parse_rule('Zorgle(x) <- stamp(y: a, s: b), x = a ++ "/" ++ b'))
    assert texts.read(stamped, ("parcel:3/23",)) == ("3/23",), "a link leads there"
    assert texts.read(stamped, ("flight:3/23",)) is None
    turned = Body(parse_rule('Zorgle(x) <- parcel(yr: a, seq: b), x = b ++ "/" ++ a'))
    assert texts.spaces(turned) == ((),)


def test_a_name_a_key_and_a_key_with_its_table_are_the_same_thing(session: ReviewSession) -> None:
    for typed in ("kiln 4", "kiln:4", "kiln:kiln 4"):
        changes = session.named("Zorgle", (typed,))
        assert not isinstance(changes, Question)
        line = session.said.last()
        assert line is not None
        assert (line.said, line.fact, line.about) == (Said.HOLDS, ("kiln:4",), NAMED)
        assert session.rules["Zorgle"] == ("Zorgle(x) <- kiln(id: x)",)
        session.undo()


def test_what_several_things_are_called_is_asked_back(session: ReviewSession) -> None:
    heard = session.named("Zorgle", ("twin",))
    assert isinstance(heard, Question)
    assert set(heard.facts) == {("kiln:3",), ("glaze:5",)}
    assert not session.said.lines
    bare = session.named("Zorgle", ("12",))
    assert isinstance(bare, Question), "a key of glazes and of pots"
    assert {fact[0].partition(":")[0] for fact in bare.facts} >= {"glaze", "pot"}
    for place in range(len(bare.facts)):
        assert session.deriving(bare, place), "with a row behind each"


def test_what_is_nothing_here_is_refused_in_one_line(session: ReviewSession) -> None:
    for typed in ("no such thing", "kiln:99"):
        with pytest.raises(InputError) as told:
            session.named("Zorgle", (typed,))
        assert "\n" not in str(told.value)
        assert typed in str(told.value)
    with pytest.raises(InputError, match="two things"):
        typed_fact("kiln:1", session.ontology.find("blipped"))
    assert typed_fact('"glaze, 4"', session.ontology.find("Zorgle")) == ("glaze, 4",)
    assert typed_fact("glaze, 4", session.ontology.find("Zorgle")) == ("glaze, 4",)
    assert typed_fact('"Weird Al" Yankovic', session.ontology.find("Zorgle")) == ('"Weird Al" Yankovic',)
    both = typed_fact('"Weird Al" Yankovic , "a ""b"", c"', session.ontology.find("blipped"))
    assert both == ('"Weird Al" Yankovic', 'a "b", c')
    assert typed_fact("a\rb", session.ontology.find("Zorgle")) == ("a\rb",)
    for strange in ("a" * 200_000, "a,", ",", '"a', ""):
        with pytest.raises(InputError, match="two things"):
            typed_fact(strange, session.ontology.find("blipped"))
    assert typed_fact('pot:1, "glaze, 4"', session.ontology.find("blipped")) == ("pot:1", "glaze, 4")
    assert not session.said.lines


def test_how_a_value_with_a_comma_is_written_is_told_and_the_same_everywhere(session: ReviewSession) -> None:
    blipped = session.ontology.find("blipped")
    with pytest.raises(InputError, match=r'in quotes: "Paris, France"'):
        typed_fact("pot:1, glaze, 4", blipped)
    for texts in (("pot:1", "glaze, 4"), ("pot:1", '"glaze, 4"'), ('"pot:1"', ' "glaze, 4" ')):
        assert fact_in_fields(texts, blipped) == ("pot:1", "glaze, 4"), "on the page each stands in a field"
    assert fact_in_fields(("pot:1", '"say ""aah"""'), blipped) == ("pot:1", 'say "aah"')
    assert fact_in_fields(("pot:1", '"Weird Al" Yankovic'), blipped) == ("pot:1", '"Weird Al" Yankovic')
    said: list[str] = []
    question = Question("blipped", (), 0.0, (), ())
    said += told_question(session, question, 1)
    assert 'what has a comma in it stands in quotes: "Paris, France"' in said[0]


def test_a_fact_that_no_rule_in_question_derives_is_searched_for(session: ReviewSession, pottery: Path) -> None:
    """As `extract` would: the day of a timestamp."""
    session.named("zeit", ("glaze:4", "2021-01-05"))
    (rule,) = session.rules["zeit"]
    assert "date(" in rule
    assert "since" in rule
    exported = {one.predicate: set(one.texts) for one in session.export().proposals.proposals if one.texts}
    assert exported["zeit"] == {rule}, "and so does propose-mappings"
    session.undo()
    bare = session.named("zeit", ("4", "2021-01-05"))
    assert isinstance(bare, Question), "a kiln in which a pot was made with that glaze is 4, too"
    assert {*bare.facts} == {_DAY, ("kiln:4", "2021-01-05")}
    session.answer(bare, bare.facts.index(_DAY))
    assert session.rules["zeit"] == (rule,)
    session.undo()
    session.named("zeit", ("glaze:4", "1850-01-01"))
    assert "zeit" not in session.rules, "what nothing derives has no rule"
    assert any("derived by no rule" in note for note in session.applied.notes)


@pytest.mark.parametrize("about", ["", NAMED])
def test_a_row_that_is_gone_takes_no_rule_with_it(session: ReviewSession, about: str) -> None:
    before = session.rules["Pot"]
    session.say(UserDecision("Pot", Said.HOLDS, ("pot:999",), about=about))
    assert session.rules["Pot"] == before
    assert any("there is no pot:999 now" in note for note in session.applied.notes)


def test_a_search_without_time_is_told_and_made_again(session: ReviewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    good, searches = rule_search.rules_deriving, []

    def once_too_slow(facts: Any, *others: Any) -> Any:
        searches.append(facts)
        if len(searches) < 3:
            raise (DatabaseTimeoutError, SearchTimeError)[len(searches) - 1]("it took more than 30 s")
        return good(facts, *others)

    monkeypatch.setattr(rule_search, "rules_deriving", once_too_slow)
    before = session.rules["Pot"]
    session.say(UserDecision("Pot", Said.HOLDS, ("glaze:99999",)), UserDecision("zeit", Said.HOLDS, _DAY, about=NAMED))
    assert len(searches) == 1, "for both"
    assert session.rules["Pot"] == before
    assert any("it took more than 30 s" in note for note in session.applied.notes)
    session.undo()
    session.say(UserDecision("zeit", Said.HOLDS, _DAY, about=NAMED))
    assert "date(" in session.rules["zeit"][0]


def test_one_search_does_for_all_facts_and_one_that_cannot_be_read_does_not_spoil_it(
    session: ReviewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, searches = rule_search.rules_deriving, []

    def counted(facts: Any, *others: Any) -> Any:
        searches.append(len(facts))
        if any("bad" in fact.arguments for fact in facts):
            raise InputError("no such thing")
        return good(facts, *others) if any(fact.arguments == _DAY for fact in facts) else {}

    monkeypatch.setattr(rule_search, "rules_deriving", counted)
    absent = [UserDecision("zeit", Said.HOLDS, ("glaze:2", f"18{n:02}-01-01")) for n in range(20)]
    session.say(*absent)
    assert searches == [20]
    session.say(UserDecision("Zorgle", Said.HOLDS, ("bad",)), UserDecision("zeit", Said.HOLDS, _DAY, about=NAMED))
    assert searches == [20, 2, 1, 1], "what was searched for is known"
    assert any("date(" in rule for rule in session.rules["zeit"])
    monkeypatch.setattr(rule_search, "_MOST_SEARCHED", 3)
    session.say(*(UserDecision("zeit", Said.HOLDS, ("glaze:3", f"17{n:02}-01-01")) for n in range(5)))
    assert searches == [20, 2, 1, 1, 3]
    assert sum("too many facts to search for" in note for note in session.applied.notes) == 2


def test_a_fact_that_was_named_outweighs_what_is_believed_of_nothing() -> None:
    one = Body(parse_rule("P(x) <- a(id: x)"))
    shown = Answers(np.array([True]), {one: np.array([True])})
    named = Answers(np.array([True]), {one: np.array([True])}, named=np.array([True]))
    assert named.log_likelihood([one])[1] == shown.log_likelihood([one])[1]
    assert named.log_likelihood([one])[0] < shown.log_likelihood([one])[0] - 3.0


def test_who_knows_none_is_not_asked_again(session: ReviewSession, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question("Zorgle", (), 1.0, session.hypotheses("Zorgle"), ())
    session.cannot_tell(question)
    assert session.said.unnamed == {"Zorgle"}
    assert read_decisions(session.run.decisions).unnamed == {"Zorgle"}
    while isinstance(found := session.question("Zorgle", worth=0.001), Question):
        assert not found.is_open
        session.cannot_tell(found)
    assert isinstance(found, NoQuestion)


def test_in_the_terminal_a_fact_is_typed_and_asked_back(
    session: ReviewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Question("Zorgle", (), 1.0, session.hypotheses("Zorgle"), ())
    monkeypatch.setattr(session, "question", lambda term=None: asked)
    told: list[str] = []
    left = iter(["y z", "twin", "0", "= twin", "7", "2", None])
    prompts: list[str] = []

    def ask(prompt: str) -> str | None:
        prompts.append(prompt.strip())
        return next(left)

    ended = converse(session, ask, told.append, most=1)
    assert ended.asked == 1
    assert any(line.startswith("1. Can you name one: Zorgle(…)?") for line in told)
    assert any("y z" in line for line in told)
    assert sum("Which of these do you mean?" in line for line in told) == 2
    (line,) = session.said.lines
    assert (line.said, line.about) == (Said.HOLDS, NAMED)
    assert line.fact in {("kiln:3",), ("glaze:5",)}
    assert prompts[0] == "[a fact, ?, a, r, -, /, u, q]"


def test_an_answer_to_another_question_names_no_fact(
    session: ReviewSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = Question("Zorgle", (), 1.0, session.hypotheses("Zorgle"), ())
    monkeypatch.setattr(session, "question", lambda term=None: asked)
    (tmp_path / "answers.txt").write_text("1\n2\ny\nn\n0\n= kiln 4\n")
    told: list[str] = []
    converse(session, file_answers(tmp_path / "answers.txt"), told.append, most=1)
    assert sum("is no answer to can you name one; if a thing is called so, write = " in line for line in told) == 5
    (line,) = session.said.lines
    assert line.fact == ("kiln:4",)


def test_a_file_of_answers_takes_a_fact_as_it_is_typed(tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("kiln:4, Big one\n= AC/DC\nY  # yes\n")
    ask = file_answers(tmp_path / "answers.txt")
    assert [ask(""), ask(""), ask(""), ask("")] == ["= kiln:4, Big one", "= AC/DC", "y", None]
    (tmp_path / "wrong.txt").write_text("Perhaps\n")
    with pytest.raises(InputError, match=r"line 1: an answer is one of .* not 'Perhaps'"):
        file_answers(tmp_path / "wrong.txt")


def test_a_line_of_a_fact_that_was_named_is_read_again(session: ReviewSession) -> None:
    session.say(UserDecision("Zorgle", Said.HOLDS, ("kiln:4",), about=NAMED), UserDecision("Pot", Said.NONE_KNOWN))
    again = read_decisions(session.run.decisions)
    assert again.named == {"Zorgle": frozenset({("kiln:4",)})}
    assert [line.told for line in again.lines] == ["Zorgle(kiln:4) holds", "Pot: no example known"]


def test_the_row_of_the_thing_itself_is_shown_whatever_rule_derives_the_fact(session: ReviewSession) -> None:
    of_pots = parse_rule("Zorgle(x) <- pot(kiln: x)")
    rows = rows_shown([of_pots], ("kiln:3",), session.derivations)
    assert [row.table for row in rows] == ["kiln", "pot"]
    assert dict(rows[0].cells) == {"id": "3", "label": "twin"}
    of_kilns = parse_rule("Zorgle(x) <- kiln(id: x)")
    assert [row.table for row in rows_shown([of_pots, of_kilns], ("kiln:3",), session.derivations)] == ["kiln"]
    assert rows_shown([], ("3",), session.derivations) == ()


def test_what_the_network_is_sure_of_is_doubted_until_something_was_said(session: ReviewSession) -> None:
    sure, doubted = (hypotheses_of(session.decisions["Pot"], tempered) for tempered in (False, True))
    assert sure[0].rules == doubted[0].rules
    assert 0.3 < doubted[0].share < sure[0].share
    session.say(UserDecision("Pot", Said.HOLDS, ("pot:1",)))
    heard = session.decisions["Pot"]
    assert hypotheses_of(heard, tempered=True) == hypotheses_of(heard)
